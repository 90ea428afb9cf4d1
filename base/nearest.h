// Finds the name that was probably meant, for "did you mean".

#ifndef EBB_BASE_NEAREST_H_
#define EBB_BASE_NEAREST_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ebb {

// The only candidate that is `word` with a domain behind it ("ip-10-0-0-1" of
// "ip-10-0-0-1.ec2.internal"); else the one that is nearest by edits, if any is near; else
// empty.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

// The candidate that is nearest by edits, of which there are `edits_max` at most; else empty.
std::string NearestWithin(size_t edits_max, std::string_view word,
                          const std::vector<std::string>& candidates);

}  // namespace ebb

#endif  // EBB_BASE_NEAREST_H_
