// Objects as words of 32 bits, by the table of fields (visit_fields.h).
//
//   text            its number; 0 is the empty text
//   bool, enum, int32, uint32    one word
//   int64, uint64   two words, the lower one first
//   list            the number of entries, then the entries
//   optional        as its value
//   struct          a mask of the fields that follow, in the order of the table, then these fields.
//                   A field that is not in the mask has the struct's default.  The mask has two
//                   words if the struct has more than 32 fields.
//   KeyValue        key and value, without a mask
//
// So a later version of the format may append fields to a struct; a file without them still reads.
// A test holds the rows of the table as they were when the format got its version.
//
// Errors:  PackedReader::ok() becomes false at the first word that does not fit: a text or an
//          enumerator that does not exist, a list that is longer than the words, a negative amount.
// Cost:    a few instructions for each field that is set, one for each other field.
// Threads: one thread at a time.

#ifndef EBB_SNAPSHOT_FORMATS_PACKED_FIELDS_H_
#define EBB_SNAPSHOT_FORMATS_PACKED_FIELDS_H_

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "snapshot/objects/objects.h"
#include "snapshot/objects/pod_columns.h"
#include "snapshot/objects/quantity.h"
#include "snapshot/objects/visit_fields.h"

namespace ebb::packed {

template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;
template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename Struct>
using FieldsOf = decltype(objects::TieFields(std::declval<Struct&>()));
template <typename Struct>
inline constexpr size_t kFields = std::tuple_size_v<FieldsOf<Struct>>;

// The last enumerator.
constexpr uint32_t LastOf(objects::ControllerKind /*kind*/) {
  return static_cast<uint32_t>(objects::ControllerKind::kJob);
}
constexpr uint32_t LastOf(objects::Scheduling /*scheduling*/) {
  return static_cast<uint32_t>(objects::Scheduling::kOther);
}

// Whether a field of this value is left out.  `usual`: the default.
template <typename T>
bool IsUsual(const T& value, const T& usual) {
  if constexpr (kIsList<T>) {
    return value.empty();
  } else if constexpr (kIsOptional<T>) {
    return !value.has_value();
  } else if constexpr (objects::HasFields<T>) {
    return [&]<size_t... kField>(std::index_sequence<kField...>) {
      const auto values = objects::TieFields(value);
      const auto usuals = objects::TieFields(usual);
      return (IsUsual(std::get<kField>(values), std::get<kField>(usuals)) && ...);
    }(std::make_index_sequence<kFields<T>>());
  } else {
    return value == usual;
  }
}

class PackedWriter {
 public:
  // `number` returns the number of a text that is not empty.
  PackedWriter(std::vector<uint32_t>& words, absl::FunctionRef<uint32_t(std::string_view)> number)
      : words_(words), number_(number) {}

  // Puts objects as if these fields had their defaults.  The list must outlive the calls.
  void LeaveOut(std::span<const objects::Text* const> texts, const int64_t* time) {
    left_out_ = texts;
    left_out_time_ = time;
  }
  // The same for the names of volumes that only provide data.
  void LeaveOutNamesOfData() { without_names_of_data_ = true; }

  void Put(uint32_t word) { words_.push_back(word); }
  void Put(bool flag) { words_.push_back(flag ? 1 : 0); }
  void Put(int32_t word) { words_.push_back(static_cast<uint32_t>(word)); }
  void Put(uint64_t value) {
    words_.push_back(static_cast<uint32_t>(value));
    words_.push_back(static_cast<uint32_t>(value >> 32));
  }
  void Put(int64_t value) { Put(static_cast<uint64_t>(value)); }
  void Put(objects::Text text) { words_.push_back(text.empty() ? 0 : number_(text)); }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void Put(Enum value) {
    words_.push_back(static_cast<uint32_t>(value));
  }
  template <typename T>
  void Put(const std::optional<T>& value) {
    Put(*value);
  }
  template <typename T>
  void Put(const std::vector<T>& list) {
    words_.push_back(static_cast<uint32_t>(list.size()));
    for (const T& each : list) Put(each);
  }
  void Put(const objects::KeyValue& entry) {
    Put(entry.key);
    Put(entry.value);
  }
  template <objects::HasFields Struct>
  void Put(const Struct& object) {
    static const Struct kUsual{};
    const auto fields = objects::TieFields(object);
    const auto usual = objects::TieFields(kUsual);
    [&]<size_t... kField>(std::index_sequence<kField...>) {
      uint64_t mask = 0;
      ((mask |= static_cast<uint64_t>(!IsUsual(std::get<kField>(fields), std::get<kField>(usual)) &&
                                      !IsLeftOut(object, std::get<kField>(fields)))
                << kField),
       ...);
      words_.push_back(static_cast<uint32_t>(mask));
      if constexpr (kFields<Struct> > 32) words_.push_back(static_cast<uint32_t>(mask >> 32));
      ((mask >> kField & 1 ? Put(std::get<kField>(fields)) : void()), ...);
    }(std::make_index_sequence<kFields<Struct>>());
  }

 private:
  template <typename Struct, typename Field>
  [[nodiscard]] bool IsLeftOut(const Struct& object, const Field& field) const {
    if constexpr (std::is_same_v<Struct, objects::Volume> && std::is_same_v<Field, objects::Text>) {
      return without_names_of_data_ && &field == &object.name && OnlyProvidesData(object);
    } else if constexpr (std::is_same_v<Field, objects::Text>) {
      return std::ranges::find(left_out_, &field) != left_out_.end();
    } else if constexpr (std::is_same_v<Field, int64_t>) {
      return &field == left_out_time_;
    }
    return false;
  }

  std::vector<uint32_t>& words_;
  absl::FunctionRef<uint32_t(std::string_view)> number_;
  std::span<const objects::Text* const> left_out_;
  const int64_t* left_out_time_ = nullptr;
  bool without_names_of_data_ = false;
};

// Texts has size(), the largest number of a text, and operator[], which returns a text by its
// number.
template <typename Texts>
class ReaderOfPacked {
 public:
  ReaderOfPacked(std::span<const uint32_t> words, const Texts& texts)
      : words_(words), texts_(texts) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool AtEnd() const { return at_ == words_.size(); }
  // The index of the next word.
  [[nodiscard]] size_t at() const { return at_; }
  void MoveTo(size_t at) { at_ = at; }

  uint32_t Word() {
    if (at_ == words_.size()) {
      ok_ = false;
      return 0;
    }
    return words_[at_++];
  }

  // REQUIRES: `to` has its default.
  void Get(uint32_t& to) { to = Word(); }
  void Get(bool& to) {
    const uint32_t word = Word();
    ok_ = ok_ && word <= 1;
    to = word == 1;
  }
  void Get(int32_t& to) { to = static_cast<int32_t>(Word()); }
  void Get(uint64_t& to) {
    const uint64_t low = Word();
    to = low | static_cast<uint64_t>(Word()) << 32;
  }
  void Get(int64_t& to) {
    uint64_t value = 0;
    Get(value);
    to = static_cast<int64_t>(value);
  }
  void Get(objects::Text& to) {
    const uint32_t number = Word();
    ok_ = ok_ && number <= texts_.size();
    if (ok_) to = texts_[number];
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void Get(Enum& to) {
    const uint32_t word = Word();
    ok_ = ok_ && word <= LastOf(to);
    if (ok_) to = static_cast<Enum>(word);
  }
  template <typename T>
  void Get(std::optional<T>& to) {
    Get(to.emplace());
  }
  template <typename T>
  void Get(std::vector<T>& to) {
    const uint32_t count = Word();
    // Each entry has at least one word.
    ok_ = ok_ && count <= words_.size() - at_;
    if (!ok_) return;
    to.reserve(std::min(count, kReserved));
    for (uint32_t i = 0; i < count && ok_; ++i) Get(to.emplace_back());
  }
  void Get(objects::KeyValue& to) {
    Get(to.key);
    Get(to.value);
  }
  template <objects::HasFields Struct>
  void Get(Struct& to) {
    uint64_t mask = Word();
    if constexpr (kFields<Struct> > 32) mask |= static_cast<uint64_t>(Word()) << 32;
    ok_ = ok_ && mask >> kFields<Struct> == 0;
    if (!ok_) return;
    const auto fields = objects::TieFields(to);
    [&]<size_t... kField>(std::index_sequence<kField...>) {
      ((mask >> kField & 1 ? Get(std::get<kField>(fields)) : void()), ...);
    }(std::make_index_sequence<kFields<Struct>>());
    if constexpr (std::is_same_v<Struct, objects::ResourceAmount>) {
      ok_ = ok_ && to.amount >= 0 && to.excess >= 0 && to.excess < kNanosPerUnit;
    }
  }

 private:
  // Longer lists grow entry by entry: their length may be wrong.
  static constexpr uint32_t kReserved = 64;

  const std::span<const uint32_t> words_;
  const Texts& texts_;
  size_t at_ = 0;
  bool ok_ = true;
};
using PackedReader = ReaderOfPacked<TextTable>;

}  // namespace ebb::packed

#endif  // EBB_SNAPSHOT_FORMATS_PACKED_FIELDS_H_
