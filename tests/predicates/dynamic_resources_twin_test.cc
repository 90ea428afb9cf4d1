// The allocation of devices against a slow twin, which tries all choices in order, over random
// claims of one pod and random devices of one node.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "predicates/filters.h"
#include "snapshot/devices.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::dynamic_resources_twin_test {
namespace {

using test::Cluster;
using test::Node;
using test::NodeNamed;
using test::Pod;
using test::PodNamed;

constexpr std::string_view kDriver = "gpu.example.com";
constexpr std::array<std::string_view, 6> kDevices = {"d0", "d1", "d2", "d3", "d4", "d5"};
constexpr std::array<std::string_view, 3> kValues = {"0", "1", "2"};
constexpr std::array<std::string_view, 7> kAmounts = {"0", "1", "2", "3", "4", "5", "6"};
// What one request may take of a shared device; the first by default.
constexpr std::array<int, 3> kValidAmounts = {1, 2, 4};
constexpr std::array<std::string_view, 2> kClaims = {"c0", "c1"};
constexpr std::array<std::string_view, 2> kRequests = {"r0", "r1"};
constexpr std::array<std::string_view, 2> kAlternatives = {"a0", "a1"};
// By the device's model; nullopt: all devices.
constexpr std::array<std::pair<std::string_view, std::optional<int>>, 3> kSelectors = {{
    {R"(has(device.attributes["gpu.example.com"].model) && device.attributes["gpu.example.com"].model == "0")",
     0},
    {R"(device.attributes["gpu.example.com"].?model.orValue("") == "1")", 1},
    {"true", std::nullopt},
}};

struct TwinDevice {
  std::optional<int> model;
  std::optional<int> numa;
  bool used = false;
  bool shared = false;
  std::optional<int> memory;
  int taken = 0;  // Of the memory, by those that share the device.
};

struct TwinAsk {
  int count = 1;
  std::optional<int> model;
  std::optional<int> memory;
};

struct TwinClaim {
  std::vector<std::vector<TwinAsk>> requests;  // With their alternatives.
  enum class Rule : uint8_t { kNone, kSame, kDistinct } rule = Rule::kNone;
  std::vector<size_t> requests_of_rule;  // Empty: all.
};

class Twin {
 public:
  Twin(std::vector<TwinDevice> devices, std::vector<TwinClaim> claims)
      : devices_(std::move(devices)),
        claims_(std::move(claims)),
        chosen_(claims_.size()),
        compared_(claims_.size()) {}

  // The devices of each claim; nullopt: there is no solution.
  std::optional<std::vector<std::vector<size_t>>> Allocate() {
    if (!Request(0, 0)) return std::nullopt;
    std::vector<std::vector<size_t>> devices(claims_.size());
    for (size_t c = 0; c < claims_.size(); ++c) {
      for (const Choice& choice : chosen_[c]) devices[c].push_back(choice.device);
    }
    return devices;
  }

 private:
  struct Choice {
    size_t request;
    size_t device;
  };

  bool Request(size_t claim, size_t request) {
    if (claim == claims_.size()) return true;
    if (request == claims_[claim].requests.size()) return Request(claim + 1, 0);
    for (const TwinAsk& ask : claims_[claim].requests[request]) {
      if (Next(claim, request, ask, ask.count, 0)) return true;
    }
    return false;
  }

  // The devices of one request are taken in order, so that each choice is tried once.
  bool Next(size_t claim, size_t request, const TwinAsk& ask, int missing, size_t first) {
    if (missing == 0) return Request(claim, request + 1);
    for (size_t d = first; d < devices_.size(); ++d) {
      if (devices_[d].used || (ask.model && devices_[d].model != ask.model)) continue;
      if (!HasRoom(devices_[d], ask) || !Add(claim, request, d)) continue;
      const TwinDevice before = devices_[d];
      if (before.shared) {
        devices_[d].taken += before.memory ? Takes(before, ask) : 0;
      } else {
        devices_[d].used = true;
      }
      chosen_[claim].push_back({request, d});
      if (Next(claim, request, ask, missing - 1, d + 1)) return true;
      chosen_[claim].pop_back();
      devices_[d] = before;
      Remove(claim, request);
    }
    return false;
  }

  // What the request takes of the device's memory.
  static int Takes(const TwinDevice& device, const TwinAsk& ask) {
    if (!device.shared) return ask.memory.value_or(*device.memory);
    for (const int valid : kValidAmounts) {
      if (ask.memory.value_or(1) <= valid) return valid;
    }
    return *device.memory + 1;  // More than any request may take.
  }

  static bool HasRoom(const TwinDevice& device, const TwinAsk& ask) {
    if (!device.memory) return !ask.memory;
    return device.taken + Takes(device, ask) <= *device.memory;
  }

  [[nodiscard]] bool IsOfRule(size_t claim, size_t request) const {
    const TwinClaim& of = claims_[claim];
    if (of.rule == TwinClaim::Rule::kNone) return false;
    return of.requests_of_rule.empty() || of.requests_of_rule[0] == request;
  }

  // Adds a device to what the rule compares, if the rule allows it.
  bool Add(size_t claim, size_t request, size_t device) {
    if (!IsOfRule(claim, request)) return true;
    const std::optional<int> numa = devices_[device].numa;
    if (!numa) return false;
    Compared& compared = compared_[claim];
    if (claims_[claim].rule == TwinClaim::Rule::kSame) {
      if (compared.devices > 0 && compared.same != *numa) return false;
      compared.same = *numa;
    } else {
      if (compared.devices > 0) {
        for (const auto& [other, value] : compared.distinct) {
          if (value == *numa) return false;
        }
      }
      compared.distinct[request] = *numa;
    }
    ++compared.devices;
    return true;
  }

  void Remove(size_t claim, size_t request) {
    if (!IsOfRule(claim, request)) return;
    compared_[claim].distinct.erase(request);
    --compared_[claim].devices;
  }

  struct Compared {
    int devices = 0;
    int same = 0;
    // As in Kubernetes, only the last device of each request counts.
    std::map<size_t, int> distinct;
  };

  std::vector<TwinDevice> devices_;
  std::vector<TwinClaim> claims_;
  std::vector<std::vector<Choice>> chosen_;
  std::vector<Compared> compared_;
};

// One random case, for the twin and as objects.
class Case {
 public:
  explicit Case(uint32_t seed) : random_(seed) {
    slice_.meta.name = slice_.pool = slice_.node_name = "n";
    slice_.driver = kDriver;
    slice_.generation = slice_.slice_count = 1;
    const int devices = Below(static_cast<int>(kDevices.size()) + 1);
    for (int d = 0; d < devices; ++d) AddDevice(kDevices[static_cast<size_t>(d)]);
    const int claims = 1 + Below(static_cast<int>(kClaims.size()));
    for (int c = 0; c < claims; ++c) AddClaim(kClaims[static_cast<size_t>(c)]);
  }

  std::optional<std::vector<std::vector<size_t>>> Expected() const {
    return Twin(twin_devices_, twin_claims_).Allocate();
  }

  ClusterSnapshot Build() const {
    Cluster cluster;
    objects::DeviceClass device_class;
    device_class.meta.name = "gpu";
    cluster.Add(device_class).Add(slice_).Add(Node("n"));
    objects::ResourceClaim taken;
    taken.meta.namespace_name = "default";
    taken.meta.name = "taken";
    taken.allocated = !taken_.empty();
    taken.devices = taken_;
    if (taken.allocated) taken.reserved_for.push_back({"pods", "other", "other"});
    cluster.Add(taken);
    for (const objects::ResourceClaim& claim : claims_) cluster.Add(claim);
    cluster.Add(Pod("p").With([&](objects::Pod& pod) {
      pod.meta.uid = "p";
      for (const objects::ResourceClaim& claim : claims_) {
        pod.resource_claims.push_back({claim.meta.name, claim.meta.name, "template"});
      }
    }));
    return cluster.Build();
  }

 private:
  int Below(int limit) { return static_cast<int>(random_() % static_cast<uint32_t>(limit)); }

  void AddDevice(std::string_view name) {
    objects::Device device;
    device.name = name;
    TwinDevice twin;
    if (Below(5) > 0) {
      twin.model = Below(2);
      device.attributes.push_back({"model", "string", kValues[static_cast<size_t>(*twin.model)]});
    }
    if (Below(6) > 0) {
      twin.numa = Below(3);
      device.attributes.push_back(
          {"example.com/numa", "string", kValues[static_cast<size_t>(*twin.numa)]});
    }
    twin.used = Below(5) == 0;
    if (Below(2) == 0) AddMemory(device, twin);
    if (twin.used || twin.taken > 0) {
      objects::ResourceClaim::Device& taken = taken_.emplace_back();
      taken.driver = kDriver;
      taken.pool = "n";
      taken.name = name;
      if (!twin.used) {
        taken.share_id = "share";
        taken.consumed = {{"memory", kAmounts[static_cast<size_t>(twin.taken)]}};
      }
    }
    slice_.devices.push_back(std::move(device));
    twin_devices_.push_back(twin);
  }

  void AddMemory(objects::Device& device, TwinDevice& twin) {
    twin.memory = 1 + Below(6);
    objects::DeviceCapacity& memory = device.capacity.emplace_back();
    memory.name = "memory";
    memory.value = kAmounts[static_cast<size_t>(*twin.memory)];
    twin.shared = device.allow_multiple = Below(3) > 0;
    if (!twin.shared) return;
    memory.has_policy = true;
    memory.standard = kAmounts[1];
    for (const int valid : kValidAmounts) {
      memory.valid_values.push_back(kAmounts[static_cast<size_t>(valid)]);
    }
    if (!twin.used) twin.taken = Below(3);
  }

  void AddClaim(std::string_view name) {
    objects::ResourceClaim claim;
    claim.meta.namespace_name = "default";
    claim.meta.name = name;
    claim.meta.owners = {
        {.api_version = "v1", .kind = "Pod", .name = "p", .uid = "p", .controller = true}};
    TwinClaim twin;
    const size_t requests = static_cast<size_t>(1 + Below(2));
    for (size_t r = 0; r < requests; ++r) {
      objects::DeviceRequest request;
      request.name = kRequests[r];
      request.first_available = Below(3) == 0;
      std::vector<TwinAsk>& asks = twin.requests.emplace_back();
      const size_t alternatives = request.first_available ? 2 : 1;
      for (size_t a = 0; a < alternatives; ++a) {
        const auto& [selector, model] = kSelectors[static_cast<size_t>(Below(3))];
        asks.push_back({1 + Below(3), model, std::nullopt});
        if (Below(3) == 0) asks.back().memory = 1 + Below(5);
        objects::DeviceAsk ask;
        if (request.first_available) ask.name = kAlternatives[a];
        ask.class_name = "gpu";
        ask.mode = "ExactCount";
        ask.count = asks.back().count;
        ask.selectors = {selector};
        if (const auto memory = asks.back().memory) {
          ask.capacity = {{"memory", kAmounts[static_cast<size_t>(*memory)]}};
        }
        request.asks.push_back(std::move(ask));
      }
      claim.requests.push_back(std::move(request));
    }
    if (const int rule = Below(3); rule > 0) {
      twin.rule = rule == 1 ? TwinClaim::Rule::kSame : TwinClaim::Rule::kDistinct;
      objects::DeviceConstraint constraint;
      (rule == 1 ? constraint.match_attribute : constraint.distinct_attribute) = "example.com/numa";
      if (Below(2) == 0) {
        twin.requests_of_rule = {0};
        constraint.requests = {kRequests[0]};
      }
      claim.constraints = {constraint};
    }
    claims_.push_back(std::move(claim));
    twin_claims_.push_back(std::move(twin));
  }

  std::mt19937 random_;
  objects::ResourceSlice slice_;
  std::vector<objects::ResourceClaim::Device> taken_;
  std::vector<objects::ResourceClaim> claims_;
  std::vector<TwinDevice> twin_devices_;
  std::vector<TwinClaim> twin_claims_;
};

std::vector<size_t> DevicesOf(const ClusterSnapshot& snapshot, std::string_view claim) {
  const Catalog& catalog = snapshot.catalog();
  const auto id = catalog.devices().FindClaim(*catalog.symbols().Find("default"),
                                              *catalog.symbols().Find(claim));
  std::vector<size_t> devices;
  for (const HeldDevice& held : snapshot.devices().claim(*id).devices) {
    const std::string_view name = catalog.Text(catalog.devices().device(held.info).name);
    devices.push_back(static_cast<size_t>(name[1] - '0'));
  }
  return devices;
}

TEST(DynamicResourcesTwinTest, TheSameDevicesAsTryingAllChoicesInOrder) {
  int solved = 0;
  constexpr uint32_t kCases = 2500;
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    const Case random(seed);
    ClusterSnapshot snapshot = random.Build();
    const PodId pod = PodNamed(snapshot, "p");
    const NodeId node = NodeNamed(snapshot, "n");
    const std::optional<std::vector<std::vector<size_t>>> expected = random.Expected();
    const FilterVerdict verdict = Explain(snapshot, snapshot.catalog().shape_of(pod), node);
    ASSERT_EQ(verdict.fits, expected.has_value()) << verdict.detail;
    if (!expected) continue;
    ++solved;
    snapshot.AddPod(pod, node);
    for (size_t c = 0; c < expected->size(); ++c) {
      ASSERT_EQ(DevicesOf(snapshot, kClaims[c]), (*expected)[c]) << "claim " << c;
    }
  }
  // Both kinds of cases were tried.
  EXPECT_GT(solved, 200);
  EXPECT_LT(solved, static_cast<int>(kCases) - 200);
}

}  // namespace
}  // namespace ebb::dynamic_resources_twin_test
