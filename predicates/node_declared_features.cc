#include "predicates/node_declared_features.h"

#include <algorithm>
#include <optional>

namespace ebb {
namespace {

bool Declares(const Catalog& catalog, const NodeInfo& node, std::string_view feature) {
  const std::optional<TextId> id = catalog.symbols().Find(feature);
  return id &&
         std::binary_search(node.declared_features.begin(), node.declared_features.end(), *id);
}

}  // namespace

bool FitsNodeDeclaredFeatures(const Catalog& catalog, const PodShape& shape, const NodeInfo& node) {
  if (shape.needs_restart_all_containers &&
      !Declares(catalog, node, "RestartAllContainersOnContainerExits")) {
    return false;
  }
  if (shape.needs_host_network_user_namespaces &&
      !Declares(catalog, node, "UserNamespacesHostNetworkSupport")) {
    return false;
  }
  return !shape.needs_bind_mount_options ||
         catalog.kubernetes_version() < KubernetesVersion::k137 ||
         Declares(catalog, node, "VolumeBindMountOptions");
}

}  // namespace ebb
