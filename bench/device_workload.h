// A cluster whose pods use devices, in the shape of the autoscaler's own benchmark of scale-down
// with dynamic resource allocation: each node has eight devices, and pods use two fifths of them.
//
// Each pod has one claim for one device, made from a template, with a selector of the class and
// mostly one of the request (snapshot/samples/devices.h).  Three pods run on each node, and four on
// each fifth node, so that all pods find devices on two fifths of the nodes.
//
// Threads: pure.

#ifndef EBB_BENCH_DEVICE_WORKLOAD_H_
#define EBB_BENCH_DEVICE_WORKLOAD_H_

#include <cstdint>

#include "absl/status/status.h"
#include "snapshot/objects/object_sink.h"

namespace ebb::bench {

// Errors: those of the sink.
absl::Status GenerateDevices(uint32_t nodes, ObjectSink& to);

}  // namespace ebb::bench

#endif  // EBB_BENCH_DEVICE_WORKLOAD_H_
