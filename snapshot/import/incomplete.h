// What may be answered about an input that is not all of its cluster: the one rule for dumps,
// sessions and embedding programs.
//
//   Lack::kPods   Pods, nodes or namespaces must be missing: there is no answer (CheckWhole).
//                 What is missing leaves room that is not there.
//   Lack::kKinds  Objects of a kind are missing: the answer says that it is of an incomplete
//                 cluster, and what it lacks.  Forms of the answer that are carried out (names
//                 of nodes, rounds) are refused (CheckMayBeCarriedOut).
//   neither       A warning, which --strict makes an error (CheckStrict of load_cluster.h).
//
// --allow-incomplete (LoadOptions::allow_incomplete, PlanInput.allow_incomplete, ebb_options)
// lifts both refusals; the answer is marked all the same.  --assume-complete says that the input
// is all there is: nothing is judged then, so that nothing lacks.

#ifndef EBB_SNAPSHOT_IMPORT_INCOMPLETE_H_
#define EBB_SNAPSHOT_IMPORT_INCOMPLETE_H_

#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "snapshot/import/input_warning.h"

namespace ebb {

// Whether no warning says that the input lacks something.
bool IsComplete(std::span<const InputWarning> warnings);

// The warnings that say what the input lacks, in their order.
std::vector<InputWarning> MissingOf(std::span<const InputWarning> warnings);

// " of an incomplete cluster", or "" where nothing lacks: for the first line of an answer.
std::string_view OfIncomplete(std::span<const InputWarning> warnings);

// Errors: InvalidArgument: pods must be missing, and `allow_incomplete` is false.  The message
// says what is missing, what to fetch or to feed and how to override.
absl::Status CheckWhole(std::span<const InputWarning> warnings, bool allow_incomplete);

// The same, and an error where kinds are missing: of an answer that is carried out.
absl::Status CheckMayBeCarriedOut(std::span<const InputWarning> warnings, bool allow_incomplete);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_IMPORT_INCOMPLETE_H_
