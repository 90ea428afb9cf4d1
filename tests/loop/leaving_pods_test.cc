#include "loop/leaving_pods.h"

#include "gtest/gtest.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::leaving_pods_test {
namespace {

using test::Cluster;
using test::Node;
using test::Pod;

// Whether a pod "p" goes with the node that it is on.
bool Goes(Pod pod) {
  const ClusterSnapshot snapshot = Cluster().Add(Node("a")).Add(pod.On("a")).Build();
  const Catalog& catalog = snapshot.catalog();
  return GoesWithItsNode(catalog, catalog.shape_of(test::PodNamed(snapshot, "p")));
}

TEST(LeavingPodsTest, APodThatIsToRunOnNeedsAnotherPlace) {
  EXPECT_FALSE(Goes(Pod("p")));
  EXPECT_FALSE(Goes(Pod("p").Phase("Pending")));
  EXPECT_FALSE(Goes(Pod("p").OwnedBy("StatefulSet", "db")));
  EXPECT_FALSE(Goes(Pod("p").WithoutOwner()));
  EXPECT_FALSE(Goes(Pod("p").Annotation("kubernetes.io/config.source", "api")));
}

TEST(LeavingPodsTest, APodOfTheNodesOwnOrOneThatEndsGoesWithIt) {
  EXPECT_TRUE(Goes(Pod("p").DaemonSet()));
  EXPECT_TRUE(Goes(Pod("p").Mirror()));
  EXPECT_TRUE(Goes(Pod("p").Annotation("kubernetes.io/config.source", "file")));
  EXPECT_TRUE(Goes(Pod("p").DeletedAt(1000)));
  EXPECT_TRUE(Goes(Pod("p").Phase("Succeeded")));
  EXPECT_TRUE(Goes(Pod("p").Phase("Failed")));
}

}  // namespace
}  // namespace ebb::leaving_pods_test
