#include "embed/ebb.h"

#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/deadline.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "groups/groups.h"
#include "options/option_field.h"
#include "options/round_options.h"
#include "report/plan_comparison.h"
#include "report/plan_json.h"
#include "session/session.h"
#include "session/wire_changes.h"
#include "session/wire_tables.h"
#include "session/wire_what_if.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/formats/json_text.h"
#include "snapshot/import/incomplete.h"
#include "snapshot/live/change_batch.h"
#include "snapshot/samples/generate.h"
#include "tables/answer_tables.h"
#include "tables/cluster_tables.h"
#include "what_if/blockers.h"

namespace wire = ebb::v1alpha1;

struct ebb_error {
  ebb_code code;
  std::string message;
};

struct ebb_bytes {
  std::string text;
};

struct ebb_batch {
  ebb::ChangeBatch changes;
};

struct ebb_cluster {
  ebb::SessionOptions options;  // The session borrows the options.
  std::mutex mutex;
  std::unique_ptr<ebb::Session> session;  // Null: closed.
  bool is_spoilt = false;                 // Memory was exhausted during a change of `session`.
};

namespace {

using ::ebb::Absl;

// --- Errors --------------------------------------------------------------------------------

ebb_code CodeOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
      return static_cast<ebb_code>(code);  // The numbers are equal.
    default:
      return EBB_INTERNAL;
  }
}

// Replaces flags in ebb's error messages: a host of the library has options and calls instead.
std::string ForHosts(absl::string_view message) {
  return absl::StrReplaceAll(
      message,
      {{"--max-objects", "objects_max"},
       {"--max-dump", "dump_bytes_max"},
       {"--max-input-bytes", "dump_bytes_max"},
       {", --max-object", ""},  // The library has no such option.
       {"with --allow-incomplete (allow_incomplete)", "after ebb_cluster_allow_incomplete"},
       {"pass --allow-incomplete", "call ebb_cluster_allow_incomplete"},
       {"or --assume-complete if it is all there is",
        "or set as_given of ebb_options if it is all there is"},
       {"; pass what `", "; the argument dump must be what `"}});
}

ebb_code ReportError(const absl::Status& status, ebb_error** error) {
  if (status.ok()) return EBB_OK;
  const ebb_code code = CodeOf(status.code());
  if (error != nullptr) *error = new ebb_error{code, ForHosts(status.message())};
  return code;
}

// Runs `body` and returns the code of its status.  Lets no exception out.
template <typename Body>
ebb_code Guarded(ebb_error** error, Body body) noexcept {
  try {
    try {
      return ReportError(body(), error);
    } catch (const std::bad_alloc&) {
      return ReportError(absl::ResourceExhaustedError("memory: none is left"), error);
    } catch (const std::exception& thrown) {
      return ReportError(absl::InternalError(thrown.what()), error);
    }
  } catch (...) {  // No memory for the error object either.
    return EBB_RESOURCE_EXHAUSTED;
  }
}

absl::Status Missing(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(Absl(what), " is NULL"));
}

// --- Messages ------------------------------------------------------------------------------

absl::StatusOr<std::string_view> BytesOf(std::string_view what, const void* data, size_t size) {
  if (data == nullptr && size > 0) return Missing(what);
  return std::string_view(static_cast<const char*>(data), size);
}

absl::Status CheckEncoding(ebb_encoding encoding) {
  if (encoding == EBB_JSON || encoding == EBB_PROTOBUF) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("encoding: ", encoding, " is neither EBB_JSON nor EBB_PROTOBUF"));
}

// Reads a message; a request of size 0 is a message of defaults.
template <typename Message>
absl::StatusOr<Message> Read(ebb_encoding encoding, const void* data, size_t size) {
  if (absl::Status s = CheckEncoding(encoding); !s.ok()) return s;
  const absl::StatusOr<std::string_view> bytes = BytesOf("request", data, size);
  if (!bytes.ok()) return bytes.status();
  Message message;
  if (bytes->empty()) return message;
  const std::string type = message.GetTypeName();
  if (bytes->size() > std::numeric_limits<int>::max()) {
    return absl::ResourceExhaustedError(
        absl::StrCat(type, ": ", bytes->size(), " bytes are more than a message may have"));
  }
  // Otherwise protobuf also writes errors to the host's standard error.
  const google::protobuf::LogSilencer silence;
  if (encoding == EBB_PROTOBUF) {
    if (message.ParseFromArray(bytes->data(), static_cast<int>(bytes->size()))) return message;
    return absl::InvalidArgumentError(absl::StrCat(type, ": is not a message in protobuf"));
  }
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(bytes->data(), bytes->size()), &message);
  if (parsed.ok()) return message;
  return absl::InvalidArgumentError(absl::StrCat(type, ": ", std::string(parsed.message())));
}

absl::StatusOr<std::string> Write(const google::protobuf::Message& message, ebb_encoding encoding) {
  std::string text;
  if (encoding == EBB_PROTOBUF) {
    if (message.SerializeToString(&text)) return text;
    return absl::ResourceExhaustedError("reply: is more than a message may have");
  }
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  const auto printed = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (printed.ok()) return text;
  return absl::InternalError(std::string(printed.message()));
}

// --- The cluster ---------------------------------------------------------------------------

// Calls body(session) while no other call runs.
template <typename Body>
absl::Status WithSession(ebb_cluster* cluster, Body body) {
  if (cluster == nullptr) return Missing("cluster");
  const std::lock_guard lock(cluster->mutex);
  if (cluster->session == nullptr) {
    return absl::FailedPreconditionError("the cluster was closed");
  }
  if (cluster->is_spoilt) {
    return absl::FailedPreconditionError(
        "memory ran out while the cluster was changed; free it and make another");
  }
  return body(*cluster->session);
}

// As WithSession, for a body that changes the cluster.  If memory is exhausted, the cluster may be
// half changed, and further calls fail.
template <typename Body>
absl::Status Changing(ebb_cluster* cluster, Body body) {
  return WithSession(cluster, [&](ebb::Session& session) {
    try {
      return body(session);
    } catch (const std::bad_alloc&) {
      cluster->is_spoilt = true;
      throw;
    }
  });
}

int64_t ClockSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

absl::StatusOr<std::unique_ptr<ebb_cluster>> NewCluster(uint32_t abi_version,
                                                        const ebb_options* given) {
  if (abi_version != EBB_ABI_VERSION) {
    return absl::FailedPreconditionError(
        absl::StrCat("abi_version: the caller was compiled for version ", abi_version,
                     " of ebb.h, and this library has ", EBB_ABI_VERSION));
  }
  auto made = std::make_unique<ebb_cluster>();
  std::string name = "cluster";
  made->options.clock_s = ClockSeconds;
  made->options.host_fills = true;
  if (given != nullptr) {
    if (given->name != nullptr) name = given->name;
    if (given->state_folder != nullptr) made->options.state_folder = given->state_folder;
    if (given->objects_max > 0) made->options.objects_max = given->objects_max;
    if (given->dump_bytes_max > 0) made->options.dump_bytes_max = given->dump_bytes_max;
    made->options.as_given = given->as_given != 0;
  }
  const std::string& folder = made->options.state_folder;
  std::error_code none;
  if (!folder.empty() && !std::filesystem::is_directory(folder, none)) {
    return absl::InvalidArgumentError(
        absl::StrCat("state_folder: ", ebb::Printable(folder), ": is not a folder"));
  }
  if (absl::Status s = ebb::CheckSessionName(name, "name"); !s.ok()) return s;
  made->session = std::make_unique<ebb::Session>(std::move(name), made->options);
  return made;
}

absl::Status Apply(ebb_cluster* cluster, const ebb::ChangeBatch& changes, uint64_t* version) {
  return Changing(cluster, [&](ebb::Session& session) {
    absl::Status taken = session.cluster().Take(changes);
    if (taken.ok() && version != nullptr) *version = session.cluster().version();
    return taken;
  });
}

// --- Plans as structs ----------------------------------------------------------------------

ebb_text TextOf(const std::string& text) { return {text.c_str(), text.size()}; }

ebb_pod_name NameOf(const wire::PodName& pod) {
  return {TextOf(pod.namespace_()), TextOf(pod.name()), TextOf(pod.uid())};
}

// The structs point into the message.
struct OwnedPlan : ebb_plan {
  explicit OwnedPlan(wire::PassPlan plan) : ebb_plan{}, message(std::move(plan)) {
    size_t moves = 0;
    for (const wire::Removal& removal : message.removes()) moves += removal.moves_size();
    all_moves.reserve(moves);  // Keeps pointers into it valid.
    for (const wire::Removal& removal : message.removes()) {
      const ebb_move* const first = all_moves.data() + all_moves.size();
      for (const wire::Move& move : removal.moves()) {
        all_moves.push_back({NameOf(move.pod()), TextOf(move.to())});
      }
      all_removals.push_back({.node = TextOf(removal.node()),
                              .moves = first,
                              .moves_count = static_cast<size_t>(removal.moves_size()),
                              .risky = removal.risky()});
    }
    for (const auto* const nodes : {&message.keeps(), &message.excluded()}) {
      for (const wire::KeptNode& node : *nodes) {
        all_kept.push_back({.node = TextOf(node.node()),
                            .reason = TextOf(node.reason()),
                            .blocking_reason = TextOf(node.blocking_reason()),
                            .pod = NameOf(node.pod()),
                            .pdb = TextOf(node.pdb())});
      }
    }
    termination = TextOf(message.termination());
    removals = all_removals.data();
    removals_count = all_removals.size();
    kept = all_kept.data();
    kept_count = all_kept.size();
  }

  const wire::PassPlan message;
  std::vector<ebb_move> all_moves;
  std::vector<ebb_removal> all_removals;
  std::vector<ebb_kept> all_kept;
};

// --- Calls ---------------------------------------------------------------------------------

// The bytes of an answer: a message, or in JSON a document that is the whole answer.
template <typename Message>
absl::StatusOr<std::string> Answer(const absl::StatusOr<Message>& reply, std::string document,
                                   ebb_encoding encoding) {
  if (!reply.ok()) return reply.status();
  if (encoding == EBB_JSON && !document.empty()) return document;
  return Write(*reply, encoding);
}

// The host's wish to end a call early.  Asked by the thread of the call alone, since a session of
// the library has no other.
class HostsEnd final : public ebb::Deadline {
 public:
  HostsEnd(ebb_ends ends, void* context) : ends_(ends), context_(context) {}
  [[nodiscard]] bool Expired() const override {
    if (!is_over_ && ends_ != nullptr) is_over_ = ends_(context_) != 0;
    return is_over_;
  }

 private:
  const ebb_ends ends_;
  void* const context_;
  mutable bool is_over_ = false;
};

absl::StatusOr<std::string> Plan(ebb::Session& session, ebb_encoding encoding, const void* data,
                                 size_t size, const ebb::Deadline& end) {
  const auto call = Read<wire::PlanCall>(encoding, data, size);
  if (!call.ok()) return call.status();
  const absl::StatusOr<wire::PlanReply> reply = session.questions().Plan(*call, std::nullopt, &end);
  return Answer(reply, reply.ok() ? reply->plan() : "", encoding);
}

absl::StatusOr<std::string> Explain(ebb::Session& session, ebb_encoding encoding, const void* data,
                                    size_t size, const ebb::Deadline& end) {
  const auto call = Read<wire::ExplainCall>(encoding, data, size);
  if (!call.ok()) return call.status();
  const absl::StatusOr<wire::ExplainReply> reply =
      session.questions().Explain(*call, std::nullopt, &end);
  return Answer(reply, reply.ok() ? reply->json() : "", encoding);
}

absl::StatusOr<std::string> Filter(ebb::Session& session, ebb_encoding encoding, const void* data,
                                   size_t size, const ebb::Deadline& end) {
  const auto call = Read<wire::FilterCall>(encoding, data, size);
  if (!call.ok()) return call.status();
  const absl::StatusOr<wire::FilterReply> reply = session.questions().Filter(*call, &end);
  return Answer(reply, reply.ok() ? reply->json() : "", encoding);
}

absl::StatusOr<std::string> Blockers(ebb::Session& session, ebb_encoding encoding, const void* data,
                                     size_t size, const ebb::Deadline& end) {
  const auto call = Read<wire::BlockersCall>(encoding, data, size);
  if (!call.ok()) return call.status();
  const absl::StatusOr<wire::BlockersReply> reply =
      session.questions().Blockers(*call, std::nullopt, &end);
  if (!reply.ok()) return reply.status();
  if (encoding != EBB_JSON) return Write(*reply, encoding);
  nlohmann::ordered_json json = ebb::BlockersJson(ebb::ReadBlockers(*reply));
  ebb::PutComplete(ebb::ReadWarnings(*reply), json);
  return ebb::IndentedJson(json);
}

absl::StatusOr<std::string> Frontier(ebb::Session& session, ebb_encoding encoding, const void* data,
                                     size_t size, const ebb::Deadline& end) {
  const auto call = Read<wire::FrontierCall>(encoding, data, size);
  if (!call.ok()) return call.status();
  const absl::StatusOr<wire::FrontierReply> reply =
      session.questions().Frontier(*call, std::nullopt, &end);
  if (!reply.ok()) return reply.status();
  if (encoding != EBB_JSON) return Write(*reply, encoding);
  const std::optional<std::string> currency =
      reply->has_currency() ? std::optional(reply->currency()) : std::nullopt;
  return ebb::IndentedJson(
      ebb::FrontierJson(ebb::ReadFrontier(*reply), ebb::ReadWarnings(*reply), currency));
}

absl::StatusOr<std::string> WhatIf(ebb::Session& session, ebb_encoding encoding, const void* data,
                                   size_t size, const ebb::Deadline& end) {
  const auto call = Read<wire::WhatIfCall>(encoding, data, size);
  if (!call.ok()) return call.status();
  const absl::StatusOr<wire::WhatIfReply> reply =
      session.questions().WhatIf(*call, std::nullopt, &end);
  if (!reply.ok()) return reply.status();
  if (encoding != EBB_JSON) return Write(*reply, encoding);
  return ebb::IndentedJson(ebb::ComparisonJson(ebb::ReadComparison(reply->differences())));
}

absl::StatusOr<std::string> Pass(ebb::Session& session, ebb_encoding encoding, const void* data,
                                 size_t size) {
  const auto call = Read<wire::PlanInput>(encoding, data, size);
  if (!call.ok()) return call.status();
  return Answer(session.questions().Pass(*call, std::nullopt), "", encoding);
}

absl::StatusOr<std::string> PassTable(ebb::Session& session, ebb_encoding encoding,
                                      const void* data, size_t size) {
  const auto call = Read<wire::PlanInput>(encoding, data, size);
  if (!call.ok()) return call.status();
  return Answer(session.questions().PassTable(*call, std::nullopt), "", encoding);
}

absl::StatusOr<std::string> Round(ebb::Session& session, ebb_encoding encoding, const void* data,
                                  size_t size) {
  const auto call = Read<wire::RoundCall>(encoding, data, size);
  if (!call.ok()) return call.status();
  const absl::StatusOr<wire::RoundReply> reply = session.rounds().Round(*call, std::nullopt);
  return Answer(reply, reply.ok() ? reply->json() : "", encoding);
}

absl::StatusOr<std::string> Report(ebb::Session& session, ebb_encoding encoding, const void* data,
                                   size_t size) {
  const auto report = Read<wire::ActuationReport>(encoding, data, size);
  if (!report.ok()) return report.status();
  return Answer(session.rounds().ReportActuation(*report), "", encoding);
}

absl::StatusOr<std::string> Status(ebb::Session& session, ebb_encoding encoding, const void* data,
                                   size_t size) {
  const auto request = Read<wire::StatusRequest>(encoding, data, size);
  if (!request.ok()) return request.status();
  return Write(session.Status(), encoding);
}

absl::StatusOr<std::string> Export(ebb::Session& session, ebb_encoding encoding, const void* data,
                                   size_t size) {
  const auto call = Read<wire::ExportCall>(encoding, data, size);
  if (!call.ok()) return call.status();
  std::string snapshot;
  absl::Status exported = session.cluster().Export([&](std::string_view part) {
    snapshot += part;
    return absl::OkStatus();
  });
  if (!exported.ok()) return exported;
  return snapshot;
}

absl::StatusOr<std::string> Call(ebb::Session& session, ebb_call call, ebb_encoding encoding,
                                 const void* data, size_t size, const ebb::Deadline& end) {
  switch (call) {
    case EBB_CALL_PLAN:
      return Plan(session, encoding, data, size, end);
    case EBB_CALL_EXPLAIN:
      return Explain(session, encoding, data, size, end);
    case EBB_CALL_FILTER:
      return Filter(session, encoding, data, size, end);
    case EBB_CALL_PASS:
      return Pass(session, encoding, data, size);
    case EBB_CALL_ROUND:
      return Round(session, encoding, data, size);
    case EBB_CALL_REPORT_ACTUATION:
      return Report(session, encoding, data, size);
    case EBB_CALL_STATUS:
      return Status(session, encoding, data, size);
    case EBB_CALL_EXPORT:
      return Export(session, encoding, data, size);
    case EBB_CALL_PASS_TABLE:
      return PassTable(session, encoding, data, size);
    case EBB_CALL_BLOCKERS:
      return Blockers(session, encoding, data, size, end);
    case EBB_CALL_FRONTIER:
      return Frontier(session, encoding, data, size, end);
    case EBB_CALL_WHAT_IF:
      return WhatIf(session, encoding, data, size, end);
    default:
      return absl::InvalidArgumentError(absl::StrCat("call: ", call, " is not a call"));
  }
}

absl::Status Put(ebb::ChangeBatch& changes, ebb_encoding encoding, std::string_view object) {
  if (absl::Status s = CheckEncoding(encoding); !s.ok()) return s;
  return encoding == EBB_JSON ? changes.PutJson(object) : changes.PutProtobuf(object);
}

std::string_view TextOrNone(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

// --- The library ---------------------------------------------------------------------------

uint32_t ebb_abi_version(void) { return EBB_ABI_VERSION; }

const char* ebb_version(void) { return ebb::kVersion.data(); }

ebb_code ebb_error_code(const ebb_error* error) { return error == nullptr ? EBB_OK : error->code; }

const char* ebb_error_message(const ebb_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}

void ebb_error_free(ebb_error* error) { delete error; }

ebb_text ebb_bytes_text(const ebb_bytes* bytes) {
  return bytes == nullptr ? ebb_text{"", 0} : TextOf(bytes->text);
}

void ebb_bytes_free(ebb_bytes* bytes) { delete bytes; }

// --- A cluster -----------------------------------------------------------------------------

ebb_code ebb_cluster_new(uint32_t abi_version, const ebb_options* options, ebb_cluster** cluster,
                         ebb_error** error) {
  return Guarded(error, [&]() -> absl::Status {
    if (cluster == nullptr) return Missing("cluster");
    auto made = NewCluster(abi_version, options);
    if (!made.ok()) return made.status();
    *cluster = made->release();
    return absl::OkStatus();
  });
}

void ebb_cluster_close(ebb_cluster* cluster) {
  if (cluster == nullptr) return;
  const std::lock_guard lock(cluster->mutex);
  cluster->session.reset();
}

void ebb_cluster_free(ebb_cluster* cluster) { delete cluster; }

ebb_code ebb_cluster_allow_incomplete(ebb_cluster* cluster, int allow, ebb_error** error) {
  return Guarded(error, [&] {
    return WithSession(cluster, [&](ebb::Session&) {
      cluster->options.allow_incomplete = allow != 0;
      return absl::OkStatus();
    });
  });
}

ebb_code ebb_cluster_set_settings(ebb_cluster* cluster, ebb_encoding encoding, const void* settings,
                                  size_t size, ebb_error** error) {
  return Guarded(error, [&] {
    return WithSession(cluster, [&](ebb::Session& session) -> absl::Status {
      const auto read = Read<wire::Settings>(encoding, settings, size);
      if (!read.ok()) return read.status();
      return session.cluster().SetSettings(*read);
    });
  });
}

// --- Changes -------------------------------------------------------------------------------

ebb_code ebb_cluster_load(ebb_cluster* cluster, const void* dump, size_t size, ebb_error** error) {
  return Guarded(error, [&] {
    return Changing(cluster, [&](ebb::Session& session) -> absl::Status {
      const absl::StatusOr<std::string_view> bytes = BytesOf("dump", dump, size);
      if (!bytes.ok()) return bytes.status();
      return session.cluster().Load(*bytes, nullptr).status();
    });
  });
}

ebb_batch* ebb_batch_new(void) {
  ebb_batch* batch = nullptr;
  Guarded(nullptr, [&] {
    batch = new ebb_batch;
    return absl::OkStatus();
  });
  return batch;
}

void ebb_batch_free(ebb_batch* batch) { delete batch; }

void ebb_batch_clear(ebb_batch* batch) {
  if (batch != nullptr) batch->changes.Clear();
}

size_t ebb_batch_size(const ebb_batch* batch) {
  return batch == nullptr ? 0 : batch->changes.changes().size();
}

ebb_code ebb_batch_put(ebb_batch* batch, ebb_encoding encoding, const void* object, size_t size,
                       ebb_error** error) {
  return Guarded(error, [&]() -> absl::Status {
    if (batch == nullptr) return Missing("batch");
    const absl::StatusOr<std::string_view> bytes = BytesOf("object", object, size);
    if (!bytes.ok()) return bytes.status();
    return Put(batch->changes, encoding, *bytes);
  });
}

ebb_code ebb_batch_put_many(ebb_batch* batch, ebb_encoding encoding, const void* objects,
                            size_t size, const ebb_range* ranges, size_t count, size_t* taken,
                            ebb_error** error) {
  if (taken != nullptr) *taken = 0;
  return Guarded(error, [&]() -> absl::Status {
    if (batch == nullptr) return Missing("batch");
    if (ranges == nullptr && count > 0) return Missing("ranges");
    const absl::StatusOr<std::string_view> bytes = BytesOf("objects", objects, size);
    if (!bytes.ok()) return bytes.status();
    for (size_t i = 0; i < count; ++i) {
      const auto [begin, end] = ranges[i];
      if (begin > end || end > size) {
        return absl::InvalidArgumentError(absl::StrCat("ranges[", i, "]: ", begin, " to ", end,
                                                       " is not in objects, of ", size, " bytes"));
      }
      absl::Status put = Put(batch->changes, encoding, bytes->substr(begin, end - begin));
      if (!put.ok()) return put;
      if (taken != nullptr) ++*taken;
    }
    return absl::OkStatus();
  });
}

ebb_code ebb_batch_delete(ebb_batch* batch, const char* kind, const char* namespace_name,
                          const char* name, const char* uid, ebb_error** error) {
  return Guarded(error, [&]() -> absl::Status {
    if (batch == nullptr) return Missing("batch");
    // Uses a message, so that its checks apply.
    google::protobuf::RepeatedPtrField<wire::Change> changes;
    wire::Deletion* const deletion = changes.Add()->mutable_delete_();
    deletion->set_kind(std::string(TextOrNone(kind)));
    deletion->set_namespace_(std::string(TextOrNone(namespace_name)));
    deletion->set_name(std::string(TextOrNone(name)));
    deletion->set_uid(std::string(TextOrNone(uid)));
    return ebb::PutChanges(changes, batch->changes);
  });
}

ebb_code ebb_cluster_apply(ebb_cluster* cluster, const ebb_batch* batch, uint64_t* version,
                           ebb_error** error) {
  return Guarded(error, [&]() -> absl::Status {
    if (batch == nullptr) return Missing("batch");
    return Apply(cluster, batch->changes, version);
  });
}

ebb_code ebb_cluster_apply_message(ebb_cluster* cluster, ebb_encoding encoding, const void* request,
                                   size_t size, uint64_t* version, ebb_error** error) {
  return Guarded(error, [&]() -> absl::Status {
    const auto read = Read<wire::ApplyRequest>(encoding, request, size);
    if (!read.ok()) return read.status();
    ebb::ChangeBatch changes;
    if (absl::Status s = ebb::PutChanges(read->changes(), changes); !s.ok()) return s;
    return Apply(cluster, changes, version);
  });
}

// --- Answers -------------------------------------------------------------------------------

namespace {

absl::Status CheckMayBeCarriedOut(const wire::PlanReply& reply, bool allow_incomplete) {
  std::vector<ebb::InputWarning> missing;
  for (const wire::Warning& each : reply.missing()) {
    missing.push_back({.code = each.code(),
                       .message = each.message(),
                       .command = each.command(),
                       .lack = ebb::Lack::kKinds,
                       .advice = each.advice()});
  }
  const absl::Status checked = ebb::CheckMayBeCarriedOut(missing, allow_incomplete);
  return checked.ok() ? checked : absl::FailedPreconditionError(checked.message());
}

}  // namespace

ebb_code ebb_cluster_plan(ebb_cluster* cluster, ebb_encoding encoding, const void* request,
                          size_t size, ebb_plan** plan, ebb_error** error) {
  return Guarded(error, [&] {
    return WithSession(cluster, [&](ebb::Session& session) -> absl::Status {
      if (plan == nullptr) return Missing("plan");
      auto call = Read<wire::PlanCall>(encoding, request, size);
      if (!call.ok()) return call.status();
      call->set_form(wire::AS_DATA);
      absl::StatusOr<wire::PlanReply> reply = session.questions().Plan(*call, std::nullopt);
      if (!reply.ok()) return reply.status();
      // The structs have no field for an incomplete cluster.
      const bool allowed = call->input().allow_incomplete() || cluster->options.allow_incomplete;
      if (absl::Status s = CheckMayBeCarriedOut(*reply, allowed); !s.ok()) return s;
      *plan = new OwnedPlan(std::move(*reply->mutable_data()));
      return absl::OkStatus();
    });
  });
}

ebb_code ebb_cluster_pass(ebb_cluster* cluster, ebb_encoding encoding, const void* request,
                          size_t size, ebb_plan** plan, ebb_error** error) {
  return Guarded(error, [&] {
    return WithSession(cluster, [&](ebb::Session& session) -> absl::Status {
      if (plan == nullptr) return Missing("plan");
      const auto call = Read<wire::PlanInput>(encoding, request, size);
      if (!call.ok()) return call.status();
      absl::StatusOr<wire::PassReply> reply = session.questions().Pass(*call, std::nullopt);
      if (!reply.ok()) return reply.status();
      *plan = new OwnedPlan(std::move(*reply->mutable_plan()));
      return absl::OkStatus();
    });
  });
}

void ebb_plan_free(ebb_plan* plan) { delete static_cast<OwnedPlan*>(plan); }

ebb_code ebb_cluster_call(ebb_cluster* cluster, ebb_call call, ebb_encoding encoding,
                          const void* request, size_t size, ebb_bytes** reply, ebb_error** error) {
  return ebb_cluster_call_until(cluster, call, encoding, request, size, nullptr, nullptr, reply,
                                error);
}

ebb_code ebb_cluster_call_until(ebb_cluster* cluster, ebb_call call, ebb_encoding encoding,
                                const void* request, size_t size, ebb_ends ends, void* context,
                                ebb_bytes** reply, ebb_error** error) {
  return Guarded(error, [&] {
    return WithSession(cluster, [&](ebb::Session& session) -> absl::Status {
      if (reply == nullptr) return Missing("reply");
      const HostsEnd end(ends, context);
      absl::StatusOr<std::string> text = Call(session, call, encoding, request, size, end);
      if (!text.ok()) return text.status();
      *reply = new ebb_bytes{*std::move(text)};
      return absl::OkStatus();
    });
  });
}

// --- Tables --------------------------------------------------------------------------------

namespace {

absl::StatusOr<ebb::ColumnTable> ClusterTable(ebb::SessionCluster& cluster, std::string_view name,
                                              const wire::PlanInput& input) {
  std::optional<ebb::SessionSettings> parsed;
  const absl::StatusOr<const ebb::SessionSettings*> settings = cluster.SettingsOf(input, parsed);
  if (!settings.ok()) return settings.status();
  const absl::StatusOr<ebb::LoadedCluster> checked =
      cluster.Checked(input.allow_incomplete(), ebb::SessionCluster::Use::kShown);
  if (!checked.ok()) return checked.status();
  return ebb::ClusterTableOf(name, *checked,
                             ebb::AssignGroups(checked->snapshot.catalog(), (*settings)->groups));
}

// Writes the table to the host's stream.
absl::Status Export(absl::StatusOr<ebb::ColumnTable> table, ArrowArrayStream* out) {
  if (!table.ok()) return table.status();
  if (out == nullptr) return Missing("out");
  return (*std::move(table)).Export(*out);
}

absl::Status NewBytes(absl::StatusOr<std::string> text, const char* field, ebb_bytes** bytes) {
  if (!text.ok()) return text.status();
  if (bytes == nullptr) return Missing(field);
  *bytes = new ebb_bytes{*std::move(text)};
  return absl::OkStatus();
}

}  // namespace

ebb_code ebb_cluster_table(ebb_cluster* cluster, const char* table, ebb_encoding encoding,
                           const void* request, size_t size, ArrowArrayStream* out,
                           ebb_error** error) {
  return Guarded(error, [&] {
    return WithSession(cluster, [&](ebb::Session& session) -> absl::Status {
      const auto input = Read<wire::PlanInput>(encoding, request, size);
      if (!input.ok()) return input.status();
      return Export(ClusterTable(session.cluster(), TextOrNone(table), *input), out);
    });
  });
}

ebb_code ebb_answer_table(const char* table, const void* answer, size_t size, ArrowArrayStream* out,
                          ebb_error** error) {
  return Guarded(error, [&]() -> absl::Status {
    const absl::StatusOr<std::string_view> json = BytesOf("answer", answer, size);
    if (!json.ok()) return json.status();
    return Export(ebb::AnswerTable(TextOrNone(table), *json), out);
  });
}

// --- Without a cluster -----------------------------------------------------------------------

namespace {

absl::StatusOr<nlohmann::ordered_json> ReadPlan(const char* field, const void* data, size_t size) {
  const absl::StatusOr<std::string_view> bytes = BytesOf(field, data, size);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<nlohmann::ordered_json> json = ebb::ParseJson(*bytes);
  if (!json.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", json.status().message()));
  }
  return json;
}

absl::StatusOr<std::string> Compare(const void* before, size_t before_size, const void* after,
                                    size_t after_size) {
  const auto a = ReadPlan("before", before, before_size);
  if (!a.ok()) return a.status();
  const auto b = ReadPlan("after", after, after_size);
  if (!b.ok()) return b.status();
  const absl::StatusOr<ebb::PlanComparison> comparison = ebb::ComparePlans(*a, *b);
  if (!comparison.ok()) return comparison.status();
  return ebb::IndentedJson(ebb::ComparisonJson(*comparison));
}

absl::StatusOr<std::string> Generate(std::string_view kind, uint32_t nodes, uint64_t seed) {
  constexpr uint32_t kNodesMax = 1'000'000;  // As for `ebb gen`.
  const auto kinds = ebb::samples::Kinds();
  const auto found = std::ranges::find(kinds, kind, &ebb::samples::Kind::name);
  if (found == kinds.end()) {
    std::string names;
    for (const ebb::samples::Kind& each : kinds) {
      absl::StrAppend(&names, names.empty() ? "" : ", ", Absl(each.name));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("kind: \"", ebb::Printable(kind), "\" is not one of ", names));
  }
  if (nodes < 1 || nodes > kNodesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("nodes: ", nodes, " is not from 1 to ", kNodesMax));
  }
  std::string snapshot;
  ebb::BinarySnapshotWriter writer([&](std::string_view bytes) {
    snapshot += bytes;
    return absl::OkStatus();
  });
  absl::Status made = ebb::samples::GenerateDump(*found, {.nodes = nodes, .seed = seed}, writer);
  if (made.ok()) made = writer.Finish();
  if (!made.ok()) return made;
  return snapshot;
}

std::string_view TextOf(ebb::OptionKind kind) {
  using enum ebb::OptionKind;
  switch (kind) {
    case kSwitch:
      return "switch";
    case kWholeNumber:
    case kMinimum:
      return "number";
    case kSeconds:
      return "seconds";
    case kFraction:
      return "fraction";
    case kPercent:
      return "percent";
    case kChoice:
      return "word";
    case kText:
      return "text";
    case kFile:
      return "file";
    case kNames:
    case kKeys:
      return "list";
  }
  return "";
}

std::string_view TextOf(ebb::OptionAbout about) {
  using enum ebb::OptionAbout;
  return about == kLoading ? "loading" : about == kRounds ? "rounds" : "plans";
}

std::string OptionTable() {
  ebb::RoundOptions options;
  const nlohmann::ordered_json defaults = ebb::OptionsJson(options);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ebb::OptionField& field : ebb::FieldsOf(options)) {
    if (field.path.empty()) continue;  // Only the command line has it.
    nlohmann::ordered_json row = {{"option", field.path}};
    if (!field.row.flag.name.empty()) row["flag"] = field.row.flag.name;
    if (!field.row.old.name.empty()) row["oldFlag"] = field.row.old.name;
    row["kind"] = TextOf(field.kind);
    if (const auto* choice = std::get_if<ebb::OptionChoice>(&field.value)) {
      row["words"] = choice->words;
    }
    const std::string pointer = absl::StrCat("/", absl::StrReplaceAll(field.path, {{".", "/"}}));
    row["default"] = defaults.at(nlohmann::ordered_json::json_pointer(pointer));
    row["about"] = TextOf(field.row.about);
    rows.push_back(std::move(row));
  }
  return ebb::CompactJson(rows);
}

}  // namespace

ebb_code ebb_compare(const void* before, size_t before_size, const void* after, size_t after_size,
                     ebb_bytes** comparison, ebb_error** error) {
  return Guarded(error, [&] {
    return NewBytes(Compare(before, before_size, after, after_size), "comparison", comparison);
  });
}

ebb_code ebb_generate(const char* kind, uint32_t nodes, uint64_t seed, ebb_bytes** snapshot,
                      ebb_error** error) {
  return Guarded(error, [&] {
    return NewBytes(Generate(TextOrNone(kind), nodes, seed), "snapshot", snapshot);
  });
}

ebb_code ebb_option_table(ebb_bytes** table, ebb_error** error) {
  return Guarded(error, [&] { return NewBytes(OptionTable(), "table", table); });
}
