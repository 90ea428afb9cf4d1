// The table of options.
//
// Each function holds the rows of one struct.  A structured binding names every member of the
// struct, so the code does not compile if a member is missing or added.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/text.h"
#include "base/time_range.h"
#include "options/option_field.h"
#include "options/option_words.h"
#include "options/round_options.h"
#include "snapshot/import/load_cluster.h"

namespace ebb {

static_assert(kOptionSecondsMax <= kLongestDurationS, "the engine would refuse what a flag takes");

namespace {

using enum OptionGroup;

// --- The words for the values of enumerations, the same in flags and in the form --------

constexpr Word<CandidateOrder> kCandidateOrderWords[] = {
    {"autoscaler", CandidateOrder::kAutoscaler},
    {"fewest-pods", CandidateOrder::kFewestPods},
    {"input", CandidateOrder::kInput},
    {"least-utilized", CandidateOrder::kLeastUtilized}};
constexpr Word<std::optional<KubernetesVersion>> kKubernetesVersionWords[] = {
    {"auto", std::nullopt}, {"1.36", KubernetesVersion::k136}, {"1.37", KubernetesVersion::k137}};
constexpr Word<DisplacedPods> kDisplacedPodsWords[] = {{"must-fit", DisplacedPods::kMustFit},
                                                       {"best-effort", DisplacedPods::kBestEffort}};
constexpr Word<SkippedTimer> kSkippedTimerWords[] = {{"kept", SkippedTimer::kKept},
                                                     {"lost", SkippedTimer::kLost}};
constexpr Word<ReturnedNode> kReturnedNodeWords[] = {{"anew", ReturnedNode::kRestarts},
                                                     {"keep-timer", ReturnedNode::kKeepsTimer}};
constexpr Word<VerifyPlans> kVerifyPlansWords[] = {
    {"always", VerifyPlans::kAlways}, {"before-deletion", VerifyPlans::kBeforeDeletion}};

constexpr Word<VpaRule> kVpaWords[] = {{"follow", VpaRule::kFollow}, {"ignore", VpaRule::kIgnore}};
constexpr Word<RuleSet> kRuleSetWords[] = {{"auto", RuleSet::kAuto},
                                           {"autoscaler", RuleSet::kAutoscaler},
                                           {"karpenter", RuleSet::kKarpenter},
                                           {"delegated", RuleSet::kDelegated}};
constexpr Word<UnhealthyPods> kUnhealthyPodsWords[] = {{"keep", UnhealthyPods::kKeep},
                                                       {"evict", UnhealthyPods::kEvict}};
constexpr Word<Gangs> kGangsWords[] = {
    {"keep", Gangs::kKeep}, {"move", Gangs::kMove}, {"ignore", Gangs::kIgnore}};
constexpr Word<HeadroomPer> kHeadroomPerWords[] = {{"cluster", HeadroomPer::kCluster},
                                                   {"group", HeadroomPer::kGroup},
                                                   {"zone", HeadroomPer::kZone}};

// --- Headroom: "cpu=10%,memory=7.5%,per=zone", or "none" -------------------------------------

std::string HeadroomText(const Headroom& headroom) {
  if (headroom.empty()) return "none";
  std::vector<std::string> parts;
  if (headroom.cpu > 0) parts.push_back(absl::StrCat("cpu=", headroom.cpu * 100, "%"));
  if (headroom.memory > 0) parts.push_back(absl::StrCat("memory=", headroom.memory * 100, "%"));
  if (headroom.per != HeadroomPer::kCluster) {
    parts.push_back("per=" + TextOf(kHeadroomPerWords, headroom.per));
  }
  return absl::StrJoin(parts, ",");
}

bool SetHeadroom(std::string_view text, Headroom& headroom) {
  Headroom read;
  if (text == "none") {
    headroom = read;
    return true;
  }
  absl::flat_hash_set<absl::string_view> seen;
  for (const absl::string_view part : absl::StrSplit(Absl(text), ',')) {
    const std::pair<absl::string_view, absl::string_view> entry =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    auto [key, value] = entry;
    if (!seen.insert(key).second) return false;
    if (key == "per") {
      const auto per = ValueOf(kHeadroomPerWords, std::string_view(value.data(), value.size()));
      if (!per) return false;
      read.per = *per;
      continue;
    }
    double percent = 0;
    if (!absl::ConsumeSuffix(&value, "%") || !absl::SimpleAtod(value, &percent)) return false;
    if (!(percent >= 0 && percent < 100) || (key != "cpu" && key != "memory")) return false;
    (key == "cpu" ? read.cpu : read.memory) = percent / 100;
  }
  if (read.empty() && read.per != HeadroomPer::kCluster) return false;
  headroom = read;
  return true;
}

// --- How rows are made ---------------------------------------------------------------------

// Adds the options of one object of the form.
class Rows {
 public:
  // `path`: of the object, with a dot at the end; empty: the whole form.
  Rows(std::string path, std::vector<OptionField>& fields)
      : path_(std::move(path)), fields_(fields) {}

  void Switch(std::string_view name, bool& value, const OptionRow& row) {
    Add(name, OptionKind::kSwitch, &value, {}, row);
  }
  // A switch that only the command line has.
  void FlagAlone(bool& value, const OptionRow& row) {
    fields_.push_back({.path = "", .kind = OptionKind::kSwitch, .value = &value, .row = row});
  }
  template <typename Number>
  void Count(std::string_view name, Number& value, const OptionRow& row) {
    Add(name, OptionKind::kWholeNumber, &value, {0, kOptionCountMax}, row);
  }
  void Integer(std::string_view name, int64_t& value, OptionRange range, const OptionRow& row) {
    Add(name, OptionKind::kWholeNumber, &value, range, row);
  }
  void Seconds(std::string_view name, int64_t& value, const OptionRow& row) {
    Add(name, OptionKind::kSeconds, &value, {0, kOptionSecondsMax}, row);
  }
  void Fraction(std::string_view name, double& value, const OptionRow& row) {
    Add(name, OptionKind::kFraction, &value, {0, 1}, row);
  }
  void Percent(std::string_view name, double& value, const OptionRow& row) {
    Add(name, OptionKind::kPercent, &value, {0, 100}, row);
  }
  void Minimum(std::string_view name, int64_t& value, int64_t unit, const OptionRow& row) {
    Add(name, OptionKind::kMinimum, &value, {0, kOptionCountMax * unit}, row);
    fields_.back().unit = unit;
  }
  void Names(std::string_view name, std::vector<std::string>& value, const OptionRow& row) {
    Add(name, OptionKind::kNames, &value, {}, row);
  }
  void Keys(std::string_view name, std::vector<std::string>& value, const OptionRow& row) {
    Add(name, OptionKind::kKeys, &value, {}, row);
  }
  template <typename Enum, size_t kSize>
  void OneOf(std::string_view name, Enum& value, const Word<Enum> (&words)[kSize],
             const OptionRow& row) {
    OptionChoice choice;
    choice.words = TextsOf(words);
    choice.get = [&value, &words] { return TextOf(words, value); };
    choice.set = [&value, &words](std::string_view text) {
      const std::optional<Enum> found = ValueOf(words, text);
      if (found) value = *found;
      return found.has_value();
    };
    Add(name, OptionKind::kChoice, std::move(choice), {}, row);
  }
  void Text(std::string_view name, OptionChoice choice, const OptionRow& row) {
    Add(name, OptionKind::kText, std::move(choice), {}, row);
  }
  void File(std::string_view name, OptionText text, const OptionRow& row) {
    Add(name, OptionKind::kFile, std::move(text), {}, row);
  }
  template <typename Options>
  void Struct(std::string_view name, Options& value) {
    Rows rows(absl::StrCat(path_, std::string(name), "."), fields_);
    AddRows(value, rows);
  }

 private:
  void Add(std::string_view name, OptionKind kind, OptionValue value, OptionRange range,
           const OptionRow& row) {
    fields_.push_back({.path = absl::StrCat(path_, std::string(name)),
                       .kind = kind,
                       .value = std::move(value),
                       .range = range,
                       .row = row});
  }

  const std::string path_;
  std::vector<OptionField>& fields_;
};

// --- The table ---------------------------------------------------------------------------

void AddRows(LoadOptions& options, Rows& rows) {
  auto& [priority_cutoff, limits, use, strict, assume_complete, allow_incomplete, bypassed,
         match_os, version, vpa, scheduler, unhealthy_pods] = options;
  static_cast<void>(limits);
  static_cast<void>(use);
  rows.Integer("expendablePodsPriorityCutoff", priority_cutoff,
               {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()},
               {.flag = {.name = "expendable-pods-priority-cutoff",
                         .help = "Leave out pods with a lower priority",
                         .group = kInput,
                         .value = "PRIORITY"},
                .in_autoscaler = true,
                .decides = "pods of a lower priority do not count"});
  rows.FlagAlone(strict, {.flag = {.name = "strict",
                                   .help = "End with an error where the input gives a warning",
                                   .group = kInput},
                          .hides_default = true,
                          .about = OptionAbout::kLoading});
  rows.Switch("assumeComplete", assume_complete,
              {.flag = {.name = "assume-complete",
                        .help = "The input is all there is: do not warn of what it may lack, take "
                                "nodes without any pod",
                        .group = kInput},
               .hides_default = true,
               .about = OptionAbout::kLoading,
               .decides = "the input is all there is, whatever seems to be missing"});
  rows.FlagAlone(
      allow_incomplete,
      {.flag = {.name = "allow-incomplete",
                .help = "Answer about what is there although pods or kinds of objects are missing; "
                        "the answer says that it is of an incomplete cluster",
                .group = kInput},
       .hides_default = true,
       .about = OptionAbout::kLoading});
  rows.Names("bypassedSchedulerNames", bypassed,
             {.flag = {.name = "bypassed-scheduler-names",
                       .help = "Keep room for pods that these schedulers have not judged yet, too",
                       .group = kInput},
              .in_autoscaler = true,
              .decides = "room is kept for pods that these schedulers have not judged yet"});
  rows.Switch("matchOs", match_os,
              {.flag = {.name = "match-os",
                        .help = "Keep pods off nodes of another operating system than they were "
                                "made for, which the scheduler itself does not",
                        .group = kInput},
               .about = OptionAbout::kLoading,
               .decides = "pods get no place on nodes of another operating system "
                          "([input.md](input.md)); `Pass` never asks"});
  rows.OneOf("kubernetesVersion", version, kKubernetesVersionWords,
             {.flag = {.name = "kubernetes-version",
                       .help = "Place pods by the rules of this version's scheduler; auto: of the "
                               "newest kubelet's",
                       .group = kInput,
                       .value = "VERSION"},
              .about = OptionAbout::kLoading,
              .decides = "by which scheduler's rules pods are placed: `auto`, `1.36`, `1.37`"});
  rows.OneOf(
      "vpa", vpa, kVpaWords,
      {.flag = {.name = "vpa",
                .help = "A pod that moves asks for what its VerticalPodAutoscaler recommends "
                        "(follow), or for what it asks for now, as in the autoscaler (ignore)",
                .group = kInput,
                .value = "RULE"},
       .about = OptionAbout::kLoading,
       .decides = "what a pod asks for that moves: `follow` its VerticalPodAutoscaler, or "
                  "`ignore` it ([room.md](room.md))"});
  rows.OneOf(
      "unhealthyPods", unhealthy_pods, kUnhealthyPodsWords,
      {.flag = {.name = "unhealthy-pods",
                .help = "Pods that the eviction API evicts without asking their budget: the budget "
                        "counts all the same, as in the autoscaler (keep), or not (evict)",
                .group = kInput,
                .value = "RULE"},
       .about = OptionAbout::kLoading,
       .decides = "pods that the eviction API evicts without asking their budget: `keep` asks it "
                  "all the same, `evict` does not ([plan.md](plan.md#pods-that-are-not-ready))"});
  rows.File("schedulerConfig",
            {.get = [&scheduler] { return scheduler == nullptr ? "" : scheduler->source; },
             .set =
                 [&options](std::string_view text) {
                   return std::string(options.ReadScheduler(text).message());
                 }},
            {.flag = {.name = "scheduler-config-file",
                      .help = "Place pods by the profiles of this KubeSchedulerConfiguration: "
                              "plugins, default spread constraints, added affinity",
                      .group = kInput},
             .in_autoscaler = true,
             .hides_default = true,
             .about = OptionAbout::kLoading,
             .decides = "the text of the scheduler's KubeSchedulerConfiguration, by whose profiles "
                        "pods are placed ([scheduler.md](scheduler.md))"});
}

void AddRows(ReadinessRules& rules, Rows& rows) {
  auto& [startup_taints, startup_taint_prefixes, csi_node_aware] = rules;
  rows.Keys("startupTaints", startup_taints,
            {.flag = {.name = "startup-taint",
                      .help = "Nodes with this taint are not ready yet; may be given often",
                      .group = kNodes,
                      .place = 2,
                      .note = "may be given often"},
             .old = {.name = "ignore-taint",
                     .help = "The old name of --startup-taint",
                     .group = kNodes,
                     .place = 2,
                     .note = "the old name of `startup-taint`"},
             .in_autoscaler = true,
             .decides = "keys of taints with which a node counts as not ready, beside those that "
                        "begin with `startup-taint.cluster-autoscaler.kubernetes.io/` or "
                        "`ignore-taint.cluster-autoscaler.kubernetes.io/`"});
  rows.Keys("startupTaintPrefixes", startup_taint_prefixes,
            {.flag = {.name = "startup-taint-prefix",
                      .help = "Nodes with a taint whose key begins so are not ready yet; may be "
                              "given often",
                      .group = kNodes,
                      .place = 2,
                      .value = "PREFIX",
                      .note = "may be given often"},
             .in_autoscaler = true,
             .decides = "beginnings of such keys"});
  rows.Switch("csiNodeAware", csi_node_aware,
              {.flag = {.name = "enable-csi-node-aware-scheduling",
                        .help = "Nodes that lack a CSI driver which the others of their group have "
                                "are not ready",
                        .group = kNodes,
                        .place = 2,
                        .note = "CSINodes of the input always count; the flag makes a node unready "
                                "while it lacks a CSI driver"},
               .in_autoscaler = true,
               .decides = "a node counts as not ready while it lacks a CSI driver that every other "
                          "node of its group has"});
}

void AddRows(DrainOptions& options, Rows& rows) {
  auto& [system_pods, local_storage, custom_controller_pods, min_replica_count, timeout_s, gangs] =
      options;
  rows.Switch("skipNodesWithSystemPods", system_pods,
              {.flag = {.name = "skip-nodes-with-system-pods",
                        .help = "kube-system pods without a budget keep their nodes",
                        .group = kPods},
               .in_autoscaler = true,
               .decides = "pods of kube-system without a budget keep their nodes"});
  rows.Switch("skipNodesWithLocalStorage", local_storage,
              {.flag = {.name = "skip-nodes-with-local-storage",
                        .help = "Pods with emptyDir or hostPath keep their nodes",
                        .group = kPods},
               .in_autoscaler = true,
               .decides = "pods with local storage keep their nodes"});
  rows.Switch("skipNodesWithCustomControllerPods", custom_controller_pods,
              {.flag = {.name = "skip-nodes-with-custom-controller-pods",
                        .help = "Pods of controllers that are not Kubernetes' own keep their nodes",
                        .group = kPods},
               .in_autoscaler = true,
               .decides = "pods of controllers that are not Kubernetes' own keep their nodes"});
  rows.Count(
      "minReplicaCount", min_replica_count,
      {.flag = {.name = "min-replica-count",
                .help = "Pods of ReplicaSets with fewer replicas keep their nodes",
                .group = kPods,
                .range = {{0, 1'000'000}}},
       .in_autoscaler = true,
       .decides = "pods of smaller ReplicaSets and ReplicationControllers keep their nodes"});
  rows.Seconds("blockingSystemPodDisruptionTimeoutSeconds", timeout_s,
               {.flag = {.name = "blocking-system-pod-distruption-timeout",
                         .help = "Older kube-system pods without a budget no longer keep their "
                                 "nodes (spelled as the autoscaler spells it)",
                         .group = kPods},
                .in_autoscaler = true,
                .decides = "the age at which a pod of kube-system without a budget stops keeping "
                           "its node"});
  rows.OneOf(
      "gangs", gangs, kGangsWords,
      {.flag = {.name = "gangs",
                .help = "What becomes of pods that run only together: a gang keeps its nodes "
                        "(keep), a plan moves all of its pods or none (move), or each pod moves "
                        "alone, as in the autoscaler (ignore)",
                .group = kPods,
                .value = "RULE"},
       .decides = "pods of gangs: `keep` their nodes, `move` all of a gang's pods or none, or "
                  "`ignore` that they belong together ([gangs.md](gangs.md))"});
}

void AddRows(PlannerOptions& options, Rows& rows) {
  auto& [threshold, gpu_threshold, unready, ignore_daemonsets, ignore_mirror_pods,
         recheck_timeout_s, min_nodes_per_pass, headroom, drain] = options;
  rows.Fraction("scaleDownUtilizationThreshold", threshold,
                {.flag = {.name = "scale-down-utilization-threshold",
                          .help = "Nodes with a higher utilization stay",
                          .group = kNodes,
                          .place = 1},
                 .in_autoscaler = true,
                 .decides = "nodes of which more is requested stay; 0 to 1"});
  rows.Fraction("scaleDownGpuUtilizationThreshold", gpu_threshold,
                {.flag = {.name = "scale-down-gpu-utilization-threshold",
                          .help = "The same for nodes with GPUs, of the GPUs",
                          .group = kNodes,
                          .place = 1},
                 .in_autoscaler = true,
                 .decides = "the same for nodes with GPUs, of their GPUs"});
  rows.Switch("scaleDownUnreadyEnabled", unready,
              {.flag = {.name = "scale-down-unready-enabled",
                        .help = "Nodes that are not ready may go",
                        .group = kNodes,
                        .place = 1},
               .in_autoscaler = true,
               .decides = "whether nodes that are not ready may go"});
  rows.Switch("ignoreDaemonsetsUtilization", ignore_daemonsets,
              {.flag = {.name = "ignore-daemonsets-utilization",
                        .help = "Do not count DaemonSets' pods",
                        .group = kNodes,
                        .place = 3},
               .in_autoscaler = true,
               .decides = "pods of DaemonSets do not count as use"});
  rows.Switch("ignoreMirrorPodsUtilization", ignore_mirror_pods,
              {.flag = {.name = "ignore-mirror-pods-utilization",
                        .help = "Do not count mirror pods",
                        .group = kNodes,
                        .place = 3},
               .in_autoscaler = true,
               .decides = "mirror pods do not count as use"});
  rows.Seconds("unremovableNodeRecheckTimeoutSeconds", recheck_timeout_s,
               {.flag = {.name = "unremovable-node-recheck-timeout",
                         .help = "How long a node that could not be removed is not tried again",
                         .group = kRounds,
                         .place = 2},
                .in_autoscaler = true,
                .about = OptionAbout::kRounds,
                .decides = "how long a node that could not be removed is not tried again"});
  rows.Count("minNodesPerPass", min_nodes_per_pass,
             {.flag = {.name = "min-nodes-per-pass",
                       .help = "Nodes that a round judges whatever --scale-down-simulation-timeout "
                               "says",
                       .group = kRounds,
                       .place = 7,
                       .of_command = 1},  // So that every candidate is tried.
              .decides = "nodes that are judged whatever the time limit says"});
  rows.Text("headroom",
            {.words = {"cpu=10%,memory=10%,per=zone"},
             .get = [&headroom] { return HeadroomText(headroom); },
             .set = [&headroom](std::string_view text) { return SetHeadroom(text, headroom); }},
            {.flag = {.name = "headroom",
                      .help = "What stays free of the nodes that are left, such as "
                              "cpu=10%,memory=10%; per=group or per=zone: of each group's or "
                              "zone's nodes",
                      .group = kNodes,
                      .place = 4},
             .hides_default = true,
             .decides = "what stays free of the nodes that are left, such as "
                        "`cpu=10%,memory=10%,per=zone`; without `per` of all nodes, with "
                        "`per=group` or `per=zone` of each group's or zone's; `none` "
                        "([room.md](room.md))"});
  rows.Struct("drain", drain);
}

void AddRows(ClusterMinimums& minimums, Rows& rows) {
  auto& [cores, memory_bytes, nodes] = minimums;
  rows.Minimum("cores", cores, 1,
               {.flag = {.name = "cores-total",
                         .help = "Cores that the cluster keeps, as min:max",
                         .group = kRounds,
                         .place = 9},
                .in_autoscaler = true,
                .growth_max = 320'000,
                .about = OptionAbout::kRounds,
                .decides = "cores that stay"});
  rows.Minimum("memoryBytes", memory_bytes, int64_t{1} << 30,
               {.flag = {.name = "memory-total",
                         .help = "GiB of memory that the cluster keeps, as min:max",
                         .group = kRounds,
                         .place = 9},
                .in_autoscaler = true,
                .growth_max = 6'400'000,
                .about = OptionAbout::kRounds,
                .decides = "bytes of memory that stay"});
  rows.Count("nodes", nodes,
             {.flag = {.name = "nodes-min",
                       .help = "Nodes that the cluster keeps",
                       .group = kRounds,
                       .place = 9},
              .about = OptionAbout::kRounds,
              .decides = "nodes that stay"});
}

void AddRows(DeletionOptions& options, Rows& rows) {
  auto& [unneeded_time_s, unready_time_s, minimums, groups_have_templates] = options;
  rows.Seconds("scaleDownUnneededTimeSeconds", unneeded_time_s,
               {.flag = {.name = "scale-down-unneeded-time",
                         .help = "How long a node must be unneeded",
                         .group = kRounds,
                         .place = 1},
                .in_autoscaler = true,
                .about = OptionAbout::kRounds,
                .decides = "how long a node must have been unneeded"});
  rows.Seconds("scaleDownUnreadyTimeSeconds", unready_time_s,
               {.flag = {.name = "scale-down-unready-time",
                         .help = "The same for nodes that are not ready",
                         .group = kRounds,
                         .place = 1},
                .in_autoscaler = true,
                .about = OptionAbout::kRounds,
                .decides = "the same for nodes that are not ready"});
  rows.Struct("minimums", minimums);
  rows.Switch("groupsHaveTemplates", groups_have_templates,
              {.about = OptionAbout::kRounds,
               .decides = "whether the cloud can say what a new node of a group would be like"});
}

void AddRows(DeletionBudgets& budgets, Rows& rows) {
  auto& [max_scale_down_parallelism, max_drain_parallelism] = budgets;
  rows.Count("maxScaleDownParallelism", max_scale_down_parallelism,
             {.flag = {.name = "max-scale-down-parallelism",
                       .help = "Stop at as many nodes as the autoscaler's first pass would "
                               "(default: no limit)",
                       .group = kPass,
                       .range = {{1, 1'000'000}},
                       .note = "without it a plan has no limit; with `--state` it is 10"},
              .old = {.name = "max-empty-bulk-delete",
                      .help = "Old name of --max-scale-down-parallelism, used where that is not "
                              "given",
                      .group = kRounds,
                      .place = 4,
                      .range = {{1, kOptionCountMax}},
                      .note = "old name of `max-scale-down-parallelism`"},
              .warns_of_old = true,
              .in_autoscaler = true,
              .hides_default = true,  // A plan has no such limit.
              .about = OptionAbout::kRounds,
              .decides = "nodes that may be in deletion at a time"});
  rows.Count("maxDrainParallelism", max_drain_parallelism,
             {.flag = {.name = "max-drain-parallelism",
                       .help = "Nodes that may drain at a time; --max-scale-down-parallelism (10 "
                               "with --state) bounds all deletions",
                       .group = kRounds,
                       .place = 3},
              .in_autoscaler = true,
              .about = OptionAbout::kRounds,
              .decides = "nodes that may drain at a time"});
}

void AddRows(CooldownOptions& options, Rows& rows) {
  auto& [after_add_s, after_delete_s, after_failure_s, type_local] = options;
  rows.Seconds("scaleDownDelayAfterAddSeconds", after_add_s,
               {.flag = {.name = "scale-down-delay-after-add",
                         .help = "Delete nothing so long after growth",
                         .group = kRounds,
                         .place = 5},
                .in_autoscaler = true,
                .about = OptionAbout::kRounds,
                .decides = "nothing goes so long after growth"});
  rows.Seconds("scaleDownDelayAfterDeleteSeconds", after_delete_s,
               {.flag = {.name = "scale-down-delay-after-delete",
                         .help = "Delete nothing so long after a deletion",
                         .group = kRounds,
                         .place = 5},
                .in_autoscaler = true,
                .about = OptionAbout::kRounds,
                .decides = "the same after a deletion"});
  rows.Seconds("scaleDownDelayAfterFailureSeconds", after_failure_s,
               {.flag = {.name = "scale-down-delay-after-failure",
                         .help = "Delete nothing so long after a failed deletion",
                         .group = kRounds,
                         .place = 5},
                .in_autoscaler = true,
                .about = OptionAbout::kRounds,
                .decides = "the same after a failed deletion"});
  rows.Switch("scaleDownDelayTypeLocal", type_local,
              {.flag = {.name = "scale-down-delay-type-local",
                        .help = "These delays hold back the group alone that they happened to",
                        .group = kRounds,
                        .place = 5},
               .in_autoscaler = true,
               .about = OptionAbout::kRounds,
               .decides = "these delays hold back only the group that they happened to"});
}

// Options for an unhealthy cluster and for nodes that are starting.
void AddHealthRows(int64_t& ok_unready_count, double& max_unready_percentage,
                   int64_t& startup_time_s, Rows& rows) {
  rows.Count("okTotalUnreadyCount", ok_unready_count,
             {.flag = {.name = "ok-total-unready-count",
                       .help = "Up to this many unready nodes never stop deletions",
                       .group = kRounds,
                       .place = 6},
              .in_autoscaler = true,
              .about = OptionAbout::kRounds,
              .decides = "up to this many unready nodes never stop deletions"});
  rows.Percent("maxTotalUnreadyPercentage", max_unready_percentage,
               {.flag = {.name = "max-total-unready-percentage",
                         .help = "More unready nodes than this stop every deletion",
                         .group = kRounds,
                         .place = 6},
                .in_autoscaler = true,
                .about = OptionAbout::kRounds,
                .decides = "more unready nodes than this and than the count stop every deletion"});
  rows.Seconds("maxNodeStartupTimeSeconds", startup_time_s,
               {.flag = {.name = "max-node-startup-time",
                         .help = "Unready nodes that are younger are starting, and no reason to "
                                 "stop",
                         .group = kRounds,
                         .place = 6},
                .in_autoscaler = true,
                .decides = "unready nodes that are younger are starting: neither candidates nor "
                           "destinations"});
}

void AddClockAndTaintRows(int64_t& clock_jump_max_s, int64_t& soft_taint_count,
                          int64_t& candidate_ttl_s, Rows& rows) {
  rows.Seconds(
      "clockJumpMaxSeconds", clock_jump_max_s,
      {.flag = {.name = "clock-jump-max",
                .help = "A round whose time differs by more than this from the last one's waits, "
                        "as a clock "
                        "may be wrong, with exit code 3; the next round continues. 0s: any "
                        "time is accepted",
                .group = kRounds,
                .place = 13},
       .about = OptionAbout::kRounds,
       .decides = "a round whose time is further from the last one's waits; 0: every time "
                  "is accepted"});
  rows.Count("maxBulkSoftTaintCount", soft_taint_count,
             {.flag = {.name = "max-bulk-soft-taint-count",
                       .help = "Soft taints changed in a round",
                       .group = kRounds,
                       .place = 8},
              .in_autoscaler = true,
              .about = OptionAbout::kRounds,
              .decides = "changes of soft taints a round"});
  rows.Seconds("nodeDeletionCandidateTtlSeconds", candidate_ttl_s,
               {.flag = {.name = "node-deletion-candidate-ttl",
                         .help = "In the first round of all, take timers from soft taints not "
                                 "older than this",
                         .group = kRounds,
                         .place = 8},
                .in_autoscaler = true,
                .about = OptionAbout::kRounds,
                .decides = "in the first round of all, a node with a soft taint not older than "
                           "this is unneeded since then"});
}

// Options for behaviour in which ebb deliberately differs from the autoscaler.
void AddOwnRows(int64_t& eviction_ttl_s, DisplacedPods& displaced_pods, SkippedTimer& skipped_timer,
                ReturnedNode& returned_node, Rows& rows) {
  rows.Seconds("recentEvictionTtlSeconds", eviction_ttl_s,
               {.flag = {.name = "recent-eviction-ttl",
                         .help = "How long room is kept for evicted pods that are not replaced "
                                 "yet; 0s: as the autoscaler",
                         .group = kRounds,
                         .place = 11},
                .about = OptionAbout::kRounds,
                .decides = "how long room is kept for an evicted pod that its owner has not "
                           "replaced"});
  rows.OneOf("displacedPods", displaced_pods, kDisplacedPodsWords,
             {.flag = {.name = "displaced-pods",
                       .help = "must-fit: nothing goes while pods of nodes in deletion find no "
                               "room; best-effort: as the autoscaler",
                       .group = kRounds,
                       .place = 10},
              .about = OptionAbout::kRounds,
              .decides = "`must-fit`: nothing goes until pods of nodes in deletion have room; "
                         "`best-effort`: it does"});
  rows.OneOf("skippedTimer", skipped_timer, kSkippedTimerWords,
             {.flag = {.name = "skipped-timers",
                       .help = "kept: a node that a round did not come to goes on waiting where it "
                               "stood; lost: as the autoscaler",
                       .group = kRounds,
                       .place = 12},
              .about = OptionAbout::kRounds,
              .decides = "what becomes of the timer of a node that a round did not judge: `kept`, "
                         "`lost`"});
  rows.OneOf("returnedNode", returned_node, kReturnedNodeWords,
             {.flag = {.name = "returned-nodes",
                       .help = "anew: a node that comes back under its name with another UID waits "
                               "its full time; keep-timer: as the autoscaler",
                       .group = kRounds,
                       .place = 14},
              .about = OptionAbout::kRounds,
              .decides = "a node that comes back under its name with another UID waits `anew`, or "
                         "its timer goes on, as in the autoscaler: `keep-timer`"});
}

void AddRows(StableRounds& options, Rows& rows) {
  auto& [on, margin, greedy_every] = options;
  rows.Switch("on", on,
              {.flag = {.name = "stable-rounds",
                        .help = "Keep what was found: nodes that may go are tried first, with the "
                                "places that their pods had [true in ebb run]",
                        .group = kRounds,
                        .place = 15},
               .about = OptionAbout::kRounds,
               .decides = "nodes that are unneeded are tried first, and their pods keep their "
                          "places; the default of `ebb run`"});
  rows.Fraction(
      "margin", margin,
      {.flag = {.name = "stable-rounds-margin",
                .help = "A plan in the autoscaler's order replaces what is kept if it "
                        "removes more than this share more nodes",
                .group = kRounds,
                .place = 15},
       .about = OptionAbout::kRounds,
       .decides = "how many more nodes, as a share, a plan in the autoscaler's order must "
                  "remove to replace what is kept"});
  rows.Count("greedyEvery", greedy_every,
             {.flag = {.name = "stable-rounds-greedy-every",
                       .help = "Rounds between two such plans; 0: none is made",
                       .group = kRounds,
                       .place = 15},
              .about = OptionAbout::kRounds,
              .decides = "rounds between two plans in the autoscaler's order that are made beside; "
                         "0: none is made"});
}

void AddRows(ScaleDownOptions& options, Rows& rows) {
  auto& [planner, deletion, budgets, cooldown, ok_unready_count, max_unready_percentage,
         startup_time_s, clock_jump_max_s, soft_taint_count, candidate_ttl_s, eviction_ttl_s,
         displaced_pods, skipped_timer, returned_node, verify, unneeded_limit, stable] = options;
  rows.Struct("planner", planner);
  rows.Struct("deletion", deletion);
  rows.Struct("budgets", budgets);
  rows.Struct("cooldown", cooldown);
  AddHealthRows(ok_unready_count, max_unready_percentage, startup_time_s, rows);
  AddClockAndTaintRows(clock_jump_max_s, soft_taint_count, candidate_ttl_s, rows);
  AddOwnRows(eviction_ttl_s, displaced_pods, skipped_timer, returned_node, rows);
  rows.Struct("stable", stable);
  rows.OneOf("verify", verify, kVerifyPlansWords,
             {.about = OptionAbout::kRounds,
              .decides = "which rounds' plans are verified: `always`, `before-deletion`"});
  rows.Switch("unneededLimit", unneeded_limit,
              {.about = OptionAbout::kRounds,
               .decides = "whether removable nodes bound a round's search, as in the autoscaler"});
}

void AddRows(RoundOptions& options, Rows& rows) {
  auto& [scale_down, candidate_order, readiness, rules, load] = options;
  rows.OneOf("candidateOrder", candidate_order, kCandidateOrderWords,
             {.flag = {.name = "candidate-order",
                       .help = "Which nodes are tried first: autoscaler (empty ones, then as "
                               "given), input, fewest-pods or least-utilized; with --state, nodes "
                               "that were unneeded in the last round go before others",
                       .group = kPass,
                       .value = "ORDER"},
              .decides = "which nodes are tried first: `autoscaler`, `fewest-pods`, `input`, "
                         "`least-utilized`"});
  rows.Struct("load", load);
  rows.Struct("readiness", readiness);
  rows.OneOf("rules", rules, kRuleSetWords,
             {.flag = {.name = "rules",
                       .help = "Whose rules decide which nodes may go: Karpenter's for its nodes "
                               "and the autoscaler's for the others (auto), the autoscaler's for "
                               "all (autoscaler), Karpenter's for all (karpenter), or as auto with "
                               "ebb consolidating in Karpenter's place (delegated)",
                       .group = kNodes,
                       .value = "RULES"},
              .decides = "whose rules decide about a node: `auto`, `autoscaler`, `karpenter`, "
                         "`delegated` ([karpenter.md](karpenter.md))"});
  rows.Struct("scaleDown", scale_down);
}

}  // namespace

std::vector<OptionField> FieldsOf(RoundOptions& options) {
  std::vector<OptionField> fields;
  Rows rows("", fields);
  AddRows(options, rows);
  return fields;
}

std::vector<OptionField> FieldsOf(LoadOptions& options) {
  std::vector<OptionField> fields;
  Rows rows("load.", fields);
  AddRows(options, rows);
  return fields;
}

bool SameValue(const OptionField& a, const OptionField& b) {
  EBB_DCHECK(a.path == b.path && a.row.flag.name == b.row.flag.name);
  return std::visit(
      [&b](const auto& value) {
        using Value = std::remove_cvref_t<decltype(value)>;
        const auto& other = std::get<Value>(b.value);
        if constexpr (!std::is_pointer_v<Value>) {
          return value.get() == other.get();
        } else {
          return *value == *other;
        }
      },
      a.value);
}

void CopyValue(const OptionField& from, const OptionField& to) {
  EBB_DCHECK(from.path == to.path && from.row.flag.name == to.row.flag.name);
  std::visit(
      [&to](const auto& value) {
        using Value = std::remove_cvref_t<decltype(value)>;
        const auto& other = std::get<Value>(to.value);
        if constexpr (!std::is_pointer_v<Value>) {
          other.set(value.get());
        } else {
          *other = *value;
        }
      },
      from.value);
}

}  // namespace ebb
