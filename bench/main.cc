// ebb_bench: the rows of the benchmark suite (Google Benchmark).  ./dev bench runs it, compares the
// results with targets and with Cluster Autoscaler's figures, and compares revisions.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "bench/rows.h"
#include "bench/workloads.h"
#include "benchmark/benchmark.h"

namespace {

constexpr const char* kHelp = R"(ebb_bench [FILTER] [OPTION]...

Times ebb's parts over clusters that it makes.  FILTER is a regular expression on the
names of rows (--list); each row runs 5 times after a warm-up.

  --list               print the rows' names and end
  --snapshots A,B,...  clusters of the planner's rows: uniform:N, uniform:NxP (P pods a
                       node), mixed:N, company:N, topology:N, repelling:N, diverse:N,
                       terms:P, excluding:P, budgets:P, claims:P (`ebb gen --help` says what they
                       are; N nodes, P pods), devices:N (a device a pod), openb, or files
  --snapshot FILE      a cluster of your own beside them: all that `ebb plan` reads;
                       may be given often
  --changes-of A,B,... clusters of the rows Live_CompanyChurn (default company:1000,company:5000)
  --openb FOLDER       where openb's CSV files are (default ../shared/data)
  --help               this text
  --benchmark_...      options of Google Benchmark: --benchmark_repetitions=9,
                       --benchmark_min_time=0.5, --benchmark_out=FILE, ...

Left out unless FILTER names it: uniform:100000x30 (3,000,000 pods, some gigabytes).
)";

constexpr std::string_view kDefaultSnapshots[] = {
    "uniform:400", "uniform:1000",  "uniform:5000",  "uniform:15000x30", "mixed:1000",
    "mixed:5000",  "topology:1000", "topology:5000", "repelling:5000",   "diverse:1000",
    "terms:10000", "claims:10000",  "devices:800",   "devices:2000",     "openb"};
constexpr std::string_view kHuge = "uniform:100000x30";

struct Options {
  std::string filter = ".*";
  std::vector<std::string> snapshots;
  std::vector<std::string> own;
  std::vector<std::string> changed = {"company:1000", "company:5000"};
  bool list = false;
  bool help = false;
  std::vector<std::string> passed_on;
};

int Fail(const std::string& problem) {
  std::fprintf(stderr, "ebb_bench: %s\n", problem.c_str());
  return 2;
}

std::vector<std::string> Split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return parts;
}

// Parses "--name VALUE" or "--name=VALUE" at words[i]; moves `i` to the option's last word.
bool Take(std::string_view name, const std::vector<std::string>& words, size_t& i,
          std::string& value) {
  const std::string_view word = words[i];
  if (word == name && i + 1 < words.size()) {
    value = words[++i];
    return true;
  }
  if (!word.starts_with(name) || word.substr(name.size(), 1) != "=") return false;
  value = word.substr(name.size() + 1);
  return true;
}

// Returns what is wrong, or an empty text.
std::string Parse(const std::vector<std::string>& words, Options& options) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    std::string value;
    if (word == "--help" || word == "-h") {
      options.help = true;
    } else if (word == "--list") {
      options.list = true;
    } else if (Take("--snapshots", words, i, value)) {
      options.snapshots = Split(value);
    } else if (Take("--changes-of", words, i, value)) {
      options.changed = Split(value);
    } else if (Take("--snapshot", words, i, value)) {
      if (!std::filesystem::exists(value)) return "--snapshot " + value + ": no such file";
      options.own.push_back(value);
    } else if (Take("--openb", words, i, value)) {
      ebb::bench::SetOpenbFolder(value);
    } else if (Take("--benchmark_filter", words, i, value)) {
      options.filter = value;
    } else if (word.starts_with("--benchmark_") || word.starts_with("--v=")) {
      options.passed_on.push_back(word);
    } else if (word.starts_with("-")) {
      return "unknown option " + word + "; see --help";
    } else {
      options.filter = word;
    }
  }
  try {
    const std::regex check(options.filter);
  } catch (const std::regex_error& error) {
    return "FILTER " + options.filter + ": is not a regular expression: " + error.what();
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const std::string problem = Parse({argv + 1, argv + argc}, options); !problem.empty()) {
    return Fail(problem);
  }
  if (options.help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (options.snapshots.empty()) {
    options.snapshots.assign(std::begin(kDefaultSnapshots), std::end(kDefaultSnapshots));
    if (options.filter.find("100000") != std::string::npos) options.snapshots.emplace_back(kHuge);
  }
  options.snapshots.insert(options.snapshots.end(), options.own.begin(), options.own.end());

  // The caller's options come after these defaults, and override them.
  std::vector<std::string> words = {argv[0],
                                    "--benchmark_repetitions=5",
                                    "--benchmark_report_aggregates_only=true",
                                    "--benchmark_min_time=0.1",
                                    "--benchmark_counters_tabular=true",
                                    "--benchmark_filter=" + options.filter};
  if (options.list) words.emplace_back("--benchmark_list_tests=true");
  words.insert(words.end(), options.passed_on.begin(), options.passed_on.end());
  std::vector<char*> args;
  for (std::string& word : words) args.push_back(word.data());
  int count = static_cast<int>(args.size());
  benchmark::Initialize(&count, args.data());
  if (benchmark::ReportUnrecognizedArguments(count, args.data())) return 2;

  ebb::bench::RegisterSelectorRows();
  ebb::bench::RegisterSnapshotRows();
  ebb::bench::RegisterPlannerRows(options.snapshots);
  ebb::bench::RegisterRoundRows({"uniform:5000", "mixed:5000"});
  ebb::bench::RegisterImportRows();
  ebb::bench::RegisterLiveRows(options.changed);
  ebb::bench::RegisterServeRows();
  if (benchmark::RunSpecifiedBenchmarks() == 0) {
    return Fail("no row matches " + options.filter + "; --list prints their names");
  }
  return 0;
}
