#include "service/settings_file.h"

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
#include "service/groups.h"
#include "service/prices.h"

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

// Symptom: `nodeGroups[0] (a).labels: no such field` left the reader to find out which there are.
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

// Symptom: a read error was taken for the end of the file, and the rules behind it were missing.
TEST_F(ReadWholeFileTest, AReadErrorIsNoEnd) {
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

TEST_F(ReadWholeFileTest, SaysWhyAFileCannotBeOpened) {
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

TEST_F(ReadWholeFileTest, RefusesWhatIsNoRegularFile) {
  EXPECT_EQ(ReadWholeFile(folder_).status().message(),
            folder_.string() + ": is a directory; a regular file is expected");
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(ReadWholeFile(Path("fifo")).status().message(),  // And waits for no writer.
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

}  // namespace
}  // namespace ebb::settings_file_test
