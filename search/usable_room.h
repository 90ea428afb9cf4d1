// UsableRoom: how much of a node's room pods of given kinds can take at most.
//
//   const UsableRoom usable(kinds);                 // Each by ResourceId: what a pod takes.
//   usable.Of(room, most);                          // room: by ResourceId.
//
// Room is lost in three ways that a sum over nodes does not show:
//   - a pod cannot be split: of 3.9 cores, pods of 2 cores take 2;
//   - pods that do not fit at all take nothing;
//   - a node that is short of memory cannot use all of its cores, because every pod takes at least
//     some memory for each core.
// The result of Of is never less than what pods can take, and usually slightly more: it considers
// one resource at a time to decide which kinds fit, and it treats every multiple of the kinds'
// greatest common divisor as an amount that whole pods can add up to.
//
// Units:   as ClusterSnapshot.
// Cost:    O(kinds * resources^3) to build; Of O(resources^2 * (resources + log kinds)).
// Threads: Of may run concurrently.

#ifndef EBB_SEARCH_USABLE_ROOM_H_
#define EBB_SEARCH_USABLE_ROOM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ebb {

class UsableRoom {
 public:
  // REQUIRES: amounts are from 0 to 2^62, and each kind has the same number of them.
  explicit UsableRoom(std::span<const std::vector<int64_t>> kinds);

  // `most`: for each resource, an upper bound of what a set of pods of these kinds that fits into
  // `room` takes of it.
  // REQUIRES: both have an entry for each resource; room is from 0 to 2^62.
  void Of(std::span<const int64_t> room, std::span<int64_t> most) const;

 private:
  // The largest amount of one resource that a pod takes for each unit of another.
  struct Ratio {
    int64_t of = 0;
    int64_t per = 1;  // 0: some kind takes some of the first resource and nothing of the other.
  };
  // The kinds, sorted by what they take of one resource, and for each prefix of that order what
  // holds for all of its kinds.
  struct ByResource {
    std::vector<int64_t> amounts;
    std::vector<int64_t> divisors;  // For each prefix, by resource.
    std::vector<Ratio> ratios;      // For each prefix, by resource and other resource.
  };

  size_t resources_ = 0;
  std::vector<ByResource> orders_;
};

}  // namespace ebb

#endif  // EBB_SEARCH_USABLE_ROOM_H_
