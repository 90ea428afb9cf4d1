// Messages to a session of the daemon: the session answers or rejects any message, and a rejected
// message changes nothing.
//
// Input: a sequence of messages.  Each is a byte that selects the call, two bytes with the length
// (low byte first), and the message's bytes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "session/session.h"
#include "session/wire_changes.h"

namespace ebb {
namespace {

constexpr int64_t kNow = 1780315200;

// Removes the next message from the front of `input`.
std::string_view Next(std::string_view& input, uint8_t& call) {
  call = static_cast<uint8_t>(input[0]);
  const size_t size = input.size() < 3 ? 0
                                       : static_cast<uint8_t>(input[1]) +
                                             size_t{256} * static_cast<uint8_t>(input[2]);
  input.remove_prefix(std::min<size_t>(input.size(), 3));
  const std::string_view message = input.substr(0, size);
  input.remove_prefix(message.size());
  return message;
}

template <typename Message>
std::optional<Message> Parse(std::string_view bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
  return message;
}

// Returns whether the session accepted a change.  `resync` is the resync that began last.
bool Send(Session& session, uint8_t call, std::string_view bytes, uint64_t& resync) {
  switch (call % 8) {
    case 0:
      if (const auto request = Parse<wire::ApplyRequest>(bytes)) {
        ChangeBatch batch(size_t{1} << 16);
        return PutChanges(request->changes(), batch).ok() && session.cluster().Take(batch).ok();
      }
      return false;
    case 1:
      return session.cluster().Load(bytes, nullptr).ok();
    case 2:
      if (const auto settings = Parse<wire::Settings>(bytes)) {
        (void)session.cluster().SetSettings(*settings);
      }
      return false;
    case 3:
      if (const auto plan = Parse<wire::PlanCall>(bytes)) {
        (void)session.questions().Plan(*plan, std::nullopt);
      }
      return false;
    case 4:
      if (const auto explain = Parse<wire::ExplainCall>(bytes)) {
        (void)session.questions().Explain(*explain, std::nullopt);
      }
      return false;
    case 5:
      if (const auto filter = Parse<wire::FilterCall>(bytes))
        (void)session.questions().Filter(*filter);
      return false;
    case 6:
      if (const auto pass = Parse<wire::PlanInput>(bytes))
        (void)session.questions().Pass(*pass, std::nullopt);
      return false;
    default:
      if (bytes.empty()) {
        resync = session.cluster().BeginResync();
        return false;
      }
      return session.cluster().EndResync(resync).ok();
  }
}

}  // namespace
}  // namespace ebb

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  ebb::SessionOptions options;
  options.clock_s = [] { return ebb::kNow; };
  options.objects_max = 1000;
  options.dump_bytes_max = 1 << 20;
  ebb::Session session("fuzz", options);
  ebb::wire::PlanCall question;
  question.mutable_input()->set_now(ebb::kNow);
  *question.mutable_input()->mutable_settings() = {};
  uint64_t resync = 0;
  while (!input.empty()) {
    const uint64_t version = session.cluster().version();
    const auto before = session.questions().Plan(question, std::nullopt);
    uint8_t call = 0;
    const std::string_view message = ebb::Next(input, call);
    const bool taken = ebb::Send(session, call, message, resync);
    EBB_CHECK(session.cluster().version() == version + (taken ? 1 : 0));
    const auto after = session.questions().Plan(question, std::nullopt);
    if (taken) continue;
    // The first resync has begun: from here on the cluster may be incomplete.
    if (absl::IsUnavailable(after.status())) continue;
    EBB_CHECK(after.ok() == before.ok());
    EBB_CHECK(!after.ok() || after->plan() == before->plan());
  }
  return 0;
}
