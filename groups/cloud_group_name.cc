#include "groups/cloud_group_name.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/text.h"

namespace ebb {
namespace {

constexpr size_t kScaleSetSuffix = 6;       // "000001" of aks-pool-12345678-vmss000001.
constexpr size_t kInstanceGroupSuffix = 4;  // "x1yz" of gke-c-pool-1a2b3c4d-x1yz.
// A random number of 63 bits: only one in 65,536 has fewer digits than that.
constexpr size_t kHetznerDigitsMin = 12;
constexpr size_t kHetznerDigitsMax = 16;

std::vector<std::string> Split(std::string_view text, char at) {
  return absl::StrSplit(Absl(text), at);
}

bool IsWord(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  });
}

bool IsLowerAlphanumeric(std::string_view text) {
  return std::ranges::all_of(
      text, [](unsigned char c) { return absl::ascii_isdigit(c) || absl::ascii_islower(c); });
}

// The rest of `text` after `prefix`; nullopt: `text` does not begin with `prefix`.
std::optional<std::string_view> After(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

// .../projects/P/zones/Z/instanceGroups/NAME
std::optional<CloudGroupName> ReadInstanceGroup(std::string_view path) {
  const std::vector<std::string> parts = Split(path, '/');
  if (parts.size() < 6) return std::nullopt;
  const auto last = parts.end() - 6;
  const bool is_group = last[0] == "projects" && last[2] == "zones" &&
                        (last[4] == "instanceGroups" || last[4] == "instanceGroupManagers");
  if (!is_group || !IsWord(last[3]) || !IsWord(last[5]) || last[1].empty()) return std::nullopt;
  return CloudGroupName{.form = CloudGroupName::Form::kInstanceGroup,
                        .name = last[5],
                        .project = last[1],
                        .zone = last[3]};
}

std::optional<CloudGroupName> ReadHetzner(std::string_view text) {
  std::vector<std::string> parts = Split(text, ':');
  if (parts.size() != 3 || !std::ranges::all_of(parts, IsWord)) return std::nullopt;
  return CloudGroupName{
      .form = CloudGroupName::Form::kHetzner, .name = parts[2], .project = "", .zone = ""};
}

bool IsOfScaleSet(std::string_view name, const CloudNode& node) {
  if (!node.provider_id.empty()) {
    return absl::StrContains(
        absl::AsciiStrToLower(Absl(node.provider_id)),
        absl::StrCat("/virtualmachinescalesets/", absl::AsciiStrToLower(Absl(name)), "/"));
  }
  const auto rest = After(node.name, name);
  return name.ends_with("-vmss") && rest && rest->size() == kScaleSetSuffix &&
         IsLowerAlphanumeric(*rest);
}

bool IsOfInstanceGroup(const CloudGroupName& group, const CloudNode& node) {
  std::string_view machine = node.name;
  std::string_view zone = node.zone;
  const std::vector<std::string> id = Split(node.provider_id, '/');  // gce://PROJECT/ZONE/NAME
  if (id.size() == 5 && id[0] == "gce:") {
    if (id[2] != group.project) return false;
    zone = id[3];
    machine = id[4];
  } else if (!node.provider_id.empty()) {
    return false;
  }
  std::string_view base = group.name;
  if (base.ends_with("-grp")) base.remove_suffix(4);
  const auto rest = After(machine, absl::StrCat(Absl(base), "-"));
  return zone == group.zone && rest && rest->size() == kInstanceGroupSuffix &&
         IsLowerAlphanumeric(*rest);
}

bool IsOfHetzner(std::string_view name, const CloudNode& node) {
  const auto digits = After(node.name, absl::StrCat(Absl(name), "-"));
  return digits && digits->size() >= kHetznerDigitsMin && digits->size() <= kHetznerDigitsMax &&
         digits->find_first_not_of("0123456789abcdef") == std::string_view::npos &&
         (node.provider_id.empty() || node.provider_id.starts_with("hcloud://"));
}

}  // namespace

std::optional<CloudGroupName> ReadCloudGroupName(std::string_view text) {
  if (auto group = ReadInstanceGroup(text)) return group;
  const bool is_url = text.find("://") != std::string_view::npos;
  if (!is_url && text.find(':') != std::string_view::npos) return ReadHetzner(text);
  // A name such as karpenter.sh/nodepool=default is one of ebb's own.
  if (text.find('=') == std::string_view::npos) text.remove_prefix(text.rfind('/') + 1);
  if (text.empty() || text.find(':') != std::string_view::npos) return std::nullopt;
  return CloudGroupName{.name = std::string(text), .project = "", .zone = ""};
}

bool IsMachineOf(const CloudGroupName& group, const CloudNode& node) {
  switch (group.form) {
    case CloudGroupName::Form::kPlain:
      return IsOfScaleSet(group.name, node);
    case CloudGroupName::Form::kHetzner:
      return IsOfHetzner(group.name, node);
    case CloudGroupName::Form::kInstanceGroup:
      return IsOfInstanceGroup(group, node);
  }
  return false;
}

}  // namespace ebb
