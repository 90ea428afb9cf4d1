#include "cli/print/waves_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "base/duration.h"
#include "base/figures.h"
#include "base/printable.h"
#include "cli/print/display_text.h"
#include "cli/print/table.h"
#include "report/plan_waves.h"

namespace ebb {
namespace {

constexpr size_t kReasonsShown = 2;

// "290 NotEnoughPdb, 112 LocalStorageRequested, 120 more".
std::string WaveReasonsText(const WaveReasons& kept, size_t shown) {
  std::string text;
  size_t rest = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (i >= shown) {
      rest += kept[i].second;
      continue;
    }
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", WithCommas(kept[i].second), kept[i].first);
  }
  if (rest > 0) text += fmt::format(", {} more", WithCommas(rest));
  return text.empty() ? "none" : text;
}

std::string WavesHeadline(const PlanWaves& waves) {
  if (waves.waves.empty()) return "Waves: none, because nothing can go.";
  return fmt::format("Waves: {} of {} can go in {}, and {} {}; it takes {}.",
                     WithCommas(waves.removed()), Count(waves.nodes_at_first, "node", "nodes"),
                     Count(waves.waves.size(), "wave", "waves"), WithCommas(waves.nodes),
                     waves.nodes == 1 ? "stays" : "stay", DurationText(waves.takes_s()));
}

void PrintWaveTable(const PlanContext& context, size_t columns, size_t rows_max,
                    std::ostream& out) {
  const std::vector<PlanWave>& waves = context.waves->waves;
  std::vector<std::string> headings = {"WAVE", "AT", "REMOVED", "PODS", "NODES", "FREED CPU"};
  if (context.prices != nullptr) headings.emplace_back("SAVED/H");
  headings.emplace_back("STILL HELD BY");
  Table table(headings);
  for (size_t column = 0; column + 1 < headings.size(); ++column) table.AlignRight(column);
  table.FitTo(columns).ShortenEnd(headings.size() - 1);
  const size_t shown = rows_max == 0 || waves.size() <= rows_max + 1 ? waves.size() : rows_max;
  for (size_t i = 0; i < shown; ++i) {
    const PlanWave& wave = waves[i];
    std::vector<std::string> row = {std::to_string(i + 1),          DurationText(wave.at_s),
                                    WithCommas(wave.remove.size()), WithCommas(wave.moved),
                                    WithCommas(wave.nodes),         Cores(wave.freed.cpu_milli)};
    if (wave.saved_per_hour) {
      row.push_back(MoneyText(*wave.saved_per_hour, Printable(context.prices->currency)));
    }
    row.push_back(WaveReasonsText(wave.kept, kReasonsShown));
    table.AddRow(std::move(row));
  }
  table.Print(out);
  if (shown < waves.size()) {
    out << fmt::format("... {} more; all with --all or -o wide\n",
                       WithCommas(waves.size() - shown));
  }
}

}  // namespace

void PrintWaves(const PlanContext& context, size_t columns, size_t rows_max, std::ostream& out) {
  const PlanWaves& waves = *context.waves;
  const auto say = [&](std::string_view text) { out << Wrapped(text, columns) << "\n"; };
  out << "\n";
  say(WavesHeadline(waves));
  if (!waves.waves.empty()) PrintWaveTable(context, columns, rows_max, out);
  if (waves.moved_again() > 0) {
    say(fmt::format("{} of the {} are of pods that an earlier wave moved.",
                    WithCommas(waves.moved_again()), Count(waves.moved(), "move", "moves")));
  }
  if (waves.ended == WavesEnd::kTimeLimit) {
    say("--scale-down-simulation-timeout ended the waves; more nodes may be able to go.");
  } else {
    say(fmt::format("Then no more nodes can go: {}.",
                    WaveReasonsText(waves.kept, waves.kept.size())));
  }
  out << "The waves assume:\n";
  for (const std::string& text : WaveAssumptions(waves)) {
    out << Wrapped("- " + text, columns, 2) << "\n";
  }
}

}  // namespace ebb
