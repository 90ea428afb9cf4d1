// --report FILE and --team-label KEY: a page with the answer (report/html_page.h), beside the
// output.

#ifndef EBB_CLI_FLAGS_REPORT_FLAGS_H_
#define EBB_CLI_FLAGS_REPORT_FLAGS_H_

#include <string>

#include "platform/file_identity.h"
#include "report/page_data.h"

namespace CLI {
class App;
}

namespace ebb {

struct ReportFlags {
  std::string file;  // Empty: no page.
  std::string team_label = std::string(kTeamLabel);

  void AddTo(CLI::App& app);
  // Adds --report alone, for an answer without costs of pods.
  void AddFileTo(CLI::App& app);
  // Adds --team-label alone.
  void AddLabelTo(CLI::App& app);
  [[nodiscard]] bool active() const { return !file.empty(); }
  [[nodiscard]] UsedFile File() const { return {"--report", file, FileUse::kWrite}; }
};

}  // namespace ebb

#endif  // EBB_CLI_FLAGS_REPORT_FLAGS_H_
