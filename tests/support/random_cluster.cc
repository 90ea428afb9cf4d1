#include "tests/support/random_cluster.h"

#include <string_view>
#include <utility>

#include "snapshot/builder.h"
#include "snapshot/objects/quantity.h"

namespace ebb::test {
namespace {

using objects::Text;
template <size_t N>
using Texts = std::array<Text, N>;

constexpr Texts<6> kNodeNames = {"n0", "n1", "n2", "n3", "n4", "n5"};
constexpr Texts<16> kPodNames = {"p0", "p1", "p2",  "p3",  "p4",  "p5",  "p6",  "p7",
                                 "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p15"};
constexpr Texts<3> kNamespaces = {"a", "b", "c"};
constexpr Texts<3> kZones = {"x", "y", "z"};
constexpr Texts<3> kTopologyKeys = {"zone", "host", "rack"};
constexpr Texts<4> kGenerations = {"1", "5", "10", "old"};
constexpr Texts<3> kPodKeys = {"app", "tier", "version"};
constexpr Texts<2> kImages = {"web", "web:latest"};
constexpr Texts<3> kPodValues = {"1", "2", ""};
constexpr Texts<3> kTaintKeys = {"gpu", "spot", "node.kubernetes.io/unschedulable"};
constexpr Texts<3> kEffects = {"NoSchedule", "NoExecute", "PreferNoSchedule"};
// More than any node of these clusters has, up to amounts that cannot be counted.
constexpr std::array<int64_t, 5> kHugeAmounts = {int64_t{1} << 52, int64_t{1} << 60,
                                                 int64_t{1} << 62, kUncountable - 1, kUncountable};

constexpr Texts<8> kResources = {
    "cpu",   "memory", "ephemeral-storage", "nvidia.com/gpu", "hugepages-2Mi", "kubernetes.io/odd",
    "plain", "pods"};
constexpr Texts<3> kFeatures = {"VolumeBindMountOptions", "RestartAllContainersOnContainerExits",
                                "UserNamespacesHostNetworkSupport"};

// Storage.
constexpr Text kZone = "topology.kubernetes.io/zone";
constexpr Text kRegion = "topology.kubernetes.io/region";
constexpr Text kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr Text kBetaRegion = "failure-domain.beta.kubernetes.io/region";
constexpr Text kGceDriver = "pd.csi.storage.gke.io";
constexpr Text kAwsDriver = "ebs.csi.aws.com";
constexpr Text kAzureDriver = "disk.csi.azure.com";
constexpr Texts<3> kCloudZones = {"r-1-a", "r-1-b", "s-2-a"};
constexpr Texts<6> kCloudZoneSets = {"r-1-a",        "r-1-b", "r-1-a__r-1-b",
                                     "r-1-b__s-2-a", "odd",   "r-1-a__ __"};
constexpr Texts<3> kCloudRegions = {"r-1", "s-2", "r-1__s-2"};
constexpr Texts<4> kZoneKeys = {kZone, kBetaZone, kRegion, kBetaRegion};
constexpr Texts<6> kVolumeNames = {"pv0", "pv1", "pv2", "pv3", "pv4", "pv5"};
constexpr Texts<8> kClaimNames = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
constexpr Texts<6> kClassNames = {"late", "tracked", "static", "now", "legacy", "no-such-class"};
constexpr Texts<2> kDrivers = {"a.csi.example.com", "b.csi.example.com"};
constexpr Texts<3> kHandles = {"h0", "h1", "h2"};
constexpr Texts<4> kAwsIds = {"vol-1", "vol-2", "aws://z1/vol-1", "aws:///vol-2"};
constexpr Texts<2> kOddAwsIds = {"aws://z1/no-volume", "aws://z1/vol-1/more"};
constexpr Texts<3> kAttachmentNames = {"va0", "va1", "va2"};
constexpr Texts<4> kCapacityNames = {"room0", "room1", "room2", "room3"};
constexpr Texts<16> kEphemeralNames = {
    "p0-tmp", "p1-tmp", "p2-tmp",  "p3-tmp",  "p4-tmp",  "p5-tmp",  "p6-tmp",  "p7-tmp",
    "p8-tmp", "p9-tmp", "p10-tmp", "p11-tmp", "p12-tmp", "p13-tmp", "p14-tmp", "p15-tmp"};

class Maker {
 public:
  explicit Maker(Choices& choices) : choose_(choices) {}

  RawCluster Make() {
    // One draw after the other, in this order, because the bytes are used in order.
    odd_ = choose_.Chance(15);
    taints_ = choose_.Chance(40);
    affinity_ = choose_.Chance(40);
    ports_ = choose_.Chance(30);
    requests_ = choose_.Chance(50);
    huge_ = requests_ && choose_.Chance(20);
    spread_ = choose_.Chance(60);
    inter_pod_ = choose_.Chance(60);
    features_ = choose_.Chance(20);
    storage_ = choose_.Chance(50);
    shelf_ = choose_.Chance(35);
    preferences_ = choose_.Chance(50);
    RawCluster cluster;
    MakeNamespaces(cluster);
    const size_t nodes = 1 + choose_.Below(kNodeNames.size());
    for (size_t n = 0; n < nodes; ++n) cluster.nodes.push_back(MakeNode(n));
    const size_t pods = 1 + choose_.Below(kPodNames.size());
    for (size_t p = 0; p < pods; ++p) cluster.pods.push_back(MakePod(p, nodes));
    if (storage_) MakeStorage(cluster);
    if (choose_.Chance(30)) MakeOperatingSystems(cluster);
    for (const objects::Pod& pod : cluster.pods) cluster.homes.push_back(pod.node_name);
    cluster.first_nodes = cluster.nodes;
    cluster.version = choose_.Chance(50) ? KubernetesVersion::k137 : KubernetesVersion::k136;
    return cluster;
  }

 private:
  void MakeOperatingSystems(RawCluster& cluster) {
    static constexpr Texts<3> kSystems = {"linux", "windows", ""};
    cluster.match_os = choose_.Chance(80);
    for (objects::Node& node : cluster.nodes) {
      node.operating_system = choose_.Pick(kSystems);
      static constexpr Texts<4> kVersions = {"v1.36.2", "v1.37.0-eks-1", "", "v1.36.2"};
      node.kubelet_version = choose_.Pick(kVersions);
      if (!choose_.Chance(70)) continue;
      const Text key = choose_.Chance(80) ? "kubernetes.io/os" : "beta.kubernetes.io/os";
      node.meta.labels.push_back({key, choose_.Pick(kSystems)});
    }
    for (objects::Pod& pod : cluster.pods) {
      if (choose_.Chance(20)) pod.os_name = choose_.Pick(kSystems);
      if (choose_.Chance(10)) {
        pod.has_node_selector = true;
        pod.node_selector.push_back({"kubernetes.io/os", choose_.Pick(kSystems)});
      }
      // Another term may have a requirement that this term lacks.
      for (objects::NodeSelectorTerm& term : pod.required_node_affinity.terms) {
        if (!choose_.Chance(30)) continue;
        static constexpr Texts<3> kChoices = {"In", "NotIn", "Exists"};
        const Text op = choose_.Pick(kChoices);
        objects::Requirement& asked = term.match_expressions.emplace_back();
        asked.key = "kubernetes.io/os";
        asked.op = op;
        if (op != "Exists") asked.values.push_back(choose_.Pick(kSystems));
      }
    }
  }

  void MakeNamespaces(RawCluster& cluster) {
    for (const Text name : kNamespaces) {
      if (choose_.Chance(20)) continue;  // A dump may lack it.
      objects::Namespace& ns = cluster.namespaces.emplace_back();
      ns.meta.name = name;
      if (choose_.Chance(70)) ns.meta.labels.push_back({"app", choose_.Pick(kPodValues)});
    }
  }

  objects::Node MakeNode(size_t n) {
    objects::Node node;
    node.meta.name = kNodeNames[n];
    if (choose_.Chance(85)) node.meta.labels.push_back({"zone", choose_.Pick(kZones)});
    if (choose_.Chance(90)) node.meta.labels.push_back({"host", kNodeNames[n]});
    if (choose_.Chance(50)) node.meta.labels.push_back({"rack", choose_.Pick(kZones)});
    if (choose_.Chance(50)) node.meta.labels.push_back({"generation", choose_.Pick(kGenerations)});
    if (taints_) {
      node.unschedulable = choose_.Chance(20);
      if (choose_.Chance(50)) {
        node.taints.push_back(
            {choose_.Pick(kTaintKeys), choose_.Pick(kPodValues), choose_.Pick(kEffects)});
      }
    }
    if (!choose_.Chance(3)) {
      node.allocatable.push_back(
          {"pods", requests_ ? static_cast<int64_t>(choose_.Below(12)) : 110});
    }
    for (const Text name : kResources) {
      if (name == "pods" || choose_.Chance(15)) continue;
      node.allocatable.push_back({name, static_cast<int64_t>(choose_.Below(16))});
      if (huge_ && choose_.Chance(5)) node.allocatable.back().amount = kUncountable;
    }
    for (const Text feature : kFeatures) {
      if (choose_.Chance(50)) node.declared_features.push_back(feature);
    }
    if (storage_) LabelForStorage(node);
    for (const Text name : kImages) {
      if (preferences_ && choose_.Chance(50)) {
        node.images.push_back({{name}, static_cast<int64_t>(choose_.Below(200)) << 20});
      }
    }
    return node;
  }

  void LabelForStorage(objects::Node& node) {
    const auto maybe = [&](int percent, Text key, Text value) {
      if (choose_.Chance(percent)) node.meta.labels.push_back({key, value});
    };
    maybe(70, kZone, choose_.Pick(kCloudZones));
    maybe(20, kBetaZone, choose_.Pick(kCloudZones));
    maybe(50, kRegion, choose_.Pick(kCloudRegions));
    maybe(20, kBetaRegion, choose_.Pick(kCloudRegions));
    maybe(50, "topology.gke.io/zone", choose_.Pick(kCloudZones));
    maybe(50, "topology.ebs.csi.aws.com/zone", choose_.Pick(kCloudZones));
  }

  objects::Pod MakePod(size_t p, size_t nodes) {
    objects::Pod pod;
    pod.meta.name = kPodNames[p];
    pod.meta.namespace_name = choose_.Chance(60) ? kNamespaces[0] : choose_.Pick(kNamespaces);
    pod.phase = "Running";
    if (choose_.Chance(80)) pod.meta.labels.push_back({"app", choose_.Pick(kPodValues)});
    if (choose_.Chance(50)) pod.meta.labels.push_back({"tier", choose_.Pick(kPodValues)});
    if (choose_.Chance(10)) pod.meta.deletion_time = 1;
    if (choose_.Chance(80)) {
      (choose_.Chance(10) ? pod.nominated_node_name : pod.node_name) =
          kNodeNames[choose_.Below(nodes)];
    }
    MakeContainers(pod);
    if (affinity_) MakeNodeAffinity(pod);
    if (taints_) MakeTolerations(pod);
    if (spread_ && choose_.Chance(60)) MakeSpread(pod);
    if (inter_pod_ && choose_.Chance(40)) MakeTerms(pod.affinity);
    if (inter_pod_ && choose_.Chance(50)) MakeTerms(pod.anti_affinity);
    if (features_) {
      pod.host_network = choose_.Chance(40);
      if (choose_.Chance(50)) pod.host_users = choose_.Chance(30);
      pod.has_bind_mount_options = choose_.Chance(20);
    }
    pod.meta.uid = pod.meta.name;
    if (storage_) MakeVolumes(pod);
    if (preferences_) MakePreferences(pod);
    // Without a draw, so that bytes keep their meaning.  0: no digest was computed.
    if (pod.node_name.empty()) pod.spec_digest = p % 3;
    return pod;
  }

  // Adds preferences, which no filter reads.
  void MakePreferences(objects::Pod& pod) {
    if (choose_.Chance(30)) {
      objects::PreferredNodeTerm& preferred = pod.preferred_nodes.emplace_back();
      preferred.weight = 1 + static_cast<int64_t>(choose_.Below(100));
      preferred.term.match_expressions.push_back({"zone", "In", {choose_.Pick(kZones)}});
    }
    for (auto* terms : {&pod.preferred_affinity, &pod.preferred_anti_affinity}) {
      if (!choose_.Chance(30)) continue;
      objects::PreferredPodTerm& preferred = terms->emplace_back();
      preferred.weight = 1 + static_cast<int64_t>(choose_.Below(100));
      preferred.term.topology_key = choose_.Pick(kTopologyKeys);
      preferred.term.label_selector = {.nil = false,
                                       .match_labels = {{"app", choose_.Pick(kPodValues)}},
                                       .match_expressions = {}};
    }
    for (objects::Container& container : pod.containers) container.image = choose_.Pick(kImages);
  }

  void MakeVolumes(objects::Pod& pod) {
    for (size_t left = choose_.Below(4); left > 0; --left) {
      objects::Volume& volume = pod.volumes.emplace_back();
      volume.name = "data";
      volume.read_only = choose_.Chance(40);
      const size_t kind = choose_.Below(100);
      if (kind < 55) {
        volume.source = "persistentVolumeClaim";
        volume.claim_name = choose_.Pick(kClaimNames);
        if (pod.meta.namespace_name != kNamespaces[0] && !choose_.Chance(10))
          pod.volumes.pop_back();
      } else if (kind < 65) {
        volume.source = "ephemeral";
        volume.name = "tmp";
      } else {
        MakeInlineDisk(volume);
      }
    }
  }

  void MakeInlineDisk(objects::Volume& volume) {
    static constexpr Texts<7> kSources = {"gcePersistentDisk",
                                          "awsElasticBlockStore",
                                          "iscsi",
                                          "rbd",
                                          "azureDisk",
                                          "emptyDir",
                                          "csi"};
    volume.source = choose_.Pick(kSources);
    volume.id = choose_.Pick(kHandles);
    if (volume.source == "awsElasticBlockStore") volume.id = AwsId();
    if (volume.source == "rbd") {
      volume.pool = choose_.Chance(70) ? "rbd" : "other";
      for (size_t left = choose_.Below(3); left > 0; --left) {
        volume.monitors.push_back(choose_.Pick(kHandles));
      }
    }
  }

  Text AwsId() { return choose_.Chance(4) ? choose_.Pick(kOddAwsIds) : choose_.Pick(kAwsIds); }

  void MakeStorage(RawCluster& cluster) {
    for (const Text name : kClassNames) {
      if (name != "no-such-class" && !choose_.Chance(5)) cluster.classes.push_back(MakeClass(name));
    }
    for (const Text name : kDrivers) {
      if (choose_.Chance(10)) continue;
      objects::CsiDriver& driver = cluster.drivers.emplace_back();
      driver.meta.name = name;
      driver.storage_capacity = choose_.Chance(name == kDrivers[1] ? 90 : 20);
      driver.prevents_scheduling = choose_.Chance(25);
    }
    for (const objects::Node& node : cluster.nodes) {
      if (!choose_.Chance(15)) cluster.csi_nodes.push_back(MakeCsiNode(node.meta.name));
    }
    for (const Text name : kVolumeNames) cluster.volumes.push_back(MakeVolume(name));
    for (const Text name : kClaimNames) {
      if (!choose_.Chance(4)) MakeClaim(name, kNamespaces[0], cluster);
      if (choose_.Chance(10)) MakeClaim(name, choose_.Pick(kNamespaces), cluster);
    }
    MakeEphemeralClaims(cluster);
    MakeAttachments(cluster);
    MakeCapacities(cluster);
  }

  objects::StorageClass MakeClass(Text name) {
    static constexpr Texts<4> kProvisioners = {"kubernetes.io/gce-pd", "kubernetes.io/aws-ebs",
                                               "kubernetes.io/azure-disk", ""};
    objects::StorageClass storage_class;
    storage_class.meta.name = name;
    storage_class.volume_binding_mode = name == "now" ? "Immediate" : "WaitForFirstConsumer";
    storage_class.provisioner = name == "static"   ? Text("kubernetes.io/no-provisioner")
                                : name == "legacy" ? choose_.Pick(kProvisioners)
                                                   : kDrivers[name == "tracked" ? 1 : 0];
    if (odd_ && choose_.Chance(10)) storage_class.volume_binding_mode = "";
    if (choose_.Chance(25)) {
      for (size_t left = 1 + choose_.Below(2); left > 0; --left) {
        objects::TopologyTerm& term = storage_class.allowed_topologies.emplace_back();
        term.push_back({kZone, {choose_.Pick(kCloudZones), choose_.Pick(kCloudZones)}});
        if (choose_.Chance(20)) term.push_back({kRegion, {choose_.Pick(kCloudRegions)}});
        if (odd_ && choose_.Chance(15)) term.clear();
        if (odd_ && choose_.Chance(15)) term.push_back({"rack", {}});
      }
    }
    return storage_class;
  }

  objects::CsiNode MakeCsiNode(Text name) {
    static constexpr Texts<4> kMigrated = {"", "kubernetes.io/gce-pd",
                                           "kubernetes.io/aws-ebs,kubernetes.io/gce-pd",
                                           "kubernetes.io/azure-disk,kubernetes.io/aws-ebs"};
    objects::CsiNode node;
    node.meta.name = name;
    if (choose_.Chance(70)) {
      node.meta.annotations.push_back(
          {"storage.alpha.kubernetes.io/migrated-plugins", choose_.Pick(kMigrated)});
    }
    for (const Text driver : {kDrivers[0], kDrivers[1], kGceDriver, kAwsDriver, kAzureDriver}) {
      if (choose_.Chance(40)) continue;
      objects::CsiNode::Driver& installed = node.drivers.emplace_back();
      installed.name = driver;
      if (choose_.Chance(85)) installed.volumes_max = static_cast<int64_t>(choose_.Below(4));
    }
    return node;
  }

  std::vector<Text> AccessModes() {
    const size_t kind = choose_.Below(10);
    if (kind < 6) return {"ReadWriteOnce"};
    if (kind < 8) return {"ReadWriteOnce", "ReadOnlyMany"};
    if (kind < 9) return {"ReadWriteMany"};
    return {"ReadWriteOncePod"};
  }

  // Sizes all differ: among volumes of equal size the scheduler's choice is arbitrary.
  objects::PersistentVolume MakeVolume(Text name) {
    static constexpr Texts<4> kPhases = {"Available", "Available", "Bound", "Released"};
    objects::PersistentVolume volume;
    volume.meta.name = name;
    volume.capacity_bytes = 1 + 4 * (name.back() - '0');
    if (huge_ && choose_.Chance(20)) volume.capacity_bytes = kUncountable;
    volume.access_modes = AccessModes();
    volume.storage_class_name = choose_.Pick(kClassNames);
    volume.phase = choose_.Pick(kPhases);
    if (shelf_ && choose_.Chance(85)) {
      volume.storage_class_name = "static";
      volume.phase = "Available";
      volume.access_modes = {"ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"};
    }
    if (choose_.Chance(8)) volume.volume_mode = "Block";
    if (choose_.Chance(8)) volume.volume_attributes_class_name = "gold";
    if (choose_.Chance(40)) volume.meta.labels.push_back({"app", choose_.Pick(kPodValues)});
    if (choose_.Chance(30)) {
      const Text key = choose_.Pick(kZoneKeys);
      const bool is_zone = key == kZone || key == kBetaZone;
      volume.meta.labels.push_back(
          {key, is_zone ? choose_.Pick(kCloudZoneSets) : choose_.Pick(kCloudRegions)});
    }
    if (choose_.Chance(40)) MakeReach(volume);
    if (choose_.Chance(4)) volume.meta.deletion_time = 1;
    MakeSource(volume);
    return volume;
  }

  void MakeReach(objects::PersistentVolume& volume) {
    static constexpr Texts<6> kKeys = {"zone", "host", kZone, kBetaZone, kRegion, kBetaRegion};
    volume.required_node_affinity.nil = false;
    for (size_t left = choose_.Chance(10) ? 0 : 1 + choose_.Below(2); left > 0; --left) {
      objects::NodeSelectorTerm& term = volume.required_node_affinity.terms.emplace_back();
      objects::Requirement r;
      r.key = choose_.Pick(kKeys);
      r.op = choose_.Chance(80) ? "In" : "NotIn";
      r.values = {choose_.Pick(kCloudZones), choose_.Pick(kZones)};
      if (r.key == "host") r.values = {choose_.Pick(kNodeNames), choose_.Pick(kNodeNames)};
      if (r.key == kRegion || r.key == kBetaRegion) r.values = {choose_.Pick(kCloudRegions)};
      if (r.key == kBetaZone && choose_.Chance(50)) {
        term.match_expressions.push_back({kBetaRegion, "In", {choose_.Pick(kCloudRegions)}});
      }
      if (odd_) Distort(r);
      if (!choose_.Chance(8)) term.match_expressions.push_back(std::move(r));
      if (choose_.Chance(8)) term.match_fields.push_back(MakeField());
    }
  }

  void MakeSource(objects::PersistentVolume& volume) {
    static constexpr Texts<8> kSources = {
        "csi",       "csi", "csi", "local", "gcePersistentDisk", "awsElasticBlockStore",
        "azureDisk", "nfs"};
    volume.source = choose_.Pick(kSources);
    if (volume.source == "csi") volume.driver = choose_.Pick(kDrivers);
    volume.id = volume.source == "awsElasticBlockStore" ? AwsId() : choose_.Pick(kHandles);
    if (volume.source == "azureDisk" && choose_.Chance(40)) {
      volume.disk_kind = choose_.Chance(50) ? "Managed" : "Dedicated";
    }
  }

  objects::PersistentVolumeClaim NewClaim(Text name, Text namespace_name) {
    objects::PersistentVolumeClaim claim;
    claim.meta.name = name;
    claim.meta.namespace_name = namespace_name;
    claim.meta.uid = name;
    claim.phase = "Pending";
    claim.access_modes = AccessModes();
    claim.storage_class_name =
        kClassNames[choose_.Chance(8) ? choose_.Below(kClassNames.size()) : choose_.Below(3)];
    if (!choose_.Chance(10)) claim.request_bytes = static_cast<int64_t>(choose_.Below(20));
    if (huge_ && choose_.Chance(20)) claim.request_bytes = kUncountable;
    if (shelf_ && choose_.Chance(85)) claim.storage_class_name = "static";
    if (choose_.Chance(8)) claim.storage_class_name = choose_.Chance(50) ? "legacy" : "";
    if (choose_.Chance(4)) {
      claim.meta.annotations.push_back(
          {"volume.beta.kubernetes.io/storage-class", choose_.Pick(kClassNames)});
    }
    if (choose_.Chance(8)) claim.volume_mode = "Block";
    if (choose_.Chance(8)) claim.volume_attributes_class_name = "gold";
    if (choose_.Chance(20)) claim.selector = MakeSelector();
    return claim;
  }

  void Bind(objects::PersistentVolumeClaim& claim, RawCluster& cluster) {
    const size_t v = choose_.Below(kVolumeNames.size() + 1);
    claim.volume_name = v < kVolumeNames.size() ? kVolumeNames[v] : Text("pv-gone");
    claim.phase = "Bound";
    if (!choose_.Chance(3)) {
      claim.meta.annotations.push_back({"pv.kubernetes.io/bind-completed", "yes"});
    }
    if (v < kVolumeNames.size()) cluster.volumes[v].phase = "Bound";
  }

  void MakeClaim(Text name, Text namespace_name, RawCluster& cluster) {
    for (const objects::PersistentVolumeClaim& other : cluster.claims) {
      if (other.meta.name == name && other.meta.namespace_name == namespace_name) return;
    }
    objects::PersistentVolumeClaim claim = NewClaim(name, namespace_name);
    if (choose_.Chance(shelf_ ? 10 : 40)) {
      Bind(claim, cluster);
    } else {
      if (choose_.Chance(10)) {
        claim.meta.annotations.push_back(
            {"volume.kubernetes.io/selected-node", choose_.Pick(kNodeNames)});
      }
      if (choose_.Chance(20)) Reserve(claim, cluster);
    }
    if (choose_.Chance(3)) claim.meta.deletion_time = 1;
    if (choose_.Chance(3)) claim.phase = "Lost";
    cluster.claims.push_back(std::move(claim));
  }

  void Reserve(const objects::PersistentVolumeClaim& claim, RawCluster& cluster) {
    objects::PersistentVolume& volume = cluster.volumes[choose_.Below(cluster.volumes.size())];
    static constexpr Texts<3> kUids = {"", "someone-else", ""};
    volume.claim = {claim.meta.namespace_name, claim.meta.name, choose_.Pick(kUids)};
    if (choose_.Chance(70)) volume.storage_class_name = claim.storage_class_name;
    if (choose_.Chance(50)) volume.claim->uid = claim.meta.uid;
  }

  void MakeEphemeralClaims(RawCluster& cluster) {
    for (size_t p = 0; p < cluster.pods.size(); ++p) {
      const objects::Pod& pod = cluster.pods[p];
      bool wants = false;
      for (const objects::Volume& volume : pod.volumes) wants |= volume.source == "ephemeral";
      if (!wants || choose_.Chance(10)) continue;
      objects::PersistentVolumeClaim claim = NewClaim(kEphemeralNames[p], pod.meta.namespace_name);
      if (choose_.Chance(50)) Bind(claim, cluster);
      if (!choose_.Chance(10)) {
        const bool other = choose_.Chance(8);
        claim.meta.owners.push_back({"v1", "Pod", pod.meta.name,
                                     other ? Text("somebody") : pod.meta.uid, !choose_.Chance(4)});
      }
      cluster.claims.push_back(std::move(claim));
    }
  }

  void MakeAttachments(RawCluster& cluster) {
    for (const Text name : kAttachmentNames) {
      if (choose_.Chance(50)) continue;
      objects::VolumeAttachment& attachment = cluster.attachments.emplace_back();
      attachment.meta.name = name;
      attachment.attacher = choose_.Chance(5) ? Text() : choose_.Pick(kDrivers);
      attachment.node_name = cluster.nodes[choose_.Below(cluster.nodes.size())].meta.name;
      if (!choose_.Chance(5)) attachment.volume_name = choose_.Pick(kVolumeNames);
      if (choose_.Chance(50)) AttachWhatIsMounted(cluster, attachment);
    }
  }

  // Attaches a volume that a pod has mounted to the pod's node, as in a real cluster.
  void AttachWhatIsMounted(const RawCluster& cluster, objects::VolumeAttachment& attachment) {
    const objects::Pod& pod = cluster.pods[choose_.Below(cluster.pods.size())];
    for (const objects::Volume& mounted : pod.volumes) {
      for (const objects::PersistentVolumeClaim& claim : cluster.claims) {
        if (claim.meta.name != mounted.claim_name || claim.volume_name.empty()) continue;
        if (claim.meta.namespace_name != pod.meta.namespace_name) continue;
        for (const objects::PersistentVolume& volume : cluster.volumes) {
          if (volume.meta.name != claim.volume_name || volume.source != "csi") continue;
          attachment = {.meta = attachment.meta,
                        .attacher = volume.driver,
                        .node_name = pod.node_name,
                        .volume_name = volume.meta.name};
        }
      }
    }
  }

  void MakeCapacities(RawCluster& cluster) {
    for (const Text name : kCapacityNames) {
      if (choose_.Chance(40)) continue;
      objects::CsiStorageCapacity& capacity = cluster.capacities.emplace_back();
      capacity.meta.name = name;
      capacity.meta.namespace_name = kNamespaces[0];
      capacity.storage_class_name =
          choose_.Chance(80) ? Text("tracked") : choose_.Pick(kClassNames);
      if (!choose_.Chance(5)) {
        capacity.node_topology.nil = false;
        if (choose_.Chance(80)) {
          capacity.node_topology.match_labels.push_back({kZone, choose_.Pick(kCloudZones)});
        }
      }
      if (!choose_.Chance(5)) capacity.capacity_bytes = static_cast<int64_t>(choose_.Below(25));
      if (choose_.Chance(30)) {
        capacity.maximum_volume_size_bytes = static_cast<int64_t>(choose_.Below(15));
      }
      if (huge_ && choose_.Chance(20)) capacity.capacity_bytes = kUncountable;
    }
  }

  void MakeContainers(objects::Pod& pod) {
    pod.containers.push_back(MakeContainer("main"));
    if (choose_.Chance(20)) pod.containers.push_back(MakeContainer("side"));
    if (choose_.Chance(20)) pod.init_containers.push_back(MakeContainer("init-0"));
    if (choose_.Chance(20)) pod.init_containers.push_back(MakeContainer("init-1"));
    for (objects::Container& container : pod.init_containers) {
      if (choose_.Chance(50)) container.restart_policy = "Always";
    }
    if (!requests_) return;
    if (choose_.Chance(15)) pod.overhead = MakeAmounts();
    if (choose_.Chance(15)) {
      pod.has_pod_resources = true;
      pod.pod_requests = MakeAmounts();
    }
    if (choose_.Chance(20)) MakeStatus(pod);
  }

  void MakeStatus(objects::Pod& pod) {
    pod.resize_infeasible = choose_.Chance(30);
    for (const Text name : {Text("main"), Text("init-0"), Text("nobody")}) {
      objects::ContainerStatus& status = pod.container_statuses.emplace_back();
      status.name = name;
      status.has_resources = choose_.Chance(60);
      status.requests = MakeAmounts();
      if (choose_.Chance(50)) status.allocated = MakeAmounts();
    }
    if (choose_.Chance(20)) pod.claimed = MakeAmounts();
    if (choose_.Chance(40)) {
      pod.has_pod_status_resources = true;
      pod.pod_status_requests = MakeAmounts();
      if (choose_.Chance(50)) pod.pod_allocated = MakeAmounts();
    }
  }

  objects::Container MakeContainer(Text name) {
    objects::Container container;
    container.name = name;
    if (requests_) container.requests = MakeAmounts();
    if (features_) container.restarts_all_containers = choose_.Chance(20);
    if (ports_ && choose_.Chance(50)) {
      static constexpr Texts<4> kAddresses = {"", "0.0.0.0", "10.0.0.1", "10.0.0.2"};
      static constexpr Texts<3> kProtocols = {"", "TCP", "UDP"};
      container.ports.push_back({choose_.Pick(kAddresses), static_cast<int64_t>(choose_.Below(3)),
                                 choose_.Pick(kProtocols)});
    }
    return container;
  }

  objects::ResourceList MakeAmounts() {
    objects::ResourceList list;
    for (const Text name : kResources) {
      if (!choose_.Chance(35)) continue;
      if (huge_ && choose_.Chance(10)) {
        list.push_back({name, choose_.Pick(kHugeAmounts)});
        continue;
      }
      const auto amount = static_cast<int64_t>(choose_.Below(6));
      const bool broken = amount > 0 && choose_.Chance(20);  // Half a unit less, or nearly one.
      list.push_back({name, amount, !broken ? 0 : choose_.Chance(50) ? 500'000'000 : 999'999'000});
    }
    return list;
  }

  void MakeNodeAffinity(objects::Pod& pod) {
    if (choose_.Chance(30)) {
      pod.has_node_selector = true;
      if (choose_.Chance(90)) pod.node_selector.push_back({"zone", choose_.Pick(kZones)});
    }
    if (!choose_.Chance(50)) return;
    pod.required_node_affinity.nil = false;
    const size_t terms = odd_ ? choose_.Below(3) : 1 + choose_.Below(2);
    const bool by_name = choose_.Chance(40);
    for (size_t t = 0; t < terms; ++t) {
      objects::NodeSelectorTerm& term = pod.required_node_affinity.terms.emplace_back();
      if (choose_.Chance(by_name ? 30 : 90))
        term.match_expressions.push_back(MakeNodeRequirement());
      if (choose_.Chance(20)) term.match_expressions.push_back(MakeNodeRequirement());
      if (by_name && choose_.Chance(90)) term.match_fields.push_back(MakeField());
      if (by_name && choose_.Chance(20)) term.match_fields.push_back(MakeField());
    }
  }

  objects::Requirement MakeField() {
    objects::Requirement field{"metadata.name", "In", {choose_.Pick(kNodeNames)}};
    if (choose_.Chance(20)) field.op = "NotIn";
    if (odd_ && choose_.Chance(20)) field.values.push_back(choose_.Pick(kNodeNames));
    if (odd_ && choose_.Chance(10)) field.values.clear();
    if (odd_ && choose_.Chance(10)) field.key = "metadata.namespace";
    if (odd_ && choose_.Chance(10)) field.op = "Exists";
    return field;
  }

  objects::Requirement MakeNodeRequirement() {
    static constexpr Texts<6> kOps = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
    objects::Requirement r;
    r.op = choose_.Pick(kOps);
    if (r.op == "Gt" || r.op == "Lt") {
      static constexpr Texts<4> kBounds = {"0", "5", "7", "-4"};
      r.key = "generation";
      r.values.push_back(choose_.Pick(kBounds));
    } else {
      r.key = choose_.Pick(kTopologyKeys);
      if (r.op == "In" || r.op == "NotIn") {
        r.values.push_back(choose_.Pick(kZones));
        if (choose_.Chance(30)) r.values.push_back(choose_.Pick(kZones));
      }
    }
    if (odd_) Distort(r);
    return r;
  }

  void Distort(objects::Requirement& r) {
    static constexpr Texts<4> kNoNumbers = {"abc", "+5", "a b", ""};
    if (choose_.Chance(10)) r.op = "Perhaps";
    if (choose_.Chance(10)) r.values.clear();
    if (choose_.Chance(15)) r.values.push_back(choose_.Pick(kNoNumbers));
    if (choose_.Chance(5)) r.key = "no key";
  }

  void MakeTolerations(objects::Pod& pod) {
    for (size_t left = choose_.Below(3); left > 0; --left) {
      objects::Toleration& toleration = pod.tolerations.emplace_back();
      static constexpr Texts<3> kOps = {"", "Equal", "Exists"};
      static constexpr Texts<2> kOddOps = {"Gt", "Sometimes"};
      toleration.key = choose_.Pick(kTaintKeys);
      toleration.op = choose_.Pick(kOps);
      if (toleration.op != "Exists") toleration.value = choose_.Pick(kPodValues);
      if (choose_.Chance(60)) toleration.effect = choose_.Pick(kEffects);
      if (choose_.Chance(15)) toleration.key = "";
      if (odd_ && choose_.Chance(20)) toleration.op = choose_.Pick(kOddOps);
    }
  }

  objects::LabelSelector MakeSelector() {
    objects::LabelSelector selector;
    if (choose_.Chance(6)) return selector;
    selector.nil = false;
    if (choose_.Chance(8)) return selector;
    if (choose_.Chance(75)) selector.match_labels.push_back({"app", choose_.Pick(kPodValues)});
    if (choose_.Chance(35)) {
      static constexpr Texts<4> kOps = {"In", "NotIn", "Exists", "DoesNotExist"};
      objects::Requirement& r = selector.match_expressions.emplace_back();
      r.key = choose_.Pick(kPodKeys);
      r.op = choose_.Pick(kOps);
      if (r.op == "In" || r.op == "NotIn") {
        r.values.push_back(choose_.Pick(kPodValues));
        if (choose_.Chance(30)) r.values.push_back(choose_.Pick(kPodValues));
      }
      if (odd_) Distort(r);
    }
    return selector;
  }

  void MakeSpread(objects::Pod& pod) {
    for (size_t left = 1 + choose_.Below(2); left > 0; --left) {
      static constexpr Texts<3> kPolicies = {"", "Honor", "Ignore"};
      objects::TopologySpreadConstraint& c = pod.spread.emplace_back();
      c.max_skew = 1 + static_cast<int64_t>(choose_.Below(2));
      c.topology_key = choose_.Pick(kTopologyKeys);
      c.when_unsatisfiable = choose_.Chance(10) ? "ScheduleAnyway" : "DoNotSchedule";
      c.label_selector = MakeSelector();
      if (choose_.Chance(25)) c.min_domains = 1 + static_cast<int64_t>(choose_.Below(4));
      if (choose_.Chance(25)) c.match_label_keys = {"tier", "no-such-label"};
      c.node_affinity_policy = choose_.Pick(kPolicies);
      c.node_taints_policy = choose_.Pick(kPolicies);
      if (odd_ && choose_.Chance(10)) c.topology_key = "";
      if (odd_ && choose_.Chance(10)) c.node_affinity_policy = c.node_taints_policy = "Perhaps";
    }
  }

  void MakeTerms(std::vector<objects::PodAffinityTerm>& terms) {
    for (size_t left = 1 + choose_.Below(2); left > 0; --left) {
      objects::PodAffinityTerm& term = terms.emplace_back();
      term.topology_key = choose_.Pick(kTopologyKeys);
      term.label_selector = MakeSelector();
      if (choose_.Chance(25)) term.namespaces.push_back(choose_.Pick(kNamespaces));
      if (choose_.Chance(25)) term.namespace_selector = MakeSelector();
      if (odd_ && choose_.Chance(10)) term.topology_key = "";
    }
  }

  Choices& choose_;
  bool odd_ = false;  // Makes objects that an API server would reject.
  bool taints_ = false;
  bool affinity_ = false;
  bool ports_ = false;
  bool requests_ = false;
  bool huge_ = false;  // Some amounts are absurdly large.
  bool spread_ = false;
  bool inter_pod_ = false;
  bool features_ = false;
  bool storage_ = false;
  bool preferences_ = false;
  bool shelf_ = false;  // Claims choose among volumes that were provisioned beforehand.
};

}  // namespace

size_t Choices::Below(size_t n) {
  if (bytes_.empty()) return 0;
  const size_t byte = bytes_.front();
  bytes_ = bytes_.subspan(1);
  return byte % n;
}

RawCluster RandomCluster(Choices& choices) { return Maker(choices).Make(); }

absl::StatusOr<ClusterSnapshot> BuildSnapshot(const RawCluster& cluster) {
  SnapshotBuilder builder;
  builder.SetVersion(cluster.version);
  absl::Status status;
  for (const objects::Namespace& ns : cluster.namespaces) status.Update(builder.AddNamespace(ns));
  for (const objects::Node& node : cluster.nodes) status.Update(builder.AddNode(node));
  for (const objects::Pod& pod : cluster.pods) status.Update(builder.AddPod(pod));
  const auto add_all = [&](const auto& list) {
    for (const auto& object : list) status.Update(builder.AddStorageObject(object));
  };
  add_all(cluster.volumes);
  add_all(cluster.claims);
  add_all(cluster.classes);
  add_all(cluster.drivers);
  add_all(cluster.csi_nodes);
  add_all(cluster.attachments);
  add_all(cluster.capacities);
  if (!status.ok()) return status;
  absl::StatusOr<ClusterSnapshot> snapshot = std::move(builder).Build();
  if (snapshot.ok()) snapshot->SetMatchOs(cluster.match_os);
  return snapshot;
}

}  // namespace ebb::test
