#include "cli/commands/version_command.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/flags/flag_values.h"
#include "sizing/http_client.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

#ifdef __clang__
constexpr std::string_view kCompiler = "clang " __clang_version__;
#else
constexpr std::string_view kCompiler = "g++ " __VERSION__;
#endif

// The least processor that runs the program; loops that matter use wider vectors where it has them.
#if defined(__AVX2__)
constexpr std::string_view kProcessor = "x86-64-v3";
#elif defined(__SSE4_2__)
constexpr std::string_view kProcessor = "x86-64-v2";
#elif defined(__x86_64__)
constexpr std::string_view kProcessor = "x86-64";
#elif defined(__aarch64__)
constexpr std::string_view kProcessor = "arm64";
#else
constexpr std::string_view kProcessor = "unknown";
#endif

// What only some builds, or some machines, can do.
struct Feature {
  std::string_view name;
  bool works;
  std::string how;
};

std::vector<Feature> FeaturesOf(const BuildInfo& build) {
  const absl::StatusOr<std::string> http = HttpLibrary();
  std::vector<Feature> features;
  features.push_back({"grpc", true, fmt::format("gRPC {}", grpc::Version())});
  if (http.ok()) {
    features.push_back(
        {"http", true,
         fmt::format("{}, {}", *http, build.portable ? "linked in" : "loaded when it is needed")});
  } else {
    features.push_back(
        {"http", false,
         fmt::format("{}; sizing policies cannot ask Prometheus, and notices are not sent",
                     std::string(http.status().message()))});
  }
  features.push_back({"systemd", true, "socket activation, readiness and watchdog"});
  features.push_back({"plugins for host names", !build.portable,
                      build.portable
                          ? "names come from /etc/hosts and DNS, whatever nsswitch.conf says"
                          : "names come from where nsswitch.conf says"});
  return features;
}

std::string CommitText(const BuildInfo& build) {
  if (build.commit.empty()) return "unknown: not built from a git checkout";
  return fmt::format("{} of {}{}", build.commit, build.commit_time,
                     build.changed ? ", with changes that are not in it" : "");
}

void PrintText(const BuildInfo& build, std::ostream& out) {
  const auto row = [&out](std::string_view name, std::string_view text) {
    out << fmt::format("{:<10}{}\n", name, text);
  };
  out << "ebb " << kVersion << "\n";
  row("commit", CommitText(build));
  row("build", fmt::format("{}, {}, {} glibc {}", kCompiler, kProcessor,
                           build.portable ? "linked statically with" : "with shared libraries,",
                           gnu_get_libc_version()));
  for (const Feature& feature : FeaturesOf(build)) {
    row(feature.works ? "has" : "lacks", fmt::format("{}: {}", feature.name, feature.how));
  }
}

void PrintJson(const BuildInfo& build, std::ostream& out) {
  Json json = {{"apiVersion", "ebb/v1alpha1"}, {"kind", "Version"}, {"version", kVersion}};
  json["commit"] = build.commit.empty() ? Json() : Json(build.commit);
  json["commitTime"] = build.commit.empty() ? Json() : Json(build.commit_time);
  json["changed"] = build.changed;
  json["compiler"] = kCompiler;
  json["processor"] = kProcessor;
  json["link"] = build.portable ? "static" : "shared";
  json["glibc"] = gnu_get_libc_version();
  for (const Feature& feature : FeaturesOf(build)) {
    json["features"].push_back(
        {{"name", feature.name}, {"works", feature.works}, {"how", feature.how}});
  }
  out << IndentedJson(json);
}

}  // namespace

void VersionCommand::AddTo(CLI::App& app) {
  app.add_option("-o,--output", output, "How to print")
      ->check(values::Choice({"text", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str();
}

int VersionCommand::Run(const BuildInfo& build, std::ostream& out) const {
  output == "json" ? PrintJson(build, out) : PrintText(build, out);
  return 0;
}

}  // namespace ebb
