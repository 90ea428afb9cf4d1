#include "cli/commands/watch_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/duration.h"
#include "base/figures.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "cli/commands/wall_clock.h"
#include "cli/commands/what_if.h"
#include "cli/flags/autoscaler_flags.h"
#include "cli/flags/flag_values.h"
#include "cli/print/fail.h"
#include "cli/print/progress.h"
#include "engine/stable_planner.h"
#include "planning/live_cluster.h"
#include "planning/rebuild_log.h"
#include "platform/file_identity.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/formats/read_json.h"
#include "snapshot/import/completeness.h"
#include "snapshot/import/dump_kinds.h"
#include "snapshot/import/watch_stream.h"
#include "snapshot/live/change_batch.h"

namespace ebb {
namespace {

using Clock = std::chrono::steady_clock;

// At most this many rejected events are reported one by one, with at most this many bytes of the
// reason.
constexpr uint64_t kRefusedShown = 10;
constexpr size_t kBytesShown = 300;

// If events never pause, a plan is made after this many quiet times.  A watch that has sent nothing
// for this long counts as a kind without objects.
constexpr int kQuietTimesMax = 10;

// Cuts between characters.
std::string Short(std::string text) {
  if (text.size() <= kBytesShown) return text;
  size_t size = kBytesShown;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return text.substr(0, size) + "...";
}

std::string SilentText(const std::string& file) {
  return fmt::format("nothing has come from {} yet: it counts as a kind without objects",
                     Printable(file));
}

// An open file that is watched.
class WatchFile {
 public:
  WatchFile(std::string name, int fd, size_t document_bytes_max)
      : name_(std::move(name)), fd_(fd), stream_(document_bytes_max) {
    struct stat status{};
    is_regular_ = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  }
  ~WatchFile() {
    if (fd_ > 0) close(fd_);
  }
  WatchFile(const WatchFile&) = delete;
  WatchFile& operator=(const WatchFile&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool ended() const { return ended_; }
  // Whether it is a regular file; a watch that may have failed is a pipe.
  [[nodiscard]] bool is_regular() const { return is_regular_; }
  WatchStream& stream() { return stream_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

  // kubectl first prints the existing objects, each as ADDED, and then the changes.  That first
  // list has ended once an event other than ADDED came, or no event for the quiet time after an
  // event, or no event at all for kQuietTimesMax quiet times.
  void OnEvent(WatchEvent::Type type) {
    if (is_silent()) list_is_over_ = false;  // The list begins with this event.
    last_event_ = Clock::now();
    list_is_over_ |= type != WatchEvent::Type::kAdded;
  }
  void OnKind(std::string_view kind) { kinds_.emplace(kind); }
  [[nodiscard]] bool is_silent() const { return !last_event_; }
  // How long until the first list ends if no event comes; 0: it has ended.
  [[nodiscard]] Clock::duration UntilListIsOver(Clock::duration quiet_time) {
    if (list_is_over_ || ended_) return Clock::duration::zero();
    const auto over =
        last_event_ ? *last_event_ + quiet_time : opened_ + kQuietTimesMax * quiet_time;
    const auto left = std::max(over - Clock::now(), Clock::duration::zero());
    list_is_over_ = left == Clock::duration::zero();
    return left;
  }
  // For example Pod and Node; empty: no event came.
  [[nodiscard]] const std::set<std::string>& kinds() const { return kinds_; }

  // Passes the available bytes to the stream.
  absl::Status ReadSome() {
    std::array<char, 1 << 16> bytes;
    const ssize_t count = read(fd_, bytes.data(), bytes.size());
    if (count > 0) {
      bytes_ += static_cast<uint64_t>(count);
      stream_.Append({bytes.data(), static_cast<size_t>(count)});
      return absl::OkStatus();
    }
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return absl::OkStatus();
    ended_ = true;
    stream_.End();
    if (count == 0) return absl::OkStatus();
    return absl::UnavailableError(std::strerror(errno));
  }

 private:
  const std::string name_;
  const int fd_;
  bool is_regular_ = false;
  bool ended_ = false;
  uint64_t bytes_ = 0;  // Number of bytes read.
  WatchStream stream_;
  const Clock::time_point opened_ = Clock::now();
  std::optional<Clock::time_point> last_event_;
  bool list_is_over_ = false;
  std::set<std::string> kinds_;  // Kinds of the events that came.
};

absl::StatusOr<std::unique_ptr<WatchFile>> Open(const std::string& name, size_t bytes_max) {
  if (name == "-") return std::make_unique<WatchFile>("standard input", STDIN_FILENO, bytes_max);
  // Does not block: a process that writes to several pipes may open them in any order.
  const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0) return std::make_unique<WatchFile>(name, fd, bytes_max);
  return absl::NotFoundError(
      fmt::format("--watch-file: {}: {}", Printable(name), std::strerror(errno)));
}

// The message of an object of kind Status.
std::string MessageOf(std::string_view status) {
  const auto json = nlohmann::json::parse(status, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("message") || !json["message"].is_string()) return "";
  return json["message"].get<std::string>();
}

bool IsDumpKind(std::string_view kind) {
  return std::ranges::any_of(DumpKinds(),
                             [kind](const DumpKind& each) { return each.kind == kind; });
}

// Applies events to the cluster.
class Watch {
 public:
  Watch(const PlanCommand& command, LiveCluster& cluster, std::ostream& err)
      : cluster_(cluster), err_(err), batch_(command.watch.object_bytes_max) {}

  // Applies every event that has arrived completely.
  void Drain(WatchFile& file) {
    while (true) {
      const absl::StatusOr<std::optional<WatchEvent>> event = file.stream().Next();
      if (!event.ok()) {
        Refuse(file, event.status());
        continue;
      }
      if (!event->has_value()) return;
      ++events_;
      file.OnEvent((*event)->type);
      const absl::Status s = Take(**event);
      for (const Change& change : batch_.changes()) file.OnKind(objects::KindOf(change.object));
      if (!s.ok()) {
        const std::string why =
            fmt::format("line {}: {}", (*event)->line, std::string(s.message()));
        if (absl::IsFailedPrecondition(s) && mixed_.ok()) {
          mixed_ = {s.code(), fmt::format("{}: {}", Printable(file.name()), why)};
          return;
        }
        Refuse(file, {s.code(), why});
      }
      batch_.Clear();
      PrintIgnored();
    }
  }

  // Errors: FailedPrecondition: events of another cluster came.  No later plan would be right.
  [[nodiscard]] const absl::Status& mixed() const { return mixed_; }

  // Reports that an event, or the rest of the file, could not be applied.
  void Refuse(const WatchFile& file, const absl::Status& why) {
    const std::string text =
        Short(fmt::format("{}: {}", Printable(file.name()), std::string(why.message())));
    if (refused_++ == 0) first_refused_ = text;
    if (refused_ <= kRefusedShown) PrintMessage("warning: " + text, err_);
    if (refused_ == kRefusedShown)
      PrintMessage("warning: further warnings of this kind are suppressed", err_);
  }

  [[nodiscard]] uint64_t events() const { return events_; }
  // A number that grows whenever changes of the cluster may have been missed.
  [[nodiscard]] uint64_t missed() const { return refused_ + ended_.size(); }
  // A number that changes whenever the cluster, or a warning of the next plan, changes.
  [[nodiscard]] uint64_t news() const {
    return cluster_.counts().put + cluster_.counts().deleted + refused_ + ended_.size();
  }

  void OnEnd(const WatchFile& file, bool others_go_on) {
    if (file.is_regular() || !others_go_on) return;
    ended_.push_back(EndOf(file));
    PrintMessage("warning: " + ended_.back(), err_);
  }

  // Adds the warnings of the next plan to `cluster`.  `silent`: the files that have sent nothing.
  void Warn(LoadedCluster& cluster, bool goes_on, const std::vector<std::string>& silent) const {
    // Without the event, ebb still plans with an object that was deleted, or misses one that was
    // added.
    const auto warn = [&](const char* code, std::string text) {
      cluster.warnings.push_back({code, std::move(text), "", Lack::kKinds});
    };
    for (const std::string& name : silent) {
      cluster.warnings.push_back({"WatchSilent", SilentText(name), ""});
    }
    if (refused_ > 0) {
      warn("WatchEventsRefused", fmt::format("{} of the watch could not be applied; the first: {}",
                                             Count(refused_, "event", "events"), first_refused_));
    }
    if (bare_ > 0) {
      warn("WatchWithoutEvents",
           fmt::format("{} came outside watch events, so that deletions are not seen; pass "
                       "kubectl --output-watch-events",
                       Count(bare_, "object", "objects")));
    }
    if (!goes_on) return;
    for (const std::string& end : ended_) warn("WatchEnded", end);
  }

 private:
  static std::string EndOf(const WatchFile& file) {
    std::string kinds;
    for (const std::string& kind : file.kinds()) kinds += (kinds.empty() ? "" : ", ") + kind;
    return fmt::format("{} has ended at {}, and {}; start all watches and ebb again",
                       Printable(file.name()), FormatRfc3339(WallClock::Now()),
                       kinds.empty() ? "it sent no event"
                                     : "later changes of " + Printable(kinds) + " are not seen");
  }

  absl::Status TakeBatch() {
    const std::string_view uid = batch_.ClusterUid();
    const std::string_view held = cluster_.UidOfNamespace("kube-system");
    if (!uid.empty() && !held.empty() && uid != held) {
      return absl::FailedPreconditionError(fmt::format(
          "Namespace kube-system has the UID {}, and earlier events are of the cluster where it "
          "has the UID {}; watch one cluster",
          Printable(uid), Printable(held)));
    }
    if (absl::Status s = cluster_.Take(batch_.changes()); !s.ok()) return s;
    for (const auto& [type, object] : batch_.unevaluated()) {
      unevaluated_.emplace(object.kind);
      type == Change::Type::kPut ? cluster_.PutUnevaluated(object)
                                 : cluster_.EraseUnevaluated(object);
    }
    return absl::OkStatus();
  }

  absl::Status Take(const WatchEvent& event) {
    switch (event.type) {
      case WatchEvent::Type::kBookmark:
        return absl::OkStatus();
      case WatchEvent::Type::kError:
        return absl::UnavailableError(fmt::format("the watch has failed: {}; start it again",
                                                  Printable(MessageOf(event.object))));
      case WatchEvent::Type::kDeleted:
        if (absl::Status s = batch_.DeleteJson(event.object); !s.ok()) return s;
        return TakeBatch();
      case WatchEvent::Type::kAdded:
      case WatchEvent::Type::kModified:
        break;
    }
    absl::Status put =
        event.object.starts_with('{') ? batch_.PutJson(event.object) : absl::UnimplementedError("");
    if (put.ok()) {
      bare_ += event.bare ? 1 : 0;
      return TakeBatch();
    }
    if (put.code() != absl::StatusCode::kUnimplemented) return put;
    return cluster_.Read([&](ObjectSink& sink) {
      ImportStats stats;
      return ReadJson("list", event.object, /*padded=*/false, sink, stats);
    });
  }

  // Once for each kind that no question needs.  Objects of the kinds that `ebb dump` fetches are
  // expected; a warning of the answer names the ones that are not evaluated and may matter.
  void PrintIgnored() {
    if (batch_.ignored().size() == seen_ignored_.size()) return;
    for (const auto& [kind, count] : batch_.ignored()) {
      if (!seen_ignored_.insert(kind).second || IsDumpKind(kind) || unevaluated_.contains(kind)) {
        continue;
      }
      if (printed_ignored_++ >= kRefusedShown) continue;
      PrintMessage("ignored objects of kind " + Printable(kind) + ": no decision depends on them",
                   err_);
    }
  }

  LiveCluster& cluster_;
  std::ostream& err_;
  ChangeBatch batch_;
  uint64_t events_ = 0;
  uint64_t refused_ = 0;
  uint64_t bare_ = 0;               // Objects without an event.
  std::vector<std::string> ended_;  // One message for each file.
  std::string first_refused_;
  absl::Status mixed_;
  std::set<std::string> seen_ignored_;              // Kinds.
  std::set<std::string, std::less<>> unevaluated_;  // Kinds.
  uint64_t printed_ignored_ = 0;
};

// One run of the command.
class WatchRun {
  using Milliseconds = std::chrono::duration<int64_t, std::milli>;

 public:
  WatchRun(const PlanCommand& command, const WatchQuestion& question, GroupRules rules,
           std::ostream& out, std::ostream& err)
      : command_(command),
        question_(question),
        rules_(std::move(rules)),
        out_(out),
        err_(err),
        cluster_(command.options.load, OptionsOf(command.options.load, rebuilds_)),
        watch_(command, cluster_, err),
        quiet_time_(std::min<int64_t>(
            std::chrono::ceil<Milliseconds>(*ParseDuration(command.watch.quiet_time)).count(),
            std::numeric_limits<int>::max())) {}

  int Run() {
    first_event_by_ = command_.SimulationEnd(Clock::now());
    if (const absl::Status s = LoadInputs(); !s.ok()) return Fail(s, err_);
    for (const std::string& name : command_.watch.files) {
      auto file = Open(name, command_.watch.object_bytes_max);
      if (!file.ok()) return Fail(file.status(), err_);
      files_.push_back(*std::move(file));
    }
    while (!files_.empty()) {
      const bool came = WaitForEvents();
      if (!failed_.ok()) return Fail(failed_, err_);
      if (!watch_.mixed().ok()) return Fail(watch_.mixed(), err_);
      if (came) continue;
      UntilNextListIsOver() == Clock::duration::zero() ? Plan() : PrintWaiting();
    }
    if (HasNews()) Plan();
    return why_not_.ok() ? exit_code_ : Fail(why_not_, err_);
  }

 private:
  static LiveSnapshot::Options OptionsOf(const LoadOptions& load, RebuildLog& rebuilds) {
    LiveSnapshot::Options options = LiveCluster::LiveOptionsOf(load);
    options.rebuild_observer = &rebuilds;
    return options;
  }

  absl::Status LoadInputs() {
    if (command_.inputs.empty()) return absl::OkStatus();
    ImportStats stats;
    InputCensus census;  // Rejects inputs that contradict each other.
    return cluster_.Read([&](ObjectSink& sink) {
      // The second pass replaces objects of the first pass by newer versions.
      return LoadNewest(census, [&] {
        absl::Status read = census.Read(command_.inputs, sink, stats, Parallelism(command_.threads),
                                        command_.options.load.limits);
        return read.ok() ? CheckAllFilesRead(stats) : read;
      });
    });
  }

  [[nodiscard]] bool HasNews() const { return planned_at_ != watch_.news(); }

  // How long until the next watch's first list ends if no event comes; 0: all have ended.  Before
  // that, a part of the cluster would look like a whole one with free room.
  [[nodiscard]] Clock::duration UntilNextListIsOver() {
    Clock::duration left{};
    for (const auto& file : files_) {
      const auto of_file = file->UntilListIsOver(Milliseconds(quiet_time_));
      if (of_file == Clock::duration::zero() && file->is_silent() && !file->ended() &&
          silent_.insert(file->name()).second) {
        PrintMessage(SilentText(file->name()), err_);
      }
      if (of_file == Clock::duration::zero()) continue;
      left = left == Clock::duration::zero() ? of_file : std::min(left, of_file);
    }
    return left;
  }

  // Prints once, until the first plan is made.
  void PrintWaiting() {
    if (std::exchange(printed_waiting_, true)) return;
    for (const auto& file : files_) {
      if (file->UntilListIsOver(Milliseconds(quiet_time_)) == Clock::duration::zero()) continue;
      PrintMessage(
          fmt::format("waits for the first list of {} before it plans", Printable(file->name())),
          err_);
      return;
    }
  }

  // `timeout`, where a negative one is no limit; before the first event at most the time that a
  // plan may take.
  [[nodiscard]] int UntilFirstEvent(int timeout) const {
    if (!first_event_by_ || watch_.events() > 0) return timeout;
    const auto left = std::chrono::ceil<Milliseconds>(*first_event_by_ - Clock::now()).count();
    const int most =
        static_cast<int>(std::clamp<int64_t>(left, 0, std::numeric_limits<int>::max()));
    return timeout < 0 ? most : std::min(timeout, most);
  }

  void CheckFirstEvent() {
    if (!first_event_by_ || watch_.events() > 0 || Clock::now() < *first_event_by_) return;
    failed_ = absl::DeadlineExceededError(
        fmt::format("--watch-file: no event came within {} (--scale-down-simulation-timeout)",
                    command_.simulation_timeout));
  }

  // How long to wait for events; -1 (no limit) if nothing has changed since the last plan.
  [[nodiscard]] int TimeoutMilliseconds() {
    if (!HasNews()) return -1;
    if (const auto left = UntilNextListIsOver(); left > Clock::duration::zero()) {
      return static_cast<int>(std::min<int64_t>(std::chrono::ceil<Milliseconds>(left).count(),
                                                std::numeric_limits<int>::max()));
    }
    const auto now = Clock::now();
    if (!news_since_) news_since_ = now;
    const int64_t so_far = std::chrono::duration_cast<Milliseconds>(now - *news_since_).count();
    return static_cast<int>(
        std::clamp<int64_t>(kQuietTimesMax * quiet_time_ - so_far, 0, quiet_time_));
  }

  // A device or a wrong file may deliver bytes endlessly without an event.
  void CheckHoldsEvents(const WatchFile& file) {
    const uint64_t most = command_.watch.object_bytes_max;
    if (!file.is_silent() || file.ended() || file.bytes() <= most) return;
    failed_ = absl::InvalidArgumentError(
        fmt::format("{}: its first {} bytes (--max-object-bytes) hold no event; what `kubectl get "
                    "-w --output-watch-events -o json` prints is expected",
                    Printable(file.name()), WithCommas(most)));
  }

  // Reads from the files that have data.  Returns false if there is something to plan for, and
  // either nothing came for the quiet time or events have come without a pause for long.  Also
  // returns false if the command cannot continue; `failed_` is the reason.
  bool WaitForEvents() {
    std::vector<pollfd> ready;
    for (const auto& file : files_) ready.push_back({file->fd(), POLLIN, 0});
    const int timeout = TimeoutMilliseconds();
    const bool came = poll(ready.data(), ready.size(), UntilFirstEvent(timeout)) != 0;
    if (!came || (timeout == 0 && quiet_time_ > 0)) {
      CheckFirstEvent();
      return false;
    }
    for (size_t i = 0; i < ready.size(); ++i) {
      if (ready[i].revents == 0) continue;
      if (const absl::Status s = files_[i]->ReadSome(); !s.ok()) watch_.Refuse(*files_[i], s);
      watch_.Drain(*files_[i]);
      CheckHoldsEvents(*files_[i]);
    }
    CheckFirstEvent();
    const bool others_go_on =
        std::ranges::any_of(files_, [](const auto& file) { return !file->ended(); });
    for (const auto& file : files_) {
      if (file->ended()) watch_.OnEnd(*file, others_go_on);
    }
    std::erase_if(files_, [](const auto& file) { return file->ended(); });
    return true;
  }

  void Plan() {
    const Clock::time_point start = Clock::now();
    planned_at_ = watch_.news();
    news_since_.reset();
    absl::StatusOr<LiveCluster::Version> version = cluster_.Checked();
    if (!version.ok()) {
      // More events may follow.
      if (why_not_ != version.status() && !files_.empty()) {
        PrintMessage("no plan yet: " + std::string(version.status().message()), err_);
      }
      why_not_ = version.status();
      return;
    }
    why_not_ = absl::OkStatus();
    std::vector<std::string> silent;
    for (const auto& file : files_) {
      if (file->is_silent()) silent.push_back(file->name());
    }
    watch_.Warn(version->cluster, /*goes_on=*/!files_.empty(), silent);
    const LiveCounts& counts = cluster_.counts();
    PrintMessage(fmt::format("plan {}: {}, {} put and {} deleted", ++plans_,
                             Count(watch_.events(), "event", "events"),
                             Count(counts.put, "object", "objects"), WithCommas(counts.deleted)),
                 err_);
    if (plans_ > 1 && question_.output != "json") {
      out_ << (question_.output == "yaml" ? "---\n" : "\n");
    }
    const double import_s = std::chrono::duration<double>(Clock::now() - start).count();
    exit_code_ = question_.ask(version->cluster, cluster_, rules_,
                               {.since = start,
                                .import_s = import_s,
                                .missed = watch_.missed(),
                                .rebuilds = TakeRebuilds()});
  }

  // The rebuilds since the last plan.
  std::vector<TimedRebuild> TakeRebuilds() { return std::exchange(rebuilt_, {}); }

  const PlanCommand& command_;
  const WatchQuestion& question_;
  const GroupRules rules_;
  std::ostream& out_;
  std::ostream& err_;
  std::vector<TimedRebuild> rebuilt_;  // Since the last plan.
  RebuildLog rebuilds_{[this](const TimedRebuild& rebuild) { rebuilt_.push_back(rebuild); }};
  LiveCluster cluster_;
  Watch watch_;
  std::vector<std::unique_ptr<WatchFile>> files_;  // Files that have not ended.
  std::set<std::string> silent_;                   // Names of pipes that were already warned about.
  bool printed_waiting_ = false;
  uint64_t plans_ = 0;
  const int64_t quiet_time_;            // In milliseconds.
  std::optional<uint64_t> planned_at_;  // Watch::news() at the last plan.
  // When the first change came that no plan has seen.
  std::optional<Clock::time_point> news_since_;
  absl::Status why_not_;
  std::optional<Clock::time_point> first_event_by_;  // Absent: no limit.
  absl::Status failed_;
  int exit_code_ = 0;
};

}  // namespace

void WatchFlags::AddTo(CLI::App& app) {
  const std::string group = "Watching";
  app.add_option(
         "--watch-file", files,
         "Ask about a cluster as it changes: what `kubectl get pods -A -w "
         "--output-watch-events -o json` prints, of one kind each, from a pipe, a file or - "
         "for stdin; may be given often; INPUT is loaded first, if there is one")
      ->check(values::File())
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--watch-quiet-time", quiet_time,
                 "Answer after this long without an event, or after ten times as long if events "
                 "keep coming")
      ->check(values::Duration())
      ->type_name("DURATION")
      ->capture_default_str()
      ->group(group);
  app.add_option_function<std::string>(
         "--max-object-bytes",
         [this](const std::string& bytes) { object_bytes_max = ParseBytes(bytes); },
         "Refuse events that are larger (default: 10MiB)")
      ->check(values::Bytes())
      ->type_name("BYTES")
      ->group(group);
}

int RunWatch(const PlanCommand& command, const WatchQuestion& question, std::ostream& out,
             std::ostream& err) {
  if (absl::Status s = CheckFiles(command.Files()); !s.ok()) return Fail(s, err);
  absl::StatusOr<GroupRules> rules = command.ReadGroupRules();
  if (!rules.ok()) return Fail(rules.status(), err);
  return WatchRun(command, question, *std::move(rules), out, err).Run();
}

int RunPlanWatch(const PlanCommand& command, std::ostream& out, std::ostream& err) {
  command.PrintFlagRemarks(err);
  if (!command.ExplainFlagsFit(err) || !command.CostFlagsFit(err)) return 2;
  absl::StatusOr<WhatIfQuestion> what_if = WhatIfQuestion();
  if (!command.what_if.empty()) {
    if (!CompareFlagsFit(command, err)) return 2;
    what_if = ReadQuestion(command);
    if (!what_if.ok()) return Fail(what_if.status(), err);
  }
  StablePlanner memory;
  uint64_t missed = 0;  // As of the last plan.
  const auto ask = [&](LoadedCluster& cluster, LiveCluster& live, const GroupRules& rules,
                       const PlanCommand::Loaded& loaded) {
    if (command.what_if.empty() && !command.counterfactual) {
      if (std::exchange(missed, loaded.missed) != loaded.missed) {
        memory.Forget(StableOrigin::kMissed);
      }
      PlanCommand::Loaded remembering = loaded;
      remembering.memory = &memory;
      Progress progress;
      return command.PlanOver(cluster, rules, remembering, progress, out, err);
    }
    // The changes are tried on a copy.
    absl::StatusOr<ScratchCluster> scratch = ScratchCluster::Of(live, cluster);
    if (!scratch.ok()) return Fail(scratch.status(), err);
    LoadedCluster& copy = scratch->version.cluster;
    if (!command.what_if.empty()) {
      return WhatIfOver(command, *what_if, copy, *scratch->live, out, err);
    }
    PlanCommand::Loaded of_copy = loaded;
    of_copy.live = scratch->live.get();
    Progress progress;
    return command.PlanOver(copy, rules, of_copy, progress, out, err);
  };
  return RunWatch(command, {.output = command.output, .ask = ask}, out, err);
}

}  // namespace ebb
