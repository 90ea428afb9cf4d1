#include "sizing/policy/clusterman/clusterman_options.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace ebb::clusterman_options_test {
namespace {

ClustermanOptions Good() {
  ClustermanOptions options;
  options.service.setpoint = 0.7;
  options.service.target_capacity_margin = 0.1;
  options.limits = {
      .min_capacity = 1, .max_capacity = 10, .max_weight_to_add = 5, .max_weight_to_remove = 5};
  return options;
}

// The only problem of good options after `change`; several problems are joined.
template <typename Change>
std::string ProblemOf(Change change) {
  ClustermanOptions options = Good();
  change(options);
  std::string text;
  for (const std::string& problem : Problems(options)) text += problem + "\n";
  return text;
}

TEST(ClustermanOptionsTest, GoodOptionsHaveNoProblem) {
  EXPECT_EQ(ProblemOf([](auto&) {}), "");
  EXPECT_EQ(ProblemOf([](auto& o) {
              o.limits.max_tasks_to_kill = std::numeric_limits<double>::infinity();
              o.limits.min_capacity = o.limits.max_capacity;
              o.service.target_capacity_margin = 0;
              o.apps = {"one"};
            }),
            "");
}

TEST(ClustermanOptionsTest, EveryProblemNamesItsKey) {
  EXPECT_EQ(ProblemOf([](auto& o) { o.service.setpoint.reset(); }),
            "service: autoscaling.setpoint: required\n");
  EXPECT_EQ(ProblemOf([](auto& o) { o.service.target_capacity_margin.reset(); }),
            "service: autoscaling.target_capacity_margin: required\n");
  for (const double setpoint : {0.0, -0.5, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(ProblemOf([&](auto& o) { o.pool.setpoint = setpoint; }),
              "pool: autoscaling.setpoint: must be above 0\n");
  }
  EXPECT_EQ(ProblemOf([](auto& o) { o.pool.target_capacity_margin = std::nan(""); }),
            "pool: autoscaling.target_capacity_margin: must be a finite number\n");
  EXPECT_EQ(ProblemOf([](auto& o) { o.limits.min_capacity = 11; }),
            "scaling_limits.min_capacity: is above max_capacity\n");
  EXPECT_EQ(ProblemOf([](auto& o) { o.limits.max_weight_to_remove = -1; }),
            "scaling_limits.max_weight_to_remove: must be from 0 to 2^53\n");
  EXPECT_EQ(
      ProblemOf([](auto& o) { o.limits.max_weight_to_add = std::numeric_limits<int64_t>::max(); }),
      "scaling_limits.max_weight_to_add: must be from 0 to 2^53\n");
  for (const double tasks : {-1.0, std::nan("")}) {
    EXPECT_EQ(ProblemOf([&](auto& o) { o.limits.max_tasks_to_kill = tasks; }),
              "scaling_limits.max_tasks_to_kill: must be 0 or more, or inf\n");
  }
  EXPECT_EQ(ProblemOf([](auto& o) { o.signal.period_minutes = 0; }),
            "pool: autoscale_signal.period_minutes: must be above 0\n");
  EXPECT_EQ(ProblemOf([](auto& o) { o.apps = {"one", "two"}; }), "apps: a pool has one at most\n");
}

TEST(ClustermanOptionsTest, ParametersCountForTheInternalSignalOnly) {
  const auto per_pod = [](ClustermanOptions& o) {
    o.signal.parameters.per_pod_resource_requests = true;
    o.signal.parameters.pending_pods_multiplier = std::nan("");
  };
  EXPECT_EQ(ProblemOf(per_pod), "");
  EXPECT_EQ(ProblemOf([&](auto& o) {
              per_pod(o);
              o.signal.internal = true;
            }),
            "pool: autoscale_signal.parameters.per_pod_resource_requests: not implemented\n"
            "pool: autoscale_signal.parameters.pending_pods_multiplier: must be a finite number\n");
}

TEST(ClustermanOptionsTest, ThePoolsValueOverridesTheServices) {
  const ClustermanAutoscaling service{.setpoint = 0.7,
                                      .target_capacity_margin = 0.1,
                                      .excluded_resources = std::vector{ClustermanResource::kGpus}};
  const ClustermanSetpoint alone = Effective(service, {});
  EXPECT_EQ(alone.setpoint, 0.7);
  EXPECT_EQ(alone.target_capacity_margin, 0.1);
  EXPECT_EQ(alone.excluded_resources, (std::vector{ClustermanResource::kGpus}));
  ClustermanAutoscaling pool;
  pool.setpoint = 0.9;
  pool.excluded_resources.emplace();  // An empty list also replaces the service's.
  EXPECT_EQ(Effective(service, pool),
            (ClustermanSetpoint{.setpoint = 0.9, .target_capacity_margin = 0.1}));
}

TEST(ClustermanResourcesTest, NamesAreReadBack) {
  for (const auto resource : {ClustermanResource::kCpus, ClustermanResource::kMem,
                              ClustermanResource::kDisk, ClustermanResource::kGpus}) {
    EXPECT_EQ(ClustermanResourceOf(Name(resource)), resource);
  }
  EXPECT_EQ(ClustermanResourceOf("cpu"), std::nullopt);
}

TEST(ClustermanOptionsTest, EachLimitIsCheckedAtBothOfItsEnds) {
  constexpr int64_t kMost = int64_t{1} << 53;
  struct Limit {
    const char* key;
    int64_t ClustermanLimits::* field;
  };
  for (const Limit& limit :
       {Limit{"min_capacity", &ClustermanLimits::min_capacity},
        Limit{"max_weight_to_add", &ClustermanLimits::max_weight_to_add},
        Limit{"max_weight_to_remove", &ClustermanLimits::max_weight_to_remove}}) {
    const std::string problem =
        "scaling_limits." + std::string(limit.key) + ": must be from 0 to 2^53\n";
    EXPECT_EQ(ProblemOf([&](auto& o) { o.limits.*limit.field = 0; }), "");
    EXPECT_EQ(ProblemOf([&](auto& o) { o.limits.*limit.field = -1; }), problem);
    EXPECT_EQ(ProblemOf([&](auto& o) {
                o.limits.max_capacity = kMost;
                o.limits.*limit.field = kMost;
              }),
              "");
  }
  EXPECT_EQ(ProblemOf([](auto& o) { o.limits.max_capacity = kMost + 1; }),
            "scaling_limits.max_capacity: must be from 0 to 2^53\n");
}

TEST(ClustermanOptionsTest, ProblemsOfTheServicesOptionsNameTheService) {
  EXPECT_EQ(ProblemOf([](auto& o) { o.service.setpoint = 0; }),
            "service: autoscaling.setpoint: must be above 0\n");
  EXPECT_EQ(ProblemOf([](auto& o) { o.service.target_capacity_margin = std::nan(""); }),
            "service: autoscaling.target_capacity_margin: must be a finite number\n");
  EXPECT_EQ(ProblemOf([](auto& o) { o.default_signal.period_minutes = -1; }),
            "service: autoscale_signal.period_minutes: must be above 0\n");
  EXPECT_EQ(ProblemOf([](auto& o) { o.signal.period_minutes = 1; }), "");
}

TEST(ClustermanOptionsTest, ThePoolsMarginOverridesTheServicesToo) {
  ClustermanAutoscaling service;
  service.setpoint = 0.7;
  service.target_capacity_margin = 0.1;
  ClustermanAutoscaling pool;
  pool.target_capacity_margin = 0.3;
  EXPECT_EQ(Effective(service, pool).target_capacity_margin, 0.3);
  EXPECT_EQ(Effective(service, pool).setpoint, 0.7);
  EXPECT_EQ(Effective({}, {}), ClustermanSetpoint{});
}

TEST(ClustermanResourcesTest, NamesAreThoseOfTheProgram) {
  EXPECT_EQ(Name(ClustermanResource::kCpus), "cpus");
  EXPECT_EQ(Name(ClustermanResource::kMem), "mem");
  EXPECT_EQ(Name(ClustermanResource::kDisk), "disk");
  EXPECT_EQ(Name(ClustermanResource::kGpus), "gpus");
}

}  // namespace
}  // namespace ebb::clusterman_options_test
