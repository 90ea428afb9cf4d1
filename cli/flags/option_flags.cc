#include "cli/flags/option_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <variant>

#include "base/check.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/flags/flag_values.h"
#include "platform/settings_file.h"

namespace ebb {
namespace {

// A flag of the table, under one of the names of its option.
struct NamedFlag {
  const OptionField* field = nullptr;
  const OptionFlag* flag = nullptr;

  [[nodiscard]] bool is_old() const { return flag == &field->row.old; }
  [[nodiscard]] std::string Name() const { return fmt::format("--{}", flag->name); }
  [[nodiscard]] std::string ValueName(const char* usual) const {
    return flag->value.empty() ? usual : std::string(flag->value);
  }
};

std::vector<NamedFlag> FlagsOf(const std::vector<OptionField>& fields) {
  std::vector<NamedFlag> flags;
  for (const OptionField& field : fields) {
    for (const OptionFlag* const flag : {&field.row.flag, &field.row.old}) {
      if (!flag->name.empty()) flags.push_back({.field = &field, .flag = flag});
    }
  }
  return flags;
}

// The option's value in the form that its flag accepts.
std::string ValueText(const OptionField& field) {
  switch (field.kind) {
    case OptionKind::kSwitch:
      return *std::get<bool*>(field.value) ? "true" : "false";
    case OptionKind::kSeconds:
      return DurationFlagText(*std::get<int64_t*>(field.value));
    case OptionKind::kMinimum:
      return fmt::format("{}:{}", *std::get<int64_t*>(field.value) / field.unit,
                         field.row.growth_max);
    case OptionKind::kChoice:
    case OptionKind::kText:
      return std::get<OptionChoice>(field.value).get();
    case OptionKind::kFile:
      return std::get<OptionText>(field.value).get();
    case OptionKind::kFraction:
    case OptionKind::kPercent:
      return fmt::format("{:g}", *std::get<double*>(field.value));
    case OptionKind::kNames:
    case OptionKind::kKeys:
      return fmt::format("{}", fmt::join(*std::get<std::vector<std::string>*>(field.value), ","));
    case OptionKind::kWholeNumber:
      break;
  }
  if (const auto* const size = std::get_if<size_t*>(&field.value)) return fmt::to_string(**size);
  return fmt::to_string(*std::get<int64_t*>(field.value));
}

void SetWhole(const OptionValue& value, int64_t number) {
  if (const auto* const size = std::get_if<size_t*>(&value)) {
    **size = static_cast<size_t>(number);
  } else {
    *std::get<int64_t*>(value) = number;
  }
}

// Adds a flag whose text is parsed by `set`.
CLI::Option* AddText(const NamedFlag& flag, const CLI::Validator& checker, const char* type,
                     const std::function<void(const std::string&)>& set, CLI::App& app) {
  return app.add_option_function<std::string>(flag.Name(), set, std::string(flag.flag->help))
      ->check(checker)
      ->type_name(flag.ValueName(type));
}

// A flag under its old name, which counts only without the new one.
CLI::Option* AddOldName(const NamedFlag& flag, const CLI::Validator& checker, CLI::App& app) {
  return AddText(
      flag, checker, "N",
      [value = flag.field->value, &app, now = flag.field->row.flag.name](const std::string& text) {
        if (app.count(fmt::format("--{}", now)) > 0) return;
        if (const auto number = ParseInt64(text)) SetWhole(value, *number);
      },
      app);
}

CLI::Option* AddWholeNumber(const NamedFlag& flag, CLI::App& app) {
  const OptionRange range = flag.flag->range.value_or(flag.field->range);
  const CLI::Validator checker = values::WholeNumber(range.min, static_cast<uint64_t>(range.max));
  if (flag.is_old()) return AddOldName(flag, checker, app);

  const std::string help(flag.flag->help);
  CLI::Option* const option =
      std::holds_alternative<size_t*>(flag.field->value)
          ? app.add_option(flag.Name(), *std::get<size_t*>(flag.field->value), help)
          : app.add_option(flag.Name(), *std::get<int64_t*>(flag.field->value), help);
  return option->check(checker)->type_name(flag.ValueName("N"));
}

CLI::Option* AddNumber(const NamedFlag& flag, const char* type, CLI::App& app) {
  const OptionRange& range = flag.field->range;
  return app
      .add_option(flag.Name(), *std::get<double*>(flag.field->value), std::string(flag.flag->help))
      ->check(values::Number(static_cast<double>(range.min), static_cast<double>(range.max)))
      ->type_name(flag.ValueName(type));
}

CLI::Option* AddSwitch(const NamedFlag& flag, CLI::App& app) {
  std::string help(flag.flag->help);
  if (!flag.field->row.hides_default) help += fmt::format(" [{}]", ValueText(*flag.field));
  return app.add_flag(flag.Name(), *std::get<bool*>(flag.field->value), help)
      ->check(values::Switch());
}

CLI::Option* AddNames(const NamedFlag& flag, CLI::App& app) {
  return app
      .add_option(flag.Name(), *std::get<std::vector<std::string>*>(flag.field->value),
                  std::string(flag.flag->help))
      ->delimiter(',')
      ->check(values::Text())
      ->type_name(flag.ValueName("NAME,..."));
}

CLI::Option* AddKeys(const NamedFlag& flag, CLI::App& app) {
  const auto add = [keys = std::get<std::vector<std::string>*>(flag.field->value)](
                       const std::vector<std::string>& given) {
    keys->insert(keys->end(), given.begin(), given.end());
  };
  return app
      .add_option_function<std::vector<std::string>>(flag.Name(), add, std::string(flag.flag->help))
      ->check(values::Text())
      ->type_name(flag.ValueName("KEY"))
      ->allow_extra_args(false);
}

CLI::Option* AddFlag(const NamedFlag& flag, CLI::App& app) {
  const OptionValue& value = flag.field->value;
  switch (flag.field->kind) {
    case OptionKind::kSwitch:
      return AddSwitch(flag, app);
    case OptionKind::kWholeNumber:
      return AddWholeNumber(flag, app);
    case OptionKind::kFraction:
      return AddNumber(flag, "FRACTION", app);
    case OptionKind::kPercent:
      return AddNumber(flag, "PERCENT", app);
    case OptionKind::kNames:
      return AddNames(flag, app);
    case OptionKind::kKeys:
      return AddKeys(flag, app);
    case OptionKind::kSeconds:
      return AddText(
          flag, values::Duration(), "DURATION",
          [to = std::get<int64_t*>(value)](const std::string& text) {
            *to = DurationSeconds(text);
          },
          app);
    case OptionKind::kMinimum:
      return AddText(
          flag, values::MinMax(kOptionCountMax), "MIN:MAX",
          [to = std::get<int64_t*>(value), unit = flag.field->unit](const std::string& text) {
            *to = ParseMinMax(text).min * unit;
          },
          app);
    case OptionKind::kText:
      return AddText(
          flag, values::Text(), "TEXT",
          [choice = std::get<OptionChoice>(value), name = flag.Name()](const std::string& text) {
            if (choice.set(text)) return;
            throw CLI::ValidationError(
                name, fmt::format("{} is not of the form {}", text, choice.words.front()));
          },
          app);
    case OptionKind::kFile:
      return AddText(
          flag, values::MaybeEmptyText(), "FILE",
          [text = std::get<OptionText>(value), name = flag.Name()](const std::string& path) {
            absl::StatusOr<std::string> read = path.empty() ? "" : ReadWholeFile(path);
            if (!path.empty() && read.ok() && read->empty()) {
              throw CLI::ValidationError(name, fmt::format("{} is empty", path));
            }
            const std::string wrong =
                read.ok() ? text.set(*read) : std::string(read.status().message());
            if (wrong.empty()) return;
            throw CLI::ValidationError(name, read.ok() ? fmt::format("{} {}", path, wrong) : wrong);
          },
          app);
    case OptionKind::kChoice:
      break;
  }
  const auto& choice = std::get<OptionChoice>(value);
  return AddText(
      flag, values::Choice(choice.words), "MODE",
      [choice](const std::string& text) { choice.set(text); }, app);
}

// CLI11 shows no default for a switch or a list.
bool ShowsDefault(const NamedFlag& flag) {
  const OptionKind kind = flag.field->kind;
  return !flag.is_old() && !flag.field->row.hides_default && kind != OptionKind::kSwitch &&
         kind != OptionKind::kNames && kind != OptionKind::kKeys && kind != OptionKind::kText &&
         kind != OptionKind::kFile;
}

}  // namespace

RoundOptions CommandLineOptions() {
  RoundOptions options;
  for (const OptionField& field : FieldsOf(options)) {
    if (field.row.flag.of_command) SetWhole(field.value, *field.row.flag.of_command);
  }
  return options;
}

void AddOptionFlags(const std::vector<OptionField>& fields, OptionGroup group, CLI::App& app,
                    const std::string& heading, GivenFlags* given) {
  std::vector<NamedFlag> flags = FlagsOf(fields);
  std::erase_if(flags, [group](const NamedFlag& flag) { return flag.flag->group != group; });
  std::ranges::stable_sort(flags, {}, [](const NamedFlag& flag) { return flag.flag->place; });
  for (const NamedFlag& flag : flags) {
    CLI::Option* const option = AddFlag(flag, app)->group(heading);
    if (ShowsDefault(flag)) option->default_str(ValueText(*flag.field));
    if (given == nullptr) continue;
    option->each([given, name = std::string(flag.flag->name)](const std::string& text) {
      (*given)[name] = text;
    });
  }
}

bool IsGiven(const OptionField& field, const GivenFlags& given) {
  return given.contains(field.row.flag.name) || given.contains(field.row.old.name);
}

std::string TextOf(std::string_view flag, const GivenFlags& given) {
  if (const auto found = given.find(flag); found != given.end()) return found->second;
  RoundOptions defaults = CommandLineOptions();
  const std::vector<OptionField> fields = FieldsOf(defaults);
  const auto found =
      std::ranges::find(fields, flag, [](const OptionField& field) { return field.row.flag.name; });
  EBB_DCHECK(found != fields.end());
  return found == fields.end() ? "" : ValueText(*found);
}

RoundOptions WithoutFlagsOfRounds(RoundOptions options) {
  RoundOptions defaults;
  const std::vector<OptionField> from = FieldsOf(defaults);
  const std::vector<OptionField> to = FieldsOf(options);
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].row.flag.group == OptionGroup::kRounds) CopyValue(from[i], to[i]);
  }
  return options;
}

bool CountsInPlans(std::string_view flag) {
  RoundOptions options;
  return std::ranges::any_of(FieldsOf(options), [flag](const OptionField& field) {
    return field.row.old.name == flag && field.row.flag.group != OptionGroup::kRounds;
  });
}

void WarnOfOldFlags(const GivenFlags& given, std::ostream& err) {
  RoundOptions options;
  for (const OptionField& field : FieldsOf(options)) {
    const OptionRow& row = field.row;
    if (!row.warns_of_old || !given.contains(row.old.name)) continue;
    PrintMessage(fmt::format("warning: --{} is old; use --{}", row.old.name, row.flag.name), err);
  }
}

}  // namespace ebb
