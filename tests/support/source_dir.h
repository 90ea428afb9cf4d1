// The folder of the sources, for tests that read a file of the tree.

#ifndef EBB_TESTS_SUPPORT_SOURCE_DIR_H_
#define EBB_TESTS_SUPPORT_SOURCE_DIR_H_

#include <string>

namespace ebb {

// The top folder of the tree that the test was built from, without a slash at its end.  Only one
// file is compiled with this path, so that ccache shares all other files between worktrees.
std::string SourceDir();

}  // namespace ebb

#endif  // EBB_TESTS_SUPPORT_SOURCE_DIR_H_
