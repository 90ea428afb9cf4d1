// ebb._native: the functions of embed/ebb.h for the package's Python code, which has the interface
// that users see.  Requests and replies are JSON.
//
// Every call of the library runs without the GIL.  A failed call raises what ebb._errors makes of
// its code and message.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "embed/ebb.h"
#include "tables/arrow_c.h"

namespace nb = nanobind;

namespace {

// --- Errors ------------------------------------------------------------------------------------

[[noreturn]] void Raise(ebb_code code, const std::string& message) {
  const nb::object error = nb::module_::import_("ebb._errors")
                               .attr("from_code")(code, nb::bytes(message.data(), message.size()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

// The outcome of a call that ran without the GIL.
class Outcome {
 public:
  Outcome() = default;
  ~Outcome() { ebb_error_free(error); }
  Outcome(const Outcome&) = delete;
  Outcome& operator=(const Outcome&) = delete;
  // REQUIRES: the GIL is held.
  void Check() const {
    if (code != EBB_OK) Raise(code, ebb_error_message(error));
  }

  ebb_code code = EBB_OK;
  ebb_error* error = nullptr;
};

// call(ebb_error**) without the GIL; raises if it fails.
template <typename Call>
void Run(Call call) {
  Outcome outcome;
  {
    const nb::gil_scoped_release without;
    outcome.code = call(&outcome.error);
  }
  outcome.Check();
}

struct FreeBytes {
  void operator()(ebb_bytes* bytes) const { ebb_bytes_free(bytes); }
};
using OwnedBytes = std::unique_ptr<ebb_bytes, FreeBytes>;

nb::bytes Take(ebb_bytes* bytes) {
  const OwnedBytes owned(bytes);
  const ebb_text text = ebb_bytes_text(bytes);
  return nb::bytes(text.data, text.size);
}

// --- Signals -------------------------------------------------------------------------------------

// Runs Python's handlers of signals a few times a second during a call.  An exception of a handler
// ends the call.
class Signals {
 public:
  Signals() = default;
  ~Signals() = default;
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // An ebb_ends; `context` is a Signals.
  static int Ends(void* context) noexcept { return static_cast<Signals*>(context)->Poll() ? 1 : 0; }

  // Whether KeyboardInterrupt ended the call.  Any other exception is raised, and so is it, unless
  // `may_end`. REQUIRES: the GIL is held.
  bool RaiseOthers(bool may_end) {
    if (!raised_.is_valid()) return false;
    const bool is_interrupt =
        PyErr_GivenExceptionMatches(raised_.ptr(), PyExc_KeyboardInterrupt) != 0;
    if (is_interrupt && may_end) return true;
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised_.ptr())), raised_.ptr());
    throw nb::python_error();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kEvery{50};

  bool Poll() noexcept {
    if (is_over_) return true;
    const Clock::time_point now = Clock::now();
    if (now < next_) return false;
    next_ = now + kEvery;
    const nb::gil_scoped_acquire with;
    if (PyErr_CheckSignals() == 0) return false;
    is_over_ = true;
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    raised_ = nb::steal(value);
    return true;
  }

  Clock::time_point next_ = Clock::now() + kEvery;
  bool is_over_ = false;
  nb::object raised_;
};

// --- Tables --------------------------------------------------------------------------------------

// What an exported table points to.  Arrays and schemas that are exported from it share it.
struct Columns {
  ArrowSchema schema{};
  ArrowArray array{};
  Columns() = default;
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;
  ~Columns() {
    if (schema.release != nullptr) schema.release(&schema);
    if (array.release != nullptr) array.release(&array);
  }
};
using SharedColumns = std::shared_ptr<const Columns>;

// A struct of the library, again: it points to the same buffers and texts, and has a lifetime of
// its own.
template <typename Struct>
struct Again {
  SharedColumns columns;
  std::vector<std::unique_ptr<Struct>> children;
  std::vector<Struct*> pointers;
};

template <typename Struct>
void ReleaseAgain(Struct* again) {
  const std::unique_ptr<Again<Struct>> owned(static_cast<Again<Struct>*>(again->private_data));
  for (const auto& child : owned->children) {
    if (child->release != nullptr) child->release(child.get());
  }
  again->release = nullptr;
}

template <typename Struct>
void ExportAgain(const SharedColumns& columns, const Struct& from, Struct& to) {
  auto owned = std::make_unique<Again<Struct>>();
  owned->columns = columns;
  for (int64_t i = 0; i < from.n_children; ++i) {
    owned->children.push_back(std::make_unique<Struct>());
    ExportAgain(columns, *from.children[i], *owned->children.back());
    owned->pointers.push_back(owned->children.back().get());
  }
  to = from;
  to.children = owned->pointers.empty() ? nullptr : owned->pointers.data();
  to.release = ReleaseAgain<Struct>;
  to.private_data = owned.release();
}

struct Stream {
  SharedColumns columns;
  bool is_read = false;
};
Stream& Of(ArrowArrayStream* stream) { return *static_cast<Stream*>(stream->private_data); }

template <typename Body>
int Guarded(Body body) noexcept {
  try {
    body();
    return 0;
  } catch (...) {
    return 12;  // ENOMEM: nothing else can fail.
  }
}

int GetSchema(ArrowArrayStream* stream, ArrowSchema* out) {
  return Guarded([&] { ExportAgain(Of(stream).columns, Of(stream).columns->schema, *out); });
}

int GetNext(ArrowArrayStream* stream, ArrowArray* out) {
  return Guarded([&] {
    if (std::exchange(Of(stream).is_read, true)) {
      *out = {};
      return;
    }
    ExportAgain(Of(stream).columns, Of(stream).columns->array, *out);
  });
}

// A capsule that owns a struct of Arrow's, until a reader takes it.
template <typename Struct>
nb::capsule Capsule(std::unique_ptr<Struct> owned, const char* name) {
  return nb::capsule(owned.release(), name, [](void* data) noexcept {
    const std::unique_ptr<Struct> held(static_cast<Struct*>(data));
    if (held->release != nullptr) held->release(held.get());
  });
}

bool IsSet(const void* bits, int64_t at) {
  return (static_cast<const uint8_t*>(bits)[at / 8] >> (at % 8) & 1) != 0;
}

class Table {
 public:
  // Takes what the stream has.
  explicit Table(ArrowArrayStream& stream) {
    const std::shared_ptr<Columns> columns(new Columns);  // libebb.a has its own std::make_shared.
    const int failed = stream.get_schema(&stream, &columns->schema) != 0
                           ? 1
                           : stream.get_next(&stream, &columns->array);
    stream.release(&stream);
    if (failed != 0) throw std::bad_alloc();
    columns_ = columns;
  }

  [[nodiscard]] int64_t Rows() const { return columns_->array.length; }

  [[nodiscard]] nb::list Names() const {
    nb::list names;
    for (int64_t i = 0; i < columns_->schema.n_children; ++i) {
      names.append(columns_->schema.children[i]->name);
    }
    return names;
  }

  // The values of a column as objects of Python; times are Unix seconds.
  [[nodiscard]] nb::list Values(int64_t column) const {
    if (column < 0 || column >= columns_->array.n_children) throw nb::index_error();
    const ArrowArray& array = *columns_->array.children[column];
    const std::string_view format = columns_->schema.children[column]->format;
    nb::list values;
    for (int64_t row = 0; row < array.length; ++row) {
      if (array.buffers[0] != nullptr && !IsSet(array.buffers[0], row)) {
        values.append(nb::none());
      } else if (format == "u") {
        const auto* const offsets = static_cast<const int32_t*>(array.buffers[1]);
        values.append(nb::str(static_cast<const char*>(array.buffers[2]) + offsets[row],
                              static_cast<size_t>(offsets[row + 1] - offsets[row])));
      } else if (format == "g") {
        values.append(static_cast<const double*>(array.buffers[1])[row]);
      } else if (format == "b") {
        values.append(IsSet(array.buffers[1], row));
      } else {
        values.append(static_cast<const int64_t*>(array.buffers[1])[row]);
      }
    }
    return values;
  }

  [[nodiscard]] std::string Format(int64_t column) const {
    if (column < 0 || column >= columns_->schema.n_children) throw nb::index_error();
    return columns_->schema.children[column]->format;
  }

  [[nodiscard]] nb::capsule SchemaCapsule() const {
    auto schema = std::make_unique<ArrowSchema>();
    ExportAgain(columns_, columns_->schema, *schema);
    return Capsule(std::move(schema), "arrow_schema");
  }

  [[nodiscard]] nb::capsule StreamCapsule() const {
    auto stream = std::make_unique<ArrowArrayStream>();
    *stream = {.get_schema = GetSchema,
               .get_next = GetNext,
               .get_last_error = [](ArrowArrayStream*) -> const char* { return nullptr; },
               .release =
                   [](ArrowArrayStream* released) {
                     delete static_cast<Stream*>(released->private_data);
                     released->release = nullptr;
                   },
               .private_data = new Stream{columns_}};
    return Capsule(std::move(stream), "arrow_array_stream");
  }

 private:
  SharedColumns columns_;
};

// --- Bytes from Python
// -----------------------------------------------------------------------------

// The bytes of an object with a buffer, which must not change while this object lives.
class View {
 public:
  explicit View(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~View() { PyBuffer_Release(&buffer_); }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  [[nodiscard]] const void* data() const { return buffer_.buf; }
  [[nodiscard]] size_t size() const { return static_cast<size_t>(buffer_.len); }

 private:
  Py_buffer buffer_{};
};

// --- A cluster
// ---------------------------------------------------------------------------------------

struct FreeBatch {
  void operator()(ebb_batch* batch) const { ebb_batch_free(batch); }
};

class Cluster {
 public:
  Cluster(const std::string& name, uint64_t objects_max, uint64_t dump_bytes_max) {
    const ebb_options options{.name = name.c_str(),
                              .state_folder = nullptr,
                              .objects_max = objects_max,
                              .dump_bytes_max = dump_bytes_max,
                              .as_given = 0};
    Run([&](ebb_error** error) {
      return ebb_cluster_new(EBB_ABI_VERSION, &options, &cluster_, error);
    });
  }
  // A large cluster takes some time to free.
  ~Cluster() {
    const nb::gil_scoped_release without;
    ebb_cluster_free(cluster_);
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  void Close() {
    const nb::gil_scoped_release without;
    ebb_cluster_close(cluster_);
  }

  void SetSettings(const nb::bytes& settings) {
    Run([&, data = settings.c_str(), size = settings.size()](ebb_error** error) {
      return ebb_cluster_set_settings(cluster_, EBB_JSON, data, size, error);
    });
  }

  void Load(nb::handle dump) {
    const View view(dump);
    Run([&](ebb_error** error) {
      return ebb_cluster_load(cluster_, view.data(), view.size(), error);
    });
  }

  // `changes`: bytes of an object that is put, or (kind, namespace, name, uid) of one that is
  // deleted.
  uint64_t Apply(const nb::list& changes) {
    const std::unique_ptr<ebb_batch, FreeBatch> batch(ebb_batch_new());
    if (batch == nullptr) throw std::bad_alloc();
    for (const nb::handle change : changes) {
      Outcome outcome;
      if (nb::isinstance<nb::bytes>(change)) {
        const nb::bytes object = nb::borrow<nb::bytes>(change);
        const auto* const data = static_cast<const char*>(object.data());
        const bool is_protobuf = object.size() >= 4 && std::memcmp(data, "k8s\0", 4) == 0;
        outcome.code = ebb_batch_put(batch.get(), is_protobuf ? EBB_PROTOBUF : EBB_JSON, data,
                                     object.size(), &outcome.error);
      } else {
        const nb::tuple names = nb::cast<nb::tuple>(change);
        std::string text[4];
        for (size_t i = 0; i < 4; ++i) text[i] = nb::cast<std::string>(names[i]);
        outcome.code = ebb_batch_delete(batch.get(), text[0].c_str(), text[1].c_str(),
                                        text[2].c_str(), text[3].c_str(), &outcome.error);
      }
      outcome.Check();
    }
    uint64_t version = 0;
    Run([&](ebb_error** error) {
      return ebb_cluster_apply(cluster_, batch.get(), &version, error);
    });
    return version;
  }

  // The reply, and whether KeyboardInterrupt ended the call.  `may_end`: the call then returns the
  // best that it has found; otherwise KeyboardInterrupt is raised.
  nb::tuple Call(ebb_call call, const nb::bytes& request, bool may_end) {
    Signals signals;
    ebb_bytes* reply = nullptr;
    Outcome outcome;
    {
      const auto* const data = request.c_str();
      const size_t size = request.size();
      const nb::gil_scoped_release without;
      outcome.code = ebb_cluster_call_until(cluster_, call, EBB_JSON, data, size, Signals::Ends,
                                            &signals, &reply, &outcome.error);
    }
    OwnedBytes owned(reply);
    const bool is_interrupted = signals.RaiseOthers(may_end && outcome.code == EBB_OK);
    outcome.Check();
    return nb::make_tuple(Take(owned.release()), is_interrupted);
  }

  Table MakeTable(const std::string& name, const nb::bytes& request) {
    ArrowArrayStream stream{};
    Run([&, data = request.c_str(), size = request.size()](ebb_error** error) {
      return ebb_cluster_table(cluster_, name.c_str(), EBB_JSON, data, size, &stream, error);
    });
    return Table(stream);
  }

 private:
  ebb_cluster* cluster_ = nullptr;
};

// --- Without a cluster
// -------------------------------------------------------------------------------

Table AnswerTable(const std::string& name, const nb::bytes& answer) {
  ArrowArrayStream stream{};
  Run([&, data = answer.c_str(), size = answer.size()](ebb_error** error) {
    return ebb_answer_table(name.c_str(), data, size, &stream, error);
  });
  return Table(stream);
}

nb::bytes Compare(const nb::bytes& before, const nb::bytes& after) {
  ebb_bytes* comparison = nullptr;
  Run([&, a = before.c_str(), a_size = before.size(), b = after.c_str(), b_size = after.size()](
          ebb_error** error) { return ebb_compare(a, a_size, b, b_size, &comparison, error); });
  return Take(comparison);
}

nb::bytes Generate(const std::string& kind, uint32_t nodes, uint64_t seed) {
  ebb_bytes* snapshot = nullptr;
  Run([&](ebb_error** error) { return ebb_generate(kind.c_str(), nodes, seed, &snapshot, error); });
  return Take(snapshot);
}

nb::bytes OptionTable() {
  ebb_bytes* table = nullptr;
  Run([&](ebb_error** error) { return ebb_option_table(&table, error); });
  return Take(table);
}

}  // namespace

NB_MODULE(_native, module) {
  module.attr("VERSION") = ebb_version();
  module.attr("COMMIT") = EBB_COMMIT;
  module.attr("PLAN") = int{EBB_CALL_PLAN};
  module.attr("EXPLAIN") = int{EBB_CALL_EXPLAIN};
  module.attr("STATUS") = int{EBB_CALL_STATUS};
  module.attr("EXPORT") = int{EBB_CALL_EXPORT};
  module.attr("BLOCKERS") = int{EBB_CALL_BLOCKERS};
  module.attr("FRONTIER") = int{EBB_CALL_FRONTIER};
  module.attr("WHAT_IF") = int{EBB_CALL_WHAT_IF};
  nb::class_<Table>(module, "Table")
      .def_prop_ro("rows", &Table::Rows)
      .def_prop_ro("names", &Table::Names)
      .def("values", &Table::Values)
      .def("format", &Table::Format)
      .def("schema", &Table::SchemaCapsule)
      .def("stream", &Table::StreamCapsule);
  nb::class_<Cluster>(module, "Cluster")
      .def(nb::init<const std::string&, uint64_t, uint64_t>())
      .def("close", &Cluster::Close)
      .def("set_settings", &Cluster::SetSettings)
      .def("load", &Cluster::Load)
      .def("apply", &Cluster::Apply)
      .def("call", &Cluster::Call)
      .def("table", &Cluster::MakeTable);
  module.def("answer_table", &AnswerTable);
  module.def("compare", &Compare);
  module.def("generate", &Generate);
  module.def("option_table", &OptionTable);
}
