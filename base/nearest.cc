#include "base/nearest.h"

#include <algorithm>
#include <numeric>

namespace ebb {
namespace {

// Insertions, deletions and replacements that turn one into the other (Levenshtein).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string host = std::string(word) + ".";
  const auto is_of_host = [&](const std::string& name) { return name.starts_with(host); };
  if (const auto it = std::ranges::find_if(candidates, is_of_host);
      it != candidates.end() && std::ranges::count_if(candidates, is_of_host) == 1) {
    return *it;
  }
  return NearestWithin(std::max<size_t>(2, word.size() / 3), word, candidates);
}

std::string NearestWithin(size_t edits_max, std::string_view word,
                          const std::vector<std::string>& candidates) {
  std::string nearest;
  size_t best = edits_max + 1;
  for (const std::string& candidate : candidates) {
    // At least so many edits; a word may have megabytes.
    const auto [shorter, longer] = std::minmax({word.size(), candidate.size()});
    if (longer - shorter >= best) continue;
    const size_t distance = EditDistance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace ebb
