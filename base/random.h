// Random numbers that are the same on every machine and with every standard library, unlike
// the distributions of <random>: xoshiro256** (Blackman, Vigna) seeded through splitmix64.
//
// Threads: one thread at a time.

#ifndef EBB_BASE_RANDOM_H_
#define EBB_BASE_RANDOM_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/check.h"

namespace ebb {

class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15;
      uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      word = z ^ (z >> 31);
    }
  }

  uint64_t Next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // A uniformly distributed number in [0, bound).
  // REQUIRES: bound > 0.
  uint64_t Below(uint64_t bound) {
    EBB_DCHECK(bound > 0);
    // 2^64 modulo `bound`.  Rejecting numbers below it makes all remainders equally likely.
    const uint64_t uneven = -bound % bound;
    while (true) {
      const uint64_t next = Next();
      if (next >= uneven) return next % bound;
    }
  }

  // A number in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

  // Puts the elements of `list` (indexable, with size()) into random order.
  template <typename List>
  void Shuffle(List& list) {
    for (size_t i = list.size(); i > 1; --i) {
      using std::swap;
      swap(list[i - 1], list[static_cast<size_t>(Below(i))]);
    }
  }

 private:
  uint64_t state_[4];
};

}  // namespace ebb

#endif  // EBB_BASE_RANDOM_H_
