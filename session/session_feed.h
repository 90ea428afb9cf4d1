// SessionFeed: whether a session's cluster is complete, how old it is, and which cluster it is.
//
//   SessionFeed feed("prod");
//   feed.OnResync(now_s, /*empty=*/true);
//   absl::Status whole = feed.CheckWhole(counts);        // Unavailable until OnWhole().
//   feed.OnWhole(now_s);
//   const uint64_t stream = feed.Begin();                // From here on a client keeps the
//   feed.End(stream, now_s);                             // cluster up to date, until End().
//
// One rule applies to all answers: there is no answer about a part of a cluster.  Nodes whose pods
// are still to come look empty, and an answer would remove all of them.
//
//   kEmpty            Nothing was put.
//   kFilling          The first resync has begun and not ended, or was aborted; or a later resync
//                     has put new nodes and has not ended.
//   kMaybeIncomplete  Batches of changes filled it, and only their sender knows whether more will
//                     come.  No plan is carried out then (SessionCluster::Checked).
//   kWhole            A dump was loaded, a resync ended, or a client declared the cluster complete.
//
// Units:   Unix seconds, of the caller's clock.
// Threads: one at a time.

#ifndef EBB_SESSION_SESSION_FEED_H_
#define EBB_SESSION_SESSION_FEED_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "snapshot/import/input_warning.h"

namespace ebb {

// A kind whose changes a feeder does not see.
struct BrokenWatch {
  std::string kind;
  int64_t since_s = 0;
  bool never_listed = false;  // No object of this kind was ever seen.
};

// The time as of which a cluster is current.
struct FeedAge {
  // While a client feeds the session: now, or the time when the first watch broke, among broken
  // watches of kinds that were listed before.  Otherwise the time as of which the cluster was
  // current when the last feeder ended.  If there was no feeder: when the last batch or dump was
  // applied.  Never later than the times of SetTakenUntil and NoteUnread.
  int64_t as_of_s = 0;
  std::optional<int64_t> not_fed_since_s = std::nullopt;  // Absent: a client feeds the session.
  std::vector<BrokenWatch> broken = {};                   // Kinds that no feeding client sees.
};

class SessionFeed {
 public:
  enum class Fill : uint8_t { kEmpty, kFilling, kMaybeIncomplete, kWhole };
  // How much of a cluster there is.
  struct Counts {
    uint64_t objects = 0;
    uint64_t nodes = 0;
    uint64_t pods = 0;
  };
  // For this long, a loaded dump counts as a file of the user: answers do not report its age, and
  // no warning follows from it.
  static constexpr int64_t kNotFedMaxS = 300;

  explicit SessionFeed(std::string session) : session_(std::move(session)) {}

  // --- Filling -------------------------------------------------------------------

  // A batch was applied.
  void OnBatch(int64_t now_s);
  void OnLoad(int64_t now_s);
  // A resync began; `empty`: the session held no object.
  void OnResync(int64_t now_s, bool empty);
  // A resync has ended, or a client declared the cluster complete.
  void OnWhole(int64_t now_s);
  // Sets when the open resync began that has put nodes which did not exist before; absent: no open
  // resync has put such nodes.
  void SetBringsNodes(std::optional<int64_t> since_s) { brings_nodes_since_s_ = since_s; }

  [[nodiscard]] Fill fill() const;
  [[nodiscard]] bool is_whole() const { return whole_; }
  // The time at which the resync that is filling the cluster began; absent: none is filling it.
  [[nodiscard]] std::optional<int64_t> filling_since_s() const;
  // Errors: Unavailable, with the counts: the cluster is being filled.
  [[nodiscard]] absl::Status CheckWhole(const Counts& counts) const;

  // --- Feeders -------------------------------------------------------------------

  // Returns the number of the new feeder.
  uint64_t Begin();
  void End(uint64_t feeder, int64_t now_s);
  void SetBroken(uint64_t feeder, std::vector<BrokenWatch> watches);
  [[nodiscard]] uint64_t feeders() const { return feeders_.size(); }
  // Whether a feeder other than `feeder` exists.
  [[nodiscard]] bool IsFedBeside(std::optional<uint64_t> feeder) const {
    return feeders_.size() > (feeder && feeders_.contains(*feeder) ? 1u : 0u);
  }
  // Sets the time up to which every received change has been applied; changes received later may
  // still wait.  Absent: no change waits.
  void SetTakenUntil(std::optional<int64_t> at_s) { taken_until_s_ = at_s; }
  // Records that a client's stream has not been read since `since_s`, because too many of its
  // batches waited.  The amount that waits unread is unknown.  So the record is valid for one
  // second: within it the stream is read to its end, or reaches the limit again and is recorded
  // again.
  void NoteUnread(int64_t since_s, int64_t now_s);
  [[nodiscard]] FeedAge At(int64_t now_s) const;
  // Errors: FailedPrecondition: the cluster is older.  InvalidArgument: not a valid age.
  [[nodiscard]] absl::Status CheckAge(std::optional<double> max_age_seconds, int64_t now_s) const;
  // Whether answers report the cluster's age.  Answers about a recently loaded dump do not, as
  // answers about the dump's file do not.
  [[nodiscard]] bool KnowsAge(int64_t now_s) const;
  // The warnings of an answer.
  [[nodiscard]] std::vector<InputWarning> WarningsAt(int64_t now_s) const;

  // --- Which cluster it is -------------------------------------------------------

  [[nodiscard]] const std::string& cluster_uid() const { return cluster_uid_; }
  // "" means unknown, and matches every cluster.
  // Errors: FailedPrecondition, with both UIDs.
  [[nodiscard]] absl::Status CheckCluster(std::string_view uid) const;
  // Binds the session to this cluster; "": no change.
  void KeepTo(std::string_view uid);
  void ForgetCluster() { cluster_uid_.clear(); }

 private:
  // At() without changes that wait.
  [[nodiscard]] FeedAge AtOfTaken(int64_t now_s) const;

  const std::string session_;
  bool whole_ = false;
  bool has_batches_ = false;
  // Set while the first resync has begun and none has ended.
  std::optional<int64_t> filling_since_s_;
  std::optional<int64_t> brings_nodes_since_s_;

  int64_t changed_s_ = 0;  // When the last batch or dump was applied.
  bool is_dump_ = false;   // Nothing was put since a dump was loaded.
  std::map<uint64_t, std::vector<BrokenWatch>> feeders_;
  uint64_t last_feeder_ = 0;
  // When the last feeder ended, after the last dump, and as of when the cluster was current then.
  struct LastFeed {
    int64_t ended_s = 0;
    int64_t as_of_s = 0;
  };
  std::optional<LastFeed> last_feed_;

  std::optional<int64_t> taken_until_s_;
  struct Unread {
    int64_t since_s = 0;
    int64_t until_s = 0;
  };
  std::optional<Unread> unread_;

  std::string cluster_uid_;
};

}  // namespace ebb

#endif  // EBB_SESSION_SESSION_FEED_H_
