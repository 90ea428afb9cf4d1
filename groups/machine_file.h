// MachineFile: machine types that a file lists, besides those of the cluster's nodes
// (machine_types.h reads it).
//
//   MachineFile file{.file = "types.yaml", .machines = {}};
//
// Units:   as objects.h: milli-CPU, else whole units; prices per hour.
// Threads: plain data.

#ifndef EBB_GROUPS_MACHINE_FILE_H_
#define EBB_GROUPS_MACHINE_FILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ebb {

struct MachineTaint {
  std::string key;
  std::string value;
  std::string effect;
};

// A machine of the file.
struct FileMachine {
  struct Offer {
    std::vector<std::string> zones;
    std::string capacity_type;
    std::optional<double> hourly;
  };
  std::string name;
  std::vector<std::string> groups;  // Of a cloud's list: empty.
  std::map<std::string, int64_t> capacity;
  std::map<std::string, int64_t> allocatable;  // The capacity without the overhead.
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> pool_labels;  // On nodes of Karpenter.
  std::vector<MachineTaint> taints;
  std::vector<Offer> offers;
  bool assumes_pods = false;         // The number of pods is the kubelet's default.
  bool assumes_no_overhead = false;  // All of the capacity is allocatable.
};

struct MachineFile {
  std::string file;
  std::vector<FileMachine> machines;
  // Printed by a cloud's tool (cloud_machines.h).  The machines are offered to the groups that have
  // a NodePool, and to `groups`.
  bool is_cloud_list = false;
  std::vector<std::string> groups = {};
};

}  // namespace ebb

#endif  // EBB_GROUPS_MACHINE_FILE_H_
