#include "cli/commands/snapshot_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <random>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/figures.h"
#include "base/printable.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/input_flags.h"
#include "cli/print/fail.h"
#include "cli/print/progress.h"
#include "cli/print/table.h"
#include "platform/file_identity.h"
#include "platform/output_file.h"
#include "platform/settings_file.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/read_input.h"
#include "snapshot/formats/scrub_objects.h"
#include "snapshot/formats/write_objects.h"
#include "snapshot/import/completeness.h"

namespace ebb {
namespace {

// Counts the objects on their way to the writer.
class CountingSink : public ObjectSink {
 public:
  explicit CountingSink(ObjectSink& to) : to_(to) {}

  absl::Status OnNode(const objects::Node& node) override { return ++nodes_, to_.OnNode(node); }
  absl::Status OnPod(const objects::Pod& pod) override { return ++pods_, to_.OnPod(pod); }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget& budget) override {
    return ++others_, to_.OnPodDisruptionBudget(budget);
  }
  absl::Status OnController(const objects::Controller& controller) override {
    return ++others_, to_.OnController(controller);
  }
  absl::Status OnNamespace(const objects::Namespace& namespace_object) override {
    return ++others_, to_.OnNamespace(namespace_object);
  }
  absl::Status OnStorageObject(const objects::StorageObject& object) override {
    return ++others_, to_.OnStorageObject(object);
  }
  absl::Status OnList(std::string_view kind, uint64_t items) override {
    return to_.OnList(kind, items);
  }
  absl::Status OnUnevaluated(const Unevaluated& object) override {
    return to_.OnUnevaluated(object);
  }
  void OnAside(const Aside& aside) override { to_.OnAside(aside); }

  [[nodiscard]] std::string Text() const {
    return fmt::format("{}, {} and {}", Count(nodes_, "node", "nodes"), Count(pods_, "pod", "pods"),
                       Count(others_, "other object", "other objects"));
  }

 private:
  ObjectSink& to_;
  uint64_t nodes_ = 0;
  uint64_t pods_ = 0;
  uint64_t others_ = 0;
};

bool EndsWith(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

using Bytes = std::function<absl::Status(std::string_view bytes)>;
using Fill = std::function<absl::Status(ObjectSink&)>;

template <typename Writer>
absl::Status WriteAllObjects(Writer writer, const Fill& fill) {
  if (absl::Status s = fill(writer); !s.ok()) return s;
  return writer.Finish();
}

// Writes the objects that `fill` passes on, in the format that the file's name implies.
absl::Status WriteObjects(const std::string& path, const Bytes& write, const Fill& fill) {
  if (EndsWith(path, ".pb")) return WriteAllObjects(BinarySnapshotWriter(write), fill);
  const bool yaml = EndsWith(path, ".yaml") || EndsWith(path, ".yml");
  const ObjectFormat format = yaml ? ObjectFormat::kYamlDocuments : ObjectFormat::kJsonList;
  return WriteAllObjects(ObjectWriter(format, write), fill);
}

bool IsStandardOutput(const std::string& path) { return path.empty() || path == "-"; }

// Replaces the file only once all of it is written; after an error the old file remains.
absl::Status WriteSnapshot(const std::string& path, std::ostream& standard, const Fill& fill) {
  if (IsStandardOutput(path)) {
    const auto print = [&standard](std::string_view bytes) {
      standard.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      return standard ? absl::OkStatus() : absl::CancelledError();
    };
    const absl::Status all = WriteObjects(path, print, fill);
    // main() reports the reason.
    return standard ? all : absl::CancelledError();
  }
  absl::StatusOr<OutputFile> file = OutputFile::Create(path);
  if (!file.ok()) return file.status();
  // The reader also returns the writer's errors, with an object's name in front; `written` has the
  // original error.
  absl::Status written;
  const auto write = [&](std::string_view bytes) { return written = file->Write(bytes); };
  const absl::Status all = WriteObjects(path, write, fill);
  if (!written.ok()) return written;
  return all.ok() ? file->Commit() : all;
}

// Prints the error or, unless the snapshot went to stdout, a summary.  Returns the exit code.
int Report(const absl::Status& status, const std::string& text, const std::string& path,
           std::ostream& err) {
  if (absl::IsCancelled(status)) return 1;
  if (!status.ok()) return Fail(status, err);
  if (!IsStandardOutput(path)) {
    PrintMessage(fmt::format("wrote {} to {}", text, Printable(path)), err);
  }
  return 0;
}

}  // namespace

void GenCommand::AddTo(CLI::App& app) {
  std::string help = "What the cluster is like";
  std::vector<std::string> names;
  for (const samples::Kind& each : samples::Kinds()) {
    help += fmt::format("\n{:<9}  {}", each.name, each.help);
    names.emplace_back(each.name);
  }
  app.add_option("KIND", kind, help)->required()->check(values::Choice(names));
  app.add_option("--nodes", options.nodes,
                 "Number of nodes; in company control-plane nodes come on top")
      ->check(values::WholeNumber(1, 1000000))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "The same seed makes the same cluster, everywhere")
      ->check(values::WholeNumber(0, UINT64_MAX))
      ->type_name("S")
      ->capture_default_str();
  app.add_option(
         "--devices", options.devices,
         "Share of the nodes that get eight GPUs as devices of dynamic resource allocation; "
         "pods there claim some of them")
      ->check(values::Number(0, 1))
      ->type_name("FRACTION")
      ->capture_default_str();
  app.add_option("-o,--output", output, "File: .json, .yaml or .pb (default: JSON on stdout)")
      ->check(values::File())
      ->type_name("FILE");
}

int GenCommand::Run(std::ostream& out, std::ostream& err) const {
  Progress progress;
  progress.Say("making a cluster");
  std::string made;
  const absl::Status status = WriteSnapshot(output, out, [&](ObjectSink& sink) {
    CountingSink counting(sink);
    const auto chosen = std::ranges::find(samples::Kinds(), kind, &samples::Kind::name);
    const absl::Status s = samples::GenerateDump(*chosen, options, counting);
    made = counting.Text();
    return s;
  });
  progress.Done();
  return Report(status, made, output, err);
}

void ImportCommand::AddTo(CLI::App& app) {
  app.add_option("INPUT", inputs, "Dumps of the cluster, as for `ebb plan`")->check(values::File());
  app.add_option("-o,--output", output, "File: .pb, .json or .yaml (default: JSON on stdout)")
      ->check(values::File())
      ->type_name("FILE");
  AddLimitFlags(limits, app, "Input");
  openb_app = app.add_subcommand("openb", "Make a cluster from the openb trace's CSV files");
  openb_app->add_option("--nodes", openb.nodes_path, "The trace's nodes")
      ->required()
      ->check(values::File())
      ->type_name("FILE");
  openb_app->add_option("--pods", openb.pods_path, "The trace's pods")
      ->required()
      ->check(values::File())
      ->type_name("FILE");
  openb_app->add_option("--ended-share", openb.ended_share, "Share of the pods that have ended")
      ->check(values::Number(0, 1))
      ->type_name("FRACTION")
      ->capture_default_str();
  openb_app->add_option("--seed", openb.seed, "Seed of the order of arrival")
      ->check(values::WholeNumber(0, UINT64_MAX))
      ->type_name("S")
      ->capture_default_str();
  openb_app->add_option("-o,--output", output, "File: .pb, .json or .yaml")
      ->check(values::File())
      ->type_name("FILE");
}

int ImportCommand::Run(std::ostream& out, std::ostream& err) const {
  const bool from_trace = openb_app->parsed();
  if (!from_trace && inputs.empty()) {
    PrintMessage("pass INPUT..., or openb --nodes FILE --pods FILE", err, "ebb import");
    return 2;
  }
  std::vector<UsedFile> files;
  for (const std::string& input : inputs) files.push_back({"INPUT", input, FileUse::kRead});
  files.push_back({"--nodes", openb.nodes_path, FileUse::kRead});
  files.push_back({"--pods", openb.pods_path, FileUse::kRead});
  files.push_back({"--output", output, FileUse::kWrite});
  if (absl::Status s = CheckFiles(files); !s.ok()) return Report(s, "", output, err);
  Progress progress;
  progress.Say("importing");
  std::string made;
  InputCensus census;
  // Output that was already printed cannot be replaced.
  const auto again =
      IsStandardOutput(output) ? InputCensus::ReadAgain::kNo : InputCensus::ReadAgain::kIfNeeded;
  const auto fill = [&](ObjectSink& sink) {
    CountingSink counting(sink);
    absl::Status s;
    if (from_trace) {
      OpenbStats stats;
      s = ImportOpenb(openb, counting, stats);
      made = fmt::format("{} ({} of {} of the trace fitted, {} ended)", counting.Text(),
                         stats.placed, Count(stats.pods, "pod", "pods"), stats.ended);
      return s;
    }
    ImportStats stats;
    // A part of a cluster may be imported too, so completeness is not checked here.
    s = census.Read(inputs, counting, stats, Parallelism::One(), limits, again);
    // The snapshot does not record that a file was not read.
    if (s.ok()) s = CheckAllFilesRead(stats);
    made = counting.Text();
    std::vector<InputWarning> of_files;
    WarnOfFiles(stats, /*assume_complete=*/false, of_files);
    for (const InputWarning& each : of_files) made += ", " + each.message;
    if (census.repeated() > 0) {
      made += fmt::format(", {} that came twice", Count(census.repeated(), "object", "objects"));
    }
    if (stats.files_without_objects > 0) {
      made += fmt::format(", ignored {}",
                          Count(stats.files_without_objects, "file that holds no objects",
                                "files that hold no objects"));
    }
    for (const auto& [ignored, objects] : stats.ignored) {
      made += fmt::format(", ignored {} {}", WithCommas(objects), ignored);
    }
    return s;
  };
  const absl::Status status = LoadNewest(census, [&] { return WriteSnapshot(output, out, fill); });
  progress.Done();
  return Report(status, made, output, err);
}

namespace {

absl::StatusOr<std::string> ScrubKey(const std::string& file) {
  if (file.empty()) {
    std::random_device random;
    std::string key;
    for (int i = 0; i < 8; ++i) {
      const uint32_t word = random();
      key.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
    return key;
  }
  absl::StatusOr<std::string> key = ReadWholeFile(file);
  if (key.ok() && key->size() < Scrubber::kKeyBytesMin) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": is too short for a key; expected at least ", Scrubber::kKeyBytesMin,
                     " random bytes, for example from `head -c 32 /dev/urandom`"));
  }
  return key;
}

// Lists what the reader of the snapshot sees as it was.
void PrintScrubbed(const Scrubber::Report& report, std::ostream& err) {
  PrintMessage(fmt::format("{} became pseudonyms: all names, namespaces, UIDs, ids, images, other "
                           "keys, and values of labels and taints",
                           Count(report.pseudonyms, "text", "texts")),
               err);
  PrintMessage("kept as they are: amounts, times, priorities, ports and counts", err);
  for (const auto& [category, texts] : report.kept) {
    std::string list;
    for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + Printable(text);
    PrintMessage(fmt::format("kept {}: {}", category, list), err);
  }
  std::string dropped;
  for (const auto& [key, objects] : report.dropped) {
    dropped +=
        fmt::format("{}{} ({})", dropped.empty() ? "" : ", ", Printable(key), WithCommas(objects));
  }
  if (!dropped.empty()) PrintMessage("dropped annotations (of so many objects): " + dropped, err);
  PrintMessage("dropped what no rule reads: environments, commands, messages, other fields", err);
}

}  // namespace

void ScrubCommand::AddTo(CLI::App& app) {
  app.add_option("INPUT", inputs, "Dumps of the cluster, as for `ebb plan`")
      ->required()
      ->check(values::File());
  app.add_option("-o,--output", output, "File: .pb, .json or .yaml (default: JSON on stdout)")
      ->check(values::File())
      ->type_name("FILE");
  app.add_option(
         "--key", key,
         "A secret of at least 16 bytes: the same key makes the same pseudonyms of the same "
         "input (default: a random key, which is forgotten)")
      ->check(values::File())
      ->type_name("FILE");
  AddLimitFlags(limits, app, "Input");
}

int ScrubCommand::Run(std::ostream& out, std::ostream& err) const {
  std::vector<UsedFile> files;
  for (const std::string& input : inputs) files.push_back({"INPUT", input, FileUse::kRead});
  files.push_back({"--key", key, FileUse::kRead});
  files.push_back({"--output", output, FileUse::kWrite});
  if (absl::Status s = CheckFiles(files); !s.ok()) return Fail(s, err);
  const absl::StatusOr<std::string> secret = ScrubKey(key);
  if (!secret.ok()) return Fail(secret.status(), err);
  Progress progress;
  progress.Say("reading");
  // The input is read once, since it may be a pipe; the two passes read its snapshot.
  InputCensus census;
  std::string snapshot;
  ImportStats stats;
  absl::Status read = LoadNewest(census, [&] {
    snapshot.clear();
    stats = {};
    BinarySnapshotWriter writer([&snapshot](std::string_view bytes) {
      snapshot += bytes;
      return absl::OkStatus();
    });
    absl::Status status = census.Read(inputs, writer, stats, Parallelism::One(), limits);
    return status.ok() ? writer.Finish() : status;
  });
  if (read.ok()) read = CheckAllFilesRead(stats);
  Scrubber scrubber(*secret);
  const auto pass = [&snapshot](ObjectSink& sink) {
    ImportStats unused;
    return ReadBinarySnapshot("the snapshot", snapshot, sink, unused);
  };
  progress.Say("scrubbing");
  if (read.ok()) read = pass(scrubber.Collecting());
  if (!read.ok()) return progress.Done(), Fail(read, err);
  std::string made;
  const absl::Status status = WriteSnapshot(output, out, [&](ObjectSink& sink) {
    CountingSink counting(sink);
    absl::Status s = pass(scrubber.Writing(counting));
    made = counting.Text();
    return s;
  });
  progress.Done();
  if (status.ok()) PrintScrubbed(scrubber.report(), err);
  return Report(status, made, output, err);
}

}  // namespace ebb
