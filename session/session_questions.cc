#include "session/session_questions.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "engine/verify/verify.h"
#include "planning/plan_answer.h"
#include "planning/plan_replace.h"
#include "planning/plan_waves.h"
#include "report/explain.h"
#include "report/filter_report.h"
#include "report/plan_json.h"
#include "report/plan_script.h"
#include "report/plan_waves.h"
#include "session/wire_pass.h"
#include "session/wire_query.h"
#include "session/wire_report.h"
#include "session/wire_tables.h"
#include "session/wire_what_if.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

// Whether the time of a call is over.
bool IsOver(const Deadline* stops) { return stops != nullptr && stops->Expired(); }
absl::Status TimeIsOver() {
  return absl::DeadlineExceededError("the call's deadline has passed, or its client has gone");
}

// Turns the rule for operating systems off: the autoscaler's planner places pods by the scheduler's
// rules only.
class BareRules {
 public:
  explicit BareRules(ClusterSnapshot& snapshot)
      : snapshot_(snapshot), matched_os_(snapshot.matches_os()) {
    snapshot.SetMatchOs(false);
  }
  ~BareRules() { snapshot_.SetMatchOs(matched_os_); }
  BareRules(const BareRules&) = delete;
  BareRules& operator=(const BareRules&) = delete;

 private:
  ClusterSnapshot& snapshot_;
  const bool matched_os_;
};

// The entries of the plan that differ.
Plan PartOf(const Catalog& catalog, const Plan& plan, const PlanDifference& difference) {
  Plan part;
  part.termination = plan.termination;
  part.skipped = plan.skipped;
  const auto is_sent = [&](const auto& entry) {
    return difference.entries.contains(Absl(catalog.NodeName(entry.node)));
  };
  std::ranges::copy_if(plan.remove, std::back_inserter(part.remove), is_sent);
  std::ranges::copy_if(plan.keep, std::back_inserter(part.keep), is_sent);
  part.utilization.resize(plan.utilization.size());
  for (uint32_t node = 0; node < plan.utilization.size(); ++node) {
    if (plan.utilization[node] && difference.uses.contains(Absl(catalog.NodeName(NodeId{node})))) {
      part.utilization[node] = plan.utilization[node];
    }
  }
  return part;
}

// The digest of every entry as JSON.
PlanDigest JsonDigest(const Json& plan) {
  PlanDigest digest{.form = PlanDigest::Form::kJson, .nodes = {}, .names = {}};
  const auto names = std::make_shared<std::deque<std::string>>();
  digest.names = names;
  for (const char* const list : {"remove", "keep"}) {
    for (const Json& entry : plan[list]) {
      PlanDigest::Node& node =
          digest.nodes[names->emplace_back(entry["node"].get_ref<const std::string&>())];
      node.is_listed = true;
      node.entry = absl::HashOf(CompactJson(entry));
      if (list == std::string_view("remove")) node.place = 0;
    }
  }
  return digest;
}

// Of the plan's JSON, the entries of these nodes.
Json EntriesJson(const PlanReport& report, const absl::flat_hash_set<std::string>& nodes) {
  Json json = {{"remove", Json::array()}, {"keep", Json::array()}};
  if (nodes.empty()) return json;
  PutEntries(
      report,
      [&](NodeId node) { return nodes.contains(Absl(report.context.catalog().NodeName(node))); },
      json);
  return json;
}

// Writes the plan in the call's form.  Forms that need no report are written without making one,
// which would take as long as the pass.
void PutPlan(const PlanContext& context, const wire::PlanCall& call, wire::PlanReply& reply) {
  PutFigures(context, reply);
  switch (call.form()) {
    case wire::AS_DATA:
      return WriteWholePlan(context.catalog(), *context.made, reply.mutable_data());
    case wire::AS_NAMES:
      for (const RemovableNode& node : context.made->plan.remove) {
        reply.add_names(std::string(context.catalog().NodeName(node.node)));
      }
      return;
    case wire::AS_SCRIPT:
      return reply.set_script(PlanScript(MakeReport(context)));
    case wire::AS_PATCH:
      return reply.set_script(PlanPatch(MakeReport(context)));
    case wire::AS_TABLES:
      return PutTables(MakeReport(context), call.rows(), call.every_node(),
                       *reply.mutable_tables());
    default:
      reply.set_plan(IndentedJson(PlanJson(MakeReport(context))));
  }
}

}  // namespace

void SessionQuestions::PutStatus(wire::SessionStatus& status) const {
  status.set_plans(plans_);
  if (!last_plan_) return;
  status.set_last_plan_version(last_plan_->version);
  status.set_last_plan_removes(last_plan_->removes);
  status.set_last_plan_seconds(last_plan_->seconds);
}

absl::Status SessionQuestions::WithReport(
    const wire::PlanInput& input, std::optional<Clock::time_point> end,
    const std::function<absl::Status(const PlanReport&)>& tell, const Deadline* cancelled) {
  return WithPlan(input, end, cancelled, Use::kShown,
                  [&](const PlanContext& plan) { return tell(MakeReport(plan)); });
}

absl::StatusOr<PlanQuery> SessionQuestions::QueryOver(const wire::PlanInput& input,
                                                      std::optional<Clock::time_point> end,
                                                      std::span<const InputWarning> others,
                                                      const SessionSettings& settings,
                                                      LoadedCluster& cluster) const {
  const absl::StatusOr<int64_t> now_s = CheckBeforePlan(
      settings.groups, others, input.has_now() ? std::optional<int64_t>(input.now()) : std::nullopt,
      cluster_.ClockS(), cluster);
  if (!now_s.ok()) return now_s.status();
  absl::StatusOr<PlanQuery> query = ReadQuery(input, settings.options, settings.groups, end);
  if (query.ok()) query->now_s = *now_s;
  return query;
}

absl::StatusOr<SessionQuestions::Prepared> SessionQuestions::Prepare(
    const wire::PlanInput& input, std::optional<Clock::time_point> end, Use use) {
  if (absl::Status s = cluster_.CheckAnswersTo(input); !s.ok()) return s;
  std::optional<SessionSettings> parsed;
  const absl::StatusOr<const SessionSettings*> settings = cluster_.SettingsOf(input, parsed);
  if (!settings.ok()) return settings.status();
  absl::StatusOr<LoadedCluster> checked = cluster_.Checked(input.allow_incomplete(), use);
  if (!checked.ok()) return checked.status();
  std::vector<InputWarning> others = cluster_.FeedWarnings();
  std::ranges::move(ReadWarnings(input), std::back_inserter(others));
  absl::StatusOr<PlanQuery> query = QueryOver(input, end, others, **settings, *checked);
  if (!query.ok()) return query.status();
  return Prepared{.cluster = *std::move(checked), .query = *std::move(query)};
}

absl::Status SessionQuestions::WithPlan(
    const wire::PlanInput& input, std::optional<Clock::time_point> end, const Deadline* cancelled,
    Use use, const std::function<absl::Status(const PlanContext&)>& tell) {
  const auto start = Clock::now();
  absl::StatusOr<Prepared> asked = Prepare(input, end, use);
  if (!asked.ok()) return asked.status();
  PlanQuery& query = asked->query;
  const absl::StatusOr<WaveModel> model = ReadWaveModel(input.waves());
  if (!model.ok()) return model.status();
  if (query.stable && use == Use::kCarriedOut) query.stable->verify_every = 1;
  const auto count = [&](const PlanAnswer& answer) {
    ++plans_;
    last_plan_ = {.version = cluster_.version(),
                  .removes = answer.made.plan.remove.size(),
                  .seconds = SecondsSince(start)};
  };
  if (input.has_replace()) {
    const absl::StatusOr<ReplaceQuery> replace = ReadReplace(input.replace());
    if (!replace.ok()) return replace.status();
    absl::StatusOr<ScratchCluster> copied = cluster_.ScratchCopy(asked->cluster);
    if (!copied.ok()) return copied.status();
    query.seconds.reset();  // The deadline of the call, which ends the search for new nodes.
    const ClockDeadline limit(end.value_or(Clock::time_point::max()));
    const FirstDeadline stops(&limit, cancelled);
    const auto answer = AnswerReplace(query, *replace, *copied->live, copied->version.cluster,
                                      {.cancelled = &stops}, Threads());
    if (!answer.ok()) return answer.status();
    count((*answer)->answer());
    PlanContext context = (*answer)->Context();
    context.session = cluster_.AgeForPlans();
    return tell(context);
  }
  const auto answer = AnswerPlan(query, asked->cluster, {.cancelled = cancelled}, Threads(),
                                 query.stable ? &StableMemory() : nullptr);
  if (!answer.ok()) return answer.status();
  count(**answer);
  PlanContext context = (*answer)->Context();
  context.session = cluster_.AgeForPlans();
  std::optional<PlanWaves> waves;
  if (input.has_waves()) {
    std::optional<ClockDeadline> limit;
    if (query.seconds)
      limit.emplace(start + DurationOf(*query.seconds * query.shares.verification));
    absl::StatusOr<PlanWaves> found = FollowWaves(**answer, *model, limit ? &*limit : nullptr);
    if (!found.ok()) return found.status();
    context.waves = &waves.emplace(*std::move(found));
  }
  return tell(context);
}

StablePlanner& SessionQuestions::StableMemory() {
  const bool is_replaced =
      std::exchange(stable_replaced_, cluster_.replaced()) != cluster_.replaced();
  const bool has_gap = std::exchange(stable_gaps_, cluster_.gaps()) != cluster_.gaps();
  if (is_replaced) {
    stable_.Forget(StableOrigin::kOtherCluster);
  } else if (has_gap) {
    stable_.Forget(StableOrigin::kMissed);
  }
  return stable_;
}

void SessionQuestions::PutDifference(const PlanContext& context, const std::string& since_version,
                                     wire::PlanReply& reply) {
  auto now = std::make_shared<const PlanDigest>(DataDigest(context, pod_hashes_));
  const auto before = versions_.Find(since_version, PlanDigest::Form::kData);
  const ebb::Plan& plan = context.made->plan;
  reply.set_whole(before == nullptr);
  if (before == nullptr) {
    WriteWholePlan(context.catalog(), *context.made, reply.mutable_data());
  } else {
    const PlanDifference difference = DifferenceOf(*before, *now);
    WritePassPlan(context.catalog(), PartOf(context.catalog(), plan, difference),
                  reply.mutable_data());
    for (const wire::Removal& removal : reply.data().removes()) {
      reply.add_places(*now->nodes.at(std::string_view(removal.node())).place);
    }
    reply.mutable_gone_nodes()->Assign(difference.gone.begin(), difference.gone.end());
    if (difference.entries.empty() && difference.uses.empty() && difference.gone.empty()) {
      return reply.set_plan_version(since_version);
    }
  }
  reply.set_plan_version(versions_.Add(std::move(now)));
}

absl::StatusOr<wire::PlanReply> SessionQuestions::Plan(const wire::PlanCall& call,
                                                       std::optional<Clock::time_point> end,
                                                       const Deadline* cancelled) {
  if (absl::Status s = CheckForm(call.form(),
                                 {wire::AS_JSON, wire::AS_DATA, wire::AS_NAMES, wire::AS_TABLES,
                                  wire::AS_SCRIPT, wire::AS_PATCH},
                                 "Plan");
      !s.ok()) {
    return s;
  }
  if (call.form() != wire::AS_TABLES && (call.rows() > 0 || call.every_node())) {
    return absl::InvalidArgumentError(absl::StrCat(call.rows() > 0 ? "rows" : "every_node", ": ",
                                                   wire::Form_Name(call.form()),
                                                   " takes none; AS_TABLES does"));
  }
  if (call.has_since_version() && call.form() != wire::AS_DATA) {
    return absl::InvalidArgumentError(
        absl::StrCat("since_version: ", wire::Form_Name(call.form()), " takes none; AS_DATA does"));
  }
  if (absl::Status s = CheckTaken(call.input(), QuestionOf::kPlan); !s.ok()) return s;
  if (call.input().has_waves() && call.form() != wire::AS_JSON && call.form() != wire::AS_TABLES) {
    return absl::InvalidArgumentError(absl::StrCat("input.waves: ", wire::Form_Name(call.form()),
                                                   " takes none; AS_JSON and AS_TABLES do"));
  }
  if (call.input().has_replace() && (call.has_since_version() || (call.form() != wire::AS_JSON &&
                                                                  call.form() != wire::AS_TABLES &&
                                                                  call.form() != wire::AS_DATA))) {
    return absl::InvalidArgumentError(
        absl::StrCat("input.replace: ",
                     call.has_since_version() ? "since_version" : wire::Form_Name(call.form()),
                     " takes none; AS_JSON, AS_TABLES and AS_DATA do"));
  }
  if (absl::Status s = cluster_.CheckAnswersTo(call.input()); !s.ok()) return s;
  // A cached answer is valid for one second, because the plan contains its time.
  wire::PlanCall question = call;
  if (!question.input().has_now()) {
    question.mutable_input()->set_now(cluster_.TimeToPlan().now_s);
  }
  question.mutable_input()->clear_session();
  question.mutable_input()->clear_min_version();
  question.mutable_input()->clear_cluster_token();
  const wire::Freshness freshness = cluster_.Freshness();
  // The age that an answer reports can change without a new revision, as time passes.
  const size_t said = cluster_.FeedWarnings().size() + (cluster_.AgeForPlans() ? 1 : 0);
  const std::string key =
      absl::StrCat(question.SerializeAsString(), " ", freshness.SerializeAsString(), " ", said);
  if (std::exchange(answers_revision_, cluster_.revision()) != cluster_.revision()) {
    answers_.clear();
  }
  for (const auto& [asked, answer] : answers_) {
    if (asked == key) return answer;
  }
  wire::PlanReply reply;
  bool cut = false;
  const auto tell = [&](const PlanContext& context) -> absl::Status {
    cut = context.made->plan.termination == Termination::kDeadline ||
          (context.waves != nullptr && context.waves->ended == WavesEnd::kTimeLimit);
    reply.set_version(cluster_.version());
    if (!cluster_.options().host_fills) *reply.mutable_freshness() = freshness;
    if (call.has_since_version()) {
      PutFigures(context, reply);
      PutDifference(context, call.since_version(), reply);
    } else {
      PutPlan(context, call, reply);
    }
    reply.set_tried_out(context.trials.has_value());
    return absl::OkStatus();
  };
  const bool acts = call.form() == wire::AS_NAMES || call.form() == wire::AS_SCRIPT ||
                    call.form() == wire::AS_PATCH;
  const Use use = acts ? Use::kCarriedOut : Use::kShown;
  if (absl::Status s = WithPlan(call.input(), end, cancelled, use, tell); !s.ok()) return s;
  // With more time, another search, trials or bound may find more, so such answers are not cached.
  const wire::PlanInput& input = call.input();
  if (!cut && !input.has_search() && !input.bound() && !input.has_trials()) {
    answers_.emplace_back(key, reply);
    if (answers_.size() > kAnswersKept) answers_.pop_front();
  }
  return reply;
}

Planner& SessionQuestions::PassPlanner(const PlannerOptions& options,
                                       const std::shared_ptr<Symbols>& symbols) {
  if (passes_ != nullptr && passes_->options() == options && passes_symbols_ == symbols) {
    return *passes_;
  }
  auto planner = std::make_unique<Planner>(options);
  if (passes_ != nullptr) planner->Restore(passes_->Save(), symbols);
  passes_ = std::move(planner);
  passes_symbols_ = symbols;
  return *passes_;
}

template <typename Reply, typename Write>
absl::StatusOr<Reply> SessionQuestions::MakePass(const wire::PlanInput& question,
                                                 std::optional<Clock::time_point> end,
                                                 Write write) {
  if (absl::Status s = CheckTaken(question, QuestionOf::kPass); !s.ok()) return s;
  if (absl::Status s = cluster_.CheckAnswersTo(question); !s.ok()) return s;
  std::optional<SessionSettings> parsed;
  const absl::StatusOr<const SessionSettings*> settings = cluster_.SettingsOf(question, parsed);
  if (!settings.ok()) return settings.status();
  if (absl::Status s = CheckNow(question); !s.ok()) return s;
  const auto ends = EndOf(question, end);
  if (!ends.ok()) return ends.status();
  ClusterSnapshot& snapshot = cluster_.Snapshot();
  const BareRules bare(snapshot);
  PassLists lists;
  absl::StatusOr<PassInput> pass = ReadPass(question, snapshot, (*settings)->groups, lists);
  if (!pass.ok()) return pass.status();
  if (!question.has_now()) {
    pass->now_s = cluster_.TimeToPlan().now_s;
  }
  std::optional<Deadlines> deadlines;
  if (*ends) {
    deadlines.emplace(**ends, kTimeOfCall);
    pass->deadline = &deadlines->passes_end;
  }
  const PlannerOptions& options = (*settings)->options.scale_down.planner;
  if (options.drain.gangs == Gangs::kMove) {
    return absl::InvalidArgumentError("drain.gangs: move is for plans, which repeat their passes");
  }
  Planner& planner = PassPlanner(options, cluster_.symbols());
  const auto start = Clock::now();
  const absl::StatusOr<ebb::Plan> plan = planner.Pass(snapshot, lists.groups, *pass);
  if (!plan.ok()) return plan.status();
  Reply reply;
  reply.set_pass_seconds(SecondsSince(start));
  if (absl::Status s = Verify(snapshot, lists.groups, options, *pass, *plan); !s.ok()) return s;
  reply.set_version(cluster_.version());
  reply.set_now(pass->now_s);
  write(snapshot.catalog(), *plan, reply);
  return reply;
}

absl::StatusOr<wire::PassReply> SessionQuestions::Pass(const wire::PlanInput& question,
                                                       std::optional<Clock::time_point> end) {
  return MakePass<wire::PassReply>(
      question, end, [this](const Catalog& catalog, const ebb::Plan& plan, wire::PassReply& reply) {
        WritePassPlan(catalog, plan, reply.mutable_plan());
        cluster_.PutFreshness(reply);
      });
}

absl::StatusOr<wire::PassTable> SessionQuestions::PassTable(const wire::PlanInput& question,
                                                            std::optional<Clock::time_point> end) {
  return MakePass<wire::PassTable>(
      question, end, [this](const Catalog& catalog, const ebb::Plan& plan, wire::PassTable& reply) {
        WritePassTable(catalog, plan, &reply);
        cluster_.PutFreshness(reply);
      });
}

absl::StatusOr<wire::ExplainReply> SessionQuestions::Explain(const wire::ExplainCall& call,
                                                             std::optional<Clock::time_point> end,
                                                             const Deadline* stops) {
  if (call.nodes().empty()) return absl::InvalidArgumentError("nodes: names none");
  if (absl::Status s = CheckForm(call.form(), {wire::AS_JSON, wire::AS_TABLES}, "Explain");
      !s.ok()) {
    return s;
  }
  if (absl::Status s = CheckTaken(call.input(), QuestionOf::kExplain); !s.ok()) return s;
  wire::ExplainReply reply;
  const auto put = [&](const PlanReport& report, std::span<const NodeId> nodes,
                       std::span<const Counterfactual> remedies) -> absl::Status {
    if (call.form() == wire::AS_TABLES) {
      PutExplanations(report, nodes, stops, reply);
      PutRemedies(remedies, reply);
    } else {
      PutExplainFigures(report, reply);
      Json json = ExplanationJson(report, nodes, stops);
      if (!IsOver(stops)) PutRemedies(remedies, json);  // After that, nodes may be missing.
      reply.set_json(IndentedJson(json));
    }
    if (IsOver(stops)) return TimeIsOver();
    reply.set_version(cluster_.version());
    cluster_.PutFreshness(reply);
    return absl::OkStatus();
  };
  const auto tell = [&](const PlanReport& report) -> absl::Status {
    const std::vector<std::string> names(call.nodes().begin(), call.nodes().end());
    const absl::StatusOr<std::vector<NodeId>> nodes = FindNodes(report.context.catalog(), names);
    if (!nodes.ok()) return nodes.status();
    return put(report, *nodes, {});
  };
  absl::Status explained = call.remedies() ? WithRemedies(call, end, stops, put)
                                           : WithReport(call.input(), end, tell, stops);
  if (!explained.ok()) return explained;
  return reply;
}

absl::StatusOr<wire::FilterReply> SessionQuestions::Filter(const wire::FilterCall& call,
                                                           const Deadline* stops) {
  if (call.pods().empty()) return absl::InvalidArgumentError("pods: names none");
  if (absl::Status s = CheckForm(call.form(), {wire::AS_JSON, wire::AS_TABLES}, "Filter");
      !s.ok()) {
    return s;
  }
  if (absl::Status s = cluster_.CheckAnswersTo(call); !s.ok()) return s;
  absl::StatusOr<LoadedCluster> cluster = cluster_.Checked(call.allow_incomplete(), Use::kShown);
  if (!cluster.ok()) return cluster.status();
  cluster_.AddFeedWarnings(*cluster);
  ClusterSnapshot& snapshot = cluster->snapshot;
  std::optional<NodeId> only;
  if (!call.node().empty()) {
    const absl::StatusOr<NodeId> found = snapshot.catalog().FindNode(call.node());
    if (!found.ok()) return found.status();
    only = *found;
  }
  const uint64_t pods = static_cast<uint64_t>(call.pods_size());
  const uint64_t nodes = only ? 1 : snapshot.nodes();
  if (pods * nodes > kVerdictsMax) {
    return absl::ResourceExhaustedError(absl::StrCat("pods: ", pods, " of them on ", nodes,
                                                     " nodes are more than ", kVerdictsMax,
                                                     " verdicts; ask of fewer, or of one node"));
  }
  wire::FilterReply reply;
  Json results = Json::array();
  for (const std::string& name : call.pods()) {
    if (IsOver(stops)) return TimeIsOver();
    const absl::StatusOr<PodId> pod = FindListedPod(*cluster, name);
    if (!pod.ok()) return pod.status();
    if (call.form() == wire::AS_TABLES) {
      PutVerdicts(snapshot, *pod, only, *reply.add_pods());
    } else {
      results.push_back(FilterJson(snapshot, *pod, only, FilterDetail::kEveryFilter));
    }
  }
  if (call.form() == wire::AS_JSON) reply.set_json(IndentedJson(Json{{"results", results}}));
  reply.set_version(cluster_.version());
  PutWarnings(cluster->warnings, reply);
  reply.set_left_out(LeftOutText(cluster->counts));
  cluster_.PutFreshness(reply);
  return reply;
}

SessionQuestions::SentPlan SessionQuestions::PlanSince(const std::string& since_version) const {
  SentPlan sent;
  sent.plan = versions_.Find(since_version, PlanDigest::Form::kJson);
  if (sent.plan != nullptr) sent.version = since_version;
  sent.is_fed = cluster_.IsFed();
  return sent;
}

absl::StatusOr<wire::PlanChange> SessionQuestions::PlanChanges(const wire::PlanInput& input,
                                                               SentPlan& told,
                                                               const Deadline* cancelled) {
  if (absl::Status s = CheckTaken(input, QuestionOf::kWatchPlans); !s.ok()) return s;
  wire::PlanChange change;
  const auto tell = [&](const PlanReport& report) {
    Json plan;
    if (!input.has_stable()) plan = PlanJson(report);
    auto now = std::make_shared<const PlanDigest>(input.has_stable() ? DecisionDigest(report)
                                                                     : JsonDigest(plan));
    static const PlanDigest kNothing;
    const PlanDifference difference =
        DifferenceOf(told.plan == nullptr ? kNothing : *told.plan, *now);
    if (input.has_stable()) plan = EntriesJson(report, difference.entries);
    const auto put = [&](const Json& entries, auto add) {
      for (const Json& entry : entries) {
        if (!difference.entries.contains(entry["node"].get_ref<const std::string&>())) continue;
        *add() = CompactJson(entry);
      }
    };
    put(plan["remove"], [&] { return change.add_removes(); });
    put(plan["keep"], [&] { return change.add_keeps(); });
    change.mutable_gone_nodes()->Assign(difference.gone.begin(), difference.gone.end());
    change.set_version(cluster_.version());
    change.set_now(report.context.request->pass.now_s);
    change.set_whole(told.plan == nullptr);
    change.set_remove_count(report.remove.size());
    if (report.context.stable != nullptr) {
      PutStable(report.context.catalog(), *report.context.stable, *change.mutable_stable());
    }
    cluster_.PutFreshness(change);
    const bool is_same =
        told.plan != nullptr && difference.entries.empty() && difference.gone.empty();
    if (!is_same) told.version = versions_.Add(now);
    change.set_plan_version(told.version);
    told.plan = std::move(now);
    told.is_fed = cluster_.IsFed();
    return absl::OkStatus();
  };
  if (absl::Status s = WithReport(input, std::nullopt, tell, cancelled); !s.ok()) return s;
  return change;
}

}  // namespace ebb
