// The text of builtin_prices.yaml, which the build turns into a string constant.

#ifndef EBB_GROUPS_BUILTIN_PRICES_H_
#define EBB_GROUPS_BUILTIN_PRICES_H_

#include <string_view>

namespace ebb {

extern const std::string_view kBuiltinPricesText;

}  // namespace ebb

#endif  // EBB_GROUPS_BUILTIN_PRICES_H_
