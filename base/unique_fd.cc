#include "base/unique_fd.h"

#include <unistd.h>

namespace ebb {

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace ebb
