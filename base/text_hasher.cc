#include "base/text_hasher.h"

#include <xxhash.h>

namespace ebb {

TextHasher::TextHasher() : state_(XXH3_createState()) { XXH3_64bits_reset(state_); }

TextHasher::~TextHasher() { XXH3_freeState(state_); }

void TextHasher::Add(std::string_view piece) {
  XXH3_64bits_update(state_, piece.data(), piece.size());
}

uint64_t TextHasher::Value() const { return XXH3_64bits_digest(state_); }

}  // namespace ebb
