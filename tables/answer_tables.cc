#include "tables/answer_tables.h"

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/rfc3339.h"
#include "base/text.h"

namespace ebb {
namespace {

using Element = simdjson::dom::element;
using enum ColumnType;

// A value of an answer, or its absence.  Absent members of an absent value are absent too, so that
// `plan["summary"]["freed"]["gpus"].Integer()` needs no checks in between.
class Value {
 public:
  Value() = default;
  explicit Value(Element element) : element_(element) {}

  Value operator[](std::string_view key) const {
    Element found;
    if (!element_ || element_->at_key(key).get(found) != simdjson::SUCCESS) return {};
    return Value(found);
  }
  [[nodiscard]] bool IsThere() const { return element_.has_value(); }
  [[nodiscard]] std::optional<std::string_view> Text() const { return As<std::string_view>(); }
  [[nodiscard]] std::optional<int64_t> Integer() const { return As<int64_t>(); }
  [[nodiscard]] std::optional<double> Real() const { return As<double>(); }
  [[nodiscard]] std::optional<bool> Switch() const { return As<bool>(); }
  [[nodiscard]] std::optional<int64_t> Time() const {
    const std::optional<std::string_view> text = Text();
    return text ? ParseRfc3339(*text) : std::nullopt;
  }
  // The number of elements of a list; 0: it is absent.
  [[nodiscard]] size_t Size() const {
    simdjson::dom::array list;
    return element_ && element_->get(list) == simdjson::SUCCESS ? list.size() : 0;
  }
  // Calls take(Value) for each element of a list.
  template <typename Take>
  void ForEach(Take take) const {
    simdjson::dom::array list;
    if (!element_ || element_->get(list) != simdjson::SUCCESS) return;
    for (const Element each : list) take(Value(each));
  }

 private:
  template <typename T>
  [[nodiscard]] std::optional<T> As() const {
    T value;
    if (!element_ || element_->get(value) != simdjson::SUCCESS) return std::nullopt;
    return value;
  }

  std::optional<Element> element_;
};

// --- Columns that several tables share ---------------------------------------------------------

std::vector<ColumnSpec> With(std::vector<ColumnSpec> columns,
                             std::initializer_list<ColumnSpec> more) {
  columns.insert(columns.end(), more);
  return columns;
}

// What a node is, and how much of it was requested.
std::vector<ColumnSpec> NodeColumns() {
  return {{"node"},
          {"group"},
          {"instance_type"},
          {"zone"},
          {"capacity_type"},
          {"price_per_hour", kReal, "currency per hour"},
          {"cpu_allocatable_milli", kInteger, "milli-CPU"},
          {"memory_allocatable_bytes", kInteger, "bytes"},
          {"gpus_allocatable", kInteger, "GPUs"},
          {"utilization_resource"},
          {"utilization", kReal, "share of allocatable"},
          {"cpu_utilization", kReal, "share of allocatable"},
          {"memory_utilization", kReal, "share of allocatable"},
          {"gpu_utilization", kReal, "share of allocatable"}};
}

void PutNode(const Value& node, ColumnTable::RowWriter& row) {
  const Value offers = node["allocatable"];
  const Value use = node["utilization"];
  row.Text(node["node"].Text())
      .Text(node["group"].Text())
      .Text(node["instanceType"].Text())
      .Text(node["zone"].Text())
      .Text(node["capacityType"].Text())
      .Real(node["pricePerHour"].Real())
      .Integer(offers["cpuMilli"].Integer())
      .Integer(offers["memoryBytes"].Integer())
      .Integer(offers["gpus"].Integer())
      .Text(use["resource"].Text())
      .Real(use["value"].Real())
      .Real(use["cpu"].Real())
      .Real(use["memory"].Real())
      .Real(use["gpu"].Real());
}

// --- Tables of a plan ----------------------------------------------------------------------------

ColumnTable Plans(const Value& plan) {
  ColumnTable table("plans", {{"now", kTime},
                              {"complete", kSwitch},
                              {"nodes", kInteger},
                              {"pods", kInteger},
                              {"removed", kInteger, "nodes"},
                              {"moved_pods", kInteger, "pods"},
                              {"kept", kInteger, "nodes"},
                              {"may_go_later", kInteger, "nodes"},
                              {"pending_pods", kInteger, "pods"},
                              {"pending_pods_placed", kInteger, "pods"},
                              {"left_out_ended_pods", kInteger, "pods"},
                              {"left_out_expendable_pods", kInteger, "pods"},
                              {"left_out_pods_on_unknown_nodes", kInteger, "pods"},
                              {"kubernetes_version"},
                              {"termination"},
                              {"freed_cpu_milli", kInteger, "milli-CPU"},
                              {"freed_memory_bytes", kInteger, "bytes"},
                              {"freed_gpus", kInteger, "GPUs"},
                              {"saved_per_hour", kReal, "currency per hour"},
                              {"currency"},
                              {"search_first_plan_removed", kInteger, "nodes"},
                              {"search_iterations", kInteger},
                              {"search_seed", kInteger},
                              {"search_ended"},
                              {"bound_removed", kInteger, "nodes"},
                              {"bound_gap", kReal, "share of the bound"},
                              {"trials", kInteger},
                              {"trials_random_order_pending_median", kInteger, "pods"},
                              {"trials_random_order_pending_max", kInteger, "pods"},
                              {"trials_plan_order_pending_median", kInteger, "pods"},
                              {"trials_plan_order_pending_max", kInteger, "pods"},
                              {"warnings", kInteger}});
  const Value summary = plan["summary"];
  const Value pending = summary["pendingPods"];
  const Value left_out = summary["leftOut"];
  const Value freed = summary["freed"];
  const Value search = summary["search"];
  const Value bound = summary["bound"];
  const Value trials = summary["trials"];
  table.Row()
      .Integer(plan["now"].Time())
      .Switch(plan["complete"].Switch())
      .Integer(summary["nodes"].Integer())
      .Integer(summary["pods"].Integer())
      .Integer(summary["removed"].Integer())
      .Integer(summary["movedPods"].Integer())
      .Integer(summary["kept"].Integer())
      .Integer(summary["mayGoLater"].Integer())
      .Integer(pending["total"].Integer())
      .Integer(pending["placed"].Integer())
      .Integer(left_out["endedPods"].Integer())
      .Integer(left_out["expendablePods"].Integer())
      .Integer(left_out["podsOnUnknownNodes"].Integer())
      .Text(summary["kubernetesVersion"].Text())
      .Text(summary["termination"].Text())
      .Integer(freed["cpuMilli"].Integer())
      .Integer(freed["memoryBytes"].Integer())
      .Integer(freed["gpus"].Integer())
      .Real(summary["savedPerHour"].Real())
      .Text(summary["currency"].Text())
      .Integer(search["firstPlanRemoved"].Integer())
      .Integer(search["iterations"].Integer())
      .Integer(search["seed"].Integer())
      .Text(search["ended"].Text())
      .Integer(bound["removed"].Integer())
      .Real(bound["gap"].Real())
      .Integer(trials["trials"].Integer())
      .Integer(trials["randomOrder"]["pendingMedian"].Integer())
      .Integer(trials["randomOrder"]["pendingMax"].Integer())
      .Integer(trials["planOrder"]["pendingMedian"].Integer())
      .Integer(trials["planOrder"]["pendingMax"].Integer())
      .Integer(static_cast<int64_t>(summary["warnings"].Size()));
  return table;
}

ColumnTable Removals(const Value& plan) {
  std::vector<ColumnSpec> columns = {{"position", kInteger}};
  const std::vector<ColumnSpec> node = NodeColumns();
  columns.insert(columns.end(), node.begin(), node.end());
  ColumnTable table(
      "removals",
      With(std::move(columns), {{"risky", kSwitch}, {"moved_pods", kInteger, "pods"}, {"detail"}}));
  int64_t position = 0;
  plan["remove"].ForEach([&](const Value& node) {
    ColumnTable::RowWriter row = table.Row();
    row.Integer(++position);
    PutNode(node, row);
    row.Switch(node["risky"].Switch())
        .Integer(static_cast<int64_t>(node["pods"].Size()))
        .Text(node["detail"].Text());
  });
  return table;
}

ColumnTable Moves(const Value& plan) {
  ColumnTable table("moves", {{"position", kInteger},
                              {"namespace"},
                              {"pod"},
                              {"from_node"},
                              {"to_node"},
                              {"via_nodes"},
                              {"other_architecture"}});
  int64_t position = 0;
  plan["remove"].ForEach([&](const Value& node) {
    ++position;
    node["pods"].ForEach([&](const Value& pod) {
      std::string via;
      pod["via"].ForEach([&](const Value& stop) {
        if (!via.empty()) via += ',';  // No name of a node has one.
        via += stop.Text().value_or("");
      });
      table.Row()
          .Integer(position)
          .Text(pod["namespace"].Text())
          .Text(pod["name"].Text())
          .Text(node["node"].Text())
          .Text(pod["to"].Text())
          .TextOrNull(via)
          .Text(pod["otherArchitecture"].Text());
    });
  });
  return table;
}

ColumnTable Kept(const Value& plan) {
  ColumnTable table("kept", With(NodeColumns(), {{"reason"},
                                                 {"detail"},
                                                 {"recent_reason"},
                                                 {"blocking_pod_namespace"},
                                                 {"blocking_pod"},
                                                 {"blocking_reason"},
                                                 {"blocking_detail"},
                                                 {"pod_disruption_budget"},
                                                 {"unplaced_pod_namespace"},
                                                 {"unplaced_pod"},
                                                 {"unplaced_pod_nodes", kInteger, "nodes"},
                                                 {"unplaced_pod_fits", kInteger, "nodes"}}));
  plan["keep"].ForEach([&](const Value& node) {
    const Value blocking = node["blockingPod"];
    const Value unplaced = node["unplacedPod"];
    ColumnTable::RowWriter row = table.Row();
    PutNode(node, row);
    row.Text(node["reason"].Text())
        .Text(node["detail"].Text())
        .Text(node["recentReason"].Text())
        .Text(blocking["namespace"].Text())
        .Text(blocking["name"].Text())
        .Text(blocking["reason"].Text())
        .Text(blocking["detail"].Text())
        .Text(blocking["podDisruptionBudget"].Text())
        .Text(unplaced["namespace"].Text())
        .Text(unplaced["name"].Text())
        .Integer(unplaced["nodes"].Integer())
        .Integer(unplaced["fits"].Integer());
  });
  return table;
}

// --- Tables of other answers ---------------------------------------------------------------------

ColumnTable Blockers(const Value& answer) {
  ColumnTable table("blockers", {{"kind"},
                                 {"namespace"},
                                 {"name"},
                                 {"reason"},
                                 {"nodes", kInteger, "nodes"},
                                 {"change"},
                                 {"detail"},
                                 {"nodes_gained", kInteger, "nodes"},
                                 {"saved_per_hour_gained", kReal, "currency per hour"},
                                 {"not_tried"}});
  answer["blockers"].ForEach([&](const Value& each) {
    table.Row()
        .Text(each["kind"].Text())
        .Text(each["namespace"].Text())
        .Text(each["name"].Text())
        .Text(each["reason"].Text())
        .Integer(each["nodes"].Integer())
        .Text(each["change"].Text())
        .Text(each["detail"].Text())
        .Integer(each["nodesGained"].Integer())
        .Real(each["savedPerHourGained"].Real())
        .Text(each["notTried"].Text());
  });
  return table;
}

ColumnTable Frontier(const Value& answer) {
  ColumnTable table("frontier", {{"removed", kInteger, "nodes"},
                                 {"moved_pods", kInteger, "pods"},
                                 {"saved_per_hour", kReal, "currency per hour"},
                                 {"currency"}});
  answer["points"].ForEach([&](const Value& each) {
    table.Row()
        .Integer(each["removed"].Integer())
        .Integer(each["movedPods"].Integer())
        .Real(each["savedPerHour"].Real())
        .Text(answer["currency"].Text());
  });
  return table;
}

struct KindOfTable {
  std::string_view name;
  std::string_view answer;  // The kind of the answer that has it.
  std::string_view needs;   // A member that every such answer has.
  ColumnTable (*make)(const Value& answer);
};
constexpr KindOfTable kTables[] = {{"plans", "Plan", "summary", Plans},
                                   {"removals", "Plan", "remove", Removals},
                                   {"moves", "Plan", "remove", Moves},
                                   {"kept", "Plan", "keep", Kept},
                                   {"blockers", "Blockers", "blockers", Blockers},
                                   {"frontier", "Frontier", "points", Frontier}};

}  // namespace

absl::StatusOr<ColumnTable> AnswerTable(std::string_view name, std::string_view answer) {
  const KindOfTable* wanted = nullptr;
  std::string names;
  for (const KindOfTable& each : kTables) {
    if (each.name == name) wanted = &each;
    absl::StrAppend(&names, names.empty() ? "" : ", ", Absl(each.name));
  }
  if (wanted == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("table: no answer has a table \"", Absl(name), "\"; expected one of ", names));
  }
  simdjson::dom::parser parser;
  Element parsed;
  if (parser.parse(answer.data(), answer.size()).get(parsed) != simdjson::SUCCESS) {
    return absl::InvalidArgumentError("answer: is not JSON");
  }
  const Value value(parsed);
  const std::string_view kind = value["kind"].Text().value_or("");
  if (kind != wanted->answer) {
    return absl::InvalidArgumentError(absl::StrCat("answer: kind is \"", Absl(kind),
                                                   "\"; a table of ", Absl(name), " needs ",
                                                   Absl(wanted->answer)));
  }
  if (!value[wanted->needs].IsThere()) {
    return absl::InvalidArgumentError(absl::StrCat("answer: has no ", Absl(wanted->needs)));
  }
  return wanted->make(value);
}

}  // namespace ebb
