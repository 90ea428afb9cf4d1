#include "daemon/planner_service.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_buffer_reader.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/time_range.h"
#include "base/version.h"
#include "daemon/message_parts.h"
#include "platform/clock.h"
#include "report/plan_json.h"
#include "session/wire_changes.h"
#include "wire/planner.grpc.pb.h"

namespace ebb {
namespace {

// A status is sent in HTTP headers, whose size is limited.
constexpr size_t kMessageBytesMax = 2000;

// How many batches of a stream may be parsed and waiting, or being applied: two, and more while
// they are small.
constexpr size_t kBatchesAhead = 2;
constexpr size_t kSmallBatchesAhead = 16;
constexpr size_t kSmallBatchesBytes = size_t{4} << 20;  // All of them.

constexpr size_t kExportPartBytes = size_t{1} << 20;

constexpr uint32_t kPlanIntervalMs = 1000;

constexpr uint32_t kProtocol = 1;  // VersionReply.protocol.

std::string Cut(std::string text) {
  if (text.size() <= kMessageBytesMax) return text;
  size_t size = kMessageBytesMax;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return text.substr(0, size) + "...";
}

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()),
          Cut(PrintableLine(std::string_view(status.message().data(), status.message().size())))};
}

// The deadline of a call.
std::optional<Clock::time_point> EndOf(const grpc::CallbackServerContext& context) {
  const auto deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return std::nullopt;
  const auto left = deadline - std::chrono::system_clock::now();
  // No client waits longer than the steady clock can represent.
  if (left > std::chrono::hours(24 * 365)) return std::nullopt;
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(left);
}

// The memory needs of larger messages are checked before parsing.
constexpr size_t kLargeMessageBytes = size_t{1} << 20;

// Parses a client's message, if it does not need more memory than a message may. gRPC's own parsing
// has no such limit, and answers bytes that are not a message with UNIMPLEMENTED and no text.
template <typename Message>
absl::Status ReadMessage(const grpc::ByteBuffer& bytes, const SessionOptions& options,
                         Message& message) {
  if (bytes.Length() > kLargeMessageBytes) {
    if (absl::Status s = CheckMemory(options); !s.ok()) return s;
  }
  auto& buffer = const_cast<grpc::ByteBuffer&>(bytes);  // The buffer is only read.
  grpc::ProtoBufferReader parts(&buffer);
  if (absl::Status s = CheckMessageParts(*Message::descriptor(), parts); !s.ok()) return s;
  grpc::ProtoBufferReader reader(&buffer);
  message.Clear();
  if (message.ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "message: it is not one of this call, or a text in it is not UTF-8");
}

// Counts the running calls.  A call runs until the last byte of its answer was passed to its
// connection.
class CallCount {
 public:
  void Begin() {
    const std::lock_guard lock(mutex_);
    ++calls_;
  }
  void End() {
    const std::lock_guard lock(mutex_);
    if (--calls_ == 0) none_.notify_all();
  }
  void WaitForNone(Clock::time_point end) {
    std::unique_lock lock(mutex_);
    none_.wait_until(lock, end, [this] { return calls_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  size_t calls_ = 0;
};

// Where all calls are reported and counted.
struct CallRecords {
  std::function<void(const EndedCall&)> on_call;
  CallCount count;
};

// Reports a call when it ends, and counts it during the lifetime of this object.
class RecordedCall {
 public:
  RecordedCall(std::string call, const std::string& session, CallRecords& calls) : calls_(&calls) {
    calls.count.Begin();
    ended_.call = std::move(call);
    ended_.session = session;
  }
  RecordedCall(RecordedCall&& other) noexcept
      : calls_(std::exchange(other.calls_, nullptr)),
        start_(other.start_),
        ended_(std::move(other.ended_)) {}
  RecordedCall& operator=(RecordedCall&&) = delete;
  ~RecordedCall() {
    if (calls_ != nullptr) calls_->count.End();
  }
  void SetSession(std::string_view session) { ended_.session = session; }
  void CountMessage() { ++ended_.messages; }
  void End(const absl::Status& status) {
    if (calls_->on_call == nullptr) return;
    ended_.status = status;
    ended_.seconds = SecondsSince(start_);
    calls_->on_call(ended_);
  }

 private:
  CallRecords* calls_;  // Null: moved from.
  const Clock::time_point start_ = Clock::now();
  EndedCall ended_;
};

// Expires when the client no longer waits for the answer.
class CallCancelled final : public Deadline {
 public:
  explicit CallCancelled(const grpc::CallbackServerContext& context) : context_(context) {}
  [[nodiscard]] bool Expired() const override { return context_.IsCancelled(); }

 private:
  const grpc::CallbackServerContext& context_;
};

// A call with one answer.
template <typename Reply>
class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  UnaryCall(grpc::CallbackServerContext* context, Reply* reply, RecordedCall told)
      : context_(context), reply_(reply), told_(std::move(told)) {}

  // Keeps `request` alive as long as the call.
  void Keep(std::shared_ptr<const void> request) { request_ = std::move(request); }

  // Answers with the result of `answer`, which runs on the session's thread.
  void On(absl::StatusOr<std::shared_ptr<SessionThread>> thread, uint64_t min_version,
          std::function<absl::StatusOr<Reply>(Session&, std::optional<Clock::time_point>)> answer,
          SessionCall::Kind kind = SessionCall::Kind::kInTurn) {
    if (!thread.ok()) return End(thread.status());
    thread_ = *std::move(thread);
    // This reactor lives until the call has ended; the session may be closed earlier.
    const std::shared_ptr<SessionThread> keep = thread_;
    keep->Post(
        {.run = [this, answer = std::move(answer)](Session& session) -> SessionCall::Respond {
           auto result = std::make_shared<absl::StatusOr<Reply>>(answer(session, EndOf(*context_)));
           return [this, result] { End(std::move(*result)); };
         },
         .refuse = [this](const absl::Status& why) { End(why); },
         .cancelled = [this] { return context_->IsCancelled(); },
         .min_version = min_version,
         .kind = kind});
  }

  // The same of a question, which is to end soon after `ends` has expired: its client has gone, or
  // its session was closed.
  using Question = std::function<absl::StatusOr<Reply>(Session&, std::optional<Clock::time_point>,
                                                       const Deadline& ends)>;
  void Ask(absl::StatusOr<std::shared_ptr<SessionThread>> thread, uint64_t min_version,
           Question question) {
    if (!thread.ok()) return End(thread.status());
    const Deadline& closing = (*thread)->closing();  // thread_ keeps it.
    On(
        std::move(thread), min_version,
        [this, &closing, question = std::move(question)](Session& session, auto end) {
          const CallCancelled cancelled(*context_);
          const FirstDeadline ends(&cancelled, &closing);
          return question(session, end, ends);
        },
        SessionCall::Kind::kQuestion);
  }

  void End(absl::StatusOr<Reply> answer) {
    const absl::Status status = answer.status();
    if (answer.ok()) *reply_ = *std::move(answer);
    told_.End(status);
    Finish(ToGrpc(status));
  }

  void OnCancel() override {
    if (thread_ != nullptr) thread_->Wake();
  }
  void OnDone() override { delete this; }

 private:
  grpc::CallbackServerContext* const context_;
  Reply* const reply_;
  RecordedCall told_;
  std::shared_ptr<const void> request_;
  std::shared_ptr<SessionThread> thread_;
};

// The stream of a call whose request could not be read.
template <typename Reply>
class RefusedStream final : public grpc::ServerWriteReactor<Reply> {
 public:
  RefusedStream(const absl::Status& why, RecordedCall told) : told_(std::move(told)) {
    told_.End(why);
    this->Finish(ToGrpc(why));
  }
  void OnDone() override { delete this; }

 private:
  RecordedCall told_;
};

// A stream that does not end by itself.
class EndlessStream {
 public:
  virtual ~EndlessStream() = default;
  virtual void EndSoon() = 0;
};

class EndlessStreams {
 public:
  void Add(EndlessStream* stream) {
    const std::lock_guard lock(mutex_);
    streams_.insert(stream);
    if (ended_) stream->EndSoon();
  }
  void Remove(EndlessStream* stream) {
    const std::lock_guard lock(mutex_);
    streams_.erase(stream);
  }
  void EndAll() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    for (EndlessStream* const stream : streams_) stream->EndSoon();
  }

 private:
  std::mutex mutex_;
  bool ended_ = false;
  std::set<EndlessStream*> streams_;
};

// Load: collects the parts of a dump.
class LoadCall final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  LoadCall(wire::LoadReply* reply, Sessions& sessions, const SessionOptions& options,
           RecordedCall told)
      : reply_(reply), sessions_(sessions), options_(options), told_(std::move(told)) {
    StartRead(&bytes_);
  }

  void OnReadDone(bool ok) override {
    // The client has either sent everything or gone.  Starting the answer shows which of the two it
    // is.  This matters, because half a dump may look like a whole one.
    if (!ok) return StartSendInitialMetadata();
    told_.CountMessage();
    if (absl::Status s = ReadMessage(bytes_, options_, part_); !s.ok()) return End(s);
    if (!began_) {
      began_ = true;
      session_ = part_.session();
      told_.SetSession(Sessions::NameOf(session_));
      if (part_.has_settings()) settings_ = std::move(*part_.mutable_settings());
      cluster_uid_ = part_.cluster_uid();
      const auto there = sessions_.Find(session_);
      if (there.ok()) batches_at_first_ = (*there)->Batches();
    } else if (!part_.session().empty() &&
               Sessions::NameOf(part_.session()) != Sessions::NameOf(session_)) {
      return End(absl::InvalidArgumentError("session: a dump is about one session"));
    }
    if (dump_.size() + part_.dump().size() > options_.dump_bytes_max) {
      return End(absl::ResourceExhaustedError(absl::StrCat(
          "dump: has more than ", options_.dump_bytes_max, " bytes; --max-dump allows no more")));
    }
    if (absl::Status s = CheckMemory(options_); !s.ok()) return End(s);
    dump_ += part_.dump();
    StartRead(&bytes_);
  }
  void OnSendInitialMetadataDone(bool ok) override {
    ok ? TakeDump() : End(absl::CancelledError("the client has gone"));
  }
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override { delete this; }

 private:
  void TakeDump() {
    if (!began_) return End(absl::InvalidArgumentError("dump: no message came"));
    auto thread = sessions_.FindOrMake(session_);
    if (!thread.ok()) return End(thread.status());
    const std::shared_ptr<SessionThread> keep = *std::move(thread);
    keep->Post({.run = [this](Session& session) -> SessionCall::Respond {
                  // A change that was applied while the dump was being sent is not in the dump.
                  if (session.cluster().batches() != batches_at_first_) {
                    return [this] {
                      End(absl::AbortedError(
                          "the cluster changed while the dump was sent; nothing was loaded"));
                    };
                  }
                  auto loaded = session.cluster().Load(dump_, settings_ ? &*settings_ : nullptr,
                                                       cluster_uid_);
                  if (loaded.ok()) *reply_ = *loaded;
                  return [this, status = loaded.status()] { End(status); };
                },
                .refuse = [this](const absl::Status& why) { End(why); },
                .cancelled = [this] { return cancelled_.load(); }});
  }
  void End(const absl::Status& status) {
    if (ended_.exchange(true)) return;
    told_.End(status);
    Finish(ToGrpc(status));
  }

  wire::LoadReply* const reply_;
  Sessions& sessions_;
  const SessionOptions& options_;
  RecordedCall told_;
  grpc::ByteBuffer bytes_;
  wire::LoadRequest part_;  // The parsed bytes_.
  bool began_ = false;
  std::atomic<bool> cancelled_ = false;
  std::atomic<bool> ended_ = false;
  std::string session_;
  uint64_t batches_at_first_ = 0;  // The session's batches() when the first part came.
  std::optional<wire::Settings> settings_;
  std::string cluster_uid_;
  std::string dump_;
};

// A copy of a message without its changes, which are many.
wire::SyncRequest WithoutChanges(const wire::SyncRequest& request) {
  wire::SyncRequest message;
  message.set_resync_begins(request.resync_begins());
  message.set_resync_ends(request.resync_ends());
  message.set_cluster_uid(request.cluster_uid());
  message.set_whole(request.whole());
  message.set_kubernetes_version(request.kubernetes_version());
  message.set_cluster_token(request.cluster_token());
  if (request.has_broken_watches()) *message.mutable_broken_watches() = request.broken_watches();
  return message;
}

absl::Status CheckBrokenWatches(const wire::BrokenWatches& broken) {
  constexpr int kWatchesMax = 1000;
  if (broken.watches_size() > kWatchesMax) {
    return absl::InvalidArgumentError(absl::StrCat("broken_watches: has more than ", kWatchesMax));
  }
  for (int i = 0; i < broken.watches_size(); ++i) {
    if (broken.watches(i).kind().empty() || !IsTime(broken.watches(i).since())) {
      return absl::InvalidArgumentError(
          absl::StrCat("broken_watches[", i, "]: needs a kind, and a time of the years 1 to 9999"));
    }
  }
  return absl::OkStatus();
}

// Sync: reads a batch, posts it, and reads the next one while the session applies the first.
class SyncCall final : public grpc::ServerBidiReactor<grpc::ByteBuffer, wire::SyncReply>,
                       public EndlessStream {
 public:
  SyncCall(Sessions& sessions, EndlessStreams& streams, const SessionOptions& options,
           RecordedCall told)
      : sessions_(sessions), streams_(streams), options_(options), told_(std::move(told)) {
    streams_.Add(this);
    StartRead(&bytes_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      const std::lock_guard lock(mutex_);
      reading_ = false;
      input_ended_ = true;
      return EndIfDone();
    }
    told_.CountMessage();
    std::unique_ptr<ChangeBatch> batch = FreeBatch();
    absl::Status read = ReadMessage(bytes_, options_, request_);
    if (read.ok()) read = Begin();
    if (read.ok()) read = CheckBrokenWatches(request_.broken_watches());
    if (read.ok()) read = PutChanges(request_.changes(), *batch);
    if (!read.ok()) return Fail(read);
    const auto message = std::make_shared<const wire::SyncRequest>(WithoutChanges(request_));
    // Until this batch is posted, the stream counts as reading.  Otherwise the completion of an
    // earlier batch could start reading the next one, which would overwrite request_ and might be
    // posted first.
    {
      const std::lock_guard lock(mutex_);
      // If the stream has ended meanwhile, nothing may refer to this call any more.
      if (ended_) return;
      ++at_work_;
      bytes_at_work_ += bytes_.Length();
    }
    auto shared = std::shared_ptr<ChangeBatch>(std::move(batch));
    thread_->Post({.run = [this, shared, message,
                           bytes = bytes_.Length()](Session& session) -> SessionCall::Respond {
                     const std::optional<wire::SyncReply> reply =
                         Take(session.cluster(), *shared, *message);
                     return [this, reply, bytes] { SendReply(reply, bytes); };
                   },
                   .refuse =
                       [this, bytes = bytes_.Length()](const absl::Status& why) {
                         const std::lock_guard lock(mutex_);
                         --at_work_;
                         bytes_at_work_ -= bytes;
                         if (failed_.ok()) failed_ = why;
                         EndIfDone();
                       },
                   .cancelled = nullptr,
                   .kind = SessionCall::Kind::kChange});
    const std::lock_guard lock(mutex_);
    reading_ = false;
    ReadOn();
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok && failed_.ok()) failed_ = absl::CancelledError("the client has gone");
    if (!replies_.empty()) replies_.pop_front();
    if (!ok) replies_.clear();
    WriteOn();
    ReadOn();
    EndIfDone();
  }

  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    if (failed_.ok()) failed_ = absl::CancelledError("the client has gone");
    EndIfDone();
  }
  void EndSoon() override {
    const std::lock_guard lock(mutex_);
    takes_no_more_ = true;
    if (failed_.ok()) failed_ = absl::UnavailableError("the daemon ends");
    EndIfDone();
  }
  void OnDone() override {
    streams_.Remove(this);
    mutex_.lock();  // The thread that ended the call may still hold the lock.
    mutex_.unlock();
    delete this;
  }

 private:
  // The limit of replies that wait for a client that does not read them.
  static constexpr size_t kRepliesMax = 64;

  // Finds the session from the first message.
  absl::Status Begin() {
    if (thread_ != nullptr) {
      if (request_.session().empty() || Sessions::NameOf(request_.session()) == thread_->name()) {
        return absl::OkStatus();
      }
      return absl::InvalidArgumentError("session: a stream is about one session");
    }
    // A token is of a session that exists.
    auto thread = request_.cluster_token().empty() ? sessions_.FindOrMake(request_.session())
                                                   : sessions_.Find(request_.session());
    if (!thread.ok()) return thread.status();
    told_.SetSession((*thread)->name());
    const std::lock_guard lock(mutex_);
    thread_ = *std::move(thread);
    return absl::OkStatus();
  }

  std::unique_ptr<ChangeBatch> FreeBatch() {
    return std::make_unique<ChangeBatch>(options_.object_bytes_max);
  }

  void Fail(const absl::Status& why) {
    const std::lock_guard lock(mutex_);
    reading_ = false;
    input_ended_ = true;
    if (failed_after_.ok()) failed_after_ = why;
    EndIfDone();
  }

  // On the session's thread.  What a client sent before it went is taken: it is what it saw.
  // Absent: the batch is not taken.
  std::optional<wire::SyncReply> Take(SessionCluster& cluster, const ChangeBatch& batch,
                                      const wire::SyncRequest& message) {
    bool takes_no_more = false;
    {
      const std::lock_guard lock(mutex_);
      takes_no_more = takes_no_more_;
      if (unread_since_s_) cluster.NoteUnread(*unread_since_s_);
    }
    std::optional<wire::SyncReply> reply;
    if (!takes_no_more) reply = TakeOrFail(cluster, batch, message);
    LeaveAfterLast(cluster);
    return reply;
  }

  // On the session's thread.
  std::optional<wire::SyncReply> TakeOrFail(SessionCluster& cluster, const ChangeBatch& batch,
                                            const wire::SyncRequest& message) {
    wire::SyncReply reply;
    const absl::Status taken = TakeMessage(cluster, batch, message, reply);
    if (!taken.ok()) {
      const std::lock_guard lock(mutex_);
      takes_no_more_ = true;
      if (failed_.ok()) failed_ = taken;
      return std::nullopt;
    }
    cluster.SetServerVersion(message.kubernetes_version());
    if (message.has_broken_watches()) broken_ = message.broken_watches();
    if (feeder_ && (message.has_broken_watches() || message.resync_ends())) {
      cluster.SetBrokenWatches(*feeder_, broken_);
    }
    reply.set_version(cluster.version());
    reply.set_cluster_token(cluster.Token());
    return reply;
  }

  // On the session's thread, with a batch.  The next question may begin before the call that
  // Leave() posts.
  void LeaveAfterLast(SessionCluster& cluster) {
    {
      const std::lock_guard lock(mutex_);
      if (failed_.ok() || reading_ || at_work_ > 1) return;
    }
    LeaveCluster(cluster, std::exchange(resync_, {}), std::exchange(feeder_, {}));
  }
  static void LeaveCluster(SessionCluster& cluster, std::optional<uint64_t> resync,
                           std::optional<uint64_t> feeder) {
    if (resync) cluster.DropResync(*resync);
    if (feeder) cluster.EndFeed(*feeder);
  }

  // On the session's thread.
  absl::Status TakeMessage(SessionCluster& cluster, const ChangeBatch& batch,
                           const wire::SyncRequest& message, wire::SyncReply& reply) {
    absl::Status taken = cluster.CheckToken(message.cluster_token());
    if (!taken.ok()) return taken;
    // A message of another cluster is rejected as a whole.
    taken = cluster.CheckCluster(message.cluster_uid(), batch);
    if (!taken.ok()) return taken;
    // A UID in an earlier message was checked when that message came.
    if (named_cluster_.empty()) named_cluster_ = message.cluster_uid();
    if (message.resync_begins()) {
      taken = cluster.CheckNamesCluster(named_cluster_, batch, feeder_);
      if (!taken.ok()) return taken;
      if (resync_) cluster.DropResync(*resync_);
      resync_ = cluster.BeginResync();
    }
    if (message.resync_ends() && !resync_) {
      return absl::InvalidArgumentError("resync_ends: no resync has begun in this stream");
    }
    const bool resync_is_over = resync_ && !cluster.InResync(*resync_);
    if (message.resync_ends() && resync_is_over) {
      return absl::AbortedError("resync_ends: the cluster was loaded again since it began");
    }
    // During a resync, objects replace newer versions that the session holds: they are the current
    // state.
    taken = cluster.Take(batch, resync_is_over ? std::nullopt : resync_);
    if (!taken.ok()) return taken;
    cluster.KeepToCluster(message.cluster_uid(), feeder_);
    if (message.resync_ends()) {
      const absl::StatusOr<uint64_t> deleted = cluster.EndResync(*resync_, feeder_);
      resync_.reset();
      if (!deleted.ok()) return deleted.status();
      reply.set_deleted_by_resync(*deleted);
    }
    if (message.whole()) {
      taken = cluster.SayWhole(resync_);
      if (!taken.ok()) return taken;
    }
    if (!feeder_ && (message.resync_ends() || message.whole())) feeder_ = cluster.BeginFeed();
    return absl::OkStatus();
  }

  // A batch is finished.
  void SendReply(std::optional<wire::SyncReply> reply, size_t bytes) {
    const std::lock_guard lock(mutex_);
    --at_work_;
    bytes_at_work_ -= bytes;
    if (reply && failed_.ok()) replies_.push_back(*std::move(reply));
    WriteOn();
    ReadOn();
    EndIfDone();
  }

  // REQUIRES, for the next four functions: the lock is held.
  void ReadOn() {
    if (reading_ || input_ended_ || !failed_.ok()) return;
    const bool small = at_work_ < kSmallBatchesAhead && bytes_at_work_ < kSmallBatchesBytes;
    if ((at_work_ >= kBatchesAhead && !small) || replies_.size() >= kRepliesMax) {
      if (!unread_since_s_) unread_since_s_ = thread_->ClockS();
      return;
    }
    unread_since_s_.reset();
    reading_ = true;
    StartRead(&bytes_);
  }
  void WriteOn() {
    if (writing_ || replies_.empty() || ended_) return;
    writing_ = true;
    StartWrite(&replies_.front());
  }
  void EndIfDone() {
    if (ended_ || at_work_ > 0 || writing_) return;
    const bool failed = !failed_.ok();
    if (!failed && (!input_ended_ || !replies_.empty())) return;
    ended_ = true;
    Leave();
    const absl::Status status = failed ? failed_ : failed_after_;
    told_.End(status);
    Finish(ToGrpc(status));
  }
  // Called before the client learns that its stream has ended, so that the client's next request
  // sees the effect.  No batch is being applied and none will be, so the session's thread no longer
  // uses resync_ and feeder_.  A session that rejects this call is closed.
  void Leave() {
    if (!resync_ && !feeder_) return;
    thread_->Post(
        {.run = [resync = resync_, feeder = feeder_](Session& session) -> SessionCall::Respond {
           LeaveCluster(session.cluster(), resync, feeder);
           return nullptr;
         },
         .refuse = [](const absl::Status&) {},
         .beyond_max = true,
         .kind = SessionCall::Kind::kChange});
  }

  Sessions& sessions_;
  EndlessStreams& streams_;
  const SessionOptions& options_;
  RecordedCall told_;
  grpc::ByteBuffer bytes_;
  wire::SyncRequest request_;  // The parsed bytes_.
  std::shared_ptr<SessionThread> thread_;
  // Used by the session's thread:
  std::string named_cluster_;       // The cluster UID that a message of this stream had.
  std::optional<uint64_t> resync_;  // The resync in progress.
  // Set after a resync has ended, or the client declared the cluster complete.
  std::optional<uint64_t> feeder_;
  wire::BrokenWatches broken_;  // The last ones that the client sent.

  std::mutex mutex_;
  bool reading_ = true;
  bool writing_ = false;
  bool input_ended_ = false;
  bool ended_ = false;
  size_t at_work_ = 0;
  size_t bytes_at_work_ = 0;
  std::optional<int64_t> unread_since_s_;  // Absent: the stream is read.
  std::deque<wire::SyncReply> replies_;
  bool takes_no_more_ = false;  // A batch was rejected, or the daemon ends.
  absl::Status failed_;         // Set: no further batch is read.
  // The final status, after the batches before it are applied and answered.
  absl::Status failed_after_;
};

// WatchPlans.
class PlanSubscription final : public grpc::ServerWriteReactor<wire::PlanChange>,
                               public EndlessStream {
 public:
  PlanSubscription(EndlessStreams& streams, RecordedCall told)
      : shared_(std::make_shared<Shared>()), streams_(streams), told_(std::move(told)) {
    shared_->call = this;
  }

  void Begin(const wire::WatchPlansCall& request,
             const absl::StatusOr<std::shared_ptr<SessionThread>>& thread) {
    streams_.Add(this);
    if (!thread.ok()) return End(thread.status());
    if (request.input().has_now()) {
      return End(absl::InvalidArgumentError(
          "input.now: must be absent in WatchPlans, which plans for the present time"));
    }
    if (request.input().has_max_age_seconds()) {
      return End(
          absl::InvalidArgumentError("input.max_age_seconds: must be absent in WatchPlans, whose "
                                     "messages have the cluster's time"));
    }
    if (!request.input().cluster_token().empty()) {
      return End(absl::InvalidArgumentError(
          "input.cluster_token: WatchPlans takes none; it tells what changes"));
    }
    auto subscriber = std::make_unique<PlanSubscriber>();
    subscriber->input = request.input();
    subscriber->since_version = request.since_version();
    const uint32_t interval =
        request.min_interval_ms() > 0 ? request.min_interval_ms() : kPlanIntervalMs;
    subscriber->min_interval = std::chrono::milliseconds(interval);
    subscriber->state = [shared = shared_] {
      const std::lock_guard lock(shared->mutex);
      if (shared->call == nullptr || shared->ended) return PlanSubscriber::State::kGone;
      return shared->writing ? PlanSubscriber::State::kBusy : PlanSubscriber::State::kReady;
    };
    subscriber->send = [shared = shared_](const absl::StatusOr<wire::PlanChange>& change) {
      const std::lock_guard lock(shared->mutex);
      if (shared->call != nullptr) shared->call->Send(change);
    };
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->thread = *thread;
    }
    (*thread)->Subscribe(std::move(subscriber));
  }

  void OnWriteDone(bool ok) override {
    std::shared_ptr<SessionThread> thread;
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->writing = false;
      thread = shared_->thread.lock();
      if (!ok && failed_.ok()) failed_ = absl::CancelledError("the client has gone");
      EndIfFailed();
    }
    if (thread != nullptr) thread->Wake();
  }
  void OnCancel() override { End(absl::CancelledError("the client has gone")); }
  void EndSoon() override { End(absl::UnavailableError("the daemon ends")); }
  void OnDone() override {
    streams_.Remove(this);
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->call = nullptr;
    }
    delete this;
  }

 private:
  // What the session's thread may use after the call has ended.
  struct Shared {
    std::mutex mutex;
    PlanSubscription* call = nullptr;  // Null: the call has ended.
    bool writing = false;
    bool ended = false;
    std::weak_ptr<SessionThread> thread;  // The thread's subscribers refer to this struct too.
  };

  // REQUIRES: the lock is held.
  void Send(const absl::StatusOr<wire::PlanChange>& change) {
    if (shared_->ended) return;
    if (!change.ok()) {
      if (failed_.ok()) failed_ = change.status();
      return EndIfFailed();
    }
    message_ = *change;
    shared_->writing = true;
    told_.CountMessage();
    StartWrite(&message_);
  }
  // REQUIRES: the lock is held.
  void EndIfFailed() {
    if (failed_.ok() || shared_->writing || shared_->ended) return;
    shared_->ended = true;
    told_.End(failed_);
    Finish(ToGrpc(failed_));
  }
  void End(const absl::Status& why) {
    const std::lock_guard lock(shared_->mutex);
    if (failed_.ok()) failed_ = why;
    EndIfFailed();
  }

  const std::shared_ptr<Shared> shared_;
  EndlessStreams& streams_;
  RecordedCall told_;
  wire::PlanChange message_;
  absl::Status failed_;
};

// Export: the session's thread makes the parts, which are then sent one after the other.
class ExportStream final : public grpc::ServerWriteReactor<wire::ExportReply> {
 public:
  ExportStream(grpc::CallbackServerContext* context, RecordedCall told)
      : context_(context), told_(std::move(told)) {}

  void Begin(const wire::ExportCall& request,
             absl::StatusOr<std::shared_ptr<SessionThread>> thread) {
    if (!thread.ok()) return End(thread.status());
    thread_ = *std::move(thread);
    const std::shared_ptr<SessionThread> keep = thread_;
    keep->Post({.run = [this](Session& session) -> SessionCall::Respond {
                  const absl::Status made = Make(session);
                  return [this, made] { made.ok() ? WriteNext() : End(made); };
                },
                .refuse = [this](const absl::Status& why) { End(why); },
                .cancelled = [this] { return context_->IsCancelled(); },
                .min_version = request.min_version(),
                .kind = SessionCall::Kind::kQuestion});
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return End(absl::CancelledError("the client has gone"));
    parts_.pop_front();
    WriteNext();
  }
  void OnCancel() override {
    if (thread_ != nullptr) thread_->Wake();
  }
  void OnDone() override { delete this; }

 private:
  absl::Status Make(Session& session) {
    parts_.emplace_back().set_version(session.cluster().version());
    *parts_.back().mutable_freshness() = session.cluster().Freshness();
    return session.cluster().Export([this](std::string_view bytes) -> absl::Status {
      if (thread_->closing().Expired()) return absl::AbortedError("the session was closed");
      std::string* part = parts_.back().mutable_snapshot();
      if (part->size() + bytes.size() > kExportPartBytes) {
        part = parts_.emplace_back().mutable_snapshot();
      }
      part->append(bytes);
      return absl::OkStatus();
    });
  }
  void WriteNext() {
    if (parts_.empty()) return End(absl::OkStatus());
    told_.CountMessage();
    StartWrite(&parts_.front());
  }
  void End(const absl::Status& status) {
    told_.End(status);
    Finish(ToGrpc(status));
  }

  grpc::CallbackServerContext* const context_;
  RecordedCall told_;
  std::shared_ptr<SessionThread> thread_;
  std::deque<wire::ExportReply> parts_;
};

}  // namespace

class PlannerService::Impl final : public v1alpha1::Planner::CallbackService {
 public:
  explicit Impl(PlannerServiceOptions options) : options_(std::move(options)) {
    calls_.on_call = options_.on_call;
    Read("Version", &Impl::Version);
    Read("Status", &Impl::Status);
    Read("Open", &Impl::Open);
    Read("Close", &Impl::Close);
    Read("Apply", &Impl::Apply);
    Read("Plan", &Impl::Plan);
    Read("Explain", &Impl::Explain);
    Read("Blockers", &Impl::Blockers);
    Read("Frontier", &Impl::Frontier);
    Read("WhatIf", &Impl::WhatIf);
    Read("Pass", &Impl::Pass);
    Read("PassTable", &Impl::PassTable);
    Read("Filter", &Impl::Filter);
    Read("Round", &Impl::Round);
    Read("ReportActuation", &Impl::ReportActuation);
    Read("Sizing", &Impl::Sizing);
    ReadOfStream("WatchPlans", &Impl::WatchPlans);
    ReadOfStream("Export", &Impl::Export);
    MarkMethodCallback(
        IndexOf("Load"),
        new grpc::internal::CallbackClientStreamingHandler<grpc::ByteBuffer, wire::LoadReply>(
            [this](Context*, wire::LoadReply* reply) { return LoadParts(reply); }));
    MarkMethodCallback(IndexOf("Sync"),
                       new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, wire::SyncReply>(
                           [this](Context*) { return SyncBatches(); }));
  }

  EndlessStreams& streams() { return streams_; }
  CallCount& count() { return calls_.count; }

 private:
  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  template <typename Reply>
  UnaryCall<Reply>* Call(const char* name, const std::string& session, Context* context,
                         Reply* reply) {
    return new UnaryCall<Reply>(context, reply,
                                RecordedCall(name, Sessions::NameOf(session), calls_));
  }

  static int IndexOf(const char* call) {
    return wire::VersionRequest::descriptor()
        ->file()
        ->FindServiceByName("Planner")
        ->FindMethodByName(call)
        ->index();
  }

  // Makes ReadMessage parse a call's bytes, instead of gRPC.
  template <typename Request, typename Reply>
  void Read(const char* name, Unary* (Impl::*answer)(Context*, const Request*, Reply*)) {
    MarkMethodCallback(
        IndexOf(name),
        new grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, Reply>(
            [this, name, answer](Context* context, const grpc::ByteBuffer* bytes, Reply* reply) {
              const auto request = std::make_shared<Request>();
              const absl::Status read = ReadMessage(*bytes, *options_.session_options, *request);
              const_cast<grpc::ByteBuffer*>(bytes)->Clear();
              if (!read.ok()) {
                auto* const refused =
                    new UnaryCall<Reply>(context, reply, RecordedCall(name, "", calls_));
                refused->End(read);
                return static_cast<Unary*>(refused);
              }
              Unary* const call = (this->*answer)(context, request.get(), reply);
              // gRPC does not end the call before this returns.
              static_cast<UnaryCall<Reply>*>(call)->Keep(request);
              return call;
            }));
  }
  // As Read(), for a stream of answers, which copies what it needs from its request.
  template <typename Request, typename Reply>
  void ReadOfStream(const char* name,
                    grpc::ServerWriteReactor<Reply>* (Impl::*answer)(Context*, const Request*)) {
    MarkMethodCallback(IndexOf(name),
                       new grpc::internal::CallbackServerStreamingHandler<grpc::ByteBuffer, Reply>(
                           [this, name, answer](Context* context, const grpc::ByteBuffer* bytes)
                               -> grpc::ServerWriteReactor<Reply>* {
                             Request request;
                             absl::Status read = CheckMemory(*options_.session_options);
                             if (read.ok())
                               read = ReadMessage(*bytes, *options_.session_options, request);
                             if (read.ok()) return (this->*answer)(context, &request);
                             return new RefusedStream<Reply>(read, RecordedCall(name, "", calls_));
                           }));
  }

  // An answer takes memory, and if its client does not read it, the memory stays in use.
  template <typename Reply, typename Answer>
  auto WithinMemory(Answer answer) {
    return
        [this, answer = std::move(answer)](Session& session, std::optional<Clock::time_point> end,
                                           const Deadline& ends) -> absl::StatusOr<Reply> {
          if (absl::Status s = CheckMemory(*options_.session_options); !s.ok()) return s;
          return answer(session, end, ends);
        };
  }

  Unary* Version(Context* context, const wire::VersionRequest* /*request*/,
                 wire::VersionReply* reply) override {
    auto* const call =
        new UnaryCall<wire::VersionReply>(context, reply, RecordedCall("Version", "", calls_));
    wire::VersionReply version;
    version.set_version(std::string(kVersion));
    version.set_plan_api_version(std::string(kPlanApiVersion));
    version.set_pid(getpid());
    version.set_started_at(options_.started_at);
    version.set_protocol(kProtocol);
    call->End(std::move(version));
    return call;
  }

  Unary* Status(Context* context, const wire::StatusRequest* request,
                wire::StatusReply* reply) override {
    auto* const call = new UnaryCall<wire::StatusReply>(
        context, reply, RecordedCall("Status", request->session(), calls_));
    wire::StatusReply status;
    if (options_.session_options->resident_bytes != nullptr) {
      status.set_resident_bytes(static_cast<int64_t>(options_.session_options->resident_bytes()));
    }
    if (request->has_session()) {
      const auto session = options_.sessions->Find(request->session());
      if (!session.ok()) return call->End(session.status()), call;
      *status.add_sessions() = (*session)->Status();
    } else {
      for (const auto& session : options_.sessions->All()) {
        *status.add_sessions() = session->Status();
      }
    }
    call->End(std::move(status));
    return call;
  }

  Unary* Open(Context* context, const wire::OpenRequest* request,
              wire::SessionStatus* reply) override {
    auto* const call = Call("Open", request->session(), context, reply);
    const auto kind = request->as_given() ? Sessions::Kind::kAsGiven : Sessions::Kind::kUsual;
    call->On(options_.sessions->FindOrMake(request->session(), kind), 0,
             [request](Session& session, auto) -> absl::StatusOr<wire::SessionStatus> {
               SessionCluster& cluster = session.cluster();
               if (request->as_given() && !cluster.options().as_given) {
                 return absl::FailedPreconditionError(
                     absl::StrCat("as_given: session ", cluster.name(),
                                  " exists and was created without it; Close it first"));
               }
               if (absl::Status s = cluster.SetSettings(request->settings()); !s.ok()) return s;
               wire::SessionStatus status = session.Status();
               status.set_cluster_token(cluster.Token());
               return status;
             });
    return call;
  }

  Unary* Close(Context* context, const wire::CloseRequest* request,
               wire::CloseReply* reply) override {
    auto* const call = Call("Close", request->session(), context, reply);
    const absl::Status closed = options_.sessions->Close(request->session());
    call->End(closed.ok() ? absl::StatusOr<wire::CloseReply>(wire::CloseReply()) : closed);
    return call;
  }

  grpc::ServerReadReactor<grpc::ByteBuffer>* LoadParts(wire::LoadReply* reply) {
    return new LoadCall(reply, *options_.sessions, *options_.session_options,
                        RecordedCall("Load", "", calls_));
  }

  Unary* Apply(Context* context, const wire::ApplyRequest* request,
               wire::ApplyReply* reply) override {
    auto* const call = Call("Apply", request->session(), context, reply);
    auto batch = std::make_shared<ChangeBatch>(options_.session_options->object_bytes_max);
    if (absl::Status s = PutChanges(request->changes(), *batch); !s.ok()) {
      return call->End(s), call;
    }
    call->On(
        options_.sessions->FindOrMake(request->session()), 0,
        [batch](Session& session, auto) -> absl::StatusOr<wire::ApplyReply> {
          if (absl::Status s = session.cluster().Take(*batch); !s.ok()) return s;
          wire::ApplyReply taken;
          taken.set_version(session.cluster().version());
          return taken;
        },
        SessionCall::Kind::kChange);
    return call;
  }

  grpc::ServerBidiReactor<grpc::ByteBuffer, wire::SyncReply>* SyncBatches() {
    return new SyncCall(*options_.sessions, streams_, *options_.session_options,
                        RecordedCall("Sync", "", calls_));
  }

  // A question with a PlanInput.
  template <typename Request, typename Reply>
  Unary* AskAboutPlans(const char* name, Context* context, const Request* request, Reply* reply,
                       absl::StatusOr<Reply> (SessionQuestions::*ask)(
                           const Request&, std::optional<Clock::time_point>, const Deadline*)) {
    auto* const call = Call(name, request->input().session(), context, reply);
    call->Ask(options_.sessions->Find(request->input().session()), request->input().min_version(),
              WithinMemory<Reply>([request, ask](Session& session, auto end, const Deadline& ends) {
                return (session.questions().*ask)(*request, end, &ends);
              }));
    return call;
  }

  Unary* Plan(Context* context, const wire::PlanCall* request, wire::PlanReply* reply) override {
    return AskAboutPlans("Plan", context, request, reply, &SessionQuestions::Plan);
  }

  Unary* Explain(Context* context, const wire::ExplainCall* request,
                 wire::ExplainReply* reply) override {
    return AskAboutPlans("Explain", context, request, reply, &SessionQuestions::Explain);
  }

  Unary* Blockers(Context* context, const wire::BlockersCall* request,
                  wire::BlockersReply* reply) override {
    return AskAboutPlans("Blockers", context, request, reply, &SessionQuestions::Blockers);
  }

  Unary* Frontier(Context* context, const wire::FrontierCall* request,
                  wire::FrontierReply* reply) override {
    return AskAboutPlans("Frontier", context, request, reply, &SessionQuestions::Frontier);
  }

  Unary* WhatIf(Context* context, const wire::WhatIfCall* request,
                wire::WhatIfReply* reply) override {
    return AskAboutPlans("WhatIf", context, request, reply, &SessionQuestions::WhatIf);
  }

  // A question whose whole request is a PlanInput.
  template <typename Reply>
  Unary* AskForPass(const char* name, Context* context, const wire::PlanInput* request,
                    Reply* reply,
                    absl::StatusOr<Reply> (SessionQuestions::*ask)(
                        const wire::PlanInput&, std::optional<Clock::time_point>)) {
    auto* const call = Call(name, request->session(), context, reply);
    call->Ask(options_.sessions->Find(request->session()), request->min_version(),
              WithinMemory<Reply>([request, ask](Session& session, auto end, auto&) {
                return (session.questions().*ask)(*request, end);
              }));
    return call;
  }

  Unary* Pass(Context* context, const wire::PlanInput* request, wire::PassReply* reply) override {
    return AskForPass("Pass", context, request, reply, &SessionQuestions::Pass);
  }

  Unary* PassTable(Context* context, const wire::PlanInput* request,
                   wire::PassTable* reply) override {
    return AskForPass("PassTable", context, request, reply, &SessionQuestions::PassTable);
  }

  Unary* Filter(Context* context, const wire::FilterCall* request,
                wire::FilterReply* reply) override {
    auto* const call = Call("Filter", request->session(), context, reply);
    call->Ask(
        options_.sessions->Find(request->session()), request->min_version(),
        WithinMemory<wire::FilterReply>([request](Session& session, auto, const Deadline& ends) {
          return session.questions().Filter(*request, &ends);
        }));
    return call;
  }

  grpc::ServerWriteReactor<wire::PlanChange>* WatchPlans(
      Context* /*context*/, const wire::WatchPlansCall* request) override {
    const std::string& session = request->input().session();
    auto* const call = new PlanSubscription(
        streams_, RecordedCall("WatchPlans", Sessions::NameOf(session), calls_));
    call->Begin(*request, options_.sessions->Find(session));
    return call;
  }

  Unary* Round(Context* context, const wire::RoundCall* request, wire::RoundReply* reply) override {
    auto* const call = Call("Round", request->input().session(), context, reply);
    call->On(
        options_.sessions->Find(request->input().session()), request->input().min_version(),
        [request](Session& session, auto end) { return session.rounds().Round(*request, end); });
    return call;
  }

  Unary* ReportActuation(Context* context, const wire::ActuationReport* request,
                         wire::ActuationReply* reply) override {
    auto* const call = Call("ReportActuation", request->session(), context, reply);
    call->On(options_.sessions->Find(request->session()), 0, [request](Session& session, auto) {
      return session.rounds().ReportActuation(*request);
    });
    return call;
  }

  Unary* Sizing(Context* context, const wire::SizingCall* request,
                wire::SizingReply* reply) override {
    auto* const call = Call("Sizing", request->session(), context, reply);
    call->On(options_.sessions->Find(request->session()), 0,
             [](Session& session, auto) { return session.rounds().Sizing(); });
    return call;
  }

  grpc::ServerWriteReactor<wire::ExportReply>* Export(Context* context,
                                                      const wire::ExportCall* request) override {
    auto* const call = new ExportStream(
        context, RecordedCall("Export", Sessions::NameOf(request->session()), calls_));
    call->Begin(*request, options_.sessions->Find(request->session()));
    return call;
  }

  const PlannerServiceOptions options_;
  CallRecords calls_;
  EndlessStreams streams_;
};

PlannerService::PlannerService(PlannerServiceOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
PlannerService::~PlannerService() = default;

grpc::Service* PlannerService::service() { return impl_.get(); }

void PlannerService::EndStreams() { impl_->streams().EndAll(); }

void PlannerService::WaitForCalls(Clock::time_point end) { impl_->count().WaitForNone(end); }

}  // namespace ebb
