#include "session/wire_query.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/text.h"
#include "base/time_range.h"
#include "groups/prices.h"
#include "planning/query_fields.h"

namespace ebb {

namespace wire = v1alpha1;

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The field with that name.  A missing field, or one of another type, is a bug of the table.
const FieldDescriptor& FieldOf(const Message& message, const char* name) {
  const FieldDescriptor* const field = message.GetDescriptor()->FindFieldByName(name);
  EBB_CHECK(field != nullptr);
  return *field;
}

// Reads the rows of query_fields.h from a message.  Absent fields leave their value unchanged.
class MessageReader {
 public:
  MessageReader(const Message& message, std::string path)
      : message_(message), from_(*message.GetReflection()), path_(std::move(path)) {}

  [[nodiscard]] const absl::Status& status() const { return status_; }

  template <typename Value, typename Bounds>
  void Number(const char* name, Value& value, const Bounds& /*range*/) {
    if (const FieldDescriptor* const field = Given(name)) value = NumberIn<Value>(*field);
  }
  template <typename Value, typename Bounds>
  void Number(const char* name, std::optional<Value>& value, const Bounds& /*range*/) {
    if (const FieldDescriptor* const field = Given(name)) value = NumberIn<Value>(*field);
  }
  void Share(const char* name, double& value) {
    if (const FieldDescriptor* const field = Given(name)) value = NumberIn<double>(*field);
  }
  void Switch(const char* name, bool& value) {
    if (const FieldDescriptor* const field = Given(name)) value = from_.GetBool(message_, field);
  }
  // The enumeration's values are the words in capitals.
  template <typename Value, size_t kSize>
  void OneOf(const char* name, Value& value, const Word<Value> (&words)[kSize]) {
    const FieldDescriptor& field = FieldOf(message_, name);
    const int number = from_.GetEnumValue(message_, &field);
    const auto* const given = field.enum_type()->FindValueByNumber(number);
    const auto found =
        given == nullptr ? std::nullopt : ValueOf(words, absl::AsciiStrToLower(given->name()));
    if (found) {
      value = *found;
    } else {
      status_.Update(
          absl::InvalidArgumentError(absl::StrCat(path_, name, ": there is no ", number)));
    }
  }
  void Names(const char* name, std::optional<std::vector<std::string>>& value) {
    const FieldDescriptor* const field = Given(name);
    if (field == nullptr) return;
    const auto& names = static_cast<const wire::NodeNames&>(from_.GetMessage(message_, field));
    value.emplace(names.nodes().begin(), names.nodes().end());
  }
  template <typename Query>
  void Part(const char* name, std::optional<Query>& part) {
    const FieldDescriptor* const field = Given(name);
    if (field == nullptr) return;
    MessageReader reader(from_.GetMessage(message_, field), absl::StrCat(path_, name, "."));
    VisitFields(part.emplace(), reader);
    status_.Update(reader.status());
  }

 private:
  // Null: the message does not have the field.
  [[nodiscard]] const FieldDescriptor* Given(const char* name) const {
    const FieldDescriptor& field = FieldOf(message_, name);
    return !field.has_presence() || from_.HasField(message_, &field) ? &field : nullptr;
  }
  template <typename Value>
  [[nodiscard]] Value NumberIn(const FieldDescriptor& field) const {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return static_cast<Value>(from_.GetDouble(message_, &field));
      case FieldDescriptor::CPPTYPE_INT64:
        return static_cast<Value>(from_.GetInt64(message_, &field));
      case FieldDescriptor::CPPTYPE_UINT64:
        return static_cast<Value>(from_.GetUInt64(message_, &field));
      default:
        EBB_CHECK(field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32);
        return static_cast<Value>(from_.GetUInt32(message_, &field));
    }
  }

  const Message& message_;
  const google::protobuf::Reflection& from_;
  std::string path_;  // Prefix of names in errors.
  absl::Status status_;
};

// Writes the rows of query_fields.h into a message.
class MessageWriter {
 public:
  explicit MessageWriter(Message& message) : message_(message), to_(*message.GetReflection()) {}

  template <typename Value, typename Bounds>
  void Number(const char* name, const Value& value, const Bounds& /*range*/) {
    Put(FieldOf(message_, name), value);
  }
  template <typename Value, typename Bounds>
  void Number(const char* name, const std::optional<Value>& value, const Bounds& /*range*/) {
    if (value) Put(FieldOf(message_, name), *value);
  }
  void Share(const char* name, double value) {
    if (value < 1) to_.SetDouble(&message_, &FieldOf(message_, name), value);
  }
  void Switch(const char* name, bool value) {
    to_.SetBool(&message_, &FieldOf(message_, name), value);
  }
  template <typename Value, size_t kSize>
  void OneOf(const char* name, Value value, const Word<Value> (&words)[kSize]) {
    const FieldDescriptor& field = FieldOf(message_, name);
    for (const Word<Value>& word : words) {
      if (word.value != value) continue;
      const std::string text = absl::AsciiStrToUpper(Absl(word.text));
      to_.SetEnum(&message_, &field, field.enum_type()->FindValueByName(text));
    }
  }
  void Names(const char* name, const std::optional<std::vector<std::string>>& value) {
    if (!value) return;
    auto& names =
        static_cast<wire::NodeNames&>(*to_.MutableMessage(&message_, &FieldOf(message_, name)));
    names.mutable_nodes()->Assign(value->begin(), value->end());
  }
  template <typename Query>
  void Part(const char* name, const std::optional<Query>& part) {
    if (!part) return;
    MessageWriter writer(*to_.MutableMessage(&message_, &FieldOf(message_, name)));
    VisitFields(*part, writer);
  }

 private:
  template <typename Value>
  void Put(const FieldDescriptor& field, Value value) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return to_.SetDouble(&message_, &field, static_cast<double>(value));
      case FieldDescriptor::CPPTYPE_INT64:
        return to_.SetInt64(&message_, &field, static_cast<int64_t>(value));
      case FieldDescriptor::CPPTYPE_UINT64:
        return to_.SetUInt64(&message_, &field, static_cast<uint64_t>(value));
      default:
        EBB_CHECK(field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32);
        return to_.SetUInt32(&message_, &field, static_cast<uint32_t>(value));
    }
  }

  Message& message_;
  const google::protobuf::Reflection& to_;
};

// --- Which call takes which field ---------------------------------------------------------

struct Call {
  QuestionOf call;
  std::string_view name;
};
constexpr Call kCalls[] = {{QuestionOf::kPlan, "Plan"},
                           {QuestionOf::kExplain, "Explain"},
                           {QuestionOf::kBlockers, "Blockers"},
                           {QuestionOf::kFrontier, "Frontier"},
                           {QuestionOf::kWhatIf, "WhatIf"},
                           {QuestionOf::kThen, "WhatIf"},
                           {QuestionOf::kWatchPlans, "WatchPlans"},
                           {QuestionOf::kPass, "Pass"},
                           {QuestionOf::kRound, "Round"}};

using Calls = uint32_t;  // A bit each.
constexpr Calls Of(QuestionOf call) { return Calls{1} << static_cast<uint32_t>(call); }
constexpr Calls kAll = ~Calls{0};
constexpr Calls kPass = Of(QuestionOf::kPass);
// That plan over the cluster as it is, in one pass or more.
constexpr Calls kOfPlans = kAll & ~kPass & ~Of(QuestionOf::kRound);
constexpr Calls kOfStable =
    Of(QuestionOf::kPlan) | Of(QuestionOf::kExplain) | Of(QuestionOf::kWatchPlans);
constexpr Calls kOfSearches = kOfPlans & ~Of(QuestionOf::kBlockers);

struct FieldOfCalls {
  std::string_view field;
  Calls calls;
};
// Every field of PlanInput, and of Search.  planner.proto says the same of each.
constexpr FieldOfCalls kFieldsOfCalls[] = {
    {"session", kAll},
    {"min_version", kAll},
    {"settings", kAll},
    {"settings_over_session", kAll},
    {"now", kAll},  // Of WatchPlans the daemon refuses it.
    {"warnings", kAll},
    {"time_limit_seconds", kAll},
    {"max_age_seconds", kAll & ~Of(QuestionOf::kWatchPlans)},
    {"cluster_token", kAll & ~Of(QuestionOf::kWatchPlans) & ~Of(QuestionOf::kRound)},
    {"allow_incomplete", kAll},
    {"max_scale_down_parallelism", kOfPlans},
    {"max_workload_share", kOfPlans},
    {"prices", kOfPlans},
    {"prices_name", kOfPlans},
    {"search", kOfSearches},
    {"search.budget_seconds", kOfSearches},
    {"search.iterations", kOfSearches},
    {"search.seed", kOfSearches},
    {"search.objective", kOfSearches & ~Of(QuestionOf::kFrontier)},
    {"search.move_cost", kOfSearches & ~Of(QuestionOf::kFrontier)},
    {"search.max_evictions", kOfSearches & ~Of(QuestionOf::kFrontier)},
    {"bound", Of(QuestionOf::kPlan)},
    {"trials", kOfSearches & ~Of(QuestionOf::kFrontier)},
    {"stable", kOfStable},
    {"waves", Of(QuestionOf::kPlan)},
    {"replace", Of(QuestionOf::kPlan)},
    {"candidates", kOfPlans | kPass},
    {"destinations", kPass},
    {"groups", kPass},
    {"unneeded_limit", kPass},
    {"pod_order", kPass},
};

std::string_view NameOf(QuestionOf call) {
  return std::ranges::find(kCalls, call, &Call::call)->name;
}
// Of the input, in messages.
std::string_view PrefixOf(QuestionOf call) {
  return call == QuestionOf::kThen ? "then." : "input.";
}

absl::Status CheckFields(const Message& message, std::string_view path, QuestionOf call) {
  std::vector<const FieldDescriptor*> given;
  message.GetReflection()->ListFields(message, &given);
  for (const FieldDescriptor* const field : given) {
    const std::string name = absl::StrCat(Absl(path), field->name());
    const auto* const row = std::ranges::find(kFieldsOfCalls, name, &FieldOfCalls::field);
    if (row == std::end(kFieldsOfCalls) || (row->calls & Of(call)) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(Absl(PrefixOf(call)), name, ": ", Absl(NameOf(call)), " takes none"));
    }
    if (name != "search") continue;
    const Message& search = message.GetReflection()->GetMessage(message, field);
    if (absl::Status s = CheckFields(search, "search.", call); !s.ok()) return s;
  }
  return absl::OkStatus();
}

// What one field of the input makes of another.
absl::Status CheckTogether(const wire::PlanInput& input, QuestionOf call) {
  const auto wrong = [&](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat(Absl(PrefixOf(call)), what...));
  };
  const wire::Search& search = input.search();
  // Of Frontier both hold: all searches together have the budget, each has the iterations.
  if (call != QuestionOf::kFrontier && search.has_budget_seconds() && search.has_iterations()) {
    return wrong("search.budget_seconds: takes no ", Absl(PrefixOf(call)),
                 "search.iterations, as each of them ends the search");
  }
  if (call != QuestionOf::kPlan && input.has_trials() && !input.trials().has_robust()) {
    return wrong("trials: ", Absl(NameOf(call)),
                 " takes none without trials.robust, as the reply tells nothing of them");
  }
  return absl::OkStatus();
}

// AnswerReplace rejects the others: search, bound, trials, stable.
absl::Status CheckWithReplace(const wire::PlanInput& input) {
  if (!input.has_replace()) return absl::OkStatus();
  const char* const other = input.has_waves()                ? "waves"
                            : input.has_time_limit_seconds() ? "time_limit_seconds"
                                                             : nullptr;
  if (other == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input.replace: takes no input.", other, "; leave one of them out"));
}

absl::Status ReadPrices(const wire::PlanInput& input, PlanQuery& query) {
  if (input.prices().empty()) return absl::OkStatus();
  absl::StatusOr<PriceList> list = ParsePrices(
      input.prices_name().empty() ? "input.prices" : input.prices_name(), input.prices());
  if (!list.ok()) return list.status();
  query.prices = *std::move(list);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PlanQuery> ReadQuery(const wire::PlanInput& input, const RoundOptions& options,
                                    const GroupRules& groups,
                                    std::optional<Clock::time_point> end) {
  PlanQuery query{.planner = options.scale_down.planner,
                  .groups = groups,
                  .order = options.candidate_order,
                  .shares = kTimeOfCall};
  MessageReader reader(input, "input.");
  VisitFields(query, reader);
  if (!reader.status().ok()) return reader.status();
  if (query.search) {
    absl::Status budget =
        CheckRange("input.search.budget_seconds", query.search->budget_s, kBudgetOfCallRange);
    if (!budget.ok()) return budget;
  }
  if (absl::Status s = ReadPrices(input, query); !s.ok()) return s;
  if (absl::Status s = CheckQuery(query, "input."); !s.ok()) return s;
  if (absl::Status s = CheckNow(input); !s.ok()) return s;
  const absl::StatusOr<std::optional<Clock::time_point>> ends = EndOf(input, end);
  if (!ends.ok()) return ends.status();
  if (*ends) query.seconds = std::chrono::duration<double>(**ends - Clock::now()).count();
  return query;
}

void PutQuery(const PlanQuery& query, wire::PlanInput& input) {
  MessageWriter writer(input);
  VisitFields(query, writer);
  // Iterations take the budget's place.
  if (query.search && query.search->iterations) input.mutable_search()->clear_budget_seconds();
  if (query.seconds) {
    // A limit that is over must still be set, since an absent field means no limit.
    input.set_time_limit_seconds(std::max(*query.seconds, 1e-9));
  }
}

absl::Status CheckNow(const wire::PlanInput& input) {
  if (!input.has_now() || IsTime(input.now())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input.now: ", input.now(), " is not a time of the years 1 to 9999"));
}

absl::StatusOr<std::optional<Clock::time_point>> EndOf(const wire::PlanInput& input,
                                                       std::optional<Clock::time_point> end) {
  if (!input.has_time_limit_seconds()) return end;
  const double limit = input.time_limit_seconds();
  if (!(limit > 0 && limit <= kOptionSecondsMax)) {
    return absl::InvalidArgumentError("input.time_limit_seconds: must be a time in the future");
  }
  const auto own = Clock::now() + DurationOf(limit);
  return end ? std::min(*end, own) : own;
}

absl::Status CheckTaken(const wire::PlanInput& input, QuestionOf call) {
  if (absl::Status s = CheckFields(input, "", call); !s.ok()) return s;
  if (absl::Status s = CheckWithReplace(input); !s.ok()) return s;
  return CheckTogether(input, call);
}

absl::StatusOr<ReplaceQuery> ReadReplace(const wire::Replace& replace) {
  ReplaceQuery query{.min_saving = replace.min_saving(),
                     .min_score = replace.min_score(),
                     .move_cost = replace.move_cost(),
                     .allow_spot = replace.allow_spot()};
  if (replace.has_max_new_nodes()) query.max_new_nodes = replace.max_new_nodes();
  if (replace.has_max_tries()) query.max_tries = replace.max_tries();
  if (replace.budget_seconds() != 0) query.budget_s = replace.budget_seconds();
  if (replace.machine_types().empty()) return query;
  absl::StatusOr<MachineFile> file =
      ParseMachineFile(replace.machine_types_name().empty() ? "input.replace.machine_types"
                                                            : replace.machine_types_name(),
                       replace.machine_types());
  if (!file.ok()) return file.status();
  query.machines = *std::move(file);
  query.machines->groups.assign(replace.machine_type_groups().begin(),
                                replace.machine_type_groups().end());
  return query;
}

absl::Status CheckThen(const wire::PlanInput& then, const wire::PlanInput& input) {
  if (absl::Status s = CheckTaken(then, QuestionOf::kThen); !s.ok()) return s;
  constexpr const char* kOfTheCluster[] = {"session",       "min_version",      "max_age_seconds",
                                           "cluster_token", "allow_incomplete", "warnings"};
  std::vector<const FieldDescriptor*> given;
  then.GetReflection()->ListFields(then, &given);
  for (const char* const name : kOfTheCluster) {
    const FieldDescriptor& field = FieldOf(then, name);
    if (std::ranges::find(given, &field) == given.end()) continue;
    const auto alone = [&](wire::PlanInput of) {
      wire::PlanInput one;
      one.GetReflection()->SwapFields(&one, &of, {&field});
      return one.SerializeAsString();
    };
    if (alone(then) == alone(input)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "then.", name, ": is not as in input; both plans are of the cluster that input asks for"));
  }
  return absl::OkStatus();
}

absl::StatusOr<WaveModel> ReadWaveModel(const wire::WaveSettings& waves) {
  WaveModel model{.unneeded_s = waves.unneeded_seconds(),
                  .delay_after_delete_s = waves.delay_after_delete_seconds()};
  if (waves.has_pod_startup_seconds()) model.pod_startup_s = waves.pod_startup_seconds();
  const std::pair<const char*, int64_t> times[] = {
      {"pod_startup_seconds", model.pod_startup_s},
      {"unneeded_seconds", model.unneeded_s},
      {"delay_after_delete_seconds", model.delay_after_delete_s}};
  for (const auto& [name, seconds] : times) {
    if (seconds >= 0 && static_cast<double>(seconds) <= kOptionSecondsMax) continue;
    return absl::InvalidArgumentError(absl::StrCat("input.waves.", name, ": ", seconds,
                                                   " is not a time from 0 to ", kOptionSecondsMax,
                                                   " seconds"));
  }
  return model;
}

absl::Status CheckForm(wire::Form form, std::initializer_list<wire::Form> taken,
                       std::string_view call) {
  if (std::ranges::find(taken, form) != taken.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("form: ", wire::Form_IsValid(form) ? wire::Form_Name(form) : absl::StrCat(form),
                   " is not a form of ", Absl(call)));
}

}  // namespace ebb
