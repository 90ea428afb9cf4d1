#include "platform/settings_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "groups/groups.h"
#include "groups/prices.h"

namespace ebb::settings_file_test {
namespace {

namespace fs = std::filesystem;
class ReadWholeFileTest : public ::testing::Test {
 protected:
  ReadWholeFileTest() {
    std::string name = (fs::temp_directory_path() / "ebb-settings-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~ReadWholeFileTest() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string Path(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::string Put(const std::string& name, std::string_view text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
    return Path(name);
  }
  fs::path folder_;
};

// Symptom: `nodeGroups[0] (a).labels: no such field` did not name the fields that exist.
TEST(NoSuchFieldTest, NamesTheFieldsThatThereAre) {
  const std::string labels = std::string(
      ParseGroups("g.yaml", "nodeGroups: [{name: a, labels: {b: c}}]").status().message());
  EXPECT_TRUE(
      labels.starts_with("g.yaml: nodeGroups[0] (a).labels: no such field; the fields here "
                         "are "))
      << labels;
  EXPECT_NE(labels.find("nodeSelector"), std::string::npos) << labels;
  EXPECT_EQ(NoSuchField("minsize", {"maxSize", "minSize"}),
            "no such field; did you mean minSize? The fields here are maxSize, minSize");
  std::vector<std::string> many;
  for (int i = 10; i < 40; ++i) many.push_back(absl::StrCat("field", i));
  const std::string text = NoSuchField("other", many);
  EXPECT_NE(text.find("field29 and 10 more"), std::string::npos) << text;
  EXPECT_EQ(text.find("field30"), std::string::npos) << text;
}

// Symptom: a read error counted as the end of the file, and the rules after it were missing.
TEST_F(ReadWholeFileTest, AReadErrorIsNotTheEndOfTheFile) {
  const auto text = ReadWholeFile("/proc/self/mem");  // Opens; its first byte cannot be read.
  EXPECT_EQ(text.status().message(), "/proc/self/mem: Input/output error");
  EXPECT_TRUE(absl::IsDataLoss(text.status())) << text.status();
}

TEST_F(ReadWholeFileTest, GivesEveryByte) {
  std::string bytes(300'000, 'x');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 251);
  EXPECT_EQ(ReadWholeFile(Put("bytes", bytes)).value(), bytes);
  EXPECT_EQ(ReadWholeFile(Put("empty", "")).value(), "");
  EXPECT_EQ(ReadWholeFile("/dev/null").value(), "");
}

TEST_F(ReadWholeFileTest, TheErrorSaysWhyAFileCannotBeOpened) {
  const auto text = ReadWholeFile(Path("none"));
  EXPECT_EQ(text.status().message(), Path("none") + ": No such file or directory");
  EXPECT_TRUE(absl::IsNotFound(text.status())) << text.status();
}

TEST_F(ReadWholeFileTest, RefusesAnEndlessFileAtItsLimit) {
  EXPECT_EQ(ReadWholeFile(Put("ten", "0123456789"), 10).value(), "0123456789");
  const auto text = ReadWholeFile(Path("ten"), 9);
  EXPECT_EQ(text.status().message(),
            Path("ten") + ": is larger than 9 bytes, the most that ebb reads");
  EXPECT_TRUE(absl::IsResourceExhausted(text.status())) << text.status();
  EXPECT_TRUE(absl::IsResourceExhausted(ReadWholeFile("/dev/zero", 1 << 20).status()));
}

TEST_F(ReadWholeFileTest, RefusesSpecialFiles) {
  EXPECT_EQ(ReadWholeFile(folder_).status().message(),
            folder_.string() + ": is a directory; a regular file is expected");
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(ReadWholeFile(Path("fifo")).status().message(),  // Does not wait for a writer.
            Path("fifo") + ": is a named pipe; a regular file is expected");
}

TEST_F(ReadWholeFileTest, ReadsThePipeOfAProcessSubstitution) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string sent(200'000, 'p');  // More than a pipe holds at once.
  std::thread writer([&] {
    for (size_t at = 0; at < sent.size();) {
      const ssize_t written = write(ends[1], sent.data() + at, sent.size() - at);
      if (written <= 0) break;
      at += static_cast<size_t>(written);
    }
    close(ends[1]);
  });
  const auto text = ReadWholeFile(absl::StrCat("/dev/fd/", ends[0]));
  EXPECT_EQ(text.value(), sent);
  writer.join();
  close(ends[0]);
}

// Symptom: with --server, a file in Latin-1 ended with "no message came".
TEST(CheckUtf8Test, NamesTheLineThatIsNotUtf8) {
  EXPECT_EQ(ParseGroups("f.yaml", "nodeGroups:\n# caf\xe9\n").status().message(),
            "f.yaml: line 2: is not UTF-8");
  EXPECT_EQ(ParsePrices("f.csv", "instance_type,hourly\ncaf\xe9,1\n").status().message(),
            "f.csv: line 2: is not UTF-8");
}

std::string WrongGroups(const std::string& yaml) {
  return std::string(ParseGroups("g", yaml).status().message());
}

std::string Repeated(size_t times, std::string_view text) {
  std::string all;
  all.reserve(times * text.size());
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

// Symptom: `nodeGroups: [a,a,...` of 4 MB took 5 s and 900 MB before it was refused.
TEST(SettingsLimitsTest, ATextOfTooManyValuesIsRefusedAtTheFirst) {
  const std::string items = Repeated(2'000'000, "a,");
  const auto status = ParseGroups("g", "nodeGroups: [" + items + "]").status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(status.message(),
            "g: line 1: value 300,001, with what aliases repeat; ebb reads at most 300,000 values");
  EXPECT_EQ(ParsePrices("p", "prices: [" + items + "]").status().message(),
            "p: line 1: value 300,001, with what aliases repeat; ebb reads at most 300,000 values");
}

TEST(SettingsLimitsTest, TextsOfTooManyBytesOrLinesAreNotParsed) {
  EXPECT_EQ(WrongGroups("# " + std::string(size_t{8} << 20, 'x')),
            "g: has 8,388,610 bytes; ebb reads at most 8,388,608");
  EXPECT_EQ(WrongGroups(std::string(300'000, '\n')),
            "g: has 300,001 lines; ebb reads at most 300,000");
  EXPECT_EQ(ParsePrices("p.csv", std::string(300'000, '\n')).status().message(),
            "p.csv: has 300,001 lines; ebb reads at most 300,000");
}

// Symptom: a patch with a map of 100,000 keys took more than ten minutes.
TEST(SettingsLimitsTest, TheNumberOfKeysOfAMapIsLimited) {
  std::string yaml = "{";
  for (int i = 0; i <= 1'000; ++i) absl::StrAppend(&yaml, "k", i, ": 1,");
  EXPECT_EQ(WrongGroups(yaml + "}"), "g: line 1: key 1,001 of one map; ebb reads at most 1,000");
}

TEST(SettingsLimitsTest, LargeFilesOfUseAreRead) {
  std::string groups = "nodeGroups:\n";
  std::string prices = "prices:\n";
  for (int i = 0; i < 10'000; ++i) {
    absl::StrAppend(&groups, "- name: pool-of-a-team-number-", i, "\n  nodeSelector: {pool: p", i,
                    "}\n  minSize: 3\n  maxSize: 100\n  targetSize: 12\n  atomic: false\n",
                    "  autoscaled: true\n  scaleDownUtilizationThreshold: 0.6\n",
                    "  scaleDownGpuUtilizationThreshold: 0.6\n  scaleDownUnneededTime: 10m\n",
                    "  scaleDownUnreadyTime: 20m\n  ignoreDaemonSetsUtilization: true\n");
  }
  for (int i = 0; i < 5'000; ++i) {
    absl::StrAppend(&prices, "- {instanceType: m", i, ".large, zone: eu-1a, capacityType: spot, ",
                    "hourly: 0.081}\n");
  }
  EXPECT_EQ(ParseGroups("g", groups).value().rules.size(), 10'000U);
  EXPECT_EQ(ParsePrices("p", prices).value().prices.size(), 5'000U);
}

}  // namespace
}  // namespace ebb::settings_file_test
