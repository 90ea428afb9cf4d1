// FieldProblem: what is wrong with a field of an object, preceded by the field's path
// ("spec.nodeName: 5 is not a string").  The walkers over JSON and protobuf (json_fields.h,
// proto_fields.h) derive from it, so that both report the same errors.
//
// Every function that reads a field returns false on the first problem, and its callers return
// false in turn.  On the way out each level prepends its name, so that building the path
// (spec.containers[2].resources.requests.cpu) costs nothing when there is no error.
//
// Threads: one thread at a time.

#ifndef EBB_SNAPSHOT_FORMATS_FIELD_PROBLEM_H_
#define EBB_SNAPSHOT_FORMATS_FIELD_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/utf8.h"
#include "snapshot/objects/objects.h"
#include "snapshot/objects/quantity.h"

namespace ebb {

class FieldProblem {
 public:
  using Text = objects::Text;

  // Records what is wrong with the current value.  Returns false, as all functions here that
  // record a problem do.
  bool Fail(std::string problem) {
    problem_ = std::move(problem);
    of_document_ = false;
    return false;
  }
  // Records a problem below the current value; `path` leads from there to it (".name").
  bool FailAt(std::string_view path, std::string problem) {
    path_.assign(path);
    return Fail(std::move(problem));
  }

  std::string Problem() const {
    if (path_.empty()) return problem_;
    return absl::StrCat(Printable(path_[0] == '.' ? path_.substr(1) : path_), ": ", problem_);
  }

 protected:
  void Clear() {
    problem_.clear();
    path_.clear();
    of_document_ = false;
  }

  // Prepends a member's name, or an element's index, to the path.
  bool In(Text key) {
    if (!of_document_) path_ = absl::StrCat(".", Absl(key), path_);
    return false;
  }
  bool In(size_t index) {
    if (!of_document_) path_ = absl::StrCat("[", index, "]", path_);
    return false;
  }

  // Records a problem of the whole text, which has no path.
  bool FailDocument(std::string problem) {
    problem_ = std::move(problem);
    of_document_ = true;
    return false;
  }
  bool of_document() const { return of_document_; }

  // Whether `number` is in the range of its API type.  `token` is the number as the error quotes
  // it.
  bool CheckRange(int64_t number, Text token, int64_t least, int64_t most) {
    if (number >= least && number <= most) return true;
    return Fail(
        absl::StrCat(Quote(token), number < 0 && least == 0 ? " is negative" : " is out of range"));
  }

  // Parses a quantity, measured in `unit`; rejects negative ones.
  bool ParseAmount(Text text, QuantityUnit unit, ExactQuantity& amount) {
    ExactQuantity parsed;
    const QuantityError error = ParseQuantity(text, unit, parsed);
    if (error != QuantityError::kNone) return Fail(Describe(error, text));
    if (parsed.amount < 0) return Fail(absl::StrCat(Escaped(text), " is negative"));
    amount = parsed;
    return true;
  }

  // Text for a message: one line, at most kShown bytes, cut between characters.
  static std::string Quote(Text token) {
    bool cut = false;
    token = Shortened(token, cut);
    return absl::StrCat(Printable(token), cut ? "..." : "");
  }
  static std::string Escaped(Text text) {
    bool cut = false;
    text = Shortened(text, cut);
    return absl::StrCat("\"", Printable(text), cut ? "...\"" : "\"");
  }

 private:
  static Text Shortened(Text text, bool& cut) {
    constexpr size_t kShown = 60;
    cut = text.size() > kShown;
    return CutUtf8(text, kShown);
  }

  std::string problem_;
  std::string path_;
  bool of_document_ = false;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_FIELD_PROBLEM_H_
