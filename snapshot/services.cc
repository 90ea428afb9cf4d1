#include "snapshot/services.h"

#include <algorithm>

namespace ebb {

bool SelectsLabels(const LabelSet& selector, const LabelSet& labels) {
  return std::ranges::includes(labels, selector);
}

void Services::Put(const objects::Service& service, Symbols& symbols) {
  Remove(service, symbols);
  by_namespace_[symbols.Intern(service.meta.namespace_name)].push_back(
      {symbols.Intern(service.meta.name), InternLabels(service.selector, symbols)});
}

void Services::Remove(const objects::Service& service, Symbols& symbols) {
  const auto found = by_namespace_.find(symbols.Intern(service.meta.namespace_name));
  if (found == by_namespace_.end()) return;
  const TextId name = symbols.Intern(service.meta.name);
  std::erase_if(found->second, [&](const Service& each) { return each.name == name; });
  if (found->second.empty()) by_namespace_.erase(found);
}

std::span<const Services::Service> Services::In(TextId namespace_name) const {
  const auto found = by_namespace_.find(namespace_name);
  if (found == by_namespace_.end()) return {};
  return found->second;
}

}  // namespace ebb
