#include "tests/support/source_dir.h"

namespace ebb {

std::string SourceDir() { return EBB_SOURCE_DIR; }

}  // namespace ebb
