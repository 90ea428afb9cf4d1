// Services: the selectors of Services, by namespace.  The scheduler deduces from them which pods
// its default spread constraints count (PodShapes::ApplyProfiles).
//
// Cost:    Put, Remove: O(Services of the namespace).
// Threads: const methods may run concurrently; the others need exclusive access.

#ifndef EBB_SNAPSHOT_SERVICES_H_
#define EBB_SNAPSHOT_SERVICES_H_

#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "snapshot/matching.h"
#include "snapshot/objects/storage_objects.h"
#include "snapshot/symbols.h"

namespace ebb {

// Whether the labels have every key of the selector with its value.
bool SelectsLabels(const LabelSet& selector, const LabelSet& labels);

class Services {
 public:
  struct Service {
    TextId name;
    LabelSet selector;  // Empty: the Service selects no pods, or all; it then says nothing.
  };

  // A second Service of the same name replaces the first.
  void Put(const objects::Service& service, Symbols& symbols);
  void Remove(const objects::Service& service, Symbols& symbols);

  // Whether no Service was put.
  [[nodiscard]] bool empty() const { return by_namespace_.empty(); }
  [[nodiscard]] std::span<const Service> In(TextId namespace_name) const;

 private:
  absl::flat_hash_map<TextId, std::vector<Service>> by_namespace_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_SERVICES_H_
