// Signals of pools from Prometheus: instant queries of its HTTP API.
//
//   absl::StatusOr<PolicySignal> cpus = QueryPrometheus(settings, "sum(cpus_requested)", now_s);
//
// A query must return one number: a scalar, or a vector of one element.  The signal has the time of
// the sample, and its user rejects it if it is too old.  NaN and infinite values are returned as
// they are, and the policies reject them.
//
// Cost:    one request.
// Errors:  those of http_client.h; FailedPrecondition: Prometheus returned an error;
//          InvalidArgument: the answer has another form, or is not one number.  Each error names
//          the query.
// Threads: calls may run concurrently.
// Source:  prometheus.io/docs, HTTP API, "Instant queries" and "Expression query result formats".

#ifndef EBB_SIZING_PROMETHEUS_H_
#define EBB_SIZING_PROMETHEUS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "sizing/policy/policy.h"
#include "sizing/policy_file.h"
#include "sizing/sizing_settings.h"

namespace ebb {

// Parses the body of an answer.
absl::StatusOr<PolicySignal> ReadPrometheusAnswer(std::string_view query, std::string_view body);

absl::StatusOr<PolicySignal> QueryPrometheus(const PrometheusSettings& settings,
                                             const std::string& query, int64_t now_s);

// All queries of a pool.
absl::StatusOr<std::map<std::string, PolicySignal, std::less<>>> QuerySignals(
    const PrometheusSettings& settings, const SizedPool& pool, int64_t now_s);

}  // namespace ebb

#endif  // EBB_SIZING_PROMETHEUS_H_
