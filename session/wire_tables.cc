#include "session/wire_tables.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "engine/stable_planner.h"
#include "groups/groups.h"
#include "groups/node_facts.h"
#include "report/block_words.h"
#include "report/explain.h"
#include "report/filter_report.h"
#include "report/plan_purchases.h"
#include "report/plan_totals.h"
#include "report/plan_waves.h"
#include "report/room_notes.h"
#include "report/stable_text.h"
#include "session/wire_pass.h"
#include "snapshot/import/incomplete.h"
#include "snapshot/import/load_cluster.h"

namespace ebb {

namespace wire = v1alpha1;

namespace {

constexpr size_t kDestinationsShown = 2;  // As many as the table shows.

void PutAmounts(const NodeAmounts& amounts, wire::NodeAmounts& to) {
  to.set_cpu_milli(amounts.cpu_milli);
  to.set_memory_bytes(amounts.memory_bytes);
  to.set_gpus(amounts.gpus);
}

void PutUse(const Catalog& catalog, const Utilization& utilization, wire::NodeUse& to) {
  to.set_cpu(utilization.cpu);
  to.set_memory(utilization.memory);
  to.set_gpu(utilization.gpu);
  to.set_resource(std::string(catalog.Text(utilization.resource)));
  to.set_utilization(utilization.utilization);
}

template <typename Node>
void PutGpuDevices(const ClusterSnapshot& snapshot, NodeId node, Node& to) {
  for (const GpuSlices& each : GpuSlicesOf(snapshot, node)) {
    wire::GpuDevices& devices = *to.add_gpu_devices();
    devices.set_resource(std::string(each.resource));
    devices.set_requested(each.requested);
    devices.set_allocatable(each.allocatable);
  }
}

void PutNode(const PlanReport& report, NodeId node, wire::TableNode& to) {
  const PlanContext& context = report.context;
  const NodeFacts& facts = report.facts[Index(node)];
  to.set_node(std::string(context.catalog().NodeName(node)));
  if (const NodeGroup* const group = context.groups->Find(node)) to.set_group(group->name);
  to.set_instance_type(std::string(facts.instance_type));
  to.set_zone(std::string(facts.zone));
  to.set_capacity_type(facts.capacity_type);
  PutAmounts(facts.allocatable, *to.mutable_allocatable());
  const auto& utilization = context.made->plan.utilization[Index(node)];
  if (utilization) PutUse(context.catalog(), *utilization, *to.mutable_use());
  to.set_gpu_sharing(ToText(facts.gpu_sharing));
  PutGpuDevices(context.cluster->snapshot, node, to);
  if (context.prices != nullptr && context.prices->Knows(node)) {
    to.set_price_per_hour(context.prices->hourly[Index(node)]);
  }
}

// The nodes that receive the pods, the one with the most pods first.
std::vector<std::pair<NodeId, size_t>> DestinationsOf(const PlanReport::Removal& removal) {
  std::map<NodeId, size_t> pods;
  for (const PlanReport::PodMove& move : removal.pods) ++pods[move.to];
  std::vector<std::pair<NodeId, size_t>> sorted(pods.begin(), pods.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

void PutRemoval(const PlanReport& report, const PlanReport::Removal& removal, bool every_node,
                wire::TableNode& to) {
  PutNode(report, removal.node, to);
  to.set_pods(removal.pods.size());
  to.set_risky(removal.risky);
  const std::vector<std::pair<NodeId, size_t>> destinations = DestinationsOf(removal);
  to.set_destinations(destinations.size());
  const size_t told =
      every_node ? destinations.size() : std::min(destinations.size(), kDestinationsShown);
  for (const auto& [node, pods] : std::span(destinations).first(told)) {
    wire::Destination& destination = *to.add_to();
    destination.set_node(std::string(report.context.catalog().NodeName(node)));
    destination.set_pods(pods);
  }
}

void PutSearch(const PlanSearch& search, wire::SearchFigures& to) {
  to.set_first_plan_removed(search.greedy_nodes);
  to.set_iterations(search.iterations);
  to.set_ended(std::string(ToString(search.ended)));
  if (search.max_evictions) to.set_max_evictions(*search.max_evictions);
  if (!search.savings) return;
  to.set_first_plan_net_saved_per_hour(search.savings->greedy);
  to.set_net_saved_per_hour(search.savings->found);
}

void PutTrialFigures(const PlanTrials& trials, wire::TrialFigures& to) {
  const auto put = [](const PlanTrials::Figures& figures, wire::TrialFigures::Order& order) {
    order.set_pending_median(figures.pending_median);
    order.set_pending_max(figures.pending_max);
    order.set_landed_as_planned(figures.as_planned);
  };
  to.set_trials(trials.trials);
  to.set_moved_pods(trials.evicted);
  put(trials.random_order, *to.mutable_random_order());
  put(trials.plan_order, *to.mutable_plan_order());
}

void PutUnready(const PlanReport& report, wire::PlanTables& to) {
  constexpr int kShown = 3;
  for (const PlanReport::Removal& removal : report.remove) {
    std::string words = UnreadyWords(report.context, removal.node);
    if (words.empty()) continue;
    to.set_unready(to.unready() + 1);
    if (to.first_unready_size() >= kShown) continue;
    wire::NodeWords& node = *to.add_first_unready();
    node.set_node(std::string(report.context.catalog().NodeName(removal.node)));
    node.set_words(std::move(words));
  }
}

template <typename Shares>
void PutShares(const std::vector<PlanReport::Share>& shares, bool has_prices, Shares& to) {
  for (const PlanReport::Share& share : shares) {
    if (share.removed == 0) break;  // The largest loss comes first, so the rest lost none.
    wire::FreedShare& each = *to.Add();
    each.set_name(std::string(share.name));
    each.set_nodes(share.nodes);
    each.set_removed(share.removed);
    PutAmounts(share.freed, *each.mutable_freed());
    if (has_prices) each.set_saved_per_hour(share.saved_per_hour);
  }
}

// A more detailed reason for a kept node; absent: none.
std::optional<std::string_view> FinerReason(const PlanReport& report,
                                            const PlanReport::Kept& kept) {
  const UnremovableNode& why = kept.why;
  if (kept.reason == ToString(UnremovableReason::kNotAutoscaled)) {
    return ToText(report.context.groups->WhyNoGroup(why.node));
  }
  if (why.reason == UnremovableReason::kBlockedByPod) return ToString(why.blocking_reason);
  if (why.before && why.before->reason != UnremovableReason::kNoReason) {
    return ToString(why.before->reason);
  }
  return std::nullopt;
}

void PutKeptReasons(const PlanReport& report, wire::PlanTables& to) {
  std::map<std::string_view, std::map<std::string_view, size_t>> finer;
  for (const PlanReport::Kept& kept : report.keep) {
    if (const auto reason = FinerReason(report, kept)) ++finer[kept.reason][*reason];
  }
  for (const auto& [reason, nodes] : report.kept_by_reason) {
    wire::KeptReason& kept = *to.add_kept_by_reason();
    kept.set_reason(std::string(reason));
    kept.set_nodes(nodes);
    for (const auto& [why, count] : finer[reason]) {
      wire::KeptReason::Finer& each = *kept.add_finer();
      each.set_reason(std::string(why));
      each.set_nodes(count);
    }
  }
}

void PutAnnotations(const PlanReport& report, wire::PlanTables& to) {
  std::set<std::string_view> names;
  for (const PlanReport::Kept& kept : report.keep) {
    if (kept.why.reason != UnremovableReason::kScaleDownDisabledAnnotation) continue;
    for (const std::string_view name : AnnotationsThatKeep(report.context, kept.why.node)) {
      names.insert(name);
    }
  }
  for (const std::string_view name : names) to.add_annotations(std::string(name));
}

// `rows`: 0 means all.
void PutKeepers(const PlanReport& report, uint32_t rows, wire::PlanTables& to) {
  to.set_keepers(report.keepers.size());
  const size_t told = rows == 0 ? report.keepers.size() : std::min<size_t>(rows, to.keepers());
  for (const PlanReport::Keeper& keeper : std::span(report.keepers).first(told)) {
    wire::Keeper& each = *to.add_kept_most_by();
    each.set_kind(keeper.kind);
    each.set_namespace_(std::string(keeper.namespace_name));
    each.set_name(std::string(keeper.name));
    each.set_reason(std::string(keeper.reason));
    each.set_nodes(keeper.nodes);
  }
}

void PutReasons(const WaveReasons& reasons,
                google::protobuf::RepeatedPtrField<wire::KeptReason>& to) {
  for (const auto& [reason, nodes] : reasons) {
    wire::KeptReason& each = *to.Add();
    each.set_reason(std::string(reason));
    each.set_nodes(nodes);
  }
}

void PutWaveFigures(const PlanWaves& waves, wire::WaveFigures& to) {
  for (const PlanWave& wave : waves.waves) {
    wire::WaveFigures::Wave& each = *to.add_waves();
    each.set_at_seconds(wave.at_s);
    each.set_removed(wave.remove.size());
    each.set_moved_pods(wave.moved);
    each.set_nodes(wave.nodes);
    each.set_freed_cpu_milli(wave.freed.cpu_milli);
    if (wave.saved_per_hour) each.set_saved_per_hour(*wave.saved_per_hour);
    PutReasons(wave.kept, *each.mutable_kept());
  }
  to.set_nodes_at_first(waves.nodes_at_first);
  to.set_nodes(waves.nodes);
  to.set_removed(waves.removed());
  to.set_moved_pods(waves.moved());
  to.set_moved_again_pods(waves.moved_again());
  to.set_takes_seconds(waves.takes_s());
  to.set_cut(waves.ended == WavesEnd::kTimeLimit);
  PutReasons(waves.kept, *to.mutable_kept());
  for (const std::string& text : WaveAssumptions(waves)) to.add_assumptions(text);
}

// Writes the results beyond the greedy plan, and prices.
void PutSearched(const PlanReport& report, wire::PlanTables& to) {
  const PlanContext& context = report.context;
  if (report.saved_per_hour) to.set_saved_per_hour(*report.saved_per_hour);
  if (context.prices != nullptr) {
    to.set_currency(context.prices->currency);
    to.set_prices(PriceWords(*context.prices));
  }
  if (context.search) PutSearch(*context.search, *to.mutable_search());
  if (context.bound) {
    to.mutable_bound()->set_removed(context.bound->nodes);
    if (context.bound->savings) {
      to.mutable_bound()->set_net_saved_per_hour(*context.bound->savings);
    }
  }
  if (context.trials) PutTrialFigures(*context.trials, *to.mutable_trials());
  if (context.waves != nullptr) PutWaveFigures(*context.waves, *to.mutable_waves());
}

std::string BudgetName(const Catalog& catalog, PdbId id) {
  const Pdb& pdb = catalog.pdbs()[Index(id)];
  return absl::StrCat(Absl(catalog.Text(pdb.namespace_name)), "/", Absl(catalog.Text(pdb.name)));
}

void PutPod(const Catalog& catalog, const Explanation::Pod& pod, wire::ExplainedPod& to) {
  to.set_pod(catalog.PodName(pod.pod));
  // The values of both enums are equal.
  to.set_outcome(static_cast<wire::ExplainedPod::Outcome>(pod.outcome));
  if (pod.outcome == Explanation::Outcome::kBlocks)
    to.set_reason(std::string(ToString(pod.reason)));
  if (pod.pdb) {
    to.set_pod_disruption_budget(std::string(catalog.Text(catalog.pdbs()[Index(*pod.pdb)].name)));
  }
  const size_t budgets = catalog.shape_of(pod.pod).budgets.size();
  if (budgets > 1 && NeedsEviction(pod.outcome)) to.set_budgets(budgets);
  to.set_detail(pod.words);
  to.set_pending(pod.pending);
  if (pod.from != kNoNode) to.set_arrived_from(std::string(catalog.NodeName(pod.from)));
  if (pod.to != kNoNode) to.set_to(std::string(catalog.NodeName(pod.to)));
  for (const NodeId stop : pod.via) to.add_via(std::string(catalog.NodeName(stop)));
}

void PutBudget(const Catalog& catalog, const Explanation::Budget& budget, wire::SpentBudget& to) {
  to.set_budget(BudgetName(catalog, budget.pdb));
  to.set_disruptions_allowed(budget.allowed);
  to.set_spent(budget.spent);
  to.set_counted(budget.counted);
  for (const auto& [node, disruptions] : budget.nodes) {
    wire::SpentBudget::Node& each = *to.add_spent_for();
    each.set_node(std::string(catalog.NodeName(node)));
    each.set_disruptions(disruptions);
  }
}

void PutPlace(const Catalog& catalog, const Explanation::Place& place, wire::TriedPod& to) {
  to.set_pod(catalog.PodName(place.pod));
  to.set_tally(place.tally.Text());
  to.set_detail(place.words);
  to.set_fits(place.to != kNoNode);
  for (const PlaceTally::Detail& each : place.tally.details) {
    to.add_node_details(absl::StrCat("node ", Absl(catalog.NodeName(each.node)), ": ", each.text));
  }
  to.set_node_details_left_out(place.tally.details_left_out);
}

// How pending pods keep a node.
void PutPending(const PlanContext& context, const UnremovableNode& why, wire::NodeExplanation& to) {
  constexpr size_t kPodsShown = 3;
  const Catalog& catalog = context.catalog();
  if (why.blocking_reason == BlockingPodReason::kPendingPodNotUnderstood) {
    to.set_pending_pod(catalog.PodName(why.pod));
    to.set_not_understood(catalog.shape_of(why.pod).not_understood);
  }
  if (why.reason != UnremovableReason::kNoPlaceToMovePods) return;
  const std::vector<Move>& packed = context.made->plan.packed;
  to.set_room_kept(packed.size());
  for (const Move& move : std::span(packed).first(std::min(packed.size(), kPodsShown))) {
    wire::PodPlace& place = *to.add_first_room_kept();
    place.set_pod(catalog.PodName(move.pod));
    place.set_node(std::string(catalog.NodeName(move.to)));
  }
}

void PutUses(const PlanReport& report, const Explanation& explanation, wire::NodeExplanation& to) {
  const PlanContext& context = report.context;
  if (const auto& then = explanation.utilization_at_turn) {
    PutUse(context.catalog(), *then, *to.mutable_use_at_turn());
  }
  const auto& before = context.made->plan.utilization[Index(explanation.node)];
  if (!before) return;
  const NodeFacts& facts = report.facts[Index(explanation.node)];
  PutUse(context.catalog(), *before, *to.mutable_use());
  to.set_gpu_sharing(ToText(facts.gpu_sharing));
  to.set_gpus(facts.allocatable.gpus);
  to.set_gpus_are_devices(facts.gpu_sharing.devices_are_counted);
  PutGpuDevices(context.cluster->snapshot, explanation.node, to);
}

wire::PodVerdicts::Verdict& PutVerdict(const ClusterSnapshot& snapshot, NodeId node,
                                       const FilterVerdict& verdict, wire::PodVerdicts& to) {
  wire::PodVerdicts::Verdict& each = *to.add_verdicts();
  each.set_node(std::string(snapshot.catalog().NodeName(node)));
  each.set_fits(verdict.fits);
  for (const std::string& reason : verdict.reasons) each.add_reasons(reason);
  each.set_detail(verdict.detail);
  return each;
}

std::string_view WordOf(Lack lack) {
  switch (lack) {
    case Lack::kKinds:
      return "kinds";
    case Lack::kPods:
      return "pods";
    case Lack::kNothing:
      break;
  }
  return "";
}

}  // namespace

void PutWarning(const InputWarning& warning, wire::Warning& to) {
  to.set_code(warning.code);
  to.set_message(warning.message);
  to.set_command(warning.command);
  to.set_advice(warning.advice);
  to.set_lacks(std::string(WordOf(warning.lack)));
}

InputWarning ReadWarning(const wire::Warning& warning) {
  const Lack lack = warning.lacks() == WordOf(Lack::kKinds)  ? Lack::kKinds
                    : warning.lacks() == WordOf(Lack::kPods) ? Lack::kPods
                                                             : Lack::kNothing;
  return {.code = PrintableLine(warning.code()),
          .message = PrintableLine(warning.message()),
          .command = PrintableLine(warning.command()),
          .lack = lack,
          .advice = PrintableLine(warning.advice())};
}

void PutStable(const Catalog& catalog, const StablePlan& stable, wire::StableFigures& to) {
  to.set_origin(std::string(ToString(stable.origin)));
  to.set_kept(stable.kept);
  to.set_unchanged(stable.unchanged);
  if (stable.greedy_removes) to.set_greedy_removes(*stable.greedy_removes);
  to.set_verified(stable.verified);
  to.set_certificates_held(stable.held);
  to.set_certificates_checked(stable.checked);
  if (stable.not_covered) {
    to.set_certificates_not_covered(std::string(ToString(*stable.not_covered)));
  }
  for (const PlanChange& change : stable.changes) {
    wire::StableChange& each = *to.add_changes();
    each.set_node(change.name);
    each.set_removes(change.removes);
    if (change.reason != UnremovableReason::kNoReason) {
      each.set_reason(std::string(ToString(change.reason)));
    }
    if (change.blocking_reason != BlockingPodReason::kNoReason) {
      each.set_blocking_reason(std::string(ToString(change.blocking_reason)));
    }
    if (change.pod != kNoPod) WritePodName(catalog, change.pod, *each.mutable_pod());
    each.set_words(StableChangeText(catalog, change));
  }
}

namespace {

void PutPurchaseFigures(const PlanPurchases::Figures& figures, wire::Purchases::Figures& to) {
  to.set_removed(figures.removed);
  to.set_moved_pods(figures.moved);
  to.set_net_saved_per_hour(figures.saved_per_hour);
  to.set_score(figures.score);
}

void PutPurchases(const Catalog& catalog, const PlanPurchases& purchases, wire::Purchases& to) {
  for (const PlanPurchases::Purchase& each : purchases.buy) {
    wire::Purchase& bought = *to.add_buy();
    bought.set_node(std::string(catalog.NodeName(each.node)));
    bought.set_machine_type(each.type);
    bought.set_group(each.group);
    bought.set_zone(each.zone);
    bought.set_capacity_type(each.capacity_type);
    bought.set_like(each.sibling);
    bought.set_price_per_hour(each.hourly);
    bought.set_pods(each.pods);
    bought.set_daemon_set_pods(each.daemon_pods);
  }
  to.set_why_none(purchases.why_none);
  to.set_cost_per_hour(purchases.cost_per_hour);
  PutPurchaseFigures(purchases.without, *to.mutable_without());
  PutPurchaseFigures(purchases.with, *to.mutable_with());
  if (purchases.least_cost_per_hour) {
    to.set_least_cost_per_hour(*purchases.least_cost_per_hour);
    to.set_gap(*GapOf(purchases));
  }
  to.set_why_no_bound(purchases.why_no_bound);
  to.set_machine_types(purchases.types);
  to.set_tried(purchases.tried);
  for (const PlanPurchases::Unusable& each : purchases.unusable) {
    wire::Purchases::UnusableTypes& unusable = *to.add_unusable_types();
    unusable.set_reason(std::string(each.reason));
    unusable.set_detail(std::string(each.text));
    unusable.set_count(each.types);
    unusable.mutable_first()->Assign(each.first.begin(), each.first.end());
  }
  to.mutable_assumptions()->Assign(purchases.assumptions.begin(), purchases.assumptions.end());
}

}  // namespace

void PutFigures(const PlanContext& context, wire::PlanReply& reply) {
  reply.set_now(context.request->pass.now_s);
  reply.set_removes(context.made->plan.remove.size());
  PutWarnings(context.cluster->warnings, reply);
  reply.set_complete(IsComplete(context.cluster->warnings));
  for (const InputWarning& each : MissingOf(context.cluster->warnings)) {
    PutWarning(each, *reply.add_missing());
  }
  reply.set_pass_seconds(context.pass_s);
  reply.set_verify_seconds(context.verify_s);
  reply.set_nodes(context.Nodes());
  reply.set_pods(RunningPods(context));
  reply.set_passes(context.made->passes);
  reply.set_left_out(LeftOutText(context.cluster->counts));
  if (context.stable != nullptr) {
    PutStable(context.catalog(), *context.stable, *reply.mutable_stable());
  }
  if (context.purchases != nullptr) {
    PutPurchases(context.catalog(), *context.purchases, *reply.mutable_purchases());
  }
}

void PutTables(const PlanReport& report, uint32_t rows, bool every_node, wire::PlanTables& to) {
  const PlanContext& context = report.context;
  to.set_termination(std::string(ToString(context.made->plan.termination)));
  to.set_moved_pods(report.moved);
  to.set_kept(report.keep.size());
  PutSearched(report, to);
  // Pods of CapacityBuffers have sentences of their own.
  const std::vector<Move>& packed = context.made->plan.packed;
  const Catalog& catalog = context.catalog();
  const std::vector<PodId>& pending = context.cluster->pending;
  to.set_pending(pending.size() - CountBufferPods(catalog, pending));
  to.set_displaced(context.request->pass.must_fit);
  to.set_placed(packed.size() - CountBufferPods(catalog, packed));
  to.set_no_room(NoRoomText(context.cluster->counts));
  PutUnready(report, to);
  to.set_utilization_threshold(context.request->planner.scale_down_utilization_threshold);
  const size_t removals =
      rows == 0 ? report.remove.size() : std::min<size_t>(rows, report.remove.size());
  for (const PlanReport::Removal& removal : std::span(report.remove).first(removals)) {
    PutRemoval(report, removal, every_node, *to.add_remove());
  }
  PutAmounts(report.freed, *to.mutable_freed());
  const bool has_prices = context.prices != nullptr;
  PutShares(report.by_group, has_prices, *to.mutable_by_group());
  PutShares(report.by_instance_type, has_prices, *to.mutable_by_instance_type());
  PutShares(report.by_capacity_type, has_prices, *to.mutable_by_capacity_type());
  PutKeptReasons(report, to);
  PutAnnotations(report, to);
  to.set_may_go_later(NodesThatMayGoLater(report));
  PutKeepers(report, rows, to);
  const PlanTotals totals = TotalsOf(report);
  for (std::string& line : TotalsText(totals, to.currency())) to.add_totals(std::move(line));
  for (std::string& line : ChecksOf(totals)) to.add_checks(std::move(line));
  for (std::string& line : RoomNotesText(RoomNotesOf(report))) to.add_room(std::move(line));
  if (!every_node) return;
  for (const PlanReport::Kept& kept : report.keep) {
    wire::TableNode& node = *to.add_keep();
    PutNode(report, kept.why.node, node);
    node.set_reason(ReasonText(kept));
    node.set_kept_by(KeptBy(report, kept.why));
  }
}

namespace {

void PutExplanation(const PlanReport& report, const Explanation& explanation,
                    wire::NodeExplanation& to) {
  const PlanContext& context = report.context;
  const Catalog& catalog = context.catalog();
  to.set_node(std::string(catalog.NodeName(explanation.node)));
  to.set_order(explanation.order);
  if (explanation.order > 0) to.set_moves(report.remove[explanation.order - 1].pods.size());
  to.set_risky(explanation.risky);
  to.set_because(explanation.because);
  PutUses(report, explanation, to);
  if (const PlanReport::Kept* const kept = explanation.kept) {
    to.set_reason(ReasonText(*kept));
    if (kept->why.before) to.set_found_then(KeptDetail(report, kept->why));
    PutPending(context, kept->why, to);
  }
  for (const Explanation::Pod& pod : explanation.pods) PutPod(catalog, pod, *to.add_pods());
  for (const Explanation::Budget& budget : explanation.budgets) {
    PutBudget(catalog, budget, *to.add_budgets());
  }
  for (const Explanation::Place& place : explanation.places) {
    PutPlace(catalog, place, *to.add_places());
  }
  to.set_fits_first(explanation.fits_first);
}

}  // namespace

void PutExplainFigures(const PlanReport& report, wire::ExplainReply& reply) {
  reply.set_removes(report.remove.size());
  reply.set_searched(report.context.search.has_value());
  PutWarnings(report.context.cluster->warnings, reply);
  reply.set_left_out(LeftOutText(report.context.cluster->counts));
}

void PutExplanations(const PlanReport& report, std::span<const NodeId> nodes, const Deadline* stops,
                     wire::ExplainReply& reply) {
  PutExplainFigures(report, reply);
  for (const NodeId node : nodes) {
    if (stops != nullptr && stops->Expired()) return;
    PutExplanation(report, Explain(report, node), *reply.add_nodes());
  }
}

void PutVerdicts(ClusterSnapshot& snapshot, PodId pod, std::optional<NodeId> only,
                 wire::PodVerdicts& to) {
  to.set_pod(snapshot.catalog().PodName(pod));
  if (only) {
    to.set_node(std::string(snapshot.catalog().NodeName(*only)));
    for (const FilterVerdict& verdict : RunEveryFilter(snapshot, pod, *only)) {
      PutVerdict(snapshot, *only, verdict, to).set_filter(std::string(FilterName(verdict.filter)));
    }
    return;
  }
  for (const auto& [node, verdict] : FilterNodes(snapshot, pod)) {
    wire::PodVerdicts::Verdict& each = PutVerdict(snapshot, node, verdict, to);
    if (!verdict.fits) each.set_filter(std::string(FilterName(verdict.filter)));
  }
}

}  // namespace ebb
