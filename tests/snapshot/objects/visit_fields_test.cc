#include "snapshot/objects/visit_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ebb::visit_fields_test {
namespace {

using objects::Text;
using ::testing::ElementsAre;

template <typename Struct>
std::vector<std::string> NamesOf(const Struct& object) {
  std::vector<std::string> names;
  objects::VisitFields(object, [&](Text name, const auto&) { names.emplace_back(name); });
  return names;
}

TEST(VisitFieldsTest, FieldsComeInTheOrderOfDeclarationWithTheirNames) {
  EXPECT_THAT(NamesOf(objects::Taint()), ElementsAre("key", "value", "effect"));
  EXPECT_THAT(NamesOf(objects::Namespace()), ElementsAre("meta"));
  const std::vector<std::string> pod = NamesOf(objects::Pod());
  EXPECT_EQ(pod.front(), "meta");
  EXPECT_EQ(pod[1], "node_name");
  EXPECT_EQ(pod.back(), "not_understood");
}

TEST(VisitFieldsTest, AVisitorCanReadAndChangeFields) {
  objects::Taint taint{"k", "v", "e"};
  objects::VisitFields(taint, [](Text name, Text& field) { field = name; });
  const objects::Taint& read = taint;
  std::vector<Text> values;
  objects::VisitFields(read, [&](Text, const Text& field) { values.push_back(field); });
  EXPECT_THAT(values, ElementsAre("key", "value", "effect"));
}

// A reader resets these structs field by field (Renew in snapshot/formats/object_fields.h).
template <typename Struct>
void ExpectDefaultsOfTypes() {
  const Struct object;
  objects::VisitFields(object, []<typename Field>(Text name, const Field& field) {
    if constexpr (requires { field.empty(); }) {
      EXPECT_TRUE(field.empty()) << name;
    } else if constexpr (!objects::HasFields<Field>) {
      EXPECT_EQ(field, Field()) << name;
    }
  });
}

TEST(VisitFieldsTest, NodesAndPodsHaveNoDefaultOtherThanThatOfTheType) {
  ExpectDefaultsOfTypes<objects::ObjectMeta>();
  ExpectDefaultsOfTypes<objects::Node>();
  ExpectDefaultsOfTypes<objects::Pod>();
}

}  // namespace
}  // namespace ebb::visit_fields_test
