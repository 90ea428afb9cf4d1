// StrategicMerge changes a Kubernetes object by a patch as `kubectl patch` does.
//
// Maps are merged member by member, and null takes a member away.  Lists whose elements have a
// merge key (patchMergeKey of k8s.io/api) are merged element by element: an element of the patch
// changes the one of the object that has its key, or is appended.  Other lists (tolerations,
// taints, args) are replaced.  `$patch: delete` in an element takes the element of its key away;
// `$patch: replace` in a map, or as an element of its own in a list, replaces all of it.
//
// More careful than kubectl, which leaves these to the API server:
//   - a container that the pod does not have needs an image, or it is a misspelt name;
//   - a container goes by `$patch: delete` alone, not because a list or null leaves it out;
//   - an element cannot be found among those of which the key was not kept.
//
// Errors:  a text `field: what is wrong; what is expected`.  Other directives ($retainKeys,
//          $setElementOrder/..., $deleteFromPrimitiveList/...) are named and refused.
// Cost:    O(patch * elements of the lists that it names).
// Threads: pure functions.
// Source:  kubernetes apimachinery pkg/util/strategicpatch, k8s.io/api core/v1 struct tags.

#ifndef EBB_WHAT_IF_STRATEGIC_MERGE_H_
#define EBB_WHAT_IF_STRATEGIC_MERGE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ebb {

// Merges `patch`, a JSON object, into `object`.  Returns what is wrong; empty: nothing is, and
// otherwise `object` may hold a part of the patch.
std::string StrategicMerge(const nlohmann::ordered_json& patch, nlohmann::ordered_json& object);

// The fields that a patch sets or takes away and that make no difference: which `after`, the
// object as it was read and written since, does not have, or, where they are taken away, `before`
// had not.  As "spec.containers[web].resources.limits", the outermost alone, in the patch's order.
std::vector<std::string> FieldsWithoutEffect(const nlohmann::ordered_json& patch,
                                             const nlohmann::ordered_json& before,
                                             const nlohmann::ordered_json& after);

// What to patch in place of a field of an object of the kind; empty: nothing is known.
std::string_view PatchInstead(std::string_view kind, std::string_view field);

}  // namespace ebb

#endif  // EBB_WHAT_IF_STRATEGIC_MERGE_H_
