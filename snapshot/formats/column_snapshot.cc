#include "snapshot/formats/column_snapshot.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "base/text_hasher.h"
#include "base/utf8.h"
#include "snapshot/formats/object_batch.h"
#include "snapshot/formats/object_name.h"
#include "snapshot/formats/packed_fields.h"
#include "snapshot/objects/pod_columns.h"
#include "snapshot/symbols.h"

namespace ebb {
namespace {

using objects::Text;
using packed::PackedReader;
using packed::PackedWriter;

// Columns are used as they are in the file.
static_assert(std::endian::native == std::endian::little);

// Magic, length and header, with the version as a varint of one byte, and two zero bytes.
constexpr std::string_view kStart("EBBSNAP\x01\x02\0\0\0\x08\x07\0\0", 16);
static_assert(kStart[13] == kColumnVersion);
constexpr size_t kChecksumAt = kStart.size();
constexpr size_t kSizesAt = kChecksumAt + sizeof(uint64_t);
// A piece of output is at most this large, so that it fits a message.  Not tuned.
constexpr size_t kOutputBytes = size_t{256} << 10;

struct ColumnSizes {
  uint64_t file_bytes = 0;
  uint64_t objects = 0;
  uint64_t pods = 0;
  uint64_t patterns = 0;
  uint64_t data_names = 0;
  uint64_t pattern_words = 0;
  uint64_t object_words = 0;
  uint64_t texts = 0;
  uint64_t text_bytes = 0;
};
static_assert(sizeof(ColumnSizes) == 9 * sizeof(uint64_t));
constexpr size_t kColumnsAt = kSizesAt + sizeof(ColumnSizes);

// How many bytes a file of these sizes has.  REQUIRES: the sum does not overflow.
uint64_t BytesOf(const ColumnSizes& sizes) {
  const uint64_t words = 4 * sizes.pods + sizes.data_names + sizes.pattern_words +
                         sizes.object_words + sizes.texts + 1;
  return kColumnsAt + sizeof(int64_t) * sizes.pods + sizeof(uint32_t) * words + sizes.text_bytes;
}

// The first word of an entry of the objects.
enum class Entry : uint32_t {
  kNode,         // The newest heartbeat, then the fields.
  kPods,         // The number of the next pods.
  kBudget,       // The fields.
  kController,   // How many pods are ready, then the fields.
  kNamespace,    // The fields.
  kStorage,      // The index of the kind in StorageObject, then the fields.
  kEmptyList,    // The kind.
  kUnevaluated,  // API version, kind, namespace and name.
};
constexpr auto kLastEntry = static_cast<uint32_t>(Entry::kUnevaluated);

// The words before the fields of a pattern.
constexpr uint32_t kOnNode = 1;  // spec.nodeName is set.
constexpr uint32_t kHasUid = 2;
// A claim of an ephemeral volume is named after its pod, so such a pod has a pattern of its own.
constexpr uint32_t kOwnPattern = 4;
constexpr uint32_t kFlags = kOnNode | kHasUid | kOwnPattern;

bool NeedsOwnPattern(const objects::Pod& pod) {
  return std::ranges::any_of(pod.volumes,
                             [](const objects::Volume& v) { return v.source == "ephemeral"; });
}

template <typename Number>
std::string_view BytesOf(std::span<const Number> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

// ---------------------------------------------------------------------------
// Reading

class ColumnReader {
 public:
  ColumnReader(const ColumnFile& file, ObjectSink& sink, ImportStats& stats)
      : name_(file.name),
        bytes_(file.bytes),
        owner_(file.owner),
        checks_checksum_(file.checks_checksum),
        sink_(sink),
        stats_(stats),
        takes_columns_(sink.TakesPodColumns()) {}

  absl::Status Read() {
    if (absl::Status s = CheckSizes(); !s.ok()) return s;
    if (absl::Status s = CheckChecksum(); !s.ok()) return s;
    FindColumns();
    if (absl::Status s = CheckTexts(); !s.ok()) return s;
    if (takes_columns_) {
      if (absl::Status s = sink_.OnTexts(texts_); !s.ok()) return Error(s);
      if (!CountPods()) return Damaged();
    }
    return ReadObjects();
  }

 private:
  // A pattern that was met.
  struct Pattern {
    size_t at = 0;  // Where its fields begin in the words of patterns.
    uint32_t flags = 0;
    uint32_t data_names = 0;  // The number of volumes whose names its pods have.
  };

  absl::Status CheckSizes() {
    if (!bytes_.starts_with(kStart)) {
      return bytes_.size() < kStart.size() ? CutOff() : Error("is damaged near byte 0");
    }
    if (bytes_.size() < kColumnsAt) return CutOff();
    std::memcpy(&sizes_, bytes_.data() + kSizesAt, sizeof(sizes_));
    if (sizes_.file_bytes > bytes_.size()) return CutOff();
    for (const uint64_t size :
         {sizes_.pods, sizes_.patterns, sizes_.data_names, sizes_.pattern_words,
          sizes_.object_words, sizes_.texts, sizes_.text_bytes}) {
      // So that no sum overflows.
      if (size > bytes_.size()) return Damaged();
    }
    const bool fits = sizes_.file_bytes == bytes_.size() && BytesOf(sizes_) == bytes_.size() &&
                      sizes_.text_bytes <= std::numeric_limits<uint32_t>::max() &&
                      sizes_.texts < std::numeric_limits<uint32_t>::max() / 2 &&
                      sizes_.pods < std::numeric_limits<uint32_t>::max();
    return fits ? absl::OkStatus() : Damaged();
  }

  absl::Status CheckChecksum() {
    if (!checks_checksum_) return absl::OkStatus();
    uint64_t expected = 0;
    std::memcpy(&expected, bytes_.data() + kChecksumAt, sizeof(expected));
    TextHasher checksum;
    checksum.Add(bytes_.substr(0, kChecksumAt));
    checksum.Add(bytes_.substr(kSizesAt));
    if (checksum.Value() == expected) return absl::OkStatus();
    return Error(absl::StrCat("is damaged: the checksum of bytes ", kSizesAt, " to ", bytes_.size(),
                              " is another"));
  }

  // Copies the bytes if the columns cannot be used where they are.
  void FindColumns() {
    const bool aligned = reinterpret_cast<uintptr_t>(bytes_.data()) % alignof(uint64_t) == 0;
    if (!aligned || (takes_columns_ && owner_ == nullptr)) {
      const auto copy = std::make_shared<std::vector<uint64_t>>(bytes_.size() / 8 + 1);
      std::memcpy(copy->data(), bytes_.data(), bytes_.size());
      bytes_ = {reinterpret_cast<const char*>(copy->data()), bytes_.size()};
      owner_ = copy;
    }
    at_ = kColumnsAt;
    pods_.creation_time = Take<int64_t>(sizes_.pods);
    pods_.pattern = Take<uint32_t>(sizes_.pods);
    pods_.name = Take<uint32_t>(sizes_.pods);
    pods_.uid = Take<uint32_t>(sizes_.pods);
    pods_.node_name = Take<uint32_t>(sizes_.pods);
    data_names_ = Take<uint32_t>(sizes_.data_names);
    patterns_at_ = at_;
    pattern_words_.emplace(Take<uint32_t>(sizes_.pattern_words), texts_);
    objects_at_ = at_;
    object_words_.emplace(Take<uint32_t>(sizes_.object_words), texts_);
    texts_.offsets = Take<uint32_t>(sizes_.texts + 1);
    texts_.bytes = bytes_.data() + at_;
    texts_.owner = owner_;
  }

  template <typename Number>
  std::span<const Number> Take(uint64_t count) {
    const auto* const first = reinterpret_cast<const Number*>(bytes_.data() + at_);
    at_ += count * sizeof(Number);
    return {first, count};
  }

  absl::Status CheckTexts() {
    const std::string_view all = bytes_.substr(at_);
    uint32_t before = 0;
    bool grow = true;
    for (const uint32_t offset : texts_.offsets) {
      grow = grow && offset >= before;
      before = offset;
    }
    if (!grow || texts_.offsets.front() != 0 || before != all.size()) return Damaged();
    // If all of it is UTF-8 and no text begins within a character, every text is UTF-8.
    bool whole = FirstInvalidUtf8(all) == all.size();
    for (uint32_t number = 1; number <= texts_.size() && whole; ++number) {
      const std::string_view text = texts_[number];
      whole = text.empty() || (static_cast<unsigned char>(text[0]) & 0xc0) != 0x80;
    }
    if (whole) return absl::OkStatus();
    return Error(absl::StrCat("the texts that end at byte ", bytes_.size(),
                              " have a text that is not UTF-8"));
  }

  [[nodiscard]] bool CountPods() {
    pods_of_.resize(sizes_.patterns);
    for (const uint32_t pattern : pods_.pattern) {
      if (pattern >= pods_of_.size()) return false;
      ++pods_of_[pattern];
    }
    return true;
  }

  absl::Status ReadObjects() {
    PackedReader& words = *object_words_;
    while (!words.AtEnd()) {
      const uint32_t entry = words.Word();
      if (entry > kLastEntry) return Damaged();
      if (absl::Status s = ReadEntry(Entry{entry}, words); !s.ok()) return s;
    }
    const bool all_used = next_pod_ == sizes_.pods && known_.size() == sizes_.patterns &&
                          next_data_name_ == data_names_.size() && pattern_words_->AtEnd();
    return all_used && index_ == sizes_.objects ? absl::OkStatus() : Damaged();
  }

  absl::Status ReadEntry(Entry entry, PackedReader& words) {
    switch (entry) {
      case Entry::kNode: {
        ObjectSink::Aside aside;
        words.Get(aside.heartbeat_time);
        return HandOver<objects::Node>(aside);
      }
      case Entry::kPods:
        return ReadPods(words.Word());
      case Entry::kBudget:
        return HandOver<objects::PodDisruptionBudget>({});
      case Entry::kController: {
        ObjectSink::Aside aside;
        words.Get(aside.pods_ready);
        return HandOver<objects::Controller>(aside);
      }
      case Entry::kNamespace:
        return HandOver<objects::Namespace>({});
      case Entry::kStorage:
        return ReadStorage(words.Word());
      case Entry::kEmptyList: {
        Text kind;
        words.Get(kind);
        return words.ok() ? sink_.OnList(kind, 0) : Damaged();
      }
      case Entry::kUnevaluated:
        break;
    }
    return ReadUnevaluated(words);
  }

  absl::Status ReadStorage(uint32_t kind) {
    absl::Status read = Damaged();
    [&]<size_t... kKind>(std::index_sequence<kKind...>) {
      ((kKind == kind
            ? static_cast<void>(
                  read = HandOver<std::variant_alternative_t<kKind, objects::StorageObject>>({}))
            : void()),
       ...);
    }(std::make_index_sequence<std::variant_size_v<objects::StorageObject>>());
    return read;
  }

  absl::Status ReadUnevaluated(PackedReader& words) {
    ObjectSink::Unevaluated object;
    for (Text* const text :
         {&object.api_version, &object.kind, &object.namespace_name, &object.name}) {
      words.Get(*text);
    }
    const auto is_name = [](Text name) { return name.empty() || IsName(name); };
    if (!words.ok() || !is_name(object.namespace_name) || !is_name(object.name)) return Damaged();
    return sink_.OnUnevaluated(object);
  }

  template <typename Struct>
  absl::Status HandOver(const ObjectSink::Aside& aside) {
    constexpr bool kIsStorage = std::is_constructible_v<objects::StorageObject, Struct>;
    using Holder = std::conditional_t<kIsStorage, objects::StorageObject, Struct>;
    Holder holder{Struct()};
    Struct* object = nullptr;
    if constexpr (kIsStorage) {
      object = &std::get<Struct>(holder);
    } else {
      object = &holder;
    }
    object_words_->Get(*object);
    if (!object_words_->ok() || object->meta.name.empty()) return Damaged();
    const objects::ObjectRef ref = &holder;
    for (const Text name : {object->meta.name, object->meta.namespace_name}) {
      if (!name.empty() && !IsName(name)) return WrongName(KindOf(ref), name);
    }
    ++index_;
    ++stats_.objects;
    if (aside.heartbeat_time != 0 || std::is_same_v<Struct, objects::Controller>) {
      sink_.OnAside(aside);
    }
    absl::Status taken = Give(ref, sink_);
    return taken.ok() ? taken : ObjectError(name_, KindOf(ref), object->meta, taken);
  }

  // --- Pods

  absl::Status ReadPods(uint32_t count) {
    if (!object_words_->ok() || count > sizes_.pods - next_pod_) return Damaged();
    const size_t begin = next_pod_;
    for (const size_t end = begin + count; next_pod_ < end; ++next_pod_) {
      if (absl::Status s = ReadPod(next_pod_); !s.ok()) return s;
    }
    if (!takes_columns_) return absl::OkStatus();
    stats_.objects += count;
    absl::Status taken = sink_.OnPods({.creation_time = pods_.creation_time.subspan(begin, count),
                                       .pattern = pods_.pattern.subspan(begin, count),
                                       .name = pods_.name.subspan(begin, count),
                                       .uid = pods_.uid.subspan(begin, count),
                                       .node_name = pods_.node_name.subspan(begin, count)});
    return taken.ok() ? taken : Error(taken);
  }

  // Checks one row.  Hands over its pattern if that is new, or else the pod unless the sink takes
  // columns.
  absl::Status ReadPod(size_t p) {
    const uint32_t number = pods_.pattern[p];
    const uint32_t texts = texts_.size();
    if (number > known_.size() || number >= sizes_.patterns || pods_.name[p] > texts ||
        pods_.uid[p] > texts || pods_.node_name[p] > texts || pods_.name[p] == 0) {
      return Damaged();
    }
    const bool is_new = number == known_.size();
    if (is_new && !MeetPattern()) return Damaged();
    const Pattern& pattern = known_[number];
    const bool is_own = (pattern.flags & kOwnPattern) != 0;
    if ((pods_.node_name[p] != 0) != ((pattern.flags & kOnNode) != 0) ||
        (pods_.uid[p] != 0) != ((pattern.flags & kHasUid) != 0) || (is_own && !is_new) ||
        pattern.data_names > data_names_.size() - next_data_name_) {
      return Damaged();
    }
    const std::span<const uint32_t> data_names =
        data_names_.subspan(next_data_name_, pattern.data_names);
    next_data_name_ += data_names.size();
    if (std::ranges::any_of(data_names, [&](uint32_t name) { return name > texts; })) {
      return Damaged();
    }
    if (absl::Status s = CheckNames(p); !s.ok()) return s;
    ++index_;
    if (takes_columns_ && !is_new) return absl::OkStatus();
    if (!is_new) {
      PackedReader words = *pattern_words_;
      words.MoveTo(pattern.at);
      pod_ = objects::Pod();
      words.Get(pod_);
    }
    if (!pod_.meta.namespace_name.empty() && !IsName(pod_.meta.namespace_name)) {
      return WrongName("Pod", pod_.meta.namespace_name);
    }
    Complete(p, data_names);
    return HandOver(pod_, number);
  }

  absl::Status HandOver(const objects::Pod& pod, uint32_t pattern) {
    if (!takes_columns_) ++stats_.objects;
    absl::Status taken =
        takes_columns_ ? sink_.OnPodPattern(pod, pods_of_[pattern]) : sink_.OnPod(pod);
    return taken.ok() ? taken : ObjectError(name_, "Pod", pod.meta, taken);
  }

  // Sets pod_ to the next pattern.
  [[nodiscard]] bool MeetPattern() {
    PackedReader& words = *pattern_words_;
    Pattern pattern{.at = 0, .flags = words.Word(), .data_names = 0};
    if ((pattern.flags & kOwnPattern) != 0) words.Word();  // Only makes the pattern distinct.
    pattern.at = words.at();
    pod_ = objects::Pod();
    words.Get(pod_);
    if (!words.ok() || (pattern.flags & ~kFlags) != 0 || !pod_.meta.name.empty() ||
        !pod_.meta.uid.empty() || !pod_.node_name.empty() ||
        NeedsOwnPattern(pod_) != ((pattern.flags & kOwnPattern) != 0)) {
      return false;
    }
    pattern.data_names =
        static_cast<uint32_t>(std::ranges::count_if(pod_.volumes, OnlyProvidesData));
    known_.push_back(pattern);
    return true;
  }

  // Sets the fields of pod_ that a pattern lacks.
  void Complete(size_t p, std::span<const uint32_t> data_names) {
    pod_.meta.name = texts_[pods_.name[p]];
    pod_.meta.uid = texts_[pods_.uid[p]];
    pod_.node_name = texts_[pods_.node_name[p]];
    pod_.meta.creation_time = pods_.creation_time[p];
    for (objects::Volume& volume : pod_.volumes) {
      if (!OnlyProvidesData(volume)) continue;
      volume.name = texts_[data_names.front()];
      data_names = data_names.subspan(1);
    }
  }

  absl::Status CheckNames(size_t p) {
    const std::string_view name = texts_[pods_.name[p]];
    if (!IsName(name)) return name.empty() ? Damaged() : WrongName("Pod", name);
    if (pods_.node_name[p] == 0 || pods_.node_name[p] == last_node_) return absl::OkStatus();
    const std::string_view node = texts_[pods_.node_name[p]];
    if (!IsName(node)) return node.empty() ? Damaged() : WrongName("Pod", node);
    last_node_ = pods_.node_name[p];
    return absl::OkStatus();
  }

  // --- Errors

  absl::Status Error(std::string_view problem) const {
    return absl::InvalidArgumentError(absl::StrCat(Absl(name_), ": ", Absl(problem)));
  }
  [[nodiscard]] absl::Status Error(const absl::Status& of_sink) const {
    return absl::Status(of_sink.code(), absl::StrCat(Absl(name_), ": ", of_sink.message()));
  }
  [[nodiscard]] absl::Status CutOff() const { return Error("is cut off"); }
  [[nodiscard]] absl::Status WrongName(std::string_view kind, std::string_view name) const {
    return Error(absl::StrCat(Absl(kind), ": ", NameProblem(name)));
  }
  [[nodiscard]] absl::Status Damaged() const {
    size_t at = kSizesAt;
    if (object_words_) at = objects_at_ + 4 * object_words_->at();
    if (pattern_words_ && !pattern_words_->ok()) at = patterns_at_ + 4 * pattern_words_->at();
    return Error(absl::StrCat("is damaged near byte ", at, ", at object ", index_));
  }

  const std::string_view name_;
  std::string_view bytes_;
  std::shared_ptr<const void> owner_;
  const bool checks_checksum_;
  ObjectSink& sink_;
  ImportStats& stats_;
  const bool takes_columns_;

  ColumnSizes sizes_;
  size_t at_ = 0;  // Where the next section begins.
  PodColumns pods_;
  std::span<const uint32_t> data_names_;
  size_t patterns_at_ = 0;
  size_t objects_at_ = 0;
  std::optional<PackedReader> pattern_words_;
  std::optional<PackedReader> object_words_;
  TextTable texts_;

  std::vector<uint64_t> pods_of_;  // By pattern; only for sinks that take columns.
  std::vector<Pattern> known_;
  objects::Pod pod_;  // The pod that is handed over.
  size_t next_pod_ = 0;
  size_t next_data_name_ = 0;
  uint32_t last_node_ = 0;  // The node name that was checked last.
  uint64_t index_ = 0;      // Of the next object.
};

}  // namespace

absl::Status ReadColumnSnapshot(const ColumnFile& file, ObjectSink& sink, ImportStats& stats) {
  return ColumnReader(file, sink, stats).Read();
}

// ---------------------------------------------------------------------------
// Writing

class ColumnSnapshotWriter::Impl {
 public:
  void Add(const objects::ObjectRef& object, const ObjectSink::Aside& aside) {
    ++sizes_.objects;
    if (const auto* const pod = std::get_if<const objects::Pod*>(&object)) {
      AddPod(**pod);
      return;
    }
    EndPods();
    std::visit([&](const auto* each) { PutObject(*each, aside); }, object);
  }

  void AddEmptyList(std::string_view kind) {
    EndPods();
    PackedWriter put = WriterTo(objects_);
    put.Put(Entry::kEmptyList);
    put.Put(kind);
  }

  void AddUnevaluated(const ObjectSink::Unevaluated& object) {
    EndPods();
    PackedWriter put = WriterTo(objects_);
    put.Put(Entry::kUnevaluated);
    for (const Text text : {object.api_version, object.kind, object.namespace_name, object.name}) {
      put.Put(text);
    }
  }

  absl::Status Finish(const Output& output) {
    EndPods();
    uint64_t text_bytes = 0;
    std::vector<uint32_t> offsets = {0};
    for (uint32_t t = 1; t < texts_.size(); ++t) {
      text_bytes += texts_.Text(TextId{t}).size();
      offsets.push_back(static_cast<uint32_t>(text_bytes));
    }
    if (text_bytes > std::numeric_limits<uint32_t>::max()) {
      return absl::ResourceExhaustedError(
          "the texts of all objects have more than 4 GiB, which a .pb file cannot hold");
    }
    sizes_.pods = pattern_.size();
    sizes_.patterns = patterns_.size();
    sizes_.data_names = data_names_.size();
    sizes_.pattern_words = pattern_words_.size();
    sizes_.object_words = objects_.size();
    sizes_.texts = offsets.size() - 1;
    sizes_.text_bytes = text_bytes;
    sizes_.file_bytes = BytesOf(sizes_);
    // The checksum comes before what it covers, so everything is passed twice.
    TextHasher checksum;
    checksum.Add(kStart);
    const auto sections = [&](const auto& pass) {
      pass(std::string_view(reinterpret_cast<const char*>(&sizes_), sizeof(sizes_)));
      pass(BytesOf<int64_t>(creation_time_));
      for (const auto* column :
           {&pattern_, &name_, &uid_, &node_name_, &data_names_, &pattern_words_, &objects_}) {
        pass(BytesOf<uint32_t>(*column));
      }
      pass(BytesOf<uint32_t>(offsets));
      for (uint32_t t = 1; t < texts_.size(); ++t) pass(texts_.Text(TextId{t}));
    };
    sections([&](std::string_view bytes) { checksum.Add(bytes); });
    Pieces pieces(output);
    const uint64_t sum = checksum.Value();
    pieces.Add(kStart);
    pieces.Add({reinterpret_cast<const char*>(&sum), sizeof(sum)});
    sections([&](std::string_view bytes) { pieces.Add(bytes); });
    return std::move(pieces).Finish();
  }

 private:
  // Joins small parts and cuts large ones.
  class Pieces {
   public:
    explicit Pieces(const Output& output) : output_(output) {}

    void Add(std::string_view bytes) {
      while (!bytes.empty() && status_.ok()) {
        const std::string_view part = bytes.substr(0, kOutputBytes - buffer_.size());
        buffer_ += part;
        bytes.remove_prefix(part.size());
        if (buffer_.size() == kOutputBytes) Flush();
      }
    }
    absl::Status Finish() && {
      if (!buffer_.empty() && status_.ok()) Flush();
      return status_;
    }

   private:
    void Flush() {
      status_ = output_(buffer_);
      buffer_.clear();
    }

    const Output& output_;
    std::string buffer_;
    absl::Status status_;
  };

  uint32_t Number(Text text) { return static_cast<uint32_t>(Index(texts_.Intern(text))); }
  PackedWriter WriterTo(std::vector<uint32_t>& words) { return PackedWriter(words, number_of_); }

  void AddPod(const objects::Pod& pod) {
    ++run_;
    name_.push_back(Number(pod.meta.name));
    uid_.push_back(Number(pod.meta.uid));
    node_name_.push_back(Number(pod.node_name));
    creation_time_.push_back(pod.meta.creation_time);
    for (const objects::Volume& volume : pod.volumes) {
      if (OnlyProvidesData(volume)) data_names_.push_back(Number(volume.name));
    }
    pattern_.push_back(PatternOf(pod));
  }

  uint32_t PatternOf(const objects::Pod& pod) {
    words_.clear();
    PackedWriter put = WriterTo(words_);
    const bool is_own = NeedsOwnPattern(pod);
    put.Put((pod.node_name.empty() ? 0 : kOnNode) | (pod.meta.uid.empty() ? 0 : kHasUid) |
            (is_own ? kOwnPattern : 0));
    if (is_own) put.Put(static_cast<uint32_t>(pattern_.size()));
    const std::array<const Text*, 3> in_columns = {&pod.meta.name, &pod.meta.uid, &pod.node_name};
    put.LeaveOut(in_columns, &pod.meta.creation_time);
    put.LeaveOutNamesOfData();
    put.Put(pod);
    const std::string_view key = BytesOf<uint32_t>(words_);
    if (const auto it = patterns_.find(key); it != patterns_.end()) return it->second;
    const auto number = static_cast<uint32_t>(patterns_.size());
    patterns_.emplace(key, number);
    pattern_words_.insert(pattern_words_.end(), words_.begin(), words_.end());
    return number;
  }

  // Ends a run of pods.
  void EndPods() {
    if (run_ == 0) return;
    objects_.push_back(static_cast<uint32_t>(Entry::kPods));
    objects_.push_back(std::exchange(run_, 0));
  }

  void PutObject(const objects::Node& node, const ObjectSink::Aside& aside) {
    PutEntry(Entry::kNode, node, aside.heartbeat_time);
  }
  void PutObject(const objects::Pod& /*pod*/, const ObjectSink::Aside& /*aside*/) {}
  void PutObject(const objects::PodDisruptionBudget& budget, const ObjectSink::Aside& /*aside*/) {
    PutEntry(Entry::kBudget, budget);
  }
  void PutObject(const objects::Controller& controller, const ObjectSink::Aside& aside) {
    PutEntry(Entry::kController, controller, aside.pods_ready);
  }
  void PutObject(const objects::Namespace& object, const ObjectSink::Aside& /*aside*/) {
    PutEntry(Entry::kNamespace, object);
  }
  void PutObject(const objects::StorageObject& object, const ObjectSink::Aside& /*aside*/) {
    const auto kind = static_cast<uint32_t>(object.index());
    std::visit([&](const auto& each) { PutEntry(Entry::kStorage, each, kind); }, object);
  }

  template <typename Struct, typename... Before>
  void PutEntry(Entry entry, const Struct& object, Before... before) {
    PackedWriter put = WriterTo(objects_);
    put.Put(entry);
    (put.Put(before), ...);
    put.Put(object);
  }

  Symbols texts_;  // A text's number is its id.
  struct NumberOf {
    Impl& impl;
    uint32_t operator()(std::string_view text) const { return impl.Number(text); }
  };
  const NumberOf number_of_{*this};

  ColumnSizes sizes_;
  std::vector<int64_t> creation_time_;
  std::vector<uint32_t> pattern_;
  std::vector<uint32_t> name_;
  std::vector<uint32_t> uid_;
  std::vector<uint32_t> node_name_;
  std::vector<uint32_t> data_names_;
  absl::flat_hash_map<std::string, uint32_t, TextHash, std::equal_to<>> patterns_;  // By words.
  std::vector<uint32_t> pattern_words_;
  std::vector<uint32_t> objects_;
  uint32_t run_ = 0;             // Pods since the last entry of objects_.
  std::vector<uint32_t> words_;  // Reused.
};

ColumnSnapshotWriter::ColumnSnapshotWriter() : impl_(std::make_unique<Impl>()) {}
ColumnSnapshotWriter::~ColumnSnapshotWriter() = default;

void ColumnSnapshotWriter::Add(const objects::ObjectRef& object, const ObjectSink::Aside& aside) {
  impl_->Add(object, aside);
}
void ColumnSnapshotWriter::AddEmptyList(std::string_view kind) { impl_->AddEmptyList(kind); }
void ColumnSnapshotWriter::AddUnevaluated(const ObjectSink::Unevaluated& object) {
  impl_->AddUnevaluated(object);
}
absl::Status ColumnSnapshotWriter::Finish(const Output& output) { return impl_->Finish(output); }

}  // namespace ebb
