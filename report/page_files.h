// The files of page/, which the build turns into string constants.

#ifndef EBB_REPORT_PAGE_FILES_H_
#define EBB_REPORT_PAGE_FILES_H_

#include <string_view>

namespace ebb {

// The skeleton, with the marks <!--HEAD--> and <!--TAIL--> where style and script belong.
extern const std::string_view kPageHtml;
extern const std::string_view kPageJs;
extern const std::string_view kPageCss;
// SHA-256 of these two files, as base64, for a content security policy.
extern const std::string_view kPageJsHash;
extern const std::string_view kPageCssHash;

}  // namespace ebb

#endif  // EBB_REPORT_PAGE_FILES_H_
