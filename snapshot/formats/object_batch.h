// ObjectBatch: objects that were read and not handed over yet, in the order of the
// text.  Reading fills it, HandOver empties it into a sink; the two may happen on
// different threads, one after the other.
//
// A batch also holds what else reading may find: an object of an ignored kind, an object
// whose kind only its list can tell, an error.
//
// Ownership: texts point into the JSON that was read, which must live until Clear(),
//            and into `texts`.
// Cost:      Clear() keeps the memory of the objects for the next ones.
// Threads:   one at a time.

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

// Texts that are not in the input as they are, such as resolved escapes.
class TextArena {
 public:
  // Room for `size` bytes; Keep() says up to where it was used.
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

// Objects of one type that are used again and again.
template <typename T>
class Reused {
 public:
  // The next one, with what it held before.
  T& Next() {
    if (used_ == objects_.size()) objects_.emplace_back();
    return objects_[used_++];
  }
  T& operator[](size_t index) { return objects_[index]; }
  size_t used() const { return used_; }
  void Clear() { used_ = 0; }

 private:
  std::deque<T> objects_;  // They stay where they are.
  size_t used_ = 0;
};

class ObjectBatch {
 public:
  void Clear();

  // --- Filling: what was read, `kind` as errors name it.

  enum class Type : uint8_t { kNode, kPod, kBudget, kController, kNamespace, kStorage };
  // The object of this type that was taken last from its list below is complete.
  void Add(Type type, std::string_view kind, const ObjectSink::Aside& aside);
  void AddIgnored(std::string_view kind);
  void AddUnevaluated(const ObjectSink::Unevaluated& object);  // An ignored one that may matter.
  void AddWithoutKind();
  void AddList();                     // An item whose kind says that it is a list itself.
  void AddError(absl::Status error);  // Only the first matters.

  Reused<objects::Node> nodes;
  Reused<objects::Pod> pods;
  Reused<objects::PodDisruptionBudget> budgets;
  Reused<objects::Controller> controllers;
  Reused<objects::Namespace> namespaces;
  Reused<objects::StorageObject> storage;
  TextArena texts;

  // --- Looking at objects one by one

  struct Read {
    objects::ObjectRef object;
    ObjectSink::Aside aside;
  };
  // The entry that was added last; nothing where it is of an ignored kind, of which `ignored` then
  // says what is known: the kind, and where it may matter the names too.  Errors: what is wrong
  // with it (Unimplemented: it is a list); it is taken back then, as if it had never been read,
  // apart from the room that it took.
  absl::StatusOr<std::optional<Read>> Last(ObjectSink::Unevaluated& ignored);

  // --- Emptying

  // What a batch leaves to its caller: the position-th entry named no kind, or is a list.
  enum class Left : uint8_t { kWithoutKind, kList };

  // Gives everything to `sink` in order and counts it; `left(what, position)` is called in
  // its turn for each entry that is not an object.  It must not touch the batch.
  // Errors: the first one, of an object or of the sink, with `file` and the object's
  //         name put before the sink's.
  absl::Status HandOver(std::string_view file, ObjectSink& sink, ImportStats& stats,
                        absl::FunctionRef<absl::Status(Left what, size_t position)> left);

 private:
  enum class What : uint8_t { kObject, kIgnored, kUnevaluated, kWithoutKind, kList, kError };
  struct Entry {
    What what;
    Type type;
    uint32_t index;         // In the list of its type.
    std::string_view kind;  // A literal for objects.
    ObjectSink::Aside aside;
  };

  objects::ObjectRef RefOf(const Entry& entry);

  std::vector<Entry> entries_;
  std::vector<ObjectSink::Unevaluated> unevaluated_;  // By Entry::index of kUnevaluated.
  absl::Status error_;
};

// "namespace/name", or the name alone.
std::string NameOf(const objects::ObjectMeta& meta);

// What a sink said of an object, with the file and, unless it says so itself, the
// object in front: "pods.json: Pod default/web: occurs twice".
absl::Status ObjectError(std::string_view file, std::string_view kind,
                         const objects::ObjectMeta& meta, const absl::Status& error);

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_OBJECT_BATCH_H_
