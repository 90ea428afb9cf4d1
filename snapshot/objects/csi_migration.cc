#include "snapshot/objects/csi_migration.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "snapshot/objects/well_known_names.h"

namespace ebb {
namespace {

using objects::Text;

constexpr InTreePlugin kPlugins[] = {
    {"awsElasticBlockStore", "kubernetes.io/aws-ebs", "ebs.csi.aws.com",
     "topology.ebs.csi.aws.com/zone"},
    {"gcePersistentDisk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"},
    {"azureDisk", "kubernetes.io/azure-disk", "disk.csi.azure.com", ""},
    {"cinder", "kubernetes.io/cinder", "cinder.csi.openstack.org",
     "topology.cinder.csi.openstack.org/zone"},
    {"portworxVolume", "kubernetes.io/portworx-volume", "pxd.portworx.com", ""},
};

constexpr Text kZoneDelimiter = "__";

std::optional<Text> Find(const objects::KeyValues& map, Text key) {
  std::optional<Text> found;
  for (const auto& [k, value] : map) {
    if (k == key) found = value;
  }
  return found;
}

std::vector<Text> Split(Text text, Text delimiter) {
  std::vector<Text> parts;
  for (size_t at; (at = text.find(delimiter)) != Text::npos;) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + delimiter.size());
  }
  parts.push_back(text);
  return parts;
}

Text Trimmed(Text text, Text what) {
  const size_t begin = text.find_first_not_of(what);
  if (begin == Text::npos) return {};
  return text.substr(begin, text.find_last_not_of(what) - begin + 1);
}

// "aws://zone/vol-1" and "aws:///vol-1" mean "vol-1"; any other text is returned unchanged.
absl::StatusOr<std::string> AwsVolumeId(Text id) {
  constexpr Text kScheme = "aws://";
  if (!id.starts_with(kScheme)) return std::string(id);
  const Text rest = id.substr(kScheme.size());
  const size_t slash = rest.find('/');
  Text path = slash == Text::npos ? Text() : rest.substr(slash);
  path = Trimmed(path.substr(0, path.find_first_of("?#")), "/");
  if (!path.starts_with("vol-") || path.find('/') != Text::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS "
                     "volume (",
                     Absl(id), ")"));
  }
  return std::string(path);
}

// "us-central1" for "us-central1-a" and "us-central1-b".
absl::StatusOr<std::string> GceRegion(const std::vector<Text>& zones) {
  std::set<std::string> regions;
  for (const Text zone : zones) {
    const std::vector<Text> parts = Split(zone, "-");
    if (parts.size() != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("failed to get region from zones: zone in unexpected format, expected: "
                       "{locale}-{region}-{zone}, got: ",
                       Absl(zone)));
    }
    regions.insert(absl::StrCat(Absl(parts[0]), "-", Absl(parts[1])));
  }
  if (regions.size() != 1) {
    return absl::InvalidArgumentError("failed to get region from zones: multiple regions");
  }
  return *regions.begin();
}

std::string GceHandle(Text kind, Text place, Text disk) {
  return absl::StrCat("projects/UNSPECIFIED/", Absl(kind), "/", Absl(place), "/disks/", Absl(disk));
}

absl::StatusOr<std::string> GceHandle(const objects::PersistentVolume& volume) {
  Text label = Find(volume.meta.labels, kBetaZoneLabel).value_or("");
  if (label.empty()) label = Find(volume.meta.labels, kZoneLabel).value_or("");
  if (label.empty()) return GceHandle("zones", "UNSPECIFIED", volume.id);
  const std::vector<Text> zones = Split(label, kZoneDelimiter);
  if (zones.size() == 1) return GceHandle("zones", zones[0], volume.id);
  const absl::StatusOr<std::string> region = GceRegion(zones);
  if (!region.ok()) return region.status();
  return GceHandle("regions", *region, volume.id);
}

bool HasKey(const objects::NodeSelector& affinity, Text key) {
  for (const objects::NodeSelectorTerm& term : affinity.terms) {
    for (const objects::Requirement& requirement : term.match_expressions) {
      if (requirement.key == key) return true;
    }
  }
  return false;
}

bool HasValuesFor(const objects::NodeSelector& affinity, Text key) {
  for (const objects::NodeSelectorTerm& term : affinity.terms) {
    for (const objects::Requirement& requirement : term.match_expressions) {
      if (requirement.key == key && !requirement.values.empty()) return true;
    }
  }
  return false;
}

void ReplaceKey(objects::NodeSelector& affinity, Text old_key, Text new_key) {
  for (objects::NodeSelectorTerm& term : affinity.terms) {
    for (objects::Requirement& requirement : term.match_expressions) {
      if (requirement.key == old_key) requirement.key = new_key;
    }
  }
}

// Adds a requirement to every term: the label `key` names one of the zones.
void AddZones(objects::NodeSelector& affinity, Text key, Text zones_label) {
  objects::Requirement requirement{.key = key, .op = "In", .values = {}};
  for (const Text zone : Split(zones_label, kZoneDelimiter)) {
    const Text trimmed = Trimmed(zone, " \t\n\v\f\r");
    if (!trimmed.empty()) requirement.values.push_back(trimmed);
  }
  if (requirement.values.empty()) return;
  affinity.nil = false;
  if (affinity.terms.empty()) affinity.terms.emplace_back();
  for (objects::NodeSelectorTerm& term : affinity.terms) {
    term.match_expressions.push_back(requirement);
  }
}

// Whether the volume names zones by their beta label.  Its affinity has precedence over its labels.
bool UsesBetaLabels(const objects::PersistentVolume& volume) {
  if (HasKey(volume.required_node_affinity, kZoneLabel)) return false;
  if (HasKey(volume.required_node_affinity, kBetaZoneLabel)) return true;
  return !Find(volume.meta.labels, kZoneLabel) &&
         Find(volume.meta.labels, kBetaZoneLabel).has_value();
}

}  // namespace

const InTreePlugin* InTreePluginOfSource(std::string_view source) {
  for (const InTreePlugin& plugin : kPlugins) {
    if (plugin.source == source) return &plugin;
  }
  return nullptr;
}

const InTreePlugin* InTreePluginNamed(std::string_view name) {
  for (const InTreePlugin& plugin : kPlugins) {
    if (plugin.name == name) return &plugin;
  }
  return nullptr;
}

bool IsUncountedPlugin(std::string_view provisioner) {
  return provisioner == "kubernetes.io/azure-file" || provisioner == "kubernetes.io/vsphere-volume";
}

absl::StatusOr<std::string> CsiHandle(const objects::Volume& volume) {
  EBB_DCHECK(InTreePluginOfSource(volume.source) != nullptr);
  if (volume.source == "awsElasticBlockStore") return AwsVolumeId(volume.id);
  if (volume.source == "gcePersistentDisk") return GceHandle("zones", "UNSPECIFIED", volume.id);
  return std::string(volume.id);
}

absl::StatusOr<std::string> CsiHandle(const objects::PersistentVolume& volume) {
  EBB_DCHECK(InTreePluginOfSource(volume.source) != nullptr);
  if (volume.source == "awsElasticBlockStore") return AwsVolumeId(volume.id);
  if (volume.source == "gcePersistentDisk") return GceHandle(volume);
  if (volume.source == "azureDisk" && !volume.disk_kind.empty() &&
      !absl::EqualsIgnoreCase(Absl(volume.disk_kind), "managed")) {
    return absl::InvalidArgumentError(
        absl::StrCat("kind(", Absl(volume.disk_kind), ") is not supported in csi migration"));
  }
  return std::string(volume.id);
}

objects::NodeSelector CsiNodeAffinity(const objects::PersistentVolume& volume,
                                      const InTreePlugin& plugin) {
  objects::NodeSelector affinity = volume.required_node_affinity;
  if (plugin.topology_key.empty()) return affinity;
  const bool beta = UsesBetaLabels(volume);
  const Text zone_key = beta ? kBetaZoneLabel : kZoneLabel;
  if (HasValuesFor(affinity, zone_key)) {
    ReplaceKey(affinity, zone_key, plugin.topology_key);
  } else if (const std::optional<Text> zones = Find(volume.meta.labels, zone_key)) {
    AddZones(affinity, plugin.topology_key, *zones);
  }
  if (beta && HasValuesFor(affinity, kBetaRegionLabel)) {
    ReplaceKey(affinity, kBetaRegionLabel, kRegionLabel);
  }
  return affinity;
}

}  // namespace ebb
