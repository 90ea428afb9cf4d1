#include "tools/filter_print.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "base/figures.h"
#include "base/printable.h"
#include "service/filter_report.h"
#include "tools/table.h"

namespace ebb {
namespace {

std::string Join(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) {
    if (!joined.empty()) joined += ", ";
    joined += part;
  }
  return joined;
}

void PrintFilters(ClusterSnapshot& snapshot, PodId pod, NodeId node, std::ostream& out) {
  const std::vector<FilterVerdict> verdicts = JudgeEach(snapshot, pod, node);
  const bool fits = std::ranges::all_of(verdicts, &FilterVerdict::fits);
  out << "Pod " << Printable(snapshot.catalog().PodName(pod)) << (fits ? " fits" : " does not fit")
      << " on node " << Printable(snapshot.catalog().NodeName(node)) << "\n\n";
  Table table({"FILTER", "FITS", "REASONS"});
  for (const FilterVerdict& verdict : verdicts) {
    table.AddRow({std::string(FilterName(verdict.filter)), verdict.fits ? "yes" : "no",
                  Join(verdict.reasons)});
  }
  table.Print(out);
}

void PrintTable(ClusterSnapshot& snapshot, PodId pod, std::ostream& out) {
  const std::vector<NodeVerdict> verdicts = JudgeAll(snapshot, pod);
  size_t fits = 0;
  Table table({"NODE", "FITS", "FILTER", "REASONS"});
  for (const auto& [node, verdict] : verdicts) {
    fits += verdict.fits;
    table.AddRow({std::string(snapshot.catalog().NodeName(node)), verdict.fits ? "yes" : "no",
                  verdict.fits ? "" : std::string(FilterName(verdict.filter)),
                  Join(verdict.reasons)});
  }
  out << "Pod " << Printable(snapshot.catalog().PodName(pod)) << " fits on " << fits << " of "
      << Count(verdicts.size(), "node", "nodes") << "\n\n";
  table.Print(out);
}

}  // namespace

void PrintFilterTable(ClusterSnapshot& snapshot, PodId pod, std::optional<NodeId> only,
                      std::ostream& out) {
  if (only) return PrintFilters(snapshot, pod, *only, out);
  PrintTable(snapshot, pod, out);
}

}  // namespace ebb
