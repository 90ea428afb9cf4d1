// The reader of Kubernetes' protobuf: one object, with or without its envelope.  Without an
// envelope the first byte selects the kind.
//
// Properties: whatever the bytes are, reading returns a status; an object in an envelope that is
// truncated is either rejected or unchanged; an object that was read can be written as JSON, YAML
// and a binary snapshot, and is the same when read again.

#include <array>
#include <cstring>

#include "fuzz/properties.h"
#include "fuzz/reading.h"
#include "snapshot/formats/object_protobuf.h"

namespace {

constexpr std::string_view kMagic("k8s\0", 4);

constexpr auto kKinds = std::to_array<std::array<std::string_view, 2>>({
    {"v1", "Pod"},
    {"v1", "Node"},
    {"apps/v1", "ReplicaSet"},
    {"extensions/v1beta1", "DaemonSet"},
    {"apps/v1beta2", "StatefulSet"},
    {"apps/v1", "DaemonSet"},
    {"batch/v1", "Job"},
    {"v1", "ReplicationController"},
    {"policy/v1", "PodDisruptionBudget"},
    {"v1", "Namespace"},
    {"v1", "PersistentVolume"},
    {"v1", "PersistentVolumeClaim"},
    {"storage.k8s.io/v1", "StorageClass"},
    {"storage.k8s.io/v1", "CSIDriver"},
    {"storage.k8s.io/v1", "CSINode"},
    {"storage.k8s.io/v1", "VolumeAttachment"},
    {"storage.k8s.io/v1", "CSIStorageCapacity"},
    {"resource.k8s.io/v1", "DeviceClass"},
    {"resource.k8s.io/v1", "ResourceClaim"},
    {"resource.k8s.io/v1", "ResourceClaimTemplate"},
    {"resource.k8s.io/v1", "ResourceSlice"},
    {"resource.k8s.io/v1", "DeviceTaintRule"},
    {"v1", "Status"},
});

// Reads from a copy of exactly these bytes, so that a sanitizer reports a read behind their end.
absl::Status ReadObject(std::string_view bytes, const ebb::ObjectPlace& place,
                        ebb::ObjectSink& sink, ebb::ImportStats& stats) {
  const std::vector<char> own(bytes.begin(), bytes.end());
  ebb::ProtobufObjectReader reader;
  ebb::ObjectBatch batch;
  reader.Read(std::string_view(own.data(), own.size()), place, batch);
  return batch.HandOver("fuzz", sink, stats, [](ebb::ObjectBatch::Left, size_t) {
    return absl::InvalidArgumentError("no object");
  });
}

ebb::fuzz::Seen See(std::string_view bytes, const ebb::ObjectPlace& place) {
  return ebb::fuzz::See([&](ebb::ObjectSink& sink, ebb::ImportStats& stats) {
    return ReadObject(bytes, place, sink, stats);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > ebb::fuzz::kBytesMax) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ebb::ObjectPlace place;
  place.file = "fuzz";
  const bool enveloped = bytes.starts_with(kMagic);
  if (!enveloped) {
    const auto& [api_version, kind] = kKinds[data[0] % kKinds.size()];
    place.api_version = api_version;
    place.kind = kind;
    bytes.remove_prefix(1);
  }
  const auto read = [&](ebb::ObjectSink& sink, ebb::ImportStats& stats) {
    return ReadObject(bytes, place, sink, stats);
  };
  ebb::fuzz::ReadAndBuild(read);
  const ebb::fuzz::Seen seen = See(bytes, place);
  if (!seen.status.ok()) return 0;
  ebb::fuzz::Hold(ebb::fuzz::WrittenFormsSayTheSame(read));
  if (!enveloped) return 0;
  // Cuts at only twelve places, because each costs as much as reading the object.
  for (size_t twelfth = 0; twelfth < 12; ++twelfth) {
    const ebb::fuzz::Seen cut = See(bytes.substr(0, bytes.size() * twelfth / 12), place);
    if (cut.status.ok() && (cut.lines != seen.lines || cut.ignored != seen.ignored)) {
      ebb::fuzz::Hold("cut bytes are another object:\n" +
                      ebb::fuzz::FirstDifference(seen.lines, cut.lines));
    }
  }
  return 0;
}
