// A cluster that changes: it adds nodes and pods as JSON, plans, deletes a pod, and plans again.
#include <ebb/cluster.h>

#include <iostream>
#include <string>

namespace {

std::string Node(const std::string& name) {
  return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")" + name +
         R"("},"status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"110"},)" +
         R"("conditions":[{"type":"Ready","status":"True"}]}})";
}

std::string Pod(const std::string& name, const std::string& node) {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":")" + name +
         R"(","annotations":{"cluster-autoscaler.kubernetes.io/safe-to-evict":"true"}},)" +
         R"("spec":{"nodeName":")" + node +
         R"(","containers":[{"name":"c","resources":{"requests":{"cpu":"1500m"}}}]},)" +
         R"("status":{"phase":"Running"}})";
}

int Fail(const ebb::Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}

// A pass considers the nodes that the call names, in their order; here the caller keeps the timers.
ebb::Error PrintPass(ebb::Cluster& cluster, const std::string& now) {
  const ebb::Result<ebb::Plan> plan = cluster.MakePass(
      EBB_JSON, R"({"now":")" + now + R"(","candidates":{"nodes":["n1","n2","n3"]}})");
  if (!plan) return plan.error();
  for (const ebb_removal& removal : plan->removals()) {
    std::cout << "remove " << ebb::View(removal.node) << '\n';
    for (const ebb_move& move : ebb::MovesOf(removal)) {
      std::cout << "  move " << ebb::View(move.pod.name) << " to " << ebb::View(move.to) << '\n';
    }
  }
  for (const ebb_kept& kept : plan->kept()) {
    std::cout << "keep " << ebb::View(kept.node) << ": " << ebb::View(kept.reason) << '\n';
  }
  return {};
}

}  // namespace

int main() {
  ebb::Result<ebb::Cluster> cluster = ebb::Cluster::New();
  if (!cluster) return Fail(cluster.error());
  ebb::Batch batch;
  for (const char* node : {"n1", "n2", "n3"}) {
    if (ebb::Error error = batch.PutJson(Node(node))) return Fail(error);
  }
  for (const auto& [pod, node] : {std::pair("a", "n1"), {"b", "n2"}, {"c", "n3"}, {"d", "n3"}}) {
    if (ebb::Error error = batch.PutJson(Pod(pod, node))) return Fail(error);
  }
  if (const auto version = cluster->Apply(batch); !version) return Fail(version.error());
  if (ebb::Error error = PrintPass(*cluster, "1800000000")) return Fail(error);

  batch.Clear();
  if (ebb::Error error = batch.Delete("Pod", "shop", "c")) return Fail(error);
  const ebb::Result<uint64_t> version = cluster->Apply(batch);
  if (!version) return Fail(version.error());
  std::cout << "version " << *version << ": pod c is gone\n";
  if (ebb::Error error = PrintPass(*cluster, "1800000600")) return Fail(error);
}
