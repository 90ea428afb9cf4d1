#include "predicates/node_declared_features.h"

#include <gtest/gtest.h>

#include "tests/predicates/verdict.h"

namespace ebb::test::node_declared_features_test {
namespace {

constexpr char kLacks[] = "NodeDeclaredFeatures: node(s) didn't match Pod's required features";

Node Declaring(std::string_view name, std::vector<objects::Text> features) {
  return Node(name).With([&](objects::Node& node) { node.declared_features = features; });
}

TEST(NodeDeclaredFeaturesTest, RestartingAllContainersNeedsItsFeature) {
  const ClusterSnapshot snapshot =
      Cluster()
          .Add(Declaring("old", {"Another"}))
          .Add(Declaring("new", {"RestartAllContainersOnContainerExits", "Another"}))
          .Add(Pod("p").With(
              [](objects::Pod& pod) { pod.containers[0].restarts_all_containers = true; }))
          .Add(Pod("plain"))
          .Build();
  EXPECT_EQ(VerdictOf(snapshot, "p", "old"), kLacks);
  EXPECT_EQ(VerdictOf(snapshot, "p", "new"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "plain", "old"), "fits");
}

TEST(NodeDeclaredFeaturesTest, HostNetworkNeedsItsFeatureOnlyInAUserNamespace) {
  const auto network = [](std::optional<bool> host_users) {
    return [host_users](objects::Pod& pod) {
      pod.host_network = true;
      pod.host_users = host_users;
    };
  };
  const ClusterSnapshot snapshot = Cluster()
                                       .Add(Declaring("old", {}))
                                       .Add(Declaring("new", {"UserNamespacesHostNetworkSupport"}))
                                       .Add(Pod("own-users").With(network(false)))
                                       .Add(Pod("host-users").With(network(true)))
                                       .Add(Pod("unsaid").With(network(std::nullopt)))
                                       .Build();
  EXPECT_EQ(VerdictOf(snapshot, "own-users", "old"), kLacks);
  EXPECT_EQ(VerdictOf(snapshot, "own-users", "new"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "host-users", "old"), "fits");
  EXPECT_EQ(VerdictOf(snapshot, "unsaid", "old"), "fits");
}

// Source: third/upstream-1.37/u8.
TEST(NodeDeclaredFeaturesTest, BindMountOptionsNeedTheirFeatureFrom137On) {
  const auto verdicts = [](std::string_view version) {
    const ClusterSnapshot snapshot =
        Cluster()
            .Add(Declaring("old", {"Another"}).With([&](objects::Node& node) {
              node.kubelet_version = version;
            }))
            .Add(Declaring("new", {"VolumeBindMountOptions"}))
            .Add(Pod("p").With([](objects::Pod& pod) { pod.has_bind_mount_options = true; }))
            .Build();
    return VerdictOf(snapshot, "p", "old") + ", " + VerdictOf(snapshot, "p", "new");
  };
  EXPECT_EQ(verdicts("v1.36.4"), "fits, fits");
  EXPECT_EQ(verdicts("v1.37.0"), std::string(kLacks) + ", fits");
}

}  // namespace
}  // namespace ebb::test::node_declared_features_test
