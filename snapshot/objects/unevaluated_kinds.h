// The one list of kinds that ebb does not evaluate and that may matter to a plan: a NodePool's
// disruption budgets, a VerticalPodAutoscaler's recommendation.  An object of such a kind becomes a
// warning with a count and a name (import/unevaluated_warnings.h); objects of every other kind that
// ebb does not read (Deployments, ConfigMaps, EC2NodeClasses) decide nothing and are passed over.
//
// To add a kind write a row in the .cc file, and in docs/input.md where its code is new.
//
// Threads: constants; an UnevaluatedObjects one at a time.

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
  std::string_view kind;   // Of "*" the end of the kind.
  std::string_view code;   // InputWarning::code; several kinds may have one.
  std::string_view why;    // What may be otherwise than the plan assumes.
};

// Null: the kind is read, or no decision depends on it.
// Cost: a comparison for each row.
const UnevaluatedKind* FindUnevaluatedKind(std::string_view api_version, std::string_view kind);

// Every row, the order of which is that of warnings.
std::span<const UnevaluatedKind> UnevaluatedKinds();

// Objects of such kinds, each once.  Cost: some 100 bytes an object.
class UnevaluatedObjects {
 public:
  // Both return whether anything changed.  Another version of the API is the same object; a
  // kind that is not in the list is passed over.
  bool Put(const ObjectSink::Unevaluated& object);
  // An empty apiVersion is any.
  bool Erase(const ObjectSink::Unevaluated& object);
  [[nodiscard]] bool empty() const { return objects_.empty(); }
  // Calls `visit` with each, by group, kind, namespace and name, until it returns an error.
  absl::Status ForEach(
      absl::FunctionRef<absl::Status(const ObjectSink::Unevaluated& object)> visit) const;
  // How many kinds there are.
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

  std::map<Name, std::string> objects_;  // The apiVersion.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_OBJECTS_UNEVALUATED_KINDS_H_
