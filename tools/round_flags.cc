#include "tools/round_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/printable.h"
#include "tools/flag_values.h"

namespace ebb {
namespace {

constexpr const char* kGroup = "Over time (with --state)";

// More nodes, cores, GiB and rounds than there are; as GiB it still fits an int64_t of
// bytes.
constexpr int64_t kCountMax = 1'000'000'000;

}  // namespace

void RoundFlags::AddTo(CLI::App& command) {
  app = &command;
  const std::string group = kGroup;
  const auto text = [&](const char* name, std::string& value, const char* help, const char* type) {
    return command.add_option(name, value, help)
        ->type_name(type)
        ->capture_default_str()
        ->group(group);
  };
  const auto duration = [&](const char* name, std::string& value, const char* help) {
    text(name, value, help, "DURATION")->check(values::Duration());
  };
  const auto number = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)
        ->check(values::WholeNumber(0, kCountMax))
        ->type_name("N")
        ->capture_default_str()
        ->group(group);
  };
  text("--state", state,
       "Make one round of the planner over time: go on from what this file remembers, and "
       "remember this round (made if absent)",
       "FILE")
      ->check(values::File());
  text("--record", record, "Add the round's input and decision to this file, for `ebb replay`",
       "FILE")
      ->check(values::File())
      ->needs("--state");
  text("--events", events,
       "YAML or JSON file of what happened since the last round: growth, deletions, evictions, "
       "unready nodes (docs/rounds.md)",
       "FILE")
      ->check(values::File())
      ->needs("--state");
  text("--metrics", metrics,
       "Write metrics in Prometheus' text form to this file (-: standard output, after the plan); "
       "counters go on from round to round",
       "FILE")
      ->check(values::File())
      ->needs("--state");
  number("--state-rounds", rounds_kept, "Rounds that the state file keeps; 0: all");
  duration("--scale-down-unneeded-time", unneeded_time, "How long a node must be unneeded");
  duration("--scale-down-unready-time", unready_time, "The same for nodes that are not ready");
  duration("--unremovable-node-recheck-timeout", recheck_timeout,
           "How long a node that could not be removed is not tried again");
  number("--max-drain-parallelism", options.budgets.max_drain_parallelism,
         "Nodes that may drain at a time; --max-scale-down-parallelism (10 with --state) bounds "
         "all deletions");
  command
      .add_option("--max-empty-bulk-delete", max_empty_bulk_delete,
                  "Old name of --max-scale-down-parallelism, used where that is not given")
      ->check(values::WholeNumber(1, kCountMax))
      ->type_name("N")
      ->group(group);
  duration("--scale-down-delay-after-add", delay_after_add, "Delete nothing so long after growth");
  duration("--scale-down-delay-after-delete", delay_after_delete,
           "Delete nothing so long after a deletion");
  duration("--scale-down-delay-after-failure", delay_after_failure,
           "Delete nothing so long after a failed deletion");
  command
      .add_flag("--scale-down-delay-type-local", options.cooldown.scale_down_delay_type_local,
                "These delays hold back the group alone that they happened to [false]")
      ->check(values::Switch())
      ->group(group);
  number("--ok-total-unready-count", options.ok_total_unready_count,
         "So many unready nodes are no reason to stop");
  command
      .add_option("--max-total-unready-percentage", options.max_total_unready_percentage,
                  "More unready nodes than this stop every deletion")
      ->check(values::Number(0, 100))
      ->type_name("PERCENT")
      ->capture_default_str()
      ->group(group);
  duration("--max-node-startup-time", max_node_startup_time,
           "Unready nodes that are younger are starting, and no reason to stop");
  number("--min-nodes-per-pass", min_nodes_per_pass,
         "Nodes that a round judges whatever --scale-down-simulation-timeout says");
  number("--max-bulk-soft-taint-count", options.max_bulk_soft_taint_count,
         "Soft taints changed in a round");
  duration("--node-deletion-candidate-ttl", deletion_candidate_ttl,
           "In the first round of all, take timers from soft taints not older than this");
  text("--cores-total", cores_total, "Cores that the cluster keeps, as min:max", "MIN:MAX")
      ->check(values::MinMax(kCountMax));
  text("--memory-total", memory_total, "GiB of memory that the cluster keeps, as min:max",
       "MIN:MAX")
      ->check(values::MinMax(kCountMax));
  number("--nodes-min", nodes_min, "Nodes that the cluster keeps");
  text("--displaced-pods", displaced_pods,
       "must-fit: nothing goes while pods of nodes in deletion find no room; best-effort: as the "
       "autoscaler",
       "MODE")
      ->check(values::Choice({"must-fit", "best-effort"}));
  duration("--recent-eviction-ttl", recent_eviction_ttl,
           "How long room is kept for evicted pods that are not replaced yet; 0s: as the "
           "autoscaler");
  text("--skipped-timers", skipped_timers,
       "kept: a node that a round did not come to goes on waiting where it stood; lost: as the "
       "autoscaler",
       "MODE")
      ->check(values::Choice({"kept", "lost"}));
  duration("--clock-jump-max", clock_jump_max,
           "A round further than this from the last one waits, as a clock may be wrong, with exit "
           "code 3; the next one goes on. 0s: every time is believed");
  text("--returned-nodes", returned_nodes,
       "anew: a node that comes back under its name with another UID waits its full time; "
       "keep-timer: as the autoscaler",
       "MODE")
      ->check(values::Choice({"anew", "keep-timer"}));
}

void RoundFlags::WarnUnused(std::ostream& err) const {
  if (app == nullptr) return;
  std::vector<std::string> unused;
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_group() != kGroup || option->count() == 0) continue;
    if (option->get_name() != "--max-empty-bulk-delete") unused.push_back(option->get_name());
  }
  if (unused.empty()) return;
  PrintMessage(fmt::format("warning: counts only with --state: {}", fmt::join(unused, ", ")), err);
}

void RoundFlags::WarnOld(std::ostream& err) const {
  if (!max_empty_bulk_delete) return;
  PrintMessage("warning: --max-empty-bulk-delete is old; use --max-scale-down-parallelism", err);
}

}  // namespace ebb
