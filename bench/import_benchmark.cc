// Reading kubectl's JSON, compact and indented, into a sink that drops it, and into
// a snapshot.

#include <string>

#include "bench/rows.h"
#include "bench/workloads.h"
#include "benchmark/benchmark.h"
#include "tools/load_cluster.h"
#include "tools/read_input.h"
#include "tools/write_objects.h"

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

// As `kubectl -o json` indents: four spaces a level.
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

const std::string& Json(bool indented) {
  static const std::string compact = [] {
    std::string text;
    ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view bytes) {
      text.append(bytes);
      return absl::OkStatus();
    });
    if (!WriteWorkload("mixed:1000", writer).ok() || !writer.Finish().ok()) text.clear();
    return text;
  }();
  static const std::string pretty = Indented(compact);
  return indented ? pretty : compact;
}

void ImportJson(benchmark::State& state, bool indented, bool build) {
  const std::string& text = Json(indented);
  for (auto _ : state) {
    ImportStats stats;
    absl::Status status;
    if (build) {
      ClusterLoader loader;
      status = ReadBytes("bench.json", text, loader, stats);
      if (status.ok()) status = std::move(loader).Finish().status();
    } else {
      NullSink sink;
      status = ReadBytes("bench.json", text, sink, stats);
      benchmark::DoNotOptimize(sink.objects());
    }
    if (!status.ok()) {
      state.SkipWithError(status.ToString().c_str());
      return;
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}

}  // namespace

void RegisterImportRows() {
  for (const bool build : {false, true}) {
    for (const bool indented : {false, true}) {
      const std::string name =
          std::string(build ? "BM_Import_JsonToSnapshot/" : "BM_Import_Json/") +
          (indented ? "indented" : "compact");
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
        ImportJson(state, indented, build);
      })->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace ebb::bench
