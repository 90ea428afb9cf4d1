// The name of a node group, as the autoscaler's cloud providers take it in --nodes=MIN:MAX:NAME.
//
// Most providers take any text without a colon: the name or the id of a group, or a path or URL
// whose last part is the name (Cluster API).  Two take more:
//
//   Hetzner  TYPE:REGION:NAME, as cpx31:fsn1:workers.  NAME is the group.
//   GCE      https://HOST/.../projects/P/zones/Z/instanceGroups/NAME, a managed instance
//            group of one zone; also without https://HOST/.../.
//
// Any other text with a colon is not a name.
// Source: cluster-autoscaler config/dynamic/node_group_spec.go; cloudprovider/hetzner
// createNodePoolSpec; cloudprovider/gce/gce_url.go.

#ifndef EBB_GROUPS_CLOUD_GROUP_NAME_H_
#define EBB_GROUPS_CLOUD_GROUP_NAME_H_

#include <optional>
#include <string>
#include <string_view>

namespace ebb {

struct CloudGroupName {
  enum class Form { kPlain, kHetzner, kInstanceGroup };
  Form form = Form::kPlain;
  std::string name;  // Not empty.
  // For an instance group.
  std::string project;
  std::string zone;
};

// nullopt: no provider accepts such a name.
std::optional<CloudGroupName> ReadCloudGroupName(std::string_view text);

// What distinguishes a node of a cloud from others.
struct CloudNode {
  std::string_view name;
  std::string_view provider_id;  // spec.providerID; may be empty.
  std::string_view zone;         // topology.kubernetes.io/zone; may be empty.
};

// Whether the names alone show that the node is a machine of the group:
//   AKS      the scale set is part of spec.providerID; without one, the node is called as
//            the scale set, whose name ends with -vmss, and six characters more.
//   GCE      the machine is called as the instance group (without -grp) and four
//            characters more, and is in its project and zone.
//   Hetzner  the server is called NAME-HEX, as the autoscaler calls the servers that it makes.
// The names of other providers' machines do not show it.
bool IsMachineOf(const CloudGroupName& group, const CloudNode& node);

}  // namespace ebb

#endif  // EBB_GROUPS_CLOUD_GROUP_NAME_H_
