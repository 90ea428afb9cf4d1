#include "tests/support/dump_sink.h"

#include <cstdint>
#include <optional>
#include <type_traits>

#include "snapshot/objects/visit_fields.h"

namespace ebb::testing {
namespace {

using objects::Text;

// These asserts fail when objects.h gains a field; then add the field to the functions below.
#if defined(__GLIBCXX__) && defined(__x86_64__)
static_assert(sizeof(objects::ObjectMeta) == 144, "spell out the new field here");
static_assert(sizeof(objects::Node) == 360, "spell out the new field here");
static_assert(sizeof(objects::Pod) == 840, "spell out the new field here");
#endif

// Appends " name=value" for each field that is set.  Texts are in brackets, so that one value
// cannot look like two.
class Line {
 public:
  explicit Line(std::string_view kind) : text_(kind) {}

  Line& Put(std::string_view name, Text value) {
    if (!value.empty()) Name(name).append("[").append(value).append("]");
    return *this;
  }
  Line& Put(std::string_view name, int64_t value) {
    if (value != 0) Name(name).append(std::to_string(value));
    return *this;
  }
  Line& Put(std::string_view name, bool value) {
    if (value) Name(name).append("true");
    return *this;
  }
  template <typename T>
  Line& Put(std::string_view name, const std::optional<T>& value) {
    if (value.has_value()) Name(name).append(std::to_string(*value));
    return *this;
  }
  Line& Put(std::string_view name, const objects::KeyValues& map) {
    for (const objects::KeyValue& each : map) {
      Name(name).append("[").append(each.key).append("]:[").append(each.value).append("]");
    }
    return *this;
  }
  Line& Put(std::string_view name, const objects::ResourceList& list) {
    for (const objects::ResourceAmount& each : list) {
      Name(name).append("[").append(each.name).append("]:").append(std::to_string(each.amount));
      if (each.excess != 0) text_.append("-").append(std::to_string(each.excess)).append("e-9");
    }
    return *this;
  }
  Line& Put(std::string_view name, const std::vector<Text>& texts) {
    for (const Text each : texts) Name(name).append("[").append(each).append("]");
    return *this;
  }
  Line& Put(std::string_view name, const std::vector<objects::Requirement>& requirements) {
    for (const objects::Requirement& each : requirements) {
      Line inner("(");
      inner.Put("key", each.key).Put("op", each.op).Put("values", each.values);
      Name(name).append(inner.text_).append(")");
    }
    return *this;
  }
  Line& Put(std::string_view name, const objects::LabelSelector& selector) {
    if (selector.nil) return *this;
    Line inner("(");
    inner.Put("labels", selector.match_labels).Put("expressions", selector.match_expressions);
    Name(name).append(inner.text_).append(")");
    return *this;
  }
  Line& Put(std::string_view name, const objects::NodeSelector& selector) {
    if (selector.nil) return *this;
    Name(name).append("terms");
    for (const objects::NodeSelectorTerm& each : selector.terms) Put("term", each);
    return *this;
  }
  Line& Put(std::string_view name, const objects::NodeSelectorTerm& term) {
    Line inner("(");
    inner.Put("expressions", term.match_expressions).Put("fields", term.match_fields);
    Name(name).append(inner.text_).append(")");
    return *this;
  }
  Line& Put(std::string_view name, const std::vector<objects::PreferredNodeTerm>& terms) {
    for (const auto& [weight, term] : terms) Put("weight", weight).Put(name, term);
    return *this;
  }
  Line& Put(std::string_view name, const std::vector<objects::PreferredPodTerm>& terms) {
    for (const auto& [weight, term] : terms) {
      Put("weight", weight).Put(name, std::vector<objects::PodAffinityTerm>{term});
    }
    return *this;
  }
  Line& Put(std::string_view name, const std::vector<objects::PodAffinityTerm>& terms) {
    for (const objects::PodAffinityTerm& each : terms) {
      Line inner("(");
      inner.Put("selector", each.label_selector).Put("namespaces", each.namespaces);
      inner.Put("in", each.namespace_selector).Put("key", each.topology_key);
      Name(name).append(inner.text_).append(")");
    }
    return *this;
  }
  Line& Put(std::string_view name, const std::vector<objects::Container>& containers) {
    for (const objects::Container& each : containers) {
      Line inner("(");
      inner.Put("name", each.name).Put("image", each.image).Put("restart", each.restart_policy);
      inner.Put("requests", each.requests).Put("all", each.restarts_all_containers);
      for (const objects::ContainerPort& port : each.ports) {
        inner.Put("ip", port.host_ip).Put("port", port.host_port).Put("protocol", port.protocol);
      }
      Name(name).append(inner.text_).append(")");
    }
    return *this;
  }
  Line& Put(std::string_view name, const objects::ObjectMeta& meta) {
    Put(name, meta.name).Put("namespace", meta.namespace_name).Put("uid", meta.uid);
    Put("label", meta.labels).Put("annotation", meta.annotations);
    for (const objects::OwnerReference& each : meta.owners) {
      Line inner("(");
      inner.Put("api", each.api_version).Put("kind", each.kind).Put("name", each.name);
      inner.Put("uid", each.uid).Put("controller", each.controller);
      Name("owner").append(inner.text_).append(")");
    }
    return Put("created", meta.creation_time).Put("deleted", meta.deletion_time);
  }

  // Any struct of the table of fields, field by field.
  template <objects::HasFields Struct>
    requires(!std::is_same_v<Struct, objects::ObjectMeta> &&
             !std::is_same_v<Struct, objects::NodeSelector> &&
             !std::is_same_v<Struct, objects::NodeSelectorTerm>)
  Line& Put(std::string_view name, const Struct& object) {
    Line inner("(");
    objects::VisitFields(object, [&](Text field, const auto& value) { inner.Put(field, value); });
    Name(name).append(inner.text_).append(")");
    return *this;
  }
  template <objects::HasFields Struct>
    requires(!std::is_same_v<Struct, objects::KeyValue>)
  Line& Put(std::string_view name, const std::vector<Struct>& list) {
    for (const Struct& each : list) Put(name, each);
    return *this;
  }

  const std::string& text() const { return text_; }

 private:
  std::string& Name(std::string_view name) { return text_.append(" ").append(name).append("="); }

  std::string text_;
};

void PutSpread(const objects::Pod& pod, Line& line) {
  for (const objects::TopologySpreadConstraint& each : pod.spread) {
    line.Put("spread.key", each.topology_key).Put("skew", each.max_skew);
    line.Put("when", each.when_unsatisfiable).Put("selector", each.label_selector);
    line.Put("keys", each.match_label_keys).Put("domains", each.min_domains);
    line.Put("affinity", each.node_affinity_policy).Put("taints", each.node_taints_policy);
  }
}

void PutVolumes(const objects::Pod& pod, Line& line) {
  for (const objects::Volume& each : pod.volumes) {
    line.Put("volume", each.name).Put("source", each.source).Put("medium", each.medium);
    line.Put("claim", each.claim_name).Put("id", each.id).Put("pool", each.pool);
    line.Put("monitors", each.monitors).Put("driver", each.driver).Put("ro", each.read_only);
  }
}

void PutStatus(const objects::Pod& pod, Line& line) {
  line.Put("phase", pod.phase).Put("nominated", pod.nominated_node_name);
  line.Put("start", pod.start_time);
  line.Put("unready", pod.unready).Put("infeasible", pod.resize_infeasible);
  // Printed only where it does not follow from the phase.
  using enum objects::Scheduling;
  constexpr const char* kNames[] = {"NotRecorded", "Unprocessed", "Unschedulable", "Gated",
                                    "Other"};
  if (pod.scheduling != (pod.phase.empty() ? kNotRecorded : kUnprocessed)) {
    line.Put("scheduling", Text(kNames[static_cast<size_t>(pod.scheduling)]));
  }
  for (const objects::ContainerStatus& each : pod.container_statuses) {
    line.Put("status", each.name).Put("has", each.has_resources);
    line.Put("requests", each.requests).Put("allocated", each.allocated);
  }
  line.Put("has_status", pod.has_pod_status_resources).Put("claimed", pod.claimed);
  line.Put("status_requests", pod.pod_status_requests).Put("allocated", pod.pod_allocated);
}

Line Dumped(const objects::PersistentVolume& volume) {
  Line line("PersistentVolume");
  line.Put("name", volume.meta).Put("capacity", volume.capacity_bytes);
  line.Put("modes", volume.access_modes).Put("class", volume.storage_class_name);
  line.Put("mode", volume.volume_mode).Put("attributes", volume.volume_attributes_class_name);
  if (volume.claim) {
    line.Put("claim", volume.claim->name).Put("in", volume.claim->namespace_name);
    line.Put("claim_uid", volume.claim->uid);
  }
  line.Put("affinity", volume.required_node_affinity).Put("source", volume.source);
  line.Put("driver", volume.driver).Put("id", volume.id).Put("kind", volume.disk_kind);
  return line.Put("phase", volume.phase);
}

Line Dumped(const objects::PersistentVolumeClaim& claim) {
  Line line("PersistentVolumeClaim");
  line.Put("name", claim.meta).Put("modes", claim.access_modes);
  line.Put("class", claim.storage_class_name).Put("mode", claim.volume_mode);
  line.Put("attributes", claim.volume_attributes_class_name).Put("volume", claim.volume_name);
  line.Put("selector", claim.selector).Put("request", claim.request_bytes);
  return line.Put("phase", claim.phase);
}

Line Dumped(const objects::StorageClass& storage_class) {
  Line line("StorageClass");
  line.Put("name", storage_class.meta).Put("provisioner", storage_class.provisioner);
  line.Put("mode", storage_class.volume_binding_mode);
  for (const objects::TopologyTerm& term : storage_class.allowed_topologies) {
    line.Put("term", static_cast<int64_t>(term.size()));
    for (const objects::TopologyRequirement& each : term) {
      line.Put("key", each.key).Put("values", each.values);
    }
  }
  return line;
}

Line Dumped(const objects::CsiDriver& driver) {
  return Line("CSIDriver")
      .Put("name", driver.meta)
      .Put("capacity", driver.storage_capacity)
      .Put("prevents", driver.prevents_scheduling);
}

Line Dumped(const objects::CsiNode& node) {
  Line line("CSINode");
  line.Put("name", node.meta);
  for (const objects::CsiNode::Driver& each : node.drivers) {
    line.Put("driver", each.name).Put("max", each.volumes_max);
  }
  return line;
}

Line Dumped(const objects::VolumeAttachment& attachment) {
  Line line("VolumeAttachment");
  line.Put("name", attachment.meta).Put("attacher", attachment.attacher);
  line.Put("node", attachment.node_name);
  return attachment.volume_name ? line.Put("volume", *attachment.volume_name) : line;
}

Line Dumped(const objects::CsiStorageCapacity& capacity) {
  Line line("CSIStorageCapacity");
  line.Put("name", capacity.meta).Put("class", capacity.storage_class_name);
  line.Put("topology", capacity.node_topology).Put("capacity", capacity.capacity_bytes);
  return line.Put("max", capacity.maximum_volume_size_bytes);
}

Line Dumped(const objects::DeviceClass& device_class) {
  return Line("DeviceClass")
      .Put("name", device_class.meta)
      .Put("resource", device_class.extended_resource_name)
      .Put("selector", device_class.selectors)
      .Put("notUnderstood", device_class.not_understood);
}

Line Dumped(const objects::ResourceClaim& claim) {
  Line line("ResourceClaim");
  line.Put("name", claim.meta).Put("allocated", claim.allocated);
  for (const objects::ResourceClaim::Device& device : claim.devices) {
    line.Put("driver", device.driver).Put("pool", device.pool).Put("device", device.name);
    line.Put("admin", device.admin_access).Put("share", device.share_id);
    line.Put("consumed", device.consumed).Put("binding", device.binding_conditions);
    line.Put("failure", device.binding_failure_conditions);
  }
  line.Put("status", claim.statuses);
  line.Put("request", claim.requests).Put("constraint", claim.constraints);
  line.Put("on", claim.allocated_on).Put("for", claim.reserved_for);
  return line.Put("notUnderstood", claim.not_understood);
}

Line Dumped(const objects::ResourceClaimTemplate& from) {
  return Line("ResourceClaimTemplate").Put("name", from.meta);
}

Line Dumped(const objects::ResourceSlice& slice) {
  Line line("ResourceSlice");
  line.Put("name", slice.meta).Put("driver", slice.driver).Put("pool", slice.pool);
  line.Put("node", slice.node_name).Put("generation", slice.generation);
  line.Put("slices", slice.slice_count).Put("nodes", slice.node_selector);
  line.Put("all", slice.all_nodes).Put("perDevice", slice.per_device_nodes);
  line.Put("device", slice.devices).Put("counters", slice.shared_counters);
  return line.Put("notUnderstood", slice.not_understood);
}

Line Dumped(const objects::DeviceTaintRule& rule) {
  Line line("DeviceTaintRule");
  line.Put("name", rule.meta).Put("driver", rule.driver).Put("pool", rule.pool);
  line.Put("device", rule.device).Put("taint", rule.taint);
  return line.Put("notUnderstood", rule.not_understood);
}

Line Dumped(const objects::Machine& machine) {
  Line line("Machine");
  line.Put("name", machine.meta).Put("group", machine.group).Put("node", machine.node_name);
  return line.Put("provider", machine.provider_id);
}

Line Dumped(const objects::NodeClaim& claim) {
  Line line("NodeClaim");
  line.Put("name", claim.meta).Put("node", claim.node_name);
  line.Put("provider", claim.provider_id);
  for (const auto& [type, status, since] : claim.conditions) {
    line.Put("condition", type).Put("is", status).Put("since", since);
  }
  return line.Put("podEvent", claim.last_pod_event);
}

Line Dumped(const objects::NodePool& pool) {
  Line line("NodePool");
  line.Put("name", pool.meta).Put("static", pool.is_static).Put("policy", pool.policy);
  line.Put("after", pool.consolidate_after).Put("has_budgets", pool.has_budgets);
  line.Put("notUnderstood", pool.not_understood);
  for (const objects::NodePool::Budget& budget : pool.budgets) {
    line.Put("budget", budget.nodes).Put("has_reasons", budget.has_reasons);
    line.Put("reasons", budget.reasons).Put("schedule", budget.schedule.value_or("-"));
    line.Put("duration", budget.duration.value_or("-"));
  }
  line.Put("weight", pool.weight).Put("limits", pool.limits).Put("resources", pool.resources);
  line.Put("label", pool.labels).Put("notBought", pool.not_bought);
  for (const objects::NodePool::Requirement& each : pool.requirements) {
    line.Put("key", each.key).Put("op", each.op).Put("value", each.values);
    line.Put("min", each.min_values);
  }
  for (const auto& [name, taints] :
       {std::pair("taint", &pool.taints), std::pair("startup", &pool.startup_taints)}) {
    for (const objects::Taint& taint : *taints) {
      line.Put(name, taint.key).Put("=", taint.value).Put(":", taint.effect);
    }
  }
  return line;
}

Line Dumped(const objects::PodGroup& pods) {
  Line line("PodGroup");
  line.Put("name", pods.meta).Put("group", pods.group).Put("min_count", pods.min_count);
  return line.Put("whole", pods.whole).Put("notUnderstood", pods.not_understood);
}

Line Dumped(const objects::PodTemplate& from) {
  Line line("PodTemplate");
  line.Put("name", from.meta).Put("pod", from.pod.meta).Put("container", from.pod.containers);
  line.Put("priority", from.pod.priority);
  return line.Put("selector", from.pod.node_selector);
}

Line Dumped(const objects::EvictionRequest& request) {
  Line line("EvictionRequest");
  line.Put("name", request.meta).Put("pod", request.pod).Put("uid", request.uid);
  return line.Put("requester", request.requester).Put("active", request.active);
}

Line Dumped(const objects::CapacityBuffer& buffer) {
  Line line("CapacityBuffer");
  line.Put("name", buffer.meta).Put("strategy", buffer.strategy);
  line.Put("template", buffer.template_name).Put("replicas", buffer.replicas);
  return line.Put("ready", buffer.ready);
}

Line Dumped(const objects::VerticalPodAutoscaler& vpa) {
  Line line("VerticalPodAutoscaler");
  line.Put("name", vpa.meta).Put("kind", vpa.target_kind).Put("target", vpa.target_name);
  line.Put("mode", vpa.update_mode).Put("recommended", vpa.has_recommendation);
  for (const objects::VerticalPodAutoscaler::Policy& policy : vpa.policies) {
    line.Put("policy", policy.container).Put("mode", policy.mode).Put("min", policy.min_allowed);
    line.Put("max", policy.max_allowed).Put("has_controlled", policy.has_controlled);
    line.Put("controlled", policy.controlled);
  }
  for (const auto& [container, target] : vpa.recommendations) {
    line.Put("container", container).Put("recommends", target);
  }
  return line.Put("notUnderstood", vpa.not_understood);
}

Line Dumped(const objects::Service& service) {
  Line line("Service");
  return line.Put("name", service.meta).Put("selector", service.selector);
}

}  // namespace

absl::Status DumpSink::OnStorageObject(const objects::StorageObject& object) {
  lines_.push_back(std::visit([](const auto& o) { return Dumped(o).text(); }, object));
  return absl::OkStatus();
}

absl::Status DumpSink::OnNode(const objects::Node& node) {
  Line line("Node");
  line.Put("name", node.meta).Put("unschedulable", node.unschedulable);
  line.Put("provider", node.provider_id);
  for (const objects::Taint& each : node.taints) {
    line.Put("taint", each.key).Put("value", each.value).Put("effect", each.effect);
  }
  line.Put("allocatable", node.allocatable).Put("capacity", node.capacity);
  for (const objects::NodeCondition& each : node.conditions) {
    line.Put("condition", each.type).Put("is", each.status);
  }
  line.Put("feature", node.declared_features);
  for (const objects::NodeImage& each : node.images) {
    line.Put("image", each.names).Put("bytes", each.size_bytes);
  }
  line.Put("os", node.operating_system).Put("arch", node.architecture);
  line.Put("kubelet", node.kubelet_version);
  lines_.push_back(line.text());
  return absl::OkStatus();
}

absl::Status DumpSink::OnPod(const objects::Pod& pod) {
  Line line("Pod");
  line.Put("name", pod.meta).Put("node", pod.node_name).Put("priority", pod.priority);
  line.Put("os", pod.os_name).Put("mounts", pod.has_bind_mount_options);
  line.Put("restart", pod.restart_policy).Put("grace", pod.termination_grace_period_s);
  line.Put("host_network", pod.host_network).Put("host_users", pod.host_users);
  line.Put("selector", pod.node_selector).Put("has_selector", pod.has_node_selector);
  line.Put("node_affinity", pod.required_node_affinity);
  line.Put("affinity", pod.affinity).Put("anti", pod.anti_affinity);
  line.Put("likes", pod.preferred_nodes).Put("near", pod.preferred_affinity);
  line.Put("far", pod.preferred_anti_affinity);
  for (const objects::Toleration& each : pod.tolerations) {
    line.Put("tolerates", std::string_view("yes")).Put("key", each.key).Put("op", each.op);
    line.Put("value", each.value).Put("effect", each.effect);
  }
  PutSpread(pod, line);
  line.Put("container", pod.containers).Put("init", pod.init_containers);
  line.Put("overhead", pod.overhead).Put("has_resources", pod.has_pod_resources);
  line.Put("requests", pod.pod_requests);
  PutVolumes(pod, line);
  for (const objects::PodResourceClaim& each : pod.resource_claims) {
    line.Put("claims", each.name).Put("claim", each.claim_name);
    line.Put("template", each.template_name);
  }
  PutStatus(pod, line);
  line.Put("scheduling_group", pod.scheduling_group);
  line.Put("not_understood", pod.not_understood);
  line.Put("scheduler", pod.scheduler_name);
  lines_.push_back(line.text());
  return absl::OkStatus();
}

absl::Status DumpSink::OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) {
  Line line("PodDisruptionBudget");
  line.Put("name", budget.meta).Put("selector", budget.selector);
  line.Put("allowed", budget.disruptions_allowed);
  line.Put("always_allows", budget.always_allows_unready);
  line.Put("sync_failed", budget.sync_failed).Put("sync_message", budget.sync_message);
  line.Put("desired", budget.desired_healthy).Put("expected", budget.expected_pods);
  line.Put("healthy", budget.current_healthy);
  lines_.push_back(line.text());
  return absl::OkStatus();
}

absl::Status DumpSink::OnController(const objects::Controller& controller) {
  Line line("Controller");
  line.Put("kind", static_cast<int64_t>(controller.kind)).Put("name", controller.meta);
  line.Put("wanted", controller.spec_replicas).Put("completions", controller.completions);
  line.Put("present", controller.status_replicas).Put("succeeded", controller.succeeded);
  line.Put("selector", controller.selector);
  lines_.push_back(line.text());
  return absl::OkStatus();
}

absl::Status DumpSink::OnNamespace(const objects::Namespace& namespace_object) {
  Line line("Namespace");
  line.Put("name", namespace_object.meta);
  lines_.push_back(line.text());
  return absl::OkStatus();
}

absl::Status DumpSink::OnIgnored(std::string_view kind) {
  ignored_.emplace_back(kind);
  return absl::OkStatus();
}

}  // namespace ebb::testing
