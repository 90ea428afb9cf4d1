// BlockYaml rewrites as JSON the part of YAML that programs print: maps and lists in block style
// with plain, quoted and literal (`|`) scalars, as kubectl, PyYAML and ebb write them, with
// comments and several documents.  It is thirty times as fast as yaml-cpp.
//
// It never guesses.  At anything else it stops with kUnknown, also at text that is not YAML, and
// the caller reads the document with yaml-cpp (yaml_documents.h), which then reports the error.
// Unknown to it are flow collections other than `{}` and `[]`, folded scalars (`>`), anchors and
// aliases, tags, directives, keys after `?`, tabs outside of texts, a text without a line end, a
// key that occurs twice in its map, numbers such as 010, and nesting of more than 100 levels.
//
// Contract: the JSON of a document is, byte by byte, the JSON that the path over yaml-cpp makes of
//           it.  tests/snapshot/formats/block_yaml_test.cc compares the two.
// Ownership: borrows the text.
// Cost:    one pass, some 160 MB/s; memory of the largest document's JSON.
// Threads: one thread at a time.

#ifndef EBB_SNAPSHOT_FORMATS_BLOCK_YAML_H_
#define EBB_SNAPSHOT_FORMATS_BLOCK_YAML_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ebb {

class BlockYaml {
 public:
  // REQUIRES: `text` is UTF-8 and FindOddCharacter() (read_yaml.h) finds nothing in it.
  explicit BlockYaml(std::string_view text);

  enum class Step : uint8_t { kDocument, kEnd, kUnknown };

  // Reads the next document.  After kEnd or kUnknown there is no next one.
  Step Next();

  // The document that Next() read last.  The caller may take the string.
  std::string& json() { return json_; }
  // Where that document, or the one that is unknown, begins in the text: at the start of a line.
  size_t document_at() const { return document_at_; }
  // Whether the outermost map of that document has the key "items" but not "kind".
  bool lists_without_kind() const { return has_items_ && !has_kind_; }

 private:
  // An open map or list.
  struct Level {
    size_t column;
    bool map;
    bool awaits_value = false;  // A key or a dash was read, but not its value.
    bool first = true;
    bool sorted = true;  // Whether each key so far was greater than the key before.
    size_t keys_begin = 0;
  };
  enum class PlainEnd : uint8_t { kLineEnd, kComment, kColon, kUnknown };

  Step ReadDocument();
  bool Content();
  bool Line();
  bool Entry(size_t column);
  bool KeyOrValue(size_t column, bool must_be_key);
  bool AfterKey();
  bool Value();
  bool Quoted();
  bool SingleQuoted();
  bool DoubleQuoted();
  bool Escape();
  bool FoldQuotedLine(size_t kept, bool escaped_break);
  bool PlainValue();
  PlainEnd ScanPlain();
  bool Continues(size_t& blank_lines, bool& unknown);
  bool Literal();

  void Open(bool map, size_t column);
  void Close();
  void Separate();
  bool AddKey(std::string_view key);
  void ValueDone() { levels_.back().awaits_value = false; }

  bool SkipBlankLines();
  bool RestOfLine();
  void EatBreak();
  void EatLine();
  bool AtEnd() const { return p_ == end_; }
  bool AtMarker(const char* marker) const;
  bool AtDash() const;
  bool AtKeyEnd() const;

  const char* const begin_;
  const char* const end_;
  const char* p_;
  size_t column_ = 0;  // Of p_, after SkipBlankLines().
  size_t document_at_ = 0;
  size_t next_at_ = 0;
  bool stopped_ = false;
  bool has_items_ = false;
  bool has_kind_ = false;
  bool empty_line_ = false;  // Within a quoted scalar: the line before was empty.
  bool many_lines_ = false;  // The quoted scalar that was read last has a line break.
  std::string_view scalar_;  // What was read last: in the text, or in text_.
  std::string text_;
  std::string json_;
  std::vector<Level> levels_;
  std::vector<std::pair<size_t, size_t>> keys_;  // Of open maps: place and size in json_.
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_FORMATS_BLOCK_YAML_H_
