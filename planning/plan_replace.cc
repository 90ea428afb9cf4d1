#include "planning/plan_replace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/figures.h"
#include "base/text.h"
#include "planning/new_nodes.h"
#include "predicates/drainability.h"
#include "report/plan_totals.h"
#include "search/removable.h"
#include "snapshot/live/change_batch.h"

namespace ebb {
namespace {

using Why = MachineCatalogue::Why;
using TypeIndex = uint32_t;                 // Of MachineCatalogue::usable.
using NodeBasket = std::vector<TypeIndex>;  // New nodes by type, sorted.

constexpr double kLeastGain = 1e-9;  // Below: rounding of sums of prices.
constexpr double kWorthOfUnit = 1e6;
// Karpenter's MinInstanceTypesForSpotToSpotConsolidation.
constexpr size_t kSpotTypesMin = 15;

// Whether Karpenter makes the nodes, also if the autoscaler's rules hold for their removal.
bool IsOfKarpenter(PoolManager manager) { return manager != PoolManager::kClusterAutoscaler; }

// --- What a plan saves -----------------------------------------------------------------

struct PodPath {
  NodeId from = kNoNode;
  NodeId to = kNoNode;
};

// Each pod that moves, with the node that it runs on now and the node where it ends.  Pending pods
// come from no node.
std::map<PodId, PodPath> PathsOf(const Plan& plan) {
  std::map<PodId, PodPath> paths;
  for (const Move& move : plan.packed) paths[move.pod].to = move.to;
  for (const RemovableNode& removed : plan.remove) {
    for (const Move& move : removed.moves) {
      const auto [path, is_new] = paths.try_emplace(move.pod);
      if (is_new) path->second.from = removed.node;
      path->second.to = move.to;
    }
  }
  return paths;
}

PlanPurchases::Figures FiguresOf(const Plan& plan, std::span<const double> hourly) {
  PlanPurchases::Figures figures{.removed = plan.remove.size()};
  for (const RemovableNode& each : plan.remove) figures.saved_per_hour += hourly[Index(each.node)];
  for (const auto& [pod, path] : PathsOf(plan)) figures.moved += path.from != kNoNode ? 1 : 0;
  return figures;
}

// --- The cluster with rows for new nodes --------------------------------------------------

// A node that a plan may use.
struct Row {
  std::string name;
  NodeId node = kNoNode;
  std::vector<PodId> pods = {};  // Of DaemonSets, and static ones.
};

// A copy of the cluster to which nodes of each type are added.  All of them are taken out of
// `snapshot`; a trial puts some of them back into a branch.
class Rows {
 public:
  Rows(const PlanQuery& query, LiveCluster& live, std::span<const MachineType> types)
      : query_(query), live_(live), types_(types), rows_(types.size()) {}

  absl::Status Read() {
    std::set<std::string> siblings;
    for (const MachineType& each : types_) siblings.insert(each.sibling);
    absl::StatusOr<NewNodeObjects> objects = NewNodeObjects::Read(live_, siblings);
    if (!objects.ok()) return objects.status();
    objects_ = *std::move(objects);
    return absl::OkStatus();
  }

  [[nodiscard]] const NewNodeObjects& objects() const { return objects_; }
  [[nodiscard]] const std::vector<Row>& of(TypeIndex type) const { return rows_[type]; }
  [[nodiscard]] const ClusterSnapshot& snapshot() const { return version_->cluster.snapshot; }
  [[nodiscard]] const LoadedCluster& cluster() const { return version_->cluster; }
  [[nodiscard]] const NodeGroups& groups() const { return groups_; }

  // Makes so many rows for each type.
  absl::Status Ensure(const std::vector<size_t>& wanted) {
    ChangeBatch batch;
    for (TypeIndex type = 0; type < wanted.size(); ++type) {
      while (rows_[type].size() < wanted[type]) {
        rows_[type].push_back({.name = FreshName(types_[type])});
        absl::Status put = objects_.Put(types_[type], rows_[type].back().name, batch);
        if (!put.ok()) return put;
      }
    }
    if (version_ && batch.changes().empty()) return absl::OkStatus();
    version_.reset();  // A branch in use would make the change copy the catalog.
    absl::Status taken = live_.Take(batch.changes(), OlderObjects::kTake);
    if (!taken.ok()) return taken;
    version_.emplace(live_.Unchecked());
    return Find();
  }

  // Deletes the rows that `keep` lacks.
  absl::Status KeepOnly(const std::set<std::string>& keep) {
    ChangeBatch batch;
    for (TypeIndex type = 0; type < rows_.size(); ++type) {
      for (const Row& row : rows_[type]) {
        if (keep.contains(row.name)) continue;
        absl::Status gone = objects_.Delete(types_[type], row.name, batch);
        if (!gone.ok()) return gone;
      }
      std::erase_if(rows_[type], [&](const Row& row) { return !keep.contains(row.name); });
    }
    version_.reset();
    return live_.Take(batch.changes(), OlderObjects::kTake);
  }

 private:
  std::string FreshName(const MachineType& type) {
    const ClusterSnapshot& now = live_.Snapshot();
    while (true) {
      std::string name = fmt::format("new-{}-{}", type.name, ++names_[type.name]);
      if (!now.catalog().FindNode(name).ok()) return name;
    }
  }

  // Finds the rows in the new version, and takes them out of its snapshot.
  absl::Status Find() {
    ClusterSnapshot& snapshot = version_->cluster.snapshot;
    const Catalog& catalog = snapshot.catalog();
    PlanQuery hidden = query_;
    groups_ = AssignGroups(catalog, query_.groups);
    for (std::vector<Row>& rows : rows_) {
      for (Row& row : rows) {
        const absl::StatusOr<NodeId> node = catalog.FindNode(row.name);
        if (!node.ok()) return node.status();
        row.node = *node;
        const std::span<const PodId> pods = snapshot.PodsOn(*node);
        row.pods.assign(pods.begin(), pods.end());
        hidden.new_nodes.push_back({.name = row.name});
      }
    }
    HideNewNodes(catalog, hidden, groups_);
    for (const std::vector<Row>& rows : rows_) {
      for (const Row& row : rows) snapshot.RemoveNode(row.node);
    }
    return absl::OkStatus();
  }

  const PlanQuery& query_;
  LiveCluster& live_;
  const std::span<const MachineType> types_;
  NewNodeObjects objects_;
  std::vector<std::vector<Row>> rows_;  // By type.
  std::map<std::string, size_t> names_;
  std::optional<LiveCluster::Version> version_;
  NodeGroups groups_;
};

// --- The search ---------------------------------------------------------------------------

// A set of new nodes, and the plan with them.
struct Trial {
  NodeBasket basket = {};
  absl::Status status = absl::OkStatus();
  std::optional<Why> refused = {};
  PlanPurchases::Figures figures = {};
  NodeBasket used = {};  // The new nodes that take pods.

  [[nodiscard]] bool IsBetterThan(const Trial& other) const {
    const double gain = figures.saved_per_hour - other.figures.saved_per_hour;
    if (std::abs(gain) > kLeastGain) return gain > 0;
    return figures.moved < other.figures.moved;
  }
};

class Replacing {
 public:
  Replacing(const PlanQuery& query, const ReplaceQuery& replace, LiveCluster& live,
            LoadedCluster& checked, const PlanHooks& hooks, const Parallelism& parallelism)
      : query_(query),
        replace_(replace),
        live_(live),
        checked_(checked),
        hooks_(hooks),
        parallelism_(parallelism),
        answer_(std::make_unique<ReplaceAnswer>()) {}

  absl::StatusOr<std::unique_ptr<ReplaceAnswer>> Run() {
    query_.search = SearchQuery{.iterations = replace_.iterations, .for_cost = true};
    trial_query_ = query_;
    trial_query_.search->iterations = replace_.iterations_of_trials;
    const std::vector<InputWarning> warnings = checked_.warnings;
    if (absl::Status s = PlanWithout(); !s.ok()) return s;
    FindTypes();
    purchases().types = types_.usable.size();
    if (!types_.usable.empty()) {
      absl::Status chosen = Choose(warnings);
      rows_ = nullptr;
      if (!chosen.ok()) return chosen;
    } else {
      purchases().why_none = "no machine type can be bought";
    }
    ListUnusable();
    ListAssumptions();
    return std::move(answer_);
  }

 private:
  PlanPurchases& purchases() { return answer_->purchases; }

  absl::Status PlanWithout() {
    absl::StatusOr<std::unique_ptr<PlanAnswer>> without =
        AnswerPlan(query_, checked_, hooks_, parallelism_);
    if (!without.ok()) return without.status();
    answer_->without = *std::move(without);
    const PlanAnswer& plan = *answer_->without;
    CountDisruption();
    purchases().without = FiguresOf(plan.made.plan, plan.prices->hourly);
    purchases().without.score = ScoreOf(purchases().without);
    purchases().with = purchases().without;
    purchases().min_score = replace_.min_score;
    purchases().max_new_nodes = replace_.max_new_nodes;
    purchases().min_saving = replace_.min_saving;
    checked_.snapshot.alive().ForEach(
        [&](NodeId node) { purchases().cost_per_hour += plan.prices->hourly[Index(node)]; });
    return absl::OkStatus();
  }

  // What the nodes of all groups cost, and the disruption of removing them.
  void CountDisruption() {
    const PlanAnswer& plan = *answer_->without;
    const Catalog& catalog = checked_.snapshot.catalog();
    checked_.snapshot.alive().ForEach([&](NodeId node) {
      if (plan.groups.Of(node) == kNoGroup) return;
      cost_of_groups_ += plan.prices->hourly[Index(node)];
      disruption_of_groups_ += 1;
      for (const PodId pod : checked_.snapshot.PodsOn(node)) {
        const PodShape& shape = catalog.shape_of(pod);
        disruption_of_groups_ += shape.mirror || IsDaemonSetPod(catalog, shape) ? 0 : 1;
      }
    });
  }

  [[nodiscard]] double ScoreOf(const PlanPurchases::Figures& figures) const {
    const auto disruption = static_cast<double>(figures.removed + figures.moved);
    if (disruption == 0 || cost_of_groups_ <= 0) return 0;
    return figures.saved_per_hour / cost_of_groups_ / (disruption / disruption_of_groups_);
  }

  void FindTypes() {
    const PlanAnswer& plan = *answer_->without;
    facts_ = FactsOfNodes(checked_.snapshot.catalog());
    types_ = FindMachineTypes(checked_.snapshot, plan.groups, *plan.prices, *query_.prices,
                              replace_.machines ? &*replace_.machines : nullptr);
    CountSpotTypes();
    // The prices of all nodes that may still go.
    std::vector<NodeId> nodes;
    checked_.snapshot.alive().ForEach([&](NodeId node) { nodes.push_back(node); });
    double may_save = -purchases().without.saved_per_hour;
    for (const RemovableCandidate& each :
         FindRemovable(checked_.snapshot, plan.groups, query_.planner, nodes, query_.now_s)) {
      may_save += plan.prices->hourly[Index(each.node)];
    }
    std::vector<MachineType> kept;
    for (size_t i = 0; i < types_.usable.size(); ++i) {
      const MachineType& type = types_.usable[i];
      if (type.hourly >= may_save - kLeastGain) {
        types_.Refuse(Why::kTooDear, ToText(type));
      } else if (IsDominated(i)) {
        types_.Refuse(Why::kDominated, ToText(type));
      } else {
        kept.push_back(type);
      }
    }
    types_.usable = std::move(kept);
  }

  // The prices of spot types, by group, each type once: the rule of 15 counts them.
  void CountSpotTypes() {
    for (const MachineType& each : types_.usable) {
      if (!each.IsSpot()) continue;
      const auto [price, is_new] = spot_prices_[each.group].try_emplace(each.name, each.hourly);
      price->second = std::min(price->second, each.hourly);
    }
  }

  [[nodiscard]] bool IsDominated(size_t index) const {
    const MachineType& type = types_.usable[index];
    const auto labels_of = [](const MachineType& each) {
      return each.of_file == nullptr ? std::map<std::string, std::string>() : each.of_file->labels;
    };
    for (size_t i = 0; i < types_.usable.size(); ++i) {
      const MachineType& other = types_.usable[i];
      if (i == index || other.group != type.group || other.zone != type.zone ||
          other.capacity_type != type.capacity_type || other.hourly > type.hourly ||
          labels_of(other) != labels_of(type) ||
          (other.of_file != nullptr && !other.of_file->taints.empty())) {
        continue;
      }
      const bool offers_all = std::ranges::all_of(type.allocatable, [&](const auto& amount) {
        const auto found = other.allocatable.find(amount.first);
        return found != other.allocatable.end() && found->second >= amount.second;
      });
      if (!offers_all) continue;
      // Of two equal types the first stays.
      const bool are_equal = other.hourly == type.hourly && other.allocatable == type.allocatable;
      if (!are_equal || i < index) return true;
    }
    return false;
  }

  // Chooses the new nodes, and makes the plan with them.
  absl::Status Choose(const std::vector<InputWarning>& warnings) {
    Rows rows(query_, live_, types_.usable);
    rows_ = &rows;
    if (absl::Status s = rows.Read(); !s.ok()) return s;
    absl::StatusOr<Trial> best = Search();
    if (!best.ok()) return best.status();
    NodeBasket basket = best->used;
    while (!basket.empty()) {
      std::set<std::string> names;
      std::map<TypeIndex, size_t> counts;
      for (const TypeIndex type : basket) names.insert(rows.of(type)[counts[type]++].name);
      if (absl::Status s = PlanWith(basket, names, warnings); !s.ok()) return s;
      // Bought nodes without pods are not bought: the plan is made again without them.
      NodeBasket used;
      for (size_t i = 0; i < purchases().buy.size(); ++i) {
        if (purchases().buy[i].pods > 0) used.push_back(types_of_buy_[i]);
      }
      if (used.size() == basket.size()) break;
      basket = std::move(used);
      Forget();
    }
    if (answer_->with == nullptr) {
      purchases().why_none = "no set of new nodes that was tried saves more than the plan without";
      return absl::OkStatus();
    }
    const double stays = purchases().cost_per_hour - purchases().without.saved_per_hour;
    const double saved = SavedByPurchases(purchases());
    if (const std::optional<Why> why = RefusedFor(answer_->with->made.plan, SpotRows())) {
      purchases().why_none = "the best set of new nodes breaks a rule about spot nodes";
    } else if (saved <= kLeastGain) {
      purchases().why_none = "no set of new nodes that was tried saves more than the plan without";
    } else if (saved < replace_.min_saving * stays) {
      purchases().why_none =
          fmt::format("purchases save {} of what the nodes that stay cost, less than {}",
                      Percent(stays > 0 ? saved / stays : 0), Percent(replace_.min_saving));
    }
    const double score = purchases().with.score;
    if (purchases().why_none.empty() && score < replace_.min_score) {
      purchases().why_none = fmt::format("the plan with purchases has a score of {:.2f}, below {}",
                                         score, replace_.min_score);
    }
    if (!purchases().why_none.empty()) Forget();
    return absl::OkStatus();
  }

  void Forget() {
    purchases().buy.clear();
    purchases().with = purchases().without;
    types_of_buy_.clear();
    answer_->with.reset();
    answer_->version.reset();
  }

  absl::StatusOr<Trial> Search() {
    absl::StatusOr<Trial> best = Best({NodeBasket()});
    if (!best.ok()) return best;
    while (best->basket.size() < replace_.max_new_nodes) {
      std::vector<NodeBasket> baskets;
      for (size_t copies = 1; best->basket.size() + copies <= replace_.max_new_nodes; copies *= 2) {
        for (TypeIndex type = 0; type < types_.usable.size(); ++type) {
          NodeBasket basket = best->basket;
          basket.insert(basket.end(), copies, type);
          baskets.push_back(std::move(basket));
        }
      }
      absl::StatusOr<Trial> next = Best(std::move(baskets));
      if (!next.ok()) return next;
      if (!Saves(*next, *best)) break;
      // Nodes without pods make room for others.
      next->basket = next->used;
      best = std::move(next);
    }
    if (replace_.max_new_nodes == 1 || best->basket.empty()) return best;
    std::vector<NodeBasket> baskets;
    for (size_t i = 0; i < best->basket.size(); ++i) {
      if (i > 0 && best->basket[i] == best->basket[i - 1]) continue;
      NodeBasket fewer = best->basket;
      fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(i));
      for (TypeIndex type = 0; type < types_.usable.size(); ++type) {
        NodeBasket other = fewer;
        other.push_back(type);
        baskets.push_back(std::move(other));
      }
      baskets.push_back(std::move(fewer));
    }
    absl::StatusOr<Trial> improved = Best(std::move(baskets));
    if (improved.ok() && improved->IsBetterThan(*best)) return improved;
    return best;
  }

  // Whether a trial with more new nodes is worth them.
  static bool Saves(const Trial& next, const Trial& best) {
    return next.figures.saved_per_hour > best.figures.saved_per_hour + kLeastGain;
  }

  // The best of these baskets; the first of equal ones.  A trial without plan is the worst.
  absl::StatusOr<Trial> Best(std::vector<NodeBasket> baskets) {
    for (NodeBasket& basket : baskets) std::ranges::sort(basket);
    std::erase_if(baskets, [&](const NodeBasket& basket) {
      return !FitsGroups(basket) || (!basket.empty() && !tried_.insert(basket).second);
    });
    if (purchases().tried + baskets.size() > kTriesMax) {
      baskets.resize(kTriesMax - std::min(kTriesMax, purchases().tried));
      is_cut_ = true;
    }
    purchases().tried += baskets.size();
    std::vector<size_t> wanted(types_.usable.size(), 0);
    for (const NodeBasket& basket : baskets) {
      std::map<TypeIndex, size_t> counts;
      for (const TypeIndex type : basket) wanted[type] = std::max(wanted[type], ++counts[type]);
    }
    if (absl::Status s = rows_->Ensure(wanted); !s.ok()) return s;
    SetWorth();
    std::vector<Trial> trials(baskets.size());
    parallelism_.For(baskets.size(), [&](size_t index, size_t /*slot*/) {
      trials[index] = Try(std::move(baskets[index]));
    });
    Trial best;
    best.figures.saved_per_hour = -kHourlyMax;
    for (Trial& trial : trials) {
      if (!trial.status.ok()) return trial.status;
      if (trial.refused) {
        if (trial.basket.size() == 1) {
          types_.Refuse(*trial.refused, ToText(types_.usable[trial.basket.front()]));
        }
        continue;
      }
      if (trial.IsBetterThan(best)) best = std::move(trial);
    }
    return best;
  }

  [[nodiscard]] bool FitsGroups(const NodeBasket& basket) {
    std::map<GroupId, int64_t> counts;
    for (const TypeIndex type : basket) ++counts[types_.usable[type].group];
    for (const auto& [id, count] : counts) {
      const NodeGroup& group = answer_->without->groups.groups[static_cast<size_t>(id)];
      if (count <= group.max_size - group.target_size) continue;
      full_groups_.insert(group.name);
      return false;
    }
    return true;
  }

  // Prices of nodes, and what the search maximises, in the version with rows.
  void SetWorth() {
    const Catalog& catalog = rows_->snapshot().catalog();
    const PlanAnswer& plan = *answer_->without;
    hourly_.assign(catalog.nodes(), 0);
    worth_.assign(catalog.nodes(), 0);
    checked_.snapshot.alive().ForEach([&](NodeId node) {
      const absl::StatusOr<NodeId> now =
          catalog.FindNode(plan.cluster->snapshot.catalog().NodeName(node));
      if (!now.ok()) return;
      hourly_[Index(*now)] = plan.prices->hourly[Index(node)];
      worth_[Index(*now)] = std::llround(hourly_[Index(*now)] * kWorthOfUnit);
    });
  }

  Trial Try(NodeBasket basket) const {
    Trial trial;
    trial.basket = std::move(basket);
    if (hooks_.cancelled != nullptr && hooks_.cancelled->Expired()) {
      trial.status = absl::DeadlineExceededError("the time ended while new nodes were compared");
      return trial;
    }
    ClusterSnapshot snapshot = rows_->snapshot();
    std::map<NodeId, TypeIndex> bought;
    std::map<TypeIndex, size_t> counts;
    for (const TypeIndex type : trial.basket) {
      const Row& row = rows_->of(type)[counts[type]++];
      snapshot.AddNode(row.node);
      for (const PodId pod : row.pods) snapshot.AddPod(pod, row.node);
      bought[row.node] = type;
    }
    const absl::StatusOr<PlanResult> made =
        TrySearch(trial_query_, rows_->groups(), snapshot, rows_->cluster().pending, worth_,
                  Parallelism::One(), DeletionsInSnapshot::kPlanBeside);
    if (!made.ok()) {
      trial.status = made.status();
      return trial;
    }
    trial.figures = FiguresOf(made->plan, hourly_);
    std::set<NodeId> used;
    for (const auto& [pod, path] : PathsOf(made->plan)) {
      if (bought.contains(path.to)) used.insert(path.to);
    }
    for (const NodeId node : used) {
      const TypeIndex type = bought.at(node);
      trial.used.push_back(type);
      trial.figures.saved_per_hour -= types_.usable[type].hourly;
    }
    std::ranges::sort(trial.used);
    trial.refused = RefusedFor(made->plan, bought);
    return trial;
  }

  // The new nodes of the last plan.
  [[nodiscard]] std::map<NodeId, TypeIndex> SpotRows() const {
    std::map<NodeId, TypeIndex> rows;
    for (size_t i = 0; i < answer_->purchases.buy.size(); ++i) {
      rows[answer_->purchases.buy[i].node] = types_of_buy_[i];
    }
    return rows;
  }

  // The rule about spot nodes that the plan breaks.  Nodes of the cluster have the same facts in
  // each version, but other ids, so they are found by name.
  [[nodiscard]] std::optional<Why> RefusedFor(const Plan& plan,
                                              const std::map<NodeId, TypeIndex>& bought) const {
    const Catalog& catalog =
        answer_->with ? answer_->with->cluster->snapshot.catalog() : rows_->snapshot().catalog();
    std::map<NodeId, std::set<NodeId>> sources;  // Of each new spot node.
    for (const auto& [pod, path] : PathsOf(plan)) {
      const auto type = bought.find(path.to);
      if (type == bought.end() || path.from == kNoNode) continue;
      if (types_.usable[type->second].IsSpot()) sources[path.to].insert(path.from);
    }
    for (const auto& [node, from] : sources) {
      const MachineType& type = types_.usable[bought.at(node)];
      for (const NodeId each : from) {
        if (!MayMoveToSpot(catalog.NodeName(each))) return Why::kSpotFromOnDemand;
      }
      if (from.size() > 1) continue;
      const std::optional<double> price = SpotPriceOf(catalog.NodeName(*from.begin()));
      if (!price) continue;
      const auto types = spot_prices_.find(type.group);
      const auto cheaper = std::ranges::count_if(
          types->second, [&](const auto& each) { return each.second < *price; });
      if (static_cast<size_t>(cheaper) < kSpotTypesMin) return Why::kTooFewSpotTypes;
    }
    return std::nullopt;
  }

  // Whether pods of this node may move to a new spot node.
  [[nodiscard]] bool MayMoveToSpot(std::string_view name) const {
    if (replace_.allow_spot) return true;
    const absl::StatusOr<NodeId> node = checked_.snapshot.catalog().FindNode(name);
    if (!node.ok()) return false;
    if (IsSpot(facts_[Index(*node)].capacity_type)) return true;
    // A NodePool with spot nodes allows them for its pods.
    const NodeGroups& groups = answer_->without->groups;
    return IsOfKarpenter(groups.ManagerOf(*node)) && spot_prices_.contains(groups.Of(*node));
  }

  [[nodiscard]] std::optional<double> SpotPriceOf(std::string_view name) const {
    const absl::StatusOr<NodeId> node = checked_.snapshot.catalog().FindNode(name);
    if (!node.ok() || !IsSpot(facts_[Index(*node)].capacity_type)) return std::nullopt;
    return answer_->without->prices->hourly[Index(*node)];
  }

  // Makes the verified plan with these new nodes only.
  absl::Status PlanWith(const NodeBasket& basket, const std::set<std::string>& names,
                        const std::vector<InputWarning>& warnings) {
    if (absl::Status s = rows_->KeepOnly(names); !s.ok()) return s;
    LiveCluster::Version& version = answer_->version.emplace(live_.Unchecked());
    version.cluster.warnings = warnings;
    version.cluster.counts = checked_.counts;
    PlanQuery query = query_;
    std::map<std::string, TypeIndex> type_of;
    for (const TypeIndex type : std::set<TypeIndex>(basket.begin(), basket.end())) {
      for (const Row& row : rows_->of(type)) {
        query.new_nodes.push_back({.name = row.name, .hourly = types_.usable[type].hourly});
        type_of[row.name] = type;
      }
    }
    absl::StatusOr<std::unique_ptr<PlanAnswer>> with =
        AnswerPlan(query, version.cluster, hooks_, parallelism_);
    if (!with.ok()) return with.status();
    answer_->with = *std::move(with);
    const PlanAnswer& plan = *answer_->with;
    purchases().with = FiguresOf(plan.made.plan, plan.prices->hourly);
    std::map<NodeId, size_t> pods;
    for (const auto& [pod, path] : PathsOf(plan.made.plan)) ++pods[path.to];
    const Catalog& catalog = version.cluster.snapshot.catalog();
    for (const auto& [name, index] : type_of) {
      const absl::StatusOr<NodeId> node = catalog.FindNode(name);
      if (!node.ok()) return node.status();
      const MachineType& type = types_.usable[index];
      purchases().buy.push_back({.node = *node,
                                 .type = type.name,
                                 .group = plan.groups.groups[static_cast<size_t>(type.group)].name,
                                 .zone = type.zone,
                                 .capacity_type = type.capacity_type,
                                 .sibling = type.sibling,
                                 .hourly = type.hourly,
                                 .pods = pods.contains(*node) ? pods.at(*node) : 0,
                                 .daemon_pods = rows_->objects().Pods(type)});
      types_of_buy_.push_back(index);
      purchases().with.saved_per_hour -= type.hourly;
    }
    purchases().with.score = ScoreOf(purchases().with);
    return absl::OkStatus();
  }

  void ListUnusable() {
    for (const UnusableTypes& each : types_.unusable) {
      std::set<std::string> names(each.names.begin(), each.names.end());
      PlanPurchases::Unusable& to = purchases().unusable.emplace_back(PlanPurchases::Unusable{
          .reason = each.reason, .text = each.text, .types = names.size(), .first = {}});
      for (const std::string& name : names) {
        if (to.first.size() < kFirstNamed) to.first.push_back(name);
      }
    }
  }

  void ListAssumptions() {
    std::vector<std::string>& texts = purchases().assumptions;
    if (!types_.usable.empty()) {
      texts.emplace_back(
          "A new node has the labels and taints of a node of its group, and the same pods of "
          "DaemonSets and static pods (\"like\"). It offers no devices of DRA drivers, and its CSI "
          "drivers limit no volumes.");
      texts.emplace_back(
          "The machines can be bought at these prices when the plan is carried out. New nodes do "
          "not count towards the minimum of their group.");
    }
    const double threshold = query_.planner.scale_down_utilization_threshold;
    if (threshold < 1 && std::ranges::any_of(
                             answer_->without->groups.groups,
                             [](const NodeGroup& group) { return !group.FollowsKarpenter(); })) {
      texts.push_back(fmt::format(
          "Nodes above the utilization threshold of {} stay, also where a new node would be "
          "cheaper. --scale-down-utilization-threshold=1 lets them go.",
          Percent(threshold)));
    }
    if (std::ranges::any_of(answer_->without->groups.groups, IsOfKarpenter,
                            &NodeGroup::managed_by)) {
      texts.emplace_back(
          "The requirements, limits and weights of NodePools are not read. A NodePool is assumed "
          "to allow the shapes of its nodes, and the machine types that the file lists for it.");
    }
    for (const std::string& name : full_groups_) {
      texts.push_back(fmt::format(
          "Group {} can take only so many new nodes until its largest size is reached.", name));
    }
    if (is_cut_) {
      texts.push_back(
          fmt::format("The search for new nodes ended after {} sets of them.", kTriesMax));
    }
    texts.emplace_back(
        "No upper bound is computed for plans with purchases: a better set of new nodes may "
        "exist.");
  }

  PlanQuery query_;
  PlanQuery trial_query_;
  const ReplaceQuery& replace_;
  LiveCluster& live_;
  LoadedCluster& checked_;
  const PlanHooks& hooks_;
  const Parallelism& parallelism_;
  std::unique_ptr<ReplaceAnswer> answer_;
  MachineCatalogue types_;
  std::map<GroupId, std::map<std::string, double>> spot_prices_;
  std::vector<NodeFacts> facts_;  // By NodeId of `checked_`.
  Rows* rows_ = nullptr;
  std::set<NodeBasket> tried_;
  std::set<std::string> full_groups_;
  std::vector<double> hourly_;           // By NodeId of the rows' version.
  std::vector<int64_t> worth_;           // The same.
  std::vector<TypeIndex> types_of_buy_;  // Of each purchase.
  bool is_cut_ = false;
  double cost_of_groups_ = 0;
  double disruption_of_groups_ = 0;
};

}  // namespace

absl::Status CheckReplace(const PlanQuery& query, const ReplaceQuery& replace) {
  const auto refuse = [](std::string_view field, std::string_view what) {
    return absl::InvalidArgumentError(fmt::format("replace: {}: {}", field, what));
  };
  if (!query.prices) return refuse("prices", "are required");
  if (query.search) return refuse("search", "purchases have a search of their own");
  if (query.stable) return refuse("stable", "a stable plan keeps the last one");
  if (query.trials) return refuse("trials", "a plan with purchases cannot be tried out yet");
  if (query.bound) return refuse("bound", "there is no bound for purchases");
  if (query.seconds) return refuse("seconds", "a plan with purchases takes no time limit");
  if (!query.planner.headroom.empty()) return refuse("headroom", "a search does not keep any");
  if (replace.max_new_nodes < 1 || replace.max_new_nodes > kNewNodesMax) {
    return refuse("max_new_nodes",
                  fmt::format("{} is not from 1 to {}", replace.max_new_nodes, kNewNodesMax));
  }
  if (!(replace.min_saving >= 0 && replace.min_saving <= 1)) {
    return refuse("min_saving", fmt::format("{} is not from 0 to 1", replace.min_saving));
  }
  if (!(replace.min_score >= 0 && replace.min_score <= kScoreMax)) {
    return refuse("min_score", fmt::format("{} is not from 0 to {}", replace.min_score, kScoreMax));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ReplaceAnswer>> AnswerReplace(
    const PlanQuery& query, const ReplaceQuery& replace, LiveCluster& live, LoadedCluster& checked,
    const PlanHooks& hooks, const Parallelism& parallelism) {
  if (absl::Status s = CheckReplace(query, replace); !s.ok()) return s;
  return Replacing(query, replace, live, checked, hooks, parallelism).Run();
}

}  // namespace ebb
