// Finds the name that the user probably meant, for "did you mean".

#ifndef EBB_BASE_NEAREST_H_
#define EBB_BASE_NEAREST_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ebb {

// Returns the candidate that is `word` followed by a domain ("ip-10-0-0-1" finds
// "ip-10-0-0-1.ec2.internal"), if there is exactly one.  Otherwise returns the candidate with the
// smallest edit distance, or an empty text if every candidate is too far away.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

// Returns the candidate with the smallest edit distance, or an empty text if every distance is
// above `edits_max`.
std::string NearestWithin(size_t edits_max, std::string_view word,
                          const std::vector<std::string>& candidates);

}  // namespace ebb

#endif  // EBB_BASE_NEAREST_H_
