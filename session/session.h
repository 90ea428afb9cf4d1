// Session: one cluster of the daemon, and the answers to its calls (wire/planner.proto).
//
//   Session session("prod", options);                            // `options` outlive it.
//   absl::Status status = session.cluster().Take(batch);         // A ChangeBatch.
//   absl::StatusOr<wire::PlanReply> made = session.questions().Plan(call, std::nullopt);
//
// It has three parts, each with a header of its own.  cluster() holds the cluster, questions()
// answers questions, and rounds() makes rounds.  The latter two use the first, and not each other.
//
// It has no socket and no thread.
//
// Errors:  those of planner.proto.  A call that fails changes nothing.
// Cost:    that of its parts.
// Threads: one at a time, for all three parts together.

#ifndef EBB_SESSION_SESSION_H_
#define EBB_SESSION_SESSION_H_

#include <string>
#include <utility>

#include "session/session_cluster.h"
#include "session/session_options.h"
#include "session/session_questions.h"
#include "session/session_round_maker.h"
#include "wire/planner.pb.h"

namespace ebb {

class Session {
 public:
  Session(std::string name, const SessionOptions& options)
      : cluster_(std::move(name), options), questions_(cluster_), rounds_(cluster_) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const std::string& name() const { return cluster_.name(); }
  [[nodiscard]] SessionCluster& cluster() { return cluster_; }
  [[nodiscard]] const SessionCluster& cluster() const { return cluster_; }
  [[nodiscard]] SessionQuestions& questions() { return questions_; }
  [[nodiscard]] SessionRoundMaker& rounds() { return rounds_; }
  [[nodiscard]] const SessionRoundMaker& rounds() const { return rounds_; }

  // The status fields of each part.
  [[nodiscard]] wire::SessionStatus Status() {
    wire::SessionStatus status;
    cluster_.PutStatus(status);
    questions_.PutStatus(status);
    rounds_.PutStatus(status);
    return status;
  }

 private:
  SessionCluster cluster_;
  SessionQuestions questions_;
  SessionRoundMaker rounds_;
};

}  // namespace ebb

#endif  // EBB_SESSION_SESSION_H_
