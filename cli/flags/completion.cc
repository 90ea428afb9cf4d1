#include "cli/flags/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/help_text.h"

namespace ebb {
namespace {

void ForEachCommand(const CLI::App& app, const std::function<void(const CLI::App&)>& visit) {
  visit(app);
  for (const CLI::App* sub : Commands(app)) ForEachCommand(*sub, visit);
}

std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<const CLI::Option*> Flags(const CLI::App& app) {
  std::vector<const CLI::Option*> flags = ShownOptions(app);
  std::erase_if(flags, [](const CLI::Option* option) { return option->get_positional(); });
  return flags;
}

std::vector<const CLI::Option*> Arguments(const CLI::App& app) {
  std::vector<const CLI::Option*> arguments = ShownOptions(app);
  std::erase_if(arguments, [](const CLI::Option* option) { return !option->get_positional(); });
  return arguments;
}

std::string Replaced(std::string_view text, char from, std::string_view to) {
  std::string replaced;
  for (const char c : text) c == from ? void(replaced += to) : replaced.push_back(c);
  return replaced;
}

std::string QuotedForFish(std::string_view text) {
  return "'" + Replaced(Replaced(text, '\\', "\\\\"), '\'', "\\'") + "'";
}

// The first line of the option's description, without its range.
std::string Short(const CLI::Option& option) {
  const std::string& text = option.get_description();
  return text.substr(0, text.find('\n'));
}

// The words that may follow a command: its subcommands, then the choices of its first argument.
std::vector<std::string> FirstWords(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* sub : Commands(app)) words.push_back(sub->get_name());
  if (const auto arguments = Arguments(app); !arguments.empty()) {
    for (std::string& choice : ChoicesOf(*arguments[0])) words.push_back(std::move(choice));
  }
  return words;
}

bool TakesFiles(const CLI::App& app) {
  for (const CLI::Option* argument : Arguments(app)) {
    if (KindOf(*argument) == ValueKind::kFile) return true;
  }
  return false;
}

std::string ZshAction(const CLI::Option& option) {
  const auto kind = KindOf(option);
  if (kind == ValueKind::kFile) return "_files";
  if (kind == ValueKind::kNode) return "_ebb_nodes";
  if (kind == ValueKind::kChoice) return fmt::format("({})", fmt::join(ChoicesOf(option), " "));
  return "";
}

// Escapes text for a specification of _arguments.
std::string ZshText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  std::string script = R"sh(# Completion of ebb for bash, made by `ebb completion bash`.
_ebb_files() {
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$1"))
}

_ebb_words() {
  COMPREPLY=($(compgen -W "$2" -- "$1"))
}

# The names of the nodes of the files that are on the line.
_ebb_nodes() {
  local word inputs=()
  for word in "${COMP_WORDS[@]:1}"; do
    [[ -f $word || -d $word ]] && inputs+=("$word")
  done
  [[ ${#inputs[@]} -gt 0 ]] || return
  _ebb_words "$1" "$("${COMP_WORDS[0]}" completion nodes "${inputs[@]}" 2>/dev/null)"
}

_ebb() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev='' command=ebb word i
  ((COMP_CWORD > 0)) && prev=${COMP_WORDS[COMP_CWORD - 1]}
  if [[ $cur == = ]]; then
    cur=''
  elif [[ $prev == = ]]; then  # --flag=value comes as three words.
    prev=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    case "$command $word" in
)sh";
  ForEachCommand(app, [&](const CLI::App& command) {
    if (command.get_parent() == nullptr) return;
    script += fmt::format("      '{} {}') command='{}' ;;\n", CommandPath(*command.get_parent()),
                          command.get_name(), CommandPath(command));
  });
  script += "    esac\n  done\n  case \"$command $prev\" in\n";
  ForEachCommand(app, [&](const CLI::App& command) {
    for (const CLI::Option* option : Flags(command)) {
      const auto kind = KindOf(*option);
      if (!kind || kind == ValueKind::kSwitch) continue;
      std::string action = "COMPREPLY=()";
      if (kind == ValueKind::kFile) action = "_ebb_files \"$cur\"";
      if (kind == ValueKind::kNode) action = "_ebb_nodes \"$cur\"";
      if (kind == ValueKind::kChoice) {
        action = fmt::format("_ebb_words \"$cur\" '{}'", fmt::join(ChoicesOf(*option), " "));
      }
      std::vector<std::string> patterns;
      for (const std::string& name : NamesOf(*option)) {
        patterns.push_back(fmt::format("'{} {}'", CommandPath(command), name));
      }
      script += fmt::format("    {}) {}; return ;;\n", fmt::join(patterns, " | "), action);
    }
  });
  script += "  esac\n  case \"$command\" in\n";
  ForEachCommand(app, [&](const CLI::App& command) {
    std::vector<std::string> flags;
    for (const CLI::Option* option : Flags(command)) {
      for (const std::string& name : NamesOf(*option)) flags.push_back(name);
    }
    script += fmt::format("    '{}')\n      if [[ $cur == -* ]]; then\n", CommandPath(command));
    script += fmt::format("        _ebb_words \"$cur\" '{}'\n", fmt::join(flags, " "));
    const std::vector<std::string> words = FirstWords(command);
    if (!words.empty()) {
      script +=
          fmt::format("      elif [[ $prev == {} ]]; then\n        _ebb_words \"$cur\" '{}'\n",
                      command.get_parent() == nullptr ? "\"${COMP_WORDS[0]}\"" : command.get_name(),
                      fmt::join(words, " "));
      if (TakesFiles(command)) {  // A file may stand there as well as a word.
        script += "        COMPREPLY+=($(compgen -f -- \"$cur\"))\n";
      }
    }
    if (TakesFiles(command)) script += "      else\n        _ebb_files \"$cur\"\n";
    script += "      fi\n      ;;\n";
  });
  return script + "  esac\n}\n\ncomplete -F _ebb ebb\n";
}

std::string ZshCompletion(const CLI::App& app) {
  std::string script = R"sh(#compdef ebb
# Completion of ebb for zsh, made by `ebb completion zsh`; put it as _ebb into a folder of $fpath.

# The names of the nodes of the files that are on the line.
_ebb_nodes() {
  local -a inputs names
  local word
  for word in ${words[2,-1]}; do
    [[ -f $word || -d $word ]] && inputs+=($word)
  done
  (( ${#inputs} )) || return 1
  names=(${(f)"$(ebb completion nodes $inputs 2>/dev/null)"})
  compadd -a names
}

)sh";
  ForEachCommand(app, [&](const CLI::App& command) {
    std::vector<std::string> specs;
    for (const CLI::Option* option : Flags(command)) {
      const bool many = option->get_items_expected_max() > 1;
      const std::string value = ValueName(*option);
      for (const std::string& name : NamesOf(*option)) {
        std::string spec = fmt::format("{}{}{}[{}]", many ? "*" : "", name,
                                       value.empty()            ? ""
                                       : name.starts_with("--") ? "="
                                                                : "+",
                                       ZshText(Short(*option)));
        if (!value.empty()) spec += fmt::format(":{}:{}", ZshText(value), ZshAction(*option));
        specs.push_back(ShellQuoted(spec));
      }
    }
    std::vector<std::string> subs;
    for (const CLI::App* sub : Commands(command)) subs.push_back(sub->get_name());
    if (!subs.empty()) {
      specs.push_back(ShellQuoted(fmt::format(
          "1:{}:{}", "command",
          TakesFiles(command) ? fmt::format("{{compadd {}; _files}}", fmt::join(subs, " "))
                              : fmt::format("({})", fmt::join(subs, " ")))));
      specs.push_back(ShellQuoted("*::argument:->rest"));
    } else {
      for (const CLI::Option* argument : Arguments(command)) {
        const bool many = argument->get_items_expected_max() > 1;
        specs.push_back(ShellQuoted(
            fmt::format("{}:{}:{}", many ? "*" : "1", argument->get_name(), ZshAction(*argument))));
      }
    }
    script += fmt::format("_{}() {{\n", CommandPath(command, "_"));
    if (!subs.empty()) script += "  local context state state_descr line\n  typeset -A opt_args\n";
    script += fmt::format("  _arguments {}\\\n    {}\n", subs.empty() ? "" : "-C ",
                          fmt::join(specs, " \\\n    "));
    if (!subs.empty()) {
      script += "  [[ $state == rest ]] || return\n  case $line[1] in\n";
      for (const CLI::App* sub : Commands(command)) {
        script += fmt::format("    {}) _{} ;;\n", sub->get_name(), CommandPath(*sub, "_"));
      }
      script += TakesFiles(command) ? "    *) _files ;;\n  esac\n" : "  esac\n";
    }
    script += "}\n\n";
  });
  return script +
         "if [[ $funcstack[1] == _ebb ]]; then\n  _ebb \"$@\"\nelse\n  compdef _ebb ebb\nfi\n";
}

std::string FishCompletion(const CLI::App& app) {
  std::vector<std::string> commands;
  ForEachCommand(app, [&](const CLI::App& command) {
    if (command.get_parent() != nullptr) commands.push_back(QuotedForFish(CommandPath(command)));
  });
  std::string script = fmt::format(R"sh(# Completion of ebb for fish, made by `ebb completion fish`.

# Whether the words on the line so far lead to this command.
function __ebb_at
    set -l command ebb
    for word in (commandline -opc)[2..-1]
        switch "$command $word"
            case {}
                set command "$command $word"
        end
    end
    test "$command" = "$argv"
end

# The names of the nodes of the files that are on the line.
function __ebb_nodes
    set -l inputs
    for word in (commandline -opc)[2..-1]
        if test -f "$word" -o -d "$word"
            set -a inputs $word
        end
    end
    test (count $inputs) -gt 0; and ebb completion nodes $inputs 2>/dev/null
end

)sh",
                                   fmt::join(commands, " "));
  ForEachCommand(app, [&](const CLI::App& command) {
    const std::string line =
        fmt::format("complete -c ebb -n {}", QuotedForFish("__ebb_at " + CommandPath(command)));
    if (!TakesFiles(command)) script += line + " -f\n";
    for (const CLI::App* sub : Commands(command)) {
      script += fmt::format("{} -a {} -d {}\n", line, sub->get_name(),
                            QuotedForFish(sub->get_description()));
    }
    for (const CLI::Option* argument : Arguments(command)) {
      const auto choices = ChoicesOf(*argument);
      if (!choices.empty()) {
        script += fmt::format("{} -a {}\n", line,
                              QuotedForFish(fmt::format("{}", fmt::join(choices, " "))));
      }
    }
    for (const CLI::Option* option : Flags(command)) {
      script += line;
      for (const std::string& name : option->get_snames()) script += " -s " + name;
      for (const std::string& name : option->get_lnames()) script += " -l " + name;
      const auto kind = KindOf(*option);
      if (kind == ValueKind::kFile) {
        script += " -r -F";
      } else if (kind == ValueKind::kNode) {
        script += " -x -a '(__ebb_nodes)'";
      } else if (kind == ValueKind::kChoice) {
        script += " -x -a " + QuotedForFish(fmt::format("{}", fmt::join(ChoicesOf(*option), " ")));
      } else if (kind && kind != ValueKind::kSwitch) {
        script += " -x";
      }
      script += " -d " + QuotedForFish(Short(*option)) + "\n";
    }
  });
  return script;
}

}  // namespace ebb
