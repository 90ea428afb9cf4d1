// RoundSource: the cluster that a round is about, and where it is read from.
//
// A round wants the cluster as its events and its memory have it: unready nodes are marked,
// and evicted pods that the dump lacks wait for room.  It also wants the objects in bytes,
// for the record.  A host that has a cluster of its own fills a RoundSource itself.
//
// Threads: one at a time.

#ifndef EBB_SERVICE_ROUND_SOURCE_H_
#define EBB_SERVICE_ROUND_SOURCE_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "engine/scale_down_state.h"
#include "service/round_settings.h"
#include "snapshot/import/load_cluster.h"
#include "snapshot/object_sink.h"

namespace ebb {

struct RoundSource {
  LoadedCluster cluster;
  // The same as a binary snapshot, of which the round's digest and record are made; empty
  // where the host keeps no record.
  std::string objects;
  // The UID of the namespace kube-system; "" where it is not known.
  std::string cluster_uid;
  std::vector<std::string> log;  // Nodes and pods of the events that the cluster lacks.
};

// What `read` hands over, as the events and the memory have it.  Nothing is judged.
// `before`: what the last round remembered.
absl::StatusOr<RoundSource> LoadSource(const RoundSettings& settings,
                                       const std::optional<ScaleDownState>& before,
                                       const std::function<absl::Status(ObjectSink&)>& read);

// The same of dumps (read_input.h), and judged (JudgeInput).
absl::StatusOr<RoundSource> ReadSource(std::span<const std::string> inputs,
                                       const RoundSettings& settings,
                                       const std::optional<ScaleDownState>& before,
                                       const Parallelism& parallelism = Parallelism::One());

}  // namespace ebb

#endif  // EBB_SERVICE_ROUND_SOURCE_H_
