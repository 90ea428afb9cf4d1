#include "snapshot/formats/read_scheduler_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "predicates/filters.h"

namespace ebb::read_scheduler_config_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr std::string_view kStart =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

std::shared_ptr<SchedulerConfig> Read(std::string_view rest) {
  auto config = ParseSchedulerConfig(absl::StrCat(std::string(kStart), std::string(rest)));
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *std::move(config) : std::make_shared<SchedulerConfig>();
}

// The only profile, with these lines.
SchedulerProfile Profile(std::string_view lines) {
  const auto config = Read(absl::StrCat("profiles:\n- schedulerName: s\n", std::string(lines)));
  EXPECT_EQ(config->profiles.size(), 1u);
  SchedulerProfile profile = config->profiles.at(0);
  profile.added_affinity = {};  // Its texts go with the configuration.
  profile.added_preferences.clear();
  return profile;
}

FilterSet Bit(std::string_view filter) {
  const auto* const at = std::ranges::find(kSchedulerFilters, filter);
  return static_cast<FilterSet>(1 << (at - std::begin(kSchedulerFilters)));
}

TEST(ReadSchedulerConfigTest, FiltersHaveTheOrderOfPredicates) {
  for (size_t i = 0; i < std::size(kSchedulerFilters); ++i) {
    EXPECT_EQ(FilterName(static_cast<Filter>(i)), kSchedulerFilters[i]);
  }
}

TEST(ReadSchedulerConfigTest, WithoutProfilesThereIsTheDefaultOne) {
  const auto config = Read("parallelism: 4\n");
  ASSERT_EQ(config->profiles.size(), 1u);
  EXPECT_EQ(config->profiles[0].name, "default-scheduler");
  EXPECT_TRUE(config->SaysNothing());
  EXPECT_EQ(config->FindProfile(""), 0u);
  EXPECT_EQ(config->FindProfile("other"), std::nullopt);
}

TEST(ReadSchedulerConfigTest, DefaultConstraintsAreReadFromAList) {
  const SchedulerProfile profile = Profile(R"(
  pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, minDomains: 3,
         nodeTaintsPolicy: Honor}
      - {maxSkew: 1, topologyKey: host, whenUnsatisfiable: ScheduleAnyway,
         nodeAffinityPolicy: Ignore}
)");
  EXPECT_EQ(profile.not_understood, "");
  EXPECT_TRUE(profile.lists_spread);
  ASSERT_EQ(profile.spread.size(), 2u);
  EXPECT_EQ(profile.spread[0].topology_key, "zone");
  EXPECT_EQ(profile.spread[0].max_skew, 2);
  EXPECT_EQ(profile.spread[0].min_domains, 3);
  EXPECT_TRUE(profile.spread[0].hard && profile.spread[0].honor_affinity &&
              profile.spread[0].honor_taints);
  EXPECT_FALSE(profile.spread[1].hard || profile.spread[1].honor_affinity ||
               profile.spread[1].honor_taints);
}

TEST(ReadSchedulerConfigTest, SystemDefaultsListNothing) {
  const SchedulerProfile profile = Profile(R"(
  pluginConfig: [{name: PodTopologySpread, args: {defaultingType: System}}]
)");
  EXPECT_EQ(profile.not_understood, "");
  EXPECT_FALSE(profile.lists_spread);
}

TEST(ReadSchedulerConfigTest, WhatAPointEnablesItselfCountsBeforeWhatIsOff) {
  EXPECT_EQ(Profile("").filters_off, 0);
  EXPECT_EQ(Profile("  plugins: {filter: {disabled: [{name: NodePorts}]}}\n").filters_off,
            Bit("NodePorts"));
  const SchedulerProfile all =
      Profile("  plugins: {multiPoint: {disabled: [{name: TaintToleration}]}}\n");
  EXPECT_EQ(all.filters_off, Bit("TaintToleration"));
  EXPECT_EQ(all.pre_filters_off, Bit("TaintToleration"));
  EXPECT_EQ(all.weights.taint_toleration, 0);
  const SchedulerProfile again = Profile(
      "  plugins:\n    filter: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit}, "
      "{name: NodePorts}]}\n");
  EXPECT_EQ(again.filters_off & (Bit("NodeResourcesFit") | Bit("NodePorts")), 0);
  EXPECT_NE(again.filters_off & Bit("NodeAffinity"), 0);
  EXPECT_EQ(again.pre_filters_off & Bit("NodeAffinity"), 0);
  const SchedulerProfile multi = Profile(
      "  plugins:\n    multiPoint: {disabled: [{name: '*'}], enabled: [{name: NodePorts}, "
      "{name: NodeResourcesFit, weight: 7}]}\n");
  EXPECT_EQ(multi.filters_off & (Bit("NodeResourcesFit") | Bit("NodePorts")), 0);
  EXPECT_NE(multi.filters_off & Bit("VolumeZone"), 0);
  EXPECT_EQ(multi.weights.node_resources_fit, 7);
  EXPECT_EQ(multi.weights.image_locality, 0);
}

TEST(ReadSchedulerConfigTest, WeightsAreThoseOfTheScorePointThenOfAllPoints) {
  const ScoreWeights weights = Profile(R"(
  plugins:
    multiPoint: {enabled: [{name: NodeAffinity, weight: 5}, {name: ImageLocality, weight: 6}]}
    score: {enabled: [{name: ImageLocality, weight: 8}, {name: PodTopologySpread}],
            disabled: [{name: InterPodAffinity}]}
)")
                                   .weights;
  EXPECT_EQ(weights.node_affinity, 5);
  EXPECT_EQ(weights.image_locality, 8);
  EXPECT_EQ(weights.pod_topology_spread, 1);
  EXPECT_EQ(weights.inter_pod_affinity, 0);
  EXPECT_EQ(weights.taint_toleration, 3);
}

TEST(ReadSchedulerConfigTest, StrategyAndIgnoredResourcesAreReadFromNodeResourcesFit) {
  const SchedulerProfile profile = Profile(R"(
  pluginConfig:
  - name: NodeResourcesFit
    args:
      ignoredResources: [a.com/x]
      ignoredResourceGroups: [b.com]
      scoringStrategy:
        type: RequestedToCapacityRatio
        resources: [{name: cpu, weight: 3}, {name: a.com/x}]
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}
)");
  EXPECT_EQ(profile.not_understood, "");
  EXPECT_EQ(profile.fit_score.strategy, FitScore::Strategy::kRequestedToCapacityRatio);
  EXPECT_EQ(profile.fit_score.cpu_weight, 3);
  EXPECT_EQ(profile.fit_score.memory_weight, 0);
  EXPECT_THAT(profile.fit_score.shape, ElementsAre(Pair(0, 0), Pair(100, 10)));
  EXPECT_THAT(profile.not_scored,
              ElementsAre("profiles[0].pluginConfig[0].args.scoringStrategy.resources[1].name"));
  EXPECT_TRUE(profile.IgnoresResource("a.com/x") && profile.IgnoresResource("b.com/y"));
  EXPECT_FALSE(profile.IgnoresResource("cpu") || profile.IgnoresResource("a.com/y"));
}

TEST(ReadSchedulerConfigTest, WhatIsNotKnownNamesItsField) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"  plugins: {filter: {enabled: [{name: Mine}]}}\n",
       "profiles[0].plugins.filter.enabled[0].name: Mine is not a plugin that ebb knows"},
      {"  plugins: {preDawn: {}}\n",
       "profiles[0].plugins.preDawn: is not an extension point that ebb knows"},
      {"  plugins: {preFilter: {disabled: [{name: VolumeZone}]}}\n",
       "profiles[0].plugins: VolumeZone is off at preFilter and on at filter, where it fails"},
      {"  plugins: {filter: {disabled: [{name: NodeResourcesFit}]}}\n",
       "profiles[0].plugins: NodeResourcesFit is off, and ebb moves pods only to nodes with room"},
      {"  pluginConfig: [{name: Mine}]\n",
       "profiles[0].pluginConfig[0].name: Mine is not a plugin that ebb knows"},
      {"  pluginConfig: [{name: NodeAffinity, args: {addedAfinity: {}}}]\n",
       "profiles[0].pluginConfig[0].args.addedAfinity: is not a field that ebb knows"},
      {"  pluginConfig: [{name: NodeAffinity, args: {apiVersion: "
       "kubescheduler.config.k8s.io/v1beta3}}]\n",
       "profiles[0].pluginConfig[0].args.apiVersion: kubescheduler.config.k8s.io/v1beta3 is not "
       "kubescheduler.config.k8s.io/v1"},
      {"  pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 1}]}}]\n",
       "profiles[0].pluginConfig[0].args.defaultConstraints: must be empty unless defaultingType "
       "is List"},
      {"  pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, "
       "defaultConstraints: [{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]}}]\n",
       "profiles[0].pluginConfig[0].args.defaultConstraints[0].maxSkew: must be a whole number "
       "from 1 to 2147483647"},
      {"  pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: "
       "RequestedToCapacityRatio}}}]\n",
       "profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio.shape: must have "
       "points of rising utilization"},
  };
  for (const auto& [lines, expected] : cases) {
    EXPECT_EQ(Profile(lines).not_understood, expected) << lines;
  }
}

TEST(ReadSchedulerConfigTest, ExtendersAndOlderVersionsConcernEveryProfile) {
  const auto extended = Read(
      "extenders: [{urlPrefix: 'http://x'}]\nprofiles: [{schedulerName: a}, "
      "{schedulerName: b}]\n");
  ASSERT_EQ(extended->profiles.size(), 2u);
  for (const SchedulerProfile& profile : extended->profiles) {
    EXPECT_THAT(profile.not_understood, StartsWith("extenders[0]: "));
  }
  const auto older = ParseSchedulerConfig(
      "{\"apiVersion\":\"kubescheduler.config.k8s.io/v1beta3\","
      "\"kind\":\"KubeSchedulerConfiguration\",\"profiles\":[{\"schedulerName\":\"a\"}]}");
  ASSERT_TRUE(older.ok()) << older.status();
  EXPECT_EQ((*older)->profiles.at(0).name, "a");
  EXPECT_THAT((*older)->profiles.at(0).not_understood,
              StartsWith("apiVersion: kubescheduler.config.k8s.io/v1beta3 is another version"));
}

TEST(ReadSchedulerConfigTest, OneNameTwiceIsNotUnderstood) {
  const auto config = Read("profiles: [{schedulerName: a}, {schedulerName: a}]\n");
  ASSERT_EQ(config->profiles.size(), 1u);
  EXPECT_EQ(config->profiles[0].not_understood, "profiles[1].schedulerName: occurs twice");
}

TEST(ReadSchedulerConfigTest, OtherTextsAreErrors) {
  EXPECT_THAT(ParseSchedulerConfig("").status().message(), HasSubstr("is empty"));
  EXPECT_THAT(ParseSchedulerConfig("a: [").status().message(), HasSubstr("line 1"));
  EXPECT_THAT(ParseSchedulerConfig("kind: Pod\napiVersion: v1\n").status().message(),
              HasSubstr("is not a KubeSchedulerConfiguration; kind is \"Pod\""));
  EXPECT_THAT(ParseSchedulerConfig(absl::StrCat(std::string(kStart), "---\n", std::string(kStart)))
                  .status()
                  .message(),
              HasSubstr("more than one document"));
  EXPECT_FALSE(ParseSchedulerConfig("\xff").ok());
}

}  // namespace
}  // namespace ebb::read_scheduler_config_test
