// Objects in which every field is set, for tests that no field is forgotten.  Both functions go by
// the table of fields (visit_fields.h), so a new field is tested without an edit here.

#ifndef EBB_TESTS_SUPPORT_EVERY_FIELD_H_
#define EBB_TESTS_SUPPORT_EVERY_FIELD_H_

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "snapshot/objects/visit_fields.h"

namespace ebb::testing {

// Sets a field, and every field within it, to a value that is not its default: a text to the
// field's name, a list to one entry.
class Filler {
 public:
  void operator()(objects::Text name, objects::Text& text) const { text = name; }
  void operator()(objects::Text name, bool& flag) const { flag = name != "nil"; }
  template <std::integral Number>
  void operator()(objects::Text /*name*/, Number& number) const {
    number = 7;
  }
  void operator()(objects::Text /*name*/, objects::ControllerKind& kind) const {
    kind = objects::ControllerKind::kJob;
  }
  void operator()(objects::Text /*name*/, objects::Scheduling& scheduling) const {
    scheduling = objects::Scheduling::kGated;
  }
  template <typename T>
  void operator()(objects::Text name, std::optional<T>& value) const {
    (*this)(name, value.emplace());
  }
  template <typename T>
  void operator()(objects::Text name, std::vector<T>& list) const {
    (*this)(name, list.emplace_back());
  }
  template <objects::HasFields Struct>
  void operator()(objects::Text /*name*/, Struct& object) const {
    objects::VisitFields(object, *this);
  }
};

template <objects::HasFields Struct>
Struct Filled() {
  Struct object;
  Filler()("", object);
  return object;
}

// Counts the fields of an object, those of structs and entries within it included, and empties
// the one that has the number `target`.
class Emptier {
 public:
  explicit Emptier(size_t target) : target_(target) {}

  template <typename Field>
  void operator()(objects::Text name, Field& field) {
    if constexpr (objects::HasFields<Field>) {
      objects::VisitFields(field, *this);
    } else if (at_++ == target_) {
      emptied_ = name;
      if constexpr (std::is_same_v<Field, bool>) {
        field = !field;
      } else {
        field = Field();
      }
    } else {
      Within(name, field);
    }
  }

  // The name of the field; empty if the object has fewer fields.
  const std::string& emptied() const { return emptied_; }

 private:
  template <typename Field>
  void Within(objects::Text /*name*/, Field& /*field*/) {}
  template <typename T>
  void Within(objects::Text name, std::optional<T>& value) {
    if (value.has_value()) Within(name, *value);
  }
  template <typename T>
  void Within(objects::Text name, std::vector<T>& list) {
    for (T& each : list) Within(name, each);
  }
  template <objects::HasFields Struct>
  void Within(objects::Text /*name*/, Struct& object) {
    objects::VisitFields(object, *this);
  }

  const size_t target_;
  size_t at_ = 0;
  std::string emptied_;
};

// Calls check(name, object) for each field, with a copy of the object in which the field is empty.
template <objects::HasFields Struct, typename Check>
void ForEachFieldEmptied(const Struct& full, Check&& check) {
  for (size_t target = 0;; ++target) {
    Struct object = full;
    Emptier emptier(target);
    objects::VisitFields(object, emptier);
    if (emptier.emptied().empty()) return;
    check(emptier.emptied(), object);
  }
}

// Calls visit(object) with an object of each kind in which every field is set.
template <typename Visit>
void ForEachKindFilled(Visit&& visit) {
  visit(Filled<objects::Node>());
  visit(Filled<objects::Pod>());
  visit(Filled<objects::PodDisruptionBudget>());
  visit(Filled<objects::Controller>());
  visit(Filled<objects::Namespace>());
  [&]<typename... Kind>(std::type_identity<std::variant<Kind...>>) {
    (visit(Filled<Kind>()), ...);
  }(std::type_identity<objects::StorageObject>());
}

}  // namespace ebb::testing

#endif  // EBB_TESTS_SUPPORT_EVERY_FIELD_H_
