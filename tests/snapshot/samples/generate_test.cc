#include "snapshot/samples/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/formats/write_objects.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/objects/any_object_sink.h"
#include "snapshot/objects/object_ref.h"
#include "snapshot/samples/sample_objects.h"
#include "tests/support/dump_sink.h"

namespace ebb::samples::generate_test {
namespace {

// FNV-1a: the same number on every platform.
uint64_t Digest(const std::vector<std::string>& lines) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const std::string& line : lines) {
    for (const char c : line) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    hash = (hash ^ '\n') * 0x100000001b3u;
  }
  return hash;
}

const Kind& KindOf(std::string_view name) { return *std::ranges::find(Kinds(), name, &Kind::name); }

std::vector<std::string> Made(std::string_view kind, uint32_t nodes, uint64_t seed = 1) {
  testing::DumpSink sink;
  EXPECT_TRUE(KindOf(kind).generate({.nodes = nodes, .seed = seed}, sink).ok());
  return sink.lines();
}

absl::StatusOr<LoadedCluster> Loaded(const Kind& kind, uint32_t nodes, uint64_t seed) {
  ClusterLoader loader;  // Rejects an object that comes twice.
  const absl::Status made = kind.generate({.nodes = nodes, .seed = seed}, loader);
  if (!made.ok()) return made;
  return std::move(loader).Finish();
}

// Published figures refer to these clusters, so a kind whose cluster must change needs a new name.
// Two changes were made in November 2026, which change no plan: company's pending pods have the
// condition PodScheduled, and its pods have the labels that controllers set.
TEST(GenerateTest, AKindIsTheSameClusterEverywhereAndForever) {
  const std::pair<std::string_view, uint64_t> kinds[] = {
      {"uniform", 13102709109477647983u},  {"mixed", 14955988516586680577u},
      {"company", 7929020973597846700u},   {"topology", 13167204610851488691u},
      {"repelling", 3120692491667452463u}, {"diverse", 8987414560489168708u},
      {"terms", 1637882682772719273u},     {"excluding", 5346982526861166101u},
      {"budgets", 2817496278331597775u},   {"claims", 901252059627445943u}};
  ASSERT_EQ(std::size(kinds), Kinds().size());
  for (const auto& [kind, digest] : kinds) EXPECT_EQ(Digest(Made(kind, 100)), digest) << kind;
  EXPECT_EQ(Digest(Made("company", 1000)), 9151071067252634590u);
  EXPECT_EQ(Digest(Made("mixed", 1000)), 14349587467869077886u);
}

TEST(GenerateTest, SizesNeedNotBeMultiplesOfThePodsPerNode) {
  testing::DumpSink sink;
  ASSERT_TRUE(GenerateTerms(15, sink).ok());
  EXPECT_EQ(Digest(sink.lines()), 6129921065679158480u);
  testing::DumpSink uneven;
  ASSERT_TRUE(GenerateUniform(100, 7, uneven).ok());
  EXPECT_EQ(Digest(uneven.lines()), 5475821286618150819u);
}

TEST(GenerateTest, AnotherSeedMakesAnotherClusterIfTheKindIsRandom) {
  for (const std::string_view kind : {"mixed", "company", "topology", "diverse"}) {
    EXPECT_NE(Made(kind, 30, 1), Made(kind, 30, 2)) << kind;
  }
}

TEST(GenerateTest, AnyNumberOfNodesWorks) {
  for (const Kind& kind : Kinds()) {
    for (const uint32_t nodes : {1, 2, 3, 7, 20}) {
      for (uint64_t seed = 1; seed <= 50; ++seed) {
        const absl::StatusOr<LoadedCluster> cluster = Loaded(kind, nodes, seed);
        ASSERT_TRUE(cluster.ok()) << kind.name << ": " << cluster.status();
        const uint32_t control_plane = kind.name != "company" ? 0 : nodes >= 20 ? 3 : 1;
        EXPECT_EQ(cluster->snapshot.nodes(), nodes + control_plane) << kind.name;
      }
    }
  }
}

// Symptom: in most clusters of more than 2,000 nodes two pods of a DaemonSet had the same name.
TEST(GenerateTest, NoTwoObjectsShareAName) {
  for (const uint32_t nodes : {30, 300, 1000, 2000, 3500, 5000}) {
    for (uint64_t seed = 1; seed <= (nodes < 2000 ? 5u : 2u); ++seed) {
      const absl::StatusOr<LoadedCluster> cluster = Loaded(KindOf("company"), nodes, seed);
      ASSERT_TRUE(cluster.ok()) << nodes << " nodes, seed " << seed << ": " << cluster.status();
    }
  }
}

TEST(GenerateTest, AFullSinkEndsGeneration) {
  class Full final : public testing::DumpSink {
   public:
    absl::Status OnPod(const objects::Pod&) override {
      return absl::ResourceExhaustedError("full");
    }
  };
  for (const Kind& kind : Kinds()) {
    Full sink;
    EXPECT_EQ(GenerateDump(kind, {.nodes = 20}, sink).message(), "full") << kind.name;
  }
}

TEST(GenerateTest, ADumpAddsUidsNamespacesAndTheListOfNoBudgetsOnly) {
  class Lists final : public testing::DumpSink {
   public:
    absl::Status OnList(std::string_view kind, uint64_t items) override {
      lists_ += std::string(kind) + " " + std::to_string(items) + ";";
      return absl::OkStatus();
    }
    std::string lists_;
  };
  const auto without_uid = [](std::vector<std::string> lines) {
    for (std::string& line : lines) {
      if (line.starts_with("Node ") || line.starts_with("Pod ")) continue;
      const size_t at = line.find(" uid=[");
      if (at != std::string::npos) line.erase(at, line.find(']', at) + 1 - at);
    }
    return lines;
  };
  for (const Kind& kind : Kinds()) {
    Lists dump;
    ASSERT_TRUE(GenerateDump(kind, {.nodes = 20}, dump).ok());
    std::vector<std::string> expected = Made(kind.name, 20);
    const bool has_budgets = kind.name == "company" || kind.name == "mixed" ||
                             kind.name == "diverse" || kind.name == "budgets";
    EXPECT_EQ(dump.lists_, has_budgets ? "" : "PodDisruptionBudget 0;") << kind.name;
    for (const std::string& line : dump.lines()) {
      EXPECT_NE(line.find(" uid=["), std::string::npos) << line;
    }
    if (kind.name == "company") {
      EXPECT_EQ(dump.lines(), expected);
    }
    if (kind.name != "company" && kind.name != "mixed") {
      expected.emplace_back("Namespace name=[default] created=1767225600");
    }
    EXPECT_EQ(without_uid(dump.lines()), without_uid(expected)) << kind.name;
  }
}

TEST(GenerateTest, NoNodeIsOverbooked) {
  for (const Kind& kind : Kinds()) {
    if (kind.name == "topology") continue;  // Its pods are placed without checking their fit.
    const absl::StatusOr<LoadedCluster> cluster = Loaded(kind, 200, 3);
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    const ClusterSnapshot& snapshot = cluster->snapshot;
    for (uint32_t r = 0; r < snapshot.catalog().resources(); ++r) {
      for (uint32_t n = 0; n < snapshot.catalog().nodes(); ++n) {
        EXPECT_GE(snapshot.Free(ResourceId{r}, NodeId{n}), 0)
            << kind.name << " " << snapshot.catalog().NodeName(NodeId{n}) << " "
            << snapshot.catalog().ResourceName(ResourceId{r});
      }
    }
  }
}

TEST(GenerateTest, WritesTheSameObjectsInEveryForm) {
  for (const Kind& kind : Kinds()) {
    const GenerateOptions options = {.nodes = kind.name == "company" ? 40u : 10u, .seed = 9};
    testing::DumpSink direct;
    ASSERT_TRUE(GenerateDump(kind, options, direct).ok());
    for (const std::string_view form : {"json", "yaml", "pb"}) {
      std::string text;
      const auto append = [&text](std::string_view bytes) {
        text.append(bytes);
        return absl::OkStatus();
      };
      const auto fill = [&](auto&& writer) {
        return GenerateDump(kind, options, writer).ok() && writer.Finish().ok();
      };
      ASSERT_TRUE(form == "pb"     ? fill(BinarySnapshotWriter(append))
                  : form == "json" ? fill(ObjectWriter(ObjectFormat::kJsonList, append))
                                   : fill(ObjectWriter(ObjectFormat::kYamlDocuments, append)));
      testing::DumpSink read;
      ImportStats stats;
      const absl::Status status = ReadBytes(form, text, read, stats);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(read.lines(), direct.lines()) << kind.name << " " << form;
    }
  }
}

// Judging the cluster requires the number of ready pods of each controller.
TEST(GenerateTest, ACompanyHasTheReadyPodsOfEachControllerAsAnAside) {
  class Ready final : public testing::DumpSink {
   public:
    void OnAside(const Aside& aside) override { ready_ = aside.pods_ready; }
    absl::Status OnController(const objects::Controller& controller) override {
      const int64_t ready = std::exchange(ready_, -1);
      if (controller.kind == objects::ControllerKind::kDaemonSet) {
        ++daemon_sets_;
        EXPECT_EQ(ready, 23) << "20 nodes and 3 of the control plane";
      } else {
        EXPECT_EQ(ready, controller.status_replicas) << controller.meta.name;
        EXPECT_GT(ready, 0) << controller.meta.name;
      }
      return absl::OkStatus();
    }
    int64_t ready_ = -1;
    int daemon_sets_ = 0;
  };
  Ready direct;
  ASSERT_TRUE(GenerateCompany({.nodes = 20, .seed = 1}, direct).ok());
  EXPECT_EQ(direct.daemon_sets_, 3);
  Ready dump;  // GenerateDump() must pass on OnAside().
  ASSERT_TRUE(GenerateDump(KindOf("company"), {.nodes = 20, .seed = 1}, dump).ok());
  EXPECT_EQ(dump.daemon_sets_, 3);
}

TEST(GenerateTest, EachKindIsExplainedInALineOfItsOwn) {
  const std::pair<std::string_view, std::string_view> kinds[] = {
      {"uniform", "equal nodes of 10 CPU, each with 40 equal pods that may move"},
      {"mixed", "six machine shapes in three zones and pools, apps from one pod to hundreds"},
      {"company",
       "what a company's cluster has: tainted pools, system pods, Jobs, StatefulSets, ..."},
      {"topology", "every pod with anti-affinity and zone spread to those of its app"},
      {"repelling", "10 pods a node; apps of 5, whose pods refuse each other on a node"},
      {"diverse", "10 pods a node, nearly every one a shape of its own, with a bit of every rule"},
      {"terms", "10 pods a node, each with an anti-affinity term of its own"},
      {"excluding", "10 pods a node, each of which refuses every other on its node"},
      {"budgets", "10 pods a node, and as many budgets, each of all pods"},
      {"claims", "10 pods a node, each with a claim that waits for one of as many volumes"}};
  ASSERT_EQ(Kinds().size(), std::size(kinds));
  for (size_t k = 0; k < std::size(kinds); ++k) {
    EXPECT_EQ(Kinds()[k].name, kinds[k].first);
    EXPECT_EQ(Kinds()[k].help, kinds[k].second);
  }
}

TEST(GenerateTest, ADumpHandsOnListsAndGivesUidsByKindNamespaceAndName) {
  class Uids final : public testing::DumpSink {
   public:
    absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override {
      budget_ = budget.meta.uid;
      return absl::OkStatus();
    }
    absl::Status OnNamespace(const objects::Namespace& namespace_object) override {
      namespace_ = namespace_object.meta.uid;
      return absl::OkStatus();
    }
    std::string budget_;
    std::string namespace_;
  };
  Uids uids;
  ASSERT_TRUE(GenerateDump(KindOf("budgets"), {.nodes = 1}, uids).ok());
  EXPECT_EQ(uids.budget_, "pdb-default-web-9");
  EXPECT_EQ(uids.namespace_, "ns-default");
}

TEST(DiceTest, ChancesAndWeightsKeepToTheirEnds) {
  Dice dice(1);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(dice.Chance(1000));
    EXPECT_FALSE(dice.Chance(0));
    const int64_t number = dice.Between(-1, 1);
    EXPECT_TRUE(number >= -1 && number <= 1) << number;
    EXPECT_EQ(dice.Between(7, 7), 7);
    const uint32_t weights[] = {0, 3, 0, 1, 0};
    const size_t drawn = dice.Weighted(weights);
    EXPECT_TRUE(drawn == 1 || drawn == 3) << drawn;
  }
}

TEST(GenerateTest, GenerationEndsAtTheFirstErrorOfTheSink) {
  // Rejects one object after `room` objects, and would accept objects after it.
  class Full final : public AnyObjectSink {
   public:
    explicit Full(size_t room) : room_(room) {}
    absl::Status OnList(std::string_view, uint64_t) override { return Take(); }
    size_t asked = 0;

   protected:
    absl::Status OnObject(const objects::ObjectRef&) override { return Take(); }

   private:
    absl::Status Take() {
      return asked++ == room_ ? absl::ResourceExhaustedError("full") : absl::OkStatus();
    }
    const size_t room_;
  };
  for (const Kind& kind : Kinds()) {
    const GenerateOptions options = {.nodes = kind.name == "company" ? 20u : 8u, .seed = 1};
    Full enough(~size_t{0});
    ASSERT_TRUE(GenerateDump(kind, options, enough).ok());
    for (size_t room = 0; room < enough.asked; ++room) {
      Full sink(room);
      ASSERT_EQ(GenerateDump(kind, options, sink).message(), "full") << kind.name << " " << room;
      ASSERT_EQ(sink.asked, room + 1) << kind.name;
    }
  }
}

// Few pods have ended or are pending, so the large cluster is tried with each phase.
TEST(GenerateTest, ACompanyEndsAtTheFirstPodThatTheSinkRefuses) {
  class Full final : public AnyObjectSink {
   public:
    explicit Full(std::string_view phase) : phase_(phase) {}
    bool is_full = false;
    size_t behind = 0;

   protected:
    absl::Status OnObject(const objects::ObjectRef& object) override {
      behind += is_full ? 1 : 0;
      const auto* const pod = std::get_if<const objects::Pod*>(&object);
      if (is_full || pod == nullptr || (*pod)->phase != phase_) return absl::OkStatus();
      is_full = true;
      return absl::ResourceExhaustedError("full");
    }

   private:
    const std::string_view phase_;
  };
  for (const std::string_view phase : {"Running", "Succeeded", "Pending"}) {
    Full sink(phase);
    EXPECT_EQ(GenerateCompany({.nodes = 1000, .seed = 1}, sink).message(), "full") << phase;
    EXPECT_TRUE(sink.is_full) << phase;
    EXPECT_EQ(sink.behind, 0u) << phase;
  }
}

TEST(GenerateTest, UidsOfStorageObjectsSayTheirKindAndName) {
  class Uids final : public testing::DumpSink {
   public:
    absl::Status OnStorageObject(const objects::StorageObject& object) override {
      const auto& meta = objects::MetaOf(&object);
      uids.emplace_back(meta.uid);
      return absl::OkStatus();
    }
    std::vector<std::string> uids;
  };
  Uids sink;
  ASSERT_TRUE(GenerateDump(KindOf("claims"), {.nodes = 1}, sink).ok());
  ASSERT_EQ(sink.uids.size(), 21u) << "a class, and ten volumes and claims";
  EXPECT_EQ(sink.uids[0], "storage2-local");
  EXPECT_EQ(sink.uids[1], "storage0-web-0");
  EXPECT_EQ(sink.uids[2], "web-0") << "the kind gives it";
  EXPECT_EQ(sink.uids[20], "web-9");
}

}  // namespace
}  // namespace ebb::samples::generate_test
