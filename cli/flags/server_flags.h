// --server, --session, --wait, --max-age: ask a daemon (`ebb serve`) instead of planning here.

#ifndef EBB_CLI_FLAGS_SERVER_FLAGS_H_
#define EBB_CLI_FLAGS_SERVER_FLAGS_H_

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace ebb {

struct ServerFlags {
  std::string server;  // "unix:PATH"; empty: no daemon is asked.
  std::string session = "default";
  std::string wait = "20s";       // For the session's first resync.
  std::string max_age;            // Empty: any.
  const CLI::App* app = nullptr;  // Whose flags they are, once AddTo was called.

  // Seconds.  REQUIRES: flags that were parsed.
  [[nodiscard]] double WaitSeconds() const;
  [[nodiscard]] std::optional<double> MaxAgeSeconds() const;
  [[nodiscard]] bool active() const { return !server.empty(); }
  void AddTo(CLI::App& command);
};

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_SERVER_FLAGS_H_
