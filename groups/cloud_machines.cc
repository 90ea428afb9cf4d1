#include "groups/cloud_machines.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/printable.h"
#include "base/text.h"
#include "groups/node_facts.h"
#include "platform/settings_file.h"

namespace ebb {
namespace {

using Json = simdjson::dom::element;
using JsonField = simdjson::simdjson_result<Json>;

constexpr int64_t kMib = int64_t{1} << 20;
constexpr double kMemoryShare = 0.925;  // Of the memory that is sold.
constexpr int64_t kEviction = 100 * kMib;
constexpr int64_t kPodsMax = 110;

std::optional<std::string_view> WordIn(const JsonField& field) {
  std::string_view text;
  return field.get_string().get(text) == simdjson::SUCCESS ? std::optional(text) : std::nullopt;
}

std::optional<double> NumberIn(const JsonField& field) {
  double number = 0;
  if (field.get_double().get(number) == simdjson::SUCCESS) return number;
  const std::optional<std::string_view> text = WordIn(field);
  const bool is_number = text && absl::SimpleAtod(Absl(*text), &number);
  return is_number && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// The items of an array, with their places; none of anything else.
std::vector<JsonField> ItemsIn(const JsonField& field) {
  std::vector<JsonField> items;
  simdjson::dom::array array;
  if (field.get_array().get(array) != simdjson::SUCCESS) return items;
  for (const Json each : array) items.emplace_back(Json(each));
  return items;
}

// What AWS and GCP reserve: parts of the first CPU, the second, the next two, and the rest.
int64_t ReservedCpu(int64_t milli) {
  const auto part = [&](int64_t from, int64_t to) {
    return static_cast<double>(std::clamp<int64_t>(milli - from, 0, to - from));
  };
  return std::llround(std::ceil(part(0, 1000) * 0.06 + part(1000, 2000) * 0.01 +
                                part(2000, 4000) * 0.005 + part(4000, INT64_MAX) * 0.0025));
}

int64_t ReservedMemoryOfGke(int64_t bytes) {
  constexpr std::pair<int64_t, double> kSteps[] = {
      {4, 0.25}, {8, 0.2}, {16, 0.1}, {128, 0.06}, {int64_t{1} << 30, 0.02}};
  double reserved = bytes < 1024 * kMib ? 255.0 * kMib : 0;
  int64_t from = 0;
  for (const auto& [gib, share] : kSteps) {
    const int64_t to = gib * 1024 * kMib;
    reserved += static_cast<double>(std::clamp<int64_t>(bytes - from, 0, to - from)) * share;
    from = to;
  }
  return std::llround(reserved);
}

int64_t ReservedCpuOfAks(int64_t milli) {
  constexpr std::pair<int64_t, int64_t> kSteps[] = {{1, 60},   {2, 100},  {4, 140}, {8, 180},
                                                    {16, 260}, {32, 420}, {64, 740}};
  for (const auto& [cpus, reserved] : kSteps) {
    if (milli <= cpus * 1000) return reserved;
  }
  return 740;
}

struct Overhead {
  int64_t cpu = 0;
  int64_t memory = 0;
};

// An item of a list that is being read.
class Item {
 public:
  Item(std::string file, std::string where) : file_(std::move(file)), where_(std::move(where)) {}

  void Name(const JsonField& name) {
    const std::optional<std::string_view> text = WordIn(name);
    if (!text || text->empty()) return Fail("name", "is not a name");
    machine.name = *text;
    where_ += fmt::format(" ({})", Printable(machine.name));
  }
  // A number above 0.
  double Above0(const JsonField& field, std::string_view name) {
    const std::optional<double> number = NumberIn(field);
    if (number && *number > 0 && *number < 1e12) return *number;
    Fail(name, "is not a number above 0");
    return 1;
  }
  void Fail(std::string_view field, std::string_view what) {
    if (status.ok()) status = BadSetting(file_, fmt::format("{}.{}", where_, field), what);
  }
  void SetArch(std::string_view arch) {
    const bool is_arm = arch == "arm64" || arch == "Arm64" || arch == "ARM64";
    machine.labels["kubernetes.io/arch"] = is_arm ? "arm64" : "amd64";
  }
  void SetAmounts(double cpus, double memory_mib, int64_t pods, double gpus) {
    machine.capacity["cpu"] = std::llround(cpus * 1000);
    machine.capacity["memory"] =
        std::llround(memory_mib * kMemoryShare * static_cast<double>(kMib));
    machine.capacity["pods"] = pods;
    if (gpus > 0) machine.capacity["nvidia.com/gpu"] = std::llround(gpus);
  }
  void Subtract(const Overhead& overhead) {
    machine.allocatable = machine.capacity;
    machine.allocatable["cpu"] -= overhead.cpu;
    machine.allocatable["memory"] -= overhead.memory + kEviction;
    std::erase_if(machine.allocatable, [](const auto& each) { return each.second <= 0; });
  }

  FileMachine machine;
  absl::Status status;

 private:
  std::string file_;
  std::string where_;
};

void ReadAwsMachine(const JsonField& from, Item& item) {
  FileMachine& machine = item.machine;
  item.Name(from["InstanceType"]);
  const double cpus = item.Above0(from["VCpuInfo"]["DefaultVCpus"], "VCpuInfo.DefaultVCpus");
  const double memory = item.Above0(from["MemoryInfo"]["SizeInMiB"], "MemoryInfo.SizeInMiB");
  const JsonField network = from["NetworkInfo"];
  const double cards =
      item.Above0(network["MaximumNetworkInterfaces"], "NetworkInfo.MaximumNetworkInterfaces");
  const double addresses =
      item.Above0(network["Ipv4AddressesPerInterface"], "NetworkInfo.Ipv4AddressesPerInterface");
  const auto pods = static_cast<int64_t>(cards * (addresses - 1)) + 2;
  double gpus = 0;
  const std::string prefix = "karpenter.k8s.aws/instance-";
  for (const JsonField& gpu : ItemsIn(from["GpuInfo"]["Gpus"])) {
    if (WordIn(gpu["Manufacturer"]) != "NVIDIA") continue;
    gpus += item.Above0(gpu["Count"], "GpuInfo.Gpus[].Count");
    std::string name(WordIn(gpu["Name"]).value_or(""));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    machine.pool_labels[prefix + "gpu-name"] = std::move(name);
  }
  const std::vector<JsonField> archs = ItemsIn(from["ProcessorInfo"]["SupportedArchitectures"]);
  const auto speaks = [&](std::string_view arch) {
    return std::ranges::any_of(archs, [&](const auto& each) { return WordIn(each) == arch; });
  };
  if (!speaks("x86_64") && !speaks("arm64")) {
    item.Fail("ProcessorInfo.SupportedArchitectures", "has neither x86_64 nor arm64");
  }
  item.SetArch(speaks("x86_64") ? "x86_64" : "arm64");
  for (const JsonField& usage : ItemsIn(from["SupportedUsageClasses"])) {
    const std::string_view name = WordIn(usage).value_or("");
    if (name != "on-demand" && name != "spot") continue;
    machine.offers.emplace_back().capacity_type = name;
  }
  machine.pool_labels[prefix + "memory"] = fmt::format("{:.0f}", memory);
  if (const auto hypervisor = WordIn(from["Hypervisor"])) {
    machine.pool_labels[prefix + "hypervisor"] = *hypervisor;
  }
  item.SetAmounts(cpus, memory, pods, gpus);
  item.Subtract({.cpu = ReservedCpu(machine.capacity["cpu"]), .memory = (11 * pods + 255) * kMib});
}

void ReadGcpMachine(const JsonField& from, Item& item) {
  item.Name(from["name"]);
  const double cpus = item.Above0(from["guestCpus"], "guestCpus");
  const double memory = item.Above0(from["memoryMb"], "memoryMb");
  const std::string_view zone = WordIn(from["zone"]).value_or("");
  if (zone.empty()) item.Fail("zone", "is not a zone");
  item.SetArch(WordIn(from["architecture"]).value_or("X86_64"));
  double gpus = 0;
  for (const JsonField& gpu : ItemsIn(from["accelerators"])) {
    gpus += item.Above0(gpu["guestAcceleratorCount"], "accelerators[].guestAcceleratorCount");
  }
  for (const char* const capacity : {"on-demand", "spot"}) {
    FileMachine::Offer& offer = item.machine.offers.emplace_back();
    offer.zones = {std::string(zone.substr(zone.rfind('/') + 1))};
    offer.capacity_type = capacity;
  }
  item.SetAmounts(cpus, memory, kPodsMax, gpus);
  item.Subtract({.cpu = ReservedCpu(item.machine.capacity["cpu"]),
                 .memory = ReservedMemoryOfGke(item.machine.capacity["memory"])});
}

void ReadAzureMachine(const JsonField& from, Item& item) {
  FileMachine& machine = item.machine;
  item.Name(from["name"]);
  std::map<std::string_view, JsonField> has;
  for (const JsonField& each : ItemsIn(from["capabilities"])) {
    has.insert_or_assign(WordIn(each["name"]).value_or(""), each["value"]);
  }
  const auto number = [&](const char* name) {
    const auto found = has.find(name);
    if (found != has.end()) {
      return item.Above0(found->second, fmt::format("capabilities ({})", name));
    }
    item.Fail("capabilities", fmt::format("{} is missing", name));
    return 1.0;
  };
  const double cpus = number("vCPUs");
  const double memory = number("MemoryGB") * 1024;
  const double gpus = has.contains("GPUs") ? NumberIn(has.at("GPUs")).value_or(0) : 0;
  const auto word = [&](const char* name) {
    return has.contains(name) ? WordIn(has.at(name)).value_or("") : std::string_view();
  };
  item.SetArch(word("CpuArchitectureType"));
  std::vector<std::string> zones;
  for (const JsonField& place : ItemsIn(from["locationInfo"])) {
    const std::string_view location = WordIn(place["location"]).value_or("");
    for (const JsonField& zone : ItemsIn(place["zones"])) {
      zones.push_back(fmt::format("{}-{}", location, WordIn(zone).value_or("")));
    }
  }
  bool is_sold = true;
  for (const JsonField& each : ItemsIn(from["restrictions"])) {
    is_sold = is_sold && WordIn(each["type"]) != "Location";
    for (const JsonField& zone : ItemsIn(each["restrictionInfo"]["zones"])) {
      const std::string end = fmt::format("-{}", WordIn(zone).value_or(""));
      std::erase_if(zones, [&](const std::string& name) { return name.ends_with(end); });
      is_sold = is_sold && !zones.empty();
    }
  }
  if (is_sold) {
    machine.offers.push_back({.zones = zones, .capacity_type = "on-demand", .hourly = {}});
    if (word("LowPriorityCapable") == "True") {
      machine.offers.push_back({.zones = zones, .capacity_type = "spot", .hourly = {}});
    }
  }
  machine.pool_labels["karpenter.azure.com/sku-memory"] = fmt::format("{:.0f}", memory);
  item.SetAmounts(cpus, memory, kPodsMax, gpus);
  item.Subtract({.cpu = ReservedCpuOfAks(machine.capacity["cpu"]),
                 .memory = std::min((20 * kPodsMax + 50) * kMib, machine.capacity["memory"] / 4)});
}

// GCP's list has a type once for each zone, Azure's once for each location.
void AddOrJoin(FileMachine machine, std::map<std::string, size_t>& places, MachineFile& to) {
  const auto [place, is_new] = places.try_emplace(machine.name, to.machines.size());
  if (is_new) {
    to.machines.push_back(std::move(machine));
    return;
  }
  for (FileMachine::Offer& offer : machine.offers) {
    to.machines[place->second].offers.push_back(std::move(offer));
  }
}

}  // namespace

bool IsCloudMachineList(std::string_view text) {
  const std::string_view start = text.substr(0, 4096);
  const size_t first = start.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  return start[first] == '[' ||
         (start[first] == '{' && start.find("\"InstanceTypes\"") != std::string_view::npos);
}

absl::Status ReadCloudMachines(const std::string& name, std::string_view text, MachineFile& to) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(text);
  const JsonField root = parser.parse(padded);
  if (root.error() != simdjson::SUCCESS) {
    return BadSetting(name, "",
                      fmt::format("is not JSON: {}", simdjson::error_message(root.error())));
  }
  const bool is_aws = root.is_object();
  to.is_cloud_list = true;
  std::map<std::string, size_t> places;
  const std::vector<JsonField> items = ItemsIn(is_aws ? root["InstanceTypes"] : root);
  for (size_t i = 0; i < items.size(); ++i) {
    Item item(name, fmt::format("{}[{}]", is_aws ? "InstanceTypes" : "", i));
    const auto kind = WordIn(items[i]["resourceType"]);
    if (is_aws) {
      ReadAwsMachine(items[i], item);
    } else if (items[i]["guestCpus"].error() == simdjson::SUCCESS) {
      ReadGcpMachine(items[i], item);
    } else if (kind == "virtualMachines") {
      ReadAzureMachine(items[i], item);
    } else if (!kind) {
      item.Fail("guestCpus",
                "is missing, and so is resourceType; expected the JSON of gcloud or az");
    } else {
      continue;  // A disk, or a set of machines.
    }
    if (!item.status.ok()) return item.status;
    AddOrJoin(std::move(item.machine), places, to);
  }
  if (to.machines.empty()) return BadSetting(name, "", "lists no machine types");
  return absl::OkStatus();
}

}  // namespace ebb
