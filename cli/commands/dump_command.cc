#include "cli/commands/dump_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/flags/flag_values.h"
#include "cli/print/fail.h"
#include "cli/print/progress.h"
#include "platform/output_file.h"
#include "snapshot/formats/json_text.h"
#include "snapshot/import/dump_kinds.h"

extern char** environ;

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kExitPartial = 3;
// kubectl prints an empty List in fewer bytes; a longer one is not parsed.
constexpr size_t kEmptyListBytesMax = 4096;

// The result of a program.
struct Ran {
  int exit_code = 0;
  std::string out;
  std::string err;
};

// Runs a program to its end, without input.  Errors: NotFound: the program cannot be started.
absl::StatusOr<Ran> RunProgram(std::vector<std::string> words) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (pipe2(out.data(), O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  if (pipe2(err.data(), O_CLOEXEC) != 0) {
    close(out[0]), close(out[1]);
    return absl::ErrnoToStatus(errno, "pipe");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]), close(err[1]);
  Ran ran;
  std::array<pollfd, 2> open = {pollfd{out[0], POLLIN, 0}, pollfd{err[0], POLLIN, 0}};
  while (error == 0 && (open[0].fd >= 0 || open[1].fd >= 0)) {
    if (poll(open.data(), open.size(), -1) < 0 && errno != EINTR) break;
    for (size_t i = 0; i < open.size(); ++i) {
      if (open[i].fd < 0 || open[i].revents == 0) continue;
      std::array<char, 1 << 16> bytes;
      const ssize_t got = read(open[i].fd, bytes.data(), bytes.size());
      if (got > 0) (i == 0 ? ran.out : ran.err).append(bytes.data(), static_cast<size_t>(got));
      if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) open[i].fd = -1;
    }
  }
  close(out[0]), close(err[0]);
  if (error != 0) {
    return absl::NotFoundError(absl::StrCat(Printable(words[0]), ": ", std::strerror(error),
                                            "; install kubectl, or name it with --kubectl"));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

// The last line that is not blank: kubectl prints its error there.
std::string ReasonIn(const Ran& ran) {
  std::string reason;
  for (const auto line : absl::StrSplit(Absl(ran.err), '\n', absl::SkipWhitespace())) {
    reason = std::string(line);
  }
  return reason.empty() ? absl::StrCat("exit code ", ran.exit_code) : PrintableLine(reason);
}

// "poddisruptionbudgets.policy", as `kubectl api-resources -o name` spells it.
std::string NameOfResource(const DumpKind& kind) {
  return kind.group.empty() ? std::string(kind.resource)
                            : absl::StrCat(Absl(kind.resource), ".", Absl(kind.group));
}

// The command line of a kubectl call with these `words`.
std::vector<std::string> CallOf(const DumpCommand& command, std::vector<std::string> words) {
  std::vector<std::string> call = {command.kubectl};
  if (!command.context.empty()) call.push_back("--context=" + command.context);
  if (!command.kubeconfig.empty()) call.push_back("--kubeconfig=" + command.kubeconfig);
  call.insert(call.end(), command.args.begin(), command.args.end());
  call.insert(call.end(), words.begin(), words.end());
  return call;
}

// The kinds of Kubernetes' own groups are in v1; for other groups ebb ignores the version of an
// empty list.
std::string EmptyList(const DumpKind& kind) {
  return fmt::format(R"({{"apiVersion":"{}{}v1","kind":"{}List","metadata":{{}},"items":[]}})",
                     kind.group, kind.group.empty() ? "" : "/", kind.kind);
}

// Whether kubectl's answer is a list without items.
absl::StatusOr<bool> IsEmptyList(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') {
    return absl::InvalidArgumentError("kubectl printed no JSON object");
  }
  if (text.size() > kEmptyListBytesMax) return false;
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("items") || !json["items"].is_array()) {
    return absl::InvalidArgumentError("kubectl printed no list");
  }
  return json["items"].empty();
}

//  --- What --redact leaves out -----------------------------------------------------------------

void RedactContainers(Json& spec) {
  for (const char* const list : {"containers", "initContainers", "ephemeralContainers"}) {
    const auto found = spec.find(list);
    if (found == spec.end() || !found->is_array()) continue;
    for (Json& container : *found) {
      if (!container.is_object()) continue;
      container.erase("env");
      container.erase("envFrom");
    }
  }
}

void RedactObject(Json& object) {
  if (!object.is_object()) return;
  if (const auto meta = object.find("metadata"); meta != object.end() && meta->is_object()) {
    meta->erase("managedFields");
    if (const auto notes = meta->find("annotations"); notes != meta->end() && notes->is_object()) {
      notes->erase("kubectl.kubernetes.io/last-applied-configuration");
    }
  }
  const auto spec = object.find("spec");
  if (spec == object.end() || !spec->is_object()) return;
  RedactContainers(*spec);
  // For a workload.
  if (const auto made = spec->find("template"); made != spec->end()) RedactObject(*made);
}

absl::StatusOr<std::string> Redacted(const std::string& list) {
  Json json = Json::parse(list, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("items") || !json["items"].is_array()) {
    return absl::InvalidArgumentError("kubectl printed no list");
  }
  for (Json& object : json["items"]) RedactObject(object);
  return CompactJson(json);
}

// --- The dump ---------------------------------------------------------------------------------

struct Unread {
  std::string resource;
  std::string reason;
};

// One run of the command.
class Dump {
 public:
  Dump(const DumpCommand& command, std::ostream& out) : command_(command), out_(out) {}

  absl::Status Make(Progress& progress) {
    if (!command_.output.empty()) {
      absl::StatusOr<OutputFile> file = OutputFile::Create(command_.output);
      if (!file.ok()) return file.status();
      file_.emplace(*std::move(file));
    }
    progress.Say("asking what the server has");
    if (absl::Status s = AskForKinds(); !s.ok()) return s;
    if (absl::Status s = Write("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":["); !s.ok()) {
      return s;
    }
    for (const DumpKind& kind : DumpKinds()) {
      const std::string resource = NameOfResource(kind);
      if (!served_.contains(resource)) {
        if (absl::Status s = CheckNeeded(resource, "the server does not have them"); !s.ok()) {
          return s;
        }
        not_served_.push_back(resource);
        continue;
      }
      progress.Say("fetching " + resource);
      if (absl::Status s = Fetch(kind, resource); !s.ok()) return s;
    }
    if (absl::Status s = Write("\n]}\n"); !s.ok()) return s;
    if (file_) return file_->Commit();
    out_ << held_ << std::flush;
    return out_.good() ? absl::OkStatus()
                       : absl::DataLossError("standard output: cannot be written");
  }

  [[nodiscard]] const std::vector<Unread>& unread() const { return unread_; }
  [[nodiscard]] const std::vector<std::string>& not_served() const { return not_served_; }
  [[nodiscard]] size_t kinds() const { return kinds_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  absl::Status AskForKinds() {
    const absl::StatusOr<Ran> ran =
        RunProgram(CallOf(command_, {"api-resources", "--verbs=list", "-o", "name"}));
    if (!ran.ok()) return ran.status();
    for (const auto line : absl::StrSplit(Absl(ran->out), '\n', absl::SkipWhitespace())) {
      served_.emplace(absl::StripAsciiWhitespace(line));
    }
    if (served_.empty()) {
      return absl::UnavailableError("kubectl api-resources: " + ReasonIn(*ran));
    }
    // If one API group does not answer (for example metrics), the dump continues without it.
    if (ran->exit_code != 0) unread_.push_back({"api-resources", ReasonIn(*ran)});
    return absl::OkStatus();
  }

  // Errors: Unavailable: the dump requires the resource, and it cannot be fetched.
  static absl::Status CheckNeeded(const std::string& resource, const std::string& why) {
    if (resource != "nodes" && resource != "pods") return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat(resource, " cannot be read, and there is no dump without them: ", why));
  }

  absl::Status Fetch(const DumpKind& kind, const std::string& resource) {
    absl::StatusOr<Ran> ran =
        RunProgram(CallOf(command_, {"get", resource, "--all-namespaces", "-o", "json"}));
    if (!ran.ok()) return ran.status();
    std::string why = ran->exit_code == 0 ? "" : ReasonIn(*ran);
    bool empty = false;
    if (why.empty()) {
      const absl::StatusOr<bool> is_empty = IsEmptyList(ran->out);
      if (is_empty.ok()) {
        empty = *is_empty;
      } else {
        why = std::string(is_empty.status().message());
      }
    }
    if (why.empty() && command_.redact && !empty) {
      absl::StatusOr<std::string> redacted = Redacted(ran->out);
      if (!redacted.ok()) return redacted.status();
      ran->out = *std::move(redacted);
    }
    if (!why.empty()) {
      if (absl::Status s = CheckNeeded(resource, why); !s.ok()) return s;
      unread_.push_back({resource, why});
      return absl::OkStatus();
    }
    if (absl::Status s = Write(kinds_++ == 0 ? "\n" : ",\n"); !s.ok()) return s;
    return Write(empty ? EmptyList(kind) : ran->out);
  }

  absl::Status Write(std::string_view text) {
    bytes_ += text.size();
    if (file_) return file_->Write(text);
    // A dump that fails prints nothing: the reader of a pipe would mistake a part for the whole.
    held_ += text;
    return absl::OkStatus();
  }

  const DumpCommand& command_;
  std::ostream& out_;
  std::optional<OutputFile> file_;
  std::string held_;
  std::set<std::string> served_;
  std::vector<Unread> unread_;
  std::vector<std::string> not_served_;
  size_t kinds_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace

void DumpCommand::AddTo(CLI::App& app) {
  app.add_option("-o,--output", output,
                 "Write this file, whole or not at all (default: standard output)")
      ->check(values::File())
      ->type_name("FILE");
  app.add_option("--kubectl", kubectl, "The program to run")
      ->check(values::Text())
      ->type_name("PROGRAM")
      ->capture_default_str();
  app.add_option("--context", context, "Of the kubeconfig, as kubectl takes it")
      ->check(values::Text())
      ->type_name("NAME");
  app.add_option("--kubeconfig", kubeconfig, "The kubeconfig, as kubectl takes it")
      ->check(values::File())
      ->type_name("FILE");
  app.add_flag("--redact", redact,
               "Leave out the containers' environment, and annotations and fields that repeat it")
      ->check(values::Switch());
  app.add_option("ARGS", args, "After --: more flags for each call of kubectl, as --as=NAME")
      ->check(values::Text());
}

int DumpCommand::Run(std::ostream& out, std::ostream& err) const {
  if (output.empty() && isatty(STDOUT_FILENO) != 0) {
    PrintMessage("a dump is long: pass -o FILE", err, "ebb dump");
    return 2;
  }
  Progress progress;
  Dump dump(*this, out);
  const absl::Status made = dump.Make(progress);
  progress.Done();
  if (!made.ok()) return Fail(made, err);
  for (const Unread& each : dump.unread()) {
    PrintMessage(fmt::format("warning: {} could not be read: {}", each.resource, each.reason), err);
  }
  if (!dump.not_served().empty()) {
    PrintMessage(fmt::format("the server has no {}", fmt::join(dump.not_served(), ", ")), err);
  }
  PrintMessage(fmt::format("wrote {}, {}{}{}", Count(dump.kinds(), "kind", "kinds"),
                           Count(dump.bytes(), "byte", "bytes"), output.empty() ? "" : " to ",
                           Printable(output)),
               err);
  return dump.unread().empty() ? 0 : kExitPartial;
}

}  // namespace ebb
