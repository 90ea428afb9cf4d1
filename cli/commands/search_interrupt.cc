#include "cli/commands/search_interrupt.h"

#include <atomic>

namespace ebb {
namespace {

// For the signal handler, which may use only lock-free atomics.
std::atomic<CancelToken*> interrupted_token = nullptr;
static_assert(std::atomic<CancelToken*>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);

void EndSearch(int) {
  if (CancelToken* const token = interrupted_token.load()) token->Cancel();
}

}  // namespace

SearchInterrupt::SearchInterrupt() {
  interrupted_token.store(&token_);
  struct sigaction action{};
  action.sa_handler = EndSearch;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

SearchInterrupt::~SearchInterrupt() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  interrupted_token.store(nullptr);
}

}  // namespace ebb
