// Who else may put another file or folder in the place of one.
//
// As OpenSSH's StrictModes judges the files of a user: every folder on the way must be this user's
// or root's, and others may not write it, unless it is sticky, as /tmp is, and what is in it is
// this user's or root's.  A folder at which a file system is mounted may be written by others:
// volumes of a pod have mode 0777, and whether a container may write one is decided by the pod that
// mounts it.

#ifndef EBB_PLATFORM_FOLDER_OWNER_H_
#define EBB_PLATFORM_FOLDER_OWNER_H_

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"

namespace ebb {

// What is looked at of a folder or of something in it.
struct PlaceFacts {
  uid_t uid = 0;
  mode_t mode = 0;
  bool is_mount = false;  // A file system is mounted there.
};

// Whether another user than `user` may replace `entry`, which is in `folder`; "": none may, else
// why.
std::string WhyReplaceable(const PlaceFacts& folder, const PlaceFacts& entry, uid_t user);

// That no other user may replace `path`, or make it where it is not there, or replace a folder
// above it.  Symbolic links on the way are followed, and judged too. Errors: InvalidArgument,
// naming the folder that is the reason; NotFound and others of the system.
absl::Status CheckOnlyWeMayReplace(const std::string& path);

}  // namespace ebb

#endif  // EBB_PLATFORM_FOLDER_OWNER_H_
