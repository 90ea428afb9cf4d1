// StrategicMerge changes a Kubernetes object by a patch as `kubectl patch` does.
//
// Maps are merged member by member, and null removes a member.  Lists whose elements have a merge
// key (patchMergeKey of k8s.io/api) are merged element by element: an element of the patch changes
// the element of the object with the same key, or is appended.  Other lists (tolerations, taints,
// args) are replaced.  `$patch: delete` in an element removes the element with its key; `$patch:
// replace` in a map, or as a separate element of a list, replaces the whole map or list.
//
// More careful than kubectl, which leaves these to the API server:
//   - a new container must have an image, since otherwise its name is probably misspelt;
//   - only `$patch: delete` removes a container, not null or a list without it;
//   - an element cannot be found in a list whose elements were stored without the key.
//
// Errors:  a text `field: what is wrong; what is expected`.  Other directives ($retainKeys,
//          $setElementOrder/..., $deleteFromPrimitiveList/...) are rejected by name.
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

// Merges `patch`, a JSON object, into `object`.  Returns what is wrong, or "".  If something is
// wrong, `object` may contain a part of the patch.
std::string StrategicMerge(const nlohmann::ordered_json& patch, nlohmann::ordered_json& object);

// The fields of a patch that make no difference: fields that are set but that `after` (the object
// as it was read and written again) lacks, and fields that are removed but that `before` did not
// have.  In the form "spec.containers[web].resources.limits", only the outermost field, in the
// order of the patch.
std::vector<std::string> FieldsWithoutEffect(const nlohmann::ordered_json& patch,
                                             const nlohmann::ordered_json& before,
                                             const nlohmann::ordered_json& after);

// What to patch instead of a field of an object of this kind; empty: no advice.
std::string_view PatchInstead(std::string_view kind, std::string_view field);

}  // namespace ebb

#endif  // EBB_WHAT_IF_STRATEGIC_MERGE_H_
