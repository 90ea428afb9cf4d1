#include "snapshot/import/unevaluated_warnings.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/text.h"
#include "snapshot/catalog.h"
#include "snapshot/devices.h"
#include "snapshot/import/advice.h"

namespace ebb {
namespace {

// A count of objects, and the smallest of their names, so that the result is independent of order.
struct Found {
  uint64_t count = 0;
  std::string first;

  void Add(std::string name) {
    if (count++ == 0 || name < first) first = std::move(name);
  }
  [[nodiscard]] std::string Text() const {
    return absl::StrCat(first, count > 1 ? " and " : "",
                        count > 1 ? absl::StrCat(WithCommas(count - 1), " more") : "");
  }
};

// "2 NodePools are not evaluated (default and 1 more): ...".  If several kinds share a code, the
// reason is that of the kind found first.
void WarnOfKinds(const UnevaluatedObjects& objects, const SchedulerConfig* scheduler,
                 std::vector<InputWarning>& warnings) {
  struct OfCode {
    const UnevaluatedKind* row;
    std::map<std::string, Found> by_kind;
  };
  std::map<std::string_view, OfCode> by_code;
  objects
      .ForEach([&](const ObjectSink::Unevaluated& object) {
        const UnevaluatedKind* const row = FindUnevaluatedKind(object.api_version, object.kind);
        if (row == nullptr) return absl::OkStatus();
        if (scheduler != nullptr && scheduler->of_input &&
            object.kind == "KubeSchedulerConfiguration") {
          return absl::OkStatus();
        }
        OfCode& of =
            by_code.try_emplace(row->code, OfCode{.row = row, .by_kind = {}}).first->second;
        of.by_kind[std::string(object.kind)].Add(
            absl::StrCat(Absl(object.namespace_name), object.namespace_name.empty() ? "" : "/",
                         Absl(object.name)));
        return absl::OkStatus();
      })
      .IgnoreError();
  for (const UnevaluatedKind& each : UnevaluatedKinds()) {
    const auto found = by_code.find(each.code);
    if (found == by_code.end()) continue;
    std::string text;
    uint64_t all = 0;
    for (const auto& [kind, of_kind] : found->second.by_kind) {
      all += of_kind.count;
      absl::StrAppend(&text, text.empty() ? "" : ", ", WithCommas(of_kind.count), " ",
                      Printable(kind), of_kind.count > 1 ? "s" : "");
      if (!of_kind.first.empty()) absl::StrAppend(&text, " (", Printable(of_kind.Text()), ")");
    }
    warnings.push_back({std::string(each.code),
                        absl::StrCat(text, all == 1 ? " is" : " are",
                                     " not evaluated: ", Absl(found->second.row->why)),
                        ""});
    by_code.erase(found);
  }
}

// Says that the scheduler's configuration is one of the input, and what of it is not evaluated.
void WarnOfScheduler(const Catalog& catalog, std::vector<InputWarning>& warnings) {
  const SchedulerConfig* const config = catalog.scheduler();
  if (config == nullptr) return;
  if (config->of_input) {
    warnings.push_back({"SchedulerConfigurationInInput",
                        "the input has a KubeSchedulerConfiguration; it is read as the file of "
                        "--scheduler-config-file",
                        ""});
  }
  for (const SchedulerProfile& profile : config->profiles) {
    if (!profile.not_understood.empty()) {
      warnings.push_back({"SchedulerProfileNotEvaluated",
                          absl::StrCat("pods of the scheduler ", Printable(profile.name),
                                       " keep their nodes: ", Printable(profile.not_understood)),
                          ""});
    }
    if (profile.not_scored.empty()) continue;
    warnings.push_back(
        {"SchedulerScoresNotEvaluated",
         absl::StrCat("a simulated scheduler may prefer other nodes than the scheduler ",
                      Printable(profile.name), ", as ebb does not evaluate ",
                      Printable(absl::StrJoin(profile.not_scored, ", "))),
         ""});
  }
}

// Calls `visit` with each pod of a shape for which `is_meant` returns true; these are few.
template <typename IsMeant, typename Visit>
void ForEachPodOf(const Catalog& catalog, IsMeant is_meant, Visit visit) {
  std::vector<bool> meant(catalog.pod_shapes());
  bool any = false;
  for (uint32_t s = 0; s < catalog.pod_shapes(); ++s) {
    meant[s] = is_meant(catalog.shape(PodShapeId{s}));
    any |= meant[s];
  }
  if (!any) return;
  for (uint32_t p = 0; p < catalog.pods(); ++p) {
    if (catalog.IsThere(PodId{p}) && meant[Index(catalog.shape_id(PodId{p}))]) visit(PodId{p});
  }
}

// "1 has ended, 2 wait for a node": the gang's pods that do not run; empty: there are none.
std::string AbsentText(const GangAbsent& absent) {
  std::vector<std::string> parts;
  const auto add = [&](int64_t pods, std::string_view one, std::string_view more) {
    if (pods > 0) parts.push_back(absl::StrCat(pods, Absl(pods == 1 ? one : more)));
  };
  add(absent.succeeded + absent.failed, " has ended", " have ended");
  add(absent.deleted, " is being deleted", " are being deleted");
  add(absent.waiting, " has no node", " have no node");
  add(absent.elsewhere, " is on a node that the input lacks", " are on nodes that the input lacks");
  add(absent.expendable, " is expendable", " are expendable");
  return absl::StrJoin(parts, ", ");
}

// Why the gang may be incomplete: "8 pods are declared, and 5 run, 1 has ended; the input lacks
// 2".  Empty: it is not.
std::string WhyIncomplete(const Gang& gang, const GangStates::State& state) {
  const bool of_jobs = gang.kind == GangKind::kJobSet;
  if (state.running == 0 || (state.running >= state.least && state.missing == 0)) return "";
  std::string text = gang.min_count ? absl::StrCat("the minimum is ", *gang.min_count)
                     : state.declared == 0
                         ? ""
                         : absl::StrCat(state.declared, of_jobs ? " Job" : " pod",
                                        state.declared == 1 ? " is" : "s are", " declared");
  absl::StrAppend(&text, text.empty() ? "" : ", and ", state.running,
                  state.running == 1 ? " pod runs" : " pods run");
  if (const std::string absent = AbsentText(state.absent); !absent.empty()) {
    absl::StrAppend(&text, ", ", absent);
  }
  if (state.missing > 0) {
    absl::StrAppend(&text, "; the input lacks ", of_jobs ? "pods of " : "", state.missing,
                    of_jobs ? (state.missing == 1 ? " Job" : " Jobs") : "");
  }
  return text;
}

// Warns about gangs whose PodGroup is missing, and about gangs that run fewer pods than their
// minimum or the size that they declare: the other pods may be in another dump.
void WarnOfPodGroups(const ClusterSnapshot& cluster, std::vector<InputWarning>& warnings) {
  const Catalog& catalog = cluster.catalog();
  Found missing;
  Found small;
  Found unknown;
  for (size_t g = 0; g < catalog.gangs().size(); ++g) {
    const Gang& gang = catalog.gangs()[g];
    const GangStates::State& state = catalog.gang_states().gangs[g];
    const int64_t running = state.running;
    const std::string name =
        absl::StrCat(Absl(ToString(gang.kind)), " ", Absl(catalog.Text(gang.namespace_name)), "/",
                     Absl(catalog.Text(gang.name)));
    if (HasPodGroup(gang.kind) && !gang.has_object && running > 0) missing.Add(name);
    if (running > 0 && !gang.not_understood.empty()) {
      unknown.Add(absl::StrCat(name, ": ", gang.not_understood));
    }
    if (const std::string why = WhyIncomplete(gang, state); !why.empty()) {
      small.Add(absl::StrCat(name, ": ", why));
    }
  }
  if (missing.count > 0) {
    warnings.push_back(
        {"PodGroupsMissing",
         absl::StrCat("pods name ", Count(missing.count, "group", "groups"),
                      " that the input lacks, ", Printable(missing.Text()),
                      "; its minimum is unknown, and its pods stay together where they are"),
         ""});
  }
  if (unknown.count > 0) {
    warnings.push_back({"PodGroupsNotUnderstood",
                        absl::StrCat(Count(unknown.count, "gang has a field", "gangs have fields"),
                                     " that ebb does not evaluate, ", Printable(unknown.Text()),
                                     "; its pods stay where they are"),
                        ""});
  }
  if (small.count > 0) {
    warnings.push_back(
        {"GangsIncomplete",
         absl::StrCat("fewer pods run than ", Count(small.count, "gang needs", "gangs need"),
                      ", or the input lacks some: ", Printable(small.Text())),
         ""});
  }
}

// Warns about CapacityBuffers for which less room is kept than they ask for.
void WarnOfBuffers(const ClusterSnapshot& cluster, std::vector<InputWarning>& warnings) {
  const Catalog& catalog = cluster.catalog();
  Found buffers;
  for (const KeptBuffer& buffer : catalog.buffers()) {
    if (!buffer.is_short()) continue;
    buffers.Add(absl::StrCat("CapacityBuffer ", Absl(catalog.Text(buffer.namespace_name)), "/",
                             Absl(catalog.Text(buffer.name)), ": ", buffer.problem));
  }
  if (buffers.count == 0) return;
  warnings.push_back(
      {"CapacityBuffersIncomplete",
       absl::StrCat("less room is kept than ",
                    Count(buffers.count, "CapacityBuffer asks", "CapacityBuffers ask"),
                    " for, so nodes that it needs may go: ", Printable(buffers.Text())),
       "kubectl get capacitybuffers,podtemplates -A -o json", Lack::kKinds});
}

// Warns about VerticalPodAutoscalers whose target has no pods: what they recommend is not used.
void WarnOfVpas(const ClusterSnapshot& cluster, std::vector<InputWarning>& warnings) {
  const Catalog& catalog = cluster.catalog();
  Found vpas;
  for (const RoomObjects::VpaTarget& target : catalog.storage().room().vpa_targets()) {
    if (catalog.HasPodsOf(target)) continue;
    const std::string_view kind = catalog.Text(target.kind);
    vpas.Add(absl::StrCat(
        Absl(catalog.Text(target.namespace_name)), "/", Absl(catalog.Text(target.vpa)),
        kind.empty() ? " (no spec.targetRef)"
                     : absl::StrCat(" (", Absl(kind), " ", Absl(catalog.Text(target.name)), ")")));
  }
  if (vpas.count == 0) return;
  warnings.push_back({"VpasWithoutPods",
                      absl::StrCat(Count(vpas.count, "VerticalPodAutoscaler targets",
                                         "VerticalPodAutoscalers target"),
                                   " no pod that the input shows: ", Printable(vpas.Text()),
                                   "; the recommendation changes no pod of the plan"),
                      ""});
}

// Warns about pools of devices from which ebb allocates nothing.
void WarnOfDevicePools(const ClusterSnapshot& cluster, std::vector<InputWarning>& warnings) {
  const Catalog& catalog = cluster.catalog();
  const Devices& devices = catalog.devices();
  if (!devices.HasSlices()) return;
  absl::flat_hash_set<std::pair<TextId, TextId>> seen;  // Of driver and pool.
  Found pools;
  cluster.alive().ForEach([&](NodeId node) {
    for (const NodePool& pool : devices.PoolsOf(node)) {
      const bool is_understood = !pool.wrong_slice;
      if (is_understood && !pool.incomplete && !pool.invalid) continue;
      const SliceInfo& first = devices.slice(pool.first_slice);
      if (!seen.insert({first.driver, first.pool}).second) continue;
      pools.Add(absl::StrCat(
          Absl(catalog.Text(first.driver)), "/", Absl(catalog.Text(first.pool)), ": ",
          is_understood
              ? std::string(pool.incomplete
                                ? "slices of its newest generation are missing"
                                : "two devices, or two sets of counters, have the same name")
              : absl::StrCat("ResourceSlice ",
                             Absl(catalog.Text(devices.slice(*pool.wrong_slice).name)), ": ",
                             devices.slice(*pool.wrong_slice).not_understood)));
    }
  });
  if (pools.count == 0) return;
  warnings.push_back(
      {"DevicePoolsNotEvaluated",
       absl::StrCat("no device is allocated from ", Count(pools.count, "pool", "pools"), ": ",
                    Printable(pools.Text())),
       ""});
}

std::string_view GroupOfOwner(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? "" : api_version.substr(0, slash);
}

// Whether the rules know the pod's controller.  The controller of a mirror pod is its node.
bool IsKnown(const Catalog& catalog, const PodShape& shape) {
  const std::string_view group = GroupOfOwner(catalog.Text(shape.controller.api_version));
  if (shape.controller_kind != OwnerKind::kOther) {
    // A DaemonSet or StatefulSet of another API has this kind too.
    return group.find('.') == group.npos;
  }
  const std::string_view kind = catalog.Text(shape.controller.kind);
  return shape.mirror || (group.empty() && kind == "Node") || kind == "CapacityBuffer";
}

// Warns about pods of unknown controllers: the rules assume that nothing recreates such pods.
void WarnOfControllers(const ClusterSnapshot& cluster, std::vector<InputWarning>& warnings) {
  const Catalog& catalog = cluster.catalog();
  Found pods;
  std::map<std::string, uint64_t> kinds;
  const auto is_unknown = [&](const PodShape& shape) {
    return shape.has_controller && !IsKnown(catalog, shape);
  };
  ForEachPodOf(catalog, is_unknown, [&](PodId pod) {
    pods.Add(catalog.PodName(pod));
    const Owner& owner = catalog.shape_of(pod).controller;
    const std::string_view group = GroupOfOwner(catalog.Text(owner.api_version));
    ++kinds[absl::StrCat(Absl(catalog.Text(owner.kind)), group.empty() ? "" : ".", Absl(group))];
  });
  if (pods.count == 0) return;
  std::string list;
  for (const auto& [kind, count] : kinds) {
    absl::StrAppend(&list, list.empty() ? "" : ", ", Printable(kind), " (", WithCommas(count), ")");
  }
  warnings.push_back(
      {"CustomControllers",
       absl::StrCat(Count(pods.count, "pod has a controller", "pods have controllers"),
                    " of kinds that ebb does not know, ", list, ": ", Printable(pods.Text()),
                    "; rules go by the kind's name alone, as the autoscaler's do"),
       ""});
}

// Warns about budgets whose pods the disruption controller cannot count: their numbers are void.
void WarnOfBudgets(const ClusterSnapshot& cluster, std::vector<InputWarning>& warnings) {
  const Catalog& catalog = cluster.catalog();
  Found budgets;
  for (const Pdb& pdb : catalog.pdbs()) {
    if (!pdb.sync_failed) continue;
    budgets.Add(absl::StrCat(Absl(catalog.Text(pdb.namespace_name)), "/",
                             Absl(catalog.Text(pdb.name)), pdb.sync_message.empty() ? "" : ": ",
                             pdb.sync_message));
  }
  if (budgets.count == 0) return;
  InputWarning& warning = warnings.emplace_back(InputWarning{
      "BudgetsNotComputed",
      absl::StrCat(Count(budgets.count, "PodDisruptionBudget", "PodDisruptionBudgets"),
                   " cannot be computed, as the status says (SyncFailed), and nothing that such a "
                   "budget selects is evicted: ",
                   Printable(budgets.Text())),
      /*command=*/""});
  Advise(InputSource::kDump, warning);  // A feeder gets the same advice.
}

}  // namespace

void WarnOfUnevaluated(const UnevaluatedObjects& objects, const ClusterSnapshot& cluster,
                       std::vector<InputWarning>& warnings) {
  WarnOfKinds(objects, cluster.catalog().scheduler(), warnings);
  WarnOfScheduler(cluster.catalog(), warnings);
  WarnOfPodGroups(cluster, warnings);
  WarnOfBuffers(cluster, warnings);
  WarnOfVpas(cluster, warnings);
  WarnOfDevicePools(cluster, warnings);
  WarnOfControllers(cluster, warnings);
  WarnOfBudgets(cluster, warnings);
}

}  // namespace ebb
