#include "sizing/prometheus.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <cmath>

#include "absl/strings/numbers.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "sizing/http_client.h"

namespace ebb {
namespace {

constexpr int64_t kAheadSecondsMax = 300;  // The clocks of two machines may differ by this much.

absl::Status BadAnswer(std::string_view query, std::string_view what) {
  return absl::InvalidArgumentError(
      fmt::format("Prometheus, query \"{}\": {}", Printable(query), what));
}

// [1435781451.781, "1"]
bool ReadSample(const simdjson::dom::element& from, PolicySignal& signal) {
  simdjson::dom::array pair;
  if (from.get_array().get(pair) || pair.size() != 2) return false;
  double at_s = 0;
  std::string_view text;
  if (pair.at(0).get_double().get(at_s) || pair.at(1).get_string().get(text)) return false;
  if (!(at_s >= 0 && at_s < 2.5e11)) return false;
  signal.at_s = static_cast<int64_t>(std::floor(at_s));
  // SimpleAtod accepts hexadecimal numbers, which Prometheus never writes.
  return text.find_first_of("xX") == text.npos && absl::SimpleAtod(Absl(text), &signal.value);
}

}  // namespace

absl::StatusOr<PolicySignal> ReadPrometheusAnswer(std::string_view query, std::string_view body) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(body);
  simdjson::dom::element root;
  std::string_view status;
  if (parser.parse(padded).get(root) || root["status"].get_string().get(status)) {
    return BadAnswer(query, "it is not an answer of Prometheus");
  }
  if (status != "success") {
    std::string_view why;
    if (root["error"].get_string().get(why)) why = "it reports an error without a message";
    return absl::FailedPreconditionError(
        fmt::format("Prometheus, query \"{}\": {}", Printable(query), PrintableLine(why)));
  }
  std::string_view type;
  simdjson::dom::element result;
  if (root["data"]["resultType"].get_string().get(type) || root["data"]["result"].get(result)) {
    return BadAnswer(query, "the answer has no result");
  }
  PolicySignal signal;
  if (type == "scalar") {
    if (!ReadSample(result, signal)) return BadAnswer(query, "its scalar is not a number");
    return signal;
  }
  simdjson::dom::array rows;
  if (type != "vector" || result.get_array().get(rows)) {
    return BadAnswer(query, fmt::format("its result is a {}, not one number", Printable(type)));
  }
  if (rows.size() != 1) {
    return BadAnswer(query, fmt::format("it gives {} numbers, not one", rows.size()));
  }
  simdjson::dom::element value;
  if (rows.at(0)["value"].get(value) || !ReadSample(value, signal)) {
    return BadAnswer(query, "its value is not a number");
  }
  return signal;
}

absl::StatusOr<PolicySignal> QueryPrometheus(const PrometheusSettings& settings,
                                             const std::string& query, int64_t now_s) {
  absl::StatusOr<HttpAddress> address = ParseHttpAddress(settings.url);
  if (!address.ok()) return address.status();
  while (address->path.ends_with('/')) address->path.pop_back();
  address->path += "/api/v1/query";
  const absl::StatusOr<std::string> body =
      HttpGet(*address, {{"query", query}, {"time", std::to_string(now_s)}}, settings.timeout_s);
  if (!body.ok()) {
    return absl::Status(body.status().code(), fmt::format("query \"{}\": {}", Printable(query),
                                                          std::string(body.status().message())));
  }
  absl::StatusOr<PolicySignal> signal = ReadPrometheusAnswer(query, *body);
  if (signal.ok() && signal->at_s > now_s + kAheadSecondsMax) {
    return BadAnswer(query,
                     fmt::format("its value has the time {}, which is in the future; one of the "
                                 "clocks is wrong",
                                 FormatRfc3339(*signal->at_s)));
  }
  return signal;
}

absl::StatusOr<std::map<std::string, PolicySignal, std::less<>>> QuerySignals(
    const PrometheusSettings& settings, const SizedPool& pool, int64_t now_s) {
  std::map<std::string, PolicySignal, std::less<>> signals;
  for (const auto& [name, query] : pool.queries) {
    const absl::StatusOr<PolicySignal> signal = QueryPrometheus(settings, query, now_s);
    if (!signal.ok()) {
      return absl::Status(signal.status().code(),
                          fmt::format("pool {}, signal {}: {}", pool.name, name,
                                      std::string(signal.status().message())));
    }
    signals.emplace(name, *signal);
  }
  return signals;
}

}  // namespace ebb
