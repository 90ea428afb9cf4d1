// --server, --session, --wait, --max-age: a daemon (`ebb serve`) answers instead of this process.

#ifndef EBB_CLI_FLAGS_SERVER_FLAGS_H_
#define EBB_CLI_FLAGS_SERVER_FLAGS_H_

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace ebb {

struct ServerFlags {
  std::string server;  // "unix:PATH"; empty: this process answers.
  std::string session = "default";
  std::string wait = "20s";       // How long to wait for the end of the session's first resync.
  std::string max_age;            // Empty: any age is accepted.
  const CLI::App* app = nullptr;  // The command that has these flags; null until AddTo is called.

  // In seconds.  REQUIRES: the flags were parsed.
  [[nodiscard]] double WaitSeconds() const;
  [[nodiscard]] std::optional<double> MaxAgeSeconds() const;
  [[nodiscard]] bool active() const { return !server.empty(); }
  void AddTo(CLI::App& command);
};

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_SERVER_FLAGS_H_
