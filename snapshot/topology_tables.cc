#include "snapshot/topology_tables.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "snapshot/objects/well_known_names.h"

// How topology terms become counter tables.
//
// While a plan is made, no filter compares a selector with pods.  Filters read counts by topology
// domain from tables that are defined here once:
//
//   term of a shape            table           counts                      read by
//   topologySpreadConstraint   kSpread         matching pods on eligible   the shape: spread
//                                              nodes, not terminating
//   podAffinity, all terms     kMatching, one  pods that match every term  the shape: affinity
//                              for each key
//   podAntiAffinity, one term  kMatching       pods that match the term    the shape: anti_affinity
//                              kExistingAnti   pods that have the term     shapes that the term
//                                                                          matches: repelled_by
//
// A shape `feeds` every table that counts its pods.
//
// Connect takes these steps; each needs the result of the one before:
//  1. AskFor finds the keys, registries and tables of each shape.  Equal ones are shared.
//  2. LeaveOut empties the tables of topology keys beyond the limit, then the broadest tables.
//  3. Shapes that match a kSpread or kMatching table feed it.
//  4. In many applications pods avoid pods of the same application, so the pods that have a term
//     are exactly the pods that match it.  NoteRepelling and CountsTheSame find such pairs of
//     tables; the kMatching table then replaces the kExistingAnti table, and each pod changes
//     one count instead of two.
//  5. Shapes that match a kExistingAnti table are repelled by it or by its replacement.
//     FeedRepelling lets shapes that have a term feed its kExistingAnti table, unless that was
//     replaced.  It also moves the tables that a shape reads as anti_affinity to the front of
//     repelled_by: the filter has read them already and skips them (repelled_by_own).
//  6. Shapes that share a table, directly or through others, become one family.
//
// ConnectLast takes the same steps for one new shape.  It uses table_index_ to find the tables that
// may count the shape, and the shapes that its new tables may count.  If the shape has a term and
// does not match it, or matches it and does not have it, two tables that were one (step 4) part:
// the kExistingAnti table gets the shapes that feed it and those that it repels.

namespace ebb {
namespace {

// A move of a pod changes the count of every spread constraint that selects the pod, and few
// spread constraints select more than the pods of their own application.
constexpr uint64_t kSpreadMatchesMax = kMatchesMax;
// Affinity terms may have many matches through NotIn: 300 tenants, each of which keeps the
// 9,000 pod shapes of the others away, have 2.7 million matches of each kind.
constexpr uint64_t kAffinityMatchesMax = 4 * kMatchesMax;
constexpr uint64_t kNamesMax = 4 * kMatchesMax;
// Each table of an affinity holds the matchers of all its terms, since a pod must match them all.
constexpr uint64_t kAffinityMatchersMax = kMatchesMax / 4;
// (topology key, node) pairs: 15,000 nodes and 1,100 keys.
constexpr uint64_t kDomainEntriesMax = 16 * kMatchesMax;

constexpr size_t kTableKinds = 3;
constexpr uint64_t MatchesMax(TableKind kind) {
  return kind == TableKind::kSpread ? kSpreadMatchesMax : kAffinityMatchesMax;
}

constexpr std::string_view kTooBroad =
    "selects too much: the selectors of all pods together select more kinds of pods than are "
    "followed, and this is one of the broadest";
constexpr std::string_view kTooManyKeys =
    "has one topologyKey too many: all pods together ask for more of them than are followed";
constexpr std::string_view kTooManyTerms =
    "has too many terms: those of all pods together are more than are followed";

void Append(std::string& key, uint64_t value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename Id>
void AppendIds(std::string& key, const std::vector<Id>& ids) {
  Append(key, ids.size());
  for (const Id id : ids) Append(key, Index(id));
}

void AppendSelector(std::string& key, const Selector& selector) {
  Append(key, selector.nothing);
  Append(key, selector.requirements.size());
  for (const LabelRequirement& requirement : selector.requirements) {
    Append(key, Index(requirement.key));
    Append(key, static_cast<uint64_t>(requirement.op));
    AppendIds(key, requirement.values);
  }
}

// Selectors of namespaces that list the same namespaces now may list others later.
void AppendMatcher(std::string& key, const PodMatcher& matcher) {
  Append(key, matcher.all_namespaces);
  AppendIds(key, matcher.namespaces);
  AppendSelector(key, matcher.selector);
  Append(key, matcher.namespace_selector.has_value());
  if (matcher.namespace_selector) AppendSelector(key, *matcher.namespace_selector);
}

std::string TableKey(const CounterTable& table) {
  std::string key;
  Append(key, static_cast<uint64_t>(table.kind));
  Append(key, Index(table.key));
  Append(key, Index(table.registry));
  for (const PodMatcher& matcher : table.matchers) AppendMatcher(key, matcher);
  return key;
}

void SortUnique(std::vector<TextId>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

std::string MatcherKey(const PodMatcher& matcher) {
  std::string key;
  AppendMatcher(key, matcher);
  return key;
}

bool MatchesAll(const std::vector<PodMatcher>& matchers, const PodShape& shape) {
  return std::all_of(matchers.begin(), matchers.end(),
                     [&](const PodMatcher& matcher) { return matcher.Matches(shape); });
}

}  // namespace

ShapeMatches TopologyTables::TakeMatches() {
  ShapeMatches matches = *std::move(matches_);
  matches_.reset();
  return matches;
}

void TopologyTables::Connect(const std::vector<PendingTopology>& pending,
                             std::span<const PodMatcher> others) {
  IndexNamespaces();
  FindNodeLabels();
  there_ = NodesThere();
  for (size_t s = 0; s < pending.size(); ++s) {
    if (!pending[s].empty()) AskFor(catalog_->shapes_[s], pending[s]);
  }
  there_.reset();
  ShapeMatches& matches = matches_.emplace(catalog_->shapes_);
  for (const PodMatcher& matcher : others) matches.Expect(matcher);
  for (const CounterTable& table : catalog_->tables_) {
    for (const PodMatcher& matcher : table.matchers) matches.Expect(matcher);
  }
  if (beyond_keys_) {
    std::vector<bool> beyond;
    for (const CounterTable& table : catalog_->tables_)
      beyond.push_back(table.key == *beyond_keys_);
    LeaveOut(beyond, kTooManyKeys, matches);
  }
  if (const std::vector<bool> too_broad = TablesTooBroad(matches); !too_broad.empty()) {
    LeaveOut(too_broad, kTooBroad, matches);
  }
  const auto connect = [&](bool repelling) {
    for (uint32_t t = 0; t < catalog_->tables_.size(); ++t) {
      const CounterTable& table = catalog_->tables_[t];
      if ((table.kind == TableKind::kExistingAnti) != repelling) continue;
      matches.ForEach(table.matchers, [&](PodShapeId shape) { ConnectMatch(TableId{t}, shape); });
    }
  };
  repelling_.resize(catalog_->tables_.size());
  shapes_counted_.resize(catalog_->tables_.size());
  connect(/*repelling=*/false);
  for (uint32_t s = 0; s < catalog_->shapes_.size(); ++s) NoteRepelling(PodShapeId{s});
  for (uint32_t t = 0; t < repelling_.size(); ++t) {
    repelling_[t].is_matching = CountsTheSame(TableId{t});
  }
  connect(/*repelling=*/true);
  for (PodShape& shape : catalog_->shapes_) FeedRepelling(shape);
  for (const PodShape& shape : catalog_->shapes_) UniteTablesOf(shape, TableId{0});
  NameFamilies();
}

void TopologyTables::IndexShapes(const ShapeIndex& shapes) {
  table_index_.emplace(shapes, kTableKinds);
  for (const CounterTable& table : catalog_->tables_) {
    table_index_->Add(table.matchers, static_cast<size_t>(table.kind));
  }
}

bool TopologyTables::FindsTooMany() const {
  for (const TableKind kind :
       {TableKind::kSpread, TableKind::kMatching, TableKind::kExistingAnti}) {
    if (table_index_->most(static_cast<size_t>(kind)) > MatchesMax(kind)) return true;
  }
  return false;
}

bool TopologyTables::ConnectLast(const PendingTopology& pending) {
  EBB_DCHECK(table_index_.has_value());
  const PodShapeId id{static_cast<uint32_t>(catalog_->shapes_.size() - 1)};
  const auto known = static_cast<uint32_t>(catalog_->tables_.size());
  const bool asked_for_namespaces = asks_for_namespaces_;
  PodShape& shape = catalog_->shapes_.back();
  if (asks_for_namespaces_ && !EnterNamespace(shape.namespace_name)) return false;
  if (!pending.empty()) AskFor(shape, pending);
  const auto tables = static_cast<uint32_t>(catalog_->tables_.size());
  table_index_->CountShape(shape);
  for (uint32_t t = known; t < tables; ++t) {
    const CounterTable& table = catalog_->tables_[t];
    table_index_->Add(table.matchers, static_cast<size_t>(table.kind));
  }
  if (left_out_ || names_ > kNamesMax || FindsTooMany()) return false;
  // Until now, the namespaces of shapes were not followed.
  if (asks_for_namespaces_ && !asked_for_namespaces) return false;
  std::vector<PodShapeId> connected = {id};  // The shape, and shapes connected to new tables.
  const auto connect = [&](bool repelling) {
    const auto offer = [&](uint32_t t, PodShapeId s) {
      const CounterTable& table = catalog_->tables_[t];
      if ((table.kind == TableKind::kExistingAnti) != repelling) return;
      if (!MatchesAll(table.matchers, catalog_->shapes_[Index(s)])) return;
      ConnectMatch(TableId{t}, s);
      if (t >= known) connected.push_back(s);
    };
    table_index_->ForEachSelector(shape, [&](uint32_t t) {
      if (t < known) offer(t, id);
    });
    for (uint32_t t = known; t < tables; ++t) {
      table_index_->ForEachShape(t, [&](PodShapeId s) { offer(t, s); });
    }
  };
  repelling_.resize(tables);
  shapes_counted_.resize(tables);
  connect(/*repelling=*/false);
  NoteRepelling(id);
  for (uint32_t t = 0; t < tables; ++t) {
    const bool same = CountsTheSame(TableId{t});
    if (t >= known) repelling_[t].is_matching = same;
    if (!repelling_[t].is_matching || same) continue;
    const std::vector<PodShapeId> of_table = Part(TableId{t}, id, TableId{known});
    connected.insert(connected.end(), of_table.begin(), of_table.end());
    parted_.push_back(TableId{t});
  }
  connect(/*repelling=*/true);
  FeedRepelling(shape);
  bool renamed = false;
  for (const PodShapeId each : connected) {
    renamed |= UniteTablesOf(catalog_->shapes_[Index(each)], TableId{known});
  }
  if (renamed) {
    NameFamilies();
  } else {
    for (const PodShapeId each : connected) NameFamily(catalog_->shapes_[Index(each)]);
  }
  return true;
}

bool TopologyTables::Allows(const NodeInfo& node) const {
  if (left_out_) return false;
  for (const Label& label : node.labels) {
    const auto it = keys_.find(label.key);
    if (it != keys_.end() && it->second == absent_keys_) return false;
  }
  if (domain_entries_ + keys_.size() > kDomainEntriesMax) return false;
  return std::ranges::all_of(spared_keys_, [&](TopologyKeyId key) {
    return FindLabel(node.labels, catalog_->topology_key(key).label).has_value();
  });
}

void TopologyTables::AddNode(NodeId id) {
  const NodeInfo& node = catalog_->node(id);
  EBB_DCHECK(Allows(node));
  on_nodes_.resize(catalog_->symbols().size());
  for (const Label& label : node.labels) on_nodes_[Index(label.key)] = true;
  for (uint32_t k = 0; k < catalog_->topology_keys_.size(); ++k) {
    if (having_[k].range() < catalog_->nodes()) {
      having_[k].Resize(catalog_->nodes());
      catalog_->topology_keys_[k].domain_of.resize(catalog_->nodes(), kNoDomain);
      ++domain_entries_;
    }
    if (TopologyKeyId{k} != absent_keys_) SetDomain(TopologyKeyId{k}, id);
  }
  for (DomainRegistry& registry : catalog_->registries_) {
    registry.eligible.Resize(catalog_->nodes());
    const bool has_all = std::ranges::all_of(registry.required_keys, [&](TopologyKeyId key) {
      return having_[Index(key)].Contains(id);
    });
    if (has_all && PassesPolicies(registry, id)) registry.eligible.Insert(id);
  }
}

void TopologyTables::RemoveNode(NodeId id) {
  for (uint32_t k = 0; k < catalog_->topology_keys_.size(); ++k) {
    TopologyKey& key = catalog_->topology_keys_[k];
    const DomainId domain = std::exchange(key.domain_of[Index(id)], kNoDomain);
    if (domain != kNoDomain && --key.nodes_in[Index(domain)] == 1) --key.shared_domains;
    having_[k].Erase(id);
  }
  for (DomainRegistry& registry : catalog_->registries_) registry.eligible.Erase(id);
}

// Which tables to leave out, by TableId; empty if none must be.
std::vector<bool> TopologyTables::TablesTooBroad(ShapeMatches& matches) const {
  const std::vector<CounterTable>& tables = catalog_->tables_;
  const bool listed_all = names_ <= kNamesMax;
  if (listed_all && tables.size() * catalog_->shapes_.size() <= kSpreadMatchesMax) return {};
  std::vector<bool> too_broad;
  for (const TableKind kind :
       {TableKind::kSpread, TableKind::kMatching, TableKind::kExistingAnti}) {
    std::vector<uint32_t> ids;
    std::vector<uint64_t> most;
    for (uint32_t t = 0; t < tables.size(); ++t) {
      if (tables[t].kind != kind) continue;
      ids.push_back(t);
      most.push_back(matches.Most(tables[t].matchers));
    }
    const std::vector<bool> of_kind = TooBroad(most, MatchesMax(kind));
    if (!of_kind.empty()) too_broad.resize(tables.size());
    for (size_t i = 0; i < of_kind.size(); ++i) too_broad[ids[i]] = of_kind[i];
  }
  for (uint32_t t = 0; !listed_all && t < tables.size(); ++t) {
    too_broad.resize(tables.size());
    for (const PodMatcher& matcher : tables[t].matchers) {
      // Matcher() did not list the namespaces, because there were too many.
      if (matcher.all_namespaces && !matcher.namespaces.empty()) too_broad[t] = true;
    }
  }
  return too_broad;
}

void TopologyTables::LeaveOut(const std::vector<bool>& tables, std::string_view why,
                              ShapeMatches& matches) {
  left_out_ = true;
  const auto keep = [&](PodShape& shape, std::string_view field) {
    if (!shape.not_understood.empty()) return;
    shape.not_understood = absl::StrCat(Absl(field), " ", Absl(why));
  };
  const auto is_out = [&](const auto& term) { return tables[Index(term.table)]; };
  for (PodShape& shape : catalog_->shapes_) {
    if (std::ranges::any_of(shape.spread, is_out)) keep(shape, "spec.topologySpreadConstraints");
    if (std::ranges::any_of(shape.affinity, is_out)) keep(shape, "spec.affinity.podAffinity");
    if (std::ranges::any_of(shape.anti_affinity, [&](const AntiAffinityTerm& term) {
          return is_out(term) || tables[Index(term.repelling)];
        })) {
      keep(shape, "spec.affinity.podAntiAffinity");
    }
  }
  std::vector<std::span<const PodMatcher>> repelling;
  for (size_t t = 0; t < tables.size(); ++t) {
    const CounterTable& table = catalog_->tables_[t];
    if (tables[t] && table.kind == TableKind::kExistingAnti) repelling.emplace_back(table.matchers);
  }
  matches.ForEachThatMayMatch(repelling, [&](PodShapeId shape) {
    keep(catalog_->shapes_[Index(shape)], "spec.affinity.podAntiAffinity of another pod");
  });
  for (size_t t = 0; t < tables.size(); ++t) {
    if (!tables[t]) continue;
    for (PodMatcher& matcher : catalog_->tables_[t].matchers) matcher.selector.nothing = true;
  }
}

void TopologyTables::IndexNamespaces() {
  const auto fill = [&](std::vector<TextId> names, Namespaces& namespaces) {
    SortUnique(names);
    for (const TextId name : names) {
      const LabelSet* const labels = catalog_->FindNamespaceLabels(name);
      namespaces.labels.Add(labels != nullptr ? *labels : LabelSet());
    }
    namespaces.labels.Finish();
    namespaces.names = std::move(names);
  };
  namespace_labels_ = catalog_->namespace_labels_;
  std::vector<TextId> names;
  for (const auto& [name, labels] : namespace_labels_) names.push_back(name);
  fill(std::move(names), listed_);
  names.clear();
  for (const PodShape& shape : catalog_->shapes_) names.push_back(shape.namespace_name);
  fill(std::move(names), of_pods_);
}

std::vector<TextId> TopologyTables::Matching(const Selector& selector,
                                             const Namespaces& among) const {
  std::vector<TextId> names;
  const auto offer = [&](TextId name) {
    const auto labels = namespace_labels_.find(name);
    if (selector.Matches(labels != namespace_labels_.end() ? labels->second : LabelSet())) {
      names.push_back(name);
    }
  };
  LabelIndex::Candidates candidates(among.labels);
  candidates.Narrow(selector);
  candidates.ForEach([&](uint32_t n) { offer(among.names[n]); });
  for (const TextId name : among.later) offer(name);
  return names;
}

void TopologyTables::AddToTable(TableId table, PodMatcher& matcher, TextId name_of_namespace) {
  std::vector<TextId>& names = matcher.namespaces;
  const auto place = std::ranges::lower_bound(names, name_of_namespace);
  if (place != names.end() && *place == name_of_namespace) return;
  names.insert(place, name_of_namespace);
  ++names_;
  if (!table_index_) return;  // IndexShapes has not been called yet.
  table_index_->Replace(static_cast<uint32_t>(Index(table)),
                        catalog_->tables_[Index(table)].matchers);
}

// Before the first shape of a namespace is connected: terms of existing pods that select the
// namespace list it from now on.  Returns false if its labels are not known.
bool TopologyTables::EnterNamespace(TextId name) {
  if (of_pods_.Has(name)) return true;
  const auto labels = namespace_labels_.find(name);
  if (labels == namespace_labels_.end()) return false;
  for (const TableId id : by_namespace_labels_) {
    CounterTable& table = catalog_->tables_[Index(id)];
    if (table.kind != TableKind::kExistingAnti) continue;
    for (PodMatcher& matcher : table.matchers) {
      if (matcher.namespace_selector && matcher.namespace_selector->Matches(labels->second)) {
        AddToTable(id, matcher, name);
      }
    }
  }
  of_pods_.later.insert(name);
  return true;
}

bool TopologyTables::PutNamespace(TextId name, const LabelSet& labels) {
  EBB_DCHECK(asks_for_namespaces_);
  if (left_out_ || names_ > kNamesMax) return false;
  const auto known = namespace_labels_.find(name);
  const bool is_new = known == namespace_labels_.end();
  const LabelSet before = is_new ? LabelSet() : known->second;
  const bool has_shapes = of_pods_.Has(name);
  std::vector<std::pair<TableId, PodMatcher*>> gains;
  for (const TableId id : by_namespace_labels_) {
    CounterTable& table = catalog_->tables_[Index(id)];
    const bool lists_namespaces_of_shapes = table.kind == TableKind::kExistingAnti;
    if (lists_namespaces_of_shapes && !has_shapes) continue;
    for (PodMatcher& matcher : table.matchers) {
      if (!matcher.namespace_selector) continue;
      const bool is_listed =
          (lists_namespaces_of_shapes || !is_new) && matcher.namespace_selector->Matches(before);
      if (is_listed == matcher.namespace_selector->Matches(labels)) continue;
      if (is_listed || has_shapes) return false;
      gains.emplace_back(id, &matcher);
    }
  }
  for (const auto& [table, matcher] : gains) AddToTable(table, *matcher, name);
  namespace_labels_.insert_or_assign(name, labels);
  listed_.later.insert(name);
  if (has_shapes) of_pods_.later.insert(name);
  return true;
}

void TopologyTables::FindNodeLabels() {
  on_nodes_.resize(catalog_->symbols().size());
  for (const NodeInfo& node : catalog_->nodes_) {
    for (const Label& label : node.labels) on_nodes_[Index(label.key)] = true;
  }
}

void TopologyTables::AskFor(PodShape& shape, const PendingTopology& pending) {
  if (!pending.spread.empty()) {
    const RequiredKeys required = KeysOf(pending.spread);
    for (const PendingSpread& spread : pending.spread) AddSpread(shape, required, spread);
  }
  AddAffinity(shape, pending.affinity);
  for (const PendingAffinityTerm& term : pending.anti_affinity) {
    const TopologyKeyId key = InternKey(term.topology_key);
    const TableId matching =
        InternTable({.kind = TableKind::kMatching,
                     .key = key,
                     .matchers = {Matcher(shape, term, NamespacesOf::kListed)}});
    const TableId repelling =
        InternTable({.kind = TableKind::kExistingAnti,
                     .key = key,
                     .matchers = {Matcher(shape, term, NamespacesOf::kIncoming)}});
    shape.anti_affinity.push_back({.table = matching, .key = key, .repelling = repelling});
  }
}

void TopologyTables::AddAffinity(PodShape& shape, const std::vector<PendingAffinityTerm>& terms) {
  // Equal matchers are kept once.
  std::vector<PodMatcher> all;
  absl::flat_hash_set<std::string> known;
  for (const PendingAffinityTerm& term : terms) {
    PodMatcher matcher = Matcher(shape, term, NamespacesOf::kListed);
    if (terms.size() == 1 || known.insert(MatcherKey(matcher)).second) {
      all.push_back(std::move(matcher));
    }
  }
  shape.matches_own_affinity = MatchesAll(all, shape);
  std::vector<TopologyKeyId> keys;
  for (const PendingAffinityTerm& term : terms) keys.push_back(InternKey(term.topology_key));
  const uint64_t matchers =
      all.size() * absl::flat_hash_set<TopologyKeyId>(keys.begin(), keys.end()).size();
  if (matchers > kAffinityMatchersMax - affinity_matchers_) {
    left_out_ = true;
    if (shape.not_understood.empty()) {
      shape.not_understood = absl::StrCat("spec.affinity.podAffinity ", Absl(kTooManyTerms));
    }
    return;
  }
  affinity_matchers_ += matchers;
  // All terms select the same pods, so terms with equal keys share a table.
  absl::flat_hash_map<TopologyKeyId, TableId> table_of;
  for (const TopologyKeyId key : keys) {
    const auto [it, is_new] = table_of.try_emplace(key);
    if (is_new) {
      it->second = InternTable({.kind = TableKind::kMatching, .key = key, .matchers = all});
      catalog_->tables_[Index(it->second)].for_affinity = true;
    }
    shape.affinity.push_back({it->second, key});
  }
}

void TopologyTables::AddSpread(PodShape& shape, const RequiredKeys& required,
                               const PendingSpread& spread) {
  const TopologyKeyId key = InternKey(spread.topology_key);
  PodMatcher matcher{
      .namespaces = {shape.namespace_name}, .all_namespaces = false, .selector = spread.selector};
  const bool self_match = matcher.selector.Matches(shape.labels);
  // An empty selector counts no pods, although it matches the pod itself.
  if (matcher.selector.MatchesEverything()) matcher.selector.nothing = true;
  const TableId table = InternTable({.kind = TableKind::kSpread,
                                     .key = key,
                                     .matchers = {std::move(matcher)},
                                     .registry = InternRegistry(shape, required, spread)});
  shape.spread.push_back({.table = table,
                          .key = key,
                          .max_skew = spread.max_skew,
                          .min_domains = spread.min_domains,
                          .self_match = self_match});
}

PodMatcher TopologyTables::Matcher(const PodShape& owner, const PendingAffinityTerm& term,
                                   NamespacesOf which) {
  PodMatcher matcher{
      .namespaces = term.namespaces, .all_namespaces = false, .selector = term.selector};
  if (term.namespaces.empty() && !term.has_namespace_selector) {
    matcher.namespaces = {owner.namespace_name};
  }
  if (term.has_namespace_selector) {
    asks_for_namespaces_ = true;
    matcher.all_namespaces = term.namespace_selector.MatchesEverything();
    if (which == NamespacesOf::kListed && !matcher.all_namespaces &&
        term.namespace_selector.Matches(LabelSet())) {
      // Until 1.36 the scheduler lists the namespaces that match, and then also compares the
      // selector with an empty label set.  If that matches, the term applies to all namespaces.
      asks_of_no_labels_ = true;
      matcher.all_namespaces = catalog_->kubernetes_version() < KubernetesVersion::k137;
    }
    if (matcher.all_namespaces) {
      matcher.namespaces.clear();
      return matcher;
    }
    // There are too many names to list them; TablesTooBroad leaves such tables out.
    if (names_ > kNamesMax) {
      matcher.all_namespaces = true;
      matcher.namespaces = {owner.namespace_name};
      return matcher;
    }
    const std::vector<TextId> more =
        Matching(term.namespace_selector, which == NamespacesOf::kListed ? listed_ : of_pods_);
    matcher.namespaces.insert(matcher.namespaces.end(), more.begin(), more.end());
    matcher.namespace_selector = term.namespace_selector;
    names_ += matcher.namespaces.size();
  }
  SortUnique(matcher.namespaces);
  return matcher;
}

bool TopologyTables::IsOnNodes(TextId label) const {
  return Index(label) < on_nodes_.size() && on_nodes_[Index(label)];
}

// All labels that no node has share one key; so do all labels beyond the limit.
TopologyKeyId TopologyTables::InternKey(TextId label) {
  const auto [it, added] = keys_.try_emplace(label);
  if (!added) return it->second;
  if (!IsOnNodes(label)) {
    if (!absent_keys_) absent_keys_ = AddKey(label, {});
    return it->second = *absent_keys_;
  }
  domain_entries_ += catalog_->nodes();
  if (domain_entries_ > kDomainEntriesMax) {
    if (!beyond_keys_) beyond_keys_ = AddKey(label, {});
    return it->second = *beyond_keys_;
  }
  return it->second = AddKey(label, catalog_->nodes_);
}

// `nodes` is either all nodes of the catalog or empty.
TopologyKeyId TopologyTables::AddKey(TextId label, std::span<const NodeInfo> nodes) {
  const TopologyKeyId id{static_cast<uint32_t>(catalog_->topology_keys_.size())};
  TopologyKey key{.label = label, .domain_of = {}, .domains = {}, .values = {}, .nodes_in = {}};
  key.domain_of.resize(catalog_->nodes(), kNoDomain);
  NodeSet having(catalog_->nodes());
  catalog_->topology_keys_.push_back(std::move(key));
  having_.push_back(std::move(having));
  for (uint32_t n = 0; n < nodes.size(); ++n) SetDomain(id, NodeId{n});
  return id;
}

// Sets the node's domain by its label, if the node has the label.
void TopologyTables::SetDomain(TopologyKeyId id, NodeId node) {
  TopologyKey& key = catalog_->topology_keys_[Index(id)];
  const std::optional<TextId> value = FindLabel(catalog_->node(node).labels, key.label);
  if (!value) return;
  const DomainId next{static_cast<uint32_t>(key.values.size())};
  const auto [domain, is_new] = key.domains.try_emplace(*value, next);
  if (is_new) {
    key.values.push_back(*value);
    key.nodes_in.push_back(0);
  }
  if (++key.nodes_in[Index(domain->second)] == 2) ++key.shared_domains;
  key.domain_of[Index(node)] = domain->second;
  having_[Index(id)].Insert(node);
}

NodeSet TopologyTables::NodesThere() const {
  NodeSet there(catalog_->nodes());
  for (uint32_t n = 0; n < catalog_->nodes(); ++n) {
    if (catalog_->IsThere(NodeId{n})) there.Insert(NodeId{n});
  }
  return there;
}

TopologyTables::RequiredKeys TopologyTables::KeysOf(const std::vector<PendingSpread>& spread) {
  std::vector<TopologyKeyId> keys;
  keys.reserve(spread.size());
  for (const PendingSpread& each : spread) keys.push_back(InternKey(each.topology_key));
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());

  // A key is listed only if it excludes a node that the keys before it left.  A node that a later
  // key excludes has all earlier keys, so n listed keys take nodes with n * n / 2 such labels.
  RequiredKeys required{.id = 0, .keys = {}, .nodes = there_ ? *there_ : NodesThere()};
  const std::span<uint64_t> left = required.nodes.words();
  for (const TopologyKeyId key : keys) {
    const std::span<const uint64_t> having = std::as_const(having_[Index(key)]).words();
    bool rules_out = false;
    for (size_t w = 0; w < left.size(); ++w) {
      rules_out |= (left[w] & ~having[w]) != 0;
      left[w] &= having[w];
    }
    if (rules_out) {
      required.keys.push_back(key);
    } else {
      spared_keys_.insert(key);
    }
  }
  std::string list;
  AppendIds(list, required.keys);
  const auto next = static_cast<uint32_t>(required_keys_.size());
  required.id = required_keys_.try_emplace(std::move(list), next).first->second;
  return required;
}

RegistryId TopologyTables::InternRegistry(const PodShape& shape, const RequiredKeys& required,
                                          const PendingSpread& spread) {
  const Constraints& constraints = catalog_->constraints(shape.constraints);
  const bool has_affinity = constraints.has_node_affinity || !constraints.node_selector.empty();
  std::string nodes;
  Append(nodes, required.id);
  Append(nodes, spread.honor_affinity && has_affinity);
  Append(nodes, spread.honor_taints);
  // Constraints that ignore both affinity and taints share one registry.
  const bool looks = (spread.honor_affinity && has_affinity) || spread.honor_taints;
  Append(nodes, looks ? Index(shape.constraints) + 1 : 0);

  const TopologyKeyId topology_key = InternKey(spread.topology_key);
  std::string key = nodes;
  Append(key, Index(topology_key));
  const RegistryId id{static_cast<uint32_t>(catalog_->registries_.size())};
  const auto [it, added] = registries_.try_emplace(std::move(key), id);
  if (!added) return it->second;

  // Registries with equal policies have the same nodes, whatever their key.
  if (const auto [like, first] = registry_of_nodes_.try_emplace(std::move(nodes), id); !first) {
    DomainRegistry registry = catalog_->registries_[Index(like->second)];
    registry.key = topology_key;
    catalog_->registries_.push_back(std::move(registry));
    return id;
  }
  DomainRegistry registry{.key = topology_key,
                          .eligible = NodeSet(catalog_->nodes()),
                          .ghost_excluded = false,
                          .required_keys = required.keys,
                          .honor_affinity = spread.honor_affinity,
                          .honor_taints = spread.honor_taints,
                          .constraints = shape.constraints};
  if (registry.honor_taints) {
    Symbols& symbols = *catalog_->symbols_;
    const Taint being_deleted{symbols.Intern(kHardTaint), symbols.Intern(""),
                              symbols.Intern("NoSchedule"), TaintEffect::kNoSchedule};
    registry.ghost_excluded = !Tolerates(constraints, being_deleted);
  }
  required.nodes.ForEach([&](NodeId node) {
    if (PassesPolicies(registry, node)) registry.eligible.Insert(node);
  });
  catalog_->registries_.push_back(std::move(registry));
  return id;
}

bool TopologyTables::PassesPolicies(const DomainRegistry& registry, NodeId node) const {
  const NodeInfo& info = catalog_->node(node);
  const Constraints& constraints = catalog_->constraints(registry.constraints);
  if (registry.honor_affinity &&
      !MatchesNodeAffinity(constraints, info.name, info.labels, catalog_->symbols())) {
    return false;
  }
  return !registry.honor_taints || ToleratesAll(constraints, info.taints);
}

TableId TopologyTables::InternTable(CounterTable table) {
  const TableId id{static_cast<uint32_t>(catalog_->tables_.size())};
  const auto [it, added] = tables_.try_emplace(TableKey(table), id);
  if (!added) return it->second;
  if (std::ranges::any_of(table.matchers, [](const PodMatcher& matcher) {
        return matcher.namespace_selector.has_value();
      })) {
    by_namespace_labels_.push_back(id);
  }
  catalog_->tables_.push_back(std::move(table));
  return id;
}

void TopologyTables::ConnectMatch(TableId id, PodShapeId shape_id) {
  const CounterTable& table = catalog_->tables_[Index(id)];
  PodShape& shape = catalog_->shapes_[Index(shape_id)];
  if (table.kind == TableKind::kExistingAnti) {
    const Repelling& repelling = repelling_[Index(id)];
    shape.repelled_by.push_back({repelling.is_matching ? repelling.matching : id, table.key});
  } else if (table.kind != TableKind::kSpread || !shape.terminating) {
    shape.feeds.push_back(id);
    ++shapes_counted_[Index(id)];
  }
}

// REQUIRES: the shape feeds all its tables of other kinds; shape.feeds is sorted by id.
void TopologyTables::NoteRepelling(PodShapeId id) {
  const PodShape& shape = catalog_->shapes_[Index(id)];
  EBB_DCHECK(std::ranges::is_sorted(shape.feeds));
  for (const AntiAffinityTerm& term : shape.anti_affinity) {
    Repelling& repelling = repelling_[Index(term.repelling)];
    const bool is_first = repelling.shapes == 0;
    if (is_first) repelling.matching = term.table;
    const bool once = is_first || repelling.last != id;
    repelling.alike = repelling.alike && once && term.table == repelling.matching &&
                      std::ranges::binary_search(shape.feeds, term.table);
    repelling.last = id;
    ++repelling.shapes;
  }
}

bool TopologyTables::CountsTheSame(TableId existing) const {
  const Repelling& repelling = repelling_[Index(existing)];
  // All pods that have the term are counted there, and no others.
  return repelling.shapes > 0 && repelling.alike &&
         repelling.shapes == shapes_counted_[Index(repelling.matching)];
}

void TopologyTables::FeedRepelling(PodShape& shape) {
  for (const AntiAffinityTerm& term : shape.anti_affinity) {
    if (!repelling_[Index(term.repelling)].is_matching) shape.feeds.push_back(term.repelling);
  }
  PartitionRepelledBy(shape);
}

std::vector<PodShapeId> TopologyTables::Part(TableId existing, PodShapeId newest,
                                             TableId first_new) {
  Repelling& repelling = repelling_[Index(existing)];
  repelling.is_matching = false;
  std::vector<PodShapeId> connected;
  for (uint32_t s = 0; s < Index(newest); ++s) {
    PodShape& shape = catalog_->shapes_[s];
    const auto terms =
        std::ranges::count(shape.anti_affinity, existing, &AntiAffinityTerm::repelling);
    if (terms == 0) continue;
    // New tables are listed last (ClusterSnapshot::CountInNewTables).
    const auto first = std::ranges::find_if(shape.feeds, [&](TableId t) { return t >= first_new; });
    shape.feeds.insert(first, static_cast<size_t>(terms), existing);
    connected.push_back(PodShapeId{s});
  }
  const CounterTable& table = catalog_->tables_[Index(existing)];
  table_index_->ForEachShape(static_cast<uint32_t>(Index(existing)), [&](PodShapeId s) {
    PodShape& shape = catalog_->shapes_[Index(s)];
    if (s == newest || !MatchesAll(table.matchers, shape)) return;
    // Tables of several terms may be replaced by the same one, and each has an entry.
    const auto entry =
        std::ranges::find(shape.repelled_by, repelling.matching, &AffinityTerm::table);
    EBB_DCHECK(entry != shape.repelled_by.end());
    entry->table = existing;
    PartitionRepelledBy(shape);
    connected.push_back(s);
  });
  return connected;
}

void TopologyTables::PartitionRepelledBy(PodShape& shape) {
  std::vector<TableId> own;
  for (const AntiAffinityTerm& term : shape.anti_affinity) own.push_back(term.table);
  std::ranges::sort(own);
  const auto others = std::ranges::stable_partition(
      shape.repelled_by,
      [&](const AffinityTerm& term) { return std::ranges::binary_search(own, term.table); });
  shape.repelled_by_own = static_cast<uint32_t>(shape.repelled_by.size() - others.size());
}

namespace {

// Calls `visit` for every table that counts pods of the shape or that the shape reads.
template <typename Visit>
void ForEachTable(const PodShape& shape, Visit&& visit) {
  for (const TableId table : shape.feeds) visit(table);
  for (const SpreadConstraint& spread : shape.spread) visit(spread.table);
  for (const AffinityTerm& term : shape.affinity) visit(term.table);
  for (const AntiAffinityTerm& term : shape.anti_affinity) visit(term.table);
  for (const AffinityTerm& term : shape.repelled_by) visit(term.table);
}

}  // namespace

// The root of the table's family.  Halves the path on the way, so that paths stay short.
TableId TopologyTables::FamilyOf(TableId table) {
  while (family_[Index(table)] != table) {
    TableId& next = family_[Index(table)];
    next = family_[Index(next)];
    table = next;
  }
  return table;
}

// When two families join, the lower table names the family.  So a new table renames no family of
// older tables, unless it joins two of them.
bool TopologyTables::UniteTablesOf(const PodShape& shape, TableId first_new) {
  for (size_t t = family_.size(); t < catalog_->tables_.size(); ++t) {
    family_.push_back(TableId{static_cast<uint32_t>(t)});
  }
  bool renamed = false;
  std::optional<TableId> family;
  ForEachTable(shape, [&](TableId table) {
    TableId other = FamilyOf(table);
    if (family && other < *family) std::swap(other, *family);
    if (!family) family = other;
    if (other == *family) return;
    family_[Index(other)] = *family;
    renamed = renamed || other < first_new;
  });
  return renamed;
}

void TopologyTables::NameFamily(PodShape& shape) {
  shape.family = kNoFamily;
  ForEachTable(shape, [&](TableId table) {
    shape.family = FamilyId{static_cast<uint32_t>(Index(FamilyOf(table)))};
  });
}

void TopologyTables::NameFamilies() {
  for (PodShape& shape : catalog_->shapes_) NameFamily(shape);
}

}  // namespace ebb
