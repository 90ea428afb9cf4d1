#include "sizing/signal_series.h"

#include <gtest/gtest.h>

namespace ebb::signal_series_test {
namespace {

TEST(SignalSeriesTest, CsvAndJsonGiveTheSameSignals) {
  const auto csv = ReadSignals("s.csv",
                               "time,pool,signal,value\n100,web,cpus,96\n"
                               "1970-01-01T00:05:00Z,web,mem,1.5\r\n\n");
  const auto json = ReadSignals("s.json",
                                R"( [{"time": 100, "pool": "web", "signal": "cpus", "value": 96},
          {"time": "1970-01-01T00:05:00Z", "pool": "web", "signal": "mem", "value": 1.5}])");
  ASSERT_TRUE(csv.ok()) << csv.status();
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(*csv, *json);
  EXPECT_EQ(csv->at(1), (SignalPoint{300, "web", "mem", 1.5}));
}

TEST(SignalSeriesTest, TheLatestPointThatIsNotAheadCounts) {
  const std::vector<SignalPoint> points = {{100, "web", "cpus", 1},
                                           {300, "web", "cpus", 3},
                                           {200, "web", "cpus", 2},
                                           {200, "web", "cpus", 2.5},
                                           {100, "batch", "cpus", 9}};
  EXPECT_EQ(Latest(points, "web", 299).at("cpus").value, 2.5);
  EXPECT_EQ(Latest(points, "web", 300).at("cpus").value, 3);
  EXPECT_TRUE(Latest(points, "web", 99).empty());
}

TEST(SignalSeriesTest, ASignalIsStaleWhenItIsOlderThanItsPeriod) {
  PolicyObservation seen;
  seen.signals["cpus"] = {.value = 1, .at_s = 1000};
  EXPECT_TRUE(StaleSignals(seen, 600, 1600).empty());
  EXPECT_EQ(StaleSignals(seen, 600, 1601).size(), 1u);
  EXPECT_TRUE(StaleSignals(seen, 0, 1'000'000).empty());
}

TEST(SignalSeriesTest, ErrorsNameTheLineOrItem) {
  const auto error = [](const std::string& text) {
    return std::string(ReadSignals("s", text).status().message());
  };
  EXPECT_EQ(error("time,pool\n"), "s: line 1: must be \"time,pool,signal,value\"");
  EXPECT_EQ(error("time,pool,signal,value\n1,web,cpus\n"), "s: line 2: has 3 fields, not 4");
  EXPECT_EQ(error("time,pool,signal,value\nnow,web,cpus,1\n"),
            "s: line 2: time: \"now\" is not a time");
  EXPECT_EQ(error("time,pool,signal,value\n1,web,cpus,many\n"),
            "s: line 2: value: \"many\" is not a number");
  EXPECT_EQ(error(R"([{"time": 1, "signal": "cpus", "valeu": 1}])"),
            "s: [0]: valeu: no such field; did you mean value? The fields here are time, pool, "
            "signal, value");
  EXPECT_EQ(error(R"([{"time": 1, "signal": "cpus"}])"), "s: [0]: value: is required");
  EXPECT_FALSE(ReadSignals("s", "[{").ok());
}

}  // namespace
}  // namespace ebb::signal_series_test
