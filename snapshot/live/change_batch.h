// ChangeBatch: changes for a LiveSnapshot that arrive as bytes, and the objects in them.
//
//   ChangeBatch batch;
//   if (absl::Status s = batch.PutJson(pod_as_json); !s.ok()) return s;
//   batch.Delete(*ChangeBatch::NamesOf("Node"), "", "node-7", "");
//   if (absl::Status s = live.Take(batch.changes()); !s.ok()) return s;
//   batch.Clear();
//
// Each call takes the bytes of one Kubernetes object, as JSON or as Kubernetes' protobuf, with its
// kind and apiVersion.  Objects of kinds that no decision reads are ignored and counted.
//
// Errors:    InvalidArgument, naming object and field; ResourceExhausted: the object is larger
//            than the limit.  After an error the batch is unchanged.
// Ownership: the batch copies its input; changes() is valid until Clear().
// Cost:      one pass over the bytes.  Clear() keeps the memory for the next changes.
// Threads:   one at a time.

#ifndef EBB_SNAPSHOT_LIVE_CHANGE_BATCH_H_
#define EBB_SNAPSHOT_LIVE_CHANGE_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "snapshot/formats/object_batch.h"
#include "snapshot/formats/object_protobuf.h"
#include "snapshot/formats/object_reader.h"
#include "snapshot/live/live_snapshot.h"

namespace ebb {

class ChangeBatch {
 public:
  // Three times the API server's limit on a request.
  static constexpr size_t kObjectBytesMax = size_t{10} << 20;
  // How many ignored kinds are counted by name; an input may invent any number.  A guard; not
  // tuned.
  static constexpr size_t kIgnoredKindsMax = 1000;

  explicit ChangeBatch(size_t object_bytes_max = kObjectBytesMax)
      : object_bytes_max_(object_bytes_max) {}

  // Records that the object exists with this content.
  absl::Status PutJson(std::string_view json);
  absl::Status PutProtobuf(std::string_view bytes);
  // Records that the object is deleted.  Only its kind, names and UID are read.
  absl::Status DeleteJson(std::string_view json);
  absl::Status DeleteProtobuf(std::string_view bytes);

  // An object of which only kind and names matter.
  using BlankObject = std::variant<objects::Node, objects::Pod, objects::PodDisruptionBudget,
                                   objects::Controller, objects::Namespace, objects::StorageObject>;
  // A blank object of the kind; nullopt if no decision reads the kind ("Deployment").
  static std::optional<BlankObject> NamesOf(std::string_view kind);
  // Records a deletion by kind and names, whether a decision reads the kind or not.  Errors:
  // InvalidArgument if the kind is misspelled ("node", "Pods"), or a namespace is given for a
  // cluster-scoped kind.
  absl::Status DeleteNamed(std::string_view kind, std::string_view namespace_name,
                           std::string_view name, std::string_view uid);
  // Records the deletion of `object`, a result of NamesOf.  An empty `uid` matches any.
  void Delete(BlankObject object, std::string_view namespace_name, std::string_view name,
              std::string_view uid);

  [[nodiscard]] std::span<const Change> changes() const { return changes_; }
  void Clear();

  // An object that ebb does not evaluate but that may matter was put or deleted.
  struct UnevaluatedChange {
    Change::Type type;
    ObjectSink::Unevaluated object;  // The apiVersion may be empty for a deletion by name.
  };
  [[nodiscard]] std::span<const UnevaluatedChange> unevaluated() const { return unevaluated_; }

  // The UID of the Namespace kube-system, which identifies a cluster, if the batch puts that
  // Namespace; else "".
  [[nodiscard]] std::string_view ClusterUid() const;

  // How many objects of each kind were ignored since the batch was made.
  [[nodiscard]] const std::map<std::string, uint64_t>& ignored() const { return ignored_; }

 private:
  absl::Status Check(size_t bytes) const;
  absl::Status AddLast(Change::Type type);
  void CountIgnored(std::string_view kind);
  // Marks the unevaluated object that was added after the first `unevaluated_before` as deleted.
  void MarkDeleted(size_t unevaluated_before);

  const size_t object_bytes_max_;
  ObjectReader json_reader_;
  ProtobufObjectReader protobuf_reader_;
  ObjectBatch read_;                 // Owns the objects and texts of `changes_`.
  std::deque<BlankObject> deleted_;  // The objects of deletions by name.
  std::vector<Change> changes_;
  std::vector<UnevaluatedChange> unevaluated_;
  std::map<std::string, uint64_t> ignored_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_LIVE_CHANGE_BATCH_H_
