#include "cli/print/waves_print.h"

#include <fmt/format.h>

#include <ostream>
#include <string>

#include "base/duration.h"
#include "base/figures.h"
#include "base/printable.h"
#include "cli/print/display_text.h"
#include "cli/print/table.h"
#include "groups/prices.h"

namespace ebb {

namespace wire = v1alpha1;

namespace {

constexpr size_t kReasonsShown = 2;

// "290 NotEnoughPdb, 112 LocalStorageRequested, 120 more".
std::string WaveReasonsText(const google::protobuf::RepeatedPtrField<wire::KeptReason>& kept,
                            size_t shown) {
  std::string text;
  uint64_t rest = 0;
  for (const wire::KeptReason& each : kept) {
    if (shown == 0) {
      rest += each.nodes();
      continue;
    }
    --shown;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", WithCommas(each.nodes()),
                        Printable(each.reason()));
  }
  if (rest > 0) text += fmt::format(", {} more", WithCommas(rest));
  return text.empty() ? "none" : text;
}

std::string WavesHeadline(const wire::WaveFigures& waves) {
  if (waves.waves().empty()) return "Waves: none, because nothing can go.";
  return fmt::format("Waves: {} of {} can go in {}, and {} {}; it takes {}.",
                     WithCommas(waves.removed()), Count(waves.nodes_at_first(), "node", "nodes"),
                     Count(static_cast<uint64_t>(waves.waves_size()), "wave", "waves"),
                     WithCommas(waves.nodes()), waves.nodes() == 1 ? "stays" : "stay",
                     DurationText(waves.takes_seconds()));
}

void PrintWaveTable(const wire::PlanTables& tables, size_t columns, size_t rows_max,
                    std::ostream& out) {
  const auto& waves = tables.waves().waves();
  std::vector<std::string> headings = {"WAVE", "AT", "REMOVED", "PODS", "NODES", "FREED CPU"};
  if (!tables.currency().empty()) headings.emplace_back("SAVED/H");
  headings.emplace_back("STILL HELD BY");
  Table table(headings);
  for (size_t column = 0; column + 1 < headings.size(); ++column) table.AlignRight(column);
  table.FitTo(columns).ShortenEnd(headings.size() - 1);
  const auto all = static_cast<size_t>(waves.size());
  const size_t shown = rows_max == 0 || all <= rows_max + 1 ? all : rows_max;
  for (size_t i = 0; i < shown; ++i) {
    const wire::WaveFigures::Wave& wave = waves[static_cast<int>(i)];
    std::vector<std::string> row = {std::to_string(i + 1),      DurationText(wave.at_seconds()),
                                    WithCommas(wave.removed()), WithCommas(wave.moved_pods()),
                                    WithCommas(wave.nodes()),   Cores(wave.freed_cpu_milli())};
    if (wave.has_saved_per_hour()) {
      row.push_back(MoneyText(wave.saved_per_hour(), Printable(tables.currency())));
    }
    row.push_back(WaveReasonsText(wave.kept(), kReasonsShown));
    table.AddRow(std::move(row));
  }
  table.Print(out);
  if (shown < all) {
    out << fmt::format("... {} more; all with --all or -o wide\n", WithCommas(all - shown));
  }
}

}  // namespace

void PrintWaves(const wire::PlanTables& tables, size_t columns, size_t rows_max,
                std::ostream& out) {
  const wire::WaveFigures& waves = tables.waves();
  const auto say = [&](std::string_view text) { out << Wrapped(text, columns) << "\n"; };
  out << "\n";
  say(WavesHeadline(waves));
  if (!waves.waves().empty()) PrintWaveTable(tables, columns, rows_max, out);
  if (waves.moved_again_pods() > 0) {
    say(fmt::format("{} of the {} are of pods that an earlier wave moved.",
                    WithCommas(waves.moved_again_pods()),
                    Count(waves.moved_pods(), "move", "moves")));
  }
  if (waves.cut()) {
    say("--scale-down-simulation-timeout ended the waves; more nodes may be able to go.");
  } else {
    say(fmt::format("Then no more nodes can go: {}.",
                    WaveReasonsText(waves.kept(), static_cast<size_t>(waves.kept_size()))));
  }
  out << "The waves assume:\n";
  for (const std::string& text : waves.assumptions()) {
    out << Wrapped("- " + PrintableLine(text), columns, 2) << "\n";
  }
}

}  // namespace ebb
