#include "snapshot/objects/kubernetes_version.h"

#include <charconv>
#include <system_error>
#include <utility>

namespace ebb {
namespace {

// Removes a number from the start of `text` and returns it.
std::optional<int> TakeNumber(std::string_view& text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(stop - text.data()));
  return number;
}

}  // namespace

std::string_view ToString(KubernetesVersion version) {
  return version == KubernetesVersion::k137 ? "1.37" : "1.36";
}

std::optional<KubernetesVersion> ParseKubernetesVersion(std::string_view text) {
  for (const KubernetesVersion version : {KubernetesVersion::k136, KubernetesVersion::k137}) {
    if (text == ToString(version)) return version;
  }
  return std::nullopt;
}

std::optional<KubernetesVersion> KubernetesVersionOf(std::string_view git_version) {
  if (git_version.starts_with('v')) git_version.remove_prefix(1);
  const std::optional<int> major = TakeNumber(git_version);
  if (!major || !git_version.starts_with('.')) return std::nullopt;
  git_version.remove_prefix(1);
  const std::optional<int> minor = TakeNumber(git_version);
  if (!minor) return std::nullopt;
  return std::pair(*major, *minor) >= std::pair(1, 37) ? KubernetesVersion::k137
                                                       : KubernetesVersion::k136;
}

}  // namespace ebb
