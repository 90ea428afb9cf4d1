// Storage objects with every field that is read: the result of reading JSON, and that all other
// forms give the same.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/formats/write_objects.h"
#include "snapshot/import/load_cluster.h"
#include "tests/support/dump_sink.h"

namespace ebb::storage_forms_test {
namespace {

constexpr std::string_view kObjects = R"([
{"apiVersion":"v1","kind":"PersistentVolume",
 "metadata":{"name":"pv","labels":{"topology.kubernetes.io/zone":"a__b"}},
 "spec":{"capacity":{"storage":"10Gi"},"accessModes":["ReadWriteOnce","ReadOnlyMany"],
  "storageClassName":"fast","volumeMode":"Block","volumeAttributesClassName":"gold",
  "persistentVolumeReclaimPolicy":"Delete","mountOptions":["ro"],
  "csi":{"driver":"csi.example.com","volumeHandle":"h-1","fsType":"ext4"},
  "claimRef":{"kind":"PersistentVolumeClaim","namespace":"ns","name":"data","uid":"u"},
  "nodeAffinity":{"required":{"nodeSelectorTerms":[
   {"matchExpressions":[{"key":"rack","operator":"In","values":["1","2"]}]}]}}},
 "status":{"phase":"Bound"}},
{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"disk"},
 "spec":{"capacity":{"storage":"1500M"},
  "azureDisk":{"diskName":"d","diskURI":"/disks/d","kind":"Dedicated"}}},
{"apiVersion":"v1","kind":"PersistentVolumeClaim",
 "metadata":{"name":"data","namespace":"ns","uid":"u",
  "annotations":{"pv.kubernetes.io/bind-completed":"yes"}},
 "spec":{"accessModes":["ReadWriteOncePod"],"storageClassName":"fast","volumeMode":"Filesystem",
  "volumeAttributesClassName":"gold","volumeName":"pv","resources":{"requests":{"storage":"5Gi"}},
  "selector":{"matchLabels":{"disk":"fast"}}},
 "status":{"phase":"Bound"}},
{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast"},
 "provisioner":"csi.example.com","volumeBindingMode":"WaitForFirstConsumer",
 "allowedTopologies":[{"matchLabelExpressions":[{"key":"rack","values":["1"]}]}]},
{"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"csi.example.com"},
 "spec":{"storageCapacity":true,"preventPodSchedulingIfMissing":true}},
{"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"n"},
 "spec":{"drivers":[{"name":"csi.example.com","nodeID":"n","allocatable":{"count":25}},
  {"name":"other","nodeID":"n"}]}},
{"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{"name":"va"},
 "spec":{"attacher":"csi.example.com","nodeName":"n","source":{"persistentVolumeName":"pv"}}},
{"apiVersion":"storage.k8s.io/v1","kind":"CSIStorageCapacity",
 "metadata":{"name":"room","namespace":"kube-system"},"storageClassName":"fast",
 "nodeTopology":{},"capacity":"100Gi","maximumVolumeSize":"8Gi"},
{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"gpu"},
 "spec":{"extendedResourceName":"example.com/gpu","config":[{}],
  "selectors":[{"cel":{"expression":"device.driver == \"gpu.example.com\""}}]}},
{"apiVersion":"resource.k8s.io/v1beta1","kind":"ResourceClaim",
 "metadata":{"name":"held","namespace":"ns"},
 "spec":{"devices":{"requests":[{"name":"r","deviceClassName":"gpu"}]}},
 "status":{"allocation":{"devices":{"results":[
   {"request":"r","driver":"gpu.example.com","pool":"n","device":"gpu-0"},
   {"request":"r","driver":"gpu.example.com","pool":"n","device":"gpu-1","shareID":"s-1",
    "consumedCapacity":{"memory":"1Gi"},"bindingConditions":["ready"],
    "bindingFailureConditions":["failed"]}]},
  "nodeSelector":{"nodeSelectorTerms":[{"matchFields":[
   {"key":"metadata.name","operator":"In","values":["n"]}]}]}},
  "devices":[{"driver":"gpu.example.com","pool":"n","device":"gpu-1","data":{"x":1},"conditions":[
   {"type":"ready","status":"True","reason":"Attached"}]}],
  "reservedFor":[{"resource":"pods","name":"p","uid":"u"}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",
 "metadata":{"name":"waiting","namespace":"ns"},
 "spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu",
   "selectors":[{"cel":{"expression":"true"}}],"allocationMode":"ExactCount","count":2,
   "adminAccess":true,"tolerations":[{"key":"sick","operator":"Exists","tolerationSeconds":3}]}},
  {"name":"s","firstAvailable":[{"name":"a","deviceClassName":"gpu",
    "capacity":{"requests":{"memory":"10Gi"}},"derivedAttributes":[]},
   {"name":"b","deviceClassName":"nic","allocationMode":"All"}]}],
  "constraints":[{"requests":["r"],"matchAttribute":"example.com/numa"}]}}},
{"apiVersion":"resource.k8s.io/v1beta2","kind":"ResourceClaimTemplate",
 "metadata":{"name":"gpus","namespace":"ns"},"spec":{"spec":{"devices":{}}}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"n-gpu"},
 "spec":{"driver":"gpu.example.com","nodeName":"n","devices":[{"name":"gpu-0",
   "attributes":{"ecc":{"bool":true},"example.com/numa":{"string":"0"},"index":{"int":-3},
    "version":{"version":"1.2.3"}},"capacity":{"memory":{"value":"40Gi"}},
   "taints":[{"key":"sick","value":"x","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"}],
   "consumesCounters":[{"counterSet":"card","counters":{"memory":{"value":"1"}}}]}],
  "pool":{"name":"n","generation":1,"resourceSliceCount":2}}},
{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"n-gpu-counters"},
 "spec":{"driver":"gpu.example.com","nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[
   {"key":"rack","operator":"Exists"}]}]},
  "sharedCounters":[{"name":"card","counters":{"memory":{"value":"40Gi"}}}],
  "pool":{"name":"n","generation":1,"resourceSliceCount":2}}},
{"apiVersion":"resource.k8s.io/v1beta1","kind":"ResourceSlice","metadata":{"name":"z"},
 "spec":{"driver":"gpu.example.com","perDeviceNodeSelection":true,"pool":{"name":"z"},
  "devices":[{"name":"a","basic":{"nodeName":"n","allowMultipleAllocations":true,
    "bindsToNode":true,"bindingConditions":["ready"],"bindingFailureConditions":["failed"],
    "capacity":{"memory":{"value":"40Gi","requestPolicy":{"default":"1Gi",
      "validRange":{"min":"1Gi","max":"8Gi","step":"1Gi"}}},
     "slots":{"value":"2","requestPolicy":{"validValues":["1","2"]}}},
    "nodeAllocatableResourceMappings":{}}},
   {"name":"b","basic":{"allNodes":true}}]}},
{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule","metadata":{"name":"broken"},
 "spec":{"deviceSelector":{"driver":"gpu.example.com","pool":"n","device":"gpu-0"},
  "taint":{"key":"broken","value":"yes","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z"}}},
{"apiVersion":"resource.k8s.io/v1beta2","kind":"DeviceTaintRule","metadata":{"name":"newer"},
 "spec":{"deviceSelector":{"rack":"r"},"taint":{"key":"all","effect":"NoSchedule"}}},
{"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"Machine",
 "metadata":{"name":"m","namespace":"ns","creationTimestamp":"1970-01-01T00:00:50Z",
  "deletionTimestamp":"1970-01-01T00:01:40Z"},
 "spec":{"clusterName":"c","providerID":"aws:///a/i-1"},
 "status":{"phase":"Deleting","nodeRef":{"kind":"Node","name":"n","uid":"x"}}},
{"apiVersion":"machine.openshift.io/v1beta1","kind":"Machine",
 "metadata":{"name":"m","namespace":"openshift-machine-api"},
 "spec":{"providerID":"aws:///a/i-2"},"status":{"nodeRef":{"kind":"Node","name":"n2"}}},
{"apiVersion":"karpenter.sh/v1","kind":"NodeClaim","metadata":{"name":"default-x7"},
 "spec":{"nodeClassRef":{"name":"default"}},
 "status":{"nodeName":"n3","providerID":"aws:///a/i-3","imageID":"ami",
  "lastPodEventTime":"1970-01-01T00:01:30Z","conditions":[
   {"type":"Initialized","status":"True","reason":"Initialized","message":"",
    "lastTransitionTime":"1970-01-01T00:01:10Z"},{"type":"Consolidatable","status":"False"}]}},
{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"default"},
 "status":{"resources":{"cpu":"12","nodes":"3"}},
 "spec":{"weight":10,"limits":{"cpu":"100","memory":"1Gi"},"template":{
  "metadata":{"labels":{"team":"a"}},"spec":{"expireAfter":"720h","nodeClassRef":{"name":"d"},
   "requirements":[{"key":"arch","operator":"In","values":["amd64","arm64"],"minValues":2},
    {"key":"gpu","operator":"DoesNotExist"}],
   "taints":[{"key":"t","value":"v","effect":"NoSchedule"}],
   "startupTaints":[{"key":"s","effect":"NoExecute"}]}},"disruption":{
  "consolidationPolicy":"WhenEmpty","consolidateAfter":"30s","budgets":[{"nodes":"10%"},
   {"nodes":"0","schedule":"0 9 * * mon-fri","duration":"8h","reasons":["Empty","Drifted"]}]}}},
{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"static"},
 "spec":{"replicas":3,"template":{"spec":{"requirements":[{"key":"a","operator":"Exists",
  "weird":1}]}},"disruption":{"consolidateAfter":"Never","budgets":[]}}},
{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"bare"},"spec":{}},
{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"paused"},
 "spec":{"disruption":{"paused":true,"budgets":[]}}},
{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"zoned"},
 "spec":{"disruption":{"budgets":[{"nodes":"1","timezone":"CET"}]}}},
{"apiVersion":"karpenter.sh/v1beta1","kind":"NodePool","metadata":{"name":"older"},"spec":{}},
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup",
 "metadata":{"name":"train","namespace":"ns"},
 "spec":{"schedulingPolicy":{"gang":{"minCount":4}},"disruptionMode":{"all":{}}}},
{"apiVersion":"scheduling.k8s.io/v1alpha2","kind":"PodGroup",
 "metadata":{"name":"older","namespace":"ns"},
 "spec":{"schedulingPolicy":{"gang":{"minCount":2}},"disruptionMode":"PodGroup"}},
{"apiVersion":"scheduling.k8s.io/v1alpha2","kind":"PodGroup",
 "metadata":{"name":"loose","namespace":"ns"},
 "spec":{"schedulingPolicy":{"basic":{}},"disruptionMode":"Pod"}},
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup",
 "metadata":{"name":"single","namespace":"ns"},
 "spec":{"disruptionMode":{"single":{}},"schedulingPolicy":{"gang":{"minCount":2}}}},
{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup",
 "metadata":{"name":"v","namespace":"ns"},"spec":{"minMember":3,"queue":"q"}},
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup",
 "metadata":{"name":"new","namespace":"ns"},
 "spec":{"schedulingPolicy":{"weird":{"minCount":3}},"priority":1}},
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup",
 "metadata":{"name":"racks","namespace":"ns"},
 "spec":{"schedulingPolicy":{"gang":{"minCount":3}},"disruptionMode":{"single":{}},
  "schedulingConstraints":{"topology":[{"key":"rack"}]}}},
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup",
 "metadata":{"name":"none","namespace":"ns"},"spec":{}},
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup",
 "metadata":{"name":"least","namespace":"ns"},"spec":{"schedulingPolicy":{"gang":{"minCount":-5}}}},
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup",
 "metadata":{"name":"mode","namespace":"ns"},
 "spec":{"schedulingPolicy":{"gang":{"minCount":1}},"disruptionMode":"Weird"}},
{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup",
 "metadata":{"name":"tasks","namespace":"ns"},
 "spec":{"minMember":1,"minTaskMember":{"worker":3}}},
{"apiVersion":"scheduling.x-k8s.io/v2","kind":"PodGroup",
 "metadata":{"name":"newer","namespace":"ns"},"spec":{"minMember":1}},
{"apiVersion":"v1","kind":"PodTemplate","metadata":{"name":"t","namespace":"ns"},
 "template":{"metadata":{"labels":{"app":"buffer"}},"spec":{"nodeSelector":{"disk":"fast"},
  "containers":[{"name":"main","resources":{"requests":{"cpu":"1"}}}]}}},
{"apiVersion":"autoscaling.x-k8s.io/v1beta1","kind":"CapacityBuffer",
 "metadata":{"name":"buf","namespace":"ns"},"spec":{"podTemplateRef":{"name":"t"},"replicas":2},
 "status":{"replicas":2,"podTemplateRef":{"name":"t"},"provisioningStrategy":"active",
  "conditions":[{"type":"ReadyForProvisioning","status":"True"}]}},
{"apiVersion":"autoscaling.x-k8s.io/v1alpha1","kind":"CapacityBuffer",
 "metadata":{"name":"not-ready","namespace":"ns"},
 "status":{"conditions":[{"type":"Provisioning","status":"True"},
  {"type":"ReadyForProvisioning","status":"False"}]}},
{"apiVersion":"lifecycle.k8s.io/v1alpha1","kind":"EvictionRequest",
 "metadata":{"name":"r","namespace":"ns"},
 "spec":{"target":{"pod":{"name":"p","uid":"u"}},"requester":"a.io/b","intent":"Eviction"},
 "status":{"conditions":[{"type":"TargetEvicted","status":"False"}]}},
{"apiVersion":"lifecycle.k8s.io/v1alpha1","kind":"EvictionRequest",
 "metadata":{"name":"withdrawn","namespace":"ns"},
 "spec":{"target":{"pod":{"name":"p","uid":"u"}},"requester":"a.io/b","intent":"Withdrawn"}},
{"apiVersion":"lifecycle.k8s.io/v1alpha1","kind":"EvictionRequest",
 "metadata":{"name":"failed","namespace":"ns"},
 "spec":{"target":{"pod":{"name":"p","uid":"u"}},"requester":"a.io/b","intent":"Eviction"},
 "status":{"conditions":[{"type":"Failed","status":"True"}]}},
{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscaler",
 "metadata":{"name":"web","namespace":"ns"},
 "spec":{"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},
  "updatePolicy":{"updateMode":"Initial"},"resourcePolicy":{"containerPolicies":[
   {"containerName":"*","mode":"Auto","minAllowed":{"cpu":"10m"},"maxAllowed":{"cpu":"4"},
    "controlledResources":["cpu"]}]}},
 "status":{"recommendation":{"containerRecommendations":[
  {"containerName":"main","target":{"cpu":"2"},"lowerBound":{"cpu":"1"}}]}}},
{"apiVersion":"v1","kind":"Service","metadata":{"name":"web","namespace":"ns"},
 "spec":{"selector":{"app":"web","tier":"front"},"ports":[{"port":80}],"clusterIP":"10.0.0.5"}},
{"apiVersion":"v1","kind":"Service","metadata":{"name":"headless","namespace":"ns"},
 "spec":{"clusterIP":"None"}},
{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ns"},
 "spec":{"resourceClaims":[{"name":"a","resourceClaimName":"held"},
  {"name":"b","resourceClaimTemplateName":"gpus"},{"name":"c","resourceClaimTemplateName":"gpus"}]},
 "status":{"resourceClaimStatuses":[{"name":"b","resourceClaimName":"p-b-x7"},{"name":"c"}],
  "extendedResourceClaimStatus":{"requestMappings":[],"resourceClaimName":"p-ext"}}}
])";

const std::vector<std::string>& Lines() {
  static const auto* const lines = new std::vector<std::string>{
      "PersistentVolume name=[pv] label=[topology.kubernetes.io/zone]:[a__b] "
      "capacity=10737418240 modes=[ReadWriteOnce] modes=[ReadOnlyMany] class=[fast] mode=[Block] "
      "attributes=[gold] claim=[data] in=[ns] claim_uid=[u] affinity=terms term=( "
      "expressions=( key=[rack] op=[In] values=[1] values=[2])) source=[csi] "
      "driver=[csi.example.com] id=[h-1] phase=[Bound]",
      "PersistentVolume name=[disk] capacity=1500000000 source=[azureDisk] id=[/disks/d] "
      "kind=[Dedicated]",
      "PersistentVolumeClaim name=[data] namespace=[ns] uid=[u] "
      "annotation=[pv.kubernetes.io/bind-completed]:[yes] modes=[ReadWriteOncePod] class=[fast] "
      "mode=[Filesystem] attributes=[gold] volume=[pv] selector=( labels=[disk]:[fast]) "
      "request=5368709120 phase=[Bound]",
      "StorageClass name=[fast] provisioner=[csi.example.com] mode=[WaitForFirstConsumer] term=1 "
      "key=[rack] values=[1]",
      "CSIDriver name=[csi.example.com] capacity=true prevents=true",
      "CSINode name=[n] driver=[csi.example.com] max=25 driver=[other]",
      "VolumeAttachment name=[va] attacher=[csi.example.com] node=[n] volume=[pv]",
      "CSIStorageCapacity name=[room] namespace=[kube-system] class=[fast] topology=() "
      "capacity=107374182400 max=8589934592",
      "DeviceClass name=[gpu] resource=[example.com/gpu] "
      "selector=[device.driver == \"gpu.example.com\"]",
      "ResourceClaim name=[held] namespace=[ns] allocated=true driver=[gpu.example.com] pool=[n] "
      "device=[gpu-0] driver=[gpu.example.com] pool=[n] device=[gpu-1] share=[s-1] consumed=( "
      "name=[memory] value=[1Gi]) binding=[ready] failure=[failed] status=( "
      "driver=[gpu.example.com] pool=[n] name=[gpu-1] conditions=( type=[ready] status=[True])) "
      "request=( name=[r] asks=( class_name=[gpu])) on=terms term=( fields=( key=[metadata.name] "
      "op=[In] values=[n])) for=( "
      "resource=[pods] name=[p] uid=[u])",
      "ResourceClaim name=[waiting] namespace=[ns] request=( name=[r] asks=( class_name=[gpu] "
      "selectors=[true] mode=[ExactCount] count=2 admin_access=true tolerations=( key=[sick] "
      "op=[Exists]))) request=( name=[s] first_available=true asks=( name=[a] class_name=[gpu] "
      "capacity=( name=[memory] value=[10Gi])) "
      "asks=( name=[b] class_name=[nic] mode=[All])) constraint=( requests=[r] "
      "match_attribute=[example.com/numa]) "
      "notUnderstood=[spec.devices.requests[].firstAvailable[].derivedAttributes]",
      "ResourceClaimTemplate name=[gpus] namespace=[ns]",
      "ResourceSlice name=[n-gpu] driver=[gpu.example.com] pool=[n] node=[n] generation=1 slices=2 "
      "device=( name=[gpu-0] attributes=( name=[ecc] type=[bool] value=[true]) attributes=( "
      "name=[example.com/numa] type=[string] value=[0]) attributes=( name=[index] type=[int] "
      "value=[-3]) attributes=( name=[version] type=[version] value=[1.2.3]) capacity=( "
      "name=[memory] value=[40Gi]) taints=( key=[sick] value=[x] effect=[NoExecute]) consumes=( "
      "counter_set=[card] counters=( name=[memory] value=[1])))",
      "ResourceSlice name=[n-gpu-counters] driver=[gpu.example.com] pool=[n] generation=1 slices=2 "
      "nodes=terms term=( expressions=( key=[rack] op=[Exists])) counters=( counter_set=[card] "
      "counters=( name=[memory] value=[40Gi]))",
      "ResourceSlice name=[z] driver=[gpu.example.com] pool=[z] perDevice=true device=( name=[a] "
      "capacity=( name=[memory] value=[40Gi] has_policy=true standard=[1Gi] has_range=true "
      "range_min=[1Gi] range_max=[8Gi] range_step=[1Gi]) capacity=( name=[slots] value=[2] "
      "has_policy=true valid_values=[1] valid_values=[2]) node_name=[n] allow_multiple=true "
      "binds_to_node=true binding_conditions=[ready]) device=( name=[b] all_nodes=true) "
      "notUnderstood=[spec.devices[].nodeAllocatableResourceMappings]",
      "DeviceTaintRule name=[broken] driver=[gpu.example.com] pool=[n] device=[gpu-0] taint=( "
      "key=[broken] value=[yes] effect=[NoExecute])",
      "DeviceTaintRule name=[newer] taint=( key=[all] effect=[NoSchedule]) "
      "notUnderstood=[spec.deviceSelector.rack]",
      "Machine name=[m] namespace=[ns] created=50 deleted=100 group=[cluster.x-k8s.io] node=[n] "
      "provider=[aws:///a/i-1]",
      "Machine name=[m] namespace=[openshift-machine-api] group=[machine.openshift.io] node=[n2] "
      "provider=[aws:///a/i-2]",
      "NodeClaim name=[default-x7] node=[n3] provider=[aws:///a/i-3] condition=[Initialized] "
      "is=[True] since=70 condition=[Consolidatable] is=[False] podEvent=90",
      "NodePool name=[default] policy=[WhenEmpty] after=[30s] has_budgets=true budget=[10%] "
      "schedule=[-] duration=[-] budget=[0] has_reasons=true reasons=[Empty] reasons=[Drifted] "
      "schedule=[0 9 * * mon-fri] duration=[8h] weight=10 limits=[cpu]:100000 "
      "limits=[memory]:1073741824 resources=[cpu]:12000 resources=[nodes]:3 label=[team]:[a] "
      "key=[arch] op=[In] value=[amd64] value=[arm64] min=2 key=[gpu] op=[DoesNotExist] taint=[t] "
      "==[v] :=[NoSchedule] startup=[s] :=[NoExecute]",
      "NodePool name=[static] static=true after=[Never] has_budgets=true "
      "notBought=[spec.template.spec.requirements[].weird] key=[a] op=[Exists]",
      "NodePool name=[bare]",
      "NodePool name=[paused] has_budgets=true notUnderstood=[spec.disruption.paused]",
      "NodePool name=[zoned] has_budgets=true "
      "notUnderstood=[spec.disruption.budgets[].timezone] budget=[1] schedule=[-] duration=[-]",
      "NodePool name=[older] notUnderstood=[apiVersion karpenter.sh/v1beta1]",
      "PodGroup name=[train] namespace=[ns] group=[scheduling.k8s.io] min_count=4 whole=true",
      "PodGroup name=[older] namespace=[ns] group=[scheduling.k8s.io] min_count=2 whole=true",
      "PodGroup name=[loose] namespace=[ns] group=[scheduling.k8s.io]",
      "PodGroup name=[single] namespace=[ns] group=[scheduling.k8s.io]",
      "PodGroup name=[v] namespace=[ns] group=[scheduling.volcano.sh] min_count=3",
      "PodGroup name=[new] namespace=[ns] group=[scheduling.k8s.io] "
      "notUnderstood=[spec.schedulingPolicy.weird]",
      "PodGroup name=[racks] namespace=[ns] group=[scheduling.k8s.io] "
      "notUnderstood=[spec.schedulingConstraints]",
      "PodGroup name=[none] namespace=[ns] group=[scheduling.k8s.io] "
      "notUnderstood=[spec.schedulingPolicy: is missing]",
      "PodGroup name=[least] namespace=[ns] group=[scheduling.k8s.io] "
      "notUnderstood=[spec.schedulingPolicy.gang.minCount: is not a minimum of one pod or more]",
      "PodGroup name=[mode] namespace=[ns] group=[scheduling.k8s.io] "
      "notUnderstood=[spec.disruptionMode]",
      "PodGroup name=[tasks] namespace=[ns] group=[scheduling.volcano.sh] "
      "notUnderstood=[spec.minTaskMember]",
      "PodGroup name=[newer] namespace=[ns] group=[scheduling.x-k8s.io] "
      "notUnderstood=[apiVersion scheduling.x-k8s.io/v2]",
      "PodTemplate name=[t] namespace=[ns] label=[app]:[buffer] container=( name=[main] "
      "requests=[cpu]:1000) selector=[disk]:[fast]",
      "CapacityBuffer name=[buf] namespace=[ns] strategy=[active] template=[t] replicas=2 "
      "ready=true",
      "CapacityBuffer name=[not-ready] namespace=[ns]",
      "EvictionRequest name=[r] namespace=[ns] pod=[p] uid=[u] requester=[a.io/b] active=true",
      "EvictionRequest name=[withdrawn] namespace=[ns] pod=[p] uid=[u] requester=[a.io/b]",
      "EvictionRequest name=[failed] namespace=[ns] pod=[p] uid=[u] requester=[a.io/b]",
      "VerticalPodAutoscaler name=[web] namespace=[ns] kind=[Deployment] target=[web] "
      "mode=[Initial] recommended=true policy=[*] mode=[Auto] min=[cpu]:10 max=[cpu]:4000 "
      "has_controlled=true controlled=[cpu] container=[main] recommends=[cpu]:2000",
      "Service name=[web] namespace=[ns] selector=[app]:[web] selector=[tier]:[front]",
      "Service name=[headless] namespace=[ns]",
      "Pod name=[p] namespace=[ns] claims=[a] claim=[held] claims=[b] claim=[p-b-x7] "
      "template=[gpus] claims=[c] template=[gpus] claim=[p-ext]",
  };
  return *lines;
}

std::vector<std::string> LinesOf(std::string_view text) {
  testing::DumpSink sink;
  ImportStats stats;
  const absl::Status status = ReadBytes("storage", text, sink, stats);
  EXPECT_TRUE(status.ok()) << status;
  return sink.lines();
}

// Copies kObjects into a writer, which `make` creates for an output string.
template <typename MakeWriter>
std::string Written(MakeWriter make) {
  std::string out;
  auto writer = make([&out](std::string_view bytes) {
    out += bytes;
    return absl::OkStatus();
  });
  ImportStats stats;
  EXPECT_TRUE(ReadBytes("storage", kObjects, writer, stats).ok());
  EXPECT_TRUE(writer.Finish().ok());
  return out;
}

TEST(StorageFormsTest, ANodePoolInAListHasTheVersionOfTheList) {
  EXPECT_EQ(LinesOf(R"({"apiVersion":"karpenter.sh/v1beta1","kind":"NodePoolList",
                       "items":[{"metadata":{"name":"p"},"spec":{}}]})"),
            (std::vector<std::string>{
                "NodePool name=[p] notUnderstood=[apiVersion karpenter.sh/v1beta1]"}));
}

TEST(StorageFormsTest, JsonGivesEveryField) { EXPECT_EQ(LinesOf(kObjects), Lines()); }

TEST(StorageFormsTest, ASnapshotGivesTheSame) {
  EXPECT_EQ(LinesOf(Written([](auto output) { return BinarySnapshotWriter(output); })), Lines());
}

TEST(StorageFormsTest, WrittenObjectsReadBackTheSame) {
  for (const ObjectFormat format : {ObjectFormat::kJsonList, ObjectFormat::kYamlDocuments}) {
    EXPECT_EQ(LinesOf(Written([format](auto output) { return ObjectWriter(format, output); })),
              Lines());
  }
}

// Symptom: objects of resource.k8s.io/v2 were read as v1 without a word.
TEST(StorageFormsTest, OtherVersionsOfDevicesAreNotUnderstood) {
  const auto line_of = [](const std::string& version, const std::string& kind) {
    const std::string object = R"({"apiVersion":")" + version + R"(","kind":")" + kind +
                               R"(","metadata":{"name":"x"},"spec":{"driver":"d",)" +
                               R"("pool":{"name":"p"},"taint":{}}})";
    const std::vector<std::string> lines = LinesOf(object);
    const std::vector<std::string> of_list =
        LinesOf(R"({"apiVersion":")" + version + R"(","kind":")" + kind +
                R"(List","items":[{"metadata":{"name":"x"},"spec":{"driver":"d",)" +
                R"("pool":{"name":"p"},"taint":{}}}]})");
    EXPECT_EQ(lines, of_list) << version << " " << kind;
    return lines.at(0);
  };
  for (const std::string kind : {"DeviceClass", "ResourceClaim", "ResourceSlice"}) {
    for (const std::string version : {"v2", "v1alpha3"}) {
      EXPECT_NE(line_of("resource.k8s.io/" + version, kind)
                    .find("notUnderstood=[apiVersion resource.k8s.io/" + version + "]"),
                std::string::npos)
          << line_of("resource.k8s.io/" + version, kind);
    }
  }
  EXPECT_EQ(line_of("resource.k8s.io/v1alpha3", "DeviceTaintRule").find("apiVersion"),
            std::string::npos);
  EXPECT_NE(line_of("resource.k8s.io/v2", "DeviceTaintRule").find("apiVersion"), std::string::npos);
  for (const std::string version : {"v1", "v1beta2", "v1beta1"}) {
    EXPECT_EQ(line_of("resource.k8s.io/" + version, "ResourceSlice").find("apiVersion"),
              std::string::npos);
  }
}

TEST(StorageFormsTest, PartsOfAUnitAreWrittenExactly) {
  constexpr std::string_view kPod = R"({"apiVersion":"v1","kind":"Pod",
    "metadata":{"name":"p","namespace":"ns"},"spec":{"containers":[{"name":"c","resources":
     {"requests":{"cpu":"2500u","memory":"1500m","x/y":"7","ephemeral-storage":"1n"}}}]}})";
  const std::vector<std::string> lines = LinesOf(kPod);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("[cpu]:3-500000000e-9"), std::string::npos) << lines[0];
  for (const ObjectFormat format : {ObjectFormat::kJsonList, ObjectFormat::kYamlDocuments}) {
    std::string out;
    ObjectWriter writer(format, [&out](std::string_view bytes) {
      out += bytes;
      return absl::OkStatus();
    });
    ImportStats stats;
    ASSERT_TRUE(ReadBytes("pod", kPod, writer, stats).ok());
    ASSERT_TRUE(writer.Finish().ok());
    EXPECT_NE(out.find("2.5m"), std::string::npos) << out;
    EXPECT_NE(out.find("0.000000001"), std::string::npos) << out;
    EXPECT_EQ(LinesOf(out), lines);
  }
}

TEST(StorageFormsTest, AResizeThatIsInfeasibleIsWritten) {
  constexpr std::string_view kPod = R"({"apiVersion":"v1","kind":"Pod",
    "metadata":{"name":"p","namespace":"ns"},"spec":{},"status":{"conditions":[
     {"type":"PodResizePending","status":"True","reason":"Infeasible"}]}})";
  const std::vector<std::string> lines = LinesOf(kPod);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("infeasible=true"), std::string::npos) << lines[0];
  for (const ObjectFormat format : {ObjectFormat::kJsonList, ObjectFormat::kYamlDocuments}) {
    std::string out;
    ObjectWriter writer(format, [&out](std::string_view bytes) {
      out += bytes;
      return absl::OkStatus();
    });
    ImportStats stats;
    ASSERT_TRUE(ReadBytes("pod", kPod, writer, stats).ok());
    ASSERT_TRUE(writer.Finish().ok());
    EXPECT_EQ(LinesOf(out), lines);
    EXPECT_NE(out.find("True"), std::string::npos) << "the condition holds: " << out;
  }
}

std::string ErrorOf(std::string_view text) {
  testing::DumpSink sink;
  ImportStats stats;
  return std::string(ReadBytes("f", text, sink, stats).message());
}

TEST(StorageFormsTest, AWrongFieldIsNamed) {
  EXPECT_EQ(ErrorOf(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv"},
                        "spec":{"capacity":{"storage":"4x"}}})"),
            "f: PersistentVolume pv: spec.capacity.storage: \"4x\" is not a quantity");
  EXPECT_EQ(ErrorOf(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",
                        "metadata":{"name":"c","namespace":"ns"},
                        "status":{"allocation":{"devices":{"results":[{"driver":7}]}}}})"),
            "f: ResourceClaim ns/c: status.allocation.devices.results[0].driver: 7 is not a "
            "string");
  EXPECT_EQ(ErrorOf(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice",
                        "metadata":{"name":"s"},"spec":{"driver":"d","nodeName":"n"}})"),
            "f: ResourceSlice s: spec.pool.name: is missing");
}

// Symptom: an unknown field replaced the `csi` source, so that the volume no longer counted against
// the node's limit.
TEST(StorageFormsTest, AVolumeWithAnUnknownFieldKeepsItsSourceAndFitsNowhere) {
  const auto volume = [](const std::string& more) {
    ClusterLoader loader;
    ImportStats stats;
    EXPECT_TRUE(ReadBytes("pv",
                          R"({"kind":"PersistentVolume","metadata":{"name":"v"},"spec":{)"
                          R"("csi":{"driver":"d","volumeHandle":"h"})" +
                              more + "}}",
                          loader, stats)
                    .ok());
    absl::StatusOr<LoadedCluster> cluster = std::move(loader).Finish();
    EXPECT_TRUE(cluster.ok());
    const Catalog& catalog = cluster->snapshot.catalog();
    const VolumeInfo& info = *catalog.storage().VolumesOfClass(kNoText)[0];
    return std::make_pair(info.is_csi, info.affinity.everywhere);
  };
  EXPECT_EQ(volume(""), std::make_pair(true, true));
  EXPECT_EQ(volume(R"(,"mountOptions":["ro"])"), std::make_pair(true, true));
  EXPECT_EQ(volume(R"(,"cosmicDisk":{"id":"x"})"), std::make_pair(true, false));
  EXPECT_EQ(volume(R"(,"cosmicDisk":{},"nodeAffinity":{"required":{"nodeSelectorTerms":[)"
                   R"({"matchExpressions":[{"key":"a","operator":"Exists"}]}]}})"),
            std::make_pair(true, false));
}

}  // namespace
}  // namespace ebb::storage_forms_test
