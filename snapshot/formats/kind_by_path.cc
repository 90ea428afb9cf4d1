#include "snapshot/formats/kind_by_path.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "base/text.h"
#include "snapshot/formats/json_scan.h"

namespace ebb {
namespace {

// A kind, and what files and folders call it other than its name and plural.
struct NamedKind {
  KindOfFile kind;
  std::string_view short_name = {};
};

constexpr bool kIsNamespaced = true;
constexpr bool kIsRead = true;
constexpr auto kNamedKinds = std::to_array<NamedKind>({
    {{"v1", "Pod", kIsNamespaced, kIsRead}, "po"},
    {{"v1", "Node", !kIsNamespaced, kIsRead}, "no"},
    {{"policy/v1", "PodDisruptionBudget", kIsNamespaced, kIsRead}, "pdb"},
    {{"apps/v1", "ReplicaSet", kIsNamespaced, kIsRead}, "rs"},
    {{"apps/v1", "StatefulSet", kIsNamespaced, kIsRead}, "sts"},
    {{"apps/v1", "DaemonSet", kIsNamespaced, kIsRead}, "ds"},
    {{"batch/v1", "Job", kIsNamespaced, kIsRead}},
    {{"v1", "ReplicationController", kIsNamespaced, kIsRead}, "rc"},
    {{"v1", "Namespace", !kIsNamespaced, kIsRead}},
    {{"v1", "Service", kIsNamespaced, kIsRead}, "svc"},
    {{"v1", "PersistentVolume", !kIsNamespaced, kIsRead}, "pv"},
    {{"v1", "PersistentVolumeClaim", kIsNamespaced, kIsRead}, "pvc"},
    {{"storage.k8s.io/v1", "StorageClass", !kIsNamespaced, kIsRead}, "sc"},
    {{"storage.k8s.io/v1", "CSINode", !kIsNamespaced, kIsRead}},
    {{"storage.k8s.io/v1", "CSIDriver", !kIsNamespaced, kIsRead}},
    {{"storage.k8s.io/v1", "VolumeAttachment", !kIsNamespaced, kIsRead}},
    {{"storage.k8s.io/v1", "CSIStorageCapacity", kIsNamespaced, kIsRead}},
    // Known, but skipped.
    {{"apps/v1", "Deployment", kIsNamespaced}},
    {{"apps/v1", "ControllerRevision", kIsNamespaced}},
    {{"batch/v1", "CronJob", kIsNamespaced}},
    {{"v1", "ServiceAccount", kIsNamespaced}},
    {{"v1", "Endpoints", kIsNamespaced}},
    {{"v1", "ConfigMap", kIsNamespaced}},
    {{"v1", "Secret", kIsNamespaced}},
    {{"v1", "Event", kIsNamespaced}},
    {{"v1", "LimitRange", kIsNamespaced}},
    {{"v1", "ResourceQuota", kIsNamespaced}},
    {{"v1", "PodTemplate", kIsNamespaced}},
    {{"discovery.k8s.io/v1", "EndpointSlice", kIsNamespaced}},
    {{"coordination.k8s.io/v1", "Lease", kIsNamespaced}},
    {{"networking.k8s.io/v1", "Ingress", kIsNamespaced}},
    {{"networking.k8s.io/v1", "IngressClass", !kIsNamespaced}},
    {{"networking.k8s.io/v1", "NetworkPolicy", kIsNamespaced}},
    {{"rbac.authorization.k8s.io/v1", "Role", kIsNamespaced}},
    {{"rbac.authorization.k8s.io/v1", "RoleBinding", kIsNamespaced}},
    {{"rbac.authorization.k8s.io/v1", "ClusterRole", !kIsNamespaced}},
    {{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", !kIsNamespaced}},
    {{"scheduling.k8s.io/v1", "PriorityClass", !kIsNamespaced}},
    {{"autoscaling/v2", "HorizontalPodAutoscaler", kIsNamespaced}, "hpa"},
    {{"apiextensions.k8s.io/v1", "CustomResourceDefinition", !kIsNamespaced}, "crd"},
    {{"certificates.k8s.io/v1", "CertificateSigningRequest", !kIsNamespaced}, "csr"},
    {{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", !kIsNamespaced}},
    {{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", !kIsNamespaced}},
});

// "pod-disruption-budgets" -> "poddisruptionbudgets", "Pods" -> "pods".
std::string PathWord(std::string_view part) {
  std::string word;
  for (const char c : part) {
    if (c != '-') word += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return word;
}

std::string PluralOf(std::string_view word) {
  std::string plural(word);
  if (plural.ends_with('s')) return plural + "es";
  if (plural.ends_with('y')) return plural.replace(plural.size() - 1, 1, "ies");
  return plural + "s";
}

bool IsNameOf(std::string_view word, const NamedKind& named) {
  const std::string kind = PathWord(named.kind.kind);
  const std::string_view short_name = named.short_name;
  return word == kind || word == PluralOf(kind) ||
         (!short_name.empty() && (word == short_name || word == PluralOf(short_name)));
}

KindOfFile KindOfWord(std::string_view part) {
  const std::string word = PathWord(part);
  const auto* const found = std::ranges::find_if(
      kNamedKinds, [&](const NamedKind& named) { return IsNameOf(word, named); });
  return found == kNamedKinds.end() ? KindOfFile{} : found->kind;
}

// "v1", "v1beta2", ...
bool IsApiVersion(std::string_view text) {
  return text.size() > 1 && text[0] == 'v' && absl::ascii_isdigit(text[1]) &&
         std::ranges::all_of(text, [](unsigned char c) { return absl::ascii_isalnum(c); });
}

// sonobuoy's GROUP_VERSION_RESOURCE; `matches` is false where the name has another form.
struct QueryName {
  std::string_view group;
  std::string_view resource;
  bool matches = false;
};
QueryName QueryNameOf(std::string_view base) {
  const size_t last = base.rfind('_');
  if (last == base.npos || last == 0) return {};
  const size_t before = base.rfind('_', last - 1);
  if (before == base.npos) return {};
  const std::string_view version = base.substr(before + 1, last - before - 1);
  if (!IsApiVersion(version)) return {};
  return {base.substr(0, before), base.substr(last + 1), true};
}

// Checks the group, as another group may have a resource of that name: metrics.k8s.io has pods.
KindOfFile KindOfQuery(const QueryName& query) {
  const KindOfFile kind = KindOfWord(query.resource);
  const size_t slash = kind.api_version.find('/');
  const std::string_view group =
      slash == std::string_view::npos ? "core" : kind.api_version.substr(0, slash);
  return group == query.group ? kind : KindOfFile{};
}

std::string_view WithoutEndings(std::string_view name) {
  for (const std::string_view ending : {".gz", ".json", ".yaml", ".yml"}) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  return name;
}

// The last three parts of a path, starting with the last.
std::array<std::string_view, 3> LastParts(std::string_view path) {
  std::array<std::string_view, 3> parts;
  path = WithoutEndings(path);
  for (std::string_view& part : parts) {
    const size_t slash = path.rfind('/');
    part = slash == path.npos ? path : path.substr(slash + 1);
    path = slash == path.npos ? std::string_view() : path.substr(0, slash);
  }
  return parts;
}

// The parts of an object that show which kinds it can have.
struct KindContent {
  std::string_view name;
  std::string_view namespace_name;
  bool metadata = false;
  bool containers = false;    // spec.containers
  bool pod_template = false;  // spec.template
  bool says_kind = false;
};

std::string_view QuotedText(std::string_view value) {
  return value.size() >= 2 && value[0] == '"' ? value.substr(1, value.size() - 2) : "";
}

KindContent ContentOfObject(std::string_view object) {
  KindContent content;
  const bool read =
      json_scan::ForEachMember(object, [&](std::string_view key, std::string_view value) {
        content.says_kind |= key == "kind" && !QuotedText(value).empty();
        if (key == "metadata") {
          content.metadata = value[0] == '{';
          json_scan::ForEachMember(value, [&](std::string_view member, std::string_view text) {
            if (member == "name") content.name = QuotedText(text);
            if (member == "namespace") content.namespace_name = QuotedText(text);
          });
        }
        if (key == "spec") {
          json_scan::ForEachMember(value, [&](std::string_view member, std::string_view text) {
            content.containers |= member == "containers" && text[0] == '[';
            content.pod_template |= member == "template" && text[0] == '{';
          });
        }
      });
  return read ? content : KindContent{};
}

bool CanBe(const KindContent& content, const KindOfFile& kind) {
  if (kind.kind.empty() || content.namespace_name.empty() == kind.namespaced) return false;
  static constexpr auto kWithTemplate = std::to_array<std::string_view>(
      {"ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController"});
  if ((kind.kind == "Pod") != content.containers) return false;
  return content.pod_template || std::ranges::find(kWithTemplate, kind.kind) == kWithTemplate.end();
}

}  // namespace

KindOfFile KindByName(std::string_view path) {
  const std::string_view base = LastParts(path)[0];
  const QueryName query = QueryNameOf(base);
  return query.matches ? KindOfQuery(query) : KindOfWord(base);
}

KindOfFile KindByPath(std::string_view path, std::string_view object, bool in_list) {
  const KindContent content = ContentOfObject(object);
  if (!content.metadata || content.name.empty() || content.says_kind) return {};
  const auto [base, parent, above] = LastParts(path);
  KindOfFile kind;
  if (in_list || base != content.name) {
    kind = KindByName(path);
    if (QueryNameOf(base).matches) return CanBe(content, kind) ? kind : KindOfFile{};
  }
  if (CanBe(content, kind)) return kind;
  const bool is_own = parent == content.namespace_name || parent == content.name;
  kind = KindOfWord(is_own && !in_list ? above : parent);
  return CanBe(content, kind) ? kind : KindOfFile{};
}

}  // namespace ebb
