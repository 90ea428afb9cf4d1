#include "sizing/policy/replicator/replicator_options.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text.h"

namespace ebb {
namespace {

using Problem = ReplicatorProblem;

constexpr std::string_view kPoolKey = "replicator_worker_pool";
// Sorted by name, as messages list them.
constexpr std::string_view kRequiredKeys[] = {"replicator_enabled", "replicator_notification_uid",
                                              "replicator_provider", "replicator_region", kPoolKey};

struct BoolKey {
  std::string_view name;
  bool ReplicatorOptions::* field;
};
struct TextKey {
  std::string_view name;
  std::string ReplicatorOptions::* field;
};
struct IntKey {
  std::string_view name;
  int64_t ReplicatorOptions::* field;
  std::string_view also = {};  // Another spelling.
};
struct BoundKey {
  std::string_view name;
  std::optional<int64_t> ReplicatorOptions::* field;
};

constexpr BoolKey kBools[] = {{"replicator_enabled", &ReplicatorOptions::replicator_enabled}};
constexpr TextKey kTexts[] = {
    {"replicator_worker_pool", &ReplicatorOptions::replicator_worker_pool},
    {"replicator_region", &ReplicatorOptions::replicator_region},
    {"replicator_notification_uid", &ReplicatorOptions::replicator_notification_uid},
    {"replicator_provider", &ReplicatorOptions::replicator_provider},
};
constexpr IntKey kInts[] = {
    {"replicator_cooldown", &ReplicatorOptions::replicator_cooldown, "replicator_cool_down"},
    {"replicator_node_fault_tolerance", &ReplicatorOptions::replicator_node_fault_tolerance},
    {"replicator_retry_threshold", &ReplicatorOptions::replicator_retry_threshold},
    {"replicator_scaling_threshold", &ReplicatorOptions::replicator_scaling_threshold},
    {"replicator_scale_factor", &ReplicatorOptions::replicator_scale_factor},
};
constexpr BoundKey kBounds[] = {{"replicator_min", &ReplicatorOptions::replicator_min},
                                {"replicator_max", &ReplicatorOptions::replicator_max}};

// The value of the key `name`, or else of the first key, by name, that differs only in letter case.
const std::string* Find(const ReplicatorKeys& keys, std::string_view name) {
  const auto exact = keys.find(std::string(name));
  if (exact != keys.end()) return &exact->second;
  const auto other = std::find_if(keys.begin(), keys.end(), [name](const auto& key) {
    return absl::EqualsIgnoreCase(key.first, Absl(name));
  });
  return other == keys.end() ? nullptr : &other->second;
}

std::vector<std::string> Missing(const ReplicatorKeys& keys) {
  std::vector<std::string> missing;
  for (const std::string_view name : kRequiredKeys) {
    if (!keys.contains(std::string(name))) missing.emplace_back(name);
  }
  return missing;
}

// Removes the prefix that gives the base, and returns the base.
int TakeBase(std::string_view* text) {
  if (!text->starts_with('0')) return 10;
  const char mark = text->size() < 3 ? '\0' : absl::ascii_tolower((*text)[1]);
  const int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
  if (base != 0) {
    text->remove_prefix(2);
    return base;
  }
  if (text->size() == 1) return 10;
  text->remove_prefix(1);
  return 8;
}

// The digits without underscores.  An underscore may follow a digit or the prefix, and a digit must
// follow it; otherwise nullopt.
std::optional<std::string> WithoutUnderscores(std::string_view digits, bool prefixed) {
  std::string bare;
  bool may_follow = prefixed;
  for (const char c : digits) {
    if (c != '_') bare += c;
    if (c == '_' && !may_follow) return std::nullopt;
    may_follow = c != '_';
  }
  if (!may_follow) return std::nullopt;
  return bare;
}

// Reads `text` into `value`.  If it is not an integer, adds the reason to `problem`, returns false.
bool ReadInt(std::string_view key, const std::string& text, int64_t* value, Problem* problem) {
  const auto read = ParseGoInt(text);
  if (const auto* why = std::get_if<Problem::Text>(&read)) {
    problem->undecodable.push_back({std::string(key), text, *why});
    return false;
  }
  *value = std::get<int64_t>(read);
  return true;
}

std::variant<ReplicatorOptions, Problem> Decode(std::string_view node, const ReplicatorKeys& keys) {
  ReplicatorOptions options;
  Problem problem{.kind = Problem::Kind::kUndecodable, .node = std::string(node)};
  for (const TextKey& key : kTexts) {
    if (const std::string* text = Find(keys, key.name)) options.*key.field = *text;
  }
  for (const BoolKey& key : kBools) {
    const std::string* text = Find(keys, key.name);
    if (text == nullptr) continue;
    const std::optional<bool> value = ParseWeakBool(*text);
    if (value) options.*key.field = *value;
    if (!value) {
      problem.undecodable.push_back({std::string(key.name), *text, Problem::Text::kNotBool});
    }
  }
  for (const IntKey& key : kInts) {
    const std::string* text = Find(keys, key.name);
    if (text == nullptr && !key.also.empty()) text = Find(keys, key.also);
    if (text != nullptr) ReadInt(key.name, *text, &(options.*key.field), &problem);
  }
  for (const BoundKey& key : kBounds) {
    const std::string* text = Find(keys, key.name);
    int64_t value = 0;
    if (text != nullptr && ReadInt(key.name, *text, &value, &problem)) options.*key.field = value;
  }
  if (problem.undecodable.empty()) return options;
  problem.pool = options.replicator_worker_pool;
  std::sort(problem.undecodable.begin(), problem.undecodable.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  return problem;
}

std::string_view Wanted(Problem::Text why) {
  switch (why) {
    case Problem::Text::kNotBool:
      return "is not true or false";
    case Problem::Text::kNotInt:
      return "is not a whole number";
    case Problem::Text::kOutOfRange:
      return "is too large a number";
  }
  return "";
}

}  // namespace

std::variant<int64_t, Problem::Text> ParseGoInt(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const size_t length = text.size();
  const int base = TakeBase(&text);
  const std::optional<std::string> digits = WithoutUnderscores(text, text.size() < length);
  if (!digits || digits->empty()) return Problem::Text::kNotInt;
  const std::string signed_digits = (negative ? "-" : "") + *digits;
  if (!absl::ascii_isxdigit(static_cast<unsigned char>(digits->front()))) {
    return Problem::Text::kNotInt;  // A second sign, which from_chars would accept.
  }
  int64_t value = 0;
  const char* const end = signed_digits.data() + signed_digits.size();
  const auto [stop, error] = std::from_chars(signed_digits.data(), end, value, base);
  if (stop != end || error == std::errc::invalid_argument) return Problem::Text::kNotInt;
  if (error != std::errc()) return Problem::Text::kOutOfRange;
  return value;
}

std::optional<bool> ParseWeakBool(std::string_view text) {
  constexpr std::string_view kTrue[] = {"1", "t", "T", "TRUE", "true", "True"};
  constexpr std::string_view kFalse[] = {"", "0", "f", "F", "FALSE", "false", "False"};
  if (std::find(std::begin(kTrue), std::end(kTrue), text) != std::end(kTrue)) return true;
  if (std::find(std::begin(kFalse), std::end(kFalse), text) != std::end(kFalse)) return false;
  return std::nullopt;
}

std::variant<ReplicatorOptions, Problem> ReadReplicatorKeys(
    std::string_view node, const ReplicatorKeys& keys,
    const std::map<std::string, ReplicatorKeys>& stored) {
  const std::vector<std::string> missing = Missing(keys);
  if (missing.empty()) return Decode(node, keys);
  Problem problem{.kind = Problem::Kind::kNotConfigured, .node = std::string(node)};
  if (missing.size() == std::size(kRequiredKeys)) return problem;

  const auto pool = keys.find(std::string(kPoolKey));
  if (pool == keys.end()) {
    problem.kind = Problem::Kind::kMissingKeys;
    problem.keys = missing;
    return problem;
  }
  problem.pool = pool->second;
  const auto instead = stored.find(pool->second);
  if (instead == stored.end() || instead->second.empty()) {
    problem.kind = Problem::Kind::kNothingStored;
    problem.keys = missing;
    return problem;
  }
  problem.keys = Missing(instead->second);
  if (problem.keys.empty()) return Decode(node, instead->second);
  problem.kind = Problem::Kind::kMissingKeys;
  problem.stored = true;
  return problem;
}

std::vector<std::string> DifferingKeys(const ReplicatorOptions& a, const ReplicatorOptions& b) {
  std::vector<std::string> differing;
  const auto compare = [&](const auto& keys) {
    for (const auto& key : keys) {
      if (a.*key.field != b.*key.field) differing.emplace_back(key.name);
    }
  };
  compare(kBools);
  compare(kTexts);
  compare(kInts);
  compare(kBounds);
  std::sort(differing.begin(), differing.end());
  return differing;
}

std::vector<std::string> Problems(const ReplicatorOptions& options) {
  std::vector<std::string> problems;
  const auto negative = [&](std::string_view key, int64_t value) {
    if (value < 0) problems.push_back(absl::StrCat(Absl(key), ": ", value, " is below 0"));
  };
  if (options.replicator_worker_pool.empty()) {
    problems.emplace_back("replicator_worker_pool: a pool needs a name");
  }
  for (const IntKey& key : kInts) {
    if (key.name != "replicator_scale_factor") negative(key.name, options.*key.field);
  }
  for (const BoundKey& key : kBounds) {
    if (options.*key.field) negative(key.name, *(options.*key.field));
  }
  if (options.replicator_scale_factor < 1) {
    problems.push_back(absl::StrCat("replicator_scale_factor: ", options.replicator_scale_factor,
                                    " adds no node"));
  }
  if (options.replicator_min && options.replicator_max &&
      *options.replicator_min > *options.replicator_max) {
    problems.push_back(absl::StrCat("replicator_min: ", *options.replicator_min,
                                    " is above replicator_max, ", *options.replicator_max));
  }
  if (options.replicator_retry_threshold == 0) {
    problems.emplace_back("replicator_retry_threshold: 0 puts the pool into failsafe at once");
  }
  return problems;
}

std::string Describe(const Problem& problem) {
  using Kind = Problem::Kind;
  const std::string node = absl::StrCat("node ", problem.node, ": ");
  const std::string pool = absl::StrCat("node ", problem.node, ", pool ", problem.pool, ": ");
  const std::string keys = absl::StrJoin(problem.keys, ", ");
  switch (problem.kind) {
    case Kind::kNotConfigured:
      return node + "has no replicator_ keys";
    case Kind::kMissingKeys:
      return problem.stored ? absl::StrCat(pool, "the stored configuration lacks ", keys)
                            : absl::StrCat(node, "lacks ", keys);
    case Kind::kNothingStored:
      return absl::StrCat(pool, "lacks ", keys, ", and no configuration of the pool is stored");
    case Kind::kUndecodable: {
      std::vector<std::string> each;
      for (const Problem::Undecodable& key : problem.undecodable) {
        each.push_back(absl::StrCat(key.key, ": \"", key.text, "\" ", Absl(Wanted(key.why))));
      }
      return node + absl::StrJoin(each, "; ");
    }
    case Kind::kNoProvider:
      return pool + "replicator_provider is empty";
    case Kind::kUnknownProvider:
      return absl::StrCat(pool, "replicator_provider: \"", problem.provider,
                          "\" is unknown; there is aws");
    case Kind::kNoRegion:
      return pool + "replicator_region is empty";
    case Kind::kNodesDisagree:
      return absl::StrCat(pool, "its ", keys, " differ from those of ",
                          absl::StrJoin(problem.nodes, ", "), "; they hold for the pool now");
  }
  return "";
}

}  // namespace ebb
