#include "base/text.h"

#include <xxhash.h>

namespace ebb {

size_t HashOfText(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

}  // namespace ebb
