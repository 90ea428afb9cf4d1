// The filter NodeResourcesFit for 64 nodes at once.
//
// The code has a file of its own because it is compiled several times, once for each vector width
// of the architecture.  The widest version that the machine supports is chosen at run time.

#ifndef EBB_ENGINE_PASS_FITS_WORD_H_
#define EBB_ENGINE_PASS_FITS_WORD_H_

#include <cstddef>
#include <cstdint>

#include "snapshot/cluster_snapshot.h"

namespace ebb {

// Returns a bit for each node of word `word` of a NodeSet.  The bit is set if the node has a free
// pod slot and enough of each resource that the shape requests.  Bits of nodes that are not in the
// cluster are undefined.
//
// Cost:    64 amounts for each resource, 8 at a time with 64-byte vectors.  Stops early when no
//          node is left.
// Threads: reads only.
uint64_t FitsWord(const ClusterSnapshot& snapshot, const PodShape& shape, size_t word);

// The number of versions that this machine supports, and FitsWord by version, the widest vectors
// first.  For tests.
// REQUIRES: way < FitsWordWays().
size_t FitsWordWays();
uint64_t FitsWord(const ClusterSnapshot& snapshot, const PodShape& shape, size_t word, size_t way);

}  // namespace ebb

#endif  // EBB_ENGINE_PASS_FITS_WORD_H_
