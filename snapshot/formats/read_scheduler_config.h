// Reads a KubeSchedulerConfiguration (scheduler_config.h), YAML or JSON.
//
//   absl::StatusOr<std::shared_ptr<SchedulerConfig>> config = ParseSchedulerConfig(text);
//
// What ebb does not know keeps the nodes of the pods concerned: SchedulerProfile::not_understood
// then names the field.  These are a plugin that is not of kube-scheduler, an argument or a field
// without a meaning here, a value of a wrong type, extenders, and another apiVersion than v1.
//
// Errors:  InvalidArgument: the text is not one document of YAML or JSON, or is of another kind.
// Cost:    some 5 MB/s.
// Threads: pure function.
// Source:  scheduler_config.h; validation in kubernetes pkg/scheduler/apis/config/validation.

#ifndef EBB_SNAPSHOT_FORMATS_READ_SCHEDULER_CONFIG_H_
#define EBB_SNAPSHOT_FORMATS_READ_SCHEDULER_CONFIG_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "snapshot/objects/object_sink.h"
#include "snapshot/scheduler_config.h"

namespace ebb {

absl::StatusOr<std::shared_ptr<SchedulerConfig>> ParseSchedulerConfig(std::string_view text);

// The configuration in an object of the input.  Null: the object is of another kind, or only its
// name is known.  Errors: as ParseSchedulerConfig.
absl::StatusOr<std::shared_ptr<const SchedulerConfig>> SchedulerConfigIn(
    const ObjectSink::Unevaluated& object);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_READ_SCHEDULER_CONFIG_H_
