#include "cli/print/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace ebb {
namespace {

size_t ColumnsOf(int file) {
  if (const char* const text = std::getenv("COLUMNS"); text != nullptr) {
    const std::string_view columns = text;
    size_t number = 0;
    const auto [end, error] = std::from_chars(text, text + columns.size(), number);
    if (error == std::errc() && end == text + columns.size() && number > 0) return number;
  }
  winsize size{};
  return ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// Source: https://no-color.org: no colour if NO_COLOR is set and not empty.
bool MayColour() {
  const char* const text = std::getenv("NO_COLOR");
  return text == nullptr || *text == '\0';
}

}  // namespace

Terminal OutputTerminal() {
  if (isatty(STDOUT_FILENO) == 0) return {};
  return {.is_terminal = true, .colour = MayColour(), .columns = ColumnsOf(STDOUT_FILENO)};
}

}  // namespace ebb
