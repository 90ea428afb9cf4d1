#include "report/block_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/figures.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "snapshot/storage.h"

namespace ebb {
namespace {

std::string ProtectionWords(const PodShape& shape) {
  if (shape.do_not_disrupt_unstarted) {
    return "its annotation karpenter.sh/do-not-disrupt protects it for a time from its start, "
           "which "
           "is not known";
  }
  if (shape.do_not_disrupt_until == PodShape::kForEver) return "";
  return fmt::format("its annotation karpenter.sh/do-not-disrupt protects it until {}",
                     FormatRfc3339(shape.do_not_disrupt_until));
}

std::string GangWords(const Catalog& catalog, PodId pod) {
  const std::optional<uint32_t> held_by = catalog.HoldingGang(pod);
  if (!held_by) return "";
  const Gang& gang = catalog.gangs()[*held_by];
  const GangStates::State& state = catalog.gang_states().gangs[*held_by];
  std::string runs = fmt::format(
      "{} of {} {}/{} {} on {}", Count(static_cast<uint64_t>(state.running), "pod", "pods"),
      ToString(gang.kind), Printable(catalog.Text(gang.namespace_name)),
      Printable(catalog.Text(gang.name)), state.running == 1 ? "runs" : "run",
      Count(static_cast<uint64_t>(state.nodes), "node", "nodes"));
  if (state.declared > 0) {
    runs += fmt::format(
        ", {} {} declared",
        Count(static_cast<uint64_t>(state.declared), gang.kind == GangKind::kJobSet ? "Job" : "pod",
              gang.kind == GangKind::kJobSet ? "Jobs" : "pods"),
        state.declared == 1 ? "is" : "are");
  }
  if (!gang.not_understood.empty()) {
    return fmt::format("{}, and the group is not understood: {}", runs,
                       Printable(gang.not_understood));
  }
  if (!gang.one_by_one) return runs + ", and its pods stay together";
  const std::string leaving =
      state.leaving == 0
          ? ""
          : fmt::format(" ({} of them on nodes that are being deleted)", state.leaving);
  return fmt::format("{}{}, of which {} must run", runs, leaving, state.least);
}

// Why the eviction API would not ask the pod's budget; "" if it would.
std::string FreeWords(const Catalog& catalog, PodId pod, const Pdb& pdb) {
  if (!catalog.IsFreeOfBudgets(pod)) return "";
  std::string why = "the pod does not run";
  if (catalog.IsUnready(pod) && pdb.always_allows_unready) {
    why = "the pod is not ready and the budget's unhealthyPodEvictionPolicy is AlwaysAllow";
  } else if (catalog.IsUnready(pod) && pdb.FreesUnready()) {
    why = fmt::format(
        "the pod is not ready, and the budget is met without it ({} are healthy, and {} must be)",
        *pdb.current_healthy, *pdb.desired_healthy);
  }
  return fmt::format(
      "{}, so that the eviction API would evict it; the autoscaler's rule does not look at that, "
      "and --unhealthy-pods=evict does",
      why);
}

std::string BudgetWords(const Catalog& catalog, PodId pod, const Pdb& pdb) {
  std::string text = OutlookWords(pdb);
  const std::string free = FreeWords(catalog, pod, pdb);
  return text + (text.empty() || free.empty() ? "" : "; ") + free;
}

// Why a rule before NotSafeToEvict decides about the pod.
std::string_view EarlierRule(const Catalog& catalog, const PodShape& shape,
                             const DrainVerdict& verdict) {
  if (verdict.outcome == DrainOutcome::kSkip) {
    return shape.mirror ? "a mirror pod goes with its node"
                        : "the pod is deleted, and past its grace period";
  }
  if (IsDaemonSetPod(catalog, shape)) return "a DaemonSet's pod goes with its node";
  if (HasEnded(shape)) return "the pod has ended";
  return "the rule for pods of kube-system that no budget selects comes first, and lets them move "
         "at the age of --blocking-system-pod-distruption-timeout";
}

// Whether the value was probably meant to keep the pod.
bool MeansYes(std::string_view value) {
  for (const std::string_view yes : {"true", "yes", "1", "t", "y"}) {
    if (value.size() == yes.size() &&
        std::equal(value.begin(), value.end(), yes.begin(), [](unsigned char a, char b) {
          return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
        })) {
      return true;
    }
  }
  return false;
}

}  // namespace

BudgetOutlook OutlookOf(const Pdb& pdb) {
  if (pdb.sync_failed) return BudgetOutlook::kNotComputed;
  if (pdb.disruptions_allowed > 0) return BudgetOutlook::kRecovers;
  if (pdb.NeverAllows()) return BudgetOutlook::kNeverAllows;
  const bool waits = pdb.desired_healthy && pdb.expected_pods && *pdb.expected_pods > 0;
  return waits ? BudgetOutlook::kWaits : BudgetOutlook::kUnknown;
}

std::string_view ToString(BudgetOutlook outlook) {
  static constexpr std::string_view kNames[] = {"recovers", "waits", "neverAllows", "notComputed",
                                                "unknown"};
  return kNames[static_cast<size_t>(outlook)];
}

std::string OutlookWords(const Pdb& pdb) {
  switch (OutlookOf(pdb)) {
    case BudgetOutlook::kRecovers:
      return fmt::format(
          "this plan spends the {} that the budget allows at a time; it recovers when the evicted "
          "pods are ready elsewhere, and a later round may go on",
          Count(static_cast<uint64_t>(pdb.disruptions_allowed), "disruption", "disruptions"));
    case BudgetOutlook::kWaits:
      return fmt::format(
          "the budget allows none now, as too few of its pods are healthy: it asks for {} of {}",
          *pdb.desired_healthy, *pdb.expected_pods);
    case BudgetOutlook::kNeverAllows:
      return fmt::format(
          "the budget never allows any: it asks for {}, and it has {}",
          Count(static_cast<uint64_t>(*pdb.desired_healthy), "healthy pod", "healthy pods"),
          Count(static_cast<uint64_t>(*pdb.expected_pods), "pod", "pods"));
    case BudgetOutlook::kNotComputed:
      return fmt::format("the budget cannot be computed, its status says SyncFailed{}{}",
                         pdb.sync_message.empty() ? "" : ": ", Printable(pdb.sync_message));
    case BudgetOutlook::kUnknown:
      break;
  }
  return "";
}

std::string BlockWords(const Catalog& catalog, PodId pod, BlockingPodReason reason,
                       std::optional<PdbId> pdb) {
  if (reason == BlockingPodReason::kDoNotDisruptAnnotation) {
    return ProtectionWords(catalog.shape_of(pod));
  }
  if (reason == BlockingPodReason::kPodOfGang) return GangWords(catalog, pod);
  if (reason == BlockingPodReason::kEvictionRequested) {
    return fmt::format("EvictionRequest {} asks for its eviction, which its responders carry out",
                       Printable(catalog.Text(catalog.FindEvictionRequest(pod))));
  }
  if (!pdb) return "";
  return BudgetWords(catalog, pod, catalog.pdbs()[Index(*pdb)]);
}

std::string PassedOverWords(const Catalog& catalog, PodId pod, const DrainVerdict& verdict) {
  const PodShape& shape = catalog.shape_of(pod);
  if (shape.safe_to_evict == SafeToEvict::kOther) {
    const std::string_view value = catalog.Text(shape.safe_to_evict_text);
    if (MeansYes(value) || verdict.outcome == DrainOutcome::kBlock) return "";
    return fmt::format(
        "its annotation safe-to-evict \"{}\" is ignored: only \"true\", \"false\" and "
        "\"on-completion\" count",
        Printable(value));
  }
  const bool decided =
      verdict.outcome == DrainOutcome::kDrain || verdict.outcome == DrainOutcome::kSkip;
  if (shape.safe_to_evict != SafeToEvict::kFalse || !decided) return "";
  return fmt::format("its annotation safe-to-evict \"false\" is passed over: {}",
                     EarlierRule(catalog, shape, verdict));
}

std::string NotUnderstoodWords(const Catalog& catalog, PodId pod) {
  const std::string& what = catalog.shape_of(pod).not_understood;
  return what.empty() ? "" : fmt::format("is not understood: {}", what);
}

std::string PlaceWords(const Catalog& catalog, PodId pod) {
  const PodShape& shape = catalog.shape_of(pod);
  if (shape.vpa != kNoText) {
    const auto cores = [](const Requests& requests) {
      return static_cast<double>(AmountOf(requests, kCpu)) / 1000;
    };
    const auto mebibytes = [](const Requests& requests) {
      return AmountOf(requests, kMemory) >> 20;
    };
    return fmt::format(
        "VerticalPodAutoscaler {}/{} lets it ask for {:g} cores and {} MiB when it is created "
        "again, instead of {:g} cores and {} MiB",
        Printable(catalog.Text(shape.namespace_name)), Printable(catalog.Text(shape.vpa)),
        cores(shape.charge_requests), WithCommas(mebibytes(shape.charge_requests)),
        cores(shape.home_requests), WithCommas(mebibytes(shape.home_requests)));
  }
  if (shape.volumes == 0) return "";
  const PodVolumes& volumes = catalog.storage().volumes(shape.volumes);
  size_t ephemeral = 0;
  for (const PodVolumes::ClaimUse& use : volumes.claims) ephemeral += use.ephemeral ? 1 : 0;
  if (ephemeral == 0) return "";
  return fmt::format(
      "{} of it {} ephemeral: made for this pod and deleted with it, so that the pod in its place "
      "gets a new volume and could run elsewhere; the autoscaler's simulation places the pod with "
      "the volume that it has",
      Count(ephemeral, "volume claim", "volume claims"), ephemeral == 1 ? "is" : "are");
}

}  // namespace ebb
