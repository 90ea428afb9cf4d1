#include "session/session_feed.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "snapshot/import/advice.h"

namespace ebb {

// --- Filling -----------------------------------------------------------------------

void SessionFeed::OnBatch(int64_t now_s) {
  changed_s_ = now_s;
  is_dump_ = false;
  has_batches_ = true;
}

void SessionFeed::OnLoad(int64_t now_s) {
  OnWhole(now_s);
  is_dump_ = true;
  brings_nodes_since_s_.reset();
  last_feed_.reset();
}

void SessionFeed::OnResync(int64_t now_s, bool empty) {
  if (empty) whole_ = false;
  if (!whole_ && !filling_since_s_) filling_since_s_ = now_s;
}

void SessionFeed::OnWhole(int64_t now_s) {
  whole_ = true;
  filling_since_s_.reset();
  changed_s_ = now_s;
  is_dump_ = false;
}

std::optional<int64_t> SessionFeed::filling_since_s() const {
  return filling_since_s_ ? filling_since_s_ : brings_nodes_since_s_;
}

SessionFeed::Fill SessionFeed::fill() const {
  if (filling_since_s()) return Fill::kFilling;
  if (whole_) return Fill::kWhole;
  return has_batches_ ? Fill::kMaybeIncomplete : Fill::kEmpty;
}

absl::Status SessionFeed::CheckWhole(const Counts& counts) const {
  const std::optional<int64_t> since_s = filling_since_s();
  if (!since_s) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "session ", session_, ": is being filled since ", FormatRfc3339(*since_s), ": ",
      filling_since_s_ ? "no resync has ended yet"
                       : "a resync that has brought new nodes has not ended yet",
      "; ", Count(counts.objects, "object", "objects"), " so far, with ",
      Count(counts.nodes, "node", "nodes"), " and ", Count(counts.pods, "pod", "pods")));
}

// --- Feeders -------------------------------------------------------------------------

uint64_t SessionFeed::Begin() {
  feeders_.try_emplace(++last_feeder_);
  return last_feeder_;
}

void SessionFeed::End(uint64_t feeder, int64_t now_s) {
  const int64_t as_of_s = At(now_s).as_of_s;
  feeders_.erase(feeder);
  if (feeders_.empty()) last_feed_ = {.ended_s = now_s, .as_of_s = as_of_s};
}

void SessionFeed::SetBroken(uint64_t feeder, std::vector<BrokenWatch> watches) {
  const auto it = feeders_.find(feeder);
  if (it != feeders_.end()) it->second = std::move(watches);
}

void SessionFeed::NoteUnread(int64_t since_s, int64_t now_s) {
  if (unread_ && now_s <= unread_->until_s) since_s = std::min(since_s, unread_->since_s);
  unread_ = {.since_s = since_s, .until_s = now_s + 1};
}

FeedAge SessionFeed::At(int64_t now_s) const {
  FeedAge age = AtOfTaken(now_s);
  if (taken_until_s_) age.as_of_s = std::min(age.as_of_s, *taken_until_s_);
  if (unread_ && now_s <= unread_->until_s) age.as_of_s = std::min(age.as_of_s, unread_->since_s);
  return age;
}

FeedAge SessionFeed::AtOfTaken(int64_t now_s) const {
  if (feeders_.empty()) {
    const LastFeed last =
        last_feed_.value_or(LastFeed{.ended_s = changed_s_, .as_of_s = changed_s_});
    return {.as_of_s = last.as_of_s, .not_fed_since_s = last.ended_s};
  }
  FeedAge age{.as_of_s = now_s};
  // A kind that one client does not see may be seen by another.
  for (const BrokenWatch& first : feeders_.begin()->second) {
    BrokenWatch broken = first;
    const bool of_all = std::ranges::all_of(feeders_, [&](const auto& feeder) {
      const auto same = std::ranges::find(feeder.second, first.kind, &BrokenWatch::kind);
      if (same == feeder.second.end()) return false;
      broken.since_s = std::max(broken.since_s, same->since_s);
      broken.never_listed &= same->never_listed;
      return true;
    });
    if (!of_all) continue;
    if (!broken.never_listed) age.as_of_s = std::min(age.as_of_s, broken.since_s);
    age.broken.push_back(std::move(broken));
  }
  return age;
}

absl::Status SessionFeed::CheckAge(std::optional<double> max_age_seconds, int64_t now_s) const {
  if (!max_age_seconds) return absl::OkStatus();
  if (!(*max_age_seconds >= 0)) {
    return absl::InvalidArgumentError("max_age_seconds: is not 0 or more");
  }
  const FeedAge age = At(now_s);
  const double age_s = static_cast<double>(now_s - age.as_of_s);
  if (age_s <= *max_age_seconds) return absl::OkStatus();
  const double taken_age_s = static_cast<double>(now_s - AtOfTaken(now_s).as_of_s);
  return absl::FailedPreconditionError(absl::StrCat(
      "session ", session_, ": its cluster is as of ", FormatRfc3339(age.as_of_s), ", ",
      DurationText(now_s - age.as_of_s), " ago; the call allows at most ",
      DurationText(std::chrono::duration<double>(*max_age_seconds)),
      taken_age_s <= *max_age_seconds ? "; changes that came since then are not taken yet"
      : age.not_fed_since_s           ? "; no client feeds it"
                                      : "; a watch of its feeder is broken"));
}

bool SessionFeed::KnowsAge(int64_t now_s) const {
  return !is_dump_ || feeders() > 0 || now_s - changed_s_ > kNotFedMaxS;
}

std::vector<InputWarning> SessionFeed::WarningsAt(int64_t now_s) const {
  std::vector<InputWarning> warnings;
  const auto warn = [&](const char* code, const std::string& text, std::string advice = "") {
    warnings.push_back({.code = code,
                        .message = absl::StrCat("session ", session_, ": ", text),
                        .command = "",
                        .advice = std::move(advice)});
  };
  if (fill() == Fill::kMaybeIncomplete) {
    warn("SessionMaybeIncomplete",
         "batches of changes filled it, and no client has said that they are the whole cluster (by "
         "a resync, or by `whole` in a message of Sync); nodes whose pods are still to come look "
         "empty");
  }
  const FeedAge age = At(now_s);
  for (const BrokenWatch& watch : age.broken) {
    if (watch.never_listed) {
      warn("SessionKindNotListed",
           absl::StrCat("its feeder cannot list ", Printable(watch.kind),
                        ": whether the cluster has any is not known"),
           AdviceToFeed(Printable(watch.kind)));
      continue;
    }
    warn("SessionWatchBroken",
         absl::StrCat("its feeder does not see changes of ", Printable(watch.kind), " since ",
                      FormatRfc3339(watch.since_s)));
  }
  if (!age.not_fed_since_s) return warnings;
  if (last_feed_) {
    warn("SessionNotFed",
         absl::StrCat("no client feeds it since ", FormatRfc3339(*age.not_fed_since_s),
                      "; the cluster is as of ", FormatRfc3339(age.as_of_s)));
  } else if (now_s - age.as_of_s > kNotFedMaxS) {
    warn("SessionNotFed",
         absl::StrCat("no client feeds it, and its last change came at ",
                      FormatRfc3339(age.as_of_s), "; the cluster is as it was then"));
  }
  return warnings;
}

// --- Which cluster it is -------------------------------------------------------------

absl::Status SessionFeed::CheckCluster(std::string_view uid) const {
  if (uid.empty() || cluster_uid_.empty() || uid == cluster_uid_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "session ", session_, ": is of the cluster whose namespace kube-system has the UID ",
      Printable(cluster_uid_), ", and this change is of the one with the UID ", Printable(uid),
      "; a session keeps to one cluster: use another session, or Close this one first"));
}

void SessionFeed::KeepTo(std::string_view uid) {
  if (!uid.empty()) cluster_uid_ = uid;
}

}  // namespace ebb
