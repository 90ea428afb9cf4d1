#include "cli/flags/autoscaler_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "base/printable.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/help_text.h"
#include "options/option_field.h"
#include "options/round_options.h"

namespace ebb {
namespace {

// The largest value of numbers that ebb only checks.
constexpr int64_t kMost = 1'000'000'000'000;

constexpr AutoscalerFlag Honoured(std::string_view name, std::string_view note) {
  return {name, FlagTreatment::kHonoured, FlagType::kText, note};
}

constexpr AutoscalerFlag Ignored(std::string_view name, FlagType type, std::string_view note = "") {
  return {name, FlagTreatment::kIgnored, type, note};
}

// The flags that are not in the table of options, in alphabetic order.
constexpr AutoscalerFlag kOtherFlags[] = {
    Ignored("add-dir-header", FlagType::kSwitch),
    Ignored("address", FlagType::kText),
    {"allowed-scheduler-names", FlagTreatment::kNotHonoured, FlagType::kText,
     "room is kept for the pending pods of every scheduler"},
    Ignored("alsologtostderr", FlagType::kSwitch),
    Ignored("async-node-groups", FlagType::kSwitch),
    Ignored("aws-use-static-instance-list", FlagType::kSwitch),
    Ignored("balance-similar-node-groups", FlagType::kSwitch, "where the cluster grows"),
    Ignored("balancing-ignore-label", FlagType::kText),
    Ignored("balancing-label", FlagType::kText),
    Ignored("bulk-mig-instances-listing-enabled", FlagType::kSwitch),
    Ignored("capacity-buffer-controller-enabled", FlagType::kSwitch),
    Ignored("capacity-buffer-pod-dry-run-enabled", FlagType::kSwitch),
    {"capacity-buffer-pod-injection-enabled", FlagTreatment::kNotHonouredIfTrue, FlagType::kSwitch,
     "no room is kept for capacity buffers"},
    Ignored("capacity-quotas-enabled", FlagType::kSwitch),
    Ignored("check-capacity-batch-processing", FlagType::kSwitch),
    Ignored("check-capacity-processor-instance", FlagType::kText),
    Ignored("check-capacity-provisioning-request-batch-timebox", FlagType::kDuration),
    Ignored("check-capacity-provisioning-request-max-batch-size", FlagType::kInt),
    Ignored("cloud-config", FlagType::kText),
    Ignored("cloud-provider", FlagType::kText, "groups come from labels of every provider"),
    Ignored("cluster-name", FlagType::kText),
    Ignored("cluster-snapshot-parallelism", FlagType::kInt),
    Ignored("clusterapi-cloud-config-authoritative", FlagType::kSwitch),
    Ignored("cordon-node-before-terminating", FlagType::kSwitch, "while nodes are drained"),
    Ignored("daemonset-eviction-for-empty-nodes", FlagType::kSwitch),
    Ignored("daemonset-eviction-for-occupied-nodes", FlagType::kSwitch),
    Ignored("debugging-snapshot-enabled", FlagType::kSwitch),
    Ignored("drain-priority-config", FlagType::kText, "while nodes are drained"),
    Ignored("dynamic-node-delete-delay-after-taint-enabled", FlagType::kSwitch),
    Ignored("emit-per-nodegroup-metrics", FlagType::kSwitch),
    {"enable-dynamic-resource-allocation", FlagTreatment::kNotHonouredIfFalse, FlagType::kSwitch,
     "devices are allocated either way"},
    Ignored("enable-graceful-degradation", FlagType::kSwitch),
    Ignored("enable-inter-pod-affinity-hostname-fast-path", FlagType::kSwitch,
            "the same verdicts, sooner"),
    {"enable-proactive-scaleup", FlagTreatment::kNotHonouredIfTrue, FlagType::kSwitch,
     "no room is kept for replicas that are not there yet"},
    {"enable-provisioning-requests", FlagTreatment::kNotHonouredIfTrue, FlagType::kSwitch,
     "no room is kept for ProvisioningRequests"},
    Ignored("enforce-node-group-min-size", FlagType::kSwitch),
    Ignored("estimator", FlagType::kText),
    Ignored("expander", FlagType::kText),
    Ignored("fastpath-binpacking-enabled", FlagType::kSwitch),
    {"feature-gates", FlagTreatment::kNotHonoured, FlagType::kText,
     "the filters are those of the default feature gates"},
    Ignored("force-delete-failed-nodes", FlagType::kSwitch),
    Ignored("force-delete-unregistered-nodes", FlagType::kSwitch),
    Ignored("force-ds", FlagType::kSwitch),
    Ignored("frequent-loops-enabled", FlagType::kSwitch),
    Ignored("gce-concurrent-refreshes", FlagType::kInt),
    Ignored("gce-expander-ephemeral-storage-support", FlagType::kSwitch),
    Ignored("gce-mig-instances-min-refresh-wait-time", FlagType::kDuration),
    {"gpu-total", FlagTreatment::kNotHonouredIfMinimum, FlagType::kGpuTotal,
     "GPUs that the cluster must keep are not counted"},
    Ignored("grpc-expander-cert", FlagType::kText),
    Ignored("grpc-expander-url", FlagType::kText),
    Ignored("initial-node-group-backoff-duration", FlagType::kDuration),
    Ignored("kube-api-content-type", FlagType::kText),
    Ignored("kube-client-burst", FlagType::kInt),
    Ignored("kube-client-qps", FlagType::kFloat),
    Ignored("kubeconfig", FlagType::kText),
    Ignored("kubernetes", FlagType::kText),
    Ignored("leader-elect", FlagType::kSwitch),
    Ignored("leader-elect-lease-duration", FlagType::kDuration),
    Ignored("leader-elect-renew-deadline", FlagType::kDuration),
    Ignored("leader-elect-resource-lock", FlagType::kText),
    Ignored("leader-elect-resource-name", FlagType::kText),
    Ignored("leader-elect-resource-namespace", FlagType::kText),
    Ignored("leader-elect-retry-period", FlagType::kDuration),
    Ignored("legacy-stderr-threshold-behavior", FlagType::kSwitch),
    Ignored("log-backtrace-at", FlagType::kText),
    Ignored("log-dir", FlagType::kText),
    Ignored("log-file", FlagType::kText),
    Ignored("log-file-max-size", FlagType::kInt),
    Ignored("log-flush-frequency", FlagType::kDuration),
    Ignored("log-json-info-buffer-size", FlagType::kText),
    Ignored("log-json-split-stream", FlagType::kSwitch),
    Ignored("log-text-info-buffer-size", FlagType::kText),
    Ignored("log-text-split-stream", FlagType::kSwitch),
    Ignored("logging-format", FlagType::kText),
    Ignored("logtostderr", FlagType::kSwitch),
    Ignored("max-allocatable-difference-ratio", FlagType::kFloat),
    Ignored("max-autoprovisioned-node-group-count", FlagType::kInt),
    Ignored("max-binpacking-time", FlagType::kDuration),
    Ignored("max-bulk-soft-taint-time", FlagType::kDuration),
    Ignored("max-failing-time", FlagType::kDuration),
    Ignored("max-free-difference-ratio", FlagType::kFloat),
    Ignored("max-graceful-termination-sec", FlagType::kInt, "while nodes are drained"),
    Ignored("max-inactivity", FlagType::kDuration),
    Ignored("max-node-group-backoff-duration", FlagType::kDuration),
    Ignored("max-node-provision-time", FlagType::kDuration),
    Ignored("max-node-skip-eval-time-tracker-enabled", FlagType::kSwitch),
    Ignored("max-nodegroup-binpacking-duration", FlagType::kDuration),
    Ignored("max-nodes-per-scaleup", FlagType::kInt),
    Ignored("max-nodes-total", FlagType::kInt),
    Ignored("max-pod-eviction-time", FlagType::kDuration),
    Ignored("max-startup-time", FlagType::kDuration),
    Ignored("memory-difference-ratio", FlagType::kFloat),
    Ignored("namespace", FlagType::kText),
    Ignored("new-pod-scale-up-delay", FlagType::kDuration),
    Ignored("node-autoprovisioning-enabled", FlagType::kSwitch),
    Ignored("node-delete-delay-after-taint", FlagType::kDuration),
    Ignored("node-deletion-batcher-interval", FlagType::kDuration),
    Ignored("node-deletion-delay-timeout", FlagType::kDuration),
    {"node-group-auto-discovery", FlagTreatment::kNotHonoured, FlagType::kText,
     "groups come from labels with minimum 0; say minimums in --node-groups or --nodes"},
    Ignored("node-group-backoff-reset-timeout", FlagType::kDuration),
    Ignored("node-info-cache-expire-time", FlagType::kDuration),
    Ignored("node-removal-latency-tracking-enabled", FlagType::kSwitch),
    Honoured("nodes", "sizes of a group, named as its provider names it (docs/plan.md)"),
    Ignored("one-output", FlagType::kSwitch),
    Ignored("parallel-drain", FlagType::kSwitch),
    Ignored("parallel-scale-up", FlagType::kSwitch),
    Ignored("pending-pods-batching-timeout", FlagType::kDuration),
    Ignored("pod-injection-limit", FlagType::kInt),
    Ignored("predicate-parallelism", FlagType::kInt,
            "`--threads` says how many; the plan is the same"),
    Ignored("profiling", FlagType::kSwitch),
    Ignored("provisioning-request-initial-backoff-time", FlagType::kDuration),
    Ignored("provisioning-request-max-backoff-cache-size", FlagType::kInt),
    Ignored("provisioning-request-max-backoff-time", FlagType::kDuration),
    Ignored("record-duplicated-events", FlagType::kSwitch),
    Ignored("regional", FlagType::kSwitch),
    Ignored("salvo-scale-up", FlagType::kSwitch),
    Ignored("salvo-scale-up-budget", FlagType::kDuration),
    Ignored("scale-down-candidates-pool-min-count", FlagType::kInt,
            "the autoscaler reads it and does not use it"),
    Ignored("scale-down-candidates-pool-ratio", FlagType::kFloat,
            "the autoscaler reads it and does not use it"),
    {"scale-down-enabled", FlagTreatment::kNotHonouredIfFalse, FlagType::kSwitch,
     "the autoscaler removes nothing then; ebb plans all the same"},
    Ignored("scale-down-non-empty-candidates-count", FlagType::kInt,
            "the autoscaler reads it and does not use it"),
    Honoured("scale-down-simulation-timeout", "without it a pass has no limit"),
    Ignored("scale-from-unschedulable", FlagType::kSwitch),
    Ignored("scale-up-from-zero", FlagType::kSwitch),
    Ignored("scaleup-simulation-for-skipped-node-groups-enabled", FlagType::kSwitch),
    Ignored("scan-interval", FlagType::kDuration, "the caller decides when"),
    Ignored("scheduler-verbosity", FlagType::kInt),
    Ignored("skip-headers", FlagType::kSwitch),
    Ignored("skip-log-headers", FlagType::kSwitch),
    Ignored("status-config-map-name", FlagType::kText),
    Ignored(
        "status-taint", FlagType::kText,
        "only templates of new nodes lose such taints: on a node that is there they repel pods"),
    Ignored("stderrthreshold", FlagType::kText),
    Ignored("user-agent", FlagType::kText),
    Ignored("v", FlagType::kInt),
    Ignored("vmodule", FlagType::kText),
    Ignored("write-status-configmap", FlagType::kSwitch),
};

// The flags of the table of options that the autoscaler has too.
std::vector<AutoscalerFlag> HonouredOptions() {
  std::vector<AutoscalerFlag> honoured;
  RoundOptions options;
  for (const OptionField& field : FieldsOf(options)) {
    if (!field.row.in_autoscaler) continue;
    for (const OptionFlag* const flag : {&field.row.flag, &field.row.old}) {
      const bool of_rounds = flag->group == OptionGroup::kRounds;
      const std::string_view note = flag->note.empty() && of_rounds ? "with `--state`" : flag->note;
      if (!flag->name.empty()) honoured.push_back(Honoured(flag->name, note));
    }
  }
  return honoured;
}

const std::vector<AutoscalerFlag>& AllFlags() {
  static const auto* const all = [] {
    auto* const flags = new std::vector<AutoscalerFlag>(HonouredOptions());
    flags->insert(flags->end(), std::begin(kOtherFlags), std::end(kOtherFlags));
    std::ranges::sort(*flags, {}, &AutoscalerFlag::name);
    return flags;
  }();
  return *all;
}

CLI::Validator CheckerOf(FlagType type) {
  switch (type) {
    case FlagType::kSwitch:
      return values::Switch();
    case FlagType::kInt:
      return values::WholeNumber(-kMost, kMost);
    case FlagType::kFloat:
      return values::Number(-kMost, kMost);
    case FlagType::kDuration:
      return values::Duration();
    case FlagType::kGpuTotal:
      return values::GpuTotal();
    case FlagType::kText:
      break;
  }
  return values::MaybeEmptyText();
}

const AutoscalerFlag* Find(const CLI::Option& option) {
  if (option.get_group() != kHiddenGroup) return nullptr;
  const std::string& name = option.get_lnames()[0];
  const auto found = std::ranges::lower_bound(AllFlags(), name, {}, &AutoscalerFlag::name);
  return found != AllFlags().end() && found->name == name ? &*found : nullptr;
}

bool IsTrue(const std::string& value) {
  return std::string("1tT").find(value[0]) != std::string::npos;
}

// Whether the given values change the autoscaler's plan and not ebb's.
bool IsMissed(const AutoscalerFlag& flag, const std::vector<std::string>& given) {
  switch (flag.treatment) {
    case FlagTreatment::kHonoured:
    case FlagTreatment::kIgnored:
      return false;
    case FlagTreatment::kNotHonoured:
      return std::ranges::any_of(given, [](const std::string& value) { return !value.empty(); });
    case FlagTreatment::kNotHonouredIfTrue:
      return IsTrue(given.back());
    case FlagTreatment::kNotHonouredIfFalse:
      return !IsTrue(given.back());
    case FlagTreatment::kNotHonouredIfMinimum:
      return std::ranges::any_of(given, [](const std::string& value) {
        return ParseMinMax(std::string_view(value).substr(value.find(':') + 1)).min > 0;
      });
  }
  return true;
}

// Calls `visit` with each flag that was given, and with the result of IsMissed.
template <typename Visit>
void ForEachGiven(const CLI::App& app, Visit visit) {
  for (const CLI::Option* option : app.get_options()) {
    const AutoscalerFlag* const flag = Find(*option);
    if (flag == nullptr || option->count() == 0) continue;
    visit(*flag, IsMissed(*flag, option->results()));
  }
}

}  // namespace

std::span<const AutoscalerFlag> AutoscalerFlags() { return AllFlags(); }

void AddOtherAutoscalerFlags(CLI::App& app) {
  for (const AutoscalerFlag& flag : AllFlags()) {
    if (flag.treatment == FlagTreatment::kHonoured) continue;
    const std::string name = (flag.name.size() == 1 ? fmt::format("-{},", flag.name) : "") +
                             fmt::format("--{}", flag.name);
    if (app.get_option_no_throw(fmt::format("--{}", flag.name)) != nullptr) continue;
    CLI::Option* const option =
        flag.type == FlagType::kSwitch ? app.add_flag(name) : app.add_option(name);
    option->check(CheckerOf(flag.type))->group(kHiddenGroup);
    if (flag.type != FlagType::kSwitch) {
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
  }
}

bool IsOtherAutoscalerFlag(const CLI::Option& option) { return Find(option) != nullptr; }

void PrintIgnoredFlags(const CLI::App& app, std::ostream& err) {
  std::vector<std::string> ignored;
  ForEachGiven(app, [&](const AutoscalerFlag& flag, bool is_missed) {
    if (!is_missed) ignored.push_back(fmt::format("--{}", flag.name));
  });
  if (ignored.empty()) return;
  PrintMessage(fmt::format("ignored, as a plan does not depend on {}: {}",
                           ignored.size() == 1 ? "it" : "them", fmt::join(ignored, ", ")),
               err);
}

std::optional<InputWarning> FlagsNotHonoured(const CLI::App& app) {
  std::vector<std::string> missed;
  ForEachGiven(app, [&](const AutoscalerFlag& flag, bool is_missed) {
    if (is_missed) missed.push_back(fmt::format("--{} ({})", flag.name, flag.note));
  });
  if (missed.empty()) return std::nullopt;
  return InputWarning{
      .code = "FlagsNotHonoured",
      .message = fmt::format("not honoured, so the autoscaler's own plan may differ: {}",
                             fmt::join(missed, "; ")),
      .command = ""};
}

}  // namespace ebb
