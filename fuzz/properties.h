// Properties of all objects that a reader accepted, whatever the bytes were:
//
//   - written as JSON, YAML or a binary snapshot and read again, they are the same;
//   - they are the same when read with one thread and with eight;
//   - YAML that another program makes of the same JSON gives the same objects;
//   - their number equals that of a count which does not use the reader.
//
// Each function returns what is wrong, or an empty text.

#ifndef EBB_FUZZ_PROPERTIES_H_
#define EBB_FUZZ_PROPERTIES_H_

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/read_json.h"
#include "snapshot/formats/read_yaml.h"
#include "snapshot/formats/write_objects.h"
#include "tests/support/dump_sink.h"

namespace ebb::fuzz {

using Json = nlohmann::ordered_json;  // Preserves the order of members.

// Everything that a reader reports about a text.
struct Seen {
  absl::Status status;
  std::vector<std::string> lines;  // One per object.
  std::vector<std::string> ignored;
  std::vector<std::string> lists;  // Kinds of the lists without items.
};

class SeeingSink final : public testing::DumpSink {
 public:
  absl::Status OnList(std::string_view kind, uint64_t items) override {
    if (items == 0) lists_.emplace_back(kind);
    return absl::OkStatus();
  }
  [[nodiscard]] std::vector<std::string> lists() const { return lists_; }

 private:
  std::vector<std::string> lists_;
};

// Read: (ObjectSink&, ImportStats&) -> absl::Status.
template <typename Read>
Seen See(Read&& read) {
  SeeingSink sink;
  ImportStats stats;
  absl::Status status = read(sink, stats);
  return {std::move(status), sink.lines(), sink.ignored(), sink.lists()};
}

inline std::string FirstDifference(const std::vector<std::string>& left,
                                   const std::vector<std::string>& right) {
  const auto [l, r] = std::ranges::mismatch(left, right);
  if (l == left.end() && r == right.end()) return "";
  return (l == left.end() ? std::string("nothing") : *l) + "\nand\n" +
         (r == right.end() ? std::string("nothing") : *r);
}

// Sets `bytes` to what a Writer writes of the objects that `read` reads.
template <typename Writer, typename Read, typename... Format>
absl::Status Written(Read&& read, std::string& bytes, Format... format) {
  Writer writer(format..., [&](std::string_view part) {
    bytes.append(part);
    return absl::OkStatus();
  });
  ImportStats stats;
  if (absl::Status s = read(writer, stats); !s.ok()) return s;
  return writer.Finish();
}

inline std::string Again(std::string_view form, const Seen& first, const Seen& again) {
  if (!again.status.ok()) return std::string(form) + ": " + again.status.ToString();
  const std::string difference = FirstDifference(first.lines, again.lines);
  return difference.empty() ? "" : std::string(form) + " changes objects:\n" + difference;
}

// REQUIRES: `read` succeeds on its bytes.
template <typename Read>
std::string BinarySaysTheSame(Read&& read) {
  std::string binary;
  if (absl::Status s = Written<BinarySnapshotWriter>(read, binary); !s.ok()) {
    return "binary: cannot be written: " + s.ToString();
  }
  const Seen from_binary = See([&](ObjectSink& sink, ImportStats& stats) {
    return ReadBinarySnapshot("written", binary, sink, stats);
  });
  return Again("binary", See(read), from_binary);
}

// Only for text.  A binary snapshot may hold values that no cluster has and no text can express,
// such as a negative number of bytes.
template <typename Read>
std::string WrittenFormsSayTheSame(Read&& read) {
  if (std::string wrong = BinarySaysTheSame(read); !wrong.empty()) return wrong;
  const Seen first = See(read);
  std::string json;
  const absl::Status status = Written<ObjectWriter>(read, json, ObjectFormat::kJsonList);
  // A pod with a constraint that ebb does not know cannot be written as text.
  if (absl::IsUnimplemented(status)) return "";
  if (!status.ok()) return "JSON: cannot be written: " + status.ToString();
  const Seen from_json = See([&](ObjectSink& sink, ImportStats& stats) {
    return ReadJson("written", json, /*padded=*/false, sink, stats);
  });
  if (std::string wrong = Again("JSON", first, from_json); !wrong.empty()) return wrong;

  std::string yaml;
  if (absl::Status s = Written<ObjectWriter>(read, yaml, ObjectFormat::kYamlDocuments); !s.ok()) {
    return "YAML: cannot be written: " + s.ToString();
  }
  const Seen from_yaml = See(
      [&](ObjectSink& sink, ImportStats& stats) { return ReadYaml("written", yaml, sink, stats); });
  return Again("YAML", first, from_yaml);
}

// For any text.  Puts the text into a list between items that are long enough for the list to be
// read with several threads.
inline std::string ThreadsSeeTheSame(std::string_view text) {
  static const auto* const padding = new std::string(
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"padding"},"data":{"a":")" +
      std::string(size_t{140} << 10, 'x') + "\"}}");
  std::string list = R"({"apiVersion":"v1","kind":"List","items":[)" + *padding;
  for (int copies = 0; copies < 2; ++copies) list.append(",").append(text).append(",") += *padding;
  list += "]}";
  const auto see = [&](size_t threads) {
    const Parallelism parallelism(threads);
    return See([&](ObjectSink& sink, ImportStats& stats) {
      return ReadJson("list", list, /*padded=*/false, sink, stats, parallelism);
    });
  };
  const Seen one = see(1);
  const Seen eight = see(8);
  if (one.status != eight.status) {
    return "one thread says " + one.status.ToString() + ", eight " + eight.status.ToString();
  }
  std::string difference = FirstDifference(one.lines, eight.lines);
  if (difference.empty()) difference = FirstDifference(one.ignored, eight.ignored);
  if (difference.empty()) difference = FirstDifference(one.lists, eight.lists);
  return difference.empty() ? "" : "one thread and eight see otherwise:\n" + difference;
}

// Parses all documents of a text; returns false if nlohmann's parser rejects it.
inline bool Documents(std::string_view text, std::vector<Json>& documents) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::istringstream stream{std::string(text)};
  while (stream >> std::ws, stream.peek() != std::char_traits<char>::eof()) {
    try {
      stream >> documents.emplace_back();
    } catch (const Json::exception&) {
      return false;
    }
  }
  return true;
}

// The number of objects in a document, counted by the rules of read_json.h: the objects in lists,
// in arrays and in debugging snapshots, else the document itself.  An item of a list is itself a
// list only if its kind says so.
inline uint64_t ObjectsIn(const Json& value, bool in_list = false) {
  const auto in_all = [](const Json& array) {
    uint64_t objects = 0;
    for (const Json& each : array) objects += ObjectsIn(each, true);
    return objects;
  };
  if (value.is_array()) return in_all(value);
  const auto member = [&](const char* key) {
    const auto it = value.find(key);
    return it == value.end() ? Json() : *it;
  };
  // Custom resources are not lists, whatever their fields are called.
  if (const Json version = member("apiVersion"); version.is_string()) {
    const std::string group =
        version.get<std::string>().substr(0, version.get<std::string>().find('/'));
    if (group.find('.') != std::string::npos && !group.ends_with(".k8s.io")) return 1;
  }
  const Json kind = member("kind");
  const bool typed = kind.is_string() && kind.get<std::string>().ends_with("List");
  if (in_list && !typed) return 1;
  uint64_t objects = 0;
  bool shell = false;
  if (const Json nodes = member("NodeList"); nodes.is_array()) {
    shell = true;
    for (const Json& each : nodes) {
      objects += each.contains("Node") && !each["Node"].is_null() ? 1 : 0;
      if (each.contains("Pods")) objects += each["Pods"].size();
    }
  }
  if (const Json pods = member("UnscheduledPodsCanBeScheduled"); pods.is_array()) {
    shell = true;
    objects += pods.size();
  }
  if (const Json items = member("items"); items.is_array()) {
    shell = true;
    objects += in_all(items);
  } else if (typed && value.contains("items") && items.is_null()) {
    shell = true;
  }
  return shell ? objects : 1;
}

inline void Emit(const Json& value, YAML::Emitter& out) {
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, each] : value.items()) {
      out << YAML::Key << YAML::DoubleQuoted << key << YAML::Value;
      Emit(each, out);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    out << YAML::BeginSeq;
    for (const Json& each : value) Emit(each, out);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    out << YAML::DoubleQuoted << value.get<std::string>();
  } else if (value.is_null()) {
    out << YAML::Null;
  } else {
    out << value.dump();
  }
}

// Whether JSON and YAML are certain to hold the same values.  They may differ in a number with a
// fraction, whose text is not preserved, and in the characters that Unicode reserves, which
// yaml-cpp replaces.  And YAML with `items` that no kind follows is rejected as truncated.
inline bool IsPlain(const Json& value) {
  const auto plain = [](std::string_view text) {
    return text.find("\xef\xb7") == std::string_view::npos &&
           text.find("\xbf\xbe") == std::string_view::npos &&
           text.find("\xbf\xbf") == std::string_view::npos;
  };
  if (value.is_number_float()) return false;
  if (value.is_string()) return plain(value.get_ref<const std::string&>());
  if (value.is_object()) {
    bool open = false;
    for (const auto& [key, each] : value.items()) {
      if (key == "items" || key == "kind") open = key == "items" || !each.is_string();
    }
    if (open) return false;
    for (const auto& [key, each] : value.items()) {
      if (!plain(key) || !IsPlain(each)) return false;
    }
  }
  return !value.is_array() || std::ranges::all_of(value, IsPlain);
}

// REQUIRES: `text` is JSON that was read into `first` without an error.
inline std::string OthersAgree(std::string_view text, const Seen& first) {
  std::vector<Json> documents;
  if (!Documents(text, documents)) return "";
  uint64_t objects = 0;
  for (const Json& document : documents) objects += ObjectsIn(document);
  const uint64_t seen = first.lines.size() + first.ignored.size();
  // The reader does not decide by an apiVersion that contains escapes.
  if (objects != seen && text.find('\\') == std::string_view::npos) {
    return std::to_string(seen) + " objects were read, and there are " + std::to_string(objects);
  }

  YAML::Emitter out;
  out << YAML::EscapeNonAscii;
  for (const Json& document : documents) {
    if (!IsPlain(document)) return "";
    out << YAML::BeginDoc;
    Emit(document, out);
  }
  const std::string yaml = out.c_str();
  return Again("yaml-cpp's YAML", first, See([&](ObjectSink& sink, ImportStats& stats) {
                 return ReadYaml("written", yaml, sink, stats);
               }));
}

inline void Hold(const std::string& wrong) {
  if (wrong.empty()) return;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}

}  // namespace ebb::fuzz

#endif  // EBB_FUZZ_PROPERTIES_H_
