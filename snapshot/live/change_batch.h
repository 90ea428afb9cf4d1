// ChangeBatch: changes for a LiveSnapshot that are given as bytes, and the objects in them.
//
//   ChangeBatch batch;
//   if (absl::Status s = batch.PutJson(pod_as_json); !s.ok()) return s;
//   batch.Delete(*ChangeBatch::NamesOf("Node"), "", "node-7", "");
//   if (absl::Status s = live.Take(batch.changes()); !s.ok()) return s;
//   batch.Clear();
//
// Bytes are one Kubernetes object each, in JSON or in Kubernetes' protobuf, with its kind and
// apiVersion.  Objects of kinds that no decision reads are passed over and counted.
//
// Errors:    InvalidArgument, naming object and field; ResourceExhausted: more bytes than an
//            object may have.  The batch is as it was before.
// Ownership: the batch copies what it is given; changes() is valid until Clear().
// Cost:      one pass over the bytes.  Clear() keeps the memory for the next ones.
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
  // As the API server's limit on a request, times three.
  static constexpr size_t kObjectBytesMax = size_t{10} << 20;
  // Kinds that are counted by name; an input may make up any number.
  static constexpr size_t kIgnoredKindsMax = 1000;

  explicit ChangeBatch(size_t object_bytes_max = kObjectBytesMax)
      : object_bytes_max_(object_bytes_max) {}

  // The object is there, and is this.
  absl::Status PutJson(std::string_view json);
  absl::Status PutProtobuf(std::string_view bytes);
  // The object is gone; of its bytes kind, names and UID are read.
  absl::Status DeleteJson(std::string_view json);
  absl::Status DeleteProtobuf(std::string_view bytes);

  // An object of a kind of which only the name matters.
  using BlankObject = std::variant<objects::Node, objects::Pod, objects::PodDisruptionBudget,
                                   objects::Controller, objects::Namespace, objects::StorageObject>;
  // Nothing: no decision reads the kind ("Deployment").
  static std::optional<BlankObject> NamesOf(std::string_view kind);
  // The same of a kind by its name, whether a decision reads it or not.  Errors: InvalidArgument,
  // of a kind that is spelled wrong ("node", "Pods").
  absl::Status DeleteNamed(std::string_view kind, std::string_view namespace_name,
                           std::string_view name, std::string_view uid);
  // An empty `uid` is any.
  void Delete(BlankObject object, std::string_view namespace_name, std::string_view name,
              std::string_view uid);

  [[nodiscard]] std::span<const Change> changes() const { return changes_; }
  void Clear();

  // An object that is not evaluated and may matter came, or went.
  struct UnevaluatedChange {
    Change::Type type;
    ObjectSink::Unevaluated object;  // Without an apiVersion where a deletion did not name it.
  };
  [[nodiscard]] std::span<const UnevaluatedChange> unevaluated() const { return unevaluated_; }

  // The UID of the Namespace kube-system that the batch puts, by which a cluster is known; "": it
  // puts none.
  [[nodiscard]] std::string_view ClusterUid() const;

  // How many objects of which kinds were passed over since the batch was made.
  [[nodiscard]] const std::map<std::string, uint64_t>& ignored() const { return ignored_; }

 private:
  absl::Status Check(size_t bytes) const;
  absl::Status AddLast(Change::Type type);
  void CountIgnored(std::string_view kind);
  // What came behind the first `unevaluated_before` is gone.
  void MarkDeleted(size_t unevaluated_before);

  const size_t object_bytes_max_;
  ObjectReader json_reader_;
  ProtobufObjectReader protobuf_reader_;
  ObjectBatch read_;                 // Owns objects and texts.
  std::deque<BlankObject> deleted_;  // Those that came by name.
  std::vector<Change> changes_;
  std::vector<UnevaluatedChange> unevaluated_;
  std::map<std::string, uint64_t> ignored_;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_LIVE_CHANGE_BATCH_H_
