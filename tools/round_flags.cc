#include "tools/round_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "tools/flag_values.h"

namespace ebb {
namespace {

constexpr const char* kGroup = "Over time (with --state)";
constexpr const char* kLoopGroup = "Rounds";

// Adds flags of the group, each with its default in the help.
class Adder {
 public:
  Adder(CLI::App& app, std::string group) : app_(app), group_(std::move(group)) {}

  CLI::Option* Text(const char* name, std::string& value, const char* help, const char* type) {
    return app_.add_option(name, value, help)
        ->type_name(type)
        ->capture_default_str()
        ->group(group_);
  }
  CLI::Option* File(const char* name, std::string& value, const char* help) {
    return Text(name, value, help, "FILE")->check(values::File());
  }
  void Duration(const char* name, std::string& value, const char* help) {
    Text(name, value, help, "DURATION")->check(values::Duration());
  }
  template <typename Value>
  CLI::Option* Number(const char* name, Value& value, const char* help, int64_t min = 0) {
    return app_.add_option(name, value, help)
        ->check(values::WholeNumber(min, kOptionCountMax))
        ->type_name("N")
        ->group(group_);
  }
  template <typename Value>
  void NumberWithDefault(const char* name, Value& value, const char* help) {
    Number(name, value, help)->capture_default_str();
  }
  void Switch(const char* name, bool& value, const char* help) {
    app_.add_flag(name, value, help)->check(values::Switch())->group(group_);
  }
  void Range(const char* name, std::string& value, const char* help) {
    Text(name, value, help, "MIN:MAX")->check(values::MinMax(kOptionCountMax));
  }
  template <typename Enum, size_t kSize>
  void Mode(const char* name, std::string& value, const Word<Enum> (&words)[kSize],
            const char* help) {
    Text(name, value, help, "MODE")->check(values::Choice(TextsOf(words)));
  }
  void Percentage(const char* name, double& value, const char* help) {
    app_.add_option(name, value, help)
        ->check(values::Number(0, 100))
        ->type_name("PERCENT")
        ->capture_default_str()
        ->group(group_);
  }

 private:
  CLI::App& app_;
  const std::string group_;
};

void AddFileFlags(RoundFlags& flags, Adder& add) {
  add.File("--state", flags.state,
           "Make one round of the planner over time: go on from what this file remembers, and "
           "remember this round (made if absent)");
  add.File("--record", flags.record,
           "Add the round's input and decision to this file, for `ebb replay`")
      ->needs("--state");
  add.File("--events", flags.events,
           "YAML or JSON file of what happened since the last round: growth, deletions, "
           "evictions, unready nodes (docs/rounds.md)")
      ->needs("--state");
  add.File("--metrics", flags.metrics,
           "Write metrics in Prometheus' text form to this file (-: standard output, after the "
           "plan); counters go on from round to round")
      ->needs("--state");
  add.NumberWithDefault("--state-rounds", flags.rounds_kept,
                        "Rounds that the state file keeps; 0: all");
}

void AddLoopFileFlags(RoundFlags& flags, Adder& add) {
  add.File("--state", flags.state,
           "Go on from what this file remembers, and remember every round (made if absent)");
  add.File("--record", flags.record,
           "Add each round's input and decision to this file, for `ebb replay`")
      ->needs("--state");
  add.NumberWithDefault("--state-rounds", flags.rounds_kept,
                        "Rounds that the state file keeps; 0: all");
}

void AddTimerFlags(RoundFlags& flags, Adder& add) {
  add.Duration("--scale-down-unneeded-time", flags.unneeded_time,
               "How long a node must be unneeded");
  add.Duration("--scale-down-unready-time", flags.unready_time,
               "The same for nodes that are not ready");
  add.Duration("--unremovable-node-recheck-timeout", flags.recheck_timeout,
               "How long a node that could not be removed is not tried again");
}

void AddBudgetFlags(RoundFlags& flags, Adder& add) {
  add.NumberWithDefault(
      "--max-drain-parallelism", flags.options.scale_down.budgets.max_drain_parallelism,
      "Nodes that may drain at a time; --max-scale-down-parallelism (10 with --state) bounds "
      "all deletions");
  add.Number("--max-empty-bulk-delete", flags.max_empty_bulk_delete,
             "Old name of --max-scale-down-parallelism, used where that is not given", 1);
}

void AddCooldownFlags(RoundFlags& flags, Adder& add) {
  add.Duration("--scale-down-delay-after-add", flags.delay_after_add,
               "Delete nothing so long after growth");
  add.Duration("--scale-down-delay-after-delete", flags.delay_after_delete,
               "Delete nothing so long after a deletion");
  add.Duration("--scale-down-delay-after-failure", flags.delay_after_failure,
               "Delete nothing so long after a failed deletion");
  add.Switch("--scale-down-delay-type-local",
             flags.options.scale_down.cooldown.scale_down_delay_type_local,
             "These delays hold back the group alone that they happened to [false]");
}

void AddHealthFlags(RoundFlags& flags, Adder& add) {
  ScaleDownOptions& options = flags.options.scale_down;
  add.NumberWithDefault("--ok-total-unready-count", options.ok_total_unready_count,
                        "So many unready nodes are no reason to stop");
  add.Percentage("--max-total-unready-percentage", options.max_total_unready_percentage,
                 "More unready nodes than this stop every deletion");
  add.Duration("--max-node-startup-time", flags.max_node_startup_time,
               "Unready nodes that are younger are starting, and no reason to stop");
}

void AddLimitFlags(RoundFlags& flags, Adder& add) {
  add.NumberWithDefault("--min-nodes-per-pass", flags.min_nodes_per_pass,
                        "Nodes that a round judges whatever --scale-down-simulation-timeout says");
  add.NumberWithDefault("--max-bulk-soft-taint-count",
                        flags.options.scale_down.max_bulk_soft_taint_count,
                        "Soft taints changed in a round");
  add.Duration("--node-deletion-candidate-ttl", flags.deletion_candidate_ttl,
               "In the first round of all, take timers from soft taints not older than this");
  add.Range("--cores-total", flags.cores_total, "Cores that the cluster keeps, as min:max");
  add.Range("--memory-total", flags.memory_total,
            "GiB of memory that the cluster keeps, as min:max");
  add.NumberWithDefault("--nodes-min", flags.nodes_min, "Nodes that the cluster keeps");
}

// Where ebb does otherwise than the autoscaler unless it is asked.
void AddOwnFlags(RoundFlags& flags, Adder& add) {
  add.Mode("--displaced-pods", flags.displaced_pods, kDisplacedPodsWords,
           "must-fit: nothing goes while pods of nodes in deletion find no room; best-effort: as "
           "the autoscaler");
  add.Duration("--recent-eviction-ttl", flags.recent_eviction_ttl,
               "How long room is kept for evicted pods that are not replaced yet; 0s: as the "
               "autoscaler");
  add.Mode("--skipped-timers", flags.skipped_timers, kSkippedTimerWords,
           "kept: a node that a round did not come to goes on waiting where it stood; lost: as "
           "the autoscaler");
  add.Duration("--clock-jump-max", flags.clock_jump_max,
               "A round further than this from the last one waits, as a clock may be wrong, with "
               "exit code 3; the next one goes on. 0s: every time is believed");
  add.Mode("--returned-nodes", flags.returned_nodes, kReturnedNodeWords,
           "anew: a node that comes back under its name with another UID waits its full time; "
           "keep-timer: as the autoscaler");
}

}  // namespace

namespace {

void AddDecidingFlags(RoundFlags& flags, Adder& add) {
  AddTimerFlags(flags, add);
  AddBudgetFlags(flags, add);
  AddCooldownFlags(flags, add);
  AddHealthFlags(flags, add);
  AddLimitFlags(flags, add);
  AddOwnFlags(flags, add);
}

}  // namespace

void RoundFlags::AddTo(CLI::App& command) {
  app = &command;
  Adder add(command, kGroup);
  AddFileFlags(*this, add);
  AddDecidingFlags(*this, add);
}

void RoundFlags::AddLoopFlags(CLI::App& command) {
  app = &command;
  Adder add(command, kLoopGroup);
  AddLoopFileFlags(*this, add);
  AddDecidingFlags(*this, add);
}

void RoundFlags::WarnUnused(std::ostream& err) const {
  if (app == nullptr) return;
  std::vector<std::string> unused;
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_group() != kGroup || option->count() == 0) continue;
    if (option->get_name() != "--max-empty-bulk-delete") unused.push_back(option->get_name());
  }
  if (unused.empty()) return;
  PrintMessage(fmt::format("note: without --state these do not count: {}", fmt::join(unused, ", ")),
               err);
}

void RoundFlags::WarnOld(std::ostream& err) const {
  if (!max_empty_bulk_delete) return;
  PrintMessage("warning: --max-empty-bulk-delete is old; use --max-scale-down-parallelism", err);
}

}  // namespace ebb
