// A simulated cluster's objects, in the form in which a feeder sends them to a daemon's session.

#ifndef EBB_TESTS_LOOP_RUN_EXPORTED_OBJECTS_H_
#define EBB_TESTS_LOOP_RUN_EXPORTED_OBJECTS_H_

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulation/simulated_cluster.h"
#include "snapshot/formats/write_objects.h"

namespace ebb::test {

// The JSON of each object.
inline std::vector<std::string> ExportedObjects(SimulatedCluster& cluster) {
  std::string list;
  ObjectWriter writer(ObjectFormat::kJsonList, [&](std::string_view bytes) {
    list += bytes;
    return absl::OkStatus();
  });
  EXPECT_TRUE(cluster.Export(writer).ok());
  EXPECT_TRUE(writer.Finish().ok());
  // The writer writes one line per object, between the first and the last line of the list.
  std::vector<std::string> objects;
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(R"({"apiVersion":)") || line.ends_with('[')) continue;
    if (line.ends_with(',')) line.pop_back();
    objects.push_back(std::move(line));
  }
  return objects;
}

}  // namespace ebb::test

#endif  // EBB_TESTS_LOOP_RUN_EXPORTED_OBJECTS_H_
