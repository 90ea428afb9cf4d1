#include "snapshot/dying_machines.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"

namespace ebb {
namespace {

std::string NameOfMachine(const objects::Machine& machine) {
  const objects::ObjectMeta& meta = machine.meta;
  return absl::StrCat("Machine ", Absl(meta.namespace_name), meta.namespace_name.empty() ? "" : "/",
                      Absl(meta.name));
}

// Whether the machine is about to go.
bool IsGoing(const objects::Machine& machine) { return machine.meta.deletion_time.has_value(); }
bool IsGoing(const objects::NodeClaim& claim) {
  return claim.meta.deletion_time ||
         std::ranges::any_of(claim.conditions, [](const auto& condition) {
           return condition.type == "InstanceTerminating" && condition.status == "True";
         });
}

std::string NameOfMachine(const objects::NodeClaim& claim) {
  return absl::StrCat("NodeClaim ", Absl(claim.meta.name));
}

}  // namespace

template <typename Kind>
void DyingMachines::Add(const Kind& machine, Symbols& symbols) {
  const bool named = !machine.node_name.empty();
  if (!IsGoing(machine) || (!named && machine.provider_id.empty())) return;
  std::vector<std::string>& names = named ? by_node_[symbols.Intern(machine.node_name)]
                                          : by_provider_id_[symbols.Intern(machine.provider_id)];
  std::string name = NameOfMachine(machine);
  names.insert(std::ranges::upper_bound(names, name), std::move(name));
}

template <typename Kind>
void DyingMachines::Drop(const Kind& machine, Symbols& symbols) {
  const bool named = !machine.node_name.empty();
  if (!IsGoing(machine) || (!named && machine.provider_id.empty())) return;
  Names& from = named ? by_node_ : by_provider_id_;
  const auto it = from.find(symbols.Intern(named ? machine.node_name : machine.provider_id));
  EBB_CHECK(it != from.end());
  std::vector<std::string>& names = it->second;
  names.erase(std::ranges::find(names, NameOfMachine(machine)));
  if (names.empty()) from.erase(it);
}

void DyingMachines::Put(const objects::Machine& machine, Symbols& symbols) {
  Add(machine, symbols);
}
void DyingMachines::Put(const objects::NodeClaim& claim, Symbols& symbols) { Add(claim, symbols); }
void DyingMachines::Remove(const objects::Machine& machine, Symbols& symbols) {
  Drop(machine, symbols);
}
void DyingMachines::Remove(const objects::NodeClaim& claim, Symbols& symbols) {
  Drop(claim, symbols);
}

const std::string* DyingMachines::Of(TextId node_name, TextId provider_id) const {
  if (empty()) return nullptr;
  if (const auto it = by_node_.find(node_name); it != by_node_.end()) return &it->second.front();
  if (provider_id == kNoText) return nullptr;
  const auto it = by_provider_id_.find(provider_id);
  return it == by_provider_id_.end() ? nullptr : &it->second.front();
}

}  // namespace ebb
