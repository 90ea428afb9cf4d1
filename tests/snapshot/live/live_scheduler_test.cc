// Pods of a profile of the scheduler's configuration, in a cluster that changes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "predicates/filters.h"
#include "snapshot/builder_sink.h"
#include "snapshot/formats/read_scheduler_config.h"
#include "snapshot/live/live_snapshot.h"
#include "tests/testing/cluster_builder.h"

namespace ebb::live_scheduler_test {
namespace {

using test::Node;
using test::Pod;

std::shared_ptr<const SchedulerConfig> Config() {
  return ParseSchedulerConfig(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
)")
      .value();
}

class LiveSchedulerTest : public ::testing::Test {
 protected:
  LiveSchedulerTest() {
    LiveSnapshot::Options options;
    options.unknown_namespaces = LiveSnapshot::Options::UnknownNamespaces::kHaveNames;
    options.scheduler = Config();
    live_ = std::make_unique<LiveSnapshot>(options);
    const Node a = Node("a").Label("zone", "a");
    const Node b = Node("b").Label("zone", "b");
    Put(&a.raw);
    Put(&b.raw);
    for (const std::string_view name : {"p", "q"}) {
      const Pod pod = Pod(name).On("a").Label("app", "x");
      Put(&pod.raw);
    }
  }
  void Put(const objects::ObjectRef& object) {
    const Change change{.object = object};
    ASSERT_TRUE(live_->Take({&change, 1}).ok());
  }
  void Put(const objects::StorageObject& object) { Put(objects::ObjectRef(&object)); }
  void Delete(const objects::ObjectRef& object) {
    const Change change{.type = Change::Type::kDelete, .object = object};
    ASSERT_TRUE(live_->Take({&change, 1}).ok());
  }
  // Whether a third pod of the application may run on node a, beside the other two: also by an
  // import of the same objects.
  bool MayRunOnA() {
    const bool live = MayRunOnA(live_->Snapshot());
    SnapshotBuilder builder;
    builder.SetScheduler(Config());
    BuilderSink sink(builder);
    EXPECT_TRUE(live_->Export(sink).ok());
    const ClusterSnapshot imported = std::move(builder).Build().value();
    EXPECT_EQ(MayRunOnA(imported), live);
    return live;
  }
  static bool MayRunOnA(const ClusterSnapshot& snapshot) {
    const Catalog& catalog = snapshot.catalog();
    const NodeId node = catalog.FindNode("a").value();
    return DynamicFits(snapshot, catalog.shape_of(snapshot.PodsOn(node)[0]), node);
  }
  static objects::Service Service(std::string_view label_value) {
    objects::Service service;
    service.meta.name = "s";
    service.meta.namespace_name = "default";
    service.selector = {{"app", label_value}};
    return service;
  }

  std::unique_ptr<LiveSnapshot> live_;
};

TEST_F(LiveSchedulerTest, AServiceThatComesChangesAndGoesSpreadsPods) {
  EXPECT_TRUE(MayRunOnA());
  Put(objects::StorageObject(Service("x")));
  EXPECT_FALSE(MayRunOnA());
  Put(objects::StorageObject(Service("y")));
  EXPECT_TRUE(MayRunOnA());
  Put(objects::StorageObject(Service("x")));
  EXPECT_FALSE(MayRunOnA());
  const objects::StorageObject service(Service("x"));
  Delete(objects::ObjectRef(&service));
  EXPECT_TRUE(MayRunOnA());
}

TEST_F(LiveSchedulerTest, ASelectorOfAControllerThatChangesSpreadsPods) {
  const objects::OwnerReference owner{
      .api_version = "apps/v1", .kind = "ReplicaSet", .name = "rs", .uid = "u", .controller = true};
  for (const std::string_view name : {"p", "q"}) {
    Pod pod = Pod(name).On("a").Label("app", "x");
    pod.raw.meta.owners = {owner};
    Put(&pod.raw);
  }
  EXPECT_TRUE(MayRunOnA());
  objects::Controller rs;
  rs.meta.name = "rs";
  rs.meta.namespace_name = "default";
  rs.selector.nil = false;
  rs.selector.match_labels = {{"app", "x"}};
  Put(&rs);
  EXPECT_FALSE(MayRunOnA());
  const auto rebuilds = live_->counts().rebuilds;
  rs.status_replicas = 2;
  Put(&rs);
  EXPECT_FALSE(MayRunOnA());
  EXPECT_EQ(live_->counts().rebuilds, rebuilds) << "only its selector matters";
  Delete(&rs);
  EXPECT_TRUE(MayRunOnA());
}

TEST_F(LiveSchedulerTest, PodsOnNodesKeepTheirSchedulersName) {
  Pod pod = Pod("p").On("a").Label("app", "x");
  pod.raw.scheduler_name = "other";
  Put(&pod.raw);
  const Catalog& catalog = live_->Snapshot().catalog();
  EXPECT_EQ(catalog.ProfileOf(catalog.shape_of(live_->FindPod("default", "p"))), nullptr);
  EXPECT_NE(catalog.ProfileOf(catalog.shape_of(live_->FindPod("default", "q"))), nullptr);
}

}  // namespace
}  // namespace ebb::live_scheduler_test
