#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

#include "base/printable.h"
#include "cli/cli.h"
#include "cli/print/standard_output.h"

namespace {

int Run(int argc, char** argv, std::ostream& out, std::ostream& err) {
  try {
    return ebb::RunCli(argc, argv, std::cin, out, err);
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
  ebb::PrepareDescriptors();
  std::ios::sync_with_stdio(false);
  ebb::StandardOutput output;
  ebb::StandardError error;
  const int code = Run(argc, argv, output.stream(), error.stream());
  return output.Finish(code, error.stream());
}
