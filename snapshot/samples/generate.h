// Generates clusters for trying ebb, for tests and for benchmarks.  A kind's name means the same
// cluster in all three.
//
//   uniform    nodes of 10 CPU and 10,000 MiB, 40 pods of 1% of both on each, safe to
//              evict: the shape of Cluster Autoscaler's own scale-down benchmark.
//   mixed      six machine shapes in three zones and three pools, one of them tainted;
//              DaemonSets, and applications of Pareto sizes up to a third of the cpu, with
//              node selectors, affinity, zone spread, budgets and local storage.
//   company    what a company's cluster contains.  Pools general, batch, spot, db (tainted)
//              and gpu (tainted) of several machine shapes in three zones; control-plane
//              nodes; DaemonSets and other kube-system pods; teams' Deployments,
//              StatefulSets, Jobs and a few bare pods, with budgets, (anti-)affinity, zone
//              spread, node selectors, local storage, host ports, priorities and
//              annotations; some pods that have ended, are expendable or are pending.
//              About 40% of the cpu is requested.
//   topology   nodes of 8 CPU in three zones; applications of 3 to 30 pods.  Each pod has a
//              hostname anti-affinity and a zone spread constraint to its own application.
//   repelling  nodes of 8 CPU with 10 pods each; applications of 5 pods.  Each pod has a
//              hostname anti-affinity to its own application.
//   diverse    three machine shapes in three zones, three pools and racks of 20, some tainted;
//              10 pods per node, in applications of 4.  Nearly every pod has a shape of its own:
//              it differs in amounts and grace period, and some pods have node selectors,
//              (anti-)affinity, spread, host ports, priorities, local storage, budgets.
//   terms      nodes of 8 CPU with 10 pods each; each pod has its own hostname anti-affinity
//              term, which begins with a label that all pods have: many terms, each of which
//              matches one pod.
//   excluding  the same nodes; each pod repels every other pod from its node: one term per pod,
//              each of which matches all pods but one.
//   budgets    the same nodes and pods, and one budget per pod, each of which selects all pods.
//   claims     the same nodes and pods, each with a claim that waits for its first consumer; and
//              as many free volumes, each reachable from one node.
//
// In mixed and company, every placed pod is on a node where a scheduler may have put it.
//
// Deterministic: the same options give the same objects on every platform.
// Errors:        those of the sink, which end the generation.

#ifndef EBB_SNAPSHOT_SAMPLES_GENERATE_H_
#define EBB_SNAPSHOT_SAMPLES_GENERATE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "snapshot/objects/object_sink.h"

namespace ebb::samples {

struct GenerateOptions {
  uint32_t nodes = 1000;  // At least 1.  company adds control-plane nodes.
  uint64_t seed = 1;      // For mixed, company, topology and diverse; the others use no chance.
  // GenerateDump only: the share of the nodes that get devices, from 0 to 1.  About half of the
  // pods there use one each, on a node at most half of its devices (devices.h).
  double devices = 0;
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

// The kinds whose size is their number of pods.  Each node has 10 pods; if the number is not a
// multiple of 10, the first nodes have more.
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

// Generates the cluster and adds what a dump of all of it would contain: UIDs where the kind has
// none, namespace "default" where the kind has no namespaces, an empty list of budgets where it has
// no budgets.  Programs that check whether an input is a whole cluster
// (snapshot/import/completeness.h) need these; no decision depends on them.
absl::Status GenerateDump(const Kind& kind, const GenerateOptions& options, ObjectSink& sink);

}  // namespace ebb::samples

#endif  // EBB_SNAPSHOT_SAMPLES_GENERATE_H_
