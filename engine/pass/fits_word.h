// NodeResourcesFit for the 64 nodes of a word at once.
//
// It stands alone because it is compiled several times, once for each width of vectors
// that the architecture has.  The widest that the machine has is chosen at run time.

#ifndef EBB_ENGINE_PASS_FITS_WORD_H_
#define EBB_ENGINE_PASS_FITS_WORD_H_

#include <cstddef>
#include <cstdint>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

// A bit for each node of word `word` (NodeSet's) that has a free pod slot and enough of
// all that the shape requests.  Bits of nodes that are not in the cluster mean nothing.
//
// Cost:    64 amounts a resource, 8 at a time with 64-byte vectors; fewer resources once
//          no node is left.
// Threads: reads only.
uint64_t FitsWord(const ClusterSnapshot& snapshot, const PodShape& shape, size_t word);

// The same in each of the ways that this machine knows, the widest vectors first, for
// tests.  REQUIRES: way < FitsWordWays().
size_t FitsWordWays();
uint64_t FitsWord(const ClusterSnapshot& snapshot, const PodShape& shape, size_t word, size_t way);

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_FITS_WORD_H_
