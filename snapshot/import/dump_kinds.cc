#include "snapshot/import/dump_kinds.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace ebb {
namespace {

constexpr std::string_view kStorage = "storage.k8s.io";
constexpr std::string_view kDevices = "resource.k8s.io";

constexpr auto kDumpKinds = std::to_array<DumpKind>({
    {"Node", "", "nodes", "nodes"},
    {"Pod", "", "pods", "pods"},
    {"PodDisruptionBudget", "policy", "poddisruptionbudgets", "pdb"},
    {"ReplicaSet", "apps", "replicasets", "rs"},
    {"StatefulSet", "apps", "statefulsets", "sts"},
    {"DaemonSet", "apps", "daemonsets", "ds"},
    {"Job", "batch", "jobs", "jobs"},
    {"ReplicationController", "", "replicationcontrollers", "rc"},
    {"Namespace", "", "namespaces", "ns"},
    {"PersistentVolume", "", "persistentvolumes", "pv"},
    {"PersistentVolumeClaim", "", "persistentvolumeclaims", "pvc"},
    {"StorageClass", kStorage, "storageclasses", "sc"},
    {"CSINode", kStorage, "csinodes", "csinodes"},
    {"CSIDriver", kStorage, "csidrivers", "csidrivers"},
    {"VolumeAttachment", kStorage, "volumeattachments", "volumeattachments"},
    {"CSIStorageCapacity", kStorage, "csistoragecapacities", "csistoragecapacities"},
    {"Service", "", "services", "svc"},
    {"DeviceClass", kDevices, "deviceclasses", "deviceclasses", false},
    {"ResourceClaim", kDevices, "resourceclaims", "resourceclaims", false},
    {"ResourceClaimTemplate", kDevices, "resourceclaimtemplates", "resourceclaimtemplates", false},
    {"ResourceSlice", kDevices, "resourceslices", "resourceslices", false},
    {"DeviceTaintRule", kDevices, "devicetaintrules", "devicetaintrules", false},
    {"Workload", "scheduling.k8s.io", "workloads", "workloads", false},
    {"PodGroup", "scheduling.k8s.io", "podgroups", "podgroups.scheduling.k8s.io", false},
    {"PodGroup", "scheduling.x-k8s.io", "podgroups", "podgroups.scheduling.x-k8s.io", false},
    {"PodGroup", "scheduling.volcano.sh", "podgroups", "podgroups.scheduling.volcano.sh", false},
    {"Workload", "kueue.x-k8s.io", "workloads", "workloads.kueue.x-k8s.io", false},
    {"VerticalPodAutoscaler", "autoscaling.k8s.io", "verticalpodautoscalers", "vpa", false},
    {"CapacityBuffer", "autoscaling.x-k8s.io", "capacitybuffers", "capacitybuffers", false},
    {"PodTemplate", "", "podtemplates", "podtemplates", false},
    {"EvictionRequest", "lifecycle.k8s.io", "evictionrequests", "evictionrequests", false},
    {"NodePool", "karpenter.sh", "nodepools", "nodepools.karpenter.sh", false},
    {"NodeClaim", "karpenter.sh", "nodeclaims", "nodeclaims.karpenter.sh", false},
    {"Machine", "cluster.x-k8s.io", "machines", "machines.cluster.x-k8s.io", false},
    {"Machine", "machine.openshift.io", "machines", "machines.machine.openshift.io", false},
    {"MachineSet", "cluster.x-k8s.io", "machinesets", "machinesets.cluster.x-k8s.io", false},
    {"MachineSet", "machine.openshift.io", "machinesets", "machinesets.machine.openshift.io",
     false},
    // Kinds that ebb does not evaluate; it only warns that they exist (unevaluated_kinds.h).
    {"Machine", "karpenter.sh", "machines", "machines.karpenter.sh", false},
    {"Provisioner", "karpenter.sh", "provisioners", "provisioners.karpenter.sh", false},
    {"CompositePodGroup", "scheduling.k8s.io", "compositepodgroups", "compositepodgroups", false},
    {"PodGroup", "scheduling.sigs.k8s.io", "podgroups", "podgroups.scheduling.sigs.k8s.io", false},
    {"PodGroup", "scheduling.run.ai", "podgroups", "podgroups.scheduling.run.ai", false},
    {"LeaderWorkerSet", "leaderworkerset.x-k8s.io", "leaderworkersets", "leaderworkersets", false},
    {"JobSet", "jobset.x-k8s.io", "jobsets", "jobsets", false},
    {"ProvisioningRequest", "autoscaling.x-k8s.io", "provisioningrequests", "provisioningrequests",
     false},
    {"Reservation", "scheduling.koordinator.sh", "reservations", "reservations", false},
    {"PodUnavailableBudget", "policy.kruise.io", "podunavailablebudgets", "podunavailablebudgets",
     false},
    {"Eviction", "lifecycle.k8s.io", "evictions", "evictions", false},
    {"KubeDescheduler", "operator.openshift.io", "kubedeschedulers", "kubedeschedulers", false},
    {"NodeMaintenance", "nodemaintenance.medik8s.io", "nodemaintenances", "nodemaintenances",
     false},
    {"MachineAutoscaler", "autoscaling.openshift.io", "machineautoscalers", "machineautoscalers",
     false},
    {"ClusterAutoscaler", "autoscaling.openshift.io", "clusterautoscalers", "clusterautoscalers",
     false},
    {"MachineDeployment", "cluster.x-k8s.io", "machinedeployments", "machinedeployments", false},
    {"MachinePool", "cluster.x-k8s.io", "machinepools", "machinepools", false},
});

}  // namespace

std::span<const DumpKind> DumpKinds() { return kDumpKinds; }

const std::string& DumpWords() {
  static const std::string* const words = [] {
    auto* const text = new std::string;
    for (const DumpKind& each : kDumpKinds) {
      if (each.everywhere) absl::StrAppend(text, text->empty() ? "" : ",", Absl(each.word));
    }
    return text;
  }();
  return *words;
}

std::string KubectlGet(std::string_view words) {
  return absl::StrCat("kubectl get ", Absl(words), " -A -o json");
}

}  // namespace ebb
