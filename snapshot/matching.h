// Matching: label selectors, node selectors and tolerations, on interned text.
//
// These pure comparisons are used by the snapshot's topology counters and by the filters
// of predicates/.
//
// Cost:    matching O(requirements x log labels), no allocation.
// Threads: matching is pure.  InternLabels and Compile* change the Symbols (symbols.h).
// Source:  apimachinery labels.Requirement.Matches, metav1.LabelSelectorAsSelector,
//          component-helpers nodeaffinity, api v1 Toleration.ToleratesTaint.

#ifndef EBB_SNAPSHOT_MATCHING_H_
#define EBB_SNAPSHOT_MATCHING_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "snapshot/ids.h"
#include "snapshot/objects/objects.h"
#include "snapshot/symbols.h"

namespace ebb {

struct Label {
  TextId key;
  TextId value;
  friend auto operator<=>(const Label&, const Label&) = default;
};

// Sorted by key; keys are unique.
using LabelSet = std::vector<Label>;

// The last of equal keys wins, as in a JSON object.
LabelSet InternLabels(const objects::KeyValues& labels, Symbols& symbols);

// The value of `key`, or nullopt.
std::optional<TextId> FindLabel(std::span<const Label> labels, TextId key);

enum class Operator : uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

struct LabelRequirement {
  TextId key;
  Operator op;
  std::vector<TextId> values;  // kIn, kNotIn.
  int64_t bound = 0;           // kGt, kLt.
  friend bool operator==(const LabelRequirement&, const LabelRequirement&) = default;
};

// A compiled metav1.LabelSelector.
struct Selector {
  bool nothing = false;                        // A nil selector, which matches nothing.
  std::vector<LabelRequirement> requirements;  // ANDed; an empty list matches everything.

  [[nodiscard]] bool Matches(std::span<const Label> labels) const;
  [[nodiscard]] bool MatchesEverything() const { return !nothing && requirements.empty(); }
  friend bool operator==(const Selector&, const Selector&) = default;
};

// Errors: InvalidArgument if the selector has an unknown operator, In or NotIn without
// values, Exists or DoesNotExist with values, or a key or value that cannot be a
// label's.  The message names the key and, if it is wrong, the operator.
absl::Status CheckSelector(const objects::LabelSelector& selector);

// Errors: as CheckSelector.
absl::StatusOr<Selector> CompileSelector(const objects::LabelSelector& selector, Symbols& symbols);

struct NodeSelectorTerm {
  bool matches_nothing = false;  // The term is empty, or does not parse.
  std::vector<LabelRequirement> labels;
  struct NameRequirement {  // matchFields on metadata.name.
    Operator op;            // kIn or kNotIn.
    TextId name;
  };
  std::vector<NameRequirement> names;
};

NodeSelectorTerm CompileNodeTerm(const objects::NodeSelectorTerm& term, Symbols& symbols);

// `symbols` is needed for Gt and Lt, which read the label's text.
bool MatchesNodeTerm(const NodeSelectorTerm& term, TextId node_name, std::span<const Label> labels,
                     const Symbols& symbols);

// nodeSelector, required node affinity and tolerations: everything that decides where a
// pod may run without looking at other pods.
struct Constraints {
  struct Toleration {
    TextId key;  // kNoText matches any key.
    TextId value;
    bool exists;    // The operator is Exists.
    TextId effect;  // kNoText matches any effect.
  };
  bool has_node_selector = false;
  LabelSet node_selector;
  bool has_node_affinity = false;
  std::vector<NodeSelectorTerm> terms;
  std::vector<Toleration> tolerations;  // Without operators that never match.
  bool names_a_node = false;            // Uses matchFields or the hostname label.

  // Whether nodeSelector or affinity selects values of the label, so the author chose among them.
  bool names_os = false;            // kubernetes.io/os
  bool names_architecture = false;  // kubernetes.io/arch
  // The operating system for which the pod was made: spec.os.name; else, unless names_os, the
  // system of the node where it runs; else kNoText (unknown).  No filter of the scheduler reads it.
  TextId os = kNoText;

  // True if every term names nodes (metadata.name In).  node_names then has the names, sorted; it
  // is empty if the terms contradict each other.  Names count even in terms that match nothing.
  bool only_named_nodes = false;
  std::vector<TextId> node_names;

  // What the profile of the pod's scheduler changes (scheduler_config.h).  MatchesNodeAffinity does
  // not read it: a spread constraint counts nodes by what the pod itself says.
  uint16_t filters_off = 0;  // FilterSet.
  uint16_t pre_filters_off = 0;
  bool has_added_affinity = false;
  std::vector<NodeSelectorTerm> added_terms;  // The node must match one of them.
};

Constraints CompileConstraints(const objects::Pod& pod, Symbols& symbols);
// Adds the terms that a profile adds to the node affinity of its pods.
void AddAffinity(const objects::NodeSelector& added, Symbols& symbols, Constraints& constraints);
// Whether the pod names no operating system, so that it was made for the system of the node where
// it runs.
bool TakesOsOfNode(const objects::Pod& pod);

enum class TaintEffect : uint8_t { kNoSchedule, kNoExecute, kOther };

struct Taint {
  TextId key;
  TextId value;
  TextId effect_text;
  TaintEffect effect;
  friend bool operator==(const Taint&, const Taint&) = default;
};

// Tests nodeSelector and required node affinity.  `symbols`: as for MatchesNodeTerm.
bool MatchesNodeAffinity(const Constraints& constraints, TextId node_name,
                         std::span<const Label> labels, const Symbols& symbols);

// Tests the terms that the profile of the pod's scheduler adds.
bool MatchesAddedAffinity(const Constraints& constraints, TextId node_name,
                          std::span<const Label> labels, const Symbols& symbols);

// Without operators that never match.
std::vector<Constraints::Toleration> CompileTolerations(
    std::span<const objects::Toleration> tolerations, Symbols& symbols);
Taint CompileTaint(const objects::Taint& taint, Symbols& symbols);

bool Tolerates(std::span<const Constraints::Toleration> tolerations, const Taint& taint);
inline bool Tolerates(const Constraints& constraints, const Taint& taint) {
  return Tolerates(constraints.tolerations, taint);
}

// Whether every NoSchedule and NoExecute taint is tolerated.
bool ToleratesAll(std::span<const Constraints::Toleration> tolerations,
                  std::span<const Taint> taints);
inline bool ToleratesAll(const Constraints& constraints, std::span<const Taint> taints) {
  return ToleratesAll(constraints.tolerations, taints);
}

}  // namespace ebb

#endif  // EBB_SNAPSHOT_MATCHING_H_
