// One frame of `ebb top`: a plan by group of nodes, with bars of what pods request.
//
// No line is wider than `columns`, and no name of the cluster can move the cursor.
// Threads: pure.

#ifndef EBB_CLI_PRINT_TOP_FRAME_H_
#define EBB_CLI_PRINT_TOP_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ebb {

class TopFrame {
 public:
  struct Style {
    size_t columns = 80;
    bool nodes = false;   // Also a row for each node.
    bool colour = false;  // Bars and the nodes that go.
  };

  // REQUIRES: `plan` is a plan as PlanJson makes it.
  explicit TopFrame(const nlohmann::ordered_json& plan);

  // The lines above the table, which do not scroll.
  [[nodiscard]] std::vector<std::string> Head(const Style& style) const;
  // The rows of groups and nodes.
  [[nodiscard]] std::vector<std::string> Rows(const Style& asked) const;

 private:
  // What pods request of some nodes, and what these nodes offer.  Nodes whose utilization the plan
  // does not say count in `unknown` only.
  struct Sum {
    double cpu = 0;
    double cpu_most = 0;
    double memory = 0;
    double memory_most = 0;
    double price = 0;
    size_t nodes = 0;
    size_t go = 0;
    size_t unknown = 0;
  };
  struct Node {
    std::string name;
    std::string type;
    std::string capacity_type;
    std::string note;  // "goes, 3 pods move", or why it stays.
    bool goes = false;
    Sum sum;
  };
  struct Group {
    std::string name;
    std::string type;  // "m5.large", or "3 types".
    std::vector<Node> nodes;
    Sum sum;
  };

  static void AddTo(Sum& sum, const Sum& more);
  void Read(const nlohmann::ordered_json& node, bool goes);
  [[nodiscard]] Group& GroupOf(const std::string& name);

  std::vector<Group> groups_;  // The one with the most nodes that go first.
  Sum all_;
  std::string now_;
  std::string currency_;
  uint64_t pods_ = 0;
  uint64_t moved_ = 0;
  std::optional<double> saved_;
  bool complete_ = true;
};

}  // namespace ebb

#endif  // EBB_CLI_PRINT_TOP_FRAME_H_
