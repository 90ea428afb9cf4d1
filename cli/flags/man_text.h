// The parts of a man page that do not come from flags: a description, and the files of a command.

#ifndef EBB_CLI_FLAGS_MAN_TEXT_H_
#define EBB_CLI_FLAGS_MAN_TEXT_H_

#include <span>
#include <string_view>

namespace ebb {

struct ManFile {
  std::string_view name;
  std::string_view what;
};

struct ManText {
  std::string_view command;      // As a user types it: "ebb import openb".
  std::string_view description;  // Paragraphs, with an empty line between.
  std::span<const ManFile> files;
};

// Null: the command has no such text.
const ManText* FindManText(std::string_view command);

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_MAN_TEXT_H_
