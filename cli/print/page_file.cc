#include "cli/print/page_file.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "platform/output_file.h"
#include "report/html_page.h"

namespace ebb {

absl::Status CheckPageFile(const std::string& path) {
  return path.empty() ? absl::OkStatus() : OutputFile::Create(path).status();
}

absl::Status WritePageFile(const std::string& path, nlohmann::ordered_json data) {
  return WriteFile(path, HtmlReport(std::move(data)));
}

}  // namespace ebb
