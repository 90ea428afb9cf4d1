// A file of pools with one pool under each of the four schools, of like size, for comparing them.

#ifndef EBB_SIZING_TRIAL_SCHOOL_POOLS_H_
#define EBB_SIZING_TRIAL_SCHOOL_POOLS_H_

#include <string_view>

namespace ebb {

// All may have 1 to 20 nodes, and aim at nodes that are about seven tenths full.  It passes
// ReadPolicyFile.
std::string_view SchoolPools();

}  // namespace ebb

#endif  // EBB_SIZING_TRIAL_SCHOOL_POOLS_H_
