#include "snapshot/import/advice.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/text.h"
#include "snapshot/import/dump_kinds.h"

namespace ebb {
namespace {

struct SuspicionTexts {
  Suspicion suspicion;
  std::string_view dump;
  std::string_view feeder;
};

constexpr auto kSuspicions = std::to_array<SuspicionTexts>({
    {Suspicion::kOneNamespace, "the dump seems to be made without -A",
     "the feeder seems to be restricted to that namespace"},
    {Suspicion::kSomeNamespaces, "the dump seems to be of some namespaces only",
     "the feeder seems to see some namespaces only"},
    {Suspicion::kMissingNamespaces, "the dump seems to lack namespaces",
     "the feeder seems to see some namespaces only"},
    {Suspicion::kPlatformsNamespaces,
     ", as in a must-gather; it seems to lack those of the cluster's users",
     "; the feeder seems not to see those of the cluster's users"},
    {Suspicion::kMissingClaims, "the dump seems to lack namespaces, or claims",
     "the feeder seems not to see some namespaces, or claims"},
    {Suspicion::kPodsOfTwoMoments,
     "dumps of two moments seem to be mixed, with pods that were replaced",
     "the feeder seems to have missed deletions of pods that were replaced"},
    {Suspicion::kTwoClusters, "dumps of two clusters, or of two moments, seem to be mixed",
     "feeders of two clusters seem to be mixed, or changes were missed"},
    {Suspicion::kManifests, "files of manifests are taken for the cluster's state, leave them out",
     "manifests are taken for the cluster's state"},
});

// What the user of a feeder should do.
enum class Deed : uint8_t {
  kNothing,        // The message already says it, or the warning only concerns dumps.
  kFeed,           // Feed these kinds.
  kFeedAll,        // Feed these namespaced kinds, from all namespaces.
  kResync,         // Let the feeder send everything again.
  kFeedAsGiven,    // Feed complete objects.
  kSameAsForDump,  // Run the command of the dump; it only shows something.
};

struct Row {
  std::string_view code;
  // What fetches the missing part of a dump: kubectl's names of kinds, a whole command, kAllKinds,
  // or "".
  std::string_view dump;
  Deed deed;
  std::string_view kinds = "";  // Kinds that a feeder should feed, in kubectl's names.
};

constexpr std::string_view kGetNamespaces = "kubectl get ns -o json";
constexpr std::string_view kGetNodeClaims = "kubectl get nodepools,nodeclaims -o json";
// If nothing is found, `kubectl get` prints a List without the kind of its items.  The API server's
// own answer has the kind, and covers all namespaces.
constexpr std::string_view kListBudgets = "kubectl get --raw /apis/policy/v1/poddisruptionbudgets";
constexpr std::string_view kShowBudgets = "kubectl get pdb -A";

constexpr auto kRows = std::to_array<Row>({
    // Pods and namespaces.
    {"NoPods", kAllKinds, Deed::kFeedAll, "pods"},
    {"NoKubeSystemPods", kAllKinds, Deed::kFeedAll, "pods"},
    {"NamespacesNotListed", kGetNamespaces, Deed::kFeedAll, "ns,pods"},
    {"NamespacesWithoutObjects", kAllKinds, Deed::kFeedAll, kAllKinds},
    {"NamespacesWithoutPods", "pods", Deed::kFeedAll, "pods"},
    {"NodesWithoutPods", "pods", Deed::kFeedAll, "pods"},
    {"NodesWithoutDaemons", "pods", Deed::kFeedAll, "pods"},
    {"DaemonSetsWithoutPods", "pods", Deed::kFeedAll, "pods"},
    {"PodsMissing", "pods", Deed::kFeedAll, "pods"},
    {"PodsOnUnknownNodes", "kubectl get nodes -o json", Deed::kFeed, "nodes"},
    {"NoNamespaces", kGetNamespaces, Deed::kFeed, "ns"},
    {"PodsWithoutContainers", "pods", Deed::kFeedAsGiven},
    {"PodsWithoutConditions", "pods", Deed::kFeedAsGiven},
    {"ObjectsWithoutUid", "", Deed::kFeedAsGiven},
    // Budgets and controllers.
    {"NoPodDisruptionBudgets", kListBudgets, Deed::kFeedAll, "pdb"},
    {"BudgetsWithoutPods", kAllKinds, Deed::kFeedAll, "pods"},
    {"BudgetsOfUnknownNamespaces", kAllKinds, Deed::kFeed, "ns"},
    {"NoControllers", kAllKinds, Deed::kFeedAll, "rs,sts,ds,jobs,rc"},
    {"PodsWithSeveralBudgets", kShowBudgets, Deed::kSameAsForDump},
    {"BudgetsNotComputed", kShowBudgets, Deed::kSameAsForDump},
    // Machines.
    {"NoNodePools", kGetNodeClaims, Deed::kFeed, "nodepools.karpenter.sh"},
    {"NoNodeClaims", kGetNodeClaims, Deed::kFeed, "nodeclaims.karpenter.sh"},
    {"NoMachines", "machines.machine.openshift.io", Deed::kFeedAll,
     "machines.machine.openshift.io"},
    // Storage.
    {"NoPersistentVolumeClaims", "pvc,pv,sc,csinodes", Deed::kFeedAll, "pvc"},
    {"NoPersistentVolumes", "pv", Deed::kFeed, "pv"},
    {"NoStorageClasses", "sc", Deed::kFeed, "sc"},
    {"NoCSINodes", "csinodes", Deed::kFeed, "csinodes"},
    {"NoVolumeAttachments", "volumeattachments", Deed::kFeed, "volumeattachments"},
    {"NoCSIDrivers", "csidrivers,csistoragecapacities", Deed::kFeed,
     "csidrivers,csistoragecapacities"},
    {"NoCSIStorageCapacities", "csistoragecapacities", Deed::kFeedAll, "csistoragecapacities"},
    {"ClaimsOfVolumesMissing", kAllKinds, Deed::kFeedAll, "pvc"},
    {"DeviceClaimsMissing", "deviceclasses,resourceclaims,resourceclaimtemplates,resourceslices",
     Deed::kFeedAll, "resourceclaims"},
    // Mixed moments or clusters.
    {"OldDump", kAllKinds, Deed::kResync},
    {"ControllersOfOtherUids", kAllKinds, Deed::kResync},
    {"TooManyPods", kAllKinds, Deed::kResync},
    {"DumpsOfTwoMoments", kAllKinds, Deed::kResync},
    {"ObjectsInTwoVersions", kAllKinds, Deed::kResync},
    // Files.
    {"PartOfAList", kAllKinds, Deed::kNothing},
    {"ObjectsNotRead", kAllKinds, Deed::kNothing},
});

const Row& RowOf(std::string_view code) {
  const auto* const row = std::ranges::find(kRows, code, &Row::code);
  EBB_CHECK(row != kRows.end());
  return *row;
}

std::string DumpCommand(std::string_view dump) {
  if (dump == kAllKinds) return KubectlGet(DumpWords());
  if (dump.empty() || dump.starts_with("kubectl ")) return std::string(dump);
  return KubectlGet(dump);
}

// "pods, poddisruptionbudgets.policy": resources with their API groups, as in RBAC.
std::string Resources(std::string_view words) {
  if (words == kAllKinds) return "all kinds that it feeds";
  std::string text;
  const auto kinds = DumpKinds();
  for (const absl::string_view word : absl::StrSplit(Absl(words), ',')) {
    const auto kind =
        std::ranges::find(kinds, std::string_view(word.data(), word.size()), &DumpKind::word);
    EBB_CHECK(kind != kinds.end());
    absl::StrAppend(&text, text.empty() ? "" : ", ", Absl(kind->resource),
                    kind->group.empty() ? "" : ".", Absl(kind->group));
  }
  return text;
}

std::string Feed(std::string_view what, std::string_view where) {
  return absl::StrCat("the feeder needs the right to list and watch ", Absl(what), Absl(where),
                      ", and must feed them; `ebb-kube --check` names the rights that are missing");
}

constexpr std::string_view kInAllNamespaces =
    " in all namespaces (a ClusterRole with a ClusterRoleBinding)";

std::string FeederAdvice(Deed deed, std::string_view words) {
  switch (deed) {
    case Deed::kNothing:
    case Deed::kSameAsForDump:
      return "";
    case Deed::kFeed:
      return Feed(Resources(words), "");
    case Deed::kFeedAll:
      return Feed(Resources(words), kInAllNamespaces);
    case Deed::kResync:
      return "start the feeder again: its resync replaces what is held";
    case Deed::kFeedAsGiven:
      return "feed objects as the API server gives them, with all their fields";
  }
  return "";
}

}  // namespace

std::string_view NameOf(InputSource source) {
  return source == InputSource::kDump ? "the input" : "what was fed";
}

std::string_view TextOf(Suspicion suspicion, InputSource source) {
  const auto* const texts = std::ranges::find(kSuspicions, suspicion, &SuspicionTexts::suspicion);
  EBB_CHECK(texts != kSuspicions.end());
  return source == InputSource::kDump ? texts->dump : texts->feeder;
}

void Advise(InputSource source, InputWarning& warning, std::string_view words) {
  const Row& row = RowOf(warning.code);
  if (source == InputSource::kDump || row.deed == Deed::kSameAsForDump) {
    warning.command = DumpCommand(words.empty() ? row.dump : words);
  } else {
    warning.advice = FeederAdvice(row.deed, words.empty() ? row.kinds : words);
  }
}

std::string AdviceToFeed(std::string_view kinds) { return Feed(kinds, ""); }

std::vector<std::string_view> CodesWithAdvice() {
  std::vector<std::string_view> codes;
  codes.reserve(kRows.size());
  for (const Row& row : kRows) codes.push_back(row.code);
  return codes;
}

}  // namespace ebb
