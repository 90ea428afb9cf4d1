#include "what_if/apply_what_if.h"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "what_if/strategic_merge.h"

namespace ebb {
namespace {

// Collects the lines about patches without effect.
class EffectNotes {
 public:
  EffectNotes(const WhatIf& what_if, std::vector<ObjectName> unchanged,
              std::vector<PatchedCluster::FieldWithoutEffect> fields)
      : what_if_(what_if), unchanged_(std::move(unchanged)), fields_(std::move(fields)) {}

  std::vector<std::string> Make(const ClusterSnapshot& before) && {
    constexpr std::string_view kNothing = "the patch changes nothing that a decision reads";
    for (const ObjectPatch& patch : what_if_.objects) {
      if (!AddFields(patch.of, {patch.of}) && IsUnchanged(patch.of)) Add(patch.of, kNothing);
    }
    for (const WorkloadPatch& workload : what_if_.workloads) {
      const std::vector<ObjectName> pods = PodsOf(workload.of, before);
      if (!AddFields(workload.of, {pods.begin(), pods.end()}) &&
          std::ranges::all_of(pods, [&](const ObjectName& pod) { return IsUnchanged(pod); })) {
        Add(workload.of, kNothing);
      }
    }
    return std::move(notes_);
  }

 private:
  [[nodiscard]] bool IsUnchanged(const ObjectName& name) const {
    return std::ranges::binary_search(unchanged_, name);
  }

  void Add(const ObjectName& of, std::string_view what) {
    notes_.push_back(absl::StrCat(what_if_.file, ": ", of.Text(), ": ", Absl(what)));
  }

  // False: all fields of the patches of `objects` have an effect.
  bool AddFields(const ObjectName& of, const std::set<ObjectName>& objects) {
    std::vector<std::string> named;
    for (const auto& [object, field] : fields_) {
      if (!objects.contains(object) || std::ranges::find(named, field) != named.end()) continue;
      named.push_back(field);
      const std::string_view instead = PatchInstead(object.kind, field);
      Add(of, absl::StrCat("no decision reads ", Printable(field),
                           instead.empty() ? "" : "; patch ", Absl(instead)));
    }
    return !named.empty();
  }

  const WhatIf& what_if_;
  const std::vector<ObjectName> unchanged_;  // Sorted.
  const std::vector<PatchedCluster::FieldWithoutEffect> fields_;
  std::vector<std::string> notes_;
};

absl::StatusOr<std::vector<std::string>> Apply(const WhatIf& what_if, const ClusterSnapshot& before,
                                               PatchedCluster& patched) {
  const absl::StatusOr<std::vector<ObjectPatch>> patches = PatchesOf(what_if, before, patched);
  if (!patches.ok()) return patches.status();
  if (absl::Status s = patched.Apply(*patches); !s.ok()) return s;
  absl::StatusOr<std::vector<ObjectName>> unchanged = patched.Unchanged();
  if (!unchanged.ok()) return unchanged.status();
  absl::StatusOr<std::vector<PatchedCluster::FieldWithoutEffect>> fields =
      patched.WithoutEffect(*patches);
  if (!fields.ok()) return fields.status();
  return EffectNotes(what_if, *std::move(unchanged), *std::move(fields)).Make(before);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ApplyWhatIf(const WhatIf& what_if,
                                                     const ClusterSnapshot& before,
                                                     PatchedCluster& patched) {
  absl::StatusOr<std::vector<std::string>> notes = Apply(what_if, before, patched);
  if (notes.ok()) return notes;
  return absl::Status(notes.status().code(),
                      absl::StrCat(what_if.file, ": ", notes.status().message()));
}

}  // namespace ebb
