#include "what_if/pod_usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/numbers.h"
#include "base/printable.h"
#include "base/text.h"
#include "platform/settings_file.h"
#include "snapshot/objects/quantity.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

std::string MemberText(const Json& map, const char* key) {
  const auto found = map.is_object() ? map.find(key) : map.end();
  return map.is_object() && found != map.end() && found->is_string() ? found->get<std::string>()
                                                                     : "";
}

const Json& MemberList(const Json& map, const char* key) {
  static const auto* const kNone = new Json(Json::array());
  const auto found = map.is_object() ? map.find(key) : map.end();
  return map.is_object() && found != map.end() && found->is_array() ? *found : *kNone;
}

// Reads the usage of a container of the metrics API.  Returns what is wrong, or "".
std::string ReadUsage(const Json& container, PodUsage::Samples& to) {
  const auto usage = container.is_object() ? container.find("usage") : container.end();
  if (!container.is_object() || usage == container.end()) return "usage: is required";
  for (const char* const resource : {"cpu", "memory"}) {
    const bool is_cpu = resource[0] == 'c';
    const std::string text = MemberText(*usage, resource);
    if (text.empty()) continue;
    const absl::StatusOr<int64_t> amount =
        ParseQuantity(text, is_cpu ? QuantityUnit::kMilli : QuantityUnit::kWhole);
    if (!amount.ok() || *amount < 0) {
      return fmt::format("usage.{}: \"{}\" is not a quantity of 0 or more", resource,
                         Printable(text));
    }
    (is_cpu ? to.cpu : to.memory).push_back(static_cast<double>(*amount) / (is_cpu ? 1000 : 1));
  }
  return "";
}

// [1435781451.781, "1"]; nullopt: it is not a sample.  NaN is no usage.
std::optional<double> SampleOf(const Json& pair) {
  double value = 0;
  if (!pair.is_array() || pair.size() != 2 || !pair[1].is_string()) return std::nullopt;
  const auto& text = pair[1].get_ref<const std::string&>();
  if (text.find_first_of("xX") != std::string::npos) return std::nullopt;
  if (!absl::SimpleAtod(text, &value)) return std::nullopt;
  return value;
}

std::string ResourceOf(const Json& labels, std::string_view otherwise) {
  for (const char* const label : {"resource", "__name__"}) {
    const std::string text = MemberText(labels, label);
    if (text.find("memory") != std::string::npos) return "memory";
    if (text.find("cpu") != std::string::npos) return "cpu";
  }
  return std::string(otherwise);
}

}  // namespace

absl::Status PodUsage::Read(const std::string& file, const std::string& json,
                            std::string_view resource) {
  const Json root = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded()) return BadSetting(file, "", "is not JSON");
  size_t number = 0;
  if (MemberText(root, "kind") == "PodMetricsList") {
    for (const Json& item : MemberList(root, "items")) {
      const std::string where = fmt::format("items[{}]", number++);
      const Json metadata = item.is_object() ? item.value("metadata", Json()) : Json();
      const std::string name = MemberText(metadata, "name");
      if (name.empty()) return BadSetting(file, where + ".metadata.name", "is required");
      Containers& pod = pods_[fmt::format("{}/{}", MemberText(metadata, "namespace"), name)];
      for (const Json& container : MemberList(item, "containers")) {
        const std::string wrong = ReadUsage(container, pod[MemberText(container, "name")]);
        if (!wrong.empty()) return BadSetting(file, where + ".containers", wrong);
      }
    }
    return absl::OkStatus();
  }
  const std::string status = MemberText(root, "status");
  if (status.empty()) {
    return BadSetting(file, "",
                      "is neither a PodMetricsList nor an answer of Prometheus' query or "
                      "query_range");
  }
  if (status != "success") {
    return BadSetting(
        file, "status",
        fmt::format("Prometheus reports an error: {}", PrintableLine(MemberText(root, "error"))));
  }
  const Json data = root.value("data", Json());
  const std::string type = MemberText(data, "resultType");
  if (type != "matrix" && type != "vector") {
    return BadSetting(file, "data.resultType",
                      fmt::format("\"{}\" is not matrix or vector", Printable(type)));
  }
  for (const Json& series : MemberList(data, "result")) {
    const std::string where = fmt::format("data.result[{}]", number++);
    const Json labels = series.is_object() ? series.value("metric", Json()) : Json();
    const std::string pod = MemberText(labels, "pod");
    const std::string namespace_name = MemberText(labels, "namespace");
    const std::string container = MemberText(labels, "container");
    if (pod.empty() || namespace_name.empty() || container.empty() || container == "POD") {
      ++unlabelled_;
      continue;
    }
    const std::string about = ResourceOf(labels, resource);
    if (about.empty()) {
      return BadSetting(file, where + ".metric",
                        "does not say whether it is cpu or memory; pass the file as cpu=FILE or "
                        "memory=FILE");
    }
    Samples& samples = pods_[fmt::format("{}/{}", namespace_name, pod)][container];
    const Json one = Json::array({series.value("value", Json())});
    for (const Json& pair : type == "vector" ? one : MemberList(series, "values")) {
      const std::optional<double> sample = SampleOf(pair);
      if (!sample || *sample < 0 || std::isinf(*sample)) {
        return BadSetting(file, where, "has a sample that is not a number of 0 or more");
      }
      if (std::isnan(*sample)) continue;
      (about == "cpu" ? samples.cpu : samples.memory).push_back(*sample);
    }
  }
  return absl::OkStatus();
}

double PercentileOf(std::vector<double> samples, double percentile) {
  const auto rank =
      static_cast<size_t>(std::ceil(percentile / 100 * static_cast<double>(samples.size())));
  const size_t place = rank == 0 ? 0 : std::min(rank, samples.size()) - 1;
  std::ranges::nth_element(samples, samples.begin() + static_cast<ptrdiff_t>(place));
  return samples[place];
}

}  // namespace ebb
