// ebb/cluster.h: the functions of ebb.h for C++17 and later.  It needs only the standard library.
// Start with examples/embedded/plan.cc, which has ten lines, and changes.cc beside it.
//
// Units, errors and threads: those of ebb.h.  Functions throw only std::bad_alloc.
// Ownership: everything that a Plan returns is valid as long as the Plan.
// ABI:       this header is compiled into the program that includes it, and calls only the
//            functions of ebb.h in the library.

#ifndef EBB_EMBED_CLUSTER_H_
#define EBB_EMBED_CLUSTER_H_

#include <ebb/ebb.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ebb {
inline namespace embedded {  // Some types of the library have the same names.

// Why a call failed; converts to false if it succeeded.
class Error {
 public:
  Error() = default;
  Error(ebb_code code, std::string message) : code_(code), message_(std::move(message)) {}
  explicit operator bool() const { return code_ != EBB_OK; }
  [[nodiscard]] ebb_code code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  ebb_code code_ = EBB_OK;
  std::string message_;
};

// A T, or an error.
template <typename T>
class Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT: as std::optional.
  Result(Error error) : error_(std::move(error)) {}  // NOLINT
  explicit operator bool() const { return value_.has_value(); }
  [[nodiscard]] const Error& error() const { return error_; }
  // REQUIRES: there is a value.
  T& operator*() {
    assert(value_.has_value());
    return *value_;
  }
  const T& operator*() const {
    assert(value_.has_value());
    return *value_;
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

 private:
  std::optional<T> value_;
  Error error_;
};

inline std::string_view View(ebb_text text) { return {text.data, text.size}; }

// A view of an array of the library.
template <typename T>
class ArrayView {
 public:
  ArrayView(const T* data, size_t size) : data_(data), size_(size) {}
  [[nodiscard]] const T* begin() const { return data_; }
  [[nodiscard]] const T* end() const { return data_ + size_; }
  [[nodiscard]] size_t size() const { return size_; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  const T* data_;
  size_t size_;
};

inline ArrayView<ebb_move> MovesOf(const ebb_removal& removal) {
  return {removal.moves, removal.moves_count};
}

namespace internal {

// Converts the code and `error` of a call to an Error, and frees `error`.
inline Error Take(ebb_code code, ebb_error* error) {
  if (code == EBB_OK) return {};
  Error taken(code, ebb_error_message(error));
  ebb_error_free(error);
  return taken;
}

template <typename T, void (*kFree)(T*)>
struct Freer {
  void operator()(T* handle) const { kFree(handle); }
};
template <typename T, void (*kFree)(T*)>
using Handle = std::unique_ptr<T, Freer<T, kFree>>;

}  // namespace internal

class Plan {
 public:
  explicit Plan(ebb_plan* plan) : plan_(plan) {}
  // "complete", "limit", "deadline", or "evictionLimit" (search.max_evictions).
  [[nodiscard]] std::string_view termination() const { return View(plan_->termination); }
  // In the order in which the nodes go.
  [[nodiscard]] ArrayView<ebb_removal> removals() const {
    return {plan_->removals, plan_->removals_count};
  }
  [[nodiscard]] ArrayView<ebb_kept> kept() const { return {plan_->kept, plan_->kept_count}; }

 private:
  internal::Handle<ebb_plan, ebb_plan_free> plan_;
};

// Changes that are applied together.
class Batch {
 public:
  Batch() : batch_(ebb_batch_new()) {
    if (batch_ == nullptr) throw std::bad_alloc();
  }
  // Adds one Kubernetes object that is new or changed.
  Error PutJson(std::string_view object) { return Put(EBB_JSON, object); }
  Error PutProtobuf(std::string_view object) { return Put(EBB_PROTOBUF, object); }
  // Adds the deletion of one object.  An empty `uid` means any UID.
  Error Delete(const std::string& kind, const std::string& namespace_name, const std::string& name,
               const std::string& uid = "") {
    ebb_error* error = nullptr;
    const ebb_code code = ebb_batch_delete(batch_.get(), kind.c_str(), namespace_name.c_str(),
                                           name.c_str(), uid.c_str(), &error);
    return internal::Take(code, error);
  }
  void Clear() { ebb_batch_clear(batch_.get()); }
  [[nodiscard]] size_t size() const { return ebb_batch_size(batch_.get()); }
  [[nodiscard]] const ebb_batch* get() const { return batch_.get(); }

 private:
  Error Put(ebb_encoding encoding, std::string_view object) {
    ebb_error* error = nullptr;
    const ebb_code code =
        ebb_batch_put(batch_.get(), encoding, object.data(), object.size(), &error);
    return internal::Take(code, error);
  }

  internal::Handle<ebb_batch, ebb_batch_free> batch_;
};

// A cluster that changes.  Requests are messages of planner.proto; "" is a message of defaults.
class Cluster {
 public:
  static Result<Cluster> New(const ebb_options& options = {}) {
    ebb_cluster* made = nullptr;
    ebb_error* error = nullptr;
    const ebb_code code = ebb_cluster_new(EBB_ABI_VERSION, &options, &made, &error);
    if (code != EBB_OK) return internal::Take(code, error);
    return Cluster(made);
  }

  // Allows answers although something is missing, as ebb_cluster_allow_incomplete.
  Error AllowIncomplete(bool allow = true) {
    ebb_error* error = nullptr;
    const ebb_code code = ebb_cluster_allow_incomplete(cluster_.get(), allow ? 1 : 0, &error);
    return internal::Take(code, error);
  }
  // Sets how plans are made from now on; `json`: a message Settings.
  Error SetSettings(std::string_view json) {
    ebb_error* error = nullptr;
    const ebb_code code =
        ebb_cluster_set_settings(cluster_.get(), EBB_JSON, json.data(), json.size(), &error);
    return internal::Take(code, error);
  }
  // Replaces the cluster with a dump.
  Error Load(std::string_view dump) {
    ebb_error* error = nullptr;
    const ebb_code code = ebb_cluster_load(cluster_.get(), dump.data(), dump.size(), &error);
    return internal::Take(code, error);
  }
  // Returns the version, which counts batches and dumps.
  Result<uint64_t> Apply(const Batch& batch) {
    uint64_t version = 0;
    ebb_error* error = nullptr;
    const ebb_code code = ebb_cluster_apply(cluster_.get(), batch.get(), &version, &error);
    if (code != EBB_OK) return internal::Take(code, error);
    return version;
  }

  // `request`: a PlanCall in JSON.
  Result<Plan> MakePlan(std::string_view request = {}) {
    return PlanOf(ebb_cluster_plan, EBB_JSON, request);
  }
  Result<Plan> MakePass(ebb_encoding encoding, std::string_view request) {
    return PlanOf(ebb_cluster_pass, encoding, request);
  }
  // The reply to any call, in the encoding of its request.
  Result<std::string> Call(ebb_call call, ebb_encoding encoding, std::string_view request = {}) {
    ebb_bytes* reply = nullptr;
    ebb_error* error = nullptr;
    const ebb_code code = ebb_cluster_call(cluster_.get(), call, encoding, request.data(),
                                           request.size(), &reply, &error);
    if (code != EBB_OK) return internal::Take(code, error);
    const internal::Handle<ebb_bytes, ebb_bytes_free> owned(reply);
    return std::string(View(ebb_bytes_text(reply)));
  }

  // Later calls fail.
  void Close() { ebb_cluster_close(cluster_.get()); }

 private:
  using Planner = ebb_code (*)(ebb_cluster*, ebb_encoding, const void*, size_t, ebb_plan**,
                               ebb_error**);
  explicit Cluster(ebb_cluster* cluster) : cluster_(cluster) {}
  Result<Plan> PlanOf(Planner planner, ebb_encoding encoding, std::string_view request) {
    ebb_plan* plan = nullptr;
    ebb_error* error = nullptr;
    const ebb_code code =
        planner(cluster_.get(), encoding, request.data(), request.size(), &plan, &error);
    if (code != EBB_OK) return internal::Take(code, error);
    return Plan(plan);
  }

  internal::Handle<ebb_cluster, ebb_cluster_free> cluster_;
};

}  // namespace embedded
}  // namespace ebb

#endif  // EBB_EMBED_CLUSTER_H_
