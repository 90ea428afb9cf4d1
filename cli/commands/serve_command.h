// `ebb serve`: a daemon that answers over a Unix socket.  `ebb serve status`: asks a daemon for its
// status.
//
// The daemon runs until SIGTERM or SIGINT.  Then it ends the calls in progress and exits.  Under
// systemd it uses the socket that systemd passes to it, reports when it is ready, and answers the
// watchdog.

#ifndef EBB_CLI_COMMANDS_SERVE_COMMAND_H_
#define EBB_CLI_COMMANDS_SERVE_COMMAND_H_

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ebb {

struct DaemonOptions;

struct ServeCommand {
  std::string socket;
  bool make_folder = false;
  std::string state_folder;
  std::string metrics_address;
  std::string metrics_socket;
  std::vector<int64_t> allowed_users;
  std::string log = "text";
  int64_t sessions_max = 64;
  int64_t objects_max = 5'000'000;
  int64_t calls_max = 256;
  int64_t rounds_kept = 100;
  uint64_t message_bytes_max = uint64_t{64} << 20;
  uint64_t dump_bytes_max = uint64_t{4} << 30;
  uint64_t object_bytes_max = uint64_t{10} << 20;
  uint64_t memory_bytes_max = 0;  // 0: three quarters of the machine's.
  std::string grace = "10s";
  // For `ebb serve status`.
  std::string server;
  std::string output = "table";
  CLI::App* status_app = nullptr;

  void AddTo(CLI::App& app);
  // Returns the exit code: 0 if a signal ended the daemon; 1 if it could not start.
  int Run(std::ostream& out, std::ostream& err) const;

 private:
  // The options that the flags give; `inherited` is the socket that systemd passed, or -1.
  [[nodiscard]] DaemonOptions Options(int inherited) const;
  int Status(std::ostream& out, std::ostream& err) const;
};

}  // namespace ebb

#endif  // EBB_CLI_COMMANDS_SERVE_COMMAND_H_
