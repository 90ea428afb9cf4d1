// Settings of a file of pools besides the pools: where notices are sent, and where Prometheus is.

#ifndef EBB_SIZING_SIZING_SETTINGS_H_
#define EBB_SIZING_SIZING_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ebb {

struct NotifierSettings {
  enum class Kind : uint8_t { kLog, kWebhook, kExec };
  Kind kind = Kind::kLog;
  std::string url{};                   // kWebhook.
  std::vector<std::string> command{};  // kExec: a program and its arguments.
  int64_t retries = 3;                 // kWebhook only: after the first try.
  int64_t timeout_s = 10;              // For one try.
  bool operator==(const NotifierSettings&) const = default;
};

struct PrometheusSettings {
  std::string url{};  // Empty: no Prometheus.
  int64_t timeout_s = 10;
  bool operator==(const PrometheusSettings&) const = default;
};

}  // namespace ebb

#endif  // EBB_SIZING_SIZING_SETTINGS_H_
