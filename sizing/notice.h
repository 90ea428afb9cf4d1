// Notice: news of a pool for an operator, such as that the pool entered failsafe.

#ifndef EBB_SIZING_NOTICE_H_
#define EBB_SIZING_NOTICE_H_

#include <cstdint>
#include <string>

namespace ebb {

struct Notice {
  std::string pool;
  std::string event;  // "failsafe"
  std::string text;   // A sentence.
  int64_t at_s = 0;   // Unix time.
  friend bool operator==(const Notice&, const Notice&) = default;
};

}  // namespace ebb

#endif  // EBB_SIZING_NOTICE_H_
