#include "session/wire_what_if.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "options/option_field.h"
#include "options/round_options.h"
#include "platform/settings_file.h"

namespace ebb {

namespace wire = v1alpha1;

namespace {

struct FlagOfPlan {
  std::string_view flag;
  std::string_view field;  // Empty: a call has none.
};
// Flags that are not in the table of options, or to a plan are something else than there.
constexpr FlagOfPlan kFlagsOfPlans[] = {
    {"node-groups", "then.settings.node_groups"},
    {"nodes", "then.settings.group_sizes"},
    {"prices", "then.prices"},
    {"price-rule", "then.prices"},
    {"now", "then.now"},
    {"scale-down-simulation-timeout", "then.time_limit_seconds"},
    {"max-scale-down-parallelism", "then.max_scale_down_parallelism"},
    {"max-workload-share", "then.max_workload_share"},
    {"optimize", "then.search"},
    {"budget", "then.search.budget_seconds"},
    {"iterations", "then.search.iterations"},
    {"objective", "then.search.objective"},
    {"move-cost", "then.search.move_cost"},
    {"max-evictions", "then.search.max_evictions"},
    {"seed", "then.search.seed"},
    {"trials", "then.trials"},
    {"robust", "then.trials.robust"},
    {"nominated-share", "then.trials.nominated_share"},
    {"allow-incomplete", "input.allow_incomplete"},
    {"bound", ""},
    {"max-input-bytes", ""},
    {"strict", ""},
    {"threads", ""}};

}  // namespace

void PutRemedies(std::span<const Counterfactual> found, wire::ExplainReply& reply) {
  for (int n = 0; n < reply.nodes_size() && static_cast<size_t>(n) < found.size(); ++n) {
    if (reply.nodes(n).order() > 0) continue;
    const Counterfactual& of = found[static_cast<size_t>(n)];
    wire::Remedies& remedies = *reply.mutable_nodes(n)->mutable_remedies();
    remedies.set_removed(of.removed);
    for (const Counterfactual::Help& help : of.helps) {
      wire::Remedies::Help& each = *remedies.add_helps();
      each.set_what(help.what);
      each.set_removed(help.removed);
      for (const std::string& line : help.commands) each.add_commands(line);
    }
    for (const Counterfactual::InVain& in_vain : of.in_vain) {
      wire::Remedies::InVain& each = *remedies.add_in_vain();
      each.set_what(in_vain.what);
      each.set_still_kept_by(in_vain.still_kept_by);
    }
  }
}

void PutBlockers(const Blockers& blockers, wire::BlockersReply& reply) {
  reply.set_removes(blockers.removed);
  reply.set_keeps(blockers.kept);
  for (const Blocker& blocker : blockers.blockers) {
    wire::Blocker& each = *reply.add_blockers();
    each.set_kind(blocker.kind);
    each.set_namespace_(blocker.namespace_name);
    each.set_name(blocker.name);
    each.set_reason(blocker.reason);
    each.set_change(blocker.change);
    each.set_detail(blocker.detail);
    each.set_keeps(blocker.keeps);
    if (blocker.gained) each.set_gained(*blocker.gained);
    if (blocker.saved_per_hour) each.set_saved_per_hour(*blocker.saved_per_hour);
    each.set_not_tried(blocker.not_tried);
    each.set_outlook(blocker.outlook);
    each.set_command(blocker.command);
  }
  for (const BlockerSet& set : blockers.sets) {
    wire::BlockerSet& each = *reply.add_sets();
    for (const size_t member : set.blockers) each.add_blockers(static_cast<uint32_t>(member));
    each.set_gained(set.gained);
    if (set.saved_per_hour) each.set_saved_per_hour(*set.saved_per_hour);
  }
  reply.set_sets_tried(blockers.sets_tried);
}

Blockers ReadBlockers(const wire::BlockersReply& reply) {
  Blockers blockers;
  blockers.removed = reply.removes();
  blockers.kept = reply.keeps();
  for (const wire::Blocker& each : reply.blockers()) {
    Blocker& blocker = blockers.blockers.emplace_back();
    blocker.kind = each.kind();
    blocker.namespace_name = each.namespace_();
    blocker.name = each.name();
    blocker.reason = each.reason();
    blocker.change = each.change();
    blocker.detail = each.detail();
    blocker.keeps = each.keeps();
    if (each.has_gained()) blocker.gained = each.gained();
    if (each.has_saved_per_hour()) blocker.saved_per_hour = each.saved_per_hour();
    blocker.not_tried = each.not_tried();
    blocker.outlook = each.outlook();
    blocker.command = each.command();
  }
  for (const wire::BlockerSet& each : reply.sets()) {
    BlockerSet set;
    for (const uint32_t member : each.blockers()) {
      if (member < blockers.blockers.size()) set.blockers.push_back(member);
    }
    set.gained = each.gained();
    if (each.has_saved_per_hour()) set.saved_per_hour = each.saved_per_hour();
    blockers.sets.push_back(std::move(set));
  }
  blockers.sets_tried = reply.sets_tried();
  return blockers;
}

void PutFrontier(std::span<const FrontierPoint> points, wire::FrontierReply& reply) {
  for (const FrontierPoint& point : points) {
    wire::FrontierPoint& each = *reply.add_points();
    each.set_evicted(point.evicted);
    each.set_removes(point.nodes);
    each.set_saved_per_hour(point.worth);
  }
}

std::vector<FrontierPoint> ReadFrontier(const wire::FrontierReply& reply) {
  std::vector<FrontierPoint> points;
  for (const wire::FrontierPoint& each : reply.points()) {
    points.push_back(
        {.evicted = each.evicted(), .nodes = each.removes(), .worth = each.saved_per_hour()});
  }
  return points;
}

void PutComparison(const PlanComparison& comparison, wire::PlanDifferences& to) {
  const auto put_side = [](const PlanComparison::Side& side, wire::PlanDifferences::Side& each) {
    each.set_nodes(side.nodes);
    each.set_removes(side.removed);
    each.set_moves(side.moved_pods);
    if (side.saved_per_hour) each.set_saved_per_hour(*side.saved_per_hour);
    each.set_currency(side.currency);
  };
  const auto put_nodes = [](const std::vector<PlanComparison::Difference>& nodes, auto& list) {
    for (const PlanComparison::Difference& node : nodes) {
      wire::PlanDifferences::Node& each = *list.Add();
      each.set_node(node.node);
      each.set_group(node.group);
      each.set_kept_because(node.kept_because);
    }
  };
  put_side(comparison.before, *to.mutable_before());
  put_side(comparison.after, *to.mutable_after());
  to.set_complete(comparison.complete);
  to.set_of_two_clusters(comparison.of_two_clusters);
  to.set_in_both(comparison.in_both);
  put_nodes(comparison.no_more, *to.mutable_no_more());
  put_nodes(comparison.now_too, *to.mutable_now_too());
}

PlanComparison ReadComparison(const wire::PlanDifferences& from) {
  const auto side_of = [](const wire::PlanDifferences::Side& each) {
    PlanComparison::Side side{.nodes = each.nodes(),
                              .removed = each.removes(),
                              .moved_pods = each.moves(),
                              .saved_per_hour = {},
                              .currency = each.currency()};
    if (each.has_saved_per_hour()) side.saved_per_hour = each.saved_per_hour();
    return side;
  };
  const auto nodes_of = [](const auto& list) {
    std::vector<PlanComparison::Difference> nodes;
    for (const wire::PlanDifferences::Node& each : list) {
      nodes.push_back(
          {.node = each.node(), .group = each.group(), .kept_because = each.kept_because()});
    }
    return nodes;
  };
  return {.before = side_of(from.before()),
          .after = side_of(from.after()),
          .complete = from.complete(),
          .of_two_clusters = from.of_two_clusters(),
          .in_both = from.in_both(),
          .no_more = nodes_of(from.no_more()),
          .now_too = nodes_of(from.now_too())};
}

std::optional<std::string> FieldOfFlag(std::string_view flag) {
  const auto* const found = std::ranges::find(kFlagsOfPlans, flag, &FlagOfPlan::flag);
  if (found != std::end(kFlagsOfPlans)) return std::string(found->field);
  RoundOptions options;
  for (const OptionField& field : FieldsOf(options)) {
    for (const OptionFlag* const each : {&field.row.flag, &field.row.old}) {
      if (each->name != flag || each->group == OptionGroup::kRounds) continue;
      return absl::StrCat("then.settings.options.", field.path);
    }
  }
  return std::nullopt;
}

absl::Status CheckOptionsOfCall(const WhatIf& what_if, bool has_then) {
  for (const auto& [flag, unused] : what_if.options) {
    const std::string where = absl::StrCat("options.", flag);
    const std::optional<std::string> field = FieldOfFlag(flag);
    if (!field) return BadSetting(what_if.file, where, "is not a flag of a plan");
    if (has_then) continue;
    return BadSetting(what_if.file, where,
                      field->empty() ? "a call takes no such option"
                                     : absl::StrCat("a call takes it as ", *field));
  }
  return absl::OkStatus();
}

}  // namespace ebb
