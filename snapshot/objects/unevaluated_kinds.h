// The list of kinds that ebb does not evaluate although they may matter to a plan: a NodePool's
// disruption budgets, a VerticalPodAutoscaler's recommendation.  For objects of such a kind ebb
// reports a warning with a count and a name (import/unevaluated_warnings.h).  It ignores objects of
// all other kinds that it does not read (Deployments, ConfigMaps, EC2NodeClasses), because they
// decide nothing.
//
// To add a kind, add a row in the .cc file; if its code is new, also add the code to docs/input.md.
//
// Threads: constants.  An UnevaluatedObjects needs exclusive access.

#ifndef EBB_SNAPSHOT_OBJECTS_UNEVALUATED_KINDS_H_
#define EBB_SNAPSHOT_OBJECTS_UNEVALUATED_KINDS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

struct UnevaluatedKind {
  std::string_view group;  // "*": any group of custom resources.
  std::string_view kind;   // For group "*": the end of the kind's name.
  std::string_view code;   // InputWarning::code; several kinds may share one.
  std::string_view why;    // How the plan's assumptions may be wrong.
};

// Null if ebb reads the kind, or no decision depends on it.
// Cost: a comparison for each row.
const UnevaluatedKind* FindUnevaluatedKind(std::string_view api_version, std::string_view kind);

// Every row.  Warnings have the same order.
std::span<const UnevaluatedKind> UnevaluatedKinds();

// The objects of such kinds, each once.  Cost: some 100 bytes per object.
class UnevaluatedObjects {
 public:
  // Put and Erase return whether anything changed.  Other API versions of an object are the same
  // object.  A kind that is not in the list is ignored.
  bool Put(const ObjectSink::Unevaluated& object);
  // An empty apiVersion matches any.
  bool Erase(const ObjectSink::Unevaluated& object);
  [[nodiscard]] bool empty() const { return objects_.empty(); }
  // Calls `visit` for each object, by group, kind, namespace and name, until it returns an error.
  absl::Status ForEach(
      absl::FunctionRef<absl::Status(const ObjectSink::Unevaluated& object)> visit) const;
  // The number of distinct kinds.
  [[nodiscard]] size_t Kinds() const;

 private:
  struct Name {
    std::string group;
    std::string kind;
    std::string namespace_name;
    std::string name;
    friend auto operator<=>(const Name&, const Name&) = default;
  };
  static Name NameOf(const ObjectSink::Unevaluated& object);

  std::map<Name, std::string> objects_;  // The value is the apiVersion.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_UNEVALUATED_KINDS_H_
