#include "snapshot/formats/binary_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "snapshot/formats/read_input.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/import/object_content.h"
#include "snapshot/objects/any_object_sink.h"
#include "snapshot/samples/generate.h"
#include "tests/support/dump_sink.h"
#include "tests/support/every_field.h"
#include "tests/support/sanitized.h"
#include "tests/support/source_dir.h"

namespace ebb::binary_snapshot_test {
namespace {

using ::testing::HasSubstr;

// Objects that together set every field.
constexpr std::string_view kEveryField = R"(
  {"kind":"Node","metadata":{"name":"n","uid":"u","labels":{"a":"b","c":""},"annotations":{"d":"e"},
    "creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"unschedulable":true,"providerID":"p",
    "taints":[{"key":"k","value":"v","effect":"NoSchedule"}]},"status":{"allocatable":{"cpu":"1","x/y":3},
    "capacity":{"cpu":"2"},"conditions":[{"type":"Ready","status":"True"}],"declaredFeatures":["F","G"],
    "nodeInfo":{"operatingSystem":"linux","architecture":"arm64","kubeletVersion":"v1.37.1"}}}
  {"kind":"Pod","metadata":{"name":"p","namespace":"ns","deletionTimestamp":"1960-01-01T00:00:00Z",
    "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"ru","controller":true}]},
   "spec":{"nodeName":"n","priority":-3,"restartPolicy":"Never","terminationGracePeriodSeconds":0,
    "hostNetwork":true,"hostUsers":false,"os":{"name":"linux"},"nodeSelector":{"a":"b"},"overhead":{"cpu":"1500u","memory":"1500m"},
    "resources":{"requests":{"memory":"1Ki"}},"resourceClaims":[{"name":"rc"}],"newRule":1,
    "tolerations":[{"key":"k","operator":"Equal","value":"v","effect":"NoExecute"}],
    "affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
      {"matchExpressions":[{"key":"a","operator":"In","values":["1","2"]}],
       "matchFields":[{"key":"metadata.name","operator":"NotIn","values":["x"]}]}]}},
     "podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"t",
       "labelSelector":{"matchLabels":{"l":"m"},"matchExpressions":[{"key":"z","operator":"Exists"}]},
       "namespaces":["ns"],"namespaceSelector":{}}]},
     "podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"t"}]}},
    "topologySpreadConstraints":[{"maxSkew":4,"topologyKey":"t","whenUnsatisfiable":"DoNotSchedule",
      "labelSelector":{},"matchLabelKeys":["h"],"minDomains":2,"nodeAffinityPolicy":"Ignore","nodeTaintsPolicy":"Honor"}],
    "containers":[{"name":"c","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}},
      "ports":[{"hostPort":1,"hostIP":"1.1.1.1","protocol":"UDP"}],
      "volumeMounts":[{"name":"a","bindMountOptions":["noexec"]}],
      "restartPolicyRules":[{"action":"RestartAllContainers"}]}],"initContainers":[{"name":"i"}],
    "volumes":[{"name":"a","emptyDir":{"medium":"Memory"}},{"name":"b","persistentVolumeClaim":{"claimName":"cl","readOnly":true}},
      {"name":"c","rbd":{"image":"im","pool":"po","monitors":["m"]}},{"name":"d","csi":{"driver":"dr"}}]},
   "status":{"phase":"Running","nominatedNodeName":"nn","resources":{"requests":{"cpu":"5"}},
    "nodeAllocatableResourceClaimStatuses":[{"mapping":[{"name":"cpu","quantity":"1500u"}]}],
    "allocatedResources":{"cpu":"6"},"conditions":[{"type":"PodResizePending","reason":"Infeasible"}],
    "containerStatuses":[{"name":"c","resources":{"requests":{"cpu":"7"}},"allocatedResources":{"cpu":"8"}}]}}
  {"kind":"Pod","metadata":{"name":"q","namespace":"ns"},"spec":{"nodeSelector":{},"resources":{"requests":{}},
    "affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{}}}},"status":{"resources":{}}}
  {"kind":"Pod","metadata":{"name":"bare","namespace":"ns"}}
  {"kind":"PodDisruptionBudget","metadata":{"name":"b","namespace":"ns"},"spec":{"selector":{"matchLabels":{"a":"b"}}},"status":{"disruptionsAllowed":3}}
  {"kind":"PodDisruptionBudget","metadata":{"name":"nil","namespace":"ns"}}
  {"kind":"Job","metadata":{"name":"j","namespace":"ns"},"spec":{"parallelism":0,"completions":5},"status":{"active":1,"succeeded":3}}
  {"kind":"ReplicationController","metadata":{"name":"rc","namespace":"ns"}}
  {"kind":"StatefulSet","metadata":{"name":"s","namespace":"ns"},"spec":{"replicas":2},"status":{"currentReplicas":2}}
  {"kind":"DaemonSet","metadata":{"name":"d","namespace":"ns"}}
  {"kind":"Namespace","metadata":{"name":"ns","labels":{"x":"y"}}})";

std::vector<std::string> LinesOf(std::string_view bytes, std::string* error = nullptr) {
  testing::DumpSink sink;
  ImportStats stats;
  const absl::Status status = ReadBytes("file", bytes, sink, stats);
  if (error != nullptr) {
    *error = std::string(status.message());
  } else {
    EXPECT_TRUE(status.ok()) << status;
  }
  return sink.lines();
}

std::string Written(std::string_view input) {
  std::string out;
  BinarySnapshotWriter writer([&out](std::string_view bytes) {
    out += bytes;
    return absl::OkStatus();
  });
  ImportStats stats;
  EXPECT_TRUE(ReadBytes("input", input, writer, stats).ok());
  EXPECT_TRUE(writer.Finish().ok());
  return out;
}

std::string ErrorOf(std::string_view bytes) {
  std::string error;
  LinesOf(bytes, &error);
  return error;
}

// kEveryField as the last ebb wrote it that wrote version 2.
std::string Version2() {
  std::ifstream file(SourceDir() + "/tests/snapshot/formats/data/version_2.pb", std::ios::binary);
  EXPECT_TRUE(file.good());
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(BinarySnapshotTest, AFileOfVersion2IsRead) {
  EXPECT_EQ(Version2().substr(8, 6), std::string("\x02\0\0\0\x08\x02", 6));
  EXPECT_EQ(LinesOf(Version2()), LinesOf(kEveryField));
}

TEST(BinarySnapshotTest, EveryFieldIsReadBack) {
  const std::vector<std::string> lines = LinesOf(kEveryField);
  ASSERT_EQ(lines.size(), 11u);
  EXPECT_EQ(LinesOf(Written(kEveryField)), lines);
}

TEST(BinarySnapshotTest, AWrittenSnapshotWrittenAgainIsTheSameBytes) {
  const std::string once = Written(kEveryField);
  EXPECT_EQ(Written(once), once);
}

// Records how many pods of each controller are ready.
class ReadySink : public testing::DumpSink {
 public:
  void OnAside(const Aside& aside) override { ready.push_back(aside.pods_ready); }
  std::vector<int64_t> ready;
};

TEST(BinarySnapshotTest, AnAsideCountsForTheNextControllerOnly) {
  std::string out;
  BinarySnapshotWriter writer([&out](std::string_view bytes) {
    out += bytes;
    return absl::OkStatus();
  });
  objects::Controller controller;
  controller.kind = objects::ControllerKind::kReplicaSet;
  controller.meta.namespace_name = "default";
  writer.OnAside({.resource_version = {}, .pods_ready = 3});
  for (const std::string_view name : {"a", "b"}) {
    controller.meta.name = name;
    ASSERT_TRUE(writer.OnController(controller).ok());
  }
  ASSERT_TRUE(writer.Finish().ok());
  ReadySink sink;
  ImportStats stats;
  ASSERT_TRUE(ReadBytes("file", out, sink, stats).ok());
  EXPECT_EQ(sink.lines().size(), 2u);
  EXPECT_THAT(sink.ready, ::testing::ElementsAre(3, 0));
}

TEST(BinarySnapshotTest, ManyPodsKeepTheOrderAndShareTheirTexts) {
  std::string pods;
  for (int i = 0; i < 20'000; ++i) {
    pods +=
        R"({"kind":"Pod","metadata":{"name":"pod-)" + std::to_string(i) +
        R"(","namespace":"some-long-namespace","labels":{"app.kubernetes.io/name":"the-same"}},)"
        R"("spec":{"nodeName":"node-)" +
        std::to_string(i % 100) + "\"}}";
  }
  const std::string snapshot = Written(pods);
  EXPECT_EQ(LinesOf(snapshot), LinesOf(pods));
  EXPECT_LT(snapshot.size(), pods.size() / 3);
}

TEST(BinarySnapshotTest, AnEmptySnapshotIsASnapshot) {
  std::string out;
  BinarySnapshotWriter writer([&out](std::string_view bytes) {
    out += bytes;
    return absl::OkStatus();
  });
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_TRUE(IsBinarySnapshot(out));
  EXPECT_TRUE(LinesOf(out).empty());
}

TEST(BinarySnapshotTest, AFileCutOffAnywhereIsAnError) {
  for (const std::string& snapshot : {Written(kEveryField), Version2()}) {
    for (size_t size = 8; size < snapshot.size(); ++size) {
      ASSERT_EQ(ErrorOf(std::string_view(snapshot).substr(0, size)), "file: is cut off") << size;
    }
    EXPECT_THAT(ErrorOf(snapshot + "x"), HasSubstr("file: is damaged near byte "));
  }
}

TEST(BinarySnapshotTest, VersionsThatAreNotReadAreRefusedByName) {
  std::string snapshot = Written(kEveryField);
  // Magic, length 2, then field 1 as a varint: the version.
  ASSERT_EQ(snapshot.substr(8, 6), std::string("\x02\0\0\0\x08\x07", 6));
  snapshot[13] = 8;
  EXPECT_EQ(ErrorOf(snapshot), "file: is a snapshot of version 8, where this ebb reads version 7");
  for (const char older : {3, 4, 5, 6}) {
    snapshot[13] = older;
    EXPECT_EQ(ErrorOf(snapshot),
              "file: was made by an older ebb, with fewer fields; import the dump again");
  }
}

// A snapshot of version 2 as an older ebb wrote it, without checksums.
std::string Unchecked(std::string_view snapshot) {
  std::string old(snapshot.substr(0, 14));
  old[13] = 1;
  for (size_t at = 14; at < snapshot.size();) {
    at += 8;  // The checksum.
    uint32_t length = 0;
    std::memcpy(&length, snapshot.data() + at, 4);
    old += snapshot.substr(at, 4 + length);
    at += 4 + length;
  }
  return old;
}

TEST(BinarySnapshotTest, AFileWithoutChecksumsIsReadOnlyIfTheCallerVouchesForIt) {
  const std::string old = Unchecked(Version2());
  EXPECT_EQ(ErrorOf(old),
            "file: was made by an older ebb, without checksums; import the dump again");
  testing::DumpSink sink;
  ImportStats stats;
  const absl::Status read =
      ReadBinarySnapshot("file", old, sink, stats, SnapshotVersions::kUncheckedToo);
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(sink.lines(), LinesOf(kEveryField));
}

TEST(BinarySnapshotTest, EverySingleFlippedBitIsRefused) {
  for (const std::string& snapshot : {Written(kEveryField), Version2()}) {
    for (size_t bit = 0; bit < 8 * snapshot.size(); ++bit) {
      std::string flipped = snapshot;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      testing::DumpSink sink;
      ImportStats stats;
      ASSERT_FALSE(ReadBytes("file.pb", flipped, sink, stats).ok()) << "bit " << bit;
      // The checksum is verified before any object is handed over.
      ASSERT_TRUE(sink.lines().empty()) << "bit " << bit;
    }
  }
}

// Accepts every object and keeps none.
class NullSink final : public AnyObjectSink {
 protected:
  absl::Status OnObject(const objects::ObjectRef&) override { return absl::OkStatus(); }
};

TEST(BinarySnapshotTest, AFlippedBitOfALargeFileIsRefused) {
  std::string snapshot;
  BinarySnapshotWriter writer([&](std::string_view bytes) {
    snapshot += bytes;
    return absl::OkStatus();
  });
  ASSERT_TRUE(samples::GenerateCompany({.nodes = 300, .seed = 1}, writer).ok());
  ASSERT_TRUE(writer.Finish().ok());
  ASSERT_GT(snapshot.size(), 256u << 10);  // Several pieces of output.
  std::mt19937_64 random(7);
  for (uint64_t round = 0; round < test::Rounds(300); ++round) {
    const size_t bit = random() % (8 * snapshot.size());
    snapshot[bit / 8] = static_cast<char>(snapshot[bit / 8] ^ (1 << bit % 8));
    NullSink sink;
    ImportStats stats;
    ASSERT_FALSE(ReadBytes("file.pb", snapshot, sink, stats).ok()) << "bit " << bit;
    snapshot[bit / 8] = static_cast<char>(snapshot[bit / 8] ^ (1 << bit % 8));
  }
  EXPECT_EQ(ErrorOf(snapshot), "");
}

// A file of version 2 with these chunks.
std::string WithChecksums(const std::vector<std::string>& chunks) {
  std::string file("EBBSNAP\x01\x02\0\0\0\x08\x02", 14);
  uint64_t checksum = XXH3_64bits_withSeed(file.data(), file.size(), 0);
  for (const std::string& chunk : chunks) {
    const auto length = static_cast<uint32_t>(chunk.size());
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof(length));
    bytes += chunk;
    checksum = XXH3_64bits_withSeed(bytes.data(), bytes.size(), checksum);
    file.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum)).append(bytes);
  }
  return file;
}

TEST(BinarySnapshotTest, AChunkOfVersion2MayNotBeLeftOutOrMoved) {
  // The text "n", and a namespace of this name; the same once more with "m"; the end.
  const std::string first = "\x0a\x01n\x12\x06\x2a\x04\x0a\x02\x08\x01";
  const std::string second = "\x0a\x01m\x12\x06\x2a\x04\x0a\x02\x08\x02";
  const std::string end = "\x18\x01\x20\x02";
  const std::string snapshot = WithChecksums({first, second, end});
  EXPECT_EQ(LinesOf(snapshot),
            (std::vector<std::string>{"Namespace name=[n]", "Namespace name=[m]"}));
  const std::string start = snapshot.substr(0, 14);
  const auto chunk = [&](size_t from, const std::string& content) {
    return snapshot.substr(from, 12 + content.size());
  };
  const std::string one = chunk(14, first);
  const std::string two = chunk(14 + one.size(), second);
  const std::string three = chunk(14 + one.size() + two.size(), end);
  ASSERT_EQ(start + one + two + three, snapshot);
  EXPECT_THAT(ErrorOf(start + two + one + three), HasSubstr("checksum"));
  EXPECT_THAT(ErrorOf(start + one + three), HasSubstr("checksum"));
}

TEST(BinarySnapshotTest, ATextThatIsNotUtf8IsRefused) {
  // The last two form one UTF-8 character together, but each of them alone is invalid.
  for (const auto& [name, uid] :
       std::vector<std::pair<std::string, std::string>>{{"a\xff", "u"}, {"a\xc3", "\xa9u"}}) {
    std::string snapshot;
    BinarySnapshotWriter writer([&](std::string_view bytes) {
      snapshot += bytes;
      return absl::OkStatus();
    });
    objects::Namespace namespace_object;
    namespace_object.meta.name = name;
    namespace_object.meta.uid = uid;
    ASSERT_TRUE(writer.OnNamespace(namespace_object).ok());
    ASSERT_TRUE(writer.Finish().ok());
    EXPECT_THAT(ErrorOf(snapshot), HasSubstr("a text that is not UTF-8"));
  }
}

// Reads damaged files into `Sink`s, and returns how many were refused.
template <typename Sink>
int RefusedOfDamaged(const std::string& snapshot, uint64_t rounds) {
  std::mt19937_64 random(3);
  int refused = 0;
  for (uint64_t round = 0; round < rounds; ++round) {
    std::string damaged = snapshot;
    for (int flips = 0; flips < 3; ++flips) {
      damaged[8 + random() % (damaged.size() - 8)] = static_cast<char>(random());
    }
    Sink sink;
    ImportStats stats;
    refused +=
        ReadBinarySnapshot("file", damaged, sink, stats, SnapshotVersions::kUncheckedToo).ok() ? 0
                                                                                               : 1;
  }
  return refused;
}

TEST(BinarySnapshotTest, DamageWithoutChecksumsIsAnErrorOrOtherDataButNeverACrash) {
  EXPECT_GT(RefusedOfDamaged<testing::DumpSink>(Unchecked(Version2()), 20'000), 5'000);
  EXPECT_GT(RefusedOfDamaged<testing::DumpSink>(Written(kEveryField), 20'000), 5'000);
  EXPECT_GT(RefusedOfDamaged<ClusterLoader>(Written(kEveryField), 20'000), 5'000);
}

// Sets every word of the file to values that are the likeliest to be wrong, one at a time.
TEST(BinarySnapshotTest, AnyWordMayBeAnyNumberWithoutACrash) {
  const std::string snapshot = Written(kEveryField);
  for (size_t at = 16; at + 4 <= snapshot.size(); at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, snapshot.data() + at, sizeof(word));
    for (const uint32_t other : {0u, 1u, word + 1, word - 1, 0x7fffffffu, 0x80000000u, ~0u}) {
      std::string changed = snapshot;
      std::memcpy(changed.data() + at, &other, sizeof(other));
      testing::DumpSink lines;
      ClusterLoader loader;
      ImportStats stats;
      const auto read = [&](ObjectSink& sink) {
        return ReadBinarySnapshot("file", changed, sink, stats, SnapshotVersions::kUncheckedToo);
      };
      const absl::Status objects = read(lines);
      if (!objects.ok()) {
        EXPECT_THAT(std::string(objects.message()), ::testing::StartsWith("file: "));
      }
      if (read(loader).ok()) {
        const absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
        if (cluster.ok()) {
          ASSERT_TRUE(cluster->snapshot.CheckInvariants().ok()) << at;
        }
      }
    }
  }
}

TEST(BinarySnapshotTest, AnErrorNamesTheObjectOnce) {
  constexpr std::string_view kNode = R"({"kind":"Node","metadata":{"name":"a"}})";
  constexpr std::string_view kPod = R"({"kind":"Pod","metadata":{"name":"p","namespace":"ns"}})";
  const std::string twice = std::string(kNode) + std::string(kPod) + std::string(kPod);
  for (const std::string& bytes : {twice, Written(twice)}) {
    ClusterLoader loader;
    ImportStats stats;
    EXPECT_EQ(ReadBytes("file", bytes, loader, stats).message(), "file: Pod ns/p: occurs twice");
  }
}

TEST(BinarySnapshotTest, ImagesPreferencesAndClaimsAreReadBack) {
  constexpr std::string_view kObjects = R"(
    {"kind":"Node","metadata":{"name":"n"},"status":{"images":[{"names":["a@sha256:1","a:2"],
      "sizeBytes":7},{"names":["b"],"sizeBytes":8}]}}
    {"kind":"Pod","metadata":{"name":"p","namespace":"ns"},"spec":{
      "containers":[{"name":"c","image":"a:2"}],
      "resourceClaims":[{"name":"x","resourceClaimName":"held"},
        {"name":"y","resourceClaimTemplateName":"made"}],
      "affinity":{
       "nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
        {"weight":5,"preference":{"matchExpressions":[{"key":"k","operator":"Exists"}]}},
        {"weight":6,"preference":{"matchFields":[{"key":"f","operator":"In","values":["g"]}]}}]},
       "podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
        {"weight":7,"podAffinityTerm":{"topologyKey":"near","labelSelector":{}}}]},
       "podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
        {"weight":8,"podAffinityTerm":{"topologyKey":"far","namespaces":["o"]}}]}}}})";
  const std::vector<std::string> lines = LinesOf(kObjects);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[1], HasSubstr("weight=8"));
  EXPECT_EQ(LinesOf(Written(kObjects)), lines);
}

TEST(BinarySnapshotTest, AnEmptyListIsReadBackIfItHasAKind) {
  class Lists final : public testing::DumpSink {
   public:
    absl::Status OnList(std::string_view kind, uint64_t items) override {
      reported += std::string(kind) + " " + std::to_string(items) + ";";
      return absl::OkStatus();
    }
    std::string reported;
  };
  std::string out;
  BinarySnapshotWriter writer([&out](std::string_view bytes) {
    out += bytes;
    return absl::OkStatus();
  });
  ASSERT_TRUE(writer.OnList("PodDisruptionBudget", 0).ok());
  ASSERT_TRUE(writer.OnList("Pod", 1).ok());
  ASSERT_TRUE(writer.OnList("", 0).ok());
  ASSERT_TRUE(writer.Finish().ok());
  Lists sink;
  ImportStats stats;
  ASSERT_TRUE(ReadBytes("file", out, sink, stats).ok());
  EXPECT_EQ(sink.reported, "PodDisruptionBudget 0;");
}

// Writes a namespace and then an object, and reads both.
template <typename Object>
std::string ErrorBehindANamespace(absl::Status (AnyObjectSink::*put)(const Object&),
                                  const Object& object) {
  std::string out;
  BinarySnapshotWriter writer([&out](std::string_view bytes) {
    out += bytes;
    return absl::OkStatus();
  });
  objects::Namespace first;
  first.meta.name = "first";
  EXPECT_TRUE(writer.OnNamespace(first).ok());
  EXPECT_TRUE((writer.*put)(object).ok());
  EXPECT_TRUE(writer.Finish().ok());
  return ErrorOf(out);
}

TEST(BinarySnapshotTest, InvalidNamesAreRejected) {
  objects::Pod pod;
  pod.meta.name = "p";
  pod.meta.namespace_name = "ns";
  pod.node_name = "n";
  EXPECT_EQ(ErrorBehindANamespace(&BinarySnapshotWriter::OnPod, pod), "");
  for (objects::Text* name : {&pod.meta.name, &pod.meta.namespace_name, &pod.node_name}) {
    const objects::Text right = std::exchange(*name, "a b");
    EXPECT_EQ(ErrorBehindANamespace(&BinarySnapshotWriter::OnPod, pod),
              "file: Pod: \"a b\" is not a name: it has blanks or characters that do not show");
    *name = right;
  }
  pod.meta.name = "";
  EXPECT_THAT(ErrorBehindANamespace(&BinarySnapshotWriter::OnPod, pod),
              ::testing::AllOf(HasSubstr("file: is damaged near byte "),
                               ::testing::EndsWith(", at object 1")));
}

TEST(BinarySnapshotTest, InvalidAmountsAreDamage) {
  objects::Node node;
  node.meta.name = "n";
  const auto error = [&node](int64_t amount, int32_t excess) {
    node.allocatable = {{"cpu", amount, excess}};
    return ErrorBehindANamespace(&BinarySnapshotWriter::OnNode, node);
  };
  EXPECT_EQ(error(0, 0), "");
  EXPECT_EQ(error(1, 999'999'999), "");
  EXPECT_THAT(error(-1, 0), HasSubstr("is damaged"));
  EXPECT_THAT(error(1, 1'000'000'000), HasSubstr("is damaged"));
}

TEST(BinarySnapshotTest, AnErrorOfTheOutputIsReturned) {
  BinarySnapshotWriter writer(
      [](std::string_view) { return absl::ResourceExhaustedError("the disk is full"); });
  EXPECT_EQ(writer.Finish().message(), "the disk is full");
}

TEST(BinarySnapshotTest, BytesAndObjectsAreCounted) {
  const std::string snapshot = Written(kEveryField);
  testing::DumpSink sink;
  ImportStats stats;
  ASSERT_TRUE(ReadBinarySnapshot("file", snapshot, sink, stats).ok());
  EXPECT_EQ(stats.objects, 11u);
  EXPECT_EQ(stats.bytes, snapshot.size());
  ASSERT_TRUE(ReadBinarySnapshot("file", snapshot, sink, stats).ok());
  EXPECT_EQ(stats.objects, 22u);
  EXPECT_EQ(stats.bytes, 2 * snapshot.size());
}

TEST(BinarySnapshotTest, OtherBytesAreNotASnapshot) {
  testing::DumpSink sink;
  ImportStats stats;
  for (const std::string_view bytes : {"", "EBBSNAP", "{\"kind\":\"Node\"}"}) {
    EXPECT_EQ(ReadBinarySnapshot("file", bytes, sink, stats).message(),
              "file: is not a snapshot of ebb's");
  }
}

// Otherwise its length would be allocated before the checksum is verified.
TEST(BinarySnapshotTest, AChunkOfMoreThanAGibibyteIsDamage) {
  const auto error = [](const std::string& length) {
    testing::DumpSink sink;
    ImportStats stats;
    std::string bytes = Unchecked(Version2()).substr(0, 14) + length;
    return std::string(
        ReadBinarySnapshot("file", bytes, sink, stats, SnapshotVersions::kUncheckedToo).message());
  };
  EXPECT_EQ(error(std::string("\0\0\0\x40", 4)), "file: is cut off");
  EXPECT_EQ(error(std::string("\x01\0\0\x40", 4)), "file: is damaged near byte 18, at object 0");
}

TEST(BinarySnapshotTest, AnErrorOfAnyCallOfTheOutputIsReturned) {
  const std::string text(600 << 10, 'x');  // Three pieces of at most 256 KiB.
  objects::Namespace object;
  object.meta.name = "n";
  object.meta.uid = text;
  for (int refused = 1; refused <= 3; ++refused) {
    int calls = 0;
    BinarySnapshotWriter writer([&](std::string_view piece) {
      EXPECT_LE(piece.size(), 256u << 10);
      return ++calls == refused ? absl::ResourceExhaustedError("the disk is full")
                                : absl::OkStatus();
    });
    ASSERT_TRUE(writer.OnNamespace(object).ok());
    EXPECT_EQ(writer.Finish().message(), "the disk is full") << refused;
    EXPECT_EQ(calls, refused);
  }
}

TEST(BinarySnapshotTest, TheErrorNamesTheBytesOfADamagedChunk) {
  const auto error = [](std::string snapshot) {
    snapshot.back() = static_cast<char>(snapshot.back() ^ 1);
    return ErrorOf(snapshot);
  };
  // Version 2: after the header of 14 bytes and the checksum.
  for (const auto& [snapshot, begin] :
       {std::pair(Written(kEveryField), "24"), std::pair(WithChecksums({"\x18\x01"}), "22")}) {
    EXPECT_EQ(error(snapshot), "file: is damaged: the checksum of bytes " + std::string(begin) +
                                   " to " + std::to_string(snapshot.size()) + " is another");
  }
}

TEST(BinarySnapshotTest, TheErrorNamesTheEndOfTextsThatAreNotUtf8) {
  std::string snapshot;
  BinarySnapshotWriter writer([&snapshot](std::string_view bytes) {
    snapshot += bytes;
    return absl::OkStatus();
  });
  objects::Namespace namespace_object;
  namespace_object.meta.name = "n";
  namespace_object.meta.uid = "\xff";
  ASSERT_TRUE(writer.OnNamespace(namespace_object).ok());
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(ErrorOf(snapshot), "file: the texts that end at byte " +
                                   std::to_string(snapshot.size()) +
                                   " have a text that is not UTF-8");
  // Version 2: the text "\xff" and no object.
  snapshot = WithChecksums({"\x0a\x01\xff\x18\x01"});
  EXPECT_EQ(ErrorOf(snapshot), "file: the chunk that ends at byte " +
                                   std::to_string(snapshot.size()) +
                                   " has a text that is not UTF-8");
}

TEST(BinarySnapshotTest, TheFirstOfSeveralInvalidNamesIsReported) {
  objects::Pod pod;
  pod.meta.name = "a b";
  pod.meta.namespace_name = "c d";
  pod.node_name = "e f";
  EXPECT_EQ(ErrorBehindANamespace(&BinarySnapshotWriter::OnPod, pod),
            "file: Pod: \"a b\" is not a name: it has blanks or characters that do not show");
}

TEST(BinarySnapshotTest, AnErrorOfTheSinkForAnEmptyListIsReturned) {
  class NoLists final : public testing::DumpSink {
   public:
    absl::Status OnList(std::string_view, uint64_t) override {
      return absl::FailedPreconditionError("no lists here");
    }
  };
  std::string out;
  BinarySnapshotWriter writer([&out](std::string_view bytes) {
    out += bytes;
    return absl::OkStatus();
  });
  ASSERT_TRUE(writer.OnList("PodDisruptionBudget", 0).ok());
  ASSERT_TRUE(writer.Finish().ok());
  NoLists sink;
  ImportStats stats;
  EXPECT_EQ(ReadBytes("file", out, sink, stats).message(), "no lists here");
}

// --- Files that no writer makes, as bytes of the messages in wire/snapshot.proto

// A field with a length: a text, a message, or numbers below 128.
std::string Field(const std::string& tag, const std::string& bytes) {
  return tag + static_cast<char>(bytes.size()) + bytes;
}

// A file without checksums that has one chunk: the texts "n" and "c", the object, and an end that
// declares `objects_total` objects.
std::string OneChunk(const std::string& object, char objects_total = 1) {
  const std::string chunk = Field("\x0a", "n") + Field("\x0a", "c") + Field("\x12", object) +
                            "\x18\x01\x20" + objects_total;
  std::string file("EBBSNAP\x01\x02\0\0\0\x08\x01", 14);
  file += static_cast<char>(chunk.size());
  file += std::string(3, '\0') + chunk;
  return file;
}

// The file's objects, or the error.
std::vector<std::string> LinesOfUnchecked(const std::string& file) {
  testing::DumpSink sink;
  ImportStats stats;
  const absl::Status read =
      ReadBinarySnapshot("file", file, sink, stats, SnapshotVersions::kUncheckedToo);
  if (!read.ok()) return {std::string(read.message())};
  return sink.lines();
}

const char kNameIsN[] = "\x08\x01";  // In metadata: the name is the first text.

std::string NodeOf(const std::string& more, const std::string& meta = kNameIsN) {
  return Field("\x0a", Field("\x0a", meta) + more);
}

TEST(BinarySnapshotTest, TextsAndAmountsThatDoNotGoTogetherAreDamage) {
  EXPECT_EQ(LinesOfUnchecked(OneChunk(NodeOf(""))), std::vector<std::string>{"Node name=[n]"});
  EXPECT_EQ(LinesOfUnchecked(OneChunk(NodeOf("", kNameIsN + Field("\x22", "\x02\x01")))),
            std::vector<std::string>{"Node name=[n] label=[c]:[n]"});
  EXPECT_EQ(LinesOfUnchecked(OneChunk(
                NodeOf(Field("\x2a", Field("\x0a", "\x01\x02") + Field("\x12", "\x05\x06"))))),
            std::vector<std::string>{"Node name=[n] allocatable=[n]:5 allocatable=[c]:6"});
  const std::string amounts = Field("\x0a", "\x01\x02") + Field("\x12", "\x05\x06");
  for (const std::string& object :
       {NodeOf("", "\x08\x03"),                                  // There is no third text.
        NodeOf("", kNameIsN + Field("\x22", "\x01")),            // A label without a value.
        NodeOf("", kNameIsN + Field("\x22", "\x01\x02\x01")),    // A second one without a value.
        NodeOf("", kNameIsN + Field("\x22", "\x01\x03")),        // A value that is not a text.
        NodeOf(Field("\x3a", "\x01")),                           // A condition without a status.
        NodeOf(Field("\x2a", Field("\x0a", "\x01"))),            // A resource without an amount.
        NodeOf(Field("\x2a", Field("\x12", "\x05"))),            // An amount without a resource.
        NodeOf(Field("\x2a", amounts + Field("\x1a", "\x01"))),  // One excess for two amounts.
        Field("\x22", "\x08\x05" + Field("\x12", kNameIsN)),     // A controller of unknown kind.
        std::string()}) {                                        // No object.
    const std::string file = OneChunk(object);
    EXPECT_EQ(LinesOfUnchecked(file),
              std::vector<std::string>{"file: is damaged near byte " + std::to_string(file.size()) +
                                       ", at object 0"});
  }
  EXPECT_EQ(LinesOfUnchecked(OneChunk(Field("\x22", "\x08\x04" + Field("\x12", kNameIsN)))),
            std::vector<std::string>{"Controller kind=4 name=[n]"});
}

TEST(BinarySnapshotTest, AFileWithMoreOrFewerObjectsThanItsHeaderSaysIsDamaged) {
  for (const char total : {'\0', '\x02'}) {
    const std::string file = OneChunk(NodeOf(""), total);
    EXPECT_EQ(LinesOfUnchecked(file),
              std::vector<std::string>{"file: is damaged near byte " + std::to_string(file.size()) +
                                       ", at object 1"});
  }
}

// Older versions of ebb did not write the sources of claims.
TEST(BinarySnapshotTest, ClaimsOfAPodMayLackTheirSources) {
  const auto line = [](const std::string& sources) {
    const std::string meta = "\x08\x01\x10\x01";
    return LinesOfUnchecked(
        OneChunk(Field("\x12", Field("\x0a", meta) + Field("\xa2\x01", "\x01\x02") + sources)));
  };
  EXPECT_EQ(line(""), std::vector<std::string>{"Pod name=[n] namespace=[n] claims=[n] claims=[c]"});
  EXPECT_EQ(line(Field("\xe2\x01", "\x08\x02")),
            std::vector<std::string>{"Pod name=[n] namespace=[n] claims=[n] claim=[c] claims=[c]"});
}

TEST(BinarySnapshotTest, ASingleObjectIsReadBackUnchanged) {
  objects::Pod pod;
  pod.meta.name = "p";
  pod.meta.namespace_name = "ns";
  pod.node_name = "n";
  pod.priority = 0;
  const objects::StorageObject claim = [] {
    objects::PersistentVolumeClaim made;
    made.meta.name = "c";
    made.meta.namespace_name = "ns";
    made.volume_name = "v";
    return made;
  }();
  testing::DumpSink given;
  ASSERT_TRUE(given.OnPod(pod).ok());
  ASSERT_TRUE(given.OnStorageObject(claim).ok());
  const std::string packed = PackObject(&pod);
  EXPECT_EQ(PackObject(&pod), packed);
  UnpackedObject unpacked(packed);
  testing::DumpSink read;
  ASSERT_TRUE(Give(unpacked.ref(), read).ok());
  unpacked = UnpackedObject(PackObject(&claim));
  ASSERT_TRUE(Give(unpacked.ref(), read).ok());
  EXPECT_EQ(read.lines(), given.lines());
}

template <typename Kind>
void ExpectToComeBack(const Kind& object) {
  using Held = std::conditional_t<std::is_constructible_v<objects::StorageObject, Kind>,
                                  objects::StorageObject, Kind>;
  const Held full(object);
  const UnpackedObject unpacked(PackObject(&full));
  const Held* const* const read = std::get_if<const Held*>(&unpacked.ref());
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(ContentOf(**read), ContentOf(full)) << object.meta.name;
}

// A field that is added to a struct and not to this form fails here.
TEST(BinarySnapshotTest, EveryFieldOfEveryKindComesBack) {
  testing::ForEachKindFilled([](const auto& object) { ExpectToComeBack(object); });
  auto pod = testing::Filled<objects::Pod>();
  pod.node_name = {};  // Then how the scheduler sees the pod belongs to its content.
  ExpectToComeBack(pod);
}

}  // namespace
}  // namespace ebb::binary_snapshot_test
