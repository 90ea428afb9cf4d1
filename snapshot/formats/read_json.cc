#include "snapshot/formats/read_json.h"

#include <algorithm>
#include <array>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "snapshot/formats/form_error.h"
#include "snapshot/formats/json_bytes.h"
#include "snapshot/formats/json_scan.h"
#include "snapshot/formats/kind_by_path.h"
#include "snapshot/formats/object_reader.h"

namespace ebb {
namespace {

// A limit on what one object may cost, far above the API server's limit on a request.
constexpr size_t kObjectBytesMax = size_t{256} << 20;
// How much one thread reads at a time: long compared to waking another thread (tens of
// microseconds), short compared to a core's cache.  With 128 instead of 64 KiB two threads
// were 1.85 instead of 1.39 times as fast as one (Import_JsonToSnapshot/uniform:5000,
// docs/performance.md); larger pieces were not compared.
constexpr size_t kPieceBytes = size_t{128} << 10;
// A list that has more bytes left than this many pieces is read by several threads.  Not tuned.
constexpr size_t kPiecesForThreads = 2;
// Pieces that may wait for each thread.  More balance threads better and take memory.  Not tuned.
constexpr size_t kPiecesAheadPerThread = 2;

// A key of the shell around the objects ("items", "kind"); no writer escapes these.
std::string_view Unquoted(const char* begin, const char* end) {
  return {begin + 1, static_cast<size_t>(end - begin) - 2};
}

// A bit for each member that shows what a document is; 0 for all others.
uint32_t ShellPartOf(std::string_view key) {
  static constexpr auto kParts = std::to_array<std::string_view>(
      {"apiVersion", "kind", "metadata", "items", "NodeList", "UnscheduledPodsCanBeScheduled"});
  for (size_t i = 0; i < kParts.size(); ++i) {
    if (kParts[i] == key) return uint32_t{1} << i;
  }
  return 0;
}

// Walks the shell of a text (lists, snapshots, arrays, documents) and passes each object in it to
// the ObjectReader.
class DocumentReader {
 public:
  // `padded`: as in ReadJson().
  DocumentReader(std::string_view name, std::string_view json, bool padded, ObjectSink& sink,
                 ImportStats& stats, const Parallelism& parallelism, Strangers strangers)
      : name_(name),
        parallelism_(parallelism),
        begin_(json.data()),
        p_(json.data()),
        end_(json.data() + json.size()),
        readable_(end_ + (padded ? kJsonPadding : 0)),
        sink_(sink),
        stats_(stats),
        strangers_(strangers) {}

  absl::Status Read() {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (std::string_view(p_, Left()).substr(0, 3) == kByteOrderMark) p_ += 3;
    p_ = json_scan::SkipBlanks(p_, end_);
    if (p_ == end_) return Broken("is empty");
    while (p_ < end_) {
      if (absl::Status read = Document(); !read.ok()) return read;
      p_ = json_scan::SkipBlanks(p_, end_);
    }
    return absl::OkStatus();
  }

 private:
  struct Span {
    const char* begin = nullptr;
    const char* end = nullptr;
    uint64_t index = 0;
  };

  // Copies of texts, which stay where they are while others are added.
  using Copies = std::list<std::string>;

  // Reads a list inside the text of `outer`.
  DocumentReader(const DocumentReader& outer, const Span& span)
      : name_(outer.name_),
        parallelism_(outer.parallelism_),
        begin_(outer.begin_),
        p_(span.begin),
        end_(span.end),
        readable_(outer.readable_),
        sink_(outer.sink_),
        stats_(outer.stats_),
        strangers_(outer.strangers_),
        depth_(outer.depth_ + 1) {}

  absl::Status Document() {
    if (*p_ == '[') return Array();
    if (*p_ != '{') return NotJson(p_, "an object or array was expected");
    return TopObject();
  }

  // Makes one pass over the members.  A text that turns out to be neither a list nor a debugging
  // snapshot is read as an object after that pass.
  absl::Status TopObject() {
    const char* const start = p_;
    std::string_view api_version;
    std::string_view kind;
    std::vector<std::string_view> metadata;
    bool null_items = false;
    bool odd_items = false;
    bool shell = false;
    items_ = 0;
    uint32_t seen = 0;
    absl::Status members = Members([&](std::string_view key) -> absl::Status {
      const bool is_array = *p_ == '[';
      const uint32_t part = ShellPartOf(key);
      if ((seen & part) != 0) {
        return Error(absl::StrCat(BytePosition(Text(), Offset(p_)), ": ", Absl(key),
                                  " occurs twice in one object"));
      }
      seen |= part;
      if (key == "items" && is_array &&
          !ObjectReader::IsForeign(api_version.empty() ? VersionIn(start) : api_version)) {
        shell = true;
        return List("items", api_version, ItemKind(kind));
      }
      if (key == "NodeList" && is_array) return shell = true, NodeList();
      if (key == "UnscheduledPodsCanBeScheduled" && is_array) {
        shell = true;
        return Pods("UnscheduledPodsCanBeScheduled", "");
      }
      const char* const value = p_;
      if (absl::Status skipped = Skip(); !skipped.ok()) return skipped;
      if (*value == '{' && key == "metadata") {
        metadata.emplace_back(value, static_cast<size_t>(p_ - value));
      }
      if (key == "items" && *value != '[') (*value == 'n' ? null_items : odd_items) = true;
      if (*value == '"' && key == "kind") kind = Unquoted(value, p_);
      if (*value == '"' && key == "apiVersion") api_version = Unquoted(value, p_);
      return absl::OkStatus();
    });
    if (!members.ok()) return members;
    if (kind.ends_with("List") && !ObjectReader::IsForeign(api_version)) {
      if (odd_items) return Error(absl::StrCat(Printable(kind), ": items: is not an array"));
      shell |= null_items;  // Go writes an empty list as null.
    }
    if (shell) return EndList(metadata, api_version, ItemKind(kind));
    const Span span{start, p_, 0};
    if (IsGoInternal(span)) return GoInternal(span);
    if (kind.empty()) {
      if (const KindOfFile named = NamedKind(span, /*in_list=*/false); !named.kind.empty()) {
        return Object(span, Place({}, 0, named.api_version, named.kind));
      }
    }
    if (strangers_ == Strangers::kCounted && kind.empty() && !LooksLikeObject(span)) {
      ++stats_.strangers;
      return absl::OkStatus();
    }
    ObjectPlace place = Place({}, 0, {}, {});
    place.no_list = true;
    return Object(span, place);
  }

  // The apiVersion of the object at `object`.  It may follow long items, which are then read
  // twice.  Ignores text that is not JSON; the caller reports it.
  std::string_view VersionIn(const char* object) {
    const char* const at = p_;
    std::string_view version;
    p_ = object;
    Members([&](std::string_view key) {
      const char* const value = p_;
      absl::Status skipped = Skip();
      if (skipped.ok() && *value == '"' && key == "apiVersion") version = Unquoted(value, p_);
      return skipped;
    }).IgnoreError();
    p_ = at;
    return version;
  }

  absl::Status EndList(const std::vector<std::string_view>& metadata, std::string_view api_version,
                       std::string_view kind) {
    if (const std::string problem = ObjectReader::KindProblem(api_version, kind);
        !kind.empty() && !problem.empty()) {
      return Error(absl::StrCat("the list of kind ", Printable(kind), "List: kind: ", problem));
    }
    if (absl::Status read = Deferred(api_version, kind); !read.ok()) return read;
    for (const std::string_view text : metadata) {
      const nlohmann::json meta = nlohmann::json::parse(text, nullptr, false);
      if (!meta.is_object()) return Error("is not JSON: a list's metadata cannot be read");
      const std::string part = PartOfList(meta, kind);
      if (part.empty()) continue;
      const absl::Status taken = sink_.OnPartOfList(part);
      if (!taken.ok()) return Error(std::string(taken.message()));
    }
    ++stats_.lists;
    return sink_.OnList(kind, items_);
  }

  // Why a list is only one page of several, by its metav1.ListMeta; empty: the list is whole.
  static std::string PartOfList(const nlohmann::json& meta, std::string_view kind) {
    const auto token = meta.find("continue");
    const auto left = meta.find("remainingItemCount");
    const bool more = token != meta.end() && *token != "" && !token->is_null();
    const bool some_left = left != meta.end() && *left != 0 && !left->is_null();
    if (!more && !some_left) return "";
    const std::string list =
        kind.empty() ? "the list" : absl::StrCat("the list of kind ", Printable(kind), "List");
    return absl::StrCat(list, " is not whole: its metadata.",
                        more ? "continue" : "remainingItemCount",
                        " says that the server has more; list without a limit, as `kubectl get` "
                        "does");
  }

  // Whether an object without a kind may be a Kubernetes object that lost it.  Such an object is
  // not skipped as a stranger.
  bool LooksLikeObject(const Span& span) {
    const char* const after = p_;
    bool version = false;
    bool metadata = false;
    bool content = false;
    p_ = span.begin;
    const absl::Status members = Members([&](std::string_view key) {
      version |= key == "apiVersion" || key == "kind";
      metadata |= key == "metadata";
      content |= key == "spec" || key == "status";
      return Skip();
    });
    p_ = after;
    return !members.ok() || version || (metadata && content);
  }

  absl::Status Array() {
    Span first;
    const bool strange = IsStrangeArray(first);
    if (first.end != nullptr) {
      if (IsGoInternal(first)) return GoInternal(first);
      const KindOfFile named = NamedKind(first, /*in_list=*/true);
      if (!named.kind.empty()) return List("", named.api_version, named.kind);
    }
    if (strange && strangers_ == Strangers::kCounted) return Stranger();
    return List("", {}, {});
  }

  // Whether the array at p_ starts with something other than a Kubernetes object.  Sets `first` to
  // its first element if that is an object.
  bool IsStrangeArray(Span& first) {
    const char* const start = p_;
    bool strange = false;
    if (Step(start).ok() && *p_ != ']') {
      strange = *p_ != '{' || (SkipObject("", 0, first).ok() && !LooksLikeObject(first));
    }
    p_ = start;
    return strange;
  }

  // The kind that the file's name gives to an object that has none itself.
  KindOfFile NamedKind(const Span& span, bool in_list) {
    const KindOfFile named = KindByPath(name_, TextOf(span), in_list);
    if (named.kind.empty() || !named.read) return named;
    if (stats_.files_of_named_kind++ == 0) {
      stats_.first_of_named_kind = absl::StrCat(Absl(name_), ": ", Absl(named.kind));
    }
    return named;
  }

  // Whether an object is one of Kubernetes' internal Go types, whose members are named as in Go.
  // `kubectl cluster-info dump` of 2017 and other programs marshal them.
  bool IsGoInternal(const Span& span) const {
    const auto has = [](std::string_view text, std::initializer_list<std::string_view> keys) {
      bool found = false;
      json_scan::ForEachMember(text, [&](std::string_view key, std::string_view value) {
        found |= value[0] == '{' && std::ranges::find(keys, key) != keys.end();
      });
      return found;
    };
    bool internal = has(TextOf(span), {"ObjectMeta"});
    json_scan::ForEachMember(TextOf(span), [&](std::string_view key, std::string_view value) {
      if (key == "Spec" && value[0] == '{') internal |= !has(TextOf(span), {"spec", "metadata"});
      if (key != "Items" || value[0] != '[') return;
      const char* const end = value.data() + value.size();
      const char* const item = json_scan::SkipBlanks(value.data() + 1, end);
      const char* const item_end = *item == '{' ? json_scan::SkipContainer(item, end) : nullptr;
      if (item_end == nullptr) return;
      internal |= has({item, static_cast<size_t>(item_end - item)}, {"ObjectMeta", "Spec"});
    });
    return internal;
  }

  absl::Status GoInternal(const Span& span) const {
    KindOfFile named = KindByName(name_);
    if (named.kind.empty()) named = KindByName(name_.substr(0, name_.rfind('/')));
    const bool is_other = !named.kind.empty() && !named.read;
    return MakeFormError(
        {.matters = !is_other},
        absl::StrCat(
            Absl(name_), ": ", BytePosition(Text(), Offset(span.begin)),
            ": is JSON of Go's internal types (\"ObjectMeta\", \"Spec\", \"Items\"), as "
            "`kubectl cluster-info dump` of 2017 wrote it, and ebb reads the API's JSON "
            "(\"metadata\", \"spec\", \"items\"); dump with `kubectl get ... -A -o json`"));
  }

  // Skips a document that is not a Kubernetes object.
  absl::Status Stranger() {
    ++stats_.strangers;
    return Skip();
  }

  // An item that is a list itself.
  absl::Status Nested(const Span& span) {
    constexpr int kDepthMax = 16;  // A guard: each level takes stack.
    if (depth_ == kDepthMax) {
      return Error(absl::StrCat(BytePosition(Text(), Offset(span.begin)),
                                ": lists are nested too deep; at most ", kDepthMax, " are read"));
    }
    return DocumentReader(*this, span).TopObject();
  }

  // "PodList" lists Pods, whose own kind may be absent; "List" lists any kinds.
  static std::string_view ItemKind(std::string_view kind) {
    constexpr std::string_view kSuffix = "List";
    if (kind.size() <= kSuffix.size() || !kind.ends_with(kSuffix)) return {};
    return kind.substr(0, kind.size() - kSuffix.size());
  }

  absl::Status List(std::string_view label, std::string_view api_version, std::string_view kind) {
    if (parallelism_.threads() > 1 && Left() > kPiecesForThreads * kPieceBytes) {
      return ListAhead(label, api_version, kind);
    }
    return Elements([&](uint64_t index) -> absl::Status {
      const ObjectPlace place = Place(label, index, api_version, kind);
      Span span;
      ++items_;
      if (absl::Status skipped = SkipObject(label, index, span); !skipped.ok()) return skipped;
      bool has_kind = true;
      if (absl::Status read = Object(span, place, has_kind); !read.ok() || has_kind) return read;
      if (label.empty()) return NoKind(place, span);
      deferred_.push_back(span);  // The list's own kind may follow its items.
      return absl::OkStatus();
    });
  }

  // Items that one thread reads together.
  struct Chunk {
    std::vector<Span> spans;
    size_t bytes = 0;
    ObjectReader reader;
    ObjectBatch batch;
    Copies copies;
  };

  // List() with the help of other threads.
  absl::Status ListAhead(std::string_view label, std::string_view api_version,
                         std::string_view kind) {
    WorkAhead<std::unique_ptr<Chunk>> ahead(parallelism_, [&](std::unique_ptr<Chunk>& chunk) {
      chunk->batch.Clear();
      chunk->copies.clear();
      for (const Span& span : chunk->spans) {
        ObjectPlace place = Place(label, span.index, api_version, kind);
        place.offset = Offset(span.begin);
        chunk->reader.Read(PaddedTextOf(span, chunk->copies), place, chunk->batch);
      }
    });
    std::vector<std::unique_ptr<Chunk>> idle;
    absl::Status taken;
    const auto take = [&] {
      idle.push_back(ahead.Pop());
      Chunk& chunk = *idle.back();
      taken = chunk.batch.HandOver(name_, sink_, stats_, [&](auto what, size_t position) {
        const Span& span = chunk.spans[position];
        if (what == ObjectBatch::Left::kList) return Nested(span);
        if (label.empty()) return NoKind(Place(label, span.index, api_version, kind), span);
        deferred_.push_back(span);
        return absl::OkStatus();
      });
      return taken.ok();
    };
    auto chunk = std::make_unique<Chunk>();
    const absl::Status found = Elements([&](uint64_t index) -> absl::Status {
      Span span;
      ++items_;
      if (absl::Status skipped = SkipObject(label, index, span); !skipped.ok()) return skipped;
      if (absl::Status size = CheckSize(span); !size.ok()) return size;
      chunk->spans.push_back(span);
      chunk->bytes += TextOf(span).size();
      if (chunk->bytes < kPieceBytes) return absl::OkStatus();
      ahead.Push(std::move(chunk));
      if (ahead.size() > kPiecesAheadPerThread * parallelism_.threads() && !take()) return taken;
      if (idle.empty()) {
        chunk = std::make_unique<Chunk>();
      } else {
        chunk = std::move(idle.back());
        idle.pop_back();
        chunk->spans.clear();
        chunk->bytes = 0;
      }
      return absl::OkStatus();
    });
    // An error in an item counts before an error further on in the text.
    if (chunk != nullptr) ahead.Push(std::move(chunk));
    while (taken.ok() && ahead.size() > 0) take();
    return taken.ok() ? found : taken;
  }

  absl::Status Deferred(std::string_view api_version, std::string_view kind) {
    const std::vector<Span> spans = std::move(deferred_);
    deferred_.clear();
    if (kind.empty() && !spans.empty()) {
      const KindOfFile named = NamedKind(spans[0], /*in_list=*/true);
      if (!named.kind.empty()) {
        kind = named.kind;
        if (api_version.empty()) api_version = named.api_version;
      }
    }
    for (const Span& span : spans) {
      const ObjectPlace place = Place("items", span.index, api_version, kind);
      if (kind.empty()) {
        if (strangers_ == Strangers::kRefused || LooksLikeObject(span)) return NoKind(place, span);
        ++stats_.strangers;
        continue;
      }
      if (absl::Status read = Object(span, place); !read.ok()) return read;
    }
    return absl::OkStatus();
  }

  // The autoscaler's debugging snapshot: [{"Node": {...}, "Pods": [...]}].
  absl::Status NodeList() {
    return Elements([&](uint64_t index) -> absl::Status {
      if (*p_ != '{') return NotJson(p_, "an object with Node and Pods was expected");
      const char* node = nullptr;
      const char* pods = nullptr;
      bool odd_pods = false;
      absl::Status members = Members([&](std::string_view key) -> absl::Status {
        if (key == "Node" && *p_ == '{') node = p_;
        if (key == "Pods") {
          pods = *p_ == '[' ? p_ : nullptr;
          odd_pods = pods == nullptr && *p_ != 'n';  // Go writes an empty list as null.
        }
        return Skip();
      });
      if (!members.ok()) return members;
      if (odd_pods) {
        return Error(absl::StrCat("NodeList[", index, "].Pods: is not an array"));
      }
      const char* const after = p_;
      if (node == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat(Absl(name_), ": NodeList[", index, "].Node: is missing"));
      }
      p_ = node;
      Span span;
      if (absl::Status skipped = SkipObject("NodeList", index, span); !skipped.ok()) return skipped;
      if (absl::Status read = Object(span, Place("NodeList", index, "v1", "Node")); !read.ok()) {
        return read;
      }
      if (pods != nullptr) {
        const std::string on_node(reader_.last_name());
        p_ = pods;
        if (absl::Status read = Pods(absl::StrCat("NodeList[", index, "].Pods"), on_node);
            !read.ok()) {
          return read;
        }
      }
      p_ = after;
      return absl::OkStatus();
    });
  }

  absl::Status Pods(const std::string& label, std::string_view on_node) {
    return Elements([&](uint64_t index) -> absl::Status {
      Span span;
      if (absl::Status skipped = SkipObject(label, index, span); !skipped.ok()) return skipped;
      ObjectPlace place = Place(label, index, "v1", "Pod");
      place.on_node = on_node;
      return Object(span, place);
    });
  }

  ObjectPlace Place(std::string_view list, uint64_t index, std::string_view api_version,
                    std::string_view kind) const {
    return {.file = name_,
            .list = list,
            .index = index,
            .offset = 0,
            .api_version = api_version,
            .kind = kind,
            .on_node = std::nullopt,
            .text = Text()};
  }

  // --- steps through the text

  // Calls member(key) with p_ at each value; `member` must move p_ past the value.
  template <typename Member>
  absl::Status Members(Member&& member) {
    const char* const open = p_;
    if (absl::Status step = Step(open); !step.ok()) return step;
    while (*p_ != '}') {
      if (*p_ != '"') return NotJson(p_, "a member's name was expected");
      const char* const name = p_;
      p_ = json_scan::SkipString(p_, end_);
      if (p_ == nullptr) return Truncated(open);
      const std::string_view key = Unquoted(name, p_);
      p_ = json_scan::SkipBlanks(p_, end_);
      if (p_ == end_) return Truncated(open);
      if (*p_ != ':') return NotJson(p_, "a colon was expected");
      if (absl::Status step = Step(open); !step.ok()) return step;
      if (absl::Status done = member(key); !done.ok()) return done;
      if (absl::Status step = NextOrClose(open, '}'); !step.ok()) return step;
    }
    ++p_;
    return absl::OkStatus();
  }

  // Calls element(index) with p_ at each element; `element` must move p_ past it.
  template <typename Element>
  absl::Status Elements(Element&& element) {
    const char* const open = p_;
    if (absl::Status step = Step(open); !step.ok()) return step;
    for (uint64_t index = 0; *p_ != ']'; ++index) {
      if (absl::Status done = element(index); !done.ok()) return done;
      if (absl::Status step = NextOrClose(open, ']'); !step.ok()) return step;
    }
    ++p_;
    return absl::OkStatus();
  }

  // Skips the byte at p_ and blanks; something must follow them.
  absl::Status Step(const char* open) {
    p_ = json_scan::SkipBlanks(p_ + 1, end_);
    return p_ == end_ ? Truncated(open) : absl::OkStatus();
  }

  // After a value: moves to the next one, or onto the closing brace.
  absl::Status NextOrClose(const char* open, char close) {
    p_ = json_scan::SkipBlanks(p_, end_);
    if (p_ == end_) return Truncated(open);
    if (*p_ == close) return absl::OkStatus();
    if (*p_ != ',') return NotJson(p_, "a comma or the end of the list was expected");
    if (absl::Status step = Step(open); !step.ok()) return step;
    return *p_ == close ? NotJson(p_, "a value was expected") : absl::OkStatus();
  }

  absl::Status Skip() {
    const char* const value = p_;
    const char* const after = json_scan::SkipValue(value, end_);
    if (after == nullptr) {
      return *value == ',' || *value == '}' || *value == ']' || *value == ':'
                 ? NotJson(value, "a value was expected")
                 : Truncated(value);
    }
    p_ = after;
    return absl::OkStatus();
  }

  absl::Status SkipObject(std::string_view label, uint64_t index, Span& span) {
    if (*p_ != '{') {
      return Error(absl::StrCat(Absl(label), "[", index, "]: is not an object (",
                                BytePosition(Text(), Offset(p_)), ")"));
    }
    span = Span{p_, nullptr, index};
    if (absl::Status skipped = Skip(); !skipped.ok()) return skipped;
    span.end = p_;
    return absl::OkStatus();
  }

  absl::Status Object(const Span& span, const ObjectPlace& place) {
    bool has_kind = true;
    absl::Status read = Object(span, place, has_kind);
    return has_kind ? read : NoKind(place, span);
  }

  absl::Status Object(const Span& span, ObjectPlace place, bool& has_kind) {
    place.offset = Offset(span.begin);
    if (absl::Status size = CheckSize(span); !size.ok()) return size;
    batch_.Clear();
    copies_.clear();
    reader_.Read(PaddedTextOf(span, copies_), place, batch_);
    return batch_.HandOver(name_, sink_, stats_, [&](auto what, size_t) {
      if (what == ObjectBatch::Left::kList) return Nested(span);
      has_kind = false;
      return absl::OkStatus();
    });
  }

  static std::string_view TextOf(const Span& span) {
    return {span.begin, static_cast<size_t>(span.end - span.begin)};
  }

  // The text with kJsonPadding readable bytes behind it: a copy, if it is among the last bytes of
  // an input without padding.
  std::string_view PaddedTextOf(const Span& span, Copies& copies) const {
    const std::string_view text = TextOf(span);
    if (static_cast<size_t>(readable_ - span.end) >= kJsonPadding) return text;
    std::string& copy = copies.emplace_back();
    copy.reserve(text.size() + kJsonPadding);
    copy.append(text).append(kJsonPadding, ' ');
    return std::string_view(copy).substr(0, text.size());
  }

  // --- errors

  absl::Status CheckSize(const Span& span) const {
    const size_t size = TextOf(span).size();
    if (size <= kObjectBytesMax) return absl::OkStatus();
    return Error(absl::StrCat(BytePosition(Text(), Offset(span.begin)), ": an object of ", size,
                              " bytes is too large; at most ", kObjectBytesMax, " are read"));
  }

  std::string_view Text() const { return {begin_, static_cast<size_t>(end_ - begin_)}; }
  size_t Left() const { return static_cast<size_t>(end_ - p_); }
  uint64_t Offset(const char* p) const { return static_cast<uint64_t>(p - begin_); }

  absl::Status Error(std::string_view problem) const {
    return absl::InvalidArgumentError(absl::StrCat(Absl(name_), ": ", Absl(problem)));
  }
  absl::Status Broken(std::string_view problem) const { return BrokenText(name_, problem); }
  absl::Status NotJson(const char* at, std::string_view problem) const {
    return Broken(absl::StrCat(BytePosition(Text(), Offset(at)), ": is not JSON: ", Absl(problem)));
  }
  absl::Status Truncated(const char* open) const {
    return Broken(absl::StrCat(BytePosition(Text(), Offset(end_)),
                               ": is truncated: the text ends within what began at ",
                               BytePosition(Text(), Offset(open))));
  }
  absl::Status NoKind(const ObjectPlace& place, const Span& span) const {
    const std::string where = place.list.empty()
                                  ? BytePosition(Text(), Offset(span.begin))
                                  : absl::StrCat(Absl(place.list), "[", place.index, "]");
    const std::string problem =
        absl::StrCat(where, ": is not a Kubernetes object: kind is missing");
    const bool has_metadata = TextOf(span).find("\"metadata\"") != std::string_view::npos;
    return MakeFormError(
        {},
        absl::StrCat(
            Absl(name_), ": ", problem,
            has_metadata
                ? ", and the file's name does not tell it (as pods.json, "
                  "pods/NAMESPACE.json or pod/NAMESPACE/NAME.json do); pass what `kubectl get KIND "
                  "-A -o json` prints"
                : ""));
  }

  const std::string_view name_;
  const Parallelism& parallelism_;
  const char* const begin_;
  const char* p_;
  const char* const end_;
  const char* const readable_;  // The end of the bytes that may be read, padding included.
  ObjectSink& sink_;
  ImportStats& stats_;
  const Strangers strangers_;
  int depth_ = 0;       // How many lists surround this one.
  uint64_t items_ = 0;  // In lists of this document, without those of nested lists.
  ObjectReader reader_;
  ObjectBatch batch_;
  Copies copies_;
  std::vector<Span> deferred_;  // Items without a kind, until the list's kind is known.
};

}  // namespace

absl::Status ReadJson(std::string_view name, std::string_view json, bool padded, ObjectSink& sink,
                      ImportStats& stats, const Parallelism& parallelism, Strangers strangers) {
  stats.bytes += json.size();
  return DocumentReader(name, json, padded, sink, stats, parallelism, strangers).Read();
}

}  // namespace ebb
