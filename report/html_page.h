// The page that shows plans: report/page/.  Reports and the daemon's page are the same files.
//
// A report is one file of HTML with its style, its script and its data.  Its content security
// policy allows only that style and that script, by their hashes, and no access to a network.  The
// data is JSON; large data is compressed (gzip, base64).  The script sets all texts of a cluster as
// text.
//
// Cost:    some 50 ms for 10 MB of JSON.
// Threads: pure functions.

#ifndef EBB_REPORT_HTML_PAGE_H_
#define EBB_REPORT_HTML_PAGE_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ebb {

// A report with the members of `data` (page_data.h).  Texts of more than 512 bytes are shortened.
std::string HtmlReport(nlohmann::ordered_json data);

// The page that a server serves at "/"; it loads /page.css, /page.js and its data.
std::string ServedPage();

}  // namespace ebb

#endif  // EBB_REPORT_HTML_PAGE_H_
