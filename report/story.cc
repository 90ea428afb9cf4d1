#include "report/story.h"

#include <nlohmann/json.hpp>

#include "base/check.h"

namespace ebb {

using Json = nlohmann::ordered_json;

Story::Story(std::string_view command, std::string_view title, std::string_view headline)
    : json_(std::make_unique<Json>(Json{{"command", command},
                                        {"title", title},
                                        {"headline", headline},
                                        {"parts", Json::array()}})) {}

Story::~Story() = default;

Story& Story::Part(std::string_view id, std::string_view title) {
  (*json_)["parts"].push_back({{"id", id}, {"title", title}, {"items", Json::array()}});
  return *this;
}

// Adds to the last part.
static Story& Add(Json& story, Story& self, Json item) {
  EBB_CHECK(!story["parts"].empty());
  story["parts"].back()["items"].push_back(std::move(item));
  return self;
}

Story& Story::Note(std::string_view text) { return Add(*json_, *this, {{"note", text}}); }

Story& Story::Chart(std::string_view title, const StoryChart& chart) {
  Json lines = Json::array();
  for (const StoryLine& line : chart.lines) {
    lines.push_back({{"name", line.name}, {"points", line.points}});
  }
  return Add(*json_, *this,
             {{"chart", title}, {"percent", chart.percent}, {"lines", std::move(lines)}});
}

Story& Story::Table(std::string_view title, const std::vector<std::string>& head,
                    const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return *this;
  return Add(*json_, *this, {{"table", title}, {"head", head}, {"rows", rows}});
}

Json Story::Data() && { return {{"story", std::move(*json_)}}; }

}  // namespace ebb
