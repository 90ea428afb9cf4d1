// Reads kubectl's JSON, compact and indented, into a sink that drops the objects and into a
// snapshot, with one thread and with two.  Loads files of JSON and of ebb's own format, as commands
// do.  Reads pods one by one, as client-go marshals them, from protobuf and from JSON.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/rows.h"
#include "bench/workloads.h"
#include "benchmark/benchmark.h"
#include "planning/live_cluster.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/json_bytes.h"
#include "snapshot/formats/object_batch.h"
#include "snapshot/formats/object_protobuf.h"
#include "snapshot/formats/object_reader.h"
#include "snapshot/formats/read_json.h"
#include "snapshot/formats/write_objects.h"
#include "snapshot/import/load_cluster.h"

namespace ebb::bench {
namespace {

class NullSink final : public ObjectSink {
 public:
  absl::Status OnNode(const objects::Node&) override { return Count(); }
  absl::Status OnPod(const objects::Pod&) override { return Count(); }
  absl::Status OnPodDisruptionBudget(const objects::PodDisruptionBudget&) override {
    return Count();
  }
  absl::Status OnController(const objects::Controller&) override { return Count(); }
  absl::Status OnNamespace(const objects::Namespace&) override { return Count(); }
  [[nodiscard]] uint64_t objects() const { return objects_; }

 private:
  absl::Status Count() {
    ++objects_;
    return absl::OkStatus();
  }
  uint64_t objects_ = 0;
};

// Indents as `kubectl -o json` does: four spaces per level.
std::string Indented(std::string_view compact) {
  std::string text;
  size_t depth = 0;
  bool in_string = false;
  const auto new_line = [&] { text.append("\n").append(depth * 4, ' '); };
  for (size_t i = 0; i < compact.size(); ++i) {
    const char c = compact[i];
    if (in_string) {
      text += c;
      if (c == '\\') text += compact[++i];
      in_string = c != '"';
      continue;
    }
    if (c == ' ' || c == '\n') continue;
    if (c == '}' || c == ']') {
      --depth;
      new_line();
    }
    text += c;
    in_string = c == '"';
    if (c == '{' || c == '[') {
      ++depth;
      new_line();
    } else if (c == ',') {
      new_line();
    } else if (c == ':') {
      text += ' ';
    }
  }
  return text;
}

std::string MakeJson(const std::string& workload, bool indented) {
  std::string text;
  ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view bytes) {
    text.append(bytes);
    return absl::OkStatus();
  });
  if (!WriteWorkload(workload, writer).ok() || !writer.Finish().ok()) return "";
  if (indented) text = Indented(text);
  text.append(kJsonPadding, ' ');  // As after a mapped file.
  return text;
}

// The workload's JSON; kept, because several rows read the same text.
std::string_view Json(const std::string& workload, bool indented) {
  static auto* const known = new std::map<std::pair<std::string, bool>, std::string>();
  std::string& text = (*known)[{workload, indented}];
  if (text.empty()) text = MakeJson(workload, indented);
  return std::string_view(text).substr(0, text.size() - std::min(text.size(), kJsonPadding));
}

enum class Into { kNothing, kSnapshot };

void ImportJson(benchmark::State& state, const std::string& workload, bool indented, Into into,
                size_t threads) {
  const std::string_view text = Json(workload, indented);
  if (text.empty()) return state.SkipWithError("cannot be written as JSON");
  const Parallelism parallelism(threads);
  for (auto _ : state) {
    ImportStats stats;
    absl::Status status;
    if (into == Into::kSnapshot) {
      ClusterLoader loader;
      status = ReadJson("bench.json", text, /*padded=*/true, loader, stats, parallelism);
      if (status.ok()) status = std::move(loader).Finish().status();
    } else {
      NullSink sink;
      status = ReadJson("bench.json", text, /*padded=*/true, sink, stats, parallelism);
      benchmark::DoNotOptimize(sink.objects());
    }
    if (!status.ok()) return state.SkipWithError(status.ToString().c_str());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
  state.counters["bytes"] = static_cast<double>(text.size());
}

// A file with the workload, which is removed with this.
class WorkloadFile {
 public:
  WorkloadFile(const std::string& workload, bool binary)
      : path_(std::filesystem::temp_directory_path() /
              ("ebb_bench_" + std::to_string(::getpid()) + (binary ? ".pb" : ".json"))) {
    std::ofstream file(path_, std::ios::binary);
    const auto write = [&](std::string_view bytes) {
      file << bytes;
      return absl::OkStatus();
    };
    const auto fill = [&](auto writer) {
      written_ = WriteWorkload(workload, writer).ok() && writer.Finish().ok();
    };
    if (binary) {
      fill(BinarySnapshotWriter(write));
    } else {
      fill(ObjectWriter(ObjectFormat::kJsonList, write));
    }
    written_ = written_ && file.flush().good();
  }
  ~WorkloadFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  WorkloadFile(const WorkloadFile&) = delete;
  WorkloadFile& operator=(const WorkloadFile&) = delete;

  [[nodiscard]] bool written() const { return written_; }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  const std::filesystem::path path_;
  bool written_ = false;
};

// All of the import, as commands do it: from the file, with the check for completeness.
void LoadFile(benchmark::State& state, const std::string& workload, bool binary) {
  const WorkloadFile file(workload, binary);
  if (!file.written()) return state.SkipWithError("cannot be written to a file");
  const std::vector<std::string> inputs = {file.path()};
  const LoadOptions options{.allow_incomplete = true};
  for (auto _ : state) {
    const absl::StatusOr<LoadedCluster> cluster = LoadCluster(inputs, options);
    if (!cluster.ok()) return state.SkipWithError(cluster.status().ToString().c_str());
  }
}

// As LoadFile(), into a cluster that can change: what a session loads for the first change of a
// dump.
void LoadLive(benchmark::State& state, const std::string& workload, bool binary) {
  const WorkloadFile file(workload, binary);
  if (!file.written()) return state.SkipWithError("cannot be written to a file");
  const std::vector<std::string> inputs = {file.path()};
  const LoadOptions options{.allow_incomplete = true};
  for (auto _ : state) {
    absl::StatusOr<std::unique_ptr<LiveCluster>> cluster = LiveCluster::FromInputs(inputs, options);
    if (!cluster.ok()) return state.SkipWithError(cluster.status().ToString().c_str());
    state.PauseTiming();
    cluster->reset();
    state.ResumeTiming();
  }
}

// Pods as client-go marshals them, made from one pod of go/wire; they differ only in their names.
std::vector<std::string> Pods(const std::string& fixture) {
  constexpr size_t kPods = 10'000;
  constexpr std::string_view kName = "x2x4q";  // The part of the name that differs.
  std::ifstream file(EBB_SOURCE_DIR "/tests/snapshot/formats/data/" + fixture, std::ios::binary);
  const std::string pod{std::istreambuf_iterator<char>(file), {}};
  const size_t at = pod.find(kName);
  if (at == std::string::npos) return {};
  std::vector<std::string> pods(kPods, pod);
  for (size_t i = 0; i < kPods; ++i) {
    pods[i].replace(at, kName.size(), std::to_string(10'000 + i));
    pods[i].append(kJsonPadding, ' ');
  }
  return pods;
}

template <typename Reader>
void ReadPods(benchmark::State& state, const std::string& fixture) {
  constexpr size_t kBatch = 100;
  const std::vector<std::string> pods = Pods(fixture);
  if (pods.empty()) return state.SkipWithError("its fixture is missing");
  const size_t size = pods[0].size() - kJsonPadding;
  Reader reader;
  ObjectBatch batch;
  for (auto _ : state) {
    NullSink sink;
    ImportStats stats;
    for (size_t i = 0; i < pods.size(); ++i) {
      reader.Read(std::string_view(pods[i]).substr(0, size), ObjectPlace{}, batch);
      if ((i + 1) % kBatch != 0) continue;
      const absl::Status given = batch.HandOver(
          "bench", sink, stats, [](ObjectBatch::Left, size_t) { return absl::OkStatus(); });
      if (!given.ok()) return state.SkipWithError(given.ToString().c_str());
      batch.Clear();
    }
    if (sink.objects() != pods.size()) return state.SkipWithError("pods are missing");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(pods.size()));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(pods.size() * size));
}

}  // namespace

void RegisterImportRows() {
  for (const std::string pod : {"sample_pod", "typical_pod"}) {
    const std::string name = "BM_Import_Objects/" + pod;
    benchmark::RegisterBenchmark((name + "/protobuf").c_str(), [pod](benchmark::State& state) {
      ReadPods<ProtobufObjectReader>(state, pod + ".pb");
    })->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark((name + "/json").c_str(), [pod](benchmark::State& state) {
      ReadPods<ObjectReader>(state, pod + ".json");
    })->Unit(benchmark::kMillisecond);
  }
  for (const std::string workload : {"company:5000", "mixed:5000", "uniform:5000"}) {
    for (const bool binary : {false, true}) {
      for (const auto& [kind, load] :
           {std::pair("BM_Import_Load/", &LoadFile), std::pair("BM_Import_LoadLive/", &LoadLive)}) {
        const std::string name = kind + workload + (binary ? "/pb" : "/json");
        benchmark::RegisterBenchmark(
            name.c_str(), [=](benchmark::State& state) { load(state, workload, binary); })
            ->Unit(benchmark::kMillisecond)
            ->UseRealTime();
      }
    }
  }
  struct Row {
    const char* name;
    Into into;
  };
  for (const Row& row :
       {Row{"BM_Import_Json", Into::kNothing}, Row{"BM_Import_JsonToSnapshot", Into::kSnapshot}}) {
    for (const std::string workload : {"mixed:1000", "uniform:5000", "terms:10000",
                                       "excluding:10000", "budgets:10000", "claims:10000"}) {
      // "connects": the text is ordinary; the row shows how long one thread takes to connect the
      // objects.
      const bool connects = workload != "mixed:1000" && workload != "uniform:5000";
      if (connects && row.into == Into::kNothing) continue;
      for (const bool indented : {false, true}) {
        if (indented && workload != "mixed:1000") continue;  // Others would have 220 MB of blanks.
        for (const size_t threads : {1, 2}) {
          if (connects && threads > 1) continue;
          const std::string name = std::string(row.name) + "/" + workload + "/" +
                                   (indented ? "indented" : "compact") +
                                   "/threads:" + std::to_string(threads);
          benchmark::RegisterBenchmark(name.c_str(),
                                       [=, into = row.into](benchmark::State& state) {
                                         ImportJson(state, workload, indented, into, threads);
                                       })
              ->Unit(benchmark::kMillisecond)
              ->UseRealTime();
        }
      }
    }
  }
}

}  // namespace ebb::bench
