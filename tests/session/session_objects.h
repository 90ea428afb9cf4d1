// Objects in the form in which a client of the daemon sends them.

#ifndef EBB_TESTS_SESSION_SESSION_OBJECTS_H_
#define EBB_TESTS_SESSION_SESSION_OBJECTS_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "session/session.h"
#include "snapshot/live/change_batch.h"

namespace ebb::test {

inline std::string NodeJson(const std::string& name, const std::string& labels = "") {
  return absl::StrCat(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":")", name,
                      R"(","uid":"uid-)", name, R"(","labels":{"nodegroup":"g")", labels,
                      R"(}},"spec":{},"status":{"allocatable":{"cpu":"4","memory":"8Gi",)",
                      R"("pods":"110"},"conditions":[{"type":"Ready","status":"True"}]}})");
}

// A pod of a ReplicaSet with two replicas.
inline std::string PodJson(const std::string& name, const std::string& node,
                           const std::string& cpu = "1", const std::string& phase = "Running") {
  return absl::StrCat(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")", name, R"(","uid":"uid-)", name,
      R"(","namespace":"default","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet",)",
      R"("name":"web","uid":"rs","controller":true}]},"spec":{"nodeName":")", node,
      R"(","containers":[{"name":"c","resources":{"requests":{"cpu":")", cpu,
      R"("}}}]},"status":{"phase":")", phase, R"("}})");
}

inline std::string ReplicaSetJson() {
  return R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web","uid":"rs",)"
         R"("namespace":"default"},"spec":{"replicas":2},"status":{"replicas":2}})";
}

// A folder that its destructor removes.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ebb-daemon-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string File(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace ebb::test

#endif  // EBB_TESTS_SESSION_SESSION_OBJECTS_H_
