#include "platform/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "platform/file_identity.h"

namespace ebb::output_file_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class FolderTest : public ::testing::Test {
 protected:
  FolderTest() {
    std::string name = (fs::temp_directory_path() / "ebb-files-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~FolderTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string Path(const std::string& name) const { return folder_ / name; }
  std::string Make(const std::string& name, const std::string& text = "old") const {
    fs::create_directories(fs::path(Path(name)).parent_path());
    std::ofstream(Path(name)) << text;
    return Path(name);
  }
  [[nodiscard]] std::string Text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(Path(name)).rdbuf();
    return text.str();
  }
  [[nodiscard]] std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& each : fs::directory_iterator(folder_))
      names.push_back(each.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  fs::path folder_;
};

using OutputFileTest = FolderTest;
using CheckFilesTest = FolderTest;

mode_t ModeOf(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST_F(OutputFileTest, TheOldFileStaysUntilTheNewOneIsWhole) {
  Make("a");
  absl::StatusOr<OutputFile> file = OutputFile::Create(Path("a"));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Write(std::string(1 << 20, 'x')).ok());
  EXPECT_EQ(Text("a"), "old");
  ASSERT_EQ(Names().size(), 2u);
  EXPECT_THAT(Names()[0], HasSubstr(std::string(OutputFile::kTemporaryMark)));
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(Text("a"), std::string(1 << 20, 'x'));
  EXPECT_EQ(Names().size(), 1u);
}

TEST_F(OutputFileTest, UncommittedOutputLeavesTheOldFile) {
  Make("a");
  for (const char* name : {"a", "b"}) {
    absl::StatusOr<OutputFile> file = OutputFile::Create(Path(name));
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(file->Write("new").ok());
    const OutputFile moved = *std::move(file);  // The moved-from file must remove nothing.
  }
  EXPECT_EQ(Names(), std::vector<std::string>{"a"});
  EXPECT_EQ(Text("a"), "old");
}

TEST_F(OutputFileTest, AFailedWriteKeepsTheOldFileAndReturnsTheReason) {
  Make("a");
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit tight = before;
  tight.rlim_cur = 1 << 20;
  absl::StatusOr<OutputFile> file = OutputFile::Create(Path("a"));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const absl::Status written = file->Write(std::string(2 << 20, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(written.message(), Path("a") + ": File too large");
  EXPECT_EQ(file->Write("more"), written);
  EXPECT_EQ(file->Commit(), written);
  EXPECT_EQ(Names(), std::vector<std::string>{"a"});
  EXPECT_EQ(Text("a"), "old");
}

TEST_F(OutputFileTest, PermissionsAreThoseOfTheOldFileOrTheUmasks) {
  ::chmod(Make("a").c_str(), 0640);
  const mode_t umask = ::umask(026);
  ASSERT_TRUE(WriteFile(Path("a"), "new").ok());
  ASSERT_TRUE(WriteFile(Path("b"), "new").ok());
  ::umask(umask);
  EXPECT_EQ(ModeOf(Path("a")), 0640u);
  EXPECT_EQ(ModeOf(Path("b")), 0640u);  // 0666 less 026.
}

TEST_F(OutputFileTest, ALinkKeepsItsTargetWhenTheTargetIsReplaced) {
  Make("deep/a");
  fs::create_symlink("deep/a", Path("one"));
  fs::create_symlink(Path("one"), Path("two"));
  fs::create_symlink("deep/new", Path("dangling"));
  ASSERT_TRUE(WriteFile(Path("two"), "new").ok());
  ASSERT_TRUE(WriteFile(Path("dangling"), "made").ok());
  EXPECT_TRUE(fs::is_symlink(Path("one")));
  EXPECT_TRUE(fs::is_symlink(Path("two")));
  EXPECT_TRUE(fs::is_symlink(Path("dangling")));
  EXPECT_EQ(Text("deep/a"), "new");
  EXPECT_EQ(Text("deep/new"), "made");
}

TEST_F(OutputFileTest, AChainOfLinksWithoutEndIsAnError) {
  fs::create_symlink("b", Path("a"));
  fs::create_symlink("a", Path("b"));
  EXPECT_EQ(WriteFile(Path("a"), "new").message(),
            Path("a") + ": Too many levels of symbolic links");
}

TEST_F(OutputFileTest, ATemporaryNameIsNotTooLongForALongName) {
  const std::string name(255, 'n');
  ASSERT_TRUE(WriteFile(Path(name), "new").ok());
  EXPECT_EQ(Text(name), "new");
}

TEST_F(OutputFileTest, DevicesAndPipesAreWrittenDirectly) {
  EXPECT_EQ(WriteFile("/dev/full", "x").message(), "/dev/full: No space left on device");
  EXPECT_TRUE(WriteFile("/dev/null", "x").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(WriteFile(Path(""), "x").message(), Path("") + ": Is a directory");
  EXPECT_EQ(WriteFile(Path("none/a"), "x").message(),
            Path("none/a") + ": No such file or directory");
}

// The result of CheckFiles for a file that is read and one that is written.
std::string Verdict(const std::string& read, const std::string& written,
                    FileUse use = FileUse::kWrite) {
  const UsedFile files[] = {{"INPUT", read, FileUse::kRead}, {"--output", written, use}};
  return std::string(CheckFiles(files).message());
}

TEST_F(CheckFilesTest, AnyNameOfTheInputIsRefusedAsOutput) {
  Make("a.json");
  Make("deep/c.json");
  fs::create_symlink("a.json", Path("soft"));
  fs::create_hard_link(Path("a.json"), Path("hard"));
  fs::create_directory_symlink(".", Path("here"));
  for (const char* name : {"a.json", "./a.json", "deep/../a.json", "soft", "hard", "here/a.json"}) {
    EXPECT_EQ(Verdict(Path("a.json"), Path(name)),
              Path(name) + ": is both INPUT and --output; name another file");
    EXPECT_NE(Verdict(Path(name), Path("a.json")), "") << name;
    EXPECT_NE(Verdict(Path("a.json"), Path(name), FileUse::kDatabase), "") << name;
  }
  EXPECT_EQ(Verdict(Path("a.json"), Path("b.json")), "");
  EXPECT_EQ(Verdict(Path("a.json"), Path("deep/c.json")), "");
  EXPECT_EQ(Verdict(Path("none.json"), Path("b.json")), "");
}

TEST_F(CheckFilesTest, AFolderIsEveryDumpInItNowAndLater) {
  Make("dumps/a.json");
  Make("dumps/deep/b.json");
  Make("out.json");
  fs::create_symlink("../out.json", Path("dumps/link.json"));
  for (const char* name : {"dumps/a.json", "dumps/new.json", "dumps/deep/b.json", "out.json"}) {
    EXPECT_EQ(Verdict(Path("dumps"), Path(name)),
              Path("dumps") + ": is INPUT and a folder that holds --output " + Path(name) +
                  "; name a file elsewhere");
  }
  // This name is not read as a dump.
  EXPECT_EQ(Verdict(Path("dumps"), Path("dumps/metrics.prom")), "");
  EXPECT_EQ(Verdict(Path("dumps"), Path("dumps-new.json")), "");
}

TEST_F(CheckFilesTest, TwoMissingOutputsAreTwoFiles) {
  const auto verdict = [&](const std::string& state, const std::string& metrics) {
    const UsedFile files[] = {{"--state", Path(state), FileUse::kDatabase},
                              {"--metrics", Path(metrics), FileUse::kWrite}};
    return std::string(CheckFiles(files).message());
  };
  EXPECT_EQ(verdict("s.db", "./s.db"),
            Path("./s.db") + ": is both --state and --metrics; name another file");
  EXPECT_NE(verdict("s.db", "s.db-journal"), "");  // SQLite would play it back.
  EXPECT_EQ(verdict("s.db", "m.prom"), "");
}

TEST_F(CheckFilesTest, DevicesAndEmptyNamesConflictWithNoOutput) {
  EXPECT_EQ(Verdict("/dev/null", "/dev/null"), "");
  EXPECT_EQ(Verdict("", ""), "");
}

TEST_F(CheckFilesTest, StandardInputIsReadOnce) {
  const UsedFile twice[] = {{"INPUT", "-", FileUse::kRead}, {"--events", "-", FileUse::kRead}};
  EXPECT_EQ(CheckFiles(twice).message(),
            "standard input can be read once, and is both INPUT and --events; name a file");
  const UsedFile and_out[] = {{"INPUT", "-", FileUse::kRead}, {"--metrics", "-", FileUse::kWrite}};
  EXPECT_TRUE(CheckFiles(and_out).ok());
}

}  // namespace
}  // namespace ebb::output_file_test
