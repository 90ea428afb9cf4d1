// Ends of the reasons (PodShape::not_understood) that name what ebb does not evaluate.

#ifndef EBB_SNAPSHOT_NOT_EVALUATED_H_
#define EBB_SNAPSHOT_NOT_EVALUATED_H_

#include <string_view>

namespace ebb {

inline constexpr std::string_view kDynamicAllocationNotEvaluated =
    "extended resources that are allocated from devices are not evaluated";

}  // namespace ebb

#endif  // EBB_SNAPSHOT_NOT_EVALUATED_H_
