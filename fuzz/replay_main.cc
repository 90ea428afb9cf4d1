// Runs each file of the given folders through a fuzz target once, so that targets keep building and
// fixed bugs stay fixed in builds without clang's libFuzzer.
//
//   x_fuzzer PATH...     files, or folders whose files are run in the order of their names
//
// Exits with 1 if a path does not exist.  A folder may be without files: the empty input is always
// run too.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

void Run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

std::vector<fs::path> FilesOf(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  Run("");
  size_t inputs = 1;
  for (int i = 1; i < argc; ++i) {
    std::error_code error;
    if (!fs::exists(argv[i], error)) {
      std::fprintf(stderr, "%s: no such file or folder\n", argv[i]);
      return 1;
    }
    for (const fs::path& file : FilesOf(argv[i])) {
      // Printed before the run, so that the line names the file if the target crashes.
      std::printf("%s\n", file.c_str());
      std::fflush(stdout);
      std::ifstream stream(file, std::ios::binary);
      Run(std::string(std::istreambuf_iterator<char>(stream), {}));
      ++inputs;
    }
  }
  std::printf("%zu inputs\n", inputs);
  return 0;
}
