// Whether another user may put another file or folder in the place of a given one.
//
// The rules are those of OpenSSH's StrictModes for the files of a user.  Every folder on the path
// must belong to this user or to root, and other users must not have write permission.  An
// exception is a sticky folder, such as /tmp, if the entry in it belongs to this user or to root.
// A folder at which a file system is mounted may be writable by others: volumes of a pod have mode
// 0777, and the pod that mounts a volume decides which containers may write it.

#ifndef EBB_PLATFORM_FOLDER_OWNER_H_
#define EBB_PLATFORM_FOLDER_OWNER_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"

namespace ebb {

// The facts that are checked about a folder or about an entry in it.
struct PlaceFacts {
  uid_t uid = 0;
  mode_t mode = 0;
  bool is_mount = false;  // A file system is mounted there.
};

// Why a user other than `user` may replace `entry`, which is in `folder`; "" if no other user may.
std::string WhyReplaceable(const PlaceFacts& folder, const PlaceFacts& entry, uid_t user);

// Returns OK if no other user may replace `path`, create it where it does not exist, or replace a
// folder above it.  Symbolic links on the path are followed and checked too.
// Errors: InvalidArgument, naming the folder that is the reason; NotFound and others of the system.
absl::Status CheckOnlyWeMayReplace(const std::string& path);

}  // namespace ebb

#endif  // EBB_PLATFORM_FOLDER_OWNER_H_
