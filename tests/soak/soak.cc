// soak [--minutes M | --short]: changes a LiveSnapshot for a long time.
//
// The first part makes random changes of all kinds, and compares each seed with its twin
// (live_twin.h).  The second part replaces pods of a cluster of 5,000 nodes and 200,000 pods,
// 10,000,000 times.  The resident memory must stay within 10% of its size after the first 200,000.
// --short does a little of both in about a second, and is one of the tests.
//
// Exit code: 0, or 1 if something differs or grows.

#include <malloc.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "snapshot/live/live_snapshot.h"
#include "tests/support/live_twin.h"

namespace ebb {
namespace {

struct Amounts {
  double minutes = 10;  // For the twin.
  int steps = 12'000;   // For each seed.
  uint32_t nodes = 5'000;
  uint32_t pods = 200'000;
  uint64_t replacements = 10'000'000;
  // The heap of a small cluster has holes, which weigh less in a large one.
  double growth_max = 1.10;
};
constexpr Amounts kShort = {.minutes = 0,
                            .steps = 1'000,
                            .nodes = 500,
                            .pods = 20'000,
                            .replacements = 200'000,
                            .growth_max = 1.20};

bool RunTwin(const Amounts& amounts) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(60 * amounts.minutes);
  uint64_t seed = 0;
  uint64_t steps = 0;
  do {
    test::LiveTwin twin(++seed);
    for (int step = 1; step <= amounts.steps; ++step, ++steps) {
      twin.Step();
      if (step % 5 != 0) continue;
      if (const std::string wrong = twin.Compare(); !wrong.empty()) {
        std::printf("seed %lu, step %d: %s\n", static_cast<unsigned long>(seed), step,
                    wrong.c_str());
        return false;
      }
    }
  } while (std::chrono::steady_clock::now() < end);
  std::printf("twin: %lu seeds, %lu steps of 1 to 10 changes, no difference\n",
              static_cast<unsigned long>(seed), static_cast<unsigned long>(steps));
  return true;
}

// The resident memory of this process.
uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0;
  uint64_t resident = 0;
  file >> all >> resident;
  return resident * 4096;
}

class ReplacedPods {
 public:
  explicit ReplacedPods(const Amounts& amounts) : amounts_(amounts), numbers_(amounts.pods) {
    for (uint32_t n = 0; n < amounts_.nodes; ++n) {
      objects::Node node;
      const std::string name = absl::StrCat("node-", n);
      const std::string zone = absl::StrCat("zone-", n % 3);
      node.meta.name = name;
      node.meta.labels = {{"kubernetes.io/hostname", name}, {"topology.kubernetes.io/zone", zone}};
      node.allocatable =
          node.capacity = {{"cpu", 64'000}, {"memory", int64_t{1} << 38}, {"pods", 110}};
      Take(Change::Type::kPut, &node);
    }
    for (uint32_t p = 0; p < amounts_.pods; ++p) Give(Change::Type::kPut, p);
    (void)live_.Snapshot();
  }

  // Deletes the next pod, and adds another pod of its application in its place.
  void Replace() {
    const auto p = static_cast<uint32_t>(next_ = (next_ + 7919) % amounts_.pods);
    Give(Change::Type::kDelete, p);
    numbers_[p] = ++last_;
    Give(Change::Type::kPut, p);
    if (last_ % 2'000 == 0) (void)live_.Snapshot();
  }

  [[nodiscard]] uint64_t Rebuilds() const { return live_.counts().AllRebuilds() - 1; }

 private:
  void Give(Change::Type type, uint32_t p) {
    const std::string name = absl::StrCat("app-", p % 250, "-", p, "-", numbers_[p]);
    const std::string uid = absl::StrCat("00000000-0000-4000-8000-", p, "-", numbers_[p]);
    const std::string app = absl::StrCat("app-", p % 250);
    const std::string node = absl::StrCat("node-", p % amounts_.nodes);
    objects::Pod pod;
    pod.meta.namespace_name = "default";
    pod.meta.name = name;
    pod.meta.uid = uid;
    pod.meta.labels = {{"app", app}};
    pod.phase = "Running";
    pod.node_name = node;
    pod.containers.resize(1);
    pod.containers[0].requests = {{"cpu", 100 + p % 250}, {"memory", int64_t{1} << 28}};
    Take(type, &pod);
  }
  void Take(Change::Type type, const objects::ObjectRef& object) {
    const Change change{.type = type, .object = object};
    if (const absl::Status s = live_.Take({&change, 1}); !s.ok()) {
      std::printf("refused: %s\n", std::string(s.message()).c_str());
      std::exit(1);
    }
  }

  const Amounts amounts_;
  LiveSnapshot live_;
  std::vector<uint64_t> numbers_;
  uint64_t next_ = 0;
  uint64_t last_ = 0;
};

bool RunReplacements(const Amounts& amounts) {
  // Returns large blocks to the system at once.  Without a fixed threshold the allocator keeps them
  // once some were freed, which leaves holes.
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  const uint64_t without = ResidentBytes();
  ReplacedPods cluster(amounts);
  for (uint64_t i = 0; i < amounts.pods; ++i) cluster.Replace();
  const uint64_t before = ResidentBytes();
  for (uint64_t i = amounts.pods; i < amounts.replacements; ++i) cluster.Replace();
  const uint64_t after = ResidentBytes();
  const auto mib = [](uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  const double growth = static_cast<double>(after) / static_cast<double>(before);
  std::printf(
      "memory: %.1f MiB beside the program's after %u replacements of %u pods, "
      "%.1f MiB after %lu (%.1f%%); %lu times built anew\n",
      mib(before - without), amounts.pods, amounts.pods, mib(after - without),
      static_cast<unsigned long>(amounts.replacements), 100 * growth,
      static_cast<unsigned long>(cluster.Rebuilds()));
  return growth <= amounts.growth_max && cluster.Rebuilds() == 0;
}

}  // namespace
}  // namespace ebb

int main(int argc, char** argv) {
  ebb::Amounts amounts;
  if (argc == 2 && std::strcmp(argv[1], "--short") == 0) {
    amounts = ebb::kShort;
  } else if (argc == 3 && std::strcmp(argv[1], "--minutes") == 0) {
    char* end = nullptr;
    amounts.minutes = std::strtod(argv[2], &end);
    if (*end != '\0' || !(amounts.minutes >= 0)) {
      std::fprintf(stderr, "soak: '%s' is not a number of minutes\n", argv[2]);
      return 1;
    }
  } else {
    std::fprintf(stderr, "usage: soak --minutes M | --short\n");
    return 1;
  }
  const bool same = ebb::RunTwin(amounts);
  const bool steady = ebb::RunReplacements(amounts);
  return same && steady ? 0 : 1;
}
