#include "daemon/message_parts.h"

#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <string>

#include "wire/planner.pb.h"

namespace ebb::message_parts_test {
namespace {

namespace wire = v1alpha1;
using ::testing::HasSubstr;

template <typename Message>
absl::Status Check(const std::string& bytes, uint64_t most = kPartsBytesMax) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()), 100);
  return CheckMessageParts(*Message::descriptor(), stream, most);
}

TEST(MessagePartsTest, AMessageOfManyObjectsIsAccepted) {
  wire::ApplyRequest request;
  request.set_session("s");
  for (int i = 0; i < 100'000; ++i) request.add_changes()->set_put_json(std::string(300, 'x'));
  EXPECT_EQ(Check<wire::ApplyRequest>(request.SerializeAsString()), absl::OkStatus());
  EXPECT_EQ(Check<wire::ApplyRequest>(""), absl::OkStatus());
}

// Symptom: 61 MiB of empty messages in a list took 3.2 GB before anything was checked.
TEST(MessagePartsTest, EmptyPartsWithoutEndAreRefused) {
  wire::RoundCall call;
  for (int i = 0; i < 1000; ++i) call.mutable_sizing()->add_pools();
  EXPECT_TRUE(Check<wire::RoundCall>(call.SerializeAsString(), 1001 * 128).ok());
  const absl::Status refused = Check<wire::RoundCall>(call.SerializeAsString(), 1000 * 128);
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("send fewer at a time"));
  std::string names;
  for (int i = 0; i < 1000; ++i) names += std::string("\x1a\x00", 2);
  EXPECT_TRUE(absl::IsResourceExhausted(Check<wire::FilterCall>(names, 1000)));
  std::string unknown;
  for (int i = 0; i < 1000; ++i) unknown += std::string("\xf8\x7f\x01", 3);  // Field 2047.
  EXPECT_TRUE(absl::IsResourceExhausted(Check<wire::FilterCall>(unknown, 1000)));
}

TEST(MessagePartsTest, BytesThatAreNotAMessageAreRejected) {
  for (const std::string& bytes :
       {std::string("\x0a\x05zz"), std::string("\xff"), std::string("\x0a"), std::string("\x07"),
        std::string("\x0a\xff\xff\xff\xff\x7f")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Check<wire::ApplyRequest>(bytes))) << bytes.size();
  }
}

}  // namespace
}  // namespace ebb::message_parts_test
