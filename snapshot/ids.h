// Dense ids.  Each id is an index into the tables of one Catalog (catalog.h).  Each kind of id
// is a type of its own, so that a node's id cannot be used as a pod's.

#ifndef EBB_SNAPSHOT_IDS_H_
#define EBB_SNAPSHOT_IDS_H_

#include <cstddef>
#include <cstdint>
#include <limits>

namespace ebb {

enum class TextId : uint32_t {};         // Interned text (symbols.h).
enum class NodeId : uint32_t {};         // Registration order, which is the order of the node list.
enum class PodId : uint32_t {};          // Registration order.
enum class PodShapeId : uint32_t {};     // Everything that a filter or a rule reads of a pod.
enum class NodeShapeId : uint32_t {};    // Everything but the name that a static filter reads.
enum class ConstraintsId : uint32_t {};  // nodeSelector, node affinity and tolerations of a pod.
enum class FitClassId : uint32_t {};     // Constraints and requests of a pod.
enum class ResourceId : uint32_t {};     // A column of the snapshot.
enum class PdbId : uint32_t {};          // Registration order, which is the order of evaluation.
enum class TopologyKeyId : uint32_t {};  // A label key that partitions nodes into domains.
enum class DomainId : uint32_t {};       // A value of one topology key.
enum class TableId : uint32_t {};        // A topology counter table.
enum class ClaimId : uint32_t {};        // A PersistentVolumeClaim that some pod names.
enum class RegistryId : uint32_t {};     // The domains that one kind of spread constraint counts.
enum class DeviceId : uint32_t {};       // A device of dynamic resource allocation (devices.h).
enum class DeviceClaimId : uint32_t {};  // A ResourceClaim (devices.h).
enum class FamilyId : uint32_t {};       // Pod shapes connected by common tables (PodShape).

template <typename Id>
constexpr size_t Index(Id id) {
  return static_cast<size_t>(id);
}

inline constexpr TextId kNoText{0};  // The empty text.
inline constexpr NodeId kNoNode{std::numeric_limits<uint32_t>::max()};
inline constexpr PodId kNoPod{std::numeric_limits<uint32_t>::max()};
inline constexpr FamilyId kNoFamily{std::numeric_limits<uint32_t>::max()};
inline constexpr DomainId kNoDomain{std::numeric_limits<uint32_t>::max()};

// The columns that every snapshot has, in this order.
inline constexpr ResourceId kCpu{0};               // milli-CPU
inline constexpr ResourceId kMemory{1};            // bytes
inline constexpr ResourceId kEphemeralStorage{2};  // bytes
inline constexpr ResourceId kPods{3};              // count
inline constexpr size_t kFixedResources = 4;

}  // namespace ebb

#endif  // EBB_SNAPSHOT_IDS_H_
