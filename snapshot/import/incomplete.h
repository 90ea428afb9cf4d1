// Which answers are given about an input that is not a whole cluster: one rule for dumps, sessions
// and embedding programs.
//
//   Lack::kPods   Pods, nodes or namespaces must be missing: there is no answer (CheckWhole),
//                 because missing pods make nodes look emptier than they are.
//   Lack::kKinds  Objects of a kind are missing: the answer says that it is about an incomplete
//                 cluster, and what is missing.  Answers that will be executed (names of nodes,
//                 rounds) are rejected (CheckMayBeCarriedOut).
//   neither       A warning, which --strict turns into an error (CheckStrict of load_cluster.h).
//
// --allow-incomplete (LoadOptions::allow_incomplete, PlanInput.allow_incomplete, ebb_options)
// turns off both errors; the answer still says what is missing.  --assume-complete states that the
// input is the whole cluster: then nothing is checked, and nothing counts as missing.

#ifndef EBB_SNAPSHOT_IMPORT_INCOMPLETE_H_
#define EBB_SNAPSHOT_IMPORT_INCOMPLETE_H_

#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "snapshot/import/input_warning.h"

namespace ebb {

// Whether no warning says that something is missing.
bool IsComplete(std::span<const InputWarning> warnings);

// The warnings that say that something is missing, in their order.
std::vector<InputWarning> MissingOf(std::span<const InputWarning> warnings);

// For the first line of an answer: " of an incomplete cluster", or "" if nothing is missing.
std::string_view OfIncomplete(std::span<const InputWarning> warnings);

// Errors: InvalidArgument if pods must be missing and `allow_incomplete` is false.  The message
// says what is missing, what to fetch or to feed, and how to override the error.
absl::Status CheckWhole(std::span<const InputWarning> warnings, bool allow_incomplete);

// For an answer that will be executed: like CheckWhole, and also an error if kinds are missing.
absl::Status CheckMayBeCarriedOut(std::span<const InputWarning> warnings, bool allow_incomplete);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_IMPORT_INCOMPLETE_H_
