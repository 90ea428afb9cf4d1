#include "bench/kubernetes_bytes.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/rfc3339.h"
#include "bench/workloads.h"
#include "snapshot/formats/wire/kubernetes.pb.h"
#include "snapshot/formats/write_objects.h"

namespace ebb::bench {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using Json = nlohmann::json;

void AppendVarint(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}
void AppendNumber(std::string& bytes, int number, uint64_t value) {
  AppendVarint(bytes, static_cast<uint64_t>(number) << 3);
  AppendVarint(bytes, value);
}
void AppendBytes(std::string& bytes, int number, std::string_view value) {
  AppendVarint(bytes, static_cast<uint64_t>(number) << 3 | 2);
  AppendVarint(bytes, value.size());
  bytes.append(value);
}

void AppendField(std::string& bytes, const FieldDescriptor& field, int number, const Json& value);

std::string Message(const Descriptor& type, const Json& json) {
  std::string bytes;
  if (type.name() == "Quantity") {
    AppendBytes(bytes, 1, json.get<std::string>());
    return bytes;
  }
  if (type.name() == "Time") {
    const auto seconds = ParseRfc3339(json.get<std::string>()).value_or(0);
    AppendNumber(bytes, 1, static_cast<uint64_t>(seconds));
    AppendNumber(bytes, 2, 0);
    return bytes;
  }
  std::vector<const FieldDescriptor*> fields;
  for (int i = 0; i < type.field_count(); ++i) fields.push_back(type.field(i));
  std::ranges::sort(fields, {}, &FieldDescriptor::number);
  for (const FieldDescriptor* const field : fields) {
    if (field->options().GetExtension(wire::kubernetes::inlined)) {
      AppendField(bytes, *field, field->number(), json);
    } else if (const auto it = json.find(std::string(field->name())); it != json.end()) {
      AppendField(bytes, *field, field->number(), *it);
    } else if (field->has_presence() || field->is_repeated()) {
      continue;  // Absent: a pointer, a list or a message.
    } else if (field->type() == FieldDescriptor::TYPE_STRING) {
      AppendBytes(bytes, field->number(), "");
    } else {
      AppendNumber(bytes, field->number(), 0);
    }
  }
  return bytes;
}

void AppendField(std::string& bytes, const FieldDescriptor& field, int number, const Json& value) {
  if (field.is_map()) {
    const Descriptor& entry = *field.message_type();
    for (const auto& [key, each] : value.items()) {
      std::string pair;
      AppendBytes(pair, 1, key);
      AppendField(pair, *entry.map_value(), 2, each);
      AppendBytes(bytes, number, pair);
    }
  } else if (value.is_array()) {
    for (const Json& each : value) AppendField(bytes, field, number, each);
  } else if (field.type() == FieldDescriptor::TYPE_MESSAGE) {
    AppendBytes(bytes, number, Message(*field.message_type(), value));
  } else if (field.type() == FieldDescriptor::TYPE_STRING) {
    AppendBytes(bytes, number, value.get_ref<const std::string&>());
  } else if (field.type() == FieldDescriptor::TYPE_BOOL) {
    AppendNumber(bytes, number, value.get<bool>() ? 1 : 0);
  } else {
    AppendNumber(bytes, number, static_cast<uint64_t>(value.get<int64_t>()));
  }
}

// An object with its envelope.
absl::StatusOr<std::string> Object(const Json& json) {
  const auto kind = json.at("kind").get<std::string>();
  const Descriptor* const type =
      wire::kubernetes::Unknown::descriptor()->file()->FindMessageTypeByName(kind);
  if (type == nullptr) return absl::InvalidArgumentError(absl::StrCat(kind, " has no numbers"));
  std::string type_meta;
  AppendBytes(type_meta, 1, json.at("apiVersion").get<std::string>());
  AppendBytes(type_meta, 2, kind);
  std::string bytes("k8s\0", 4);
  AppendBytes(bytes, 1, type_meta);
  AppendBytes(bytes, 2, Message(*type, json));
  AppendBytes(bytes, 3, "");
  AppendBytes(bytes, 4, "");
  return bytes;
}

}  // namespace

absl::StatusOr<KubernetesBytes> ToKubernetesBytes(const std::string& workload) {
  KubernetesBytes made;
  ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view text) {
    // The start of the list and the separators between items come before the line break.
    const Json json = Json::parse(text.substr(text.find('\n') + 1), nullptr, false);
    if (!json.is_object()) return absl::OkStatus();
    absl::StatusOr<std::string> bytes = Object(json);
    if (!bytes.ok()) return bytes.status();
    (json.at("kind") == "Pod" ? made.pods : made.others).push_back(*std::move(bytes));
    return absl::OkStatus();
  });
  if (absl::Status s = WriteWorkload(workload, writer); !s.ok()) return s;
  return made;
}

}  // namespace ebb::bench
