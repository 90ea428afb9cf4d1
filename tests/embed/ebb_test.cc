#include "embed/ebb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tables/arrow_c.h"
#include "tests/session/session_objects.h"
#include "wire/planner.pb.h"

namespace ebb::ebb_test {
namespace {

using test::NodeJson;
using test::PodJson;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kAtNow = R"({"input":{"now":"1780315200"}})";

// Holds the error of a call, and frees it.
class ErrorSlot {
 public:
  ErrorSlot() = default;
  ~ErrorSlot() { ebb_error_free(error_); }
  ErrorSlot(const ErrorSlot&) = delete;
  ErrorSlot& operator=(const ErrorSlot&) = delete;

  ebb_error** slot() { return &error_; }
  [[nodiscard]] std::string message() const { return ebb_error_message(error_); }
  [[nodiscard]] ebb_code code() const { return ebb_error_code(error_); }

 private:
  ebb_error* error_ = nullptr;
};

// Two nodes, each half free; one can go.
class EbbTest : public ::testing::Test {
 protected:
  EbbTest() {
    EXPECT_EQ(ebb_cluster_new(EBB_ABI_VERSION, nullptr, &cluster_, nullptr), EBB_OK);
    Put({NodeJson("a"), NodeJson("b"), test::ReplicaSetJson(), PodJson("p", "a"),
         PodJson("q", "b")});
  }
  ~EbbTest() override { ebb_cluster_free(cluster_); }

  void Put(const std::vector<std::string>& objects) {
    ebb_batch* batch = ebb_batch_new();
    ErrorSlot error;
    for (const std::string& object : objects) {
      EXPECT_EQ(ebb_batch_put(batch, EBB_JSON, object.data(), object.size(), error.slot()), EBB_OK)
          << error.message();
    }
    EXPECT_EQ(ebb_cluster_apply(cluster_, batch, nullptr, error.slot()), EBB_OK) << error.message();
    ebb_batch_free(batch);
  }
  // The answer of a call, or its error.
  std::string Call(ebb_call call, ebb_encoding encoding, std::string_view request) {
    ebb_bytes* reply = nullptr;
    ErrorSlot error;
    const ebb_code code = ebb_cluster_call(cluster_, call, encoding, request.data(), request.size(),
                                           &reply, error.slot());
    EXPECT_EQ(code, error.code());
    if (code != EBB_OK) return error.message();
    const ebb_text text = ebb_bytes_text(reply);
    EXPECT_EQ(text.data[text.size], 0);
    std::string answer(text.data, text.size);
    ebb_bytes_free(reply);
    return answer;
  }
  ebb_code CodeOf(ebb_call call, ebb_encoding encoding, std::string_view request) {
    ebb_bytes* reply = nullptr;
    const ebb_code code =
        ebb_cluster_call(cluster_, call, encoding, request.data(), request.size(), &reply, nullptr);
    ebb_bytes_free(reply);
    return code;
  }

  ebb_cluster* cluster_ = nullptr;
};

TEST(EbbLibraryTest, ReturnsItsVersion) {
  EXPECT_EQ(ebb_abi_version(), EBB_ABI_VERSION);
  EXPECT_THAT(std::string(ebb_version()), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST(EbbLibraryTest, AnotherVersionIsRefused) {
  ebb_cluster* cluster = nullptr;
  ErrorSlot error;
  EXPECT_EQ(ebb_cluster_new(EBB_ABI_VERSION + 1, nullptr, &cluster, error.slot()),
            EBB_FAILED_PRECONDITION);
  EXPECT_THAT(error.message(), HasSubstr("version 2 of ebb.h"));
  EXPECT_EQ(cluster, nullptr);
}

TEST(EbbLibraryTest, ANameIsChecked) {
  ebb_cluster* cluster = nullptr;
  ErrorSlot error;
  const ebb_options options = {.name = "../x",
                               .state_folder = nullptr,
                               .objects_max = 0,
                               .dump_bytes_max = 0,
                               .as_given = 0};
  EXPECT_EQ(ebb_cluster_new(EBB_ABI_VERSION, &options, &cluster, error.slot()),
            EBB_INVALID_ARGUMENT);
}

TEST(EbbLibraryTest, NullIsAnErrorEverywhere) {
  ebb_bytes* reply = nullptr;
  ebb_plan* plan = nullptr;
  ErrorSlot error;
  EXPECT_EQ(ebb_cluster_new(EBB_ABI_VERSION, nullptr, nullptr, nullptr), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_cluster_load(nullptr, "", 0, error.slot()), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(error.message(), "cluster is NULL");
  EXPECT_EQ(ebb_cluster_set_settings(nullptr, EBB_JSON, nullptr, 0, nullptr), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_cluster_apply(nullptr, nullptr, nullptr, nullptr), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_cluster_apply_message(nullptr, EBB_JSON, nullptr, 0, nullptr, nullptr),
            EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_cluster_plan(nullptr, EBB_JSON, nullptr, 0, &plan, nullptr), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_cluster_pass(nullptr, EBB_JSON, nullptr, 0, &plan, nullptr), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_cluster_call(nullptr, EBB_CALL_PLAN, EBB_JSON, nullptr, 0, &reply, nullptr),
            EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_batch_put(nullptr, EBB_JSON, "{}", 2, nullptr), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_batch_put_many(nullptr, EBB_JSON, nullptr, 0, nullptr, 0, nullptr, nullptr),
            EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_batch_delete(nullptr, "Pod", "d", "p", nullptr, nullptr), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_batch_size(nullptr), 0);
  ebb_batch_clear(nullptr);
  ebb_batch_free(nullptr);
  ebb_bytes_free(nullptr);
  ebb_plan_free(nullptr);
  ebb_error_free(nullptr);
  ebb_cluster_close(nullptr);
  ebb_cluster_free(nullptr);
  EXPECT_EQ(ebb_bytes_text(nullptr).size, 0);
  EXPECT_EQ(ebb_error_code(nullptr), EBB_OK);
}

TEST_F(EbbTest, NullBytesAreAnErrorWhereThereShouldBeSome) {
  ErrorSlot error;
  EXPECT_EQ(ebb_cluster_load(cluster_, nullptr, 7, error.slot()), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(error.message(), "dump is NULL");
  ebb_plan* plan = nullptr;
  EXPECT_EQ(ebb_cluster_plan(cluster_, EBB_JSON, nullptr, 7, &plan, nullptr), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_cluster_plan(cluster_, EBB_JSON, nullptr, 0, nullptr, nullptr),
            EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_cluster_call(cluster_, EBB_CALL_PLAN, EBB_JSON, nullptr, 0, nullptr, nullptr),
            EBB_INVALID_ARGUMENT);
  ebb_batch* batch = ebb_batch_new();
  EXPECT_EQ(ebb_batch_put(batch, EBB_JSON, nullptr, 7, nullptr), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_batch_put_many(batch, EBB_JSON, nullptr, 7, nullptr, 0, nullptr, nullptr),
            EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_batch_put_many(batch, EBB_JSON, "{}", 2, nullptr, 1, nullptr, nullptr),
            EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_batch_delete(batch, nullptr, nullptr, nullptr, nullptr, nullptr),
            EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_batch_size(batch), 0);
  ebb_batch_free(batch);
}

TEST_F(EbbTest, APlanAsStructsIsThatOfTheJson) {
  ebb_plan* plan = nullptr;
  ErrorSlot error;
  // There was no list of budgets, and the structs have no field for that.
  EXPECT_EQ(ebb_cluster_plan(cluster_, EBB_JSON, kAtNow.data(), kAtNow.size(), &plan, nullptr),
            EBB_FAILED_PRECONDITION);
  EXPECT_EQ(ebb_cluster_allow_incomplete(cluster_, 1, error.slot()), EBB_OK);
  ASSERT_EQ(ebb_cluster_plan(cluster_, EBB_JSON, kAtNow.data(), kAtNow.size(), &plan, error.slot()),
            EBB_OK)
      << error.message();
  const auto json = nlohmann::json::parse(Call(EBB_CALL_PLAN, EBB_JSON, kAtNow));
  ASSERT_EQ(plan->removals_count, 1);
  ASSERT_EQ(json["remove"].size(), 1);
  const ebb_removal& removal = plan->removals[0];
  EXPECT_EQ(json["remove"][0]["node"], removal.node.data);
  ASSERT_EQ(removal.moves_count, 1);
  EXPECT_EQ(std::string(removal.moves[0].pod.namespace_name.data), "default");
  EXPECT_EQ(json["remove"][0]["pods"][0]["to"], removal.moves[0].to.data);
  ASSERT_EQ(plan->kept_count, 1);
  EXPECT_EQ(json["keep"][0]["node"], plan->kept[0].node.data);
  EXPECT_EQ(json["keep"][0]["reason"], plan->kept[0].reason.data);
  EXPECT_EQ(std::string(plan->termination.data), "complete");
  ebb_plan_free(plan);
}

TEST_F(EbbTest, APlanAsStructsNamesTheNodesThatAreNoCandidates) {
  nlohmann::json machine = nlohmann::json::parse(NodeJson("control"));
  machine["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] = "";
  Put({machine.dump()});
  ebb_plan* plan = nullptr;
  ErrorSlot error;
  EXPECT_EQ(ebb_cluster_allow_incomplete(cluster_, 1, error.slot()), EBB_OK);
  ASSERT_EQ(ebb_cluster_plan(cluster_, EBB_JSON, kAtNow.data(), kAtNow.size(), &plan, error.slot()),
            EBB_OK)
      << error.message();
  std::map<std::string, std::string> kept;
  for (size_t i = 0; i < plan->kept_count; ++i) {
    kept[plan->kept[i].node.data] = plan->kept[i].reason.data;
  }
  std::map<std::string, std::string> expected;
  const auto json = nlohmann::json::parse(Call(EBB_CALL_PLAN, EBB_JSON, kAtNow));
  for (const auto& each : json["keep"]) expected[each["node"]] = each["reason"];
  EXPECT_EQ(kept, expected);
  EXPECT_EQ(kept["control"], "NotAutoscaled");
  ebb_plan_free(plan);
}

TEST_F(EbbTest, APassTakesTheCandidatesThatItIsGiven) {
  constexpr std::string_view kRequest = R"({"now":"1780315200","candidates":{"nodes":["b"]}})";
  ebb_plan* plan = nullptr;
  ErrorSlot error;
  ASSERT_EQ(
      ebb_cluster_pass(cluster_, EBB_JSON, kRequest.data(), kRequest.size(), &plan, error.slot()),
      EBB_OK)
      << error.message();
  ASSERT_EQ(plan->removals_count, 1);
  EXPECT_EQ(std::string(plan->removals[0].node.data), "b");
  ebb_plan_free(plan);
}

TEST_F(EbbTest, MessagesInProtobufToo) {
  v1alpha1::PlanInput call;
  call.set_now(1780315200);
  call.mutable_candidates()->add_nodes("a");
  v1alpha1::PassReply reply;
  ASSERT_TRUE(reply.ParseFromString(Call(EBB_CALL_PASS, EBB_PROTOBUF, call.SerializeAsString())));
  EXPECT_EQ(reply.plan().removes(0).node(), "a");
  EXPECT_EQ(reply.version(), 1);
  EXPECT_THAT(Call(EBB_CALL_PASS, EBB_PROTOBUF, "\xff\xff"), HasSubstr("is not a message"));
  v1alpha1::PassTable table;
  ASSERT_TRUE(
      table.ParseFromString(Call(EBB_CALL_PASS_TABLE, EBB_PROTOBUF, call.SerializeAsString())));
  EXPECT_EQ(table.nodes(static_cast<int>(table.removed_nodes(0))), "a");
  EXPECT_THAT(Call(EBB_CALL_PASS_TABLE, EBB_PROTOBUF, "\xff\xff"), HasSubstr("is not a message"));
}

// Symptom: a message with text that is not UTF-8 made the library write to the host's standard
// error.
TEST_F(EbbTest, ARefusedCallWritesNothing) {
  v1alpha1::ExplainCall call;
  call.add_nodes("node");
  std::string not_utf8 = call.SerializeAsString();
  not_utf8.replace(not_utf8.find("node"), 4, "\xff\xfe\xfd\xfc");
  testing::internal::CaptureStderr();
  const ebb_code code = CodeOf(EBB_CALL_EXPLAIN, EBB_PROTOBUF, not_utf8);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(code, EBB_INVALID_ARGUMENT);
}

TEST_F(EbbTest, EveryCallAnswers) {
  EXPECT_THAT(Call(EBB_CALL_EXPLAIN, EBB_JSON, R"({"nodes":["a"]})"), HasSubstr("\"node\": \"a\""));
  EXPECT_THAT(Call(EBB_CALL_FILTER, EBB_JSON, R"({"pods":["default/p"]})"), HasSubstr("results"));
  EXPECT_THAT(Call(EBB_CALL_STATUS, EBB_JSON, ""), HasSubstr("\"nodes\":\"2\""));
  EXPECT_THAT(Call(EBB_CALL_ROUND, EBB_JSON, ""), HasSubstr("folder"));
  EXPECT_THAT(Call(EBB_CALL_REPORT_ACTUATION, EBB_JSON, ""), HasSubstr("folder"));
  EXPECT_EQ(CodeOf(EBB_CALL_ROUND, EBB_JSON, ""), EBB_FAILED_PRECONDITION);
  EXPECT_EQ(CodeOf(static_cast<ebb_call>(99), EBB_JSON, ""), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EBB_CALL_PLAN, static_cast<ebb_encoding>(7), ""), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EBB_CALL_PLAN, EBB_JSON, R"({"nonsense":1})"), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(CodeOf(EBB_CALL_EXPLAIN, EBB_JSON, R"({"nodes":["x"]})"), EBB_NOT_FOUND);
}

TEST_F(EbbTest, AFolderOfStatesMustBeThere) {
  const test::TemporaryFolder folder;
  const std::string none = std::string(folder.path()) + "/none";
  const ebb_options options = {.name = "prod",
                               .state_folder = none.c_str(),
                               .objects_max = 0,
                               .dump_bytes_max = 0,
                               .as_given = 0};
  ebb_cluster* cluster = nullptr;
  ErrorSlot error;
  EXPECT_EQ(ebb_cluster_new(EBB_ABI_VERSION, &options, &cluster, error.slot()),
            EBB_INVALID_ARGUMENT);
  EXPECT_THAT(error.message(), HasSubstr("none: is not a folder"));
}

// Symptom: a programmer got errors that name flags: "--max-objects is 2", "session: UPPER", "pass
// what kubectl get prints".
TEST_F(EbbTest, ErrorsNameTheLibrarysOptionsAndArguments) {
  const auto error_with = [](const ebb_options& options, std::string_view dump) {
    ebb_cluster* cluster = nullptr;
    ErrorSlot error;
    if (ebb_cluster_new(EBB_ABI_VERSION, &options, &cluster, error.slot()) == EBB_OK) {
      EXPECT_NE(ebb_cluster_load(cluster, dump.data(), dump.size(), error.slot()), EBB_OK);
    }
    ebb_cluster_free(cluster);
    return error.message();
  };
  EXPECT_EQ(
      error_with({.name = "UPPER",
                  .state_folder = nullptr,
                  .objects_max = 0,
                  .dump_bytes_max = 0,
                  .as_given = 0},
                 ""),
      "name: \"UPPER\" is not a name; a name has 1 to 63 lower-case letters, digits, - and ., "
      "and begins and ends with a letter or digit");
  const std::string two = absl::StrCat(R"({"kind":"List","apiVersion":"v1","items":[)",
                                       NodeJson("a"), ",", NodeJson("b"), "]}");
  EXPECT_EQ(error_with({.name = nullptr,
                        .state_folder = nullptr,
                        .objects_max = 1,
                        .dump_bytes_max = 0,
                        .as_given = 1},
                       two),
            "objects: the dump has 2 objects; objects_max allows 1");
  EXPECT_THAT(error_with({.name = nullptr,
                          .state_folder = nullptr,
                          .objects_max = 0,
                          .dump_bytes_max = 10,
                          .as_given = 0},
                         two),
              HasSubstr("; dump_bytes_max allows for more"));
  EXPECT_THAT(error_with({.name = nullptr,
                          .state_folder = nullptr,
                          .objects_max = 0,
                          .dump_bytes_max = 0,
                          .as_given = 0},
                         "{}"),
              ::testing::Not(HasSubstr("; pass what `")));
}

TEST_F(EbbTest, RoundsKeepTheirStateInTheFolder) {
  const test::TemporaryFolder folder;
  const ebb_options options = {.name = "prod",
                               .state_folder = folder.path().c_str(),
                               .objects_max = 0,
                               .dump_bytes_max = 0,
                               .as_given = 0};
  const std::string snapshot = Call(EBB_CALL_EXPORT, EBB_JSON, "");
  for (int round = 1; round <= 2; ++round) {  // One process each.
    ebb_cluster* cluster = nullptr;
    ErrorSlot error;
    ASSERT_EQ(ebb_cluster_new(EBB_ABI_VERSION, &options, &cluster, error.slot()), EBB_OK);
    ASSERT_EQ(ebb_cluster_load(cluster, snapshot.data(), snapshot.size(), error.slot()), EBB_OK)
        << error.message();
    ASSERT_EQ(ebb_cluster_allow_incomplete(cluster, 1, error.slot()), EBB_OK);
    const v1alpha1::RoundCall call = [&] {
      v1alpha1::RoundCall made;
      made.mutable_input()->set_now(1780315200 + round);
      return made;
    }();
    const std::string request = call.SerializeAsString();
    ebb_bytes* bytes = nullptr;
    ASSERT_EQ(ebb_cluster_call(cluster, EBB_CALL_ROUND, EBB_PROTOBUF, request.data(),
                               request.size(), &bytes, error.slot()),
              EBB_OK)
        << error.message();
    v1alpha1::RoundReply reply;
    const ebb_text text = ebb_bytes_text(bytes);
    ASSERT_TRUE(reply.ParseFromArray(text.data, static_cast<int>(text.size)));
    EXPECT_EQ(reply.round(), round);
    ebb_bytes_free(bytes);
    ebb_cluster_free(cluster);
  }
}

TEST_F(EbbTest, GarbageInABatchLeavesTheBatchAsItWas) {
  ebb_batch* batch = ebb_batch_new();
  const std::string node = NodeJson("c");
  ASSERT_EQ(ebb_batch_put(batch, EBB_JSON, node.data(), node.size(), nullptr), EBB_OK);
  ErrorSlot error;
  EXPECT_EQ(ebb_batch_put(batch, EBB_JSON, "garbage", 7, error.slot()), EBB_INVALID_ARGUMENT);
  EXPECT_FALSE(error.message().empty());
  EXPECT_EQ(ebb_batch_size(batch), 1);
  uint64_t version = 0;
  EXPECT_EQ(ebb_cluster_apply(cluster_, batch, &version, nullptr), EBB_OK);
  EXPECT_EQ(version, 2);
  ebb_batch_free(batch);
  EXPECT_THAT(Call(EBB_CALL_STATUS, EBB_JSON, ""), HasSubstr("\"nodes\":\"3\""));
}

TEST_F(EbbTest, ManyObjectsInOneCall) {
  const std::string c = NodeJson("c");
  const std::string d = NodeJson("d");
  const std::string bytes = absl::StrCat("--", d, "garbage", c);
  const ebb_range ranges[] = {{bytes.size() - c.size(), bytes.size()}, {2, 2 + d.size()}};
  ebb_batch* batch = ebb_batch_new();
  size_t taken = 7;
  EXPECT_EQ(
      ebb_batch_put_many(batch, EBB_JSON, bytes.data(), bytes.size(), ranges, 2, &taken, nullptr),
      EBB_OK);
  EXPECT_EQ(taken, 2);
  EXPECT_EQ(ebb_cluster_apply(cluster_, batch, nullptr, nullptr), EBB_OK);
  EXPECT_THAT(Call(EBB_CALL_STATUS, EBB_JSON, ""), HasSubstr("\"nodes\":\"4\""));
  EXPECT_EQ(ebb_batch_put_many(batch, EBB_JSON, nullptr, 0, nullptr, 0, nullptr, nullptr), EBB_OK);
  EXPECT_EQ(ebb_batch_size(batch), 2);
  ebb_batch_free(batch);
}

TEST_F(EbbTest, ObjectsBeforeTheRefusedOneAreAdded) {
  const std::string bytes = absl::StrCat(NodeJson("c"), "garbage");
  const size_t node = bytes.size() - 7;
  ebb_batch* batch = ebb_batch_new();
  for (const ebb_range refused : {ebb_range{node, bytes.size()}, ebb_range{node, bytes.size() + 1},
                                  ebb_range{1, 0}, ebb_range{SIZE_MAX, SIZE_MAX}}) {
    const ebb_range ranges[] = {{0, node}, refused, {0, node}};
    size_t taken = 7;
    ErrorSlot error;
    ebb_batch_clear(batch);
    EXPECT_EQ(ebb_batch_put_many(batch, EBB_JSON, bytes.data(), bytes.size(), ranges, 3, &taken,
                                 error.slot()),
              EBB_INVALID_ARGUMENT);
    EXPECT_FALSE(error.message().empty());
    EXPECT_EQ(taken, 1);
    EXPECT_EQ(ebb_batch_size(batch), 1);
  }
  ebb_batch_free(batch);
}

TEST_F(EbbTest, AMessageOfChangesIsTakenWholeOrNotAtAll) {
  v1alpha1::ApplyRequest request;
  request.add_changes()->set_put_json(NodeJson("c"));
  request.add_changes()->set_put_json("{");
  request.add_changes()->set_put_json(NodeJson("d"));
  std::string bytes = request.SerializeAsString();
  ErrorSlot error;
  uint64_t version = 7;
  EXPECT_EQ(ebb_cluster_apply_message(cluster_, EBB_PROTOBUF, bytes.data(), bytes.size(), &version,
                                      error.slot()),
            EBB_INVALID_ARGUMENT);
  EXPECT_THAT(error.message(), HasSubstr("changes[1]"));
  EXPECT_EQ(version, 7);
  EXPECT_THAT(Call(EBB_CALL_STATUS, EBB_JSON, ""), HasSubstr("\"nodes\":\"2\""));
  request.mutable_changes()->DeleteSubrange(1, 1);
  bytes = request.SerializeAsString();
  EXPECT_EQ(ebb_cluster_apply_message(cluster_, EBB_PROTOBUF, bytes.data(), bytes.size(), &version,
                                      nullptr),
            EBB_OK);
  EXPECT_EQ(version, 2);
  EXPECT_THAT(Call(EBB_CALL_STATUS, EBB_JSON, ""), HasSubstr("\"nodes\":\"4\""));
}

TEST_F(EbbTest, AnObjectMayHaveTenMegabytes) {
  std::string pod = PodJson("big", "a");
  pod.insert(pod.size() - 1, absl::StrCat(R"(,"x":")", std::string(10 << 20, 'x'), "\""));
  ebb_batch* batch = ebb_batch_new();
  ErrorSlot error;
  EXPECT_EQ(ebb_batch_put(batch, EBB_JSON, pod.data(), pod.size(), error.slot()),
            EBB_RESOURCE_EXHAUSTED);
  EXPECT_EQ(ebb_batch_size(batch), 0);
  ebb_batch_free(batch);
}

TEST_F(EbbTest, DeletionsByName) {
  ebb_batch* batch = ebb_batch_new();
  EXPECT_EQ(ebb_batch_delete(batch, "Pod", "default", "p", "uid-p", nullptr), EBB_OK);
  EXPECT_EQ(ebb_batch_delete(batch, "Node", nullptr, "a", nullptr, nullptr), EBB_OK);
  EXPECT_EQ(ebb_batch_size(batch), 2);
  EXPECT_EQ(ebb_cluster_apply(cluster_, batch, nullptr, nullptr), EBB_OK);
  ebb_batch_free(batch);
  EXPECT_THAT(Call(EBB_CALL_STATUS, EBB_JSON, ""),
              ::testing::AllOf(HasSubstr("\"nodes\":\"1\""), HasSubstr("\"pods\":\"1\"")));
}

TEST_F(EbbTest, ADeletionWithoutANamespaceIsOfTheOneThatObjectsWithoutOneGet) {
  ebb_batch* batch = ebb_batch_new();
  EXPECT_EQ(ebb_batch_delete(batch, "Pod", nullptr, "p", nullptr, nullptr), EBB_OK);
  EXPECT_EQ(ebb_batch_delete(batch, "ReplicaSet", "", "web", nullptr, nullptr), EBB_OK);
  EXPECT_EQ(ebb_batch_delete(batch, "Node", "", "a", nullptr, nullptr), EBB_OK);
  EXPECT_EQ(ebb_cluster_apply(cluster_, batch, nullptr, nullptr), EBB_OK);
  ebb_batch_free(batch);
  EXPECT_THAT(Call(EBB_CALL_STATUS, EBB_JSON, ""),
              ::testing::AllOf(HasSubstr("\"nodes\":\"1\""), HasSubstr("\"pods\":\"1\""),
                               ::testing::Not(HasSubstr("\"unknownDeletes\":\"1\""))));
}

TEST_F(EbbTest, AnEmptyClusterAllowsNoPlan) {
  ebb_cluster* empty = nullptr;
  ASSERT_EQ(ebb_cluster_new(EBB_ABI_VERSION, nullptr, &empty, nullptr), EBB_OK);
  ebb_plan* plan = nullptr;
  ErrorSlot error;
  EXPECT_EQ(ebb_cluster_plan(empty, EBB_JSON, nullptr, 0, &plan, error.slot()),
            EBB_FAILED_PRECONDITION);
  EXPECT_EQ(plan, nullptr);
  ebb_cluster_free(empty);
}

TEST_F(EbbTest, AClosedClusterAnswersThatItIs) {
  ebb_cluster_close(cluster_);
  ebb_cluster_close(cluster_);
  EXPECT_EQ(Call(EBB_CALL_STATUS, EBB_JSON, ""), "the cluster was closed");
  EXPECT_EQ(CodeOf(EBB_CALL_PLAN, EBB_JSON, ""), EBB_FAILED_PRECONDITION);
  EXPECT_EQ(ebb_cluster_load(cluster_, "{}", 2, nullptr), EBB_FAILED_PRECONDITION);
}

class AsGivenTest : public EbbTest, public ::testing::WithParamInterface<bool> {
 protected:
  AsGivenTest() {
    const ebb_options options = {.name = nullptr,
                                 .state_folder = nullptr,
                                 .objects_max = 0,
                                 .dump_bytes_max = 0,
                                 .as_given = GetParam() ? 1 : 0};
    ebb_cluster* cluster = nullptr;
    EXPECT_EQ(ebb_cluster_new(EBB_ABI_VERSION, &options, &cluster, nullptr), EBB_OK);
    std::swap(cluster, cluster_);
    ebb_cluster_free(cluster);
  }
};

INSTANTIATE_TEST_SUITE_P(EbbTest, AsGivenTest, ::testing::Bool());

TEST_P(AsGivenTest, EndedPodsCountOrDoNot) {
  Put({NodeJson("a"), PodJson("p", "a", "3", "Succeeded")});
  v1alpha1::PlanInput call;
  call.set_now(1780315200);
  call.mutable_candidates()->add_nodes("a");
  v1alpha1::PassReply reply;
  ASSERT_TRUE(reply.ParseFromString(Call(EBB_CALL_PASS, EBB_PROTOBUF, call.SerializeAsString())));
  EXPECT_EQ(reply.plan().utilization(0).cpu(), GetParam() ? 0.75 : 0);
}

TEST_P(AsGivenTest, NodesWithoutAnyPodAreBelievedOrRefused) {
  Put({NodeJson("a"), NodeJson("b")});
  EXPECT_THAT(Call(EBB_CALL_PLAN, EBB_JSON, kAtNow),
              GetParam() ? HasSubstr("\"removed\": 2") : HasSubstr("not a single pod"));
}

TEST_F(EbbTest, BlockersFrontiersAndWhatIfsAreTheDocumentsOfTheCommandLine) {
  EXPECT_THAT(Call(EBB_CALL_BLOCKERS, EBB_JSON, kAtNow), HasSubstr("\"kind\": \"Blockers\""));
  EXPECT_THAT(Call(EBB_CALL_FRONTIER, EBB_JSON,
                   R"({"input":{"now":"1780315200","search":{"iterations":"2"}}})"),
              HasSubstr("\"kind\": \"Frontier\""));
  EXPECT_THAT(Call(EBB_CALL_WHAT_IF, EBB_JSON,
                   R"({"input":{"now":"1780315200"},
               "changes":"objects: [{kind: Node, metadata: {name: b}, $patch: delete}]"})"),
              HasSubstr("\"removedBeforeAlone\""));
  v1alpha1::BlockersReply blockers;
  EXPECT_TRUE(blockers.ParseFromString(Call(EBB_CALL_BLOCKERS, EBB_PROTOBUF, "")));
}

TEST_F(EbbTest, AHostEndsACall) {
  const auto ends_after = [this](ebb_call call, int asks, std::string_view request) {
    ebb_bytes* reply = nullptr;
    const ebb_code code = ebb_cluster_call_until(
        cluster_, call, EBB_JSON, request.data(), request.size(),
        [](void* left) { return --*static_cast<int*>(left) < 0 ? 1 : 0; }, &asks, &reply, nullptr);
    ebb_bytes_free(reply);
    return std::pair(code, asks);
  };
  const std::string of_a = R"({"input":{"now":"1780315200"},"nodes":["a"]})";
  const auto [code, left] = ends_after(EBB_CALL_EXPLAIN, 0, of_a);
  EXPECT_EQ(code, EBB_DEADLINE_EXCEEDED);
  EXPECT_EQ(left, -1);  // Once over, the host is not asked again.
  EXPECT_EQ(ends_after(EBB_CALL_EXPLAIN, 1'000'000, of_a).first, EBB_OK);
}

// The number of rows of a stream, which is released.
int64_t RowsOf(ArrowArrayStream& stream) {
  ArrowArray batch{};
  EXPECT_EQ(stream.get_next(&stream, &batch), 0);
  const int64_t rows = batch.length;
  batch.release(&batch);
  stream.release(&stream);
  return rows;
}

TEST_F(EbbTest, TablesOfTheClusterAndOfAPlan) {
  ArrowArrayStream stream{};
  ErrorSlot error;
  ASSERT_EQ(ebb_cluster_table(cluster_, "nodes", EBB_JSON, nullptr, 0, &stream, error.slot()),
            EBB_OK)
      << error.message();
  EXPECT_EQ(RowsOf(stream), 2);
  const std::string plan = Call(EBB_CALL_PLAN, EBB_JSON, kAtNow);
  ASSERT_EQ(ebb_answer_table("moves", plan.data(), plan.size(), &stream, nullptr), EBB_OK);
  EXPECT_EQ(RowsOf(stream), 1);
  EXPECT_EQ(ebb_cluster_table(cluster_, "moves", EBB_JSON, nullptr, 0, &stream, nullptr),
            EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_cluster_table(cluster_, nullptr, EBB_JSON, nullptr, 0, &stream, nullptr),
            EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_cluster_table(cluster_, "nodes", EBB_JSON, nullptr, 0, nullptr, nullptr),
            EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_answer_table("moves", nullptr, 5, &stream, nullptr), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_answer_table("moves", "{", 1, &stream, nullptr), EBB_INVALID_ARGUMENT);
}

TEST_F(EbbTest, PlansAreCompared) {
  const std::string plan = Call(EBB_CALL_PLAN, EBB_JSON, kAtNow);
  ebb_bytes* comparison = nullptr;
  ASSERT_EQ(ebb_compare(plan.data(), plan.size(), plan.data(), plan.size(), &comparison, nullptr),
            EBB_OK);
  EXPECT_THAT(std::string(ebb_bytes_text(comparison).data), HasSubstr("\"removedByBoth\": 1"));
  ebb_bytes_free(comparison);
  ErrorSlot error;
  EXPECT_EQ(ebb_compare(plan.data(), plan.size(), "{", 1, &comparison, error.slot()),
            EBB_INVALID_ARGUMENT);
  EXPECT_THAT(error.message(), HasSubstr("after: is not JSON"));
}

TEST(EbbLibraryTest, AGeneratedClusterIsADump) {
  ebb_bytes* snapshot = nullptr;
  ASSERT_EQ(ebb_generate("uniform", 3, 1, &snapshot, nullptr), EBB_OK);
  ebb_cluster* cluster = nullptr;
  ASSERT_EQ(ebb_cluster_new(EBB_ABI_VERSION, nullptr, &cluster, nullptr), EBB_OK);
  const ebb_text dump = ebb_bytes_text(snapshot);
  EXPECT_EQ(ebb_cluster_load(cluster, dump.data, dump.size, nullptr), EBB_OK);
  ebb_bytes_free(snapshot);
  ebb_cluster_free(cluster);
  ErrorSlot error;
  EXPECT_EQ(ebb_generate("unform", 3, 1, &snapshot, error.slot()), EBB_INVALID_ARGUMENT);
  EXPECT_THAT(error.message(), HasSubstr("is not one of uniform"));
  EXPECT_EQ(ebb_generate("uniform", 0, 1, &snapshot, nullptr), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_generate(nullptr, 3, 1, &snapshot, nullptr), EBB_INVALID_ARGUMENT);
  EXPECT_EQ(ebb_generate("uniform", 3, 1, nullptr, nullptr), EBB_INVALID_ARGUMENT);
}

TEST(EbbLibraryTest, TheTableOfOptionsHasTheFlagAndTheDefault) {
  ebb_bytes* bytes = nullptr;
  ASSERT_EQ(ebb_option_table(&bytes, nullptr), EBB_OK);
  const auto table = nlohmann::json::parse(ebb_bytes_text(bytes).data);
  ebb_bytes_free(bytes);
  for (const nlohmann::json& row : table) {
    if (row["option"] != "scaleDown.planner.scaleDownUtilizationThreshold") continue;
    EXPECT_EQ(row["flag"], "scale-down-utilization-threshold");
    EXPECT_EQ(row["kind"], "fraction");
    EXPECT_EQ(row["default"], 0.5);
    EXPECT_EQ(row["about"], "plans");
    return;
  }
  FAIL() << "the table lacks the threshold";
}

TEST_F(EbbTest, ManyThreadsMayCallAndOneClose) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 50; ++i) {
        const ebb_code code = CodeOf(EBB_CALL_PLAN, EBB_JSON, kAtNow);
        EXPECT_TRUE(code == EBB_OK || code == EBB_FAILED_PRECONDITION) << code;
      }
    });
  }
  threads.emplace_back([this] {
    for (int i = 0; i < 20; ++i) Put({PodJson(absl::StrCat("x", i), "b", "1m")});
    ebb_cluster_close(cluster_);
  });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace ebb::ebb_test
