#include "platform/loaded_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "platform/service_manager.h"

namespace ebb::loaded_library_test {
namespace {

using ::testing::HasSubstr;

TEST(LoadedLibraryTest, AFunctionThatWasFoundCanBeCalled) {
  absl::StatusOr<LoadedLibrary> library = LoadedLibrary::Load("libm.so.6");
  ASSERT_TRUE(library.ok()) << library.status();
  const auto cosine = library->Function<double (*)(double)>("cos");
  ASSERT_TRUE(library->status().ok()) << library->status();
  EXPECT_EQ(cosine(0), 1);
}

TEST(LoadedLibraryTest, AMissingLibraryOrFunctionIsNamed) {
  const absl::StatusOr<LoadedLibrary> missing = LoadedLibrary::Load("libebb-no-such.so.1");
  EXPECT_THAT(missing.status().message(), HasSubstr("libebb-no-such.so.1"));
  absl::StatusOr<LoadedLibrary> library = LoadedLibrary::Load("libm.so.6");
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->Function<void (*)()>("ebb_no_such"), nullptr);
  EXPECT_NE(library->Function<void (*)()>("sin"), nullptr);
  EXPECT_THAT(library->status().message(), HasSubstr("ebb_no_such")) << "the first error is kept";
}

// With systemd: tests/tools/packaging_test.py.
TEST(ServiceManagerTest, WithoutSystemdThereIsNoSocketAndNoWatchdog) {
  for (const char* name : {"LISTEN_FDS", "NOTIFY_SOCKET", "WATCHDOG_USEC"}) unsetenv(name);
  const absl::StatusOr<ServiceManager> manager = ServiceManager::Connect();
  ASSERT_TRUE(manager.ok()) << manager.status();
  EXPECT_EQ(*manager->InheritedSocket(), -1);
  EXPECT_EQ(manager->WatchdogUs(), 0u);
  manager->Notify("READY=1");
}

}  // namespace
}  // namespace ebb::loaded_library_test
