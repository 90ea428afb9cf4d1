#include "snapshot/objects/unevaluated_kinds.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace ebb::unevaluated_kinds_test {
namespace {

std::string_view CodeOf(std::string_view api_version, std::string_view kind) {
  const UnevaluatedKind* const row = FindUnevaluatedKind(api_version, kind);
  return row == nullptr ? std::string_view() : row->code;
}

TEST(UnevaluatedKindsTest, KindsThatMayMatterHaveACode) {
  EXPECT_EQ(CodeOf("karpenter.sh/v1alpha5", "Provisioner"), "NodePoolsNotEvaluated");
  EXPECT_EQ(CodeOf("karpenter.sh/v1", "Provisioner"), "NodePoolsNotEvaluated");
  for (const char* group : {"scheduling.sigs.k8s.io", "scheduling.run.ai"}) {
    EXPECT_EQ(CodeOf(absl::StrCat(group, "/v1alpha1"), "PodGroup"), "PodGroupsNotEvaluated");
  }
  EXPECT_EQ(CodeOf("example.org/v1", "ShardDisruptionBudget"), "CustomBudgetsNotEvaluated");
}

TEST(UnevaluatedKindsTest, KindsThatDecideNothingHaveNone) {
  EXPECT_EQ(CodeOf("apps/v1", "Deployment"), "");
  EXPECT_EQ(CodeOf("karpenter.k8s.aws/v1", "EC2NodeClass"), "");
  EXPECT_EQ(CodeOf("policy/v1", "PodDisruptionBudget"), "");
  EXPECT_EQ(CodeOf("v1", "Provisioner"), "");
  EXPECT_EQ(CodeOf("cloud.google.com/v1", "Provisioner"), "");
}

std::string TextOf(const UnevaluatedObjects& objects) {
  std::string text;
  EXPECT_TRUE(objects
                  .ForEach([&](const ObjectSink::Unevaluated& object) {
                    absl::StrAppend(&text, text.empty() ? "" : " ", Absl(object.kind), ":",
                                    Absl(object.namespace_name), "/", Absl(object.name));
                    return absl::OkStatus();
                  })
                  .ok());
  return text;
}

TEST(UnevaluatedObjectsTest, AnObjectInTwoVersionsCountsOnce) {
  UnevaluatedObjects objects;
  EXPECT_TRUE(objects.Put({"karpenter.sh/v1", "Provisioner", "", "b"}));
  EXPECT_FALSE(objects.Put({"karpenter.sh/v1beta1", "Provisioner", "", "b"}));
  EXPECT_TRUE(objects.Put({"karpenter.sh/v1", "Provisioner", "", "a"}));
  EXPECT_FALSE(objects.Put({"apps/v1", "Deployment", "x", "a"}));
  EXPECT_EQ(TextOf(objects), "Provisioner:/a Provisioner:/b");
  EXPECT_EQ(objects.Kinds(), 1u);
  EXPECT_TRUE(objects.Erase({"karpenter.sh/v1", "Provisioner", "", "a"}));
  EXPECT_FALSE(objects.Erase({"karpenter.sh/v1", "Provisioner", "", "a"}));
  EXPECT_TRUE(objects.Erase({"", "Provisioner", "", "b"})) << "a deletion need not name the API";
  EXPECT_TRUE(objects.empty());
}

}  // namespace
}  // namespace ebb::unevaluated_kinds_test
