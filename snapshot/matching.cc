#include "snapshot/matching.h"

#include <algorithm>
#include <initializer_list>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";
constexpr std::string_view kNameField = "metadata.name";

std::optional<Operator> ParseOperator(std::string_view op) {
  if (op == "In") return Operator::kIn;
  if (op == "NotIn") return Operator::kNotIn;
  if (op == "Exists") return Operator::kExists;
  if (op == "DoesNotExist") return Operator::kDoesNotExist;
  if (op == "Gt") return Operator::kGt;
  if (op == "Lt") return Operator::kLt;
  return std::nullopt;
}

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool IsLowerAlphanumeric(char c) { return IsAlphanumeric(c) && !(c >= 'A' && c <= 'Z'); }

// At most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends.
bool IsLabelName(std::string_view text) {
  return !text.empty() && text.size() <= 63 && IsAlphanumeric(text.front()) &&
         IsAlphanumeric(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
           return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsLabelValue(std::string_view text) { return text.empty() || IsLabelName(text); }

bool IsDnsSubdomain(std::string_view text) {
  if (text.size() > 253) return false;
  while (true) {
    const size_t dot = text.find('.');
    const std::string_view part = text.substr(0, dot);
    if (part.empty() || !IsLowerAlphanumeric(part.front()) || !IsLowerAlphanumeric(part.back()) ||
        !std::all_of(part.begin(), part.end(),
                     [](char c) { return IsLowerAlphanumeric(c) || c == '-'; })) {
      return false;
    }
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool IsLabelKey(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsLabelName(text);
  return IsDnsSubdomain(text.substr(0, slash)) && IsLabelName(text.substr(slash + 1));
}

// What labels.NewRequirement checks apart from the number of values: that the texts can be
// labels.  "-4" cannot, so `Gt "-4"` matches nothing.
bool CanBeLabels(const objects::Requirement& requirement) {
  return IsLabelKey(requirement.key) &&
         std::all_of(requirement.values.begin(), requirement.values.end(), IsLabelValue);
}

// What labels.NewRequirement checks about the number of values, and that Gt and Lt have a number.
bool HasRightValues(Operator op, const std::vector<objects::Text>& values) {
  switch (op) {
    case Operator::kIn:
    case Operator::kNotIn:
      return !values.empty();
    case Operator::kExists:
    case Operator::kDoesNotExist:
      return values.empty();
    case Operator::kGt:
    case Operator::kLt:
      return values.size() == 1 && ParseInt64(values[0]).has_value();
  }
  return false;
}

LabelRequirement Compile(const objects::Requirement& from, Operator op, Symbols& symbols) {
  LabelRequirement to{.key = symbols.Intern(from.key), .op = op, .values = {}};
  if (op == Operator::kGt || op == Operator::kLt) {
    to.bound = ParseInt64(from.values[0]).value();  // HasRightValues() has checked it.
    return to;
  }
  for (const objects::Text value : from.values) to.values.push_back(symbols.Intern(value));
  std::ranges::sort(to.values);
  const auto rest = std::ranges::unique(to.values);
  to.values.erase(rest.begin(), rest.end());
  return to;
}

bool Contains(const std::vector<TextId>& sorted, TextId value) {
  return std::ranges::binary_search(sorted, value);
}

// All operators but Gt and Lt, which only node selectors have.
bool MatchesSet(const LabelRequirement& requirement, std::span<const Label> labels) {
  const std::optional<TextId> value = FindLabel(labels, requirement.key);
  switch (requirement.op) {
    case Operator::kIn:
      return value && Contains(requirement.values, *value);
    case Operator::kNotIn:
      return !value || !Contains(requirement.values, *value);
    case Operator::kExists:
      return value.has_value();
    case Operator::kDoesNotExist:
      return !value;
    default:
      return false;
  }
}

bool MatchesNumber(const LabelRequirement& requirement, std::span<const Label> labels,
                   const Symbols& symbols) {
  const std::optional<TextId> text = FindLabel(labels, requirement.key);
  if (!text) return false;
  const std::optional<int64_t> value = ParseInt64(symbols.Text(*text));
  if (!value) return false;
  return requirement.op == Operator::kGt ? *value > requirement.bound : *value < requirement.bound;
}

// Adds one entry of matchFields to `term`.  Returns false if the entry does not parse.
bool CompileField(const objects::Requirement& field, Symbols& symbols, NodeSelectorTerm& term) {
  const std::optional<Operator> op = ParseOperator(field.op);
  if ((op != Operator::kIn && op != Operator::kNotIn) || field.values.size() != 1) return false;
  if (field.key == kNameField) {
    term.names.push_back({*op, symbols.Intern(field.values[0])});
    return true;
  }
  // Any other field of a node reads as the empty text.
  const bool equal = field.values[0].empty();
  if (equal != (*op == Operator::kIn)) term.matches_nothing = true;
  return true;
}

// The names that a term selects with In, as the intersection of its entries; nullopt if no
// entry selects names with In.
std::optional<std::vector<TextId>> NamesOf(const objects::NodeSelectorTerm& term,
                                           Symbols& symbols) {
  std::optional<std::vector<TextId>> names;
  for (const objects::Requirement& field : term.match_fields) {
    if (field.key != kNameField || field.op != "In") continue;
    std::vector<TextId> more;
    for (const objects::Text value : field.values) more.push_back(symbols.Intern(value));
    std::ranges::sort(more);
    if (names) std::erase_if(more, [&](TextId name) { return !Contains(*names, name); });
    names = std::move(more);
  }
  return names;
}

void CollectNodeNames(const objects::NodeSelector& affinity, Symbols& symbols,
                      Constraints& constraints) {
  std::vector<TextId>& all = constraints.node_names;
  for (const objects::NodeSelectorTerm& term : affinity.terms) {
    const std::optional<std::vector<TextId>> names = NamesOf(term, symbols);
    if (!names) {
      all.clear();
      return;
    }
    all.insert(all.end(), names->begin(), names->end());
  }
  constraints.only_named_nodes = !affinity.terms.empty();
  std::sort(all.begin(), all.end());
}

absl::Status NoLabel(std::string_view key) {
  return absl::InvalidArgumentError(
      absl::StrCat("key \"", Absl(key), "\" or a value for it cannot be a label"));
}

bool NamesANode(const Constraints& constraints, TextId hostname) {
  if (FindLabel(constraints.node_selector, hostname)) return true;
  for (const NodeSelectorTerm& term : constraints.terms) {
    if (!term.names.empty()) return true;
    for (const LabelRequirement& requirement : term.labels) {
      if (requirement.key == hostname) return true;
    }
  }
  return false;
}

}  // namespace

LabelSet InternLabels(const objects::KeyValues& labels, Symbols& symbols) {
  LabelSet set;
  set.reserve(labels.size());
  for (const auto& [key, value] : labels)
    set.push_back({symbols.Intern(key), symbols.Intern(value)});
  std::stable_sort(set.begin(), set.end(), [](Label a, Label b) { return a.key < b.key; });
  auto last =
      std::unique(set.rbegin(), set.rend(), [](Label a, Label b) { return a.key == b.key; });
  set.erase(set.begin(), last.base());
  return set;
}

std::optional<TextId> FindLabel(std::span<const Label> labels, TextId key) {
  const auto it = std::lower_bound(labels.begin(), labels.end(), key,
                                   [](const Label& label, TextId k) { return label.key < k; });
  if (it == labels.end() || it->key != key) return std::nullopt;
  return it->value;
}

bool Selector::Matches(std::span<const Label> labels) const {
  if (nothing) return false;
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const LabelRequirement& r) { return MatchesSet(r, labels); });
}

absl::Status CheckSelector(const objects::LabelSelector& selector) {
  for (const auto& [key, value] : selector.match_labels) {
    if (!IsLabelKey(key) || !IsLabelValue(value)) return NoLabel(key);
  }
  for (const objects::Requirement& expression : selector.match_expressions) {
    const std::optional<Operator> op = ParseOperator(expression.op);
    if (!op || op == Operator::kGt || op == Operator::kLt) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", Absl(expression.op), "\" is not a valid label selector operator (key \"",
          Absl(expression.key), "\")"));
    }
    if (!HasRightValues(*op, expression.values)) {
      return absl::InvalidArgumentError(absl::StrCat("operator ", Absl(expression.op), " on key \"",
                                                     Absl(expression.key), "\" has ",
                                                     expression.values.size(), " values"));
    }
    if (!CanBeLabels(expression)) return NoLabel(expression.key);
  }
  return absl::OkStatus();
}

absl::StatusOr<Selector> CompileSelector(const objects::LabelSelector& selector, Symbols& symbols) {
  if (absl::Status status = CheckSelector(selector); !status.ok()) return status;
  Selector compiled;
  compiled.nothing = selector.nil;
  for (const auto& [key, value] : selector.match_labels) {
    compiled.requirements.push_back(
        {.key = symbols.Intern(key), .op = Operator::kIn, .values = {symbols.Intern(value)}});
  }
  for (const objects::Requirement& expression : selector.match_expressions) {
    compiled.requirements.push_back(
        Compile(expression, ParseOperator(expression.op).value(), symbols));
  }
  return compiled;
}

NodeSelectorTerm CompileNodeTerm(const objects::NodeSelectorTerm& from, Symbols& symbols) {
  NodeSelectorTerm term;
  term.matches_nothing = from.match_expressions.empty() && from.match_fields.empty();
  for (const objects::Requirement& expression : from.match_expressions) {
    const std::optional<Operator> op = ParseOperator(expression.op);
    if (!op || !HasRightValues(*op, expression.values) || !CanBeLabels(expression)) {
      term.matches_nothing = true;
      continue;
    }
    term.labels.push_back(Compile(expression, *op, symbols));
  }
  for (const objects::Requirement& field : from.match_fields) {
    if (!CompileField(field, symbols, term)) term.matches_nothing = true;
  }
  return term;
}

bool MatchesNodeTerm(const NodeSelectorTerm& term, TextId node_name, std::span<const Label> labels,
                     const Symbols& symbols) {
  if (term.matches_nothing) return false;
  for (const LabelRequirement& requirement : term.labels) {
    const bool number = requirement.op == Operator::kGt || requirement.op == Operator::kLt;
    if (!(number ? MatchesNumber(requirement, labels, symbols) : MatchesSet(requirement, labels))) {
      return false;
    }
  }
  for (const NodeSelectorTerm::NameRequirement& requirement : term.names) {
    if ((requirement.name == node_name) != (requirement.op == Operator::kIn)) return false;
  }
  return true;
}

namespace {

// Whether the pod's author chose among the values of the label, which has one of the names `keys`:
// nodeSelector, or every term of the node affinity, selects values of it.
bool NamesLabel(const objects::Pod& pod, std::initializer_list<std::string_view> keys) {
  const auto is_key = [&](std::string_view key) {
    return std::ranges::find(keys, key) != keys.end();
  };
  const auto chooses = [&](const objects::Requirement& each) {
    return is_key(each.key) && (each.op == "In" || each.op == "NotIn");
  };
  if (std::ranges::any_of(pod.node_selector, is_key, &objects::KeyValue::key)) return true;
  const std::vector<objects::NodeSelectorTerm>& terms = pod.required_node_affinity.terms;
  return !terms.empty() && std::ranges::all_of(terms, [&](const objects::NodeSelectorTerm& term) {
    return std::ranges::any_of(term.match_expressions, chooses);
  });
}

bool NamesOs(const objects::Pod& pod) { return NamesLabel(pod, {kOsLabel, kBetaOsLabel}); }

}  // namespace

bool TakesOsOfNode(const objects::Pod& pod) { return pod.os_name.empty() && !NamesOs(pod); }

Constraints CompileConstraints(const objects::Pod& pod, Symbols& symbols) {
  Constraints constraints;
  constraints.has_node_selector = pod.has_node_selector;
  constraints.node_selector = InternLabels(pod.node_selector, symbols);
  constraints.has_node_affinity = !pod.required_node_affinity.nil;
  for (const objects::NodeSelectorTerm& term : pod.required_node_affinity.terms) {
    constraints.terms.push_back(CompileNodeTerm(term, symbols));
  }
  constraints.tolerations = CompileTolerations(pod.tolerations, symbols);
  CollectNodeNames(pod.required_node_affinity, symbols, constraints);
  constraints.names_a_node =
      constraints.only_named_nodes || NamesANode(constraints, symbols.Intern(kHostnameLabel));
  constraints.names_os = NamesOs(pod);
  constraints.names_architecture = NamesLabel(pod, {kArchitectureLabel, kBetaArchitectureLabel});
  constraints.os = symbols.Intern(pod.os_name);
  return constraints;
}

void AddAffinity(const objects::NodeSelector& added, Symbols& symbols, Constraints& constraints) {
  if (added.nil) return;
  constraints.has_added_affinity = true;
  const TextId hostname = symbols.Intern(kHostnameLabel);
  for (const objects::NodeSelectorTerm& term : added.terms) {
    const NodeSelectorTerm& one =
        constraints.added_terms.emplace_back(CompileNodeTerm(term, symbols));
    constraints.names_a_node |=
        !one.names.empty() ||
        std::ranges::find(one.labels, hostname, &LabelRequirement::key) != one.labels.end();
  }
}

bool MatchesNodeAffinity(const Constraints& constraints, TextId node_name,
                         std::span<const Label> labels, const Symbols& symbols) {
  for (const Label& wanted : constraints.node_selector) {
    if (FindLabel(labels, wanted.key) != wanted.value) return false;
  }
  if (!constraints.has_node_affinity) return true;
  return std::any_of(constraints.terms.begin(), constraints.terms.end(),
                     [&](const NodeSelectorTerm& term) {
                       return MatchesNodeTerm(term, node_name, labels, symbols);
                     });
}

bool MatchesAddedAffinity(const Constraints& constraints, TextId node_name,
                          std::span<const Label> labels, const Symbols& symbols) {
  return !constraints.has_added_affinity ||
         std::ranges::any_of(constraints.added_terms, [&](const NodeSelectorTerm& term) {
           return MatchesNodeTerm(term, node_name, labels, symbols);
         });
}

std::vector<Constraints::Toleration> CompileTolerations(
    std::span<const objects::Toleration> tolerations, Symbols& symbols) {
  std::vector<Constraints::Toleration> compiled;
  for (const objects::Toleration& toleration : tolerations) {
    const bool exists = toleration.op == "Exists";
    if (!exists && !toleration.op.empty() && toleration.op != "Equal") continue;
    compiled.push_back({.key = symbols.Intern(toleration.key),
                        .value = symbols.Intern(toleration.value),
                        .exists = exists,
                        .effect = symbols.Intern(toleration.effect)});
  }
  return compiled;
}

Taint CompileTaint(const objects::Taint& taint, Symbols& symbols) {
  TaintEffect effect = TaintEffect::kOther;
  if (taint.effect == "NoSchedule") effect = TaintEffect::kNoSchedule;
  if (taint.effect == "NoExecute") effect = TaintEffect::kNoExecute;
  return {.key = symbols.Intern(taint.key),
          .value = symbols.Intern(taint.value),
          .effect_text = symbols.Intern(taint.effect),
          .effect = effect};
}

bool Tolerates(std::span<const Constraints::Toleration> tolerations, const Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Constraints::Toleration& toleration) {
                       if (toleration.effect != kNoText && toleration.effect != taint.effect_text) {
                         return false;
                       }
                       if (toleration.key != kNoText && toleration.key != taint.key) return false;
                       return toleration.exists || toleration.value == taint.value;
                     });
}

bool ToleratesAll(std::span<const Constraints::Toleration> tolerations,
                  std::span<const Taint> taints) {
  return std::all_of(taints.begin(), taints.end(), [&](const Taint& taint) {
    return taint.effect == TaintEffect::kOther || Tolerates(tolerations, taint);
  });
}

}  // namespace ebb
