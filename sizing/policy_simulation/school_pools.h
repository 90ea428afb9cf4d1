// A file of pools with one pool for each of the four schools, all of similar size, to compare them.

#ifndef EBB_SIZING_POLICY_SIMULATION_SCHOOL_POOLS_H_
#define EBB_SIZING_POLICY_SIMULATION_SCHOOL_POOLS_H_

#include <string_view>

namespace ebb {

// Each pool may have 1 to 20 nodes, and aims at nodes that are about 70% full.  ReadPolicyFile
// accepts the file.
std::string_view SchoolPools();

}  // namespace ebb

#endif  // EBB_SIZING_POLICY_SIMULATION_SCHOOL_POOLS_H_
