// Makes clusters: for trying ebb out, for tests and for measuring.  A kind's name means the
// same cluster in `ebb gen`, in the benchmarks and in the tests.
//
//   uniform    nodes of 10 CPU and 10,000 MiB, 40 pods of 1% of both on each, safe to
//              evict: the shape of Cluster Autoscaler's own scale-down benchmark.
//   mixed      six machine shapes in three zones and three pools, one of them tainted;
//              DaemonSets, and applications of Pareto sizes up to a third of the cpu, with
//              node selectors, affinity, zone spread, budgets and local storage.
//   company    what a company's cluster has.  Pools general, batch, spot, db (tainted)
//              and gpu (tainted) of several machine shapes in three zones; control-plane
//              nodes; DaemonSets and other kube-system pods; teams' Deployments,
//              StatefulSets, Jobs and a few bare pods, with budgets, (anti-)affinity, zone
//              spread, node selectors, local storage, host ports, priorities and
//              annotations; some pods that have ended, are expendable or are pending.
//              About 40% of the cpu is requested.
//   topology   nodes of 8 CPU in three zones; applications of 3 to 30 pods, every pod with
//              a hostname anti-affinity and a zone spread constraint to its own.
//   repelling  nodes of 8 CPU with 10 pods each; applications of 5, every pod with a
//              hostname anti-affinity to its own.
//   diverse    three machine shapes in three zones, three pools and racks of 20, some tainted;
//              10 pods a node, in applications of 4.  Nearly every pod is a shape of its own:
//              amounts, grace period, and by chance node selectors, (anti-)affinity, spread,
//              host ports, priorities, local storage, budgets.
//   terms      nodes of 8 CPU with 10 pods each; each pod with a hostname anti-affinity
//              term of its own that begins with a label which all pods have: many terms,
//              each of one pod.
//   excluding  the same nodes; each pod refuses every other pod on its node: a term for each
//              pod, of all pods but one.
//   budgets    the same nodes and pods, and a budget for each pod, each of all of them.
//   claims     the same nodes and pods, each with a claim that waits for its first
//              consumer, and as many free volumes, each reachable from one node.
//
// In mixed and company every placed pod is where a scheduler may have put it.
//
// Deterministic: the same options give the same objects on every platform.
// Errors:        what the sink returns, which ends the making.

#ifndef EBB_SNAPSHOT_SAMPLES_GENERATE_H_
#define EBB_SNAPSHOT_SAMPLES_GENERATE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "snapshot/objects/object_sink.h"

namespace ebb::samples {

struct GenerateOptions {
  uint32_t nodes = 1000;  // At least 1.  company puts control-plane nodes on top.
  uint64_t seed = 1;      // Of mixed, company, topology and diverse; the others draw nothing.
};

absl::Status GenerateUniform(const GenerateOptions& options, ObjectSink& sink);
absl::Status GenerateMixed(const GenerateOptions& options, ObjectSink& sink);
absl::Status GenerateCompany(const GenerateOptions& options, ObjectSink& sink);
absl::Status GenerateTopology(const GenerateOptions& options, ObjectSink& sink);
absl::Status GenerateRepelling(const GenerateOptions& options, ObjectSink& sink);
absl::Status GenerateDiverse(const GenerateOptions& options, ObjectSink& sink);
absl::Status GenerateTerms(const GenerateOptions& options, ObjectSink& sink);
absl::Status GenerateExcluding(const GenerateOptions& options, ObjectSink& sink);
absl::Status GenerateBudgets(const GenerateOptions& options, ObjectSink& sink);
absl::Status GenerateClaims(const GenerateOptions& options, ObjectSink& sink);

// uniform with another number of pods on each node.
absl::Status GenerateUniform(uint32_t nodes, uint32_t pods_per_node, ObjectSink& sink);

// The kinds whose size is their pods, of which each node has 10, the first nodes more where
// that does not divide.
absl::Status GenerateTerms(uint32_t pods, ObjectSink& sink);
absl::Status GenerateExcluding(uint32_t pods, ObjectSink& sink);
absl::Status GenerateBudgets(uint32_t pods, ObjectSink& sink);
absl::Status GenerateClaims(uint32_t pods, ObjectSink& sink);

struct Kind {
  std::string_view name;
  std::string_view help;  // One line, without a full stop.
  absl::Status (*generate)(const GenerateOptions& options, ObjectSink& sink);
};

// All kinds, in the order above.
std::span<const Kind> Kinds();

// Makes the cluster and hands over what a dump of all of it would hold beside: UIDs where
// the kind gives none, namespace "default" where it names no namespaces, an empty list
// where it has no budgets.  Programs that judge whether an input is a whole cluster
// (snapshot/import/completeness.h) ask for that; no decision depends on it.
absl::Status GenerateDump(const Kind& kind, const GenerateOptions& options, ObjectSink& sink);

}  // namespace ebb::samples

#endif  // EBB_SNAPSHOT_SAMPLES_GENERATE_H_
