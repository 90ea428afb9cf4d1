#include "snapshot/samples/openb.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "base/text.h"
#include "snapshot/samples/sample_objects.h"

namespace ebb {
namespace {

constexpr int64_t kPodsMax = 105;  // A node allows 110; the rest is for the system's pods.
constexpr double kCpuForPodsWithoutGpu = 0.7;  // Share of a GPU node's cpu.
constexpr int64_t kMebibyte = int64_t{1} << 20;
constexpr int64_t kNodeCreated = 1767225600;  // 2026-01-01T00:00:00Z
constexpr int64_t kPodCreated = 1767312000;   // 2026-01-02T00:00:00Z
// Upper limits for machines and pods; sums of such amounts cannot overflow.
constexpr int64_t kCpuMilliMax = 1'000'000'000;
constexpr int64_t kMemoryMibMax = int64_t{1} << 32;
constexpr int64_t kGpusMax = 100'000;

// ---------------------------------------------------------------------------
// CSV

// A CSV file without quotes, as in the trace.  The first line has the names of the columns.
class Table {
 public:
  static absl::StatusOr<Table> Load(const std::string& path) {
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    if (!file || !(bytes << file.rdbuf())) {
      return absl::NotFoundError(absl::StrCat(
          path, ": ", errno == 0 ? "is empty" : std::generic_category().message(errno)));
    }
    Table table;
    table.path_ = path;
    table.text_ = std::make_unique<std::string>(std::move(bytes).str());
    if (absl::Status read = table.ReadLines(); !read.ok()) return read;
    return table;
  }

  size_t rows() const { return rows_.size(); }

  // The index of the column `name`.
  absl::StatusOr<size_t> Column(std::string_view name) const {
    const auto found = std::find(columns_.begin(), columns_.end(), name);
    if (found != columns_.end()) return static_cast<size_t>(found - columns_.begin());
    return absl::InvalidArgumentError(absl::StrCat(path_, ": has no column ", Absl(name)));
  }

  std::string_view Text(size_t row, size_t column) const { return rows_[row].fields[column]; }

  // A whole number in [least, most]; an empty field counts as zero.
  absl::StatusOr<int64_t> Number(size_t row, size_t column, int64_t least, int64_t most) const {
    const std::string_view text = Text(row, column);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = text.empty() || (error == std::errc() && end == text.data() + text.size());
    if (whole && number >= least && number <= most) return number;
    const std::string problem =
        !whole ? "is not a whole number" : absl::StrCat("is not between ", least, " and ", most);
    return Error(row, column, absl::StrCat("\"", Absl(text), "\" ", problem));
  }

  absl::Status Error(size_t row, size_t column, std::string_view problem) const {
    return absl::InvalidArgumentError(
        absl::StrCat(Where(row), ", column ", Absl(columns_[column]), ": ", Absl(problem)));
  }

  // Adds the row's place to the sink's error about the object made from it.
  absl::Status AtRow(size_t row, const absl::Status& verdict) const {
    if (verdict.ok()) return verdict;
    return absl::Status(verdict.code(), absl::StrCat(Where(row), ": ", verdict.message()));
  }

 private:
  struct Row {
    size_t line = 0;
    std::vector<std::string_view> fields;
  };

  std::string Where(size_t row) const { return absl::StrCat(path_, ": line ", rows_[row].line); }

  absl::Status ReadLines() {
    size_t number = 0;
    for (std::string_view line : SplitAtAny(*text_, "\n")) {
      ++number;
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      if (line.empty()) continue;
      std::vector<std::string_view> fields = SplitAtAny(line, ",");
      if (columns_.empty()) {
        columns_ = std::move(fields);
        continue;
      }
      if (fields.size() != columns_.size()) {
        return absl::InvalidArgumentError(absl::StrCat(path_, ": line ", number, ": has ",
                                                       fields.size(), " fields where line 1 names ",
                                                       columns_.size()));
      }
      rows_.push_back(Row{number, std::move(fields)});
    }
    if (columns_.empty()) return absl::InvalidArgumentError(absl::StrCat(path_, ": is empty"));
    return absl::OkStatus();
  }

  std::string path_;
  std::unique_ptr<std::string> text_;  // A pointer, so that the views below survive a move.
  std::vector<std::string_view> columns_;
  std::vector<Row> rows_;
};

// ---------------------------------------------------------------------------
// The trace

struct TraceNode {
  size_t row = 0;
  std::string_view name;
  std::string_view model;
  int64_t cpu_milli = 0;
  int64_t memory_mib = 0;
  int64_t gpus = 0;
  int64_t cpu_used = 0;
  int64_t memory_used = 0;
  int64_t gpus_used = 0;
  int64_t pods = 0;
};

struct TracePod {
  size_t row = 0;
  std::string_view name;
  std::vector<std::string_view> models;  // Allowed models; empty: any.
  int64_t cpu_milli = 0;
  int64_t memory_mib = 0;
  int64_t gpus = 0;
  const TraceNode* node = nullptr;
};

// Reads the fields of each row by column, and keeps the first error.
class Rows {
 public:
  explicit Rows(const Table& table) : table_(table) {}

  size_t Column(std::string_view name) {
    const absl::StatusOr<size_t> column = table_.Column(name);
    if (!column.ok() && status_.ok()) status_ = column.status();
    return column.ok() ? *column : 0;
  }
  int64_t Number(size_t row, size_t column, int64_t least, int64_t most) {
    const absl::StatusOr<int64_t> number = table_.Number(row, column, least, most);
    if (!number.ok() && status_.ok()) status_ = number.status();
    return number.ok() ? *number : 0;
  }
  std::string_view Name(size_t row, size_t column) {
    const std::string_view name = table_.Text(row, column);
    if (name.empty() && status_.ok()) status_ = table_.Error(row, column, "is empty");
    return name;
  }
  const absl::Status& status() const { return status_; }

 private:
  const Table& table_;
  absl::Status status_;
};

// One record per row, filled by fill(row, record).
template <typename Record, typename Fill>
absl::StatusOr<std::vector<Record>> Records(const Table& table, const Rows& rows, Fill&& fill) {
  std::vector<Record> records;
  for (size_t row = 0; row < table.rows() && rows.status().ok(); ++row) {
    Record& record = records.emplace_back();
    record.row = row;
    fill(row, record);
  }
  if (!rows.status().ok()) return rows.status();
  return records;
}

absl::StatusOr<std::vector<TraceNode>> Nodes(const Table& table) {
  Rows rows(table);
  const size_t name = rows.Column("sn");
  const size_t cpu = rows.Column("cpu_milli");
  const size_t memory = rows.Column("memory_mib");
  const size_t gpu = rows.Column("gpu");
  const size_t model = rows.Column("model");
  return Records<TraceNode>(table, rows, [&](size_t row, TraceNode& node) {
    node.name = rows.Name(row, name);
    node.model = table.Text(row, model);
    node.cpu_milli = rows.Number(row, cpu, 1, kCpuMilliMax);
    node.memory_mib = rows.Number(row, memory, 1, kMemoryMibMax);
    node.gpus = rows.Number(row, gpu, 0, kGpusMax);
  });
}

absl::StatusOr<std::vector<TracePod>> Pods(const Table& table) {
  Rows rows(table);
  const size_t name = rows.Column("name");
  const size_t cpu = rows.Column("cpu_milli");
  const size_t memory = rows.Column("memory_mib");
  const size_t gpu = rows.Column("num_gpu");
  const size_t models = rows.Column("gpu_spec");
  return Records<TracePod>(table, rows, [&](size_t row, TracePod& pod) {
    pod.name = rows.Name(row, name);
    pod.cpu_milli = rows.Number(row, cpu, 0, kCpuMilliMax);
    pod.memory_mib = rows.Number(row, memory, 0, kMemoryMibMax);
    pod.gpus = rows.Number(row, gpu, 0, kGpusMax);
    for (const std::string_view allowed : SplitAtAny(table.Text(row, models), "|")) {
      if (!allowed.empty()) pod.models.push_back(allowed);
    }
  });
}

// ---------------------------------------------------------------------------
// Placement

bool Allows(const TracePod& pod, const TraceNode& node) {
  return pod.models.empty() ||
         std::find(pod.models.begin(), pod.models.end(), node.model) != pod.models.end();
}

bool Fits(const TracePod& pod, const TraceNode& node) {
  const int64_t cpu = node.cpu_used + pod.cpu_milli;
  if (cpu > node.cpu_milli || node.memory_used + pod.memory_mib > node.memory_mib) return false;
  if (node.gpus_used + pod.gpus > node.gpus || node.pods >= kPodsMax) return false;
  if (pod.gpus == 0 && node.gpus > 0 &&
      static_cast<double>(cpu) > kCpuForPodsWithoutGpu * static_cast<double>(node.cpu_milli)) {
    return false;
  }
  return Allows(pod, node);
}

double Allocation(const TracePod& pod, const TraceNode& node) {
  return static_cast<double>(node.cpu_used + pod.cpu_milli) / static_cast<double>(node.cpu_milli) +
         static_cast<double>(node.memory_used + pod.memory_mib) /
             static_cast<double>(node.memory_mib);
}

TraceNode* LeastAllocated(const TracePod& pod, std::vector<TraceNode>& nodes) {
  TraceNode* best = nullptr;
  double least = 0;
  for (TraceNode& node : nodes) {
    if (!Fits(pod, node)) continue;
    const double allocation = Allocation(pod, node);
    if (best != nullptr && allocation >= least) continue;
    best = &node;
    least = allocation;
  }
  return best;
}

// The pods that fit somewhere, in their order of arrival.
std::vector<TracePod> Place(std::vector<TracePod> pods, std::vector<TraceNode>& nodes) {
  std::vector<TracePod> placed;
  placed.reserve(pods.size());
  for (TracePod& pod : pods) {
    TraceNode* const node = LeastAllocated(pod, nodes);
    if (node == nullptr) continue;
    node->cpu_used += pod.cpu_milli;
    node->memory_used += pod.memory_mib;
    node->gpus_used += pod.gpus;
    ++node->pods;
    pod.node = node;
    placed.push_back(std::move(pod));
  }
  return placed;
}

// Removes a random `share` of the pods; the others keep their order.
std::vector<TracePod> Running(std::vector<TracePod> placed, double share, Random& random) {
  const size_t total = placed.size();
  const size_t ended =
      std::min(total, static_cast<size_t>(std::llround(share * static_cast<double>(total))));
  // Selection sampling: the chance of each pod is adjusted so that exactly `ended` pods end.
  size_t left = ended;
  std::vector<TracePod> running;
  running.reserve(total - ended);
  for (size_t i = 0; i < total; ++i) {
    if (random.Below(total - i) < left) {
      --left;
    } else {
      running.push_back(std::move(placed[i]));
    }
  }
  return running;
}

// ---------------------------------------------------------------------------
// Objects

absl::Status EmitNode(const TraceNode& from, ObjectSink& sink) {
  const std::string uid = absl::StrCat("n-", Absl(from.name));
  const std::string group = from.model.empty() ? "ng-cpu" : absl::StrCat("ng-", Absl(from.model));
  objects::Node node;
  node.meta.name = from.name;
  node.meta.uid = uid;
  node.meta.labels = {{"kubernetes.io/hostname", from.name},
                      {"kubernetes.io/os", "linux"},
                      {"nodegroup", group},
                      {"gpu-model", from.model.empty() ? std::string_view("none") : from.model}};
  node.meta.creation_time = kNodeCreated;
  node.provider_id = from.name;
  node.allocatable = {
      {"cpu", from.cpu_milli}, {"memory", from.memory_mib * kMebibyte}, {"pods", 110}};
  if (from.gpus > 0) node.allocatable.push_back({"nvidia.com/gpu", from.gpus});
  node.capacity = node.allocatable;
  node.conditions = {{"Ready", "True"}};
  return sink.OnNode(node);
}

absl::Status EmitPod(const TracePod& from, ObjectSink& sink) {
  const std::string uid = absl::StrCat("p-default-", Absl(from.name));
  const std::string owner = absl::StrCat("rs-", Absl(from.name));
  const std::string owner_uid = absl::StrCat("o-default-", owner);
  objects::Pod pod;
  pod.meta.name = from.name;
  pod.meta.namespace_name = "default";
  pod.meta.uid = uid;
  pod.meta.labels = {{"app", from.name}};
  pod.meta.creation_time = kPodCreated;
  pod.meta.owners = {{"apps/v1", "ReplicaSet", owner, owner_uid, true}};
  pod.node_name = from.node->name;
  pod.phase = "Running";
  pod.scheduling = objects::Scheduling::kUnprocessed;  // As readers set it without conditions.
  objects::Container& container = pod.containers.emplace_back();
  container.name = "c";
  container.requests = {{"cpu", from.cpu_milli}, {"memory", from.memory_mib * kMebibyte}};
  if (from.gpus > 0) container.requests.push_back({"nvidia.com/gpu", from.gpus});
  if (!from.models.empty()) {
    pod.required_node_affinity.nil = false;
    pod.required_node_affinity.terms.emplace_back().match_expressions.push_back(
        {"gpu-model", "In", from.models});
  }
  if (absl::Status taken = sink.OnPod(pod); !taken.ok()) return taken;

  return samples::WriteController(objects::ControllerKind::kReplicaSet, "default", owner, owner_uid,
                                  1, sink);
}

}  // namespace

absl::Status ImportOpenb(const OpenbOptions& options, ObjectSink& sink, OpenbStats& stats) {
  if (!(options.ended_share >= 0 && options.ended_share <= 1)) {
    return absl::InvalidArgumentError("the share of ended pods must lie between 0 and 1");
  }
  const absl::StatusOr<Table> node_table = Table::Load(options.nodes_path);
  if (!node_table.ok()) return node_table.status();
  const absl::StatusOr<Table> pod_table = Table::Load(options.pods_path);
  if (!pod_table.ok()) return pod_table.status();
  absl::StatusOr<std::vector<TraceNode>> nodes = Nodes(*node_table);
  if (!nodes.ok()) return nodes.status();
  absl::StatusOr<std::vector<TracePod>> pods = Pods(*pod_table);
  if (!pods.ok()) return pods.status();
  stats.nodes = nodes->size();
  stats.pods = pods->size();

  Random random(options.seed);
  random.Shuffle(*pods);
  std::vector<TracePod> placed = Place(*std::move(pods), *nodes);
  stats.placed = placed.size();
  const std::vector<TracePod> running = Running(std::move(placed), options.ended_share, random);
  stats.ended = stats.placed - running.size();

  for (const TraceNode& node : *nodes) {
    const absl::Status taken = node_table->AtRow(node.row, EmitNode(node, sink));
    if (!taken.ok()) return taken;
  }
  for (const TracePod& pod : running) {
    const absl::Status taken = pod_table->AtRow(pod.row, EmitPod(pod, sink));
    if (!taken.ok()) return taken;
  }
  return absl::OkStatus();
}

}  // namespace ebb
