// Pools defined by the files of Clusterman, Escalator and Maestro, as users of these programs have
// them.

#include "sizing/school_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sizing/policy_file.h"

namespace ebb::school_files_test {
namespace {

using ::testing::HasSubstr;

class SchoolFilesTest : public ::testing::Test {
 protected:
  SchoolFilesTest() { std::filesystem::create_directories(folder_); }
  ~SchoolFilesTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }
  absl::StatusOr<std::vector<SizedPool>> Read(const std::string& pool) {
    return ReadPolicyFile(folder_ + "/pools.yaml",
                          "pools:\n- {name: web, cloud: {min: 1, max: 10}, " + pool + "}\n",
                          PolicyRegistry());
  }
  std::string Why(const std::string& pool) {
    const auto read = Read(pool);
    EXPECT_FALSE(read.ok());
    return std::string(read.status().message());
  }
  // The settings that a file gives.
  static PolicySettings Settings(std::string_view school, SchoolFile kind,
                                 const std::string& yaml) {
    PolicySettings settings;
    SettingsPlace place{.file = "f.yaml"};
    const PolicyRegistry registry;
    const absl::Status read =
        ReadSchoolFile(*registry.Find(school), kind, "web", yaml, place, settings);
    EXPECT_TRUE(read.ok()) << read;
    return settings;
  }

  const std::string folder_ = testing::TempDir() + "ebb-schools-" + std::to_string(getpid());
};

constexpr const char* kEscalator = R"(node_groups:
- name: other
  label_key: customer
  label_value: other
- name: web
  label_key: customer
  label_value: web
  cloud_provider_group_name: web-nodes
  min_nodes: 1
  max_nodes: 30
  dry_mode: false
  taint_upper_capacity_threshold_percent: 40
  taint_lower_capacity_threshold_percent: 10
  slow_node_removal_rate: 2
  fast_node_removal_rate: 5
  scale_up_threshold_percent: 70
  scale_up_cool_down_period: 2m
  scale_up_cool_down_timeout: 10m
  soft_delete_grace_period: 1m
  hard_delete_grace_period: 10m
  aws:
    fleet_instance_ready_timeout: 1m
)";

TEST_F(SchoolFilesTest, EscalatorsGroupOfThePoolsNameGivesItsNodesToo) {
  Write("groups.yaml", kEscalator);
  const auto pools = Read("policy: escalator, file: groups.yaml");
  ASSERT_TRUE(pools.ok()) << pools.status();
  EXPECT_EQ(pools->at(0).nodes, (std::map<std::string, std::string>{{"customer", "web"}}));
  EXPECT_NE(pools->at(0).policy, nullptr);
  EXPECT_THAT(Why("policy: escalator, file: missing.yaml"), HasSubstr("missing.yaml"));
  Write("two.yaml", "node_groups:\n- {name: a}\n- {name: b}\n");
  EXPECT_THAT(Why("policy: escalator, file: two.yaml"),
              HasSubstr("two.yaml: line 2: node_groups: has no group of the name \"web\""));
}

TEST_F(SchoolFilesTest, ErrorsInAFileNameTheFileTheLineAndTheKey) {
  Write("groups.yaml", "node_groups:\n- name: web\n  min_nodes: one\n");
  EXPECT_THAT(Why("policy: escalator, file: groups.yaml"),
              HasSubstr("groups.yaml: line 3: node_groups[0].min_nodes: \"one\" is not a whole "
                        "number"));
  std::string wrong = kEscalator;
  wrong.replace(wrong.find("soft_delete_grace_period: 1m"), 28, "soft_delete_grace_period: xx");
  Write("groups.yaml", wrong);
  EXPECT_THAT(Why("policy: escalator, file: groups.yaml"),
              HasSubstr("groups.yaml: line 19: soft_delete_grace_period: "));
}

TEST_F(SchoolFilesTest, AKeyThatIsNearlyAnotherIsWarnedOfAndOthersOfTheProgramAreNot) {
  const auto warnings = [&] {
    const auto read = ReadSizingFile(
        folder_ + "/pools.yaml",
        "pools:\n- {name: web, cloud: {min: 1, max: 10}, policy: escalator, file: groups.yaml}\n",
        PolicyRegistry());
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? read->warnings : std::vector<std::string>{"none was read"};
  };
  Write("groups.yaml", kEscalator);
  EXPECT_EQ(warnings(), std::vector<std::string>());
  std::string typo = kEscalator;
  typo.replace(typo.find("dry_mode"), 8, "dry_mod");
  Write("groups.yaml", typo);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0],
              HasSubstr("groups.yaml: line 11: node_groups[1].dry_mod: is not read; did you mean "
                        "dry_mode?"));
}

TEST_F(SchoolFilesTest, OptionsBesideAFileCountMore) {
  Write("groups.yaml", kEscalator);
  EXPECT_TRUE(Read("policy: escalator, file: groups.yaml, options: {max_nodes: 5}").ok());
  EXPECT_THAT(Why("policy: escalator, file: groups.yaml, options: {max_nods: 5}"),
              HasSubstr("pools.yaml: line 2: pools[0].options.max_nods: no such field; did you "
                        "mean max_nodes?"));
}

constexpr const char* kMaestro = R"(name: zooba
game: zooba
occupiedTimeout: 900
image: registry/zooba:v1
requests: {cpu: 100m, memory: 100Mi}
autoscaling:
  min: 10
  max: 20
  up:
    delta: 10
    metricsTrigger:
    - {type: room, usage: 60, time: 100, threshold: 80, limit: 90}
    - {type: cpu, usage: 70, time: 100}
    cooldown: 300
  down:
    delta: 2
    trigger: {usage: 20, time: 500, threshold: 80}
    cooldown: 500
)";

TEST_F(SchoolFilesTest, MaestrosSchedulerFileGivesItsAutoscaling) {
  const PolicySettings settings = Settings("maestro", SchoolFile::kPool, kMaestro);
  int64_t number = 0;
  settings.Read("up.metricsTrigger[0].usage", number);
  EXPECT_EQ(number, 60);
  settings.Read("down.trigger.time", number);
  EXPECT_EQ(number, 500);
  EXPECT_EQ(settings.Count("up.metricsTrigger"), 2u);
  Write("scheduler.yaml", kMaestro);
  EXPECT_TRUE(
      Read("policy: maestro, file: scheduler.yaml, nodes: {a: b}, options: {roomsPerNode: 10}")
          .ok());
  EXPECT_THAT(Why("policy: maestro, file: scheduler.yaml, options: {roomsPerNode: 10}"),
              HasSubstr("pools[0].nodes: is required"));
}

// Maestro has no limit of pods per node.
TEST_F(SchoolFilesTest, TheErrorForAMissingKeySaysWhereToGiveIt) {
  Write("scheduler.yaml", kMaestro);
  EXPECT_THAT(Why("policy: maestro, file: scheduler.yaml, nodes: {a: b}"),
              HasSubstr("pools[0].options.roomsPerNode: is required, and scheduler.yaml does not "
                        "say it: beside file, give options: {roomsPerNode: ...}"));
}

TEST_F(SchoolFilesTest, MaestrosTriggersOfUseNeedRequests) {
  std::string lacks = kMaestro;
  lacks.replace(lacks.find("requests: {cpu: 100m, memory: 100Mi}"), 36, "ports: []");
  Write("scheduler.yaml", lacks);
  EXPECT_THAT(Why("policy: maestro, file: scheduler.yaml, nodes: {a: b}"),
              HasSubstr("requests.cpu: must be set for triggers of type cpu"));
}

constexpr const char* kService = R"(autoscaling:
  setpoint: 0.8
  target_capacity_margin: 0.1
  prevent_scale_down_after_capacity_loss: true
  default_signal_role: clusterman
aws: {access_key_file: /etc/boto_cfg/clusterman.json, region: us-west-2}
)";
constexpr const char* kPool = R"(resource_groups:
- asg: {tag: puppet:role::web}
scaling_limits:
  min_capacity: 1
  max_capacity: 800
  max_weight_to_add: 100
  max_weight_to_remove: 100
  max_tasks_to_kill: inf
autoscaling: {setpoint: 0.7, instance_loss_threshold: 3}
draining: {draining_time_threshold_seconds: 60}
draining_enabled: true
autoscale_signal:
  internal: true
  period_minutes: 7
  parameters:
  - {pending_pods_multiplier: 3}
)";

TEST_F(SchoolFilesTest, ClustermansPoolFileCountsMoreThanTheServices) {
  Write("service.yaml", kService);
  Write("web.kubernetes", kPool);
  const auto pools =
      Read("policy: clusterman, file: web.kubernetes, service: service.yaml, nodes: {a: b}");
  ASSERT_TRUE(pools.ok()) << pools.status();
  const PolicySettings pool = Settings("clusterman", SchoolFile::kPool, kPool);
  double number = 0;
  pool.Read("autoscaling.setpoint", number);
  EXPECT_EQ(number, 0.7);
  pool.Read("autoscale_signal.parameters.pending_pods_multiplier", number);
  EXPECT_EQ(number, 3);
  pool.Read("scaling_limits.max_tasks_to_kill", number);
  EXPECT_GT(number, 1e300);
  EXPECT_FALSE(pool.Has("draining"));  // In that file `draining` is a section.
  // A key that counts only in a pool's file is ignored in a service's file.
  EXPECT_FALSE(Settings("clusterman", SchoolFile::kService, kService)
                   .Has("autoscaling.prevent_scale_down_after_capacity_loss"));
  EXPECT_THAT(
      Why("policy: clusterman, file: web.kubernetes, nodes: {a: b}"),
      HasSubstr("pools.yaml: line 2: pools[0].options.autoscaling.target_capacity_margin: is "
                "required, and web.kubernetes does not say it: beside file, give options: "
                "{autoscaling: {target_capacity_margin: ...}}"));
  EXPECT_THAT(
      Why("policy: escalator, file: x, service: y"),
      HasSubstr(
          "pools[0].service: is not used here; expected only with policy clusterman and a file"));
}

TEST_F(SchoolFilesTest, AKeyThatTheFollowedVersionDoesNotReadIsAWarningThatNamesIt) {
  const auto warnings = [&](const std::string& more) {
    Write("service.yaml", kService);
    Write("web.kubernetes", kPool + more);
    const auto read = ReadSizingFile(
        folder_ + "/pools.yaml",
        "pools:\n- {name: web, cloud: {min: 1, max: 10}, policy: clusterman, nodes: {a: b}, "
        "file: web.kubernetes, service: service.yaml}\n",
        PolicyRegistry());
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? read->warnings : std::vector<std::string>{};
  };
  const size_t without = warnings("").size();
  ASSERT_EQ(warnings("scale_by_magic: true\n").size(), without + 1);
  EXPECT_THAT(warnings("scale_by_magic: true\n"),
              testing::Contains(HasSubstr("scale_by_magic: is not read (ebb follows Clusterman, "
                                          "commit 55d0831 of October 2023)")));
  EXPECT_EQ(warnings("node_migration: {trigger: {}}\n").size(), without);
}

TEST_F(SchoolFilesTest, ClustermansNewerSignalIsRead) {
  const auto with = [](const std::string& parameters) {
    std::string pool = kPool;
    const std::string old = "- {pending_pods_multiplier: 3}";
    return pool.replace(pool.find(old), old.size(), parameters);
  };
  const PolicySettings pool =
      Settings("clusterman", SchoolFile::kPool,
               with("- {v2: true}\n  - {pending_pods_max_scheduling_seconds: 600}"));
  bool v2 = false;
  double seconds = 0;
  pool.Read("autoscale_signal.parameters.v2", v2);
  pool.Read("autoscale_signal.parameters.pending_pods_max_scheduling_seconds", seconds);
  EXPECT_TRUE(v2);
  EXPECT_EQ(seconds, 600);
  Write("service.yaml", kService);
  Write("web.kubernetes", with("- {per_pod_resource_requests: true}"));
  EXPECT_THAT(
      Why("policy: clusterman, file: web.kubernetes, service: service.yaml, nodes: {a: b}"),
      HasSubstr("autoscale_signal.parameters.per_pod_resource_requests: is refused: with it each "
                "run of Clusterman, commit 55d0831 of October 2023 fails"));
}

TEST_F(SchoolFilesTest, ReplicatorHasNoFile) {
  Write("x.yaml", "a: b\n");
  EXPECT_THAT(Why("policy: replicator, file: x.yaml, nodes: {a: b}"),
              HasSubstr("replicator has no configuration files: give options"));
}

TEST_F(SchoolFilesTest, AValueThatIsNotAMapIsRejected) {
  for (const char* const text : {"", "[]", "3", "node_groups: 3", "node_groups: [3]"}) {
    Write("x.yaml", text);
    EXPECT_FALSE(Read("policy: escalator, file: x.yaml").ok()) << text;
  }
  for (const char* const text : {"autoscaling: 3", "autoscaling: {up: 3}", "a: b",
                                 "autoscaling: {up: {metricsTrigger: 3}}"}) {
    Write("x.yaml", text);
    EXPECT_FALSE(Read("policy: maestro, file: x.yaml, nodes: {a: b}").ok()) << text;
  }
  for (const char* const text :
       {"autoscaling: 3", "autoscale_signal: 3", "autoscale_signal: {parameters: [3]}"}) {
    Write("x.yaml", text);
    EXPECT_FALSE(Read("policy: clusterman, file: x.yaml, nodes: {a: b}").ok()) << text;
  }
}

}  // namespace
}  // namespace ebb::school_files_test
