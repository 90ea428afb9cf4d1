// UsableRoom: how much of a node's room pods of some kinds can take at most.
//
//   const UsableRoom usable(kinds);                 // Each by ResourceId: what a pod takes.
//   usable.Of(room, most);                          // room: by ResourceId.
//
// Room is lost in three ways that a sum over nodes does not see:
//   - a pod is not split: of 3.9 cores, pods of 2 cores take 2;
//   - pods that do not fit at all take nothing;
//   - a node that is short of memory cannot use up its cores: for each core, even the leanest of
//     the pods takes some memory.
// What Of tells is never less than what pods can take, and mostly a little more: it looks at one
// resource at a time to tell which kinds fit, and takes every multiple of the kinds' greatest
// common divisor for an amount that whole pods can come to.
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
  // REQUIRES: amounts from 0, at most 2^62, and as many of each kind.
  explicit UsableRoom(std::span<const std::vector<int64_t>> kinds);

  // `most`: of each resource the most that any pods of these kinds that are together in `room` take
  // of it.  REQUIRES: both have an entry a resource; room is from 0 to 2^62.
  void Of(std::span<const int64_t> room, std::span<int64_t> most) const;

 private:
  // The most of one resource that a pod takes for each unit of another.
  struct Ratio {
    int64_t of = 0;
    int64_t per = 1;  // 0: there is a kind that takes some of the one and none of the other.
  };
  // Kinds in the order of what they take of one resource, and of each first part of them what holds
  // for all in it.
  struct ByResource {
    std::vector<int64_t> amounts;
    std::vector<int64_t> divisors;  // Kind by kind: of each resource.
    std::vector<Ratio> ratios;      // Kind by kind: of each resource per each other.
  };

  size_t resources_ = 0;
  std::vector<ByResource> orders_;
};

}  // namespace ebb

#endif  // EBB_SEARCH_USABLE_ROOM_H_
