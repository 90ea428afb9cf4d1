#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>

#include "tools/cli.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  try {
    return ebb::RunCli(argc, argv, std::cin, std::cout, std::cerr);
  } catch (const std::exception& e) {  // Out of memory, and little else.
    std::cerr << "ebb: " << e.what() << "\n";
    return 1;
  }
}
