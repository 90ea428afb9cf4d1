// The files of page/, which the build turns into string constants.

#ifndef EBB_DAEMON_PAGE_FILES_H_
#define EBB_DAEMON_PAGE_FILES_H_

#include <string_view>

namespace ebb {

extern const std::string_view kPageHtml;
extern const std::string_view kPageJs;
extern const std::string_view kPageCss;

}  // namespace ebb

#endif  // EBB_DAEMON_PAGE_FILES_H_
