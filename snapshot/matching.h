// Matching: label selectors, node selectors, tolerations, on interned text.
//
// These are the pure comparisons that both the snapshot's topology counters and
// the filters of predicates/ are built from.
//
// Cost:    matching O(requirements x log labels), no allocation.
// Threads: matching is pure.  InternLabels and Compile* change the Symbols: one at a time.
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
  bool nothing = false;                        // A nil selector.
  std::vector<LabelRequirement> requirements;  // ANDed; none matches everything.

  [[nodiscard]] bool Matches(std::span<const Label> labels) const;
  [[nodiscard]] bool MatchesEverything() const { return !nothing && requirements.empty(); }
  friend bool operator==(const Selector&, const Selector&) = default;
};

// What makes a selector unreadable: an operator that is none, In or NotIn without
// values, Exists or DoesNotExist with values, a key or value that cannot be a
// label's.  The message names the operator and the key.
absl::Status CheckSelector(const objects::LabelSelector& selector);

// Errors: as CheckSelector.
absl::StatusOr<Selector> CompileSelector(const objects::LabelSelector& selector, Symbols& symbols);

struct NodeSelectorTerm {
  bool matches_nothing = false;  // Empty, or unparsable.
  std::vector<LabelRequirement> labels;
  struct NameRequirement {  // matchFields on metadata.name.
    Operator op;            // kIn or kNotIn.
    TextId name;
  };
  std::vector<NameRequirement> names;
};

NodeSelectorTerm CompileNodeTerm(const objects::NodeSelectorTerm& term, Symbols& symbols);

// `symbols` serves Gt and Lt, which read the label's text.
bool MatchesNodeTerm(const NodeSelectorTerm& term, TextId node_name, std::span<const Label> labels,
                     const Symbols& symbols);

// nodeSelector, required node affinity and tolerations: all that decides where a
// pod may run without looking at what runs there.
struct Constraints {
  struct Toleration {
    TextId key;  // kNoText: any key.
    TextId value;
    bool exists;    // operator Exists.
    TextId effect;  // kNoText: any effect.
  };
  bool has_node_selector = false;
  LabelSet node_selector;
  bool has_node_affinity = false;
  std::vector<NodeSelectorTerm> terms;
  std::vector<Toleration> tolerations;  // Operators that never match are left out.
  bool names_a_node = false;            // matchFields, or the hostname label, are asked for.

  // Whether node selector or affinity name it, so that the author chose among them.
  bool names_os = false;            // kubernetes.io/os
  bool names_architecture = false;  // kubernetes.io/arch
  // The operating system for which the pod was made: spec.os.name, else that of the node where it
  // runs, unless names_os.  kNoText: not known.  No filter of the scheduler's reads it.
  TextId os = kNoText;

  // Every term asks for nodes by name (metadata.name In): the names, sorted.  None:
  // the terms contradict each other.  Taken literally, also of terms that match nothing.
  bool only_named_nodes = false;
  std::vector<TextId> node_names;
};

Constraints CompileConstraints(const objects::Pod& pod, Symbols& symbols);
// Whether the pod says nothing of operating systems: it was made for that of the node where it
// runs.
bool TakesOsOfNode(const objects::Pod& pod);

enum class TaintEffect : uint8_t { kNoSchedule, kNoExecute, kOther };

struct Taint {
  TextId key;
  TextId value;
  TextId effect_text;
  TaintEffect effect;
  friend bool operator==(const Taint&, const Taint&) = default;
};

// nodeSelector and required node affinity.  `symbols`: as for MatchesNodeTerm.
bool MatchesNodeAffinity(const Constraints& constraints, TextId node_name,
                         std::span<const Label> labels, const Symbols& symbols);

bool Tolerates(const Constraints& constraints, const Taint& taint);

// True if every NoSchedule and NoExecute taint is tolerated.
bool ToleratesAll(const Constraints& constraints, std::span<const Taint> taints);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_MATCHING_H_
