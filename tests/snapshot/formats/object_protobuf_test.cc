#include "snapshot/formats/object_protobuf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snapshot/formats/json_bytes.h"
#include "snapshot/formats/object_reader.h"
#include "tests/support/dump_sink.h"
#include "tests/support/random_seed.h"
#include "tests/support/source_dir.h"

namespace ebb::object_protobuf_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// --- Encoding; the field numbers below are those that Kubernetes publishes

std::string Varint(uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes + static_cast<char>(number);
}
std::string Tag(uint32_t number, uint32_t wire) { return Varint(uint64_t{number} << 3 | wire); }
std::string Int(uint32_t number, int64_t value) {
  return Tag(number, 0) + Varint(static_cast<uint64_t>(value));
}
// A field that is a text or a message.
std::string Sub(uint32_t number, std::string_view bytes) {
  return Tag(number, 2) + Varint(bytes.size()) + std::string(bytes);
}
std::string Entry(uint32_t number, std::string_view key, std::string_view value) {
  return Sub(number, Sub(1, key) + Sub(2, value));
}
std::string Amount(uint32_t number, std::string_view key, std::string_view quantity) {
  return Entry(number, key, Sub(1, quantity));
}
std::string Meta(std::string_view name, std::string_view rest = "") {
  return Sub(1, Sub(1, name) + std::string(rest));
}
std::string Enveloped(std::string_view api_version, std::string_view kind, std::string_view raw) {
  return std::string("k8s\0", 4) + Sub(1, Sub(1, api_version) + Sub(2, kind)) + Sub(2, raw) +
         Sub(3, "") + Sub(4, "");
}
std::string Pod(std::string_view spec, std::string_view status = "") {
  return Enveloped("v1", "Pod", Meta("p") + Sub(2, spec) + Sub(3, status));
}

ObjectPlace In(std::string_view api_version, std::string_view kind) {
  ObjectPlace place;
  place.file = "bytes";
  place.api_version = api_version;
  place.kind = kind;
  return place;
}

// The object as DumpSink writes it, or the error, or "no kind" and the like.
template <typename Reader>
std::string ReadWith(Reader& reader, std::string_view object, const ObjectPlace& place) {
  ObjectBatch batch;
  reader.Read(object, place, batch);
  testing::DumpSink sink;
  ImportStats stats;
  std::string left;
  const absl::Status given =
      batch.HandOver("bytes", sink, stats, [&](ObjectBatch::Left what, size_t) {
        left = what == ObjectBatch::Left::kList ? "a list" : "no kind";
        return absl::OkStatus();
      });
  if (!given.ok()) return std::string(given.message());
  if (!left.empty()) return left;
  return sink.lines().empty() ? "ignored " + sink.ignored().at(0) : sink.lines()[0];
}

std::string Read(std::string_view bytes, const ObjectPlace& place = In("", "")) {
  ProtobufObjectReader reader;
  return ReadWith(reader, bytes, place);
}

std::string FileOf(std::string_view name) {
  const std::string path = SourceDir() + "/tests/snapshot/formats/data/" + std::string(name);
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::string TypicalPod() { return FileOf("typical_pod.pb"); }

// --- Kinds

struct KindCase {
  std::string_view api_version;
  std::string_view kind;
  std::string object;
  std::string_view line;
};

std::vector<KindCase> Kinds() {
  const std::string selector =
      Entry(1, "app", "web") + Sub(2, Sub(1, "tier") + Sub(2, "In") + Sub(3, "a") + Sub(3, "b"));
  const std::string term = Sub(1, Sub(1, "zone") + Sub(2, "Exists"));
  return {
      {"v1", "Node",
       Meta("n", Sub(5, "u") + Sub(6, "9") + Sub(8, Int(1, 100) + Int(2, 5)) + Entry(11, "a", "b") +
                     Entry(12, "c", "d")) +
           Sub(2,
               Sub(3, "id") + Int(4, 1) + Sub(5, Sub(1, "k") + Sub(2, "v") + Sub(3, "NoExecute"))) +
           Sub(3, Amount(1, "cpu", "2") + Amount(2, "cpu", "1500m") +
                      Sub(4, Sub(1, "Ready") + Sub(2, "True") + Sub(6, "fine")) + Sub(14, "X")),
       "Node name=[n] uid=[u] label=[a]:[b] annotation=[c]:[d] created=100 unschedulable=true "
       "provider=[id] taint=[k] value=[v] effect=[NoExecute] allocatable=[cpu]:1500 "
       "capacity=[cpu]:2000 condition=[Ready] is=[True] feature=[X]"},
      {"policy/v1", "PodDisruptionBudget",
       Meta("b", Sub(3, "ns")) + Sub(2, Sub(2, selector)) + Sub(3, Int(3, 2)),
       "PodDisruptionBudget name=[b] namespace=[ns] selector=( labels=[app]:[web] expressions=( "
       "key=[tier] op=[In] values=[a] values=[b])) allowed=2"},
      {"policy/v1", "PodDisruptionBudget",
       Meta("b", Sub(3, "ns")) + Sub(2, Sub(4, "AlwaysAllow")) +
           Sub(3, Int(3, 0) + Int(4, 1) + Int(5, 2) + Int(6, 0) +
                      Sub(7, Sub(1, "DisruptionAllowed") + Sub(2, "False") + Sub(5, "SyncFailed") +
                                 Sub(6, "no scale"))),
       "PodDisruptionBudget name=[b] namespace=[ns] always_allows=true sync_failed=true "
       "sync_message=[no scale] desired=2 expected=0 healthy=1"},
      {"lifecycle.k8s.io/v1alpha1", "EvictionRequest",
       Meta("r", Sub(3, "ns")) + Sub(2, Sub(1, Sub(1, Sub(1, "p") + Sub(2, "u"))) +
                                            Sub(2, "a.io/b") + Sub(3, "Eviction")),
       "EvictionRequest name=[r] namespace=[ns] pod=[p] uid=[u] requester=[a.io/b] active=true"},
      {"apps/v1", "ReplicaSet", Meta("r") + Sub(2, Int(1, 3)) + Sub(3, Int(1, 2) + Int(4, 1)),
       "Controller kind=1 name=[r] namespace=[default] wanted=3 present=2"},
      {"extensions/v1beta1", "ReplicaSet", Meta("r") + Sub(2, Int(1, 0)),
       "Controller kind=1 name=[r] namespace=[default] wanted=0"},
      {"v1", "ReplicationController", Meta("r") + Sub(3, Int(1, 2)),
       "Controller name=[r] namespace=[default] present=2"},
      {"apps/v1", "StatefulSet", Meta("s") + Sub(2, Int(1, 3)) + Sub(3, Int(2, 9) + Int(4, 2)),
       "Controller kind=2 name=[s] namespace=[default] wanted=3 present=2"},
      {"apps/v1", "DaemonSet", Meta("d") + Sub(3, Int(4, 7)),
       "Controller kind=3 name=[d] namespace=[default]"},
      {"batch/v1", "Job", Meta("j") + Sub(2, Int(1, 4) + Int(2, 8)) + Sub(3, Int(4, 2) + Int(5, 1)),
       "Controller kind=4 name=[j] namespace=[default] wanted=4 completions=8 present=2 "
       "succeeded=1"},
      {"v1", "Namespace", Meta("shop", Entry(11, "a", "b")), "Namespace name=[shop] label=[a]:[b]"},
      {"v1", "PersistentVolume",
       Meta("pv") +
           Sub(2, Amount(1, "storage", "10Gi") + Sub(2, Sub(22, Sub(1, "drv") + Sub(2, "h"))) +
                      Sub(3, "ReadWriteOnce") + Sub(4, Sub(2, "ns") + Sub(3, "c") + Sub(4, "u")) +
                      Sub(5, "Delete") + Sub(6, "fast") + Sub(7, "ro") + Sub(8, "Block") +
                      Sub(9, Sub(1, Sub(1, term))) + Sub(10, "gold")) +
           Sub(3, Sub(1, "Bound")),
       "PersistentVolume name=[pv] capacity=10737418240 modes=[ReadWriteOnce] class=[fast] "
       "mode=[Block] attributes=[gold] claim=[c] in=[ns] claim_uid=[u] affinity=terms term=( "
       "expressions=( key=[zone] op=[Exists])) source=[csi] driver=[drv] id=[h] phase=[Bound]"},
      {"v1", "PersistentVolumeClaim",
       Meta("c") +
           Sub(2, Sub(1, "ReadWriteOnce") + Sub(2, Amount(2, "storage", "5Gi")) + Sub(3, "pv") +
                      Sub(4, selector) + Sub(5, "fast") + Sub(6, "Block") + Sub(9, "gold")) +
           Sub(3, Sub(1, "Bound")),
       "PersistentVolumeClaim name=[c] namespace=[default] modes=[ReadWriteOnce] class=[fast] "
       "mode=[Block] attributes=[gold] volume=[pv] selector=( labels=[app]:[web] expressions=( "
       "key=[tier] op=[In] values=[a] values=[b])) request=5368709120 phase=[Bound]"},
      {"storage.k8s.io/v1", "StorageClass",
       Meta("fast") + Sub(2, "drv") + Sub(7, "Immediate") +
           Sub(8, Sub(1, Sub(1, "rack") + Sub(2, "1") + Sub(2, "2"))),
       "StorageClass name=[fast] provisioner=[drv] mode=[Immediate] term=1 key=[rack] values=[1] "
       "values=[2]"},
      {"storage.k8s.io/v1", "CSIDriver", Meta("drv") + Sub(2, Int(4, 1)),
       "CSIDriver name=[drv] capacity=true"},
      {"storage.k8s.io/v1", "CSINode",
       Meta("n") + Sub(2, Sub(1, Sub(1, "drv") + Sub(2, "id") + Sub(4, Int(1, 25))) +
                              Sub(1, Sub(1, "none") + Sub(4, Int(1, 0)))),
       "CSINode name=[n] driver=[drv] max=25 driver=[none] max=0"},
      {"storage.k8s.io/v1", "VolumeAttachment",
       Meta("va") + Sub(2, Sub(1, "drv") + Sub(2, Sub(1, "pv")) + Sub(3, "n")),
       "VolumeAttachment name=[va] attacher=[drv] node=[n] volume=[pv]"},
      {"storage.k8s.io/v1", "CSIStorageCapacity",
       Meta("room") + Sub(2, Entry(1, "a", "b")) + Sub(3, "fast") + Sub(4, Sub(1, "1k")) +
           Sub(5, Sub(1, "1")),
       "CSIStorageCapacity name=[room] namespace=[default] class=[fast] topology=( "
       "labels=[a]:[b]) capacity=1000 max=1"},
      {"resource.k8s.io/v1", "DeviceClass", Meta("gpu") + Sub(2, Sub(4, "example.com/gpu")),
       "DeviceClass name=[gpu] resource=[example.com/gpu]"},
      {"resource.k8s.io/v1beta1", "ResourceClaim",
       Meta("c") + Sub(3, Sub(1, Sub(1, Sub(1, Sub(1, "r") + Sub(2, "drv") + Sub(3, "pool") +
                                                   Sub(4, "gpu-0"))))),
       "ResourceClaim name=[c] namespace=[default] allocated=true driver=[drv] pool=[pool] "
       "device=[gpu-0]"},
      {"resource.k8s.io/v1", "ResourceClaimTemplate", Meta("t"),
       "ResourceClaimTemplate name=[t] namespace=[default]"},
      {"resource.k8s.io/v1beta2", "ResourceSlice",
       Meta("s") + Sub(2, Sub(1, "drv") + Sub(2, Sub(1, "pool")) + Sub(3, "n")),
       "ResourceSlice name=[s] driver=[drv] pool=[pool] node=[n]"},
      {"resource.k8s.io/v1beta2", "DeviceTaintRule",
       Meta("t") + Sub(2, Sub(1, Sub(2, "drv") + Sub(3, "pool") + Sub(4, "gpu-0")) +
                              Sub(2, Sub(1, "sick") + Sub(2, "x") + Sub(3, "NoSchedule"))),
       "DeviceTaintRule name=[t] driver=[drv] pool=[pool] device=[gpu-0] taint=( key=[sick] "
       "value=[x] effect=[NoSchedule])"},
  };
}

TEST(ProtobufObjectTest, TheConditionPodScheduledDecidesWhetherAPodIsPending) {
  const std::string phase = Sub(1, "Pending");
  const auto condition = [](std::string_view status, std::string_view reason) {
    return Sub(2, Sub(1, "PodScheduled") + Sub(2, status) + Sub(5, reason));
  };
  EXPECT_THAT(Read(Pod(Sub(19, "custom"), phase)), HasSubstr(" scheduler=[custom]"));
  EXPECT_THAT(Read(Pod("", phase + condition("False", "Unschedulable"))),
              HasSubstr(" scheduling=[Unschedulable]"));
  EXPECT_THAT(Read(Pod(Sub(38, Sub(1, "gate")), phase)), HasSubstr(" scheduling=[Gated]"));
  EXPECT_THAT(Read(Pod("", phase + condition("True", ""))), HasSubstr(" scheduling=[Other]"));
}

TEST(ProtobufObjectTest, EachKindIsReadByItsPublishedNumbersWithAndWithoutEnvelope) {
  for (const KindCase& each : Kinds()) {
    EXPECT_EQ(Read(Enveloped(each.api_version, each.kind, each.object)), each.line);
    EXPECT_EQ(Read(each.object, In(each.api_version, each.kind)), each.line);
  }
}

TEST(ProtobufObjectTest, APodIsReadByItsPublishedNumbers) {
  const std::string selector = Entry(1, "app", "web");
  const std::string term = Sub(1, selector) + Sub(2, "ns") + Sub(3, "zone") + Sub(4, "");
  const std::string container =
      Sub(1, "c") + Sub(6, Int(2, 80) + Int(3, 8080) + Sub(4, "TCP") + Sub(5, "10.0.0.1")) +
      Sub(8, Amount(1, "cpu", "9") + Amount(2, "cpu", "100m"));
  const std::string spec =
      Sub(1, Sub(1, "v") + Sub(2, Sub(11, Sub(1, "mon") + Sub(2, "img") + Int(8, 1)))) +
      Sub(1, Sub(1, "e") + Sub(2, "")) + Sub(2, container) + Sub(3, "Always") + Int(4, 30) +
      Entry(7, "disk", "ssd") + Sub(10, "n") + Int(11, 1) +
      Sub(18, Sub(1, Sub(1, Sub(1, Sub(2, Sub(1, "metadata.name") + Sub(2, "In") + Sub(3, "n"))))) +
                  Sub(2, Sub(1, term)) + Sub(3, Sub(1, Sub(3, "host")))) +
      Sub(20, Sub(1, "i") + Sub(24, "Always") + Sub(25, Sub(1, "RestartAllContainers"))) +
      Sub(22, Sub(1, "k") + Sub(2, "Equal") + Sub(3, "v") + Sub(4, "NoExecute") + Int(5, 300)) +
      Int(25, -5) + Amount(32, "memory", "1Ki") +
      Sub(33, Int(1, 2) + Sub(2, "zone") + Sub(3, "DoNotSchedule") + Sub(4, selector) + Int(5, 3) +
                  Sub(6, "Honor") + Sub(7, "Ignore") + Sub(8, "rev")) +
      Int(37, 0) + Sub(39, Sub(1, "gpu") + Sub(4, "template")) + Sub(40, Amount(2, "cpu", "1"));
  const std::string status =
      Sub(1, "Running") +
      Sub(2, Sub(1, "PodResizePending") + Sub(2, "True") + Sub(5, "Infeasible")) +
      Sub(8, Sub(1, "c") + Amount(10, "cpu", "2") + Sub(11, Amount(2, "cpu", "1"))) +
      Sub(10, Sub(1, "i") + Sub(11, "")) + Sub(11, "m") + Sub(15, Sub(1, "gpu") + Sub(2, "gpu-x")) +
      Amount(19, "cpu", "3") + Sub(20, Amount(2, "cpu", "4"));
  EXPECT_EQ(
      Read(Pod(spec, status)),
      "Pod name=[p] namespace=[default] node=[n] priority=-5 restart=[Always] grace=30 "
      "host_network=true host_users=0 selector=[disk]:[ssd] has_selector=true "
      "node_affinity=terms term=( fields=( key=[metadata.name] op=[In] values=[n])) affinity=( "
      "selector=( labels=[app]:[web]) namespaces=[ns] in=() key=[zone]) anti=( key=[host]) "
      "tolerates=[yes] key=[k] op=[Equal] value=[v] effect=[NoExecute] spread.key=[zone] "
      "skew=2 when=[DoNotSchedule] selector=( labels=[app]:[web]) keys=[rev] domains=3 "
      "affinity=[Honor] "
      "taints=[Ignore] container=( name=[c] requests=[cpu]:100 ip=[10.0.0.1] port=80 "
      "protocol=[TCP]) init=( name=[i] restart=[Always] all=true) overhead=[memory]:1024 "
      "has_resources=true requests=[cpu]:1000 volume=[v] source=[rbd] id=[img] pool=[rbd] "
      "monitors=[mon] ro=true volume=[e] source=[emptyDir] claims=[gpu] claim=[gpu-x] "
      "template=[template] phase=[Running] nominated=[m] infeasible=true status=[c] has=true "
      "requests=[cpu]:1000 allocated=[cpu]:2000 status=[i] has=true has_status=true "
      "status_requests=[cpu]:4000 allocated=[cpu]:3000");
}

// The start time is only read for a pod that is protected for a time.
TEST(ProtobufObjectTest, APodsStartReadinessAndGroupAreReadAsFromJson) {
  const auto bytes = [](const std::string& value) {
    return Enveloped("v1", "Pod",
                     Meta("p", Entry(12, "karpenter.sh/do-not-disrupt", value)) +
                         Sub(2, Sub(43, Sub(1, "train"))) +
                         Sub(3, Sub(1, "Running") + Sub(2, Sub(1, "Ready") + Sub(2, "False")) +
                                    Sub(7, Int(1, 1780315200))));
  };
  const auto json = [](const std::string& value) {
    const std::string text =
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","annotations":{
            "karpenter.sh/do-not-disrupt":")" +
        value +
        R"("}},"spec":{"schedulingGroup":{"podGroupName":"train"}},"status":{"phase":"Running",
            "conditions":[{"type":"Ready","status":"False"}],"startTime":"2026-06-01T12:00:00Z"}})";
    const std::string padded = text + std::string(kJsonPadding, ' ');
    ObjectReader reader;
    return ReadWith(reader, std::string_view(padded).substr(0, text.size()), In("", ""));
  };
  const std::string timed = Read(bytes("30m"));
  EXPECT_THAT(timed, HasSubstr(" start=1780315200 unready=true"));
  EXPECT_THAT(timed, HasSubstr(" scheduling_group=[train]"));
  EXPECT_EQ(timed, json("30m"));
  EXPECT_THAT(Read(bytes("true")), ::testing::Not(HasSubstr("start=")));
  EXPECT_EQ(Read(bytes("true")), json("true"));
}

TEST(ProtobufObjectTest, APodThatClientGoMarshalledIsWhatItsJsonSays) {
  const std::string line = Read(TypicalPod());
  EXPECT_THAT(line, StartsWith("Pod name=[checkout-7d9f8b6c54-x2x4q] namespace=[shop]"));
  EXPECT_THAT(
      line, HasSubstr("container=( name=[api] image=[registry.example.com/shop/checkout:2026.1.2] "
                      "requests=[cpu]:250 requests=[memory]:536870912)"));
  const std::string json = FileOf("typical_pod.json");
  const std::string padded = json + std::string(kJsonPadding, ' ');
  ObjectReader reader;
  EXPECT_EQ(ReadWith(reader, std::string_view(padded).substr(0, json.size()), In("", "")), line);
}

// --- Zero and absent values

TEST(ProtobufObjectTest, EmptyFieldsAsGoWritesThemAreAbsent) {
  const std::string zeros = Sub(3, "") + Sub(6, "") + Sub(8, "") + Sub(9, "") + Sub(10, "") +
                            Int(11, 0) + Int(12, 0) + Int(13, 0) + Sub(16, "") + Sub(17, "") +
                            Sub(19, "") + Sub(24, "");
  EXPECT_EQ(Read(Pod(zeros, Sub(1, "") + Sub(11, ""))), "Pod name=[p] namespace=[default]");
  EXPECT_EQ(Read(Enveloped("v1", "Node", Meta("n") + Sub(2, Sub(1, "") + Sub(3, "") + Int(4, 0)))),
            "Node name=[n]");
}

TEST(ProtobufObjectTest, AZeroOfAPointerFieldIsAValue) {
  EXPECT_THAT(Read(Pod(Int(4, 0) + Int(25, 0) + Int(37, 0))),
              HasSubstr("priority=0 grace=0 host_users=0"));
  EXPECT_THAT(Read(Pod(Sub(33, Int(1, 0) + Int(5, 0)))), HasSubstr("domains=0"));
}

TEST(ProtobufObjectTest, ATimeWithoutFieldsAndGosZeroTimeAreAbsentAndTheEpochIsNot) {
  const auto deleted = [](std::string_view time) {
    return Read(Enveloped("v1", "Namespace", Meta("n", Sub(9, time))));
  };
  EXPECT_EQ(deleted(""), "Namespace name=[n]");
  EXPECT_EQ(deleted(Int(1, -62135596800) + Int(2, 0)), "Namespace name=[n]");
  EXPECT_EQ(deleted(Int(1, 0) + Int(2, 0)), "Namespace name=[n] deleted=0");
  EXPECT_EQ(deleted(Int(1, -1)), "Namespace name=[n] deleted=-1");
  EXPECT_EQ(deleted(Int(1, int64_t{1} << 60)),
            "bytes: Namespace n: metadata.deletionTimestamp: 1152921504606846976 s since 1970 is "
            "not a time of the years 0 to 9999");
}

TEST(ProtobufObjectTest, AQuantityWithoutTextIsZeroAndAnEmptyTextIsAnError) {
  EXPECT_THAT(Read(Pod(Entry(32, "cpu", ""))), HasSubstr("overhead=[cpu]:0"));
  EXPECT_THAT(Read(Pod(Sub(32, Sub(1, "cpu")))), HasSubstr("overhead=[cpu]:0"));
  EXPECT_THAT(Read(Pod(Amount(32, "cpu", ""))),
              HasSubstr("spec.overhead.cpu: \"\" is not a quantity"));
}

TEST(ProtobufObjectTest, TheLastOfAMapsEqualKeysCountsAndAMissingKeyIsEmpty) {
  EXPECT_EQ(Read(Enveloped("v1", "Namespace",
                           Meta("n", Entry(11, "a", "1") + Entry(11, "a", "2") + Sub(11, "")))),
            "Namespace name=[n] label=[a]:[2] label=[]:[]");
}

TEST(ProtobufObjectTest, TheCopyOfTheObjectInAnAnnotationIsSkipped) {
  EXPECT_EQ(Read(Enveloped(
                "v1", "Namespace",
                Meta("n", Entry(12, "kubectl.kubernetes.io/last-applied-configuration", "\xff")))),
            "Namespace name=[n]");
}

// --- Identifying the object

TEST(ProtobufObjectTest, TheKindOfTheEnvelopeOverridesTheCallers) {
  EXPECT_EQ(Read(Enveloped("v1", "Node", Meta("n")), In("v1", "Pod")), "Node name=[n]");
  EXPECT_EQ(Read(Enveloped("", "", Meta("n")), In("v1", "Node")), "Node name=[n]");
  EXPECT_EQ(Read(Enveloped("", "", Meta("n"))), "no kind");
  EXPECT_EQ(Read(Meta("n")), "no kind");
  EXPECT_EQ(Read(Enveloped("v1", "ConfigMap", "\xff\xff")), "ignored ConfigMap");
  EXPECT_EQ(Read(Enveloped("v1", "PodList", "")), "a list");
  EXPECT_THAT(Read(Enveloped("v1", "pods", Meta("n"))), HasSubstr("Pod of v1 is"));
}

TEST(ProtobufObjectTest, AVersionWhoseNumbersAreNotKnownIsRefused) {
  EXPECT_EQ(Read(Enveloped("policy/v9", "PodDisruptionBudget", Meta("b"))),
            "bytes: PodDisruptionBudget: apiVersion: the protobuf fields of \"policy/v9\" are not "
            "known");
  EXPECT_THAT(Read(Meta("p"), In("", "Pod")), HasSubstr("apiVersion"));
}

TEST(ProtobufObjectTest, AnEnvelopeAroundAnythingElseThanPlainProtobufIsRefused) {
  const std::string start = std::string("k8s\0", 4) + Sub(1, Sub(1, "v1") + Sub(2, "Namespace"));
  EXPECT_EQ(Read(start + Sub(2, Meta("n")) + Sub(4, "application/vnd.kubernetes.protobuf")),
            "Namespace name=[n]");
  EXPECT_THAT(Read(start + Sub(2, Meta("n")) + Sub(3, "gzip")),
              HasSubstr("contentEncoding: \"gzip\" is not known"));
  EXPECT_THAT(Read(start + Sub(2, "{}") + Sub(4, "application/json")),
              HasSubstr("contentType: \"application/json\" is not known"));
  EXPECT_THAT(Read(start + Sub(2, Meta("n")) + Sub(2, Meta("n"))), HasSubstr("raw: occurs twice"));
  EXPECT_THAT(Read(start), HasSubstr("metadata.name: is missing"));
}

TEST(ProtobufObjectTest, AStatusOfTheServerInPlaceOfAnObjectIsAnError) {
  EXPECT_THAT(
      Read(Enveloped("v1", "Status", Sub(2, "Failure") + Sub(3, "no") + Sub(4, "Forbidden"))),
      HasSubstr("is an answer of the API server instead of objects (kind Status): no "
                "(Forbidden)"));
}

// --- Unknown fields

TEST(ProtobufObjectTest, AnUnknownFieldThatMayRestrictAPodMakesItNotUnderstoodEvenIfItIsZero) {
  EXPECT_THAT(Read(Pod(Int(57, 0))), HasSubstr("not_understood=[spec.field 57]"));
  EXPECT_THAT(Read(Pod(Sub(5000, ""))), HasSubstr("not_understood=[spec.field 5000]"));
  EXPECT_THAT(Read(Pod(Tag(57, 1) + "12345678" + Tag(58, 5) + "1234")),
              HasSubstr("not_understood=[spec.field 57]"));
  EXPECT_THAT(Read(Pod(Sub(1, Sub(1, "v") + Sub(2, Sub(31, ""))))),
              HasSubstr("source=[field 31] not_understood=[spec.volumes[].field 31]"));
  EXPECT_THAT(Read(Pod(Sub(18, Sub(3, Sub(1, Int(7, 1)))))),
              HasSubstr("not_understood=[spec.affinity.podAntiAffinity.field 7]"));
  EXPECT_THAT(Read(Pod(Sub(33, Int(9, 0)))),
              HasSubstr("not_understood=[spec.topologySpreadConstraints[].field 9]"));
}

TEST(ProtobufObjectTest, AVolumeWithAnUnknownSourceCanBeMountedNowhere) {
  EXPECT_THAT(Read(Enveloped("v1", "PersistentVolume", Meta("pv") + Sub(2, Sub(2, Sub(23, ""))))),
              HasSubstr("affinity=terms"));
}

TEST(ProtobufObjectTest, FieldsOfAPodThatAreKnownToBeHarmlessChangeNothing) {
  for (const uint32_t number :
       {5, 6, 8, 9, 12, 13, 14, 15, 16, 17, 21, 23, 24, 26, 27, 28, 29, 30, 31, 35, 41, 44}) {
    EXPECT_EQ(Read(Pod(Sub(number, "x"))), "Pod name=[p] namespace=[default]") << number;
  }
}

TEST(ProtobufObjectTest, OperatingSystemsAndMountOptionsOfAPodAreRead) {
  EXPECT_EQ(Read(Pod(Sub(36, Sub(1, "linux")))), "Pod name=[p] namespace=[default] os=[linux]");
  const std::string mounts = Sub(9, Sub(1, "v") + Sub(8, "noexec"));
  EXPECT_THAT(Read(Pod(Sub(2, Sub(1, "c") + mounts))), HasSubstr("mounts=true"));
  EXPECT_EQ(Read(Pod(Sub(34, Sub(1, Sub(1, "debug") + mounts)))),
            "Pod name=[p] namespace=[default] mounts=true");
  EXPECT_EQ(Read(Pod(Sub(34, Sub(1, Sub(1, "debug"))))), "Pod name=[p] namespace=[default]");
}

TEST(ProtobufObjectTest, OtherUnknownFieldsChangeNothing) {
  const std::string line = Read(Pod(Sub(2, Sub(1, "c"))));
  EXPECT_EQ(Read(Pod(Sub(2, Sub(1, "c") + Int(57, 1)), Sub(57, "x"))), line);
}

// --- Invalid and hostile bytes

TEST(ProtobufObjectTest, AFieldThatOccursTwiceIsRefusedWithItsName) {
  EXPECT_EQ(Read(Pod(Sub(10, "a") + Sub(10, "b"))),
            "bytes: Pod p: spec.nodeName: occurs twice in one object");
  EXPECT_EQ(Read(Enveloped("v1", "Pod", Meta("p") + Sub(2, Sub(10, "a")) + Sub(2, ""))),
            "bytes: Pod p: spec: occurs twice in one object");
  EXPECT_THAT(Read(Pod(Int(11, 0) + Int(11, 1))), HasSubstr("spec.hostNetwork: occurs twice"));
  EXPECT_THAT(Read(Pod(Sub(1, Sub(2, Sub(6, "")) + Sub(2, Sub(2, ""))))),
              HasSubstr("spec.volumes[0].volumeSource: occurs twice"));
  EXPECT_THAT(Read(Pod(Sub(32, Sub(1, "cpu") + Sub(2, Sub(1, "1") + Sub(1, "2"))))),
              HasSubstr("spec.overhead.cpu: occurs twice"));
  EXPECT_THAT(Read(Pod(Sub(7, Sub(1, "a") + Sub(1, "b")))),
              HasSubstr("spec.nodeSelector: has an entry with two keys or two values"));
}

TEST(ProtobufObjectTest, AListThatIsNotContiguousIsRejectedWithItsName) {
  EXPECT_EQ(Read(Pod(Sub(22, Sub(1, "a")) + Sub(10, "n") + Sub(22, Sub(1, "b")))),
            "bytes: Pod p: spec.tolerations: does not stand together: other fields are in between");
  EXPECT_THAT(Read(Enveloped("v1", "Namespace",
                             Meta("n", Entry(11, "a", "b") + Sub(5, "u") + Entry(11, "c", "d")))),
              HasSubstr("metadata.labels: does not stand together"));
}

TEST(ProtobufObjectTest, ANumberWithAnotherWireTypeIsRefusedWithItsName) {
  EXPECT_THAT(Read(Pod(Int(10, 1))), HasSubstr("spec.nodeName: has another type on the wire"));
  EXPECT_THAT(Read(Pod(Sub(11, "x"))), HasSubstr("spec.hostNetwork: has another type on the wire"));
  EXPECT_THAT(Read(Pod(Int(22, 1))), HasSubstr("spec.tolerations: has another type on the wire"));
  EXPECT_THAT(Read(Pod(Entry(32, "cpu", Int(1, 1)))),
              HasSubstr("spec.overhead.cpu: has another type on the wire"));
}

TEST(ProtobufObjectTest, TextThatIsNotUtf8IsRefusedWithItsPath) {
  EXPECT_THAT(Read(Pod(Sub(10, "\xff"))), HasSubstr("Pod p: spec.nodeName: is not UTF-8"));
  EXPECT_THAT(Read(Pod(Entry(7, "0123456\xc3", "v"))),
              HasSubstr("spec.nodeSelector: has a key that is not UTF-8"));
  EXPECT_THAT(Read(Pod(Entry(7, "k", "01234567\xed\xa0\x80"))),
              HasSubstr("spec.nodeSelector.k: is not UTF-8"));
  EXPECT_THAT(Read(Pod(Entry(7, "k", "01234567\xc3\xa4"))), HasSubstr("[01234567\xc3\xa4]"));
}

TEST(ProtobufObjectTest, NumbersBeyondTheirTypeAreRefused) {
  EXPECT_THAT(Read(Pod(Int(25, int64_t{1} << 31))),
              HasSubstr("spec.priority: 2147483648 is out of range"));
  EXPECT_THAT(Read(Enveloped("apps/v1", "ReplicaSet", Meta("r") + Sub(2, Int(1, -1)))),
              HasSubstr("ReplicaSet r: spec.replicas: -1 is negative"));
  // The same zero, encoded in more bytes than necessary.
  EXPECT_EQ(Read(Pod(Tag(11, 0) + std::string("\x80\x80\x00", 3))),
            "Pod name=[p] namespace=[default]");
}

TEST(ProtobufObjectTest, BytesThatAreNotProtobufAreRejectedWithTheirPlace) {
  const std::string nine(9, '\xff');
  for (const std::string& bytes : std::vector<std::string>{
           Tag(0, 0) + "x", Tag(57, 3), Tag(57, 4), Tag(57, 6), Tag(57, 7), "\xff", nine + "\x02",
           nine + "\xff\x01", Tag(57, 0), Tag(57, 1) + "1234567", Tag(57, 5) + "123",
           Tag(57, 2) + "\x05"
                        "1234",
           Tag(57, 2) + nine + "\x01", Tag(10, 2), Tag(4, 0) + nine, Tag(22, 2) + "\x01"}) {
    EXPECT_THAT(Read(Pod(bytes)), HasSubstr("bytes: Pod p: spec")) << bytes;
    EXPECT_THAT(Read(Pod(bytes)), HasSubstr("is not protobuf: ")) << bytes;
    EXPECT_THAT(Read(bytes, In("v1", "Pod")), HasSubstr("is not protobuf: ")) << bytes;
    EXPECT_THAT(Read(Pod(Sub(7, bytes))), HasSubstr("is not protobuf: ")) << bytes;
    EXPECT_THAT(Read(Pod(Entry(32, "cpu", bytes))), HasSubstr("is not protobuf: ")) << bytes;
    EXPECT_THAT(Read(std::string("k8s\0", 4) + bytes), StartsWith("bytes: object: ")) << bytes;
  }
  EXPECT_EQ(Read(Pod(Sub(22, Tag(1, 2) + "\x05"
                                         "ab"))),
            "bytes: Pod p: spec.tolerations[0].key: is not protobuf: it ends too early (byte 28)");
}

TEST(ProtobufObjectTest, AnObjectInItsEnvelopeThatIsCutAnywhereIsRefusedOrWhole) {
  std::vector<std::string> objects = {TypicalPod()};
  for (const KindCase& each : Kinds()) {
    objects.push_back(Enveloped(each.api_version, each.kind, each.object));
  }
  for (const std::string& whole : objects) {
    const std::string line = Read(whole);
    for (size_t size = 0; size < whole.size(); ++size) {
      // A copy of exactly these bytes, so that a sanitizer reports a read behind their end.
      const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      const std::string read = Read(std::string_view(cut.data(), cut.size()));
      EXPECT_TRUE(read == line || read == "no kind" || read.starts_with("bytes: ")) << size << read;
    }
  }
}

TEST(ProtobufObjectTest, ChangedBytesNeverLeadOutOfTheObject) {
  std::mt19937_64 random(test::RandomSeed());
  std::vector<std::string> objects = {TypicalPod()};
  for (const KindCase& each : Kinds()) {
    objects.push_back(Enveloped(each.api_version, each.kind, each.object));
  }
  for (int round = 0; round < 5000; ++round) {
    const std::string& whole = objects[random() % objects.size()];
    std::vector<char> changed(whole.begin(), whole.end());
    for (uint64_t n = random() % 4 + 1; n > 0; --n) {
      changed[random() % changed.size()] = static_cast<char>(random());
    }
    EXPECT_NE(Read(std::string_view(changed.data(), changed.size())), "");
  }
}

TEST(ProtobufObjectTest, DeepAndManyFieldsCostNoMoreThanTheirBytes) {
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep = Sub(1, deep);
  std::string unknown;
  for (int i = 0; i < 200'000; ++i) unknown += Int(57 + i % 2, 0);
  std::string elements;
  for (int i = 0; i < 200'000; ++i) elements += Sub(22, "");
  std::string keys;
  for (int i = 0; i < 200'000; ++i) keys += Entry(7, std::to_string(i % 1000), "v");
  EXPECT_THAT(Read(Pod(Sub(57, deep))), HasSubstr("not_understood=[spec.field 57]"));
  EXPECT_THAT(Read(Pod(unknown)), HasSubstr("not_understood=[spec.field 57]"));
  EXPECT_THAT(Read(Pod(elements)), HasSubstr("tolerates=[yes]"));
  EXPECT_THAT(Read(Pod(keys)), HasSubstr("selector=[999]:[v]"));
}

// Symptom: a capacity is kept as its text, so a snapshot was written that could not be read again.
TEST(ProtobufObjectTest, AQuantityThatIsNotUtf8IsRefusedWithItsPath) {
  const std::string device = Sub(1, "gpu-0") + Entry(3, "memory", Sub(1, Sub(1, "150\xf3m")));
  EXPECT_THAT(
      Read(Enveloped("resource.k8s.io/v1", "ResourceSlice", Meta("s") + Sub(2, Sub(6, device)))),
      HasSubstr("spec.devices[0].capacity.memory.value: is not UTF-8"));
}

TEST(ProtobufObjectTest, FieldsOfAnObjectDoNotCarryOverToTheNext) {
  ProtobufObjectReader reader;
  for (const KindCase& each : Kinds()) {
    const std::string bytes = Enveloped(each.api_version, each.kind, each.object);
    EXPECT_THAT(ReadWith(reader, TypicalPod(), In("", "")), StartsWith("Pod name=[checkout"));
    EXPECT_EQ(ReadWith(reader, bytes, In("", "")), each.line);
    EXPECT_THAT(ReadWith(reader, Pod(Sub(10, "\xff")), In("", "")), HasSubstr("is not UTF-8"));
    EXPECT_EQ(ReadWith(reader, bytes, In("", "")), each.line);
  }
}

TEST(ProtobufObjectTest, AByteThatIsNotAsciiIsFoundAtAnyPlace) {
  for (size_t size = 1; size <= 25; ++size) {
    for (size_t at = 0; at < size; ++at) {
      std::string name(size, 'n');
      name[at] = '\xff';
      EXPECT_EQ(Read(Pod(Sub(10, name))), "bytes: Pod p: spec.nodeName: is not UTF-8")
          << at << " of " << size;
    }
  }
}

TEST(ProtobufObjectTest, NumbersOfEveryLengthAreRead) {
  std::vector<int64_t> numbers = {1, INT64_MAX, INT64_MIN, -1};
  for (int shift = 7; shift < 63; shift += 7) {
    numbers.push_back((int64_t{1} << shift) - 1);
    numbers.push_back(int64_t{1} << shift);
  }
  for (const int64_t number : numbers) {
    EXPECT_EQ(Read(Pod(Int(4, number))),
              "Pod name=[p] namespace=[default] grace=" + std::to_string(number));
  }
  // Longer lengths too.
  for (const size_t size : {127, 128, 253}) {
    const std::string name(size, 'n');
    EXPECT_EQ(Read(Pod(Sub(10, name))), "Pod name=[p] namespace=[default] node=[" + name + "]");
  }
}

TEST(ProtobufObjectTest, AnEntryOfAMapIsReadInEveryEncoding) {
  const std::string start = "Pod name=[p] namespace=[default] selector=";
  const std::string end = " has_selector=true";
  const std::string longer(130, 'k');
  for (const auto& [entry, read] : std::vector<std::pair<std::string, std::string>>{
           {Sub(1, "k") + Sub(2, "v"), "[k]:[v]"},
           {Sub(2, "v") + Sub(1, "k"), "[k]:[v]"},
           {Sub(1, "k") + Sub(2, "v") + Int(3, 1), "[k]:[v]"},
           {Int(3, 1) + Sub(1, "k") + Sub(4, "x") + Sub(2, "v"), "[k]:[v]"},
           {Sub(1, "k"), "[k]:[]"},
           {Sub(2, "v"), "[]:[v]"},
           {Sub(1, longer) + Sub(2, "v"), "[" + longer + "]:[v]"},
           {Sub(1, "k") + Sub(2, longer), "[k]:[" + longer + "]"}}) {
    EXPECT_EQ(Read(Pod(Sub(7, entry))), start + read + end);
  }
  const std::string refused = "bytes: Pod p: spec.nodeSelector: ";
  EXPECT_EQ(Read(Pod(Sub(7, Int(1, 5) + Sub(2, "v")))),
            refused + "has another type on the wire than in the API");
  EXPECT_EQ(Read(Pod(Sub(7, Sub(1, "k") + Sub(2, "v") + Sub(2, "w")))),
            refused + "has an entry with two keys or two values");
  // A quantity with unknown fields beside it.
  EXPECT_EQ(Read(Pod(Sub(32, Sub(1, "cpu") + Sub(2, Int(5, 1) + Sub(1, "2") + Sub(6, "x"))))),
            "Pod name=[p] namespace=[default] overhead=[cpu]:2000");
}

TEST(ProtobufObjectTest, ATimeHasItsSecondsOnceWithinTheYearsThatThereAre) {
  const auto deleted = [](std::string_view time) {
    return Read(Enveloped("v1", "Namespace", Meta("n", Sub(9, time))));
  };
  const std::string start = "bytes: Namespace n: metadata.deletionTimestamp: ";
  EXPECT_EQ(deleted(Int(1, -62167219200)), "Namespace name=[n] deleted=-62167219200");
  EXPECT_EQ(deleted(Int(1, 253402300799)), "Namespace name=[n] deleted=253402300799");
  EXPECT_EQ(deleted(Int(2, 7) + Int(1, 5) + Sub(9, "x")), "Namespace name=[n] deleted=5");
  EXPECT_EQ(deleted(Int(1, -62167219201)),
            start + "-62167219201 s since 1970 is not a time of the years 0 to 9999");
  EXPECT_EQ(deleted(Int(1, 253402300800)),
            start + "253402300800 s since 1970 is not a time of the years 0 to 9999");
  EXPECT_EQ(deleted(Int(1, 5) + Int(1, 5)), start + "occurs twice in one object");
  EXPECT_EQ(deleted(Sub(1, "5")), start + "has another type on the wire than in the API");
}

TEST(ProtobufObjectTest, EachUnknownFieldIsNamedByItsOwnNumber) {
  EXPECT_THAT(Read(Pod(Int(58, 0) + Int(57, 0))), HasSubstr("not_understood=[spec.field 57]"));
  EXPECT_THAT(Read(Pod(Int(57, 0) + Int(58, 0))), HasSubstr("not_understood=[spec.field 57]"));
  EXPECT_THAT(Read(Pod(Int(58, 0) + Sub(22, Int(59, 0)))),
              HasSubstr("not_understood=[spec.field 58]"));
}

TEST(ProtobufObjectTest, TheErrorSaysWhatIsWrongWithTheBytes) {
  const std::string nine(9, '\xff');
  for (const auto& [bytes, problem] : std::vector<std::pair<std::string, std::string>>{
           {Tag(0, 0) + "x", "there is no such field number"},
           {Varint(uint64_t{1} << 35), "there is no such field number"},
           {Tag(57, 3), "there is no such wire type"},
           {Tag(57, 7), "there is no such wire type"},
           {nine + "\x02", "a number is too large"},
           {nine + "\xff\x01", "a number is too long"},
           {"\xff", "it ends too early"},
           {Tag(57, 1) + "1234567", "it ends too early"},
           {Tag(57, 5) + "123", "it ends too early"},
           {Tag(57, 2) + "\x05" + "1234", "it ends too early"}}) {
    EXPECT_THAT(Read(Pod(bytes)), StartsWith("bytes: Pod p: spec"));
    EXPECT_THAT(Read(Pod(bytes)), HasSubstr(": is not protobuf: " + problem + " (byte "));
  }
  // A complete unknown field is skipped exactly to its end.
  for (const std::string& whole : {Tag(57, 1) + "12345678", Tag(57, 5) + "1234",
                                   Tag(57, 2) + "\x05" + "12345", Tag(57, 0) + nine + "\x01"}) {
    EXPECT_THAT(Read(Pod(whole + Sub(10, "n"))), HasSubstr(" node=[n] "));
  }
}

TEST(ProtobufObjectTest, AListIsIgnoredIfItsPlaceOrItsGroupForbidsIt) {
  ObjectPlace alone = In("", "");
  alone.no_list = true;
  EXPECT_EQ(Read(Enveloped("v1", "PodList", ""), alone), "ignored PodList");
  EXPECT_EQ(Read(Enveloped("example.com/v1", "AllowList", "")), "ignored AllowList");
  EXPECT_EQ(Read("", In("v1", "PodList")), "ignored PodList") << "it does not say so itself";
  EXPECT_EQ(Read(Enveloped("example.com/v1", "Status", "")), "ignored Status");
}

TEST(ProtobufObjectTest, TheReaderReturnsTheNameOfTheLastObject) {
  ProtobufObjectReader reader;
  ObjectBatch batch;  // The object's texts point into it and into the bytes.
  const std::string node = Enveloped("v1", "Node", Meta("n"));
  reader.Read(node, In("", ""), batch);
  EXPECT_EQ(reader.last_name(), "n");
  reader.Read(Enveloped("v1", "ConfigMap", ""), In("", ""), batch);
  EXPECT_EQ(reader.last_name(), "");
}

}  // namespace
}  // namespace ebb::object_protobuf_test
