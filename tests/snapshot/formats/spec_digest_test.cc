#include "snapshot/formats/spec_digest.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "snapshot/formats/read_json.h"
#include "snapshot/formats/read_yaml.h"
#include "snapshot/objects/object_sink.h"

namespace ebb::spec_digest_test {
namespace {

uint64_t Of(std::string_view json) { return DigestOfJsonSpec(json); }

constexpr std::string_view kSpec =
    R"({"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]})";

struct JsonCase {
  const char* name;
  const char* spec;
  bool alike;  // Whether its digest equals that of kSpec.
};
class JsonDigestTest : public ::testing::TestWithParam<JsonCase> {};

TEST_P(JsonDigestTest, LeavesOutWhatTheAutoscalerDoes) {
  EXPECT_EQ(Of(GetParam().spec) == Of(kSpec), GetParam().alike);
}

constexpr JsonCase kJson[] = {
    {"Same", R"({"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]})",
     true},
    {"OtherOrder",
     R"({ "containers" : [ {"resources":{"requests":{"cpu":"1"}}, "image":"i", "name":"c"} ] })",
     true},
    {"OtherAmountText",
     R"({"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1000m"}}}]})", true},
    {"Escaped",
     R"({"containers":[{"name":"\u0063","image":"i","resources":{"requests":{"cpu":"1"}}}]})",
     true},
    {"Env", R"({"containers":[{"name":"c","image":"i","env":[{"name":"A","value":"1"}],
        "resources":{"requests":{"cpu":"1"}}}]})",
     true},
    {"Hostname", R"({"hostname":"h","nodeName":"n",
        "containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]})",
     true},
    {"ProjectedVolume", R"({"containers":[{"name":"c","image":"i",
        "volumeMounts":[{"name":"kube-api-access-x","mountPath":"/t"}],
        "resources":{"requests":{"cpu":"1"}}}],
        "volumes":[{"name":"kube-api-access-x","projected":{"sources":[]}}]})",
     true},
    {"EmptyListAndNull", R"({"tolerations":[],"affinity":null,
        "containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]})",
     true},
    {"Limits", R"({"containers":[{"name":"c","image":"i",
        "resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}}]})",
     false},
    {"ContainerName",
     R"({"containers":[{"name":"d","image":"i","resources":{"requests":{"cpu":"1"}}}]})", false},
    {"Probe", R"({"containers":[{"name":"c","image":"i","livenessProbe":{"tcpSocket":{"port":80}},
        "resources":{"requests":{"cpu":"1"}}}]})",
     false},
    {"Account", R"({"serviceAccountName":"x",
        "containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]})",
     false},
    {"OtherVolume", R"({"volumes":[{"name":"v","emptyDir":{}}],
        "containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]})",
     false},
    {"Grace", R"({"terminationGracePeriodSeconds":10,
        "containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]})",
     false},
};
INSTANTIATE_TEST_SUITE_P(Cases, JsonDigestTest, ::testing::ValuesIn(kJson),
                         [](const auto& info) { return info.param.name; });

TEST(SpecDigestTest, TheOrderOfAListCounts) {
  EXPECT_NE(Of(R"({"containers":[{"name":"a"},{"name":"b"}]})"),
            Of(R"({"containers":[{"name":"b"},{"name":"a"}]})"));
}

TEST(SpecDigestTest, ATextThatIsNotJsonCountsAsItsBytes) {
  const std::string deep(1000, '[');
  for (const std::string& text : {std::string("{"), std::string(), std::string("{\"a\":"),
                                  "{\"a\":" + deep, std::string("{\"a\":\"\\u00")}) {
    EXPECT_NE(Of(text), 0u);
    EXPECT_EQ(Of(text), Of(text));
  }
}

std::string Varint(uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}
std::string Sub(uint32_t number, std::string_view bytes) {
  return Varint(uint64_t{number} << 3 | 2) + Varint(bytes.size()) + std::string(bytes);
}

TEST(SpecDigestTest, ProtobufLeavesOutTheSame) {
  const auto spec = [](std::string_view in_container, std::string_view beside) {
    return DigestOfProtoSpec(Sub(2, Sub(1, "c") + Sub(2, "i") + std::string(in_container)) +
                             std::string(beside));
  };
  const uint64_t plain = spec("", "");
  EXPECT_EQ(spec(Sub(7, Sub(1, "A")), ""), plain) << "env";
  EXPECT_EQ(spec("", Sub(10, "node") + Sub(16, "host")), plain);
  const std::string projected = Sub(1, Sub(1, "token") + Sub(2, Sub(26, "")));
  EXPECT_EQ(
      DigestOfProtoSpec(projected + Sub(2, Sub(1, "c") + Sub(2, "i") + Sub(9, Sub(1, "token")))),
      plain);
  EXPECT_NE(spec(Sub(9, Sub(1, "data")), ""), plain) << "another mount";
  EXPECT_NE(spec(Sub(10, "probe"), ""), plain) << "livenessProbe";
  EXPECT_NE(spec("", Sub(9, "account")), plain);
  EXPECT_NE(DigestOfProtoSpec("\xff"), 0u);
}

class DigestSink final : public ObjectSink {
 public:
  absl::Status OnPod(const objects::Pod& pod) override {
    digest = pod.spec_digest;
    return absl::OkStatus();
  }
  absl::Status OnNode(const objects::Node&) override { return absl::OkStatus(); }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget&) override {
    return absl::OkStatus();
  }
  absl::Status OnController(const objects::Controller&) override { return absl::OkStatus(); }
  absl::Status OnNamespace(const objects::Namespace&) override { return absl::OkStatus(); }
  uint64_t digest = 0;
};

constexpr std::string_view kOwned =
    R"("ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"u",
       "controller":true}])";

uint64_t DigestOfPod(const std::string& meta, const std::string& spec) {
  const std::string json = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p")" + meta +
                           R"(},"spec":)" + spec + "}";
  DigestSink sink;
  ImportStats stats;
  EXPECT_TRUE(ReadJson("x", json, false, sink, stats).ok());
  return sink.digest;
}

TEST(SpecDigestTest, PodsOfControllersWithoutANodeHaveADigest) {
  const std::string owned = "," + std::string(kOwned);
  EXPECT_NE(DigestOfPod(owned, std::string(kSpec)), 0u);
  EXPECT_EQ(DigestOfPod("", std::string(kSpec)), 0u);
  EXPECT_EQ(DigestOfPod(owned, R"({"nodeName":"n","containers":[]})"), 0u);
  // A digest that ebb wrote is read back.
  EXPECT_EQ(DigestOfPod(owned + R"(,"annotations":{"ebb/spec-digest":"00000000000000ff"})",
                        std::string(kSpec)),
            255u);
}

TEST(SpecDigestTest, YamlGivesThatOfJson) {
  const std::string yaml = R"(
apiVersion: v1
kind: Pod
metadata:
  name: p
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u, controller: true}]
spec:
  containers:
  - name: c
    image: i
    resources: {requests: {cpu: "1"}}
)";
  DigestSink sink;
  ImportStats stats;
  ASSERT_TRUE(ReadYaml("x", yaml, sink, stats).ok());
  EXPECT_EQ(sink.digest, Of(kSpec));
}

}  // namespace
}  // namespace ebb::spec_digest_test
