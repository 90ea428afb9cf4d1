// The seed of a random test: EBB_TEST_SEED, or a fixed number.  It is always printed, so that a
// failure can be repeated.

#ifndef EBB_TESTS_SUPPORT_RANDOM_SEED_H_
#define EBB_TESTS_SUPPORT_RANDOM_SEED_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace ebb::test {

inline uint64_t RandomSeed() {
  const char* text = std::getenv("EBB_TEST_SEED");
  const uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
  std::printf("EBB_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

// Small random numbers, the same on every platform.  They come from a seed, or from given bytes
// (two for each number; zeros when all bytes are used).
class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  explicit Dice(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  // In [0, bound).
  int Below(int bound) { return static_cast<int>(Draw() % static_cast<uint64_t>(bound)); }
  [[nodiscard]] bool Exhausted() const { return bytes_ && bytes_->empty(); }
  bool Percent(int percent) { return Below(100) < percent; }

  template <typename T>
  const T& Of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(Below(static_cast<int>(choices.size())))];
  }

 private:
  uint64_t Draw() {
    if (!bytes_) return engine_();
    uint64_t number = 0;
    for (int i = 0; i < 2 && !bytes_->empty(); ++i) {
      number = number * 256 + bytes_->front();
      *bytes_ = bytes_->subspan(1);
    }
    return number;
  }

  std::mt19937_64 engine_;
  std::optional<std::span<const uint8_t>> bytes_;
};

}  // namespace ebb::test

#endif  // EBB_TESTS_SUPPORT_RANDOM_SEED_H_
