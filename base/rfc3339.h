// Times as Kubernetes writes them (metav1.Time: RFC 3339, "2026-01-02T03:04:05Z").

#ifndef EBB_BASE_RFC3339_H_
#define EBB_BASE_RFC3339_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ebb {

// Seconds since the Unix epoch; a fraction of a second is dropped.  Accepts "Z" and offsets
// ("+02:00"); returns nullopt for anything else, including a leap second, as Go does.
std::optional<int64_t> ParseRfc3339(std::string_view text);

// "2026-01-02T03:04:05Z".  REQUIRES: the time is within the years 0 to 9999.
std::string FormatRfc3339(int64_t seconds);

}  // namespace ebb

#endif  // EBB_BASE_RFC3339_H_
