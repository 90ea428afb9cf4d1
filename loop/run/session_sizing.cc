#include "loop/run/session_sizing.h"

#include "absl/strings/str_cat.h"
#include "session/wire_sizing.h"

namespace ebb {

absl::StatusOr<Observation> SessionSizing::Observe(int64_t now_s) {
  wire::SizingCall call;
  call.set_session(session_);
  const absl::StatusOr<wire::SizingReply> reply = calls_.Sizing(call);
  if (!reply.ok()) return reply.status();
  absl::StatusOr<SizingState> kept = ReadSizing(reply->sizing());
  if (!kept.ok()) {
    return absl::InternalError(absl::StrCat("the daemon's answer: ", kept.status().message()));
  }
  if (*kept != last_read_ && *kept != sent_) memory_.restore(*kept);
  last_read_ = *std::move(kept);
  return cluster_.Observe(now_s);
}

SizingState SessionSizing::ToKeep() {
  sent_ = memory_.now();
  return *sent_;
}

}  // namespace ebb
