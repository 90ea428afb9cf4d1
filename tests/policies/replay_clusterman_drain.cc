// Recorded ticks of Clusterman's drainer under a virtual clock.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/policies/clusterman_drainer.h"
#include "tests/policies/replay_clusterman.h"

namespace ebb::clusterman_replay {
namespace {

// The cluster and the cloud of a drain case.
class RecordedBackend : public ClustermanDrainBackend {
 public:
  explicit RecordedBackend(const Json& input) : input_(input) {}

  std::optional<ClustermanHost> FindHost(std::string_view instance_id) override {
    const auto it = input_["ec2"].find(std::string(instance_id));
    if (it == input_["ec2"].end()) return std::nullopt;
    ClustermanHost host;
    host.instance_id = instance_id;
    host.agent_id = (*it)["dns"];
    host.group_id = (*it)["group"];
    host.pool = (*it)["pool"];
    return host;
  }
  bool KnowsGroup(std::string_view group_id) override {
    const Json& known = input_["known_groups"];
    return std::find(known.begin(), known.end(), std::string(group_id)) != known.end();
  }
  bool Drain(std::string_view node, bool /*delete_pods*/) override {
    const Json results = input_["drain_results"].value(std::string(node), Json::array({true}));
    const size_t attempt = drains_[std::string(node)]++;
    return results[std::min(attempt, results.size() - 1)];
  }
  void RemoveTaint(std::string_view /*node*/) override {}
  bool Terminate(const ClustermanHost& host) override {
    return terminations_[host.instance_id]++ >=
           input_["terminate_failures"].value(host.instance_id, 0);
  }

 private:
  const Json& input_;
  std::map<std::string, size_t> drains_;
  std::map<std::string, int> terminations_;
};

ClustermanDrainOptions ReadDrainOptions(const Json& input) {
  ClustermanDrainOptions options;
  ReadOr(input, "global_redraining_delay_seconds", options.global_redraining_delay_seconds);
  ReadOr(input, "visibility_timeout_seconds", options.visibility_timeout_seconds);
  for (const auto& [name, json] : input["pools"].items()) {
    ClustermanPoolDraining& pool = options.pools[name];
    ReadOr(json, "draining_time_threshold_seconds", pool.draining_time_threshold_seconds);
    ReadOr(json, "force_terminate", pool.force_terminate);
    ReadOr(json, "process_spot_warnings", pool.process_spot_warnings);
    if (!json["redraining_delay_seconds"].is_null()) {
      pool.redraining_delay_seconds = json["redraining_delay_seconds"].get<int64_t>();
    }
  }
  return options;
}

void Arrive(const Json& arrival, int64_t now_s, ClustermanDrainState& state) {
  if (arrival["kind"] == "warning") {
    Warn(arrival["instance_id"].get<std::string>(), now_s, state);
    return;
  }
  ClustermanHost host;
  host.instance_id = arrival["instance_id"];
  host.agent_id = arrival["agent_id"];
  host.group_id = arrival["group"];
  host.pool = arrival["pool"];
  host.draining_start_s = now_s;
  for (const auto reason :
       {ClustermanTermination::kScalingDown, ClustermanTermination::kSpotInterruption,
        ClustermanTermination::kNodeMigration}) {
    if (Name(reason) == arrival["reason"].get<std::string>()) host.reason = reason;
  }
  Submit(host, now_s, state);
}

Json EventJson(const ClustermanDrainEvent& event, int64_t now_s) {
  switch (event.kind) {
    case ClustermanDrainEventKind::kDrain:
      return {now_s, "drain", event.subject, event.delete_pods ? "delete" : "evict", event.ok};
    case ClustermanDrainEventKind::kSend:
      return {now_s,
              "send",
              Name(event.queue),
              event.subject,
              event.delay_s,
              event.queue == ClustermanQueueName::kDrain ? Json(event.attempt) : Json()};
    case ClustermanDrainEventKind::kDelete:
      return {now_s, "delete", Name(event.queue), event.subject};
    case ClustermanDrainEventKind::kRemoveTaint:
      return {now_s, "uncordon", event.subject};
    case ClustermanDrainEventKind::kTerminate:
      break;
  }
  return {now_s, "terminate", event.subject, event.ok};
}

}  // namespace

void ReplayDrain(const Json& input, const Json& expected, Replayed& replayed) {
  const ClustermanDrainOptions options = ReadDrainOptions(input);
  RecordedBackend backend(input);
  ClustermanDrainState state;
  std::vector<Json> arrivals = input["arrivals"];
  Json got = {{"events", Json::array()}, {"cache", Json::array()}};
  for (int64_t tick = 0; tick < input["ticks"]; ++tick) {
    const int64_t now_s = tick * input["tick_seconds"].get<int64_t>();
    std::erase_if(arrivals, [&](const Json& arrival) {
      if (arrival["at"] > now_s) return false;
      Arrive(arrival, now_s, state);
      return true;
    });
    for (const ClustermanDrainEvent& event : DrainOnce(options, now_s, backend, &state).events) {
      got["events"].push_back(EventJson(event, now_s));
    }
  }
  const auto left = [](const ClustermanQueue& queue) {
    Json instances = Json::array();
    for (const ClustermanMessage& message : queue.messages) {
      instances.push_back(message.host.instance_id);
    }
    return instances;
  };
  got["left"] = {{"drain", left(state.drains)},
                 {"term", left(state.terminations)},
                 {"warn", left(state.warnings)}};
  for (const auto& [instance, until_s] : state.draining_until_s) got["cache"].push_back(instance);
  CompareAll(replayed, expected, got);
}

}  // namespace ebb::clusterman_replay
