// Advice: what a warning suspects and what its reader can do, by where the cluster comes from.
//
// The user of a dump makes another dump, by another command.  The user of a session that a client
// feeds makes no dump: the feeder does not see what is missing (it lacks a right, or is restricted
// to a namespace), or does not feed it.  Both texts of a warning stand in one row.

#ifndef EBB_SNAPSHOT_IMPORT_ADVICE_H_
#define EBB_SNAPSHOT_IMPORT_ADVICE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/import/input_warning.h"

namespace ebb {

// Where the objects of a cluster come from.
enum class InputSource : uint8_t {
  kDump,    // Files that its user fetched.
  kFeeder,  // A client lists and watches them: ebb-kube, or a program over Sync or the C ABI.
};

// What messages call it: "the input", "what was fed".
std::string_view NameOf(InputSource source);

// Explanations of a finding that differ by source.
enum class Suspicion : uint8_t {
  kOneNamespace,         // All pods are of one.
  kSomeNamespaces,       // Of some nothing is there.
  kMissingNamespaces,    // Pods that every cluster has are not there.
  kPlatformsNamespaces,  // All are the platform's own.
  kMissingClaims,        // Claims that others refer to are not there.
  kPodsOfTwoMoments,     // Some were replaced.
  kTwoClusters,          // Objects refer to others by other UIDs.
  kManifests,            // Objects without what the API server gives them.
};
std::string_view TextOf(Suspicion suspicion, InputSource source);

// As words of kubectl: all kinds.
inline constexpr std::string_view kAllKinds = "*";

// Sets the warning's command (of a dump) or advice (of a feeder), by its code.  `words`: the kinds
// that are missing, as kubectl calls them ("sts,jobs"); "": those of the code's row.
// REQUIRES: the code has a row.
void Advise(InputSource source, InputWarning& warning, std::string_view words = "");

// "let the feeder list and watch NodeClaim.karpenter.sh, ...": for a kind that is named.
std::string AdviceToFeed(std::string_view kinds);

// For tests: every code that has a row.
std::vector<std::string_view> CodesWithAdvice();

}  // namespace ebb

#endif  // EBB_SNAPSHOT_IMPORT_ADVICE_H_
