// The flags of `ebb plan --watch-file`.

#ifndef EBB_CLI_FLAGS_WATCH_FLAGS_H_
#define EBB_CLI_FLAGS_WATCH_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ebb {

struct WatchFlags {
  std::vector<std::string> files;
  std::string quiet_time = "1s";
  uint64_t object_bytes_max = uint64_t{10} << 20;

  void AddTo(CLI::App& app);
  [[nodiscard]] bool active() const { return !files.empty(); }
};

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_WATCH_FLAGS_H_
