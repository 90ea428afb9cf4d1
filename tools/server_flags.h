// --server and --session: ask a daemon (`ebb serve`) instead of planning here.

#ifndef EBB_TOOLS_SERVER_FLAGS_H_
#define EBB_TOOLS_SERVER_FLAGS_H_

#include <string>

namespace CLI {
class App;
}

namespace ebb {

struct ServerFlags {
  std::string server;  // "unix:PATH"; empty: no daemon is asked.
  std::string session = "default";

  [[nodiscard]] bool active() const { return !server.empty(); }
  void AddTo(CLI::App& app);
};

}  // namespace ebb

#endif  // EBB_TOOLS_SERVER_FLAGS_H_
