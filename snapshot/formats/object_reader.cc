#include "snapshot/formats/object_reader.h"

#include <algorithm>

#include "base/printable.h"
#include "snapshot/formats/json_fields.h"
#include "snapshot/formats/object_fields.h"

namespace ebb {
namespace {

using objects::Text;

// Whether the object starts with a member that marshalled objects start with, kind or apiVersion.
bool StartsWithKind(std::string_view json) {
  json.remove_prefix(1);
  json.remove_prefix(std::min(json.find_first_not_of(" \n\r\t"), json.size()));
  return json.starts_with("\"kind\"") || json.starts_with("\"apiVersion\"");
}

}  // namespace

class ObjectReader::Impl : public ObjectFields<JsonFields> {
 public:
  void Read(std::string_view json, const ObjectPlace& place, ObjectBatch& batch);

 private:
  bool FindKind(Text& api_version, Text& kind);
  void RememberStart(std::string_view json, Text api_version, Text kind, const Kind* rule);
  // Whether an ignored object has each member that identifies it at most once.
  bool IdentifiesItselfOnce();

  std::string start_;                 // The text of the object before, up to the end of its kind.
  const Kind* start_rule_ = nullptr;  // The row for that kind; null: unknown.
};

void ObjectReader::Impl::Read(std::string_view json, const ObjectPlace& place, ObjectBatch& batch) {
  Begin(batch);
  Text api_version;
  Text kind;
  if (!fields_.Open(json, batch.texts)) return FieldError(place.kind, place);
  const Kind* rule = start_rule_;
  if (rule == nullptr || !json.starts_with(start_)) {
    // Items of a typed list have no kind; do not search all their members for one.
    if (place.kind.empty() || StartsWithKind(json)) {
      if (!FindKind(api_version, kind)) return FieldError(place.kind, place);
      fields_.Rewind();
    }
    const bool own = !kind.empty();
    if (!own) {
      api_version = place.api_version;
      kind = place.kind;
    }
    if (kind.empty()) return batch.AddWithoutKind();
    rule = RuleFor(api_version, kind);
    if (rule == nullptr) {
      if (kind == "Status" && api_version == "v1") return StatusError(place);
      if (IsPartial(api_version, kind)) return PartialError(kind, json, place);
      if (own && (!IdentifiesItselfOnce() || IsOddKind(api_version, kind))) {
        return FieldError(Printable(kind), place);
      }
      const bool list = own && !place.no_list && kind.ends_with("List") && !IsForeign(api_version);
      if (list) return batch.AddList();
      fields_.Rewind();
      return AddIgnored(api_version, kind);
    }
    if (own) RememberStart(json, api_version, kind, rule);
  }
  ReadAs(*rule, place);
}

// kubectl writes apiVersion and kind first; then the search stops after two members.
bool ObjectReader::Impl::FindKind(Text& api_version, Text& kind) {
  bool found_version = false;
  bool found_kind = false;
  const bool read = fields_.Members([&](Key key, Value& value) {
    if (found_version && found_kind) return false;  // Both are known: stop.
    if (key == "apiVersion") {
      found_version = fields_.String(value, api_version);
      return found_version;
    }
    if (key != "kind") return true;
    found_kind = fields_.String(value, kind);
    return found_kind;
  });
  return read || (found_version && found_kind && !fields_.malformed());
}

bool ObjectReader::Impl::IdentifiesItselfOnce() {
  if (EachPart([](Key, Value&) { return true; }) || fields_.malformed()) {
    fields_.Rewind();  // The rest of an ignored object need not be valid JSON.
    return true;
  }
  return false;
}

// Most objects of a dump start as the object before them: {"apiVersion":"v1","kind":"Pod".
void ObjectReader::Impl::RememberStart(std::string_view json, Text api_version, Text kind,
                                       const Kind* rule) {
  constexpr size_t kLengthMax = 200;
  start_rule_ = nullptr;
  size_t end = 0;
  for (const Text text : {api_version, kind}) {
    if (text.data() < json.data() || text.data() > json.data() + kLengthMax) return;
    end = std::max(end, static_cast<size_t>(text.data() - json.data()) + text.size() + 1);
  }
  if (end > json.size()) return;
  start_.assign(json.substr(0, end));
  start_rule_ = rule;
}

ObjectReader::ObjectReader() : impl_(std::make_unique<Impl>()) {}
ObjectReader::~ObjectReader() = default;

void ObjectReader::Read(std::string_view json, const ObjectPlace& place, ObjectBatch& batch) {
  impl_->Read(json, place, batch);
}

std::string ObjectReader::KindProblem(std::string_view api_version, std::string_view kind) {
  return Impl::KindProblem(api_version, kind);
}

bool ObjectReader::IsForeign(std::string_view api_version) {
  const std::string_view group = GroupOf(api_version);
  // Lists of these groups hold kinds that ebb reads.
  if (group == "cluster.x-k8s.io" || group == "machine.openshift.io" || group == "karpenter.sh") {
    return false;
  }
  // A backslash means that the text is not unescaped yet, so that its group is not known.
  return group.find('.') != group.npos && group.find('\\') == group.npos &&
         !group.ends_with(".k8s.io");
}

std::string_view ObjectReader::last_name() const { return impl_->last_name(); }

}  // namespace ebb
