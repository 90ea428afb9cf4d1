// Lists of machine types as the clouds' tools print them, for MachineFile:
//
//   aws ec2 describe-instance-types --output json
//   gcloud compute machine-types list --format=json
//   az vm list-skus --resource-type virtualMachines --output json
//
//   if (!IsCloudMachineList(text)) return absl::OkStatus();
//   return ReadCloudMachines("types.json", text, file);
//
// Such a list names no groups and no prices, and says what a machine has, not what pods may use of
// it.  So the reader subtracts what the cloud's managed Kubernetes reserves:
//
//   AWS    pods = ENIs * (IPv4 addresses - 1) + 2.  Reserved memory 255 MiB + 11 MiB a pod.
//   GCP    110 pods.  Reserved memory 25% of the first 4 GiB, 20% of the next 4, 10% of the next 8,
//          6% of the next 112, 2% of the rest.
//   Azure  110 pods.  Reserved memory 50 MiB + 20 MiB a pod, at most 25%; CPU by a table.
//   AWS and GCP reserve 6% of the first CPU, 1% of the second, 0.5% of the next two, 0.25% of the
//   rest.  All evict below 100 MiB of memory.
//
// The kernel of a virtual machine sees less memory than is sold.  7.5% is subtracted for that,
// Karpenter's default (vmMemoryOverheadPercent).
//
// Units:   as objects.h.
// Errors:  InvalidArgument naming file, item and field.
// Cost:    one pass over the text.
// Threads: pure functions.
// Source:  amazon-eks-ami (max-pods, bootstrap), GKE "Plan node sizes", AKS "Node resource
//          reservations".

#ifndef EBB_GROUPS_CLOUD_MACHINES_H_
#define EBB_GROUPS_CLOUD_MACHINES_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "groups/machine_file.h"

namespace ebb {

// Whether the text is such a list, by its start.
bool IsCloudMachineList(std::string_view text);
// Adds the machines.  `name` stands for the file in errors.
absl::Status ReadCloudMachines(const std::string& name, std::string_view text, MachineFile& to);

}  // namespace ebb

#endif  // EBB_GROUPS_CLOUD_MACHINES_H_
