// RoundSource: the cluster that a round is about, and where it is read from.
//
// A round wants the cluster as its events and its memory have it: unready nodes are marked,
// and evicted pods that the dump lacks wait for room.  A record wants the objects in bytes.
// A host that has a cluster of its own (live_cluster.h) fills a RoundSource itself.
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
  // Ends what was done to the host's cluster for the round, after `cluster` is gone; may be null.
  std::shared_ptr<void> until;
  LoadedCluster cluster;
  // The same as a binary snapshot, of which the round's digest and record are made; empty
  // where no record is kept.
  std::string objects;
  // The UID of the namespace kube-system; "" where it is not known.
  std::string cluster_uid;
  std::vector<std::string> log;  // Nodes and pods of the events that the cluster lacks.
};

// Whether the round's objects are wanted as bytes.
enum class RoundObjects : uint8_t { kNone, kForRecord };

// What `read` hands over, as the events and the memory have it.  Nothing is judged.
// `before`: what the last round remembered.
absl::StatusOr<RoundSource> LoadSource(const RoundSettings& settings,
                                       const std::optional<ScaleDownState>& before,
                                       const std::function<absl::Status(ObjectSink&)>& read,
                                       RoundObjects objects = RoundObjects::kNone);

// What stands for the round's report in errors.
std::string NameOfReport(const RoundSettings& settings);

// Takes pods that were evicted off the cluster's pending ones: they are placed as evicted or not at
// all.
void DropEvicted(const RoundSettings& settings, const std::optional<ScaleDownState>& before,
                 LoadedCluster& cluster);

// The same of dumps (read_input.h), and judged (JudgeInput).
absl::StatusOr<RoundSource> ReadSource(std::span<const std::string> inputs,
                                       const RoundSettings& settings,
                                       const std::optional<ScaleDownState>& before,
                                       RoundObjects objects = RoundObjects::kNone,
                                       const Parallelism& parallelism = Parallelism::One());

}  // namespace ebb

#endif  // EBB_ROUNDS_ROUND_SOURCE_H_
