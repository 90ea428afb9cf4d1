// SessionFeed: whether a session's cluster is whole, how old it is, and which cluster it is.
//
//   SessionFeed feed("prod");
//   feed.OnResync(now_s, /*empty=*/true);
//   absl::Status whole = feed.CheckWhole(counts);        // Unavailable until it has ended.
//   feed.OnWhole(now_s);
//   const uint64_t stream = feed.Begin();                // A client keeps the cluster up to date
//   feed.End(stream, now_s);                             // until now.
//
// The one rule of all answers: what is there in part is not answered about.  Nodes whose pods are
// still to come look empty, and an answer would name all of them.
//
//   kEmpty            Nothing was put.
//   kFilling          The first resync has begun and not ended, or broke off.
//   kMaybeIncomplete  Batches of changes filled it: their sender alone knows whether more is to
//                     come.  Nothing is carried out then (SessionCluster::Judged).
//   kWhole            A dump, the end of a resync, or a client that said so.
//
// Units:   Unix seconds, of the caller's clock.
// Threads: one at a time.

#ifndef EBB_SERVICE_SESSION_SESSION_FEED_H_
#define EBB_SERVICE_SESSION_SESSION_FEED_H_

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
  bool never_listed = false;  // No object of it was ever seen.
};

// As of when a cluster is.
struct FeedAge {
  // Now, or when the first broken watch broke of a kind that was listed before, while a client
  // feeds the session.  Else when the last one ended, or, where none began, when the last batch or
  // dump was taken.  But no later than SetTakenUntil and NoteUnread say.
  int64_t as_of_s = 0;
  std::optional<int64_t> not_fed_since_s = std::nullopt;  // Absent: a client feeds it.
  std::vector<BrokenWatch> broken = {};                   // Of kinds that no feeding client sees.
};

class SessionFeed {
 public:
  enum class Fill : uint8_t { kEmpty, kFilling, kMaybeIncomplete, kWhole };
  // How far a cluster is.
  struct Counts {
    uint64_t objects = 0;
    uint64_t nodes = 0;
    uint64_t pods = 0;
  };
  // A dump that was loaded is as the user wrote it for as long, and no warning follows from its
  // age.
  static constexpr int64_t kNotFedMaxS = 300;

  explicit SessionFeed(std::string session) : session_(std::move(session)) {}

  // --- What fills it -----------------------------------------------------------

  // A batch was taken.
  void OnBatch(int64_t now_s);
  void OnLoad(int64_t now_s);
  // A resync began; `empty`: the session held no object.
  void OnResync(int64_t now_s, bool empty);
  // A resync has ended, or a client says that the cluster is whole.
  void OnWhole(int64_t now_s);
  // An open resync, which began then, has brought nodes that were not there; absent: none has.
  void SetBringsNodes(std::optional<int64_t> since_s) { brings_nodes_since_s_ = since_s; }

  [[nodiscard]] Fill fill() const;
  [[nodiscard]] bool is_whole() const { return whole_; }
  // When the resync began that fills it.
  [[nodiscard]] std::optional<int64_t> filling_since_s() const;
  // Errors: Unavailable, with how far it is: it is being filled.
  [[nodiscard]] absl::Status CheckWhole(const Counts& counts) const;

  // --- Who keeps it up to date ---------------------------------------------------

  // Returns the number under which it feeds.
  uint64_t Begin();
  void End(uint64_t feeder, int64_t now_s);
  void SetBroken(uint64_t feeder, std::vector<BrokenWatch> watches);
  [[nodiscard]] uint64_t feeders() const { return feeders_.size(); }
  // Whether another one than `feeder` does.
  [[nodiscard]] bool IsFedBeside(std::optional<uint64_t> feeder) const {
    return feeders_.size() > (feeder && feeders_.contains(*feeder) ? 1u : 0u);
  }
  // Every change that was received by then has been taken, and one that came later may not have
  // been; absent: all have.
  void SetTakenUntil(std::optional<int64_t> at_s) { taken_until_s_ = at_s; }
  // A client's stream was not read since then, as too many of its batches waited.  How much more of
  // it waits to be read is not known: this holds for a second, in which a stream that is read on is
  // read to its end, or meets its limit again and is noted again.
  void NoteUnread(int64_t since_s, int64_t now_s);
  [[nodiscard]] FeedAge At(int64_t now_s) const;
  // Errors: FailedPrecondition: it is older.  InvalidArgument: no such age.
  [[nodiscard]] absl::Status CheckAge(std::optional<double> max_age_seconds, int64_t now_s) const;
  // Whether an answer says how old it is: not where it is that of a dump that was loaded of late,
  // and so is answered as the dump itself.
  [[nodiscard]] bool TellsAge(int64_t now_s) const;
  // What an answer warns of.
  [[nodiscard]] std::vector<InputWarning> WarningsAt(int64_t now_s) const;

  // --- Which cluster it is -------------------------------------------------------

  [[nodiscard]] const std::string& cluster_uid() const { return cluster_uid_; }
  // "" is not known, and agrees with every cluster.
  // Errors: FailedPrecondition, with both UIDs.
  [[nodiscard]] absl::Status CheckCluster(std::string_view uid) const;
  // From now on it is that one; "": as before.
  void KeepTo(std::string_view uid);
  void ForgetCluster() { cluster_uid_.clear(); }

 private:
  // As At(), if all that was sent was taken.
  [[nodiscard]] FeedAge AtOfTaken(int64_t now_s) const;

  const std::string session_;
  bool whole_ = false;
  bool has_batches_ = false;
  std::optional<int64_t> filling_since_s_;  // The first resync has begun, and none has ended.
  std::optional<int64_t> brings_nodes_since_s_;

  int64_t changed_s_ = 0;  // The last batch or dump.
  bool is_dump_ = false;   // Nothing was put since a dump was loaded.
  std::map<uint64_t, std::vector<BrokenWatch>> feeders_;
  uint64_t last_feeder_ = 0;
  // When the last one ended, after the last dump, and as of when the cluster was then.
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

#endif  // EBB_SERVICE_SESSION_SESSION_FEED_H_
