// Story: curves and tables on a page of their own, such as a simulation's.  It is the page of
// html_page.h; page.js draws the parts in their order.
//
//   Story story("ebb run --simulate", "60 nodes for 6 h", "saved: 80 node-hours of 360");
//   const StoryChart nodes{.lines = {{.name = "with ebb", .points = points}}};
//   story.Part("nodes", "Nodes").Chart("Nodes", nodes);
//   story.Part("figures", "Figures").Table("", {"", "with ebb"}, {{"nodes deleted", "12"}});
//   absl::Status written = WriteFile(path, HtmlReport(std::move(story).Data()));
//
// Threads: not thread-safe.

#ifndef EBB_REPORT_STORY_H_
#define EBB_REPORT_STORY_H_

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ebb {

struct StoryLine {
  std::string name = {};
  std::vector<std::pair<double, double>> points = {};  // Seconds since the start, and the value.
};

struct StoryChart {
  bool percent = false;  // The values are fractions, shown as percentages.
  std::vector<StoryLine> lines = {};
};

class Story {
 public:
  // `command`: what made the page.
  Story(std::string_view command, std::string_view title, std::string_view headline);
  ~Story();
  Story(const Story&) = delete;
  Story& operator=(const Story&) = delete;

  // Begins a part, to which the following calls add.  `id`: a word that no other part has.
  Story& Part(std::string_view id, std::string_view title);
  Story& Note(std::string_view text);
  Story& Chart(std::string_view title, const StoryChart& chart);
  // `title`: empty for the only table of a part that needs none.  `rows`: each has as many cells as
  // `head`.  Does nothing if there are no rows.
  Story& Table(std::string_view title, const std::vector<std::string>& head,
               const std::vector<std::vector<std::string>>& rows);

  // For HtmlReport.
  nlohmann::ordered_json Data() &&;

 private:
  std::unique_ptr<nlohmann::ordered_json> json_;
};

}  // namespace ebb

#endif  // EBB_REPORT_STORY_H_
