#include "cli/print/top_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "base/figures.h"
#include "base/printable.h"
#include "cli/print/display_text.h"
#include "groups/prices.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kTypeColumns = 14;
constexpr size_t kNameColumnsMin = 12;
// Rows of fewer columns are cut.
constexpr size_t kColumnsWhole = 70;

// "[#####.....]  52%" in `width` columns for the bar alone; "-" if there is nothing to share.
std::string BarText(double part, double whole, size_t width, bool colour) {
  if (whole <= 0) return fmt::format("{:<{}}    -", "", width);
  const double share = std::clamp(part / whole, 0.0, 1.0);
  const auto full = static_cast<size_t>(std::lround(share * static_cast<double>(width)));
  const std::string bar(full, '#');
  const std::string rest(width - full, '.');
  return fmt::format("{}{}{}{} {:>3}%", colour ? "\x1b[32m" : "", bar, colour ? "\x1b[0m" : "",
                     rest, std::lround(100 * part / whole));
}

// `text` in exactly `width` columns.
std::string Padded(std::string_view text, size_t width) {
  std::string cut = ShortenedAtEnd(Printable(text), width);
  cut.append(width - std::min(width, DisplayWidth(cut)), ' ');
  return cut;
}

// "1,234.50", at most nine columns: larger amounts have no cents.
std::string PriceText(double hourly) {
  const std::string text = MoneyText(hourly, "");
  return text.size() <= 9 ? text : WithCommas(static_cast<uint64_t>(std::llround(hourly)));
}

std::string Text(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// The columns of a row: how wide its name and each bar are.
struct Widths {
  size_t name;
  size_t bar;
};

// A row is NAME TYPE NODES GO BAR BAR [PRICE]; the name takes what the others leave.
Widths WidthsFor(size_t columns, size_t longest_name, bool prices) {
  const size_t fixed =
      2 + kTypeColumns + 2 + 6 + 2 + 6 + size_t{2} * (2 + 5) + (prices ? 2 + 9 : 0);
  const size_t left = columns > fixed ? columns - fixed : 0;
  if (left < kNameColumnsMin) return {.name = kNameColumnsMin, .bar = 0};  // Rows are cut.
  Widths widths{.name = std::min(std::max(longest_name, kNameColumnsMin), left / 2), .bar = 0};
  widths.name = std::max(widths.name, kNameColumnsMin);
  widths.bar = std::min<size_t>(20, (left - widths.name) / 2);
  return widths;
}

}  // namespace

void TopFrame::AddTo(Sum& sum, const Sum& more) {
  sum.cpu += more.cpu, sum.cpu_most += more.cpu_most;
  sum.memory += more.memory, sum.memory_most += more.memory_most;
  sum.price += more.price;
  sum.nodes += more.nodes, sum.go += more.go, sum.unknown += more.unknown;
}

TopFrame::Group& TopFrame::GroupOf(const std::string& name) {
  const auto found = std::ranges::find(groups_, name, &Group::name);
  if (found != groups_.end()) return *found;
  return groups_.emplace_back(Group{.name = name, .type = {}, .nodes = {}, .sum = {}});
}

void TopFrame::Read(const Json& json, bool goes) {
  Node node{.name = Text(json, "node"),
            .type = Text(json, "instanceType"),
            .capacity_type = Text(json, "capacityType"),
            .note = {},
            .goes = goes,
            .sum = {}};
  if (goes) {
    const size_t pods = json.at("pods").size();
    node.note = pods == 0 ? "goes" : "goes, " + Count(pods, "pod moves", "pods move");
  } else {
    node.note = Text(json, "reason");
  }
  node.sum.nodes = 1;
  node.sum.go = goes ? 1 : 0;
  node.sum.price = json.value("pricePerHour", 0.0);
  const auto use = json.find("utilization");
  // On a node with GPUs, only GPUs have a utilization.
  if (use != json.end() && use->contains("cpu")) {
    const Json& most = json.at("allocatable");
    const auto share = [use](const char* key) {
      return use->at(key).is_number() ? use->at(key).get<double>() : 0.0;
    };
    node.sum.cpu_most = most.at("cpuMilli");
    node.sum.memory_most = most.at("memoryBytes");
    node.sum.cpu = share("cpu") * node.sum.cpu_most;
    node.sum.memory = share("memory") * node.sum.memory_most;
  } else {
    node.sum.unknown = 1;
  }
  Group& group = GroupOf(Text(json, "group"));
  AddTo(group.sum, node.sum);
  AddTo(all_, node.sum);
  group.nodes.push_back(std::move(node));
}

TopFrame::TopFrame(const Json& plan) {
  const Json& summary = plan.at("summary");
  now_ = Text(plan, "now");
  currency_ = Text(summary, "currency");
  pods_ = summary.at("pods");
  moved_ = summary.at("movedPods");
  complete_ = plan.value("complete", true);
  if (summary.contains("savedPerHour")) saved_ = summary.at("savedPerHour").get<double>();
  for (const Json& node : plan.at("remove")) Read(node, /*goes=*/true);
  for (const Json& node : plan.at("keep")) Read(node, /*goes=*/false);
  for (Group& group : groups_) {
    std::set<std::string> types;
    for (const Node& node : group.nodes) types.insert(node.type);
    group.type = types.size() == 1 ? *types.begin() : Count(types.size(), "type", "types");
  }
  std::ranges::stable_sort(groups_, [](const Group& a, const Group& b) {
    return std::pair(b.sum.go, a.name) < std::pair(a.sum.go, b.name);
  });
}

std::vector<std::string> TopFrame::Head(const Style& style) const {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& line) {
    lines.push_back(ShortenedAtEnd(line, style.columns));
  };
  const double share =
      all_.nodes == 0 ? 0 : static_cast<double>(all_.go) / static_cast<double>(all_.nodes);
  add(fmt::format("{} of {} can go ({}), {} of {} move", WithCommas(all_.go),
                  Count(all_.nodes, "node", "nodes"), Percent(share), WithCommas(moved_),
                  Count(pods_, "pod", "pods")));
  const size_t bar = std::min<size_t>(30, style.columns / 3);
  const auto resource = [&](const char* name, double part, double whole, const std::string& of) {
    const std::string tail = "  " + of + " requested";
    const std::string line = fmt::format("{:<7} {}", name, BarText(part, whole, bar, style.colour));
    const size_t width = 8 + bar + 5;
    lines.push_back(line + ShortenedAtEnd(tail, style.columns - std::min(style.columns, width)));
  };
  resource("cpu", all_.cpu, all_.cpu_most,
           fmt::format("{} of {} cores", Cores(std::llround(all_.cpu)),
                       Cores(std::llround(all_.cpu_most))));
  resource("memory", all_.memory, all_.memory_most,
           fmt::format("{} of {}", Bytes(std::llround(all_.memory)),
                       Bytes(std::llround(all_.memory_most))));
  if (saved_) {
    const std::string unit = currency_.empty() ? "" : " " + Printable(currency_);
    add(fmt::format("cost    {}{}/hour, {}/month; saved {}/hour, {}/month",
                    MoneyText(all_.price, ""), unit, MoneyText(all_.price * kHoursPerMonth, ""),
                    MoneyText(*saved_, ""), MoneyText(*saved_ * kHoursPerMonth, "")));
  }
  std::string notes = "as of " + now_;
  if (!complete_) notes += "; the cluster is incomplete";
  if (all_.unknown > 0) {
    notes += fmt::format("; {} not in the bars", Count(all_.unknown, "node is", "nodes are"));
  }
  add(notes);
  return lines;
}

std::vector<std::string> TopFrame::Rows(const Style& asked) const {
  Style style = asked;
  style.colour &= asked.columns >= kColumnsWhole;  // Rows that are cut must not have escapes.
  size_t longest = 0;
  for (const Group& group : groups_) {
    longest = std::max(longest, DisplayWidth(Printable(group.name)));
    if (!style.nodes) continue;
    for (const Node& node : group.nodes) {
      longest = std::max(longest, 2 + DisplayWidth(Printable(node.name)));
    }
  }
  const Widths widths = WidthsFor(style.columns, longest, saved_.has_value());
  const auto bars = [&](const Sum& sum) {
    return BarText(sum.cpu, sum.cpu_most, widths.bar, style.colour) + "  " +
           BarText(sum.memory, sum.memory_most, widths.bar, style.colour) +
           (saved_ ? fmt::format("  {:>9}", PriceText(sum.price)) : "");
  };
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}  {}  {:>6}  {:>6}  {}  {}{}", Padded("GROUP", widths.name),
                              Padded("TYPE", kTypeColumns), "NODES", "GO",
                              Padded("CPU", widths.bar + 5), Padded("MEMORY", widths.bar + 5),
                              saved_ ? "  AN HOUR  " : ""));
  for (const Group& group : groups_) {
    std::string go = fmt::format("{:>6}", group.sum.go == 0 ? "" : WithCommas(group.sum.go));
    if (style.colour && group.sum.go > 0) go = fmt::format("\x1b[33m{}\x1b[0m", go);
    lines.push_back(fmt::format("{}  {}  {:>6}  {}  {}",
                                Padded(group.name.empty() ? "(no group)" : group.name, widths.name),
                                Padded(group.type, kTypeColumns), WithCommas(group.sum.nodes), go,
                                bars(group.sum)));
    if (!style.nodes) continue;
    for (const Node& node : group.nodes) {
      // The node's note stands in the columns TYPE, NODES and GO.
      std::string note = Padded(node.note, kTypeColumns + 16);
      if (style.colour && node.goes) note = fmt::format("\x1b[33m{}\x1b[0m", note);
      lines.push_back(
          fmt::format("  {}  {}  {}", Padded(node.name, widths.name - 2), note, bars(node.sum)));
    }
  }
  for (std::string& line : lines) {
    if (style.columns < kColumnsWhole) line = ShortenedAtEnd(line, style.columns);
    while (line.ends_with(' ')) line.pop_back();
  }
  return lines;
}

}  // namespace ebb
