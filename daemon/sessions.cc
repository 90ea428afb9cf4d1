#include "daemon/sessions.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace ebb {
namespace {

SessionOptions AsGiven(SessionOptions options) {
  options.as_given = true;
  return options;
}

}  // namespace

Sessions::Sessions(const SessionOptions& options, const Limits& limits)
    : options_(options), as_given_options_(AsGiven(options)), limits_(limits) {}

absl::StatusOr<std::shared_ptr<SessionThread>> Sessions::Find(std::string_view name) const {
  const std::string full = NameOf(name);
  if (absl::Status s = CheckSessionName(full); !s.ok()) return s;
  const std::lock_guard lock(mutex_);
  const auto it = sessions_.find(full);
  if (it != sessions_.end()) return it->second;
  return absl::NotFoundError(
      absl::StrCat("session ", full, ": does not exist; Load, Apply or Sync create it"));
}

absl::StatusOr<std::shared_ptr<SessionThread>> Sessions::FindOrMake(std::string_view name,
                                                                    Kind kind) {
  const std::string full = NameOf(name);
  if (absl::Status s = CheckSessionName(full); !s.ok()) return s;
  const std::lock_guard lock(mutex_);
  if (closed_) return absl::UnavailableError("the daemon ends");
  std::shared_ptr<SessionThread>& session = sessions_[full];
  if (session != nullptr) return session;
  if (sessions_.size() > limits_.sessions_max) {
    sessions_.erase(full);
    return absl::ResourceExhaustedError(absl::StrCat("sessions: there are ", limits_.sessions_max,
                                                     ", as many as --max-sessions allows"));
  }
  const SessionOptions& options = kind == Kind::kAsGiven ? as_given_options_ : options_;
  session =
      std::make_shared<SessionThread>(std::make_unique<Session>(full, options), limits_.calls_max);
  return session;
}

absl::Status Sessions::Close(std::string_view name) {
  absl::StatusOr<std::shared_ptr<SessionThread>> session = Find(name);
  if (!session.ok()) return session.status();
  {
    const std::lock_guard lock(mutex_);
    sessions_.erase((*session)->name());
  }
  (*session)->Close(
      absl::AbortedError(absl::StrCat("session ", (*session)->name(), " was closed")));
  return absl::OkStatus();
}

void Sessions::EndWaiting() {
  for (const auto& session : All()) session->EndWaiting(absl::UnavailableError("the daemon ends"));
}

void Sessions::CloseAll() {
  std::map<std::string, std::shared_ptr<SessionThread>> sessions;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    sessions.swap(sessions_);
  }
  for (const auto& [name, session] : sessions) {
    session->Close(absl::UnavailableError("the daemon ends"));
  }
}

std::vector<std::shared_ptr<SessionThread>> Sessions::All() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<SessionThread>> all;
  for (const auto& [name, session] : sessions_) all.push_back(session);
  return all;
}

}  // namespace ebb
