#include "planning/plan_replace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/figures.h"
#include "base/text.h"
#include "engine/plan/karpenter.h"
#include "groups/node_pools.h"
#include "planning/check_purchases.h"
#include "planning/new_nodes.h"
#include "predicates/drainability.h"
#include "report/plan_totals.h"
#include "report/plan_warnings.h"
#include "search/removable.h"
#include "search/worth.h"
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
  double value = 0;      // What it saves in an hour, less what the moves cost.
  NodeBasket used = {};  // The new nodes that take pods.
  // On-demand nodes that stay because their pods would move to new spot nodes.
  std::set<std::string> kept = {};

  [[nodiscard]] bool IsBetterThan(const Trial& other) const {
    const double gain = value - other.value;
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
    query_.search = SearchQuery{
        .iterations = replace_.iterations, .for_cost = true, .move_cost = replace_.move_cost};
    if (replace_.budget_s) ends_ = Clock::now() + DurationOf(*replace_.budget_s);
    const std::vector<InputWarning> warnings = checked_.warnings;
    if (absl::Status s = PlanWithout(); !s.ok()) return s;
    FindTypes();
    if (!types_.usable.empty()) {
      absl::Status chosen = Choose(warnings);
      rows_ = nullptr;
      if (!chosen.ok()) return chosen;
      purchases().types = tried_types_.size();
    } else {
      purchases().why_no_bound = "no machine type can be bought";
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

  // What a plan saves in an hour, less what its moves cost.
  [[nodiscard]] double ValueOf(const PlanPurchases::Figures& figures) const {
    return figures.saved_per_hour - replace_.move_cost * static_cast<double>(figures.moved);
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

  // New nodes of a group have the same taints, whatever their siblings are.
  [[nodiscard]] bool IsDominated(size_t index) const {
    static const std::map<std::string, std::string> kNone;
    const MachineType& type = types_.usable[index];
    const auto labels_of = [](const MachineType& each) -> const auto& {
      return each.of_file == nullptr ? kNone : each.of_file->labels;
    };
    for (size_t i = 0; i < types_.usable.size(); ++i) {
      const MachineType& other = types_.usable[i];
      if (i == index || other.group != type.group || other.hourly > type.hourly ||
          other.zone != type.zone || other.capacity_type != type.capacity_type ||
          other.daemon_pods > type.daemon_pods || labels_of(other) != labels_of(type) ||
          (other.of_file != nullptr && !other.of_file->taints.empty())) {
        continue;
      }
      const bool offers_all = std::ranges::all_of(type.allocatable, [&](const auto& amount) {
        const auto found = other.allocatable.find(amount.first);
        return found != other.allocatable.end() && found->second >= amount.second;
      });
      if (!offers_all) continue;
      // Of two equal types the first stays.
      const bool are_equal = other.hourly == type.hourly && other.allocatable == type.allocatable &&
                             other.daemon_pods == type.daemon_pods;
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
      if (absl::Status s = PlanWith(basket, names, best->kept, warnings); !s.ok()) return s;
      // Bought nodes without pods are not bought: the plan is made again without them.
      NodeBasket used;
      for (size_t i = 0; i < purchases().buy.size(); ++i) {
        if (purchases().buy[i].pods > 0) used.push_back(types_of_buy_[i]);
      }
      if (used.size() == basket.size()) break;
      basket = std::move(used);
      Forget();
    }
    constexpr std::string_view kSavesNoMore =
        "no set of new nodes that was tried saves more than the plan without";
    const auto below_score = [&](double score) {
      return fmt::format("the plan with purchases has a score of {:.2f}, below {}", score,
                         replace_.min_score);
    };
    if (answer_->with == nullptr) {
      const bool saves_more = refused_score_ && refused_value_ > ValueOf(purchases().without);
      purchases().why_none = saves_more ? below_score(*refused_score_) : std::string(kSavesNoMore);
      return absl::OkStatus();
    }
    const double stays = purchases().cost_per_hour - purchases().without.saved_per_hour;
    const double saved = SavedByPurchases(purchases());
    if (const std::optional<Why> why = RefusedFor(answer_->with->made.plan, SpotRows())) {
      purchases().why_none = "the best set of new nodes breaks a rule about spot nodes";
    } else if (ValueOf(purchases().with) <= ValueOf(purchases().without) + kLeastGain) {
      purchases().why_none = kSavesNoMore;
    } else if (saved < replace_.min_saving * stays) {
      purchases().why_none =
          fmt::format("purchases save {} of what the nodes that stay cost, less than {}",
                      Percent(stays > 0 ? saved / stays : 0), Percent(replace_.min_saving));
    }
    const double score = purchases().with.score;
    if (purchases().why_none.empty() && score < replace_.min_score) {
      purchases().why_none = below_score(score);
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

  // Bounds what any set of new nodes can save.  Chooses the types that are tried.
  absl::Status Bound() {
    if (absl::Status s = rows_->Ensure(std::vector<size_t>(types_.usable.size(), 1)); !s.ok()) {
      return s;
    }
    SetWorth();
    ClusterSnapshot snapshot = rows_->snapshot();
    std::vector<int64_t> worth(hourly_.size());
    // Rounded so that the bound can only become larger.
    for (size_t i = 0; i < worth.size(); ++i) {
      worth[i] = static_cast<int64_t>(std::ceil(hourly_[i] * kWorthOfUnit));
    }
    std::vector<BoundOffer> offers;
    for (TypeIndex type = 0; type < types_.usable.size(); ++type) {
      const MachineType& of = types_.usable[type];
      const Row& row = rows_->of(type).front();
      snapshot.AddNode(row.node);
      for (const PodId pod : row.pods) snapshot.AddPod(pod, row.node);
      const auto& groups = answer_->without->groups.groups;
      offers.push_back({.node = row.node,
                        .copies = MostOf(type),
                        .price = static_cast<int64_t>(std::floor(of.hourly * kWorthOfUnit)),
                        .group = groups[static_cast<size_t>(of.group)].FollowsKarpenter()
                                     ? of.group
                                     : kNoGroup});
    }
    absl::StatusOr<RemovalBound> bound =
        TryBound(query_, rows_->groups(), snapshot, rows_->cluster().pending, worth, offers);
    if (!bound.ok()) return bound.status();
    if (answer_->without->request.pass.in_deletion.empty()) {
      const double most = static_cast<double>(bound->worth) / kWorthOfUnit;
      purchases().least_cost_per_hour = std::max(0.0, purchases().cost_per_hour - most);
    } else {
      purchases().why_no_bound = "nodes are being deleted, whose pods may also need new nodes";
    }
    ChooseTypes(bound->gain);
    bought_in_bound_ = std::move(bound->bought);
    return absl::OkStatus();
  }

  // The most nodes of the type that may be bought.
  [[nodiscard]] int64_t MostOf(TypeIndex type) {
    NodeBasket basket(1, type);
    while (basket.size() < replace_.max_new_nodes && WhyFull(basket).empty()) {
      basket.push_back(type);
    }
    return static_cast<int64_t>(basket.size());
  }

  void ChooseTypes(const std::vector<double>& gain) {
    for (TypeIndex type = 0; type < types_.usable.size(); ++type) tried_types_.push_back(type);
    if (tried_types_.size() <= kTypesMax) return;
    std::ranges::stable_sort(tried_types_, std::greater(),
                             [&](TypeIndex type) { return gain[type]; });
    for (size_t i = kTypesMax; i < tried_types_.size(); ++i) {
      types_.Refuse(Why::kLeftOut, ToText(types_.usable[tried_types_[i]]));
    }
    tried_types_.resize(kTypesMax);
    std::ranges::sort(tried_types_);
  }

  // What the relaxed problem buys, rounded down, to the nearest and up.
  [[nodiscard]] std::vector<NodeBasket> BasketsOfBound() {
    std::vector<TypeIndex> types = tried_types_;
    std::ranges::stable_sort(types, std::greater(),
                             [&](TypeIndex type) { return bought_in_bound_[type]; });
    std::vector<NodeBasket> baskets;
    for (const double add : {0.01, 0.5, 0.95}) {
      NodeBasket basket;
      for (const TypeIndex type : types) {
        auto copies = static_cast<size_t>(bought_in_bound_[type] + add);
        while (copies-- > 0 && basket.size() < replace_.max_new_nodes) {
          basket.push_back(type);
          if (!WhyFull(basket).empty()) basket.pop_back();
        }
      }
      if (!basket.empty()) baskets.push_back(std::move(basket));
    }
    return baskets;
  }

  absl::StatusOr<Trial> Search() {
    if (absl::Status s = Bound(); !s.ok()) return s;
    std::vector<NodeBasket> first = BasketsOfBound();
    first.insert(first.begin(), NodeBasket());
    for (const TypeIndex type : tried_types_) first.emplace_back(1, type);
    absl::StatusOr<Trial> best = Best(std::move(first));
    if (!best.ok()) return best;
    best->basket = best->used;
    while (best->basket.size() < replace_.max_new_nodes) {
      std::vector<NodeBasket> baskets;
      for (size_t copies = 1; best->basket.size() + copies <= replace_.max_new_nodes; copies *= 2) {
        for (const TypeIndex type : tried_types_) {
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
    while (!best->basket.empty() && (replace_.max_new_nodes > 1)) {
      absl::StatusOr<Trial> improved = Best(Neighbours(best->basket));
      if (!improved.ok()) return improved;
      if (!improved->IsBetterThan(*best)) break;
      improved->basket = improved->used;
      best = std::move(improved);
    }
    return BestInFull();
  }

  // The sets with another type in place of a node, and with one node less.
  [[nodiscard]] std::vector<NodeBasket> Neighbours(const NodeBasket& basket) const {
    std::vector<NodeBasket> baskets;
    for (size_t i = 0; i < basket.size(); ++i) {
      if (i > 0 && basket[i] == basket[i - 1]) continue;
      NodeBasket fewer = basket;
      fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(i));
      for (const TypeIndex type : tried_types_) {
        NodeBasket other = fewer;
        other.push_back(type);
        baskets.push_back(std::move(other));
      }
      baskets.push_back(std::move(fewer));
    }
    return baskets;
  }

  // Whether a trial with more new nodes is worth them.
  static bool Saves(const Trial& next, const Trial& best) {
    return next.value > best.value + kLeastGain;
  }

  // The best of these baskets; the first of equal ones.  A trial without plan is the worst.
  absl::StatusOr<Trial> Best(std::vector<NodeBasket> baskets) {
    for (NodeBasket& basket : baskets) std::ranges::sort(basket);
    std::erase_if(baskets, [&](const NodeBasket& basket) {
      return !FitsGroups(basket) || (!basket.empty() && !tried_.insert(basket).second);
    });
    if (purchases().tried + baskets.size() > replace_.max_tries) {
      baskets.resize(replace_.max_tries - std::min(replace_.max_tries, purchases().tried));
      is_cut_ = true;
    }
    std::vector<size_t> wanted(types_.usable.size(), 0);
    for (const NodeBasket& basket : baskets) {
      std::map<TypeIndex, size_t> counts;
      for (const TypeIndex type : basket) wanted[type] = std::max(wanted[type], ++counts[type]);
    }
    if (absl::Status s = rows_->Ensure(wanted); !s.ok()) return s;
    SetWorth();
    std::vector<Trial> trials(baskets.size());
    // In parts, so that progress can be reported.
    constexpr size_t kPart = 16;
    for (size_t done = 0; done < baskets.size() && !is_late_; done += kPart) {
      parallelism_.For(std::min(kPart, baskets.size() - done), [&](size_t index, size_t /*slot*/) {
        trials[done + index] = Try(baskets[done + index], SearchEffort::kQuick);
      });
      const size_t end = std::min(done + kPart, baskets.size());
      purchases().tried += end - done;
      if (replace_.on_tried) replace_.on_tried(purchases().tried);
      is_late_ = ends_ && Clock::now() >= *ends_;
      if (is_late_) trials.resize(end);
    }
    Trial best;
    best.value = -std::numeric_limits<double>::max();
    for (Trial& trial : trials) {
      if (!trial.status.ok()) return trial.status;
      if (trial.refused) {
        if (trial.basket.size() == 1) {
          types_.Refuse(trial.kept.empty() ? *trial.refused : Why::kSpotFromOnDemand,
                        ToText(types_.usable[trial.basket.front()]));
        }
        continue;
      }
      if (trial.basket.size() == 1 && trial.used.empty() && !trial.kept.empty()) {
        types_.Refuse(Why::kSpotFromOnDemand, ToText(types_.usable[trial.basket.front()]));
      }
      if (!HasScore(trial)) continue;
      Remember(trial);
      if (trial.IsBetterThan(best)) best = std::move(trial);
    }
    return best;
  }

  [[nodiscard]] bool FitsGroups(const NodeBasket& basket) {
    const std::string why = WhyFull(basket);
    if (!why.empty()) full_.insert(why);
    return why.empty();
  }

  // What keeps the groups and NodePools from having all of these nodes: "Group g has its largest
  // size"; empty: nothing.
  [[nodiscard]] std::string WhyFull(const NodeBasket& basket) {
    std::map<GroupId, int64_t> counts;
    std::map<const KarpenterObjects::Pool*, AmountMap> used;
    for (const TypeIndex type : basket) {
      const MachineType& each = types_.usable[type];
      ++counts[each.group];
      if (each.pool == nullptr || each.pool->limits.empty()) continue;
      const auto [known, is_first] = used_of_pools_.try_emplace(each.pool);
      if (is_first) known->second = UsedOfLimits(checked_.snapshot, *each.pool);
      CountNode(each.capacity, used.try_emplace(each.pool, known->second).first->second);
    }
    for (const auto& [id, count] : counts) {
      const NodeGroup& group = answer_->without->groups.groups[static_cast<size_t>(id)];
      if (count > group.max_size - group.target_size) {
        return fmt::format("the largest size of group {}", group.name);
      }
    }
    for (const auto& [pool, amounts] : used) {
      const std::string resource = ExceededLimit(*pool, amounts);
      if (!resource.empty())
        return fmt::format("the limit of NodePool {} for {}", pool->name, resource);
    }
    return "";
  }

  // Prices of nodes, and what the search maximises, in the version with rows.
  void SetWorth() {
    const Catalog& catalog = rows_->snapshot().catalog();
    const PlanAnswer& plan = *answer_->without;
    hourly_.assign(catalog.nodes(), 0);
    checked_.snapshot.alive().ForEach([&](NodeId node) {
      const absl::StatusOr<NodeId> now =
          catalog.FindNode(plan.cluster->snapshot.catalog().NodeName(node));
      if (!now.ok()) return;
      hourly_[Index(*now)] = plan.prices->hourly[Index(node)];
    });
    PlanRequest request;
    request.planner = query_.planner;
    request.pass.now_s = query_.now_s;
    worth_ = WorthOfNodes(rows_->snapshot(), rows_->groups(), request, hourly_, replace_.move_cost);
  }

  // Keeps the trial if it is one of the best so far.
  void Remember(const Trial& trial) {
    constexpr size_t kBest = 4;  // Not tuned.
    if (trial.used.empty()) return;
    const auto is_better = [](const Trial& a, const Trial& b) { return a.IsBetterThan(b); };
    best_.insert(std::ranges::upper_bound(best_, trial, is_better), trial);
    if (best_.size() > kBest) best_.pop_back();
  }

  // The best of the remembered trials by a full search, as the plan without purchases had.
  absl::StatusOr<Trial> BestInFull() {
    std::vector<Trial> trials(best_.size());
    parallelism_.For(best_.size(), [&](size_t index, size_t /*slot*/) {
      trials[index] = Try(best_[index].used, SearchEffort::kFull);
    });
    Trial best;
    for (Trial& trial : trials) {
      if (!trial.status.ok()) return trial.status;
      if (trial.refused || !HasScore(trial)) continue;
      if (trial.IsBetterThan(best)) best = std::move(trial);
    }
    return best;
  }

  // Whether the plan has the least score that is asked for.  Without new nodes none is.
  bool HasScore(const Trial& trial) {
    const double score = ScoreOf(trial.figures);
    if (trial.used.empty() || score >= replace_.min_score) return true;
    if (!refused_score_ || trial.value > refused_value_) {
      refused_score_ = score;
      refused_value_ = trial.value;
    }
    return false;
  }

  // If pods of on-demand nodes would move to new spot nodes, tries again with these nodes kept.
  Trial Try(const NodeBasket& basket, SearchEffort effort) const {
    constexpr int kAttempts = 3;
    std::set<std::string> kept;
    for (int attempt = 1;; ++attempt) {
      Trial trial = TryKeeping(basket, kept, effort);
      const size_t before = kept.size();
      kept.insert(trial.kept.begin(), trial.kept.end());
      trial.kept = kept;
      const bool is_final = attempt == kAttempts || kept.size() == before;
      if (is_final || trial.refused != Why::kSpotFromOnDemand) return trial;
    }
  }

  Trial TryKeeping(const NodeBasket& basket, const std::set<std::string>& kept,
                   SearchEffort effort) const {
    Trial trial;
    trial.basket = basket;
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
    PlanQuery query = query_;
    Keep(kept, query);
    const absl::StatusOr<PlanResult> made =
        TrySearch(query, rows_->groups(), snapshot, rows_->cluster().pending, worth_,
                  Parallelism::One(), DeletionsInSnapshot::kPlanBeside, effort);
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
    trial.value = ValueOf(trial.figures);
    trial.refused = RefusedFor(made->plan, bought, &trial.kept);
    return trial;
  }

  // Takes these nodes out of the candidates.
  void Keep(const std::set<std::string>& kept, PlanQuery& query) const {
    if (kept.empty()) return;
    const Catalog& catalog = checked_.snapshot.catalog();
    if (!query.candidates) {
      query.candidates.emplace();
      checked_.snapshot.alive().ForEach(
          [&](NodeId node) { query.candidates->emplace_back(catalog.NodeName(node)); });
    }
    std::erase_if(*query.candidates, [&](const std::string& name) { return kept.contains(name); });
  }

  // The new nodes of the last plan.
  [[nodiscard]] std::map<NodeId, TypeIndex> SpotRows() const {
    std::map<NodeId, TypeIndex> rows;
    for (size_t i = 0; i < answer_->purchases.buy.size(); ++i) {
      rows[answer_->purchases.buy[i].node] = types_of_buy_[i];
    }
    return rows;
  }

  // The rule about spot nodes that the plan breaks.  Sets `sources_kept` to the on-demand nodes
  // whose pods would move to new spot nodes.  Nodes of the cluster have the same facts in
  // each version, but other ids, so they are found by name.
  [[nodiscard]] std::optional<Why> RefusedFor(const Plan& plan,
                                              const std::map<NodeId, TypeIndex>& bought,
                                              std::set<std::string>* sources_kept = nullptr) const {
    const Catalog& catalog =
        answer_->with ? answer_->with->cluster->snapshot.catalog() : rows_->snapshot().catalog();
    std::map<NodeId, std::set<NodeId>> sources;  // Of each new spot node.
    for (const auto& [pod, path] : PathsOf(plan)) {
      const auto type = bought.find(path.to);
      if (type == bought.end() || path.from == kNoNode) continue;
      if (types_.usable[type->second].IsSpot()) sources[path.to].insert(path.from);
    }
    bool is_from_on_demand = false;
    for (const auto& [node, from] : sources) {
      for (const NodeId each : from) {
        if (MayMoveToSpot(catalog.NodeName(each))) continue;
        is_from_on_demand = true;
        if (sources_kept != nullptr) sources_kept->emplace(catalog.NodeName(each));
      }
    }
    if (is_from_on_demand) return Why::kSpotFromOnDemand;
    for (const auto& [node, from] : sources) {
      const MachineType& type = types_.usable[bought.at(node)];
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
                        const std::set<std::string>& kept,
                        const std::vector<InputWarning>& warnings) {
    if (absl::Status s = rows_->KeepOnly(names); !s.ok()) return s;
    LiveCluster::Version& version = answer_->version.emplace(live_.Unchecked());
    version.cluster.warnings = warnings;
    version.cluster.counts = checked_.counts;
    PlanQuery query = query_;
    Keep(kept, query);
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
    WarnOfPlanWith(plan, version.cluster);
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
    std::vector<NodeId> bought;
    for (const PlanPurchases::Purchase& each : purchases().buy) bought.push_back(each.node);
    return CheckPurchases(version.cluster.snapshot, bought);
  }

  // Warns of groups without nodes again, with the new nodes in their groups.
  void WarnOfPlanWith(const PlanAnswer& plan, LoadedCluster& cluster) const {
    const auto is_of_minimum = [](const InputWarning& each) {
      return each.code == "MinimumAssumed";
    };
    std::vector<InputWarning> warnings;
    WarnOfPlan(cluster.snapshot, AssignGroups(cluster.snapshot.catalog(), query_.groups),
               plan.request, plan.made, warnings);
    std::erase_if(cluster.warnings, is_of_minimum);
    std::ranges::copy_if(warnings, std::back_inserter(cluster.warnings), is_of_minimum);
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

  // Lists the types of the file that can be bought and of which it says nothing.
  template <typename IsAssumed>
  void ListAssumedOf(const IsAssumed& is_assumed, fmt::format_string<std::string> text) {
    std::set<std::string> names;
    for (const MachineType& type : types_.usable) {
      if (type.of_file != nullptr && is_assumed(*type.of_file)) names.insert(type.name);
    }
    if (names.empty()) return;
    purchases().assumptions.push_back(fmt::format(text, fmt::format("{}", fmt::join(names, ", "))));
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
    ListAssumedOf([](const FileMachine& machine) { return machine.assumes_pods; },
                  "At most 110 pods run on a node of {}: the file has no pods for it.");
    ListAssumedOf([](const FileMachine& machine) { return machine.assumes_no_overhead; },
                  "All of the capacity of {} is allocatable: the file has no kubeReserved, "
                  "systemReserved or evictionHard for it.");
    const double threshold = query_.planner.scale_down_utilization_threshold;
    if (threshold < 1 && std::ranges::any_of(
                             answer_->without->groups.groups,
                             [](const NodeGroup& group) { return !group.FollowsKarpenter(); })) {
      texts.push_back(fmt::format(
          "Nodes above the utilization threshold of {} stay, also where a new node would be "
          "cheaper. --scale-down-utilization-threshold=1 lets them go.",
          Percent(threshold)));
    }
    if (std::ranges::any_of(types_.usable, [&](const MachineType& type) {
          return type.pool == nullptr &&
                 IsOfKarpenter(
                     answer_->without->groups.groups[static_cast<size_t>(type.group)].managed_by);
        })) {
      texts.emplace_back(
          "Some nodes of Karpenter have a NodePool that is not in the input, so that its "
          "requirements and limits are not known. It is assumed to allow the shapes of its nodes, "
          "and the machine types that the file lists for it.");
    }
    for (const std::string& what : full_) {
      texts.push_back(
          fmt::format("Sets of new nodes beyond {} were not tried. Nodes that go still count, "
                      "because new nodes are bought first.",
                      what));
    }
    if (is_cut_ || is_late_) {
      texts.push_back(fmt::format("The search for new nodes ended after {}, by {}.",
                                  Count(purchases().tried, "set of them", "sets of them"),
                                  is_late_ ? "its budget of time" : "its limit"));
    }
  }

  PlanQuery query_;
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
  std::vector<Trial> best_;              // The best first.
  std::vector<TypeIndex> tried_types_;   // Sorted.
  std::vector<double> bought_in_bound_;  // By type: how many nodes the relaxed problem buys.
  std::set<std::string> full_;           // "the largest size of group g".
  std::optional<double> refused_score_;  // Of the best plan whose score is below the least.
  double refused_value_ = 0;
  std::optional<Clock::time_point> ends_;
  std::map<const KarpenterObjects::Pool*, AmountMap> used_of_pools_;
  std::vector<double> hourly_;           // By NodeId of the rows' version.
  std::vector<int64_t> worth_;           // The same.
  std::vector<TypeIndex> types_of_buy_;  // Of each purchase.
  bool is_cut_ = false;                  // By the number of tries.
  bool is_late_ = false;                 // By the budget.
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
  if (query.bound) return refuse("bound", "purchases have a bound of their own");
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
  if (!(replace.move_cost >= 0 && replace.move_cost <= kHourlyMax)) {
    return refuse("move_cost",
                  fmt::format("{} is not from 0 to {}", replace.move_cost, kHourlyMax));
  }
  if (replace.max_tries < 1) return refuse("max_tries", "is not 1 or more");
  constexpr double kBudgetMax = 1e6;
  if (replace.budget_s && !(*replace.budget_s > 0 && *replace.budget_s <= kBudgetMax)) {
    return refuse("budget_seconds",
                  fmt::format("{} is not above 0 and at most {}", *replace.budget_s, kBudgetMax));
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
