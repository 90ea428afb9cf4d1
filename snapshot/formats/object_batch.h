// ObjectBatch: objects that were read but not handed over yet, in the order of the text.  Readers
// fill it, HandOver() empties it into a sink.  The two steps may run on different threads, one
// after the other.
//
// A batch also records objects of ignored kinds, objects whose kind only their list can provide,
// nested lists, and errors.
//
// Ownership: texts point into the JSON that was read, which must live until Clear(), and into
//            `texts`.
// Cost:      Clear() keeps the memory of the objects for reuse.
// Threads:   one thread at a time.

#ifndef EBB_SNAPSHOT_FORMATS_OBJECT_BATCH_H_
#define EBB_SNAPSHOT_FORMATS_OBJECT_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "snapshot/formats/import_stats.h"
#include "snapshot/objects/object_ref.h"
#include "snapshot/objects/object_sink.h"

namespace ebb {

// Storage for texts that do not occur literally in the input, such as resolved escapes.
class TextArena {
 public:
  // Returns room for `size` bytes.  Call Keep() with the end of what was written.
  uint8_t* Room(size_t size);
  void Keep(uint8_t* end) {
    left_ -= static_cast<size_t>(end - next_);
    next_ = end;
  }
  std::string_view Copy(std::string_view text);
  void Clear() {
    if (!blocks_.empty()) blocks_.clear();
    left_ = 0;
  }

 private:
  std::vector<std::unique_ptr<uint8_t[]>> blocks_;
  uint8_t* next_ = nullptr;
  size_t left_ = 0;
};

// Objects of one type, reused from batch to batch.
template <typename T>
class Reused {
 public:
  // The next object, with the content of its last use.
  T& Next() {
    if (used_ == objects_.size()) objects_.emplace_back();
    return objects_[used_++];
  }
  T& operator[](size_t index) { return objects_[index]; }
  size_t used() const { return used_; }
  void Clear() { used_ = 0; }

 private:
  std::deque<T> objects_;  // A deque: their addresses do not change.
  size_t used_ = 0;
};

class ObjectBatch {
 public:
  void Clear();

  // --- Filling.  `kind` is how errors name the object's kind.

  enum class Type : uint8_t { kNode, kPod, kBudget, kController, kNamespace, kStorage };
  // The object that was taken last from the list of `type` below is complete.
  void Add(Type type, std::string_view kind, const ObjectSink::Aside& aside);
  void AddIgnored(std::string_view kind);
  void AddUnevaluated(const ObjectSink::Unevaluated& object);  // Ignored, but it may matter.
  void AddWithoutKind();
  void AddList();                     // An item that is a list itself, by its kind.
  void AddError(absl::Status error);  // Only the first error is kept.

  Reused<objects::Node> nodes;
  Reused<objects::Pod> pods;
  Reused<objects::PodDisruptionBudget> budgets;
  Reused<objects::Controller> controllers;
  Reused<objects::Namespace> namespaces;
  Reused<objects::StorageObject> storage;
  TextArena texts;

  // --- Reading objects one by one

  struct Read {
    objects::ObjectRef object;
    ObjectSink::Aside aside;
  };
  // The entry that was added last.  Returns nullopt if its kind is ignored; `ignored` is then set
  // to the kind, and to the names too if the object may matter.
  // Errors: what is wrong with the entry (Unimplemented: it is a list).  The entry is removed, and
  // only the memory of its object stays in use until Clear().
  absl::StatusOr<std::optional<Read>> Last(ObjectSink::Unevaluated& ignored);

  // --- Emptying

  // Entries that HandOver() passes to its caller: an object without a kind, or a nested list.
  enum class Left : uint8_t { kWithoutKind, kList };

  // Passes everything to `sink` in order and counts it.  Calls `left(what, position)` in turn for
  // each entry that is not an object; `left` must not touch the batch.
  // Errors: the first one, of an object or of the sink.  Errors of the sink are preceded by
  //         `file` and the object's name.
  absl::Status HandOver(std::string_view file, ObjectSink& sink, ImportStats& stats,
                        absl::FunctionRef<absl::Status(Left what, size_t position)> left);

 private:
  enum class What : uint8_t { kObject, kIgnored, kUnevaluated, kWithoutKind, kList, kError };
  struct Entry {
    What what;
    Type type;
    uint32_t index;         // In the list of its type.
    std::string_view kind;  // For objects, a string literal.
    ObjectSink::Aside aside;
  };

  objects::ObjectRef RefOf(const Entry& entry);

  std::vector<Entry> entries_;
  std::vector<ObjectSink::Unevaluated> unevaluated_;  // Indexed by Entry::index of kUnevaluated.
  absl::Status error_;
};

// "namespace/name", or the name alone if the object has no namespace.
std::string NameOf(const objects::ObjectMeta& meta);

// A sink's error about an object, preceded by the file and, unless the error already starts with
// it, the object: "pods.json: Pod default/web: occurs twice".
absl::Status ObjectError(std::string_view file, std::string_view kind,
                         const objects::ObjectMeta& meta, const absl::Status& error);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_OBJECT_BATCH_H_
