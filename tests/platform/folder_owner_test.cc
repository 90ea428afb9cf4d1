#include "platform/folder_owner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/session/session_objects.h"

namespace ebb::folder_owner_test {
namespace {

using ::testing::HasSubstr;

constexpr uid_t kUser = 1000;
constexpr uid_t kOther = 1001;

TEST(WhyReplaceableTest, AFolderIsItsOwnersToChange) {
  const PlaceFacts mine{.uid = kUser, .mode = 0700};
  EXPECT_EQ(WhyReplaceable({.uid = kUser, .mode = 0755}, mine, kUser), "");
  EXPECT_EQ(WhyReplaceable({.uid = 0, .mode = 0755}, mine, kUser), "");
  EXPECT_THAT(WhyReplaceable({.uid = kOther, .mode = 0755}, mine, kUser),
              HasSubstr("another user's"));
  for (const mode_t mode : {0775, 0757, 0777}) {
    EXPECT_THAT(WhyReplaceable({.uid = 0, .mode = mode}, mine, kUser), HasSubstr("chmod go-w"));
    EXPECT_EQ(WhyReplaceable({.uid = 0, .mode = mode, .is_mount = true}, mine, kUser), "");
  }
}

TEST(WhyReplaceableTest, InAStickyFolderTheEntrysOwnerCounts) {
  const PlaceFacts sticky{.uid = 0, .mode = 01777};
  EXPECT_EQ(WhyReplaceable(sticky, {.uid = kUser, .mode = 0700}, kUser), "");
  EXPECT_EQ(WhyReplaceable(sticky, {.uid = 0, .mode = 0700}, kUser), "");
  EXPECT_THAT(WhyReplaceable(sticky, {.uid = kOther, .mode = 0700}, kUser),
              HasSubstr("another user's entry"));
}

class FolderOwnerTest : public ::testing::Test {
 protected:
  // Makes a folder with that mode, inside the one made before.
  void Make(const std::string& name, mode_t mode) {
    std::filesystem::create_directory(folder_.File(name));
    ASSERT_EQ(chmod(folder_.File(name).c_str(), mode), 0);
  }
  std::string Why(const std::string& name) {
    return std::string(CheckOnlyWeMayReplace(folder_.File(name)).message());
  }

  test::TemporaryFolder folder_;
};

// Symptom: a daemon served in a folder of mode 0700, although any user could rename it in its
// parent.
TEST_F(FolderOwnerTest, EveryFolderAboveCounts) {
  Make("open", 0777);
  Make("open/mine", 0700);
  Make("open/mine/deep", 0700);
  EXPECT_THAT(Why("open/mine"), HasSubstr("open, in which mine is, may be written by others"));
  EXPECT_THAT(Why("open/mine/deep"), HasSubstr("open, in which mine is"));
  EXPECT_THAT(Why("open/mine/deep/not-yet"), HasSubstr("open, in which mine is"));
  Make("open", 01777);
  EXPECT_EQ(Why("open/mine/deep"), "");
  EXPECT_EQ(Why("open/mine/deep/not-yet"), "");
}

TEST_F(FolderOwnerTest, LinksAreCheckedAtTheirOwnPlaceAndAtTheirTarget) {
  Make("open", 0777);
  Make("open/mine", 0700);
  Make("safe", 0700);
  std::filesystem::create_symlink("open/mine", folder_.File("link"));
  EXPECT_THAT(Why("link"), HasSubstr("open, in which mine is"));
  std::filesystem::create_symlink(folder_.File("safe"), folder_.File("open/back"));
  EXPECT_THAT(Why("open/back"), HasSubstr("open, in which back is"));
  std::filesystem::create_symlink("safe", folder_.File("good"));
  EXPECT_EQ(Why("good"), "");
  EXPECT_EQ(Why("safe/../safe/./"), "");
  std::filesystem::create_symlink("round", folder_.File("round"));
  EXPECT_THAT(Why("round"), HasSubstr("round"));
}

TEST_F(FolderOwnerTest, AMissingFolderIsAnError) {
  EXPECT_TRUE(absl::IsNotFound(CheckOnlyWeMayReplace(folder_.File("no/such"))));
}

}  // namespace
}  // namespace ebb::folder_owner_test
