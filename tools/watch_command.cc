#include "tools/watch_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/figures.h"
#include "base/printable.h"
#include "base/text.h"
#include "service/file_identity.h"
#include "service/live_cluster.h"
#include "snapshot/formats/duration.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/formats/read_json.h"
#include "snapshot/formats/watch_stream.h"
#include "snapshot/import/completeness.h"
#include "snapshot/live/change_batch.h"
#include "tools/autoscaler_flags.h"
#include "tools/fail.h"
#include "tools/flag_values.h"

namespace ebb {
namespace {

using Clock = std::chrono::steady_clock;

// Events that could not be taken are told one by one up to as many.
constexpr uint64_t kRefusedShown = 10;

// An open file that is watched.
class WatchedFile {
 public:
  WatchedFile(std::string name, int fd, size_t document_bytes_max)
      : name_(std::move(name)), fd_(fd), stream_(document_bytes_max) {}
  ~WatchedFile() {
    if (fd_ > 0) close(fd_);
  }
  WatchedFile(const WatchedFile&) = delete;
  WatchedFile& operator=(const WatchedFile&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool ended() const { return ended_; }
  WatchStream& stream() { return stream_; }

  // Gives what there is to the stream.
  absl::Status ReadSome() {
    std::array<char, 1 << 16> bytes;
    const ssize_t count = read(fd_, bytes.data(), bytes.size());
    if (count > 0) {
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
  bool ended_ = false;
  WatchStream stream_;
};

absl::StatusOr<std::unique_ptr<WatchedFile>> Open(const std::string& name, size_t bytes_max) {
  if (name == "-") return std::make_unique<WatchedFile>("standard input", STDIN_FILENO, bytes_max);
  // Without blocking: whoever writes to several pipes opens them in an order of its own.
  const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0) return std::make_unique<WatchedFile>(name, fd, bytes_max);
  return absl::NotFoundError(
      fmt::format("--watch-file: {}: {}", Printable(name), std::strerror(errno)));
}

// The message of a Status object.
std::string MessageOf(std::string_view status) {
  const auto json = nlohmann::json::parse(status, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("message") || !json["message"].is_string()) return "";
  return json["message"].get<std::string>();
}

// Carries events out.
class Watch {
 public:
  Watch(const PlanCommand& command, LiveCluster& cluster, std::ostream& err)
      : cluster_(cluster), err_(err), batch_(command.watch.object_bytes_max) {}

  // Takes every event that is whole.
  void Drain(WatchedFile& file) {
    while (true) {
      const absl::StatusOr<std::optional<WatchEvent>> event = file.stream().Next();
      if (!event.ok()) {
        Refuse(file, event.status());
        continue;
      }
      if (!event->has_value()) return;
      ++events_;
      if (const absl::Status s = Take(**event); !s.ok()) {
        Refuse(file,
               {s.code(), fmt::format("line {}: {}", (*event)->line, std::string(s.message()))});
      }
      batch_.Clear();
      TellIgnored();
    }
  }

  // Tells that an event, or more of the file, could not be taken.
  void Refuse(const WatchedFile& file, const absl::Status& why) {
    const std::string text =
        fmt::format("{}: {}", Printable(file.name()), std::string(why.message()));
    if (refused_++ == 0) first_refused_ = text;
    if (refused_ <= kRefusedShown) PrintMessage("warning: " + text, err_);
    if (refused_ == kRefusedShown) PrintMessage("warning: no more of these are told", err_);
  }

  [[nodiscard]] uint64_t events() const { return events_; }

  // What the plans to come are to be warned of.
  void Warn(LoadedCluster& cluster) const {
    if (refused_ == 0) return;
    cluster.warnings.push_back({"WatchEventsRefused",
                                fmt::format("{} of the watch could not be taken; the first: {}",
                                            Count(refused_, "event", "events"), first_refused_),
                                ""});
  }

 private:
  absl::Status Take(const WatchEvent& event) {
    switch (event.type) {
      case WatchEvent::Type::kBookmark:
        return absl::OkStatus();
      case WatchEvent::Type::kError:
        return absl::UnavailableError(fmt::format("the watch has failed: {}; start it again",
                                                  Printable(MessageOf(event.object))));
      case WatchEvent::Type::kDeleted:
        if (absl::Status s = batch_.DeleteJson(event.object); !s.ok()) return s;
        return cluster_.Take(batch_.changes());
      case WatchEvent::Type::kAdded:
      case WatchEvent::Type::kModified:
        break;
    }
    absl::Status put =
        event.object.starts_with('{') ? batch_.PutJson(event.object) : absl::UnimplementedError("");
    if (put.ok()) return cluster_.Take(batch_.changes());
    if (put.code() != absl::StatusCode::kUnimplemented) return put;
    return cluster_.Read([&](ObjectSink& sink) {
      ImportStats stats;
      return ReadJson("list", event.object, /*padded=*/false, sink, stats);
    });
  }

  // Once a kind.
  void TellIgnored() {
    if (batch_.ignored().size() == told_.size() || told_.size() == kRefusedShown) return;
    for (const auto& [kind, count] : batch_.ignored()) {
      if (told_.size() < kRefusedShown && told_.insert(kind).second) {
        PrintMessage("passed over objects of kind " + Printable(kind) + ", which decide nothing",
                     err_);
      }
    }
  }

  LiveCluster& cluster_;
  std::ostream& err_;
  ChangeBatch batch_;
  uint64_t events_ = 0;
  uint64_t refused_ = 0;
  std::string first_refused_;
  std::set<std::string> told_;
};

// One run of the command.
class WatchRun {
 public:
  WatchRun(const PlanCommand& command, GroupRules rules, std::ostream& out, std::ostream& err)
      : command_(command),
        rules_(std::move(rules)),
        out_(out),
        err_(err),
        cluster_(command.load),
        watch_(command, cluster_, err) {}

  int Run() {
    if (const absl::Status s = LoadInputs(); !s.ok()) return Fail(s, err_);
    for (const std::string& name : command_.watch.files) {
      auto file = Open(name, command_.watch.object_bytes_max);
      if (!file.ok()) return Fail(file.status(), err_);
      files_.push_back(*std::move(file));
    }
    while (!files_.empty()) {
      if (!WaitForEvents()) Plan();
    }
    if (plans_ == 0 || planned_at_ != watch_.events()) Plan();
    return why_not_.ok() ? exit_code_ : Fail(why_not_, err_);
  }

 private:
  absl::Status LoadInputs() {
    if (command_.inputs.empty()) return absl::OkStatus();
    ImportStats stats;
    return cluster_.Read([&](ObjectSink& sink) {
      for (const std::string& input : command_.inputs) {
        absl::Status read =
            ReadInput(input, sink, stats, Parallelism(command_.threads), command_.load.limits);
        if (!read.ok()) return read;
      }
      return absl::OkStatus();
    });
  }

  // Reads from the files that have something.  False: nothing came for the quiet time, and
  // there is something to plan for.
  bool WaitForEvents() {
    std::vector<pollfd> ready;
    for (const auto& file : files_) ready.push_back({file->fd(), POLLIN, 0});
    const bool news = planned_at_ != watch_.events() || (plans_ == 0 && !command_.inputs.empty());
    using Milliseconds = std::chrono::duration<int, std::milli>;
    const auto quiet = std::min<std::chrono::nanoseconds>(*ParseDuration(command_.watch.quiet_time),
                                                          Milliseconds::max());
    const int timeout =
        news && !waits_ ? std::chrono::duration_cast<Milliseconds>(quiet).count() : -1;
    const int count = poll(ready.data(), ready.size(), timeout);
    if (count == 0) return false;
    waits_ = false;
    for (size_t i = 0; i < ready.size(); ++i) {
      if (ready[i].revents == 0) continue;
      if (const absl::Status s = files_[i]->ReadSome(); !s.ok()) watch_.Refuse(*files_[i], s);
      watch_.Drain(*files_[i]);
    }
    std::erase_if(files_, [](const auto& file) { return file->ended(); });
    return true;
  }

  void Plan() {
    const Clock::time_point start = Clock::now();
    planned_at_ = watch_.events();
    absl::StatusOr<LiveCluster::Version> version = cluster_.Judged();
    if (!version.ok()) {
      // More may come.
      if (plans_ > 0) PrintMessage("warning: " + std::string(version.status().message()), err_);
      why_not_ = version.status();
      waits_ = true;
      return;
    }
    why_not_ = absl::OkStatus();
    watch_.Warn(version->cluster);
    const LiveCounts& counts = cluster_.counts();
    PrintMessage(fmt::format("plan {}: {}, {} put and {} deleted", ++plans_,
                             Count(watch_.events(), "event", "events"),
                             Count(counts.put, "object", "objects"), WithCommas(counts.deleted)),
                 err_);
    const double import_s = std::chrono::duration<double>(Clock::now() - start).count();
    Progress progress;
    exit_code_ = command_.PlanOver(version->cluster, rules_, {.since = start, .import_s = import_s},
                                   progress, out_, err_);
  }

  const PlanCommand& command_;
  const GroupRules rules_;
  std::ostream& out_;
  std::ostream& err_;
  LiveCluster cluster_;
  Watch watch_;
  std::vector<std::unique_ptr<WatchedFile>> files_;  // Those that have not ended.
  uint64_t plans_ = 0;
  uint64_t planned_at_ = 0;  // watch_.events() of the last try.
  bool waits_ = false;       // The last try was too early.
  absl::Status why_not_;
  int exit_code_ = 0;
};

}  // namespace

void WatchFlags::AddTo(CLI::App& app) {
  const std::string group = "Watching";
  app.add_option(
         "--watch-file", files,
         "Plan over a cluster as it changes: what `kubectl get pods -A -w "
         "--output-watch-events -o json` prints, of one kind each, from a pipe, a file or - "
         "for stdin; may be given often; INPUT is loaded first, if there is one")
      ->check(values::File())
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--watch-quiet-time", quiet_time, "Plan when no event came for as long")
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

int RunWatch(const PlanCommand& command, std::ostream& out, std::ostream& err) {
  if (command.over_time.app != nullptr) TellIgnoredFlags(*command.over_time.app, err);
  if (absl::Status s = CheckFiles(command.Files()); !s.ok()) return Fail(s, err);
  absl::StatusOr<GroupRules> rules = command.ReadGroupRules();
  if (!rules.ok()) return Fail(rules.status(), err);
  return WatchRun(command, *std::move(rules), out, err).Run();
}

}  // namespace ebb
