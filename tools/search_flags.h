// Flags of the search for a better plan (engine/search): `ebb plan --optimize`.

#ifndef EBB_TOOLS_SEARCH_FLAGS_H_
#define EBB_TOOLS_SEARCH_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace ebb {

struct SearchFlags {
  bool optimize = false;
  std::string budget = "1s";
  uint64_t seed = 1;
  // So many and no more, whatever time they take.
  std::optional<uint64_t> iterations;

  void AddTo(CLI::App& app);
};

}  // namespace ebb

#endif  // EBB_TOOLS_SEARCH_FLAGS_H_
