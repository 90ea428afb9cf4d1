#include "cli/print/filter_print.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>

#include "base/figures.h"
#include "base/printable.h"
#include "cli/print/table.h"

namespace ebb {

namespace wire = v1alpha1;

namespace {

using Verdict = wire::PodVerdicts::Verdict;

std::string Reasons(const Verdict& verdict) {
  std::string joined;
  for (const std::string& reason : verdict.reasons()) {
    if (!joined.empty()) joined += ", ";
    joined += reason;
  }
  if (!verdict.detail().empty()) joined += "; " + PrintableLine(verdict.detail());
  return joined;
}

void PrintFilters(const wire::PodVerdicts& pod, std::ostream& out) {
  const bool fits = std::ranges::all_of(pod.verdicts(), &Verdict::fits);
  out << "Pod " << Printable(pod.pod()) << (fits ? " fits" : " does not fit") << " on node "
      << Printable(pod.node()) << "\n\n";
  Table table({"FILTER", "FITS", "REASONS"});
  for (const Verdict& verdict : pod.verdicts()) {
    table.AddRow({verdict.filter(), verdict.fits() ? "yes" : "no", Reasons(verdict)});
  }
  table.Print(out);
}

void PrintNodes(const wire::PodVerdicts& pod, std::ostream& out) {
  const auto fits = std::ranges::count_if(pod.verdicts(), &Verdict::fits);
  Table table({"NODE", "FITS", "FILTER", "REASONS"});
  for (const Verdict& verdict : pod.verdicts()) {
    table.AddRow(
        {verdict.node(), verdict.fits() ? "yes" : "no", verdict.filter(), Reasons(verdict)});
  }
  out << "Pod " << Printable(pod.pod()) << " fits on " << fits << " of "
      << Count(static_cast<size_t>(pod.verdicts_size()), "node", "nodes") << "\n\n";
  table.Print(out);
}

}  // namespace

void PrintFilterTables(const wire::FilterReply& reply, std::ostream& out) {
  bool is_first = true;
  for (const wire::PodVerdicts& pod : reply.pods()) {
    if (!std::exchange(is_first, false)) out << "\n";
    pod.node().empty() ? PrintNodes(pod, out) : PrintFilters(pod, out);
  }
}

}  // namespace ebb
