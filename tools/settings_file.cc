#include "tools/settings_file.h"

#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "snapshot/text.h"
#include "tools/cli.h"

namespace ebb {
namespace {

template <typename T>
std::optional<T> As(const YAML::Node& value) {
  T result;
  if (!value.IsScalar() || !YAML::convert<T>::decode(value, result)) return std::nullopt;
  return result;
}

}  // namespace

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": ", std::strerror(errno)));
  return std::move(text).str();
}

absl::Status ParseSettings(const std::string& file, const std::string& yaml,
                           absl::FunctionRef<absl::Status(const YAML::Node& root)> parse) {
  try {
    return parse(YAML::Load(yaml));
  } catch (const YAML::Exception& e) {
    return BadSetting(file, absl::StrCat("line ", e.mark.line + 1), e.msg);
  }
}

absl::Status BadSetting(std::string_view file, std::string_view where, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(Absl(file), ": ", Absl(where), where.empty() ? "" : ": ", Absl(what)));
}

std::string NoSuchField(const std::string& field, const std::vector<std::string>& known) {
  const std::string nearest = Nearest(field, known);
  return nearest.empty() ? "no such field" : "no such field; did you mean " + nearest + "?";
}

std::string Quoted(const YAML::Node& value) {
  return value.IsScalar() ? absl::StrCat("\"", value.Scalar(), "\"") : "this";
}

std::optional<int64_t> AsInteger(const YAML::Node& value) { return As<int64_t>(value); }
std::optional<double> AsReal(const YAML::Node& value) { return As<double>(value); }

std::string ReadName(const YAML::Node& value, std::string& name) {
  if (!value.IsScalar() || value.Scalar().empty()) return "is not a name";
  name = value.Scalar();
  return "";
}

std::string ReadBool(const YAML::Node& value, bool& is) {
  const std::optional<bool> read = As<bool>(value);
  if (!read) return Quoted(value) + " is neither true nor false";
  is = *read;
  return "";
}

absl::Status VisitFields(
    const std::string& file, const std::string& where, const YAML::Node& node,
    absl::FunctionRef<std::string(const std::string& name, const YAML::Node& value)> read) {
  if (!node.IsMap()) return BadSetting(file, where, "is not a map");
  for (const auto& field : node) {
    if (!field.first.IsScalar()) return BadSetting(file, where, "a field's name is not a scalar");
    const std::string& name = field.first.Scalar();
    const std::string wrong = read(name, field.second);
    if (!wrong.empty()) return BadSetting(file, absl::StrCat(where, ".", name), wrong);
  }
  return absl::OkStatus();
}

}  // namespace ebb
