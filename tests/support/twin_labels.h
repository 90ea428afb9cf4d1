// Labels, selectors and node selectors for the slow twins.  They parse the texts again for every
// question, and share no code with snapshot/matching.h.
//
// Threads: pure.
// Source:  k8s.io/apimachinery pkg/labels, k8s.io/component-helpers scheduling/corev1.

#ifndef EBB_TESTS_SUPPORT_TWIN_LABELS_H_
#define EBB_TESTS_SUPPORT_TWIN_LABELS_H_

#include <optional>
#include <vector>

#include "snapshot/objects/objects.h"

namespace ebb::test::twin {

std::optional<objects::Text> Find(const objects::KeyValues& labels, objects::Text key);

bool Has(const std::vector<objects::Text>& values, objects::Text value);

// nullopt: the requirement is not valid.  `with_numbers`: Gt and Lt are operators.
std::optional<bool> Matches(const objects::Requirement& r, const objects::KeyValues& labels,
                            bool with_numbers);

// nullopt: the selector is not valid.
std::optional<bool> Matches(const objects::LabelSelector& selector,
                            const objects::KeyValues& labels);

}  // namespace ebb::test::twin

#endif  // EBB_TESTS_SUPPORT_TWIN_LABELS_H_
