// Advice: what a warning suspects and what the user can do, depending on where the cluster comes
// from.
//
// The user of a dump makes another dump with another command.  The user of a session that a client
// feeds makes no dump: the feeder cannot see the missing objects (it lacks a right, or is
// restricted to a namespace), or does not send them.  One table row has both texts of a warning.

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
  kDump,    // Files that the user fetched.
  kFeeder,  // A client that lists and watches: ebb-kube, or a program over Sync or the C ABI.
};

// How messages name the source: "the input", "what was fed".
std::string_view NameOf(InputSource source);

// Explanations of a finding whose text differs by source.
enum class Suspicion : uint8_t {
  kOneNamespace,         // All pods are of one namespace.
  kSomeNamespaces,       // Some namespaces contain no object.
  kMissingNamespaces,    // Pods that every cluster has are missing.
  kPlatformsNamespaces,  // All pods and namespaces are the platform's own.
  kMissingClaims,        // Volumes or pods refer to claims that are missing.
  kPodsOfTwoMoments,     // There are more pods than controllers count; some were replaced.
  kTwoClusters,          // Objects refer to other objects by UIDs that these do not have.
  kManifests,            // Objects lack what the API server gives every object.
};
std::string_view TextOf(Suspicion suspicion, InputSource source);

// Stands for all kinds where kubectl's names of kinds are expected.
inline constexpr std::string_view kAllKinds = "*";

// Sets the warning's command (kDump) or advice (kFeeder) from the row of its code.  `words`: the
// missing kinds in kubectl's names ("sts,jobs"); "": the kinds of the row.
// REQUIRES: the code has a row.
void Advise(InputSource source, InputWarning& warning, std::string_view words = "");

// "the feeder needs the right to list and watch KINDS, and must feed them; ...".
std::string AdviceToFeed(std::string_view kinds);

// For tests: every code that has a row.
std::vector<std::string_view> CodesWithAdvice();

}  // namespace ebb

#endif  // EBB_SNAPSHOT_IMPORT_ADVICE_H_
