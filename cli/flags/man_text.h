// What a man page says beyond the flags: a description, and the files that a command knows.

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
  std::string_view command;      // As it is typed: "ebb import openb".
  std::string_view description;  // Paragraphs, with an empty line between.
  std::span<const ManFile> files;
};

// Null: none is written for this command.
const ManText* FindManText(std::string_view command);

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_MAN_TEXT_H_
