#include <nss.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

#include "base/printable.h"
#include "base/version.h"
#include "cli/cli.h"
#include "cli/print/standard_output.h"
#include "tools/stamp.h"

namespace {

#ifdef EBB_PORTABLE
constexpr bool kPortable = true;
#else
constexpr bool kPortable = false;
#endif

constexpr ebb::BuildInfo kBuild{.commit = kCommit,
                                .commit_time = kCommitTime,
                                .changed = kCommitChanged,
                                .portable = kPortable};

// Names are then looked up by the code that is linked in.  Otherwise glibc would load the plugins
// that the machine's nsswitch.conf names, which need the machine's own glibc.
void LoadNoNamePlugins() {
  __nss_configure_lookup("hosts", "files dns");
  for (const char* database : {"group", "passwd", "protocols", "services"}) {
    __nss_configure_lookup(database, "files");
  }
}

int Run(int argc, char** argv, std::ostream& out, std::ostream& err) {
  try {
    return ebb::RunCli(argc, argv, std::cin, out, err, kBuild);
  } catch (const std::bad_alloc&) {
    ebb::PrintMessage("out of memory", err);
    return 1;
  } catch (const std::exception& e) {
    ebb::PrintMessage(e.what(), err);
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (kPortable) LoadNoNamePlugins();
  ebb::PrepareDescriptors();
  std::ios::sync_with_stdio(false);
  ebb::StandardOutput output;
  ebb::StandardError error;
  const int code = Run(argc, argv, output.stream(), error.stream());
  return output.Finish(code, error.stream());
}
