#include "report/plan_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "snapshot/matching.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

constexpr std::string_view kPodDeletionCost = "controller.kubernetes.io/pod-deletion-cost";

// Whether Kubernetes and the clouds allow the name; also their paths.
bool IsName(std::string_view text) {
  return !text.empty() && text[0] != '-' && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == ':';
  });
}

enum class Provider : uint8_t { kNone, kKarpenter, kClusterApi, kAws, kGce, kAzure };

// How the machine of a node is removed: the words behind the name of the script's function.
struct Removal {
  Provider provider = Provider::kNone;
  std::vector<std::string> words;
};

// The parts of a provider ID behind its scheme; empty: it has another scheme, or a part that is not
// a name.  "aws:///us-east-1a/i-0a" has the parts "", "us-east-1a" and "i-0a".
std::vector<std::string> PartsOf(std::string_view provider_id, std::string_view scheme) {
  if (!provider_id.starts_with(scheme)) return {};
  provider_id.remove_prefix(scheme.size());
  std::vector<std::string> parts = absl::StrSplit(Absl(provider_id), '/');
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!IsName(parts[i]) && !(i == 0 && parts[i].empty())) return {};
  }
  return parts;
}

bool IsOfClusterApi(const Catalog& catalog, const NodeInfo& node) {
  return std::ranges::any_of(node.labels, [&](const auto& label) {
    const std::string_view key = catalog.Text(label.key);
    const std::string_view domain = key.substr(0, key.find('/'));
    return domain.size() < key.size() &&
           (domain == "cluster.x-k8s.io" || domain.ends_with(".cluster.x-k8s.io"));
  });
}

Removal RemovalOf(const PlanReport& report, NodeId id) {
  const Catalog& catalog = report.context.catalog();
  const NodeInfo& node = catalog.node(id);
  const std::optional<TextId> pool = catalog.symbols().Find(kNodePoolLabel);
  if (pool && FindLabel(node.labels, *pool)) return {.provider = Provider::kKarpenter, .words = {}};
  if (IsOfClusterApi(catalog, node)) return {.provider = Provider::kClusterApi, .words = {}};
  const std::string_view provider_id = catalog.Text(node.provider_id);
  if (const auto aws = PartsOf(provider_id, "aws://");
      aws.size() == 3 && aws[2].starts_with("i-")) {
    const std::string region(report.facts[Index(id)].region);
    if (IsName(region)) return {.provider = Provider::kAws, .words = {region, aws[2]}};
  }
  if (auto gce = PartsOf(provider_id, "gce://"); gce.size() == 3 && !gce[0].empty()) {
    return {.provider = Provider::kGce, .words = std::move(gce)};
  }
  // /subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/virtualMachineScaleSets/SET/
  // virtualMachines/N
  if (const auto azure = PartsOf(provider_id, "azure://");
      azure.size() == 11 && azure[7] == "virtualMachineScaleSets") {
    return {.provider = Provider::kAzure, .words = {azure[2], azure[4], azure[8], azure[10]}};
  }
  return {};
}

// The parts of the script that do not depend on the plan.
constexpr std::string_view kHelpers = R"(set -eu

drain_timeout=${DRAIN_TIMEOUT-}    # over the timeout of each node, such as 30m
pending_checks=${PENDING_CHECKS-60} # how often new pods may be found pending
check_seconds=${CHECK_SECONDS-5}    # how long to wait between the checks
nl='
'

say() { printf '%s\n' "$*" >&2; }

stop() {
  say "Stopped: $*"
  say "The nodes that are left stay cordoned. To undo that, run this script with --undo."
  exit 1
}

# COMMAND: stops if it is not installed.
needs() {
  command -v "$1" >/dev/null || stop "$1 is not installed"
}

# NODE UID: stops if kubectl talks to another cluster, or the node is a new one of that name.
same() {
  uid=$(kubectl get "$1" -o 'jsonpath={.metadata.uid}') || stop "$1 cannot be read"
  [ "$uid" = "$2" ] || stop "$1 is not the node of the plan: its UID is $uid"
}

# NODE TIMEOUT FLAG...
drain() {
  node=$1 timeout=${drain_timeout:-$2}
  shift 2
  kubectl drain "$node" --timeout="$timeout" "$@" || stop "$node cannot be drained"
}

# NODE: the machine must be gone, or going.
forget() {
  kubectl delete "$1" --ignore-not-found || stop "$1 cannot be deleted"
}

pending() {
  kubectl get pods -A --field-selector=status.phase=Pending \
    -o 'jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}{"\n"}{end}'
}

# NODE: waits until no pod is pending that was not pending before the first drain.
settle() {
  checks=0
  while :; do
    now=$(pending) || stop 'the pending pods cannot be read'
    new=
    while read -r pod; do
      case $nl$before$nl in
      *"$nl$pod$nl"*) ;;
      *) new="$new${pod:+ $pod}" ;;
      esac
    done <<EOF
$now
EOF
    [ -n "$new" ] || return 0
    [ "$checks" -lt "$pending_checks" ] || stop "after $1 pods stay pending:$new"
    checks=$((checks + 1))
    sleep "$check_seconds"
  done
}
)";

struct ProviderText {
  Provider provider;
  std::string_view function;
  std::string_view command;  // That must be there, besides kubectl.
  std::string_view text;
};
constexpr ProviderText kProviders[] = {
    {Provider::kNone, "remove_node", "", R"(
# NODE: the provider of the node is unknown, so only the node's object is deleted. Remove the machine
# from its group yourself; a machine that keeps running may register its node again.
remove_node() {
  forget "$1"
}
)"},
    {Provider::kKarpenter, "remove_karpenter", "", R"(
# NODE: Karpenter ends the machine of a NodeClaim that is deleted.
remove_karpenter() {
  claims=$(kubectl get nodeclaims.karpenter.sh \
    -o 'jsonpath={range .items[*]}{.status.nodeName}{" "}{.metadata.name}{"\n"}{end}') ||
    stop 'the NodeClaims cannot be read'
  claim=
  while read -r name each; do
    if [ "node/$name" = "$1" ]; then claim=$each; fi
  done <<EOF
$claims
EOF
  [ -n "$claim" ] || stop "no NodeClaim has $1"
  kubectl delete nodeclaims.karpenter.sh "$claim" --timeout=15m || stop "$claim cannot be deleted"
  kubectl wait --for=delete "$1" --timeout=15m || stop "$1 is still there"
}
)"},
    {Provider::kClusterApi, "remove_cluster_api", "", R"(
# kubectl for the cluster that has the Machines: MANAGEMENT_KUBECONFIG, or this cluster itself.
management() {
  KUBECONFIG=${MANAGEMENT_KUBECONFIG-${KUBECONFIG-}} kubectl "$@"
}

# NODE: marks the Machine as the first to go, and scales its MachineDeployment down by one.
remove_cluster_api() {
  prefix='jsonpath={.metadata.annotations.cluster\.x-k8s\.io/'
  machine=$(kubectl get "$1" -o "${prefix}machine}") || stop "$1 cannot be read"
  space=$(kubectl get "$1" -o "${prefix}cluster-namespace}") || stop "$1 cannot be read"
  [ -n "$machine" ] || stop "$1 has no annotation cluster.x-k8s.io/machine"
  [ -n "$space" ] || stop "$1 has no annotation cluster.x-k8s.io/cluster-namespace"
  set_name=$(management get machines.cluster.x-k8s.io "$machine" -n "$space" \
    -o 'jsonpath={.metadata.labels.cluster\.x-k8s\.io/deployment-name}') ||
    stop "the Machine $space/$machine cannot be read"
  [ -n "$set_name" ] || stop "the Machine $space/$machine is of no MachineDeployment"
  size=$(management get machinedeployments.cluster.x-k8s.io "$set_name" -n "$space" \
    -o 'jsonpath={.spec.replicas}') || stop "the MachineDeployment $set_name cannot be read"
  management annotate machines.cluster.x-k8s.io "$machine" -n "$space" --overwrite \
    cluster.x-k8s.io/delete-machine=yes || stop "the Machine $machine cannot be annotated"
  management scale machinedeployments.cluster.x-k8s.io "$set_name" -n "$space" \
    --current-replicas="$size" --replicas=$((size - 1)) || stop "$set_name cannot be scaled"
  kubectl wait --for=delete "$1" --timeout=15m || stop "$1 is still there"
}
)"},
    {Provider::kAws, "remove_aws", "aws", R"(
# NODE REGION INSTANCE: the Auto Scaling group gets smaller by one.
remove_aws() {
  aws autoscaling terminate-instance-in-auto-scaling-group --region "$2" --instance-id "$3" \
    --should-decrement-desired-capacity || stop "$3 cannot be terminated"
  forget "$1"
}
)"},
    {Provider::kGce, "remove_gce", "gcloud", R"(
# NODE PROJECT ZONE INSTANCE: the managed instance group gets smaller by one.
remove_gce() {
  group=$(gcloud compute instances describe "$4" --project="$2" --zone="$3" \
    --format='value[](metadata.items.created-by)') || stop "$4 cannot be read"
  case $group in
  */regions/*/instanceGroupManagers/*)
    place=${group#*/regions/}
    place=--region=${place%%/*}
    ;;
  */instanceGroupManagers/*) place=--zone=$3 ;;
  *) stop "$4 is of no managed instance group" ;;
  esac
  gcloud compute instance-groups managed delete-instances "${group##*/}" --project="$2" "$place" \
    --instances="$4" --quiet || stop "$4 cannot be deleted"
  forget "$1"
}
)"},
    {Provider::kAzure, "remove_azure", "az", R"(
# NODE SUBSCRIPTION RESOURCE-GROUP SCALE-SET INSTANCE: the scale set gets smaller by one.
remove_azure() {
  az vmss delete-instances --subscription "$2" --resource-group "$3" --name "$4" \
    --instance-ids "$5" || stop "instance $5 of $4 cannot be deleted"
  forget "$1"
}
)"},
};

const ProviderText& TextOf(Provider provider) {
  return *std::ranges::find(kProviders, provider, &ProviderText::provider);
}

// The flags of `kubectl drain` that the pods of the node need, and the timeout before them.
std::string DrainFlags(const PlanReport& report, NodeId node) {
  constexpr int64_t kLeastSeconds = 900;
  constexpr int64_t kBeyondGrace = 600;
  const Catalog& catalog = report.context.catalog();
  bool daemon_sets = false;
  bool empty_dirs = false;
  bool bare = false;
  int64_t seconds = kLeastSeconds;
  for (const PodId pod : report.context.cluster->snapshot.PodsOn(node)) {
    const PodShape& shape = catalog.shape_of(pod);
    if (shape.mirror) continue;  // Drains skip it.
    if (shape.controller_kind == OwnerKind::kDaemonSet) {
      daemon_sets = true;
      continue;
    }
    empty_dirs |= shape.has_empty_dir;
    bare |= !shape.has_controller;
    seconds = std::max(seconds, shape.grace_period_s + kBeyondGrace);
  }
  return fmt::format("{}s{}{}{}", seconds, daemon_sets ? " --ignore-daemonsets" : "",
                     empty_dirs ? " --delete-emptydir-data" : "", bare ? " --force" : "");
}

// The first pod that Karpenter does not evict, although a budget selects it: it tolerates the taint
// of nodes that go.  `kubectl drain` would wait until the budget allows its eviction, which the
// plan does not ask of it.  kNoPod: there is none.
PodId WhatDrainWaitsFor(const PlanReport& report, NodeId node) {
  const Catalog& catalog = report.context.catalog();
  if (!report.context.groups->FollowsKarpenter(node)) return kNoPod;
  const auto id = [&](std::string_view text) {
    return catalog.symbols().Find(text).value_or(TextId{std::numeric_limits<uint32_t>::max()});
  };
  const Taint disrupted{.key = id(kDisruptedTaint),
                        .value = kNoText,
                        .effect_text = id("NoSchedule"),
                        .effect = TaintEffect::kNoSchedule};
  for (const PodId pod : report.context.cluster->snapshot.PodsOn(node)) {
    const PodShape& shape = catalog.shape_of(pod);
    const bool drained = !shape.mirror && shape.controller_kind != OwnerKind::kDaemonSet;
    if (drained && !shape.budgets.empty() &&
        Tolerates(catalog.constraints(shape.constraints), disrupted)) {
      return pod;
    }
  }
  return kNoPod;
}

// One line of the script that is a comment, whatever `text` contains.
std::string Comment(std::string_view text) { return "# " + PrintableLine(text) + "\n"; }

std::string NodeWord(const Catalog& catalog, NodeId node) {
  return ShellQuoted(fmt::format("node/{}", catalog.NodeName(node)));
}

std::string HeadOf(const PlanReport& report) {
  const PlanContext& context = report.context;
  std::string text = Comment(fmt::format(
      "{} of {} go, and {} move: a plan of ebb for the cluster at {}.",
      WithCommas(report.remove.size()), Count(context.cluster->snapshot.nodes(), "node", "nodes"),
      Count(report.moved, "pod", "pods"), FormatRfc3339(context.request->pass.now_s)));
  if (const uint64_t expendable = context.cluster->counts.expendable; expendable > 0) {
    text += Comment(fmt::format(
        "{} left out of the plan. Drains evict them too, and may need more flags for them.",
        Count(expendable, "expendable pod is", "expendable pods are")));
  }
  return text;
}

std::string StepOf(const PlanReport& report, size_t index, const Removal& removal) {
  const Catalog& catalog = report.context.catalog();
  const PlanReport::Removal& each = report.remove[index];
  const NodeFacts& facts = report.facts[Index(each.node)];
  const NodeGroup* const group = report.context.groups->Find(each.node);
  const std::string node = NodeWord(catalog, each.node);
  std::string about = fmt::format("{} of {}: {} move", index + 1, report.remove.size(),
                                  Count(each.pods.size(), "pod", "pods"));
  if (group != nullptr) about += fmt::format(", group {}", group->name);
  if (!facts.instance_type.empty()) about += fmt::format(", {}", facts.instance_type);
  if (each.risky) about += ", risky: a budget lets its pods go only one after the other";
  std::string text = "\n" + Comment(about);
  text += fmt::format("say {}\n",
                      ShellQuoted(fmt::format("{} of {}: {}", index + 1, report.remove.size(),
                                              catalog.NodeName(each.node))));
  const PodId waits =
      removal.provider == Provider::kKarpenter ? WhatDrainWaitsFor(report, each.node) : kNoPod;
  if (waits == kNoPod) {
    text += fmt::format("drain {} {}\n", node, DrainFlags(report, each.node));
  } else {
    text += Comment(fmt::format(
        "Karpenter drains this node: {} tolerates the taint {}, so it ends with the node, and "
        "kubectl drain would wait for its budget.",
        catalog.PodName(waits), kDisruptedTaint));
  }
  text += fmt::format("{} {}", TextOf(removal.provider).function, node);
  for (const std::string& word : removal.words) text += " " + ShellQuoted(word);
  return text + fmt::format("\nsettle {}\n", node);
}

}  // namespace

std::string PlanScript(const PlanReport& report) {
  const Catalog& catalog = report.context.catalog();
  std::string text = "#!/bin/sh\n" + HeadOf(report);
  if (report.remove.empty()) return text + "echo 'No node can go.'\n";
  text += Comment("It is valid for that moment, so run it at once; it stops at the first error.");
  text +=
      Comment("sh FILE carries the plan out; sh FILE --undo uncordons the nodes that are left.");
  text += kHelpers;
  std::vector<Removal> removals;
  std::set<Provider> providers;
  std::string names;
  std::string checks;
  std::string refused;
  for (const PlanReport::Removal& each : report.remove) {
    providers.insert(removals.emplace_back(RemovalOf(report, each.node)).provider);
    const std::string_view name = catalog.NodeName(each.node);
    const std::string word = NodeWord(catalog, each.node);
    names += " \\\n    " + word;
    const std::string_view uid = catalog.Text(catalog.node(each.node).uid);
    if (!uid.empty()) checks += fmt::format("same {} {}\n", word, ShellQuoted(uid));
    if (!IsName(name)) refused = Printable(name);
  }
  std::string commands = "needs kubectl\n";
  for (const Provider provider : providers) {
    const ProviderText& of = TextOf(provider);
    text += of.text;
    if (!of.command.empty()) commands += fmt::format("needs {}\n", of.command);
  }
  text += fmt::format(R"(
# COMMAND...: runs it with the nodes of the plan, in their order.
with_nodes() {{
  "$@"{}
}}

uncordon() {{
  for node; do
    kubectl uncordon "$node" || say "$node is not uncordoned"
  done
}}

case ${{1-}} in
'') ;;
--undo)
  with_nodes uncordon
  exit 0
  ;;
*)
  say 'expected no argument, or --undo'
  exit 2
  ;;
esac
)",
                      names);
  if (!refused.empty()) {
    return text +
           fmt::format("\nstop {}\n",
                       ShellQuoted("a node has a name that Kubernetes does not allow: " + refused));
  }
  text += fmt::format(R"(
{}
{}
# The plan assumes that no pod lands on a node that goes later.
with_nodes kubectl cordon || stop 'some nodes cannot be cordoned'
before=$(pending) || stop 'the pending pods cannot be read'
)",
                      commands, checks.empty() ? "# The dump has no UIDs to compare.\n" : checks);
  for (size_t i = 0; i < removals.size(); ++i) text += StepOf(report, i, removals[i]);
  return text + "\nsay 'Done.'\n";
}

std::string PlanPatch(const PlanReport& report) {
  constexpr size_t kShown = 3;
  const Catalog& catalog = report.context.catalog();
  std::string text = HeadOf(report);
  std::string lines;
  size_t annotated = 0;
  struct Others {
    size_t pods = 0;
    std::string names;
  };
  std::map<std::string, Others> others;
  int64_t cost = -static_cast<int64_t>(report.remove.size());
  for (const PlanReport::Removal& removal : report.remove) {
    std::map<std::string_view, std::string> by_namespace;
    for (const PlanReport::PodMove& move : removal.pods) {
      const PodShape& shape = catalog.shape_of(move.pod);
      const std::string_view space = catalog.Text(shape.namespace_name);
      const std::string_view name = catalog.Text(catalog.pod(move.pod).name);
      if (shape.controller_kind == OwnerKind::kReplicaSet && IsName(space) && IsName(name)) {
        by_namespace[space] += " " + ShellQuoted(name);
        ++annotated;
        continue;
      }
      Others& other = others[shape.has_controller ? std::string(catalog.Text(shape.controller.kind))
                                                  : "nothing"];
      if (++other.pods <= kShown) {
        other.names +=
            fmt::format("{}{}", other.names.empty() ? "" : ", ", catalog.PodName(move.pod));
      }
    }
    for (const auto& [space, names] : by_namespace) {
      lines += fmt::format("kubectl annotate pods -n {} --overwrite{} {}={}\n", ShellQuoted(space),
                           names, kPodDeletionCost, cost);
    }
    ++cost;
  }
  text += Comment(fmt::format(
      "{} annotated, so that the next scale-in of their ReplicaSets deletes them first.",
      Count(annotated, "pod is", "pods are")));
  text += Comment("Nothing is evicted. A cost that such a pod has already is overwritten.");
  for (const auto& [kind, other] : others) {
    text += Comment(fmt::format(
        "Not annotated, as only ReplicaSets read the annotation: {} of {}: "
        "{}{}",
        Count(other.pods, "pod", "pods"), kind, other.names, other.pods > kShown ? ", ..." : ""));
  }
  return text + lines;
}

}  // namespace ebb
