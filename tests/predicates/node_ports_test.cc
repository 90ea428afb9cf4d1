#include "predicates/node_ports.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/predicates/verdict.h"

namespace ebb::test::node_ports_test {
namespace {

constexpr char kTaken[] = "NodePorts: node(s) didn't have free ports for the requested pod ports";

struct PortOf {
  int64_t number;
  std::string_view address;
  std::string_view protocol;
};

// The verdict must be the same if the pod wants only this port or also many others.
std::string Against(const PortOf& held, const PortOf& wanted) {
  Pod many("many");
  for (int64_t other = 1000; other < 1100; ++other) many.HostPort(other);
  many.HostPort(wanted.number, wanted.address, wanted.protocol);
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Node("n"))
          .Add(Pod("holder").On("n").HostPort(held.number, held.address, held.protocol))
          .Add(Pod("p").HostPort(wanted.number, wanted.address, wanted.protocol))
          .Add(many)
          .Build();
  EXPECT_EQ(VerdictOf(snapshot, "many", "n"), VerdictOf(snapshot, "p", "n"));
  return VerdictOf(snapshot, "p", "n");
}

TEST(NodePortsTest, SameProtocolAndNumberConflict) {
  EXPECT_EQ(Against({80, "", ""}, {80, "", "TCP"}), kTaken);
  EXPECT_EQ(Against({80, "", "UDP"}, {80, "", "TCP"}), "fits");
  EXPECT_EQ(Against({80, "", ""}, {81, "", ""}), "fits");
}

TEST(NodePortsTest, AddressesConflictWhenEqualOrOneIsAll) {
  EXPECT_EQ(Against({80, "10.0.0.1", ""}, {80, "10.0.0.1", ""}), kTaken);
  EXPECT_EQ(Against({80, "10.0.0.1", ""}, {80, "10.0.0.2", ""}), "fits");
  EXPECT_EQ(Against({80, "0.0.0.0", ""}, {80, "10.0.0.2", ""}), kTaken);
  EXPECT_EQ(Against({80, "10.0.0.1", ""}, {80, "", ""}), kTaken);
  // To the scheduler, IPv6's "all addresses" is an ordinary address.
  EXPECT_EQ(Against({80, "::", ""}, {80, "::1", ""}), "fits");
}

TEST(NodePortsTest, PortZeroConflictsWithNoPort) {
  EXPECT_EQ(Against({0, "", ""}, {0, "", ""}), "fits");
}

TEST(NodePortsTest, SidecarsHoldPortsAndOtherInitContainersDoNot) {
  const auto init = [](std::string_view policy) {
    return [policy](objects::Pod& pod) {
      objects::Container& container = pod.init_containers.emplace_back();
      container.name = "init";
      container.restart_policy = policy;
      container.ports.push_back({"", 80, ""});
    };
  };
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Node("sidecar"))
                                       .Add(Node("init"))
                                       .Add(Pod("a").On("sidecar").With(init("Always")))
                                       .Add(Pod("b").On("init").With(init("")))
                                       .Add(Pod("p").HostPort(80))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "sidecar"), kTaken);
  EXPECT_EQ(VerdictOf(snapshot, "p", "init"), "fits");
}

}  // namespace
}  // namespace ebb::test::node_ports_test
