#include "snapshot/live/change_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snapshot/objects/any_object_sink.h"
#include "snapshot/objects/object_ref.h"

namespace ebb::change_batch_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

struct Kind {
  std::string name;
  std::string api_version;
  bool namespaced;
  std::string json_rest = "";   // Members without which such an object is invalid, in JSON.
  std::string proto_rest = "";  // The same members in protobuf.
};

// --- Encoding of protobuf; the field numbers are those that Kubernetes publishes

std::string Sub(int number, std::string_view bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} +
         std::string(bytes);
}
std::string Protobuf(const Kind& kind, std::string_view namespace_name, std::string_view name,
                     std::string_view uid) {
  std::string meta = Sub(1, name);
  if (kind.namespaced) meta += Sub(3, namespace_name);
  meta += Sub(5, uid);
  return std::string("k8s\0", 4) + Sub(1, Sub(1, kind.api_version) + Sub(2, kind.name)) +
         Sub(2, Sub(1, meta) + kind.proto_rest);
}

std::string Json(const Kind& kind, std::string_view namespace_name, std::string_view name,
                 std::string_view uid) {
  std::string json = R"({"apiVersion":")" + kind.api_version + R"(","kind":")" + kind.name +
                     R"(","metadata":{"name":")" + std::string(name) + R"(","uid":")" +
                     std::string(uid) + "\"";
  if (kind.namespaced) json += R"(,"namespace":")" + std::string(namespace_name) + "\"";
  return json + "}" + kind.json_rest + "}";
}

const std::vector<Kind>& Kinds() {
  static const auto* const kinds = new std::vector<Kind>{
      {"Node", "v1", false},
      {"Pod", "v1", true},
      {"PodDisruptionBudget", "policy/v1", true},
      {"Namespace", "v1", false},
      {"ReplicationController", "v1", true},
      {"ReplicaSet", "apps/v1", true},
      {"StatefulSet", "apps/v1", true},
      {"DaemonSet", "apps/v1", true},
      {"Job", "batch/v1", true},
      {"PersistentVolume", "v1", false},
      {"PersistentVolumeClaim", "v1", true},
      {"StorageClass", "storage.k8s.io/v1", false},
      {"CSIDriver", "storage.k8s.io/v1", false},
      {"CSINode", "storage.k8s.io/v1", false},
      {"VolumeAttachment", "storage.k8s.io/v1", false},
      {"CSIStorageCapacity", "storage.k8s.io/v1", true},
      {"DeviceClass", "resource.k8s.io/v1", false},
      {"ResourceClaim", "resource.k8s.io/v1", true},
      {"ResourceClaimTemplate", "resource.k8s.io/v1", true},
      {"ResourceSlice", "resource.k8s.io/v1", false,
       R"(,"spec":{"driver":"d","nodeName":"n","pool":{"name":"p"}})",
       Sub(2, Sub(1, "d") + Sub(2, Sub(1, "p")) + Sub(3, "n"))},
      {"DeviceTaintRule", "resource.k8s.io/v1", false},
  };
  return *kinds;
}
const Kind& KindNamed(std::string_view name) {
  return *std::ranges::find(Kinds(), name, &Kind::name);
}

// "put Pod default/web uid"
std::string TextOf(const Change& change) {
  const objects::ObjectMeta& meta = objects::MetaOf(change.object);
  std::string text = change.type == Change::Type::kPut ? "put " : "delete ";
  text += std::string(objects::KindOf(change.object)) + " ";
  if (!meta.namespace_name.empty()) text += std::string(meta.namespace_name) + "/";
  return text + std::string(meta.name) + " " + std::string(meta.uid);
}
std::vector<std::string> TextOf(const ChangeBatch& batch) {
  std::vector<std::string> texts;
  for (const Change& change : batch.changes()) texts.push_back(TextOf(change));
  return texts;
}

class NameSink final : public AnyObjectSink {
 public:
  std::vector<std::string> names;

 protected:
  absl::Status OnObject(const objects::ObjectRef& object) override {
    names.push_back(TextOf(Change{.object = object}));
    return absl::OkStatus();
  }
};
std::vector<std::string> HeldBy(LiveSnapshot& live) {
  NameSink sink;
  EXPECT_TRUE(live.Export(sink).ok());
  return sink.names;
}

// Passes `bytes` in a buffer of exactly their size, which is overwritten and freed after the call.
template <typename Call>
absl::Status WithLostBuffer(std::string_view bytes, Call&& call) {
  auto buffer = std::make_unique<char[]>(bytes.size());
  std::ranges::copy(bytes, buffer.get());
  absl::Status status = call(std::string_view(buffer.get(), bytes.size()));
  std::fill_n(buffer.get(), bytes.size(), '#');
  return status;
}

TEST(ChangeBatchTest, EveryKindCanBePutAndDeletedInJsonInProtobufAndByName) {
  for (const Kind& kind : Kinds()) {
    const std::string name = kind.namespaced ? "shop/" + kind.name + "-1" : kind.name + "-1";
    const std::string json = Json(kind, "shop", kind.name + "-1", "u1");
    const std::string bytes = Protobuf(kind, "shop", kind.name + "-1", "u1");
    ChangeBatch batch;
    const auto ok = [&](const absl::Status& s) {
      EXPECT_EQ(std::string(s.message()), "") << kind.name;
    };
    ok(WithLostBuffer(json, [&](std::string_view view) { return batch.PutJson(view); }));
    ok(WithLostBuffer(json, [&](std::string_view view) { return batch.DeleteJson(view); }));
    ok(WithLostBuffer(bytes, [&](std::string_view view) { return batch.PutProtobuf(view); }));
    ok(WithLostBuffer(bytes, [&](std::string_view view) { return batch.DeleteProtobuf(view); }));
    std::optional<ChangeBatch::BlankObject> blank = ChangeBatch::NamesOf(kind.name);
    ASSERT_TRUE(blank.has_value()) << kind.name;
    std::string gone = kind.name + "-1";
    batch.Delete(*std::move(blank), kind.namespaced ? "shop" : "", gone, "u1");
    std::ranges::fill(gone, '#');
    const std::string rest = kind.name + " " + name + " u1";
    EXPECT_THAT(TextOf(batch), ElementsAre("put " + rest, "delete " + rest, "put " + rest,
                                           "delete " + rest, "delete " + rest));
    EXPECT_THAT(batch.ignored(), IsEmpty());
  }
}

TEST(ChangeBatchTest, EveryKindThatIsPutIsHeldAndEveryOneThatIsDeletedByNameIsGone) {
  for (const Kind& kind : Kinds()) {
    for (const std::string_view uid : {"", "u1"}) {
      LiveSnapshot live;
      ChangeBatch batch;
      const std::string json = Json(kind, "shop", "x", "u1");
      const std::string namespace_name = kind.namespaced ? "shop" : "";
      ASSERT_TRUE(batch.PutJson(json).ok());
      ASSERT_EQ(std::string(live.Take(batch.changes()).message()), "") << kind.name;
      const std::string held = kind.name + (kind.namespaced ? " shop/x u1" : " x u1");
      EXPECT_THAT(HeldBy(live), ElementsAre("put " + held));
      batch.Clear();
      // Its UID differs: the object was created again.
      batch.Delete(*ChangeBatch::NamesOf(kind.name), namespace_name, "x", "u2");
      batch.Delete(*ChangeBatch::NamesOf(kind.name), namespace_name, "y", uid);
      batch.Delete(*ChangeBatch::NamesOf(kind.name), "other", kind.namespaced ? "x" : "y", uid);
      ASSERT_EQ(std::string(live.Take(batch.changes()).message()), "");
      EXPECT_THAT(HeldBy(live), ElementsAre("put " + held));
      EXPECT_EQ(live.counts().unknown_deletes, 3U) << kind.name;
      batch.Clear();
      batch.Delete(*ChangeBatch::NamesOf(kind.name), namespace_name, "x", uid);
      ASSERT_EQ(std::string(live.Take(batch.changes()).message()), "");
      EXPECT_THAT(HeldBy(live), IsEmpty()) << kind.name;
      EXPECT_EQ(live.counts().deleted, 1U) << kind.name;
    }
  }
}

// Symptom: an object as its Marshal() encodes it was rejected as not being a Kubernetes object.
TEST(ChangeBatchTest, TheErrorForAnObjectWithoutItsEnvelopeSaysWhatIsMissing) {
  ChangeBatch batch;
  const std::string bytes = Protobuf(KindNamed("Pod"), "shop", "p", "u");
  const std::string marshalled = Sub(1, Sub(1, "p") + Sub(3, "shop") + Sub(5, "u"));
  ASSERT_TRUE(bytes.ends_with(marshalled));
  EXPECT_THAT(batch.PutProtobuf(marshalled).message(), HasSubstr("Marshal() does not"));
  EXPECT_THAT(TextOf(batch), IsEmpty());
}

// Symptom: a check failed when a watch sent a node twice, once with a namespace.
TEST(ChangeBatchTest, AKindWithoutNamespacesHasOneObjectOfAName) {
  for (const Kind& kind : Kinds()) {
    if (kind.namespaced) continue;
    Kind in_namespace = kind;
    in_namespace.namespaced = true;
    LiveSnapshot live;
    ChangeBatch batch;
    ASSERT_TRUE(batch.PutJson(Json(kind, "", "x", "u1")).ok());
    ASSERT_TRUE(batch.PutJson(Json(in_namespace, "a", "x", "u1")).ok());
    ASSERT_TRUE(batch.PutProtobuf(Protobuf(in_namespace, "b", "x", "u1")).ok());
    ASSERT_EQ(std::string(live.Take(batch.changes()).message()), "") << kind.name;
    EXPECT_THAT(HeldBy(live), ElementsAre("put " + kind.name + " x u1"));
    EXPECT_TRUE(live.Snapshot().CheckInvariants().ok()) << kind.name;
    batch.Clear();
    batch.Delete(*ChangeBatch::NamesOf(kind.name), "c", "x", "");
    ASSERT_EQ(std::string(live.Take(batch.changes()).message()), "");
    EXPECT_THAT(HeldBy(live), IsEmpty()) << kind.name;
  }
}

TEST(ChangeBatchTest, ObjectsOfIgnoredKindsHaveNoNames) {
  for (const std::string_view kind :
       {"Deployment", "pod", "Pods", "PodList", "", "StorageObject"}) {
    EXPECT_FALSE(ChangeBatch::NamesOf(kind).has_value()) << kind;
  }
}

// Symptom: the deletion of "Node x of namespace y" deleted node x.
TEST(ChangeBatchTest, ADeletionOfAClusterScopedObjectNamesNoNamespace) {
  ChangeBatch batch;
  EXPECT_EQ(batch.DeleteNamed("Node", "y", "x", "").message(),
            "objects of kind Node have no namespace, and y is given");
  EXPECT_TRUE(batch.changes().empty());
  EXPECT_TRUE(batch.DeleteNamed("Node", "", "x", "").ok());
  EXPECT_TRUE(batch.DeleteNamed("Pod", "y", "x", "").ok());
}

TEST(ChangeBatchTest, AKindThatIsSpelledWrongIsRefusedInADeletion) {
  ChangeBatch batch;
  const auto problem = [&](std::string_view kind) {
    return std::string(batch.DeleteNamed(kind, "", "a", "").message());
  };
  EXPECT_THAT(problem("node"), HasSubstr("Node of v1 is"));
  EXPECT_THAT(problem("Nodes"), HasSubstr("Node of v1 is"));
  EXPECT_THAT(problem("pod"), HasSubstr("Pod of v1 is"));
  EXPECT_THAT(problem("poddisruptionbudget"), HasSubstr("PodDisruptionBudget of policy is"));
  EXPECT_THAT(problem("No\xff"
                      "de"),
              HasSubstr("is not one of Kubernetes"));
  EXPECT_TRUE(batch.changes().empty());
  // Kinds that no decision reads are counted, as they are when such objects are put.
  EXPECT_EQ(problem("Deployment"), "");
  EXPECT_EQ(problem("Widget"), "");
  EXPECT_EQ(batch.ignored().at("Deployment"), 1U);
  EXPECT_EQ(batch.ignored().at("Widget"), 1U);
  EXPECT_EQ(problem("Node"), "");
  EXPECT_EQ(batch.changes().size(), 1U);
}

// An error in another field of an object does not prevent its deletion.
TEST(ChangeBatchTest, OnlyTheNamesOfADeletedObjectMustBeValid) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":5}})",
       "Pod p: spec.nodeName"},
      {R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"spec":7})", "Node n: spec"}};
  for (const auto& [json, what] : cases) {
    ChangeBatch batch;
    const absl::Status put = batch.PutJson(json);
    EXPECT_FALSE(put.ok());
    EXPECT_THAT(std::string(put.message()), HasSubstr(what));
    EXPECT_TRUE(batch.changes().empty());
    EXPECT_TRUE(batch.DeleteJson(json).ok());
    ASSERT_EQ(batch.changes().size(), 1U);
    EXPECT_EQ(batch.changes()[0].type, Change::Type::kDelete);
  }
}

TEST(ChangeBatchTest, AnObjectThatIsRefusedLeavesTheBatchAsItWas) {
  const Kind& pod = KindNamed("Pod");
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {" ", ""},
      {"null", ""},
      {"7", ""},
      {"\"Pod\"", ""},
      {"{}", "kind"},
      {"[]", ""},
      {"{", ""},
      {"junk", ""},
      {"k8s", ""},
      {Json(pod, "shop", "p", "u").substr(0, 60), ""},
      {"[" + Json(pod, "shop", "p", "u") + "]", ""},
      {R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a b"}})", "metadata.name"},
      {R"({"apiVersion":"v1","kind":"PodList","items":[]})", "list"},
      {R"({"apiVersion":"v1","kind":"List","items":[{"kind":"Pod"}]})", "list"},
      {R"({"apiVersion":"v1","kind":"Status","message":"gone"})", "gone"},
      {R"({"metadata":{"name":"p"}})", "kind"},
      {std::string("k8s\0", 4), ""},
      {Protobuf(pod, "shop", "p", "u").substr(0, 30), ""},
      {Protobuf(pod, "shop", "p", "u") + "\x01", ""},
  };
  for (const auto& [bytes, what] : cases) {
    ChangeBatch batch;
    ASSERT_TRUE(batch.PutJson(Json(pod, "shop", "before", "u")).ok());
    const std::vector<std::string> before = TextOf(batch);
    const auto refuse = [&](const absl::Status& status, bool names) {
      EXPECT_FALSE(status.ok()) << bytes;
      EXPECT_THAT(status.message(), HasSubstr(names ? what : "")) << bytes;
      EXPECT_EQ(TextOf(batch), before) << bytes;
      EXPECT_THAT(batch.ignored(), IsEmpty()) << bytes;
    };
    const bool is_protobuf = bytes.starts_with("k8s");
    for (int round = 0; round < 2; ++round) {
      refuse(batch.PutJson(bytes), !is_protobuf);
      refuse(batch.DeleteJson(bytes), !is_protobuf);
      refuse(batch.PutProtobuf(bytes), is_protobuf);
      refuse(batch.DeleteProtobuf(bytes), is_protobuf);
    }
    // Later calls work, and the batch contains nothing of rejected objects.
    EXPECT_TRUE(batch.DeleteProtobuf(Protobuf(pod, "shop", "after", "u")).ok());
    EXPECT_TRUE(batch.PutJson(Json(KindNamed("Node"), "", "n", "u")).ok());
    EXPECT_THAT(TextOf(batch),
                ElementsAre("put Pod shop/before u", "delete Pod shop/after u", "put Node n u"));
    LiveSnapshot live;
    EXPECT_EQ(std::string(live.Take(batch.changes()).message()), "");
  }
}

TEST(ChangeBatchTest, BytesAfterAnObjectAreAnError) {
  const std::string json = Json(KindNamed("Pod"), "shop", "p", "u");
  for (const std::string& rest : {std::string("}"), std::string("x"), json}) {
    ChangeBatch batch;
    EXPECT_FALSE(batch.PutJson(json + rest).ok()) << rest;
    EXPECT_THAT(TextOf(batch), IsEmpty());
  }
  ChangeBatch batch;
  EXPECT_TRUE(batch.PutJson(" " + json + " \n").ok());
}

TEST(ChangeBatchTest, AnErrorBeginsWithTheObject) {
  ChangeBatch batch;
  EXPECT_EQ(std::string(batch
                            .PutJson(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},
                                      "spec":7})")
                            .message())
                .substr(0, 9),
            "Node n: s");
}

TEST(ChangeBatchTest, AnObjectBeyondTheLimitIsRefusedWithBothSizes) {
  const std::string json = Json(KindNamed("Pod"), "shop", "p", "u");
  const std::string bytes = Protobuf(KindNamed("Pod"), "shop", "p", "u");
  ChangeBatch all(json.size());
  EXPECT_TRUE(all.PutJson(json).ok());
  EXPECT_TRUE(all.DeleteJson(json).ok());
  ChangeBatch most(json.size() - 1);
  for (const absl::Status& status : {most.PutJson(json), most.DeleteJson(json)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(status.message(), HasSubstr(std::to_string(json.size()) + " B"));
    EXPECT_THAT(status.message(), HasSubstr(std::to_string(json.size() - 1) + " B"));
  }
  ChangeBatch small(bytes.size() - 1);
  for (const absl::Status& status : {small.PutProtobuf(bytes), small.DeleteProtobuf(bytes)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(status.message(), HasSubstr(std::to_string(bytes.size()) + " B"));
  }
  EXPECT_THAT(TextOf(most), IsEmpty());
  EXPECT_THAT(TextOf(small), IsEmpty());
}

TEST(ChangeBatchTest, ObjectsOfOtherKindsAreCountedAndNoChange) {
  ChangeBatch batch;
  const Kind deployment{"Deployment", "apps/v1", true};
  const Kind custom{"PodList", "example.com/v1", true};
  EXPECT_TRUE(batch.PutJson(Json(deployment, "shop", "d", "u")).ok());
  EXPECT_TRUE(batch.DeleteJson(Json(deployment, "shop", "d", "u")).ok());
  EXPECT_TRUE(batch.PutProtobuf(Protobuf(deployment, "shop", "d", "u")).ok());
  EXPECT_TRUE(batch.PutJson(Json(custom, "shop", "c", "u")).ok());
  EXPECT_TRUE(batch.PutJson(Json(KindNamed("Pod"), "shop", "p", "u")).ok());
  // An ignored object does not affect the change before it.
  EXPECT_TRUE(batch.DeleteJson(Json(deployment, "shop", "d", "u")).ok());
  EXPECT_THAT(TextOf(batch), ElementsAre("put Pod shop/p u"));
  EXPECT_THAT(batch.ignored(), ElementsAre(Pair("Deployment", 4), Pair("PodList", 1)));
  // Clear() does not reset these counts.
  batch.Clear();
  EXPECT_TRUE(batch.PutJson(Json(deployment, "shop", "d", "u")).ok());
  EXPECT_THAT(batch.ignored(), ElementsAre(Pair("Deployment", 5), Pair("PodList", 1)));
}

// Kinds come from outside, so the memory for counting them must be limited.
TEST(ChangeBatchTest, KindsThatAreCountedAreBoundInLengthAndNumber) {
  ChangeBatch batch;
  const auto ignore = [&batch](const std::string& kind) {
    EXPECT_TRUE(batch.DeleteNamed(kind, "", "a", "").ok()) << kind;
  };
  ignore(std::string(64, 'K') + "x");
  ignore(std::string(64, 'K') + "z");
  EXPECT_THAT(batch.ignored(), ElementsAre(Pair(std::string(64, 'K'), 2)));
  for (size_t i = 1; i < ChangeBatch::kIgnoredKindsMax; ++i) {
    ignore("Widget" + std::to_string(i));
  }
  EXPECT_THAT(batch.ignored(), SizeIs(ChangeBatch::kIgnoredKindsMax));
  ignore("OneMore");
  ignore("Widget1");
  EXPECT_THAT(batch.ignored(), SizeIs(ChangeBatch::kIgnoredKindsMax));
  EXPECT_EQ(batch.ignored().count("OneMore"), 0U);
  EXPECT_EQ(batch.ignored().at("Widget1"), 2U);
}

TEST(ChangeBatchTest, AClearedBatchHoldsOnlyWhatComesAfterwards) {
  ChangeBatch batch;
  const Kind& pod = KindNamed("Pod");
  for (int round = 0; round < 20; ++round) {
    const std::string name = "pod-" + std::to_string(round);
    EXPECT_TRUE(batch.PutJson(Json(pod, "shop", name, round == 7 ? "other" : "u")).ok());
    EXPECT_TRUE(batch.PutProtobuf(Protobuf(pod, "shop", name, "u")).ok());
    EXPECT_FALSE(batch.PutJson("{").ok());
    batch.Delete(*ChangeBatch::NamesOf("Node"), "", name, "");
    EXPECT_THAT(TextOf(batch),
                ElementsAre("put Pod shop/" + name + (round == 7 ? " other" : " u"),
                            "put Pod shop/" + name + " u", "delete Node " + name + " "));
    batch.Clear();
    EXPECT_THAT(batch.changes(), IsEmpty());
  }
}

// In a batch with many objects, references to earlier objects stay valid.
TEST(ChangeBatchTest, ManyChangesAreHeldInTheirOrder) {
  ChangeBatch batch;
  std::vector<std::string> want;
  for (int i = 0; i < 2000; ++i) {
    const Kind& kind = Kinds()[static_cast<size_t>(i) % Kinds().size()];
    const std::string name = "x" + std::to_string(i);
    const std::string full = kind.namespaced ? "shop/" + name : name;
    if (i % 3 == 0) {
      ASSERT_TRUE(batch.PutJson(Json(kind, "shop", name, "u")).ok());
      want.push_back("put " + kind.name + " " + full + " u");
    } else if (i % 3 == 1) {
      ASSERT_TRUE(batch.DeleteProtobuf(Protobuf(kind, "shop", name, "u")).ok());
      want.push_back("delete " + kind.name + " " + full + " u");
    } else {
      batch.Delete(*ChangeBatch::NamesOf(kind.name), kind.namespaced ? "shop" : "", name, "");
      want.push_back("delete " + kind.name + " " + full + " ");
    }
  }
  EXPECT_EQ(TextOf(batch), want);
}

TEST(ChangeBatchTest, VersionsOfObjectsComeWithThem) {
  ChangeBatch batch;
  const auto pod = [](std::string_view version, std::string_view node) {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"shop",)"
           R"("resourceVersion":")" +
           std::string(version) + R"("},"spec":{"nodeName":")" + std::string(node) + "\"}}";
  };
  ASSERT_TRUE(WithLostBuffer(pod("12", "a"), [&](std::string_view json) {
                return batch.PutJson(json);
              }).ok());
  ASSERT_TRUE(batch.PutJson(pod("9", "b")).ok());
  ASSERT_TRUE(batch.PutJson(Json(KindNamed("Pod"), "shop", "q", "u")).ok());
  ASSERT_THAT(batch.changes(), SizeIs(3));
  EXPECT_EQ(batch.changes()[0].resource_version, "12");
  EXPECT_EQ(batch.changes()[1].resource_version, "9");
  EXPECT_EQ(batch.changes()[2].resource_version, "");
  LiveSnapshot live;
  ASSERT_TRUE(live.Take(batch.changes()).ok());
  EXPECT_EQ(live.counts().older, 1U);
  EXPECT_EQ(live.FirstPodOnUnknownNode(), "shop/p on a");
}

TEST(ChangeBatchTest, ALiveSnapshotKeepsNothingOfABatchThatIsGone) {
  LiveSnapshot live;
  {
    ChangeBatch batch;
    ASSERT_TRUE(batch
                    .PutJson(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n\u0031"},
                              "status":{"allocatable":{"cpu":"4","pods":"10"},
                              "conditions":[{"type":"Ready","status":"True"}]}})")
                    .ok());
    ASSERT_TRUE(batch
                    .PutJson(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p",
                              "namespace":"shop"},"spec":{"nodeName":"n1"}})")
                    .ok());
    ASSERT_TRUE(live.Take(batch.changes()).ok());
    batch.Clear();
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(batch.PutJson(Json(KindNamed("Node"), "", "xxxxxxxxxxxx", "xxxxxxx")).ok());
    }
  }
  ClusterSnapshot& snapshot = live.Snapshot();
  EXPECT_TRUE(snapshot.CheckInvariants().ok());
  const absl::StatusOr<NodeId> node = snapshot.catalog().FindNode("n1");
  ASSERT_TRUE(node.ok());
  ASSERT_THAT(snapshot.PodsOn(*node), SizeIs(1));
  EXPECT_EQ(snapshot.catalog().PodName(snapshot.PodsOn(*node)[0]), "shop/p");
}

TEST(ChangeBatchTest, AChangeThatASnapshotRefusesIsNamedAndNothingIsTaken) {
  LiveSnapshot live;
  ChangeBatch batch;
  ASSERT_TRUE(batch.PutJson(Json(KindNamed("Node"), "", "n", "u")).ok());
  batch.Delete(*ChangeBatch::NamesOf("Pod"), "shop", "", "");
  EXPECT_THAT(live.Take(batch.changes()).message(), HasSubstr("Pod: metadata.name is empty"));
  EXPECT_THAT(HeldBy(live), IsEmpty());
}

}  // namespace
}  // namespace ebb::change_batch_test
