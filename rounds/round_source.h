// RoundSource: the cluster of a round, and how it is read.
//
// A round needs the cluster adjusted by its events and its memory: unready nodes are marked, and
// evicted pods that the dump lacks wait for room.  A record needs the objects as bytes.  A host
// that has a cluster of its own (live_cluster.h) fills a RoundSource itself.
//
// Threads: one at a time.

#ifndef EBB_ROUNDS_ROUND_SOURCE_H_
#define EBB_ROUNDS_ROUND_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "engine/scale_down/scale_down_state.h"
#include "rounds/round_settings.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

struct RoundSource {
  // Its destructor undoes what was done to the host's cluster for the round, after `cluster` is
  // gone; may be null.
  std::shared_ptr<void> until;
  LoadedCluster cluster;
  // The cluster as a binary snapshot, from which the round's digest and record are made; empty if
  // no record is kept.
  std::string objects;
  // The UID of the namespace kube-system; "" if unknown.
  std::string cluster_uid;
  // Nodes and pods of the events that the cluster lacks, one line each.
  std::vector<std::string> log;
};

// Whether the round needs its objects as bytes.
enum class RoundObjects : uint8_t { kNone, kForRecord };

// The objects that `read` passes on, adjusted by the events and the memory.  The cluster is not
// checked for completeness.  `before`: the state after the last round.
absl::StatusOr<RoundSource> LoadSource(const RoundSettings& settings,
                                       const std::optional<ScaleDownState>& before,
                                       const std::function<absl::Status(ObjectSink&)>& read,
                                       RoundObjects objects = RoundObjects::kNone);

// The name of the round's report in errors.
std::string NameOfReport(const RoundSettings& settings);

// Removes evicted pods from the cluster's pending pods: they are placed as evicted pods or not at
// all.
void DropEvicted(const RoundSettings& settings, const std::optional<ScaleDownState>& before,
                 LoadedCluster& cluster);

// As LoadSource, for dumps (read_input.h), and checked (CheckCompleteness).
absl::StatusOr<RoundSource> ReadSource(std::span<const std::string> inputs,
                                       const RoundSettings& settings,
                                       const std::optional<ScaleDownState>& before,
                                       RoundObjects objects = RoundObjects::kNone,
                                       const Parallelism& parallelism = Parallelism::One());

}  // namespace ebb

#endif  // EBB_ROUNDS_ROUND_SOURCE_H_
