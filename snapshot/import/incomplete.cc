#include "snapshot/import/incomplete.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "snapshot/import/dump_kinds.h"

namespace ebb {
namespace {

// The messages of all warnings that lack at least `least`: "one is missing; two are missing".
std::string MessagesOf(std::span<const InputWarning> warnings, Lack least) {
  std::string text;
  for (const InputWarning& each : warnings) {
    if (each.lack < least) continue;
    absl::StrAppend(&text, text.empty() ? "" : "; ", each.message);
  }
  return text;
}

// "`kubectl a` and `kubectl b`": each command once.  If one of them fetches all kinds, only that.
std::string CommandsOf(std::span<const InputWarning> warnings, Lack least) {
  std::vector<std::string_view> commands;
  for (const InputWarning& each : warnings) {
    if (each.lack < least || each.command.empty()) continue;
    if (std::ranges::find(commands, each.command) == commands.end()) {
      commands.emplace_back(each.command);
    }
  }
  const std::string whole = KubectlGet(DumpWords());
  if (std::ranges::find(commands, whole) != commands.end()) commands = {whole};
  std::string text;
  for (size_t i = 0; i < commands.size(); ++i) {
    const char* const between = i == 0 ? "" : i + 1 == commands.size() ? " and " : ", ";
    absl::StrAppend(&text, between, "`", std::string(commands[i]), "`");
  }
  return text;
}

bool Lacks(std::span<const InputWarning> warnings, Lack least) {
  return std::ranges::any_of(warnings,
                             [least](const InputWarning& each) { return each.lack >= least; });
}

// Each advice once; "" for a dump.
std::string AdviceOf(std::span<const InputWarning> warnings, Lack least) {
  std::vector<std::string_view> advice;
  std::string text;
  for (const InputWarning& each : warnings) {
    if (each.lack < least || each.advice.empty()) continue;
    if (std::ranges::find(advice, each.advice) != advice.end()) continue;
    advice.emplace_back(each.advice);
    absl::StrAppend(&text, text.empty() ? "" : "; ", each.advice);
  }
  return text;
}

absl::Status Refusal(std::span<const InputWarning> warnings, Lack least, std::string_view so) {
  if (const std::string advice = AdviceOf(warnings, least); !advice.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(MessagesOf(warnings, least), "; ", std::string(so), "; ", advice,
                     "; --allow-incomplete (allow_incomplete) goes on with what is there"));
  }
  const std::string commands = CommandsOf(warnings, least);
  return absl::InvalidArgumentError(absl::StrCat(
      MessagesOf(warnings, least), "; ", std::string(so), "; fetch what is missing with `ebb dump`",
      commands.empty() ? "" : absl::StrCat(" or ", commands),
      ", or pass --allow-incomplete to go on with what is there, or --assume-complete if it is "
      "all there is"));
}

}  // namespace

bool IsComplete(std::span<const InputWarning> warnings) { return !Lacks(warnings, Lack::kKinds); }

std::vector<InputWarning> MissingOf(std::span<const InputWarning> warnings) {
  std::vector<InputWarning> missing;
  std::ranges::copy_if(warnings, std::back_inserter(missing),
                       [](const InputWarning& each) { return each.lack != Lack::kNothing; });
  return missing;
}

std::string_view OfIncomplete(std::span<const InputWarning> warnings) {
  return IsComplete(warnings) ? "" : " of an incomplete cluster";
}

absl::Status CheckWhole(std::span<const InputWarning> warnings, bool allow_incomplete) {
  if (allow_incomplete || !Lacks(warnings, Lack::kPods)) return absl::OkStatus();
  return Refusal(warnings, Lack::kPods, "there is no answer about a part of a cluster");
}

absl::Status CheckMayBeCarriedOut(std::span<const InputWarning> warnings, bool allow_incomplete) {
  if (absl::Status s = CheckWhole(warnings, allow_incomplete); !s.ok()) return s;
  if (allow_incomplete || IsComplete(warnings)) return absl::OkStatus();
  return Refusal(warnings, Lack::kKinds,
                 "a plan of an incomplete cluster is shown and not carried out");
}

}  // namespace ebb
