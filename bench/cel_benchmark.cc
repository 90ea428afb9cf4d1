// Selectors of devices.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string_view>

#include "bench/rows.h"
#include "cel/device_selector.h"

namespace ebb::bench {
namespace {

using cel::DeviceAttribute;
using cel::DeviceCapacity;
using cel::DeviceSelector;

constexpr std::string_view kExpression =
    R"(device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "a100" &&)"
    R"( device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi")))";

void Compile(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(DeviceSelector::Compile(kExpression));
  state.SetItemsProcessed(state.iterations());
}

void Matches(benchmark::State& state) {
  const DeviceAttribute attributes[] = {{"uuid", std::string_view("GPU-9a1c")},
                                        {"index", int64_t{3}},
                                        {"brand", std::string_view("datacenter")},
                                        {"model", std::string_view("a100")},
                                        {"driverVersion", *cel::Semver::Parse("535.104.5")}};
  const DeviceCapacity capacity[] = {{"memory", *cel::Quantity::Parse("80Gi")}};
  const DeviceSelector selector = *DeviceSelector::Compile(kExpression);
  for (auto _ : state) {
    benchmark::DoNotOptimize(selector.Matches(
        {.driver = "gpu.example.com", .attributes = attributes, .capacity = capacity}));
  }
  state.SetItemsProcessed(state.iterations());
}

}  // namespace

void RegisterSelectorRows() {
  benchmark::RegisterBenchmark("BM_DeviceSelector_Compile", Compile);
  benchmark::RegisterBenchmark("BM_DeviceSelector_Matches", Matches);
}

}  // namespace ebb::bench
