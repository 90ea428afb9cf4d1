// serve_soak EBB [--seconds S] [--clients C] [--sessions N]: `EBB serve` under many clients.
//
// Clients, each with its own connection, call sessions of 1,000 nodes at random for plans,
// explanations and filters, and change some of their pods.  All call at once and without a pause.
// Every ten seconds a row shows the daemon's resident size.  At the end a table shows for each call
// how often it was made and how long it took.
//
// Exit code: 0; 1 if a call failed, or if the resident size in the last ten seconds is more than
// 10% above that of the first third.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "daemon/client.h"
#include "platform/clock.h"
#include "snapshot/formats/binary_snapshot.h"
#include "snapshot/samples/generate.h"

namespace ebb {
namespace {

constexpr uint32_t kNodes = 1000;

struct Amounts {
  int seconds = 60;
  int clients = 200;
  int sessions = 8;
};

// A running `EBB serve` in its own folder; the destructor ends it.
class ServedEbb {
 public:
  explicit ServedEbb(const char* program) {
    std::string folder = (std::filesystem::temp_directory_path() / "ebb-soak-XXXXXX").string();
    folder_ = mkdtemp(folder.data());
    const std::string socket = folder_ + "/e.sock";
    pid_ = fork();
    if (pid_ == 0) {
      execl(program, program, "serve", "--socket", socket.c_str(), "--log", "none",
            static_cast<char*>(nullptr));
      _exit(127);
    }
  }
  ~ServedEbb() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }
  ServedEbb(const ServedEbb&) = delete;
  ServedEbb& operator=(const ServedEbb&) = delete;

  [[nodiscard]] std::unique_ptr<PlannerClient> Connect() const {
    for (int tries = 0; tries < 100; ++tries) {
      auto client = PlannerClient::Connect("unix:" + folder_ + "/e.sock");
      if (client.ok()) return *std::move(client);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    std::fprintf(stderr, "the daemon does not answer\n");
    std::exit(1);
  }

 private:
  std::string folder_;
  pid_t pid_ = 0;
};

std::string SessionName(int session) { return absl::StrCat("s", session); }
bool IsUniform(int session) { return session % 2 == 0; }
const char* FirstNode(int session) { return IsUniform(session) ? "ng1-node-0" : "node-00000"; }

absl::Status Load(PlannerClient& client, int session) {
  return client
      .Load(SessionName(session), wire::Settings(),
            [&](const PlannerClient::Write& write) {
              BinarySnapshotWriter writer(write);
              const samples::GenerateOptions options{.nodes = kNodes,
                                                     .seed = static_cast<uint64_t>(session) + 1};
              absl::Status made = IsUniform(session) ? samples::GenerateUniform(options, writer)
                                                     : samples::GenerateMixed(options, writer);
              return made.ok() ? writer.Finish() : made;
            })
      .status();
}

// Counts and times of the calls of all clients.
class Tally {
 public:
  void Add(const std::string& call, double seconds, const absl::Status& status) {
    const std::lock_guard lock(mutex_);
    seconds_[call].push_back(seconds);
    if (status.ok()) return;
    if (++failed_ <= 10) std::fprintf(stderr, "%s: %s\n", call.c_str(), status.ToString().c_str());
  }

  // Returns how many calls failed.
  uint64_t Print() {
    std::printf("\n%-8s %9s %9s %9s %9s\n", "CALL", "CALLS", "p50 ms", "p99 ms", "max ms");
    for (auto& [call, seconds] : seconds_) {
      std::ranges::sort(seconds);
      std::printf("%-8s %9zu %9.1f %9.1f %9.1f\n", call.c_str(), seconds.size(),
                  1e3 * seconds[seconds.size() / 2], 1e3 * seconds[seconds.size() * 99 / 100],
                  1e3 * seconds.back());
    }
    std::printf("%lu calls failed\n", static_cast<unsigned long>(failed_));
    return failed_;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<double>> seconds_;
  uint64_t failed_ = 0;
};

// Adds or deletes a small pod of the client.
wire::ApplyRequest Change(int session, int client, uint64_t round) {
  wire::ApplyRequest request;
  request.set_session(SessionName(session));
  const std::string name = absl::StrCat("soak-", client);
  if (round % 2 == 1) {
    wire::Deletion& gone = *request.add_changes()->mutable_delete_();
    gone.set_kind("Pod");
    gone.set_namespace_("default");
    gone.set_name(name);
  } else {
    request.add_changes()->set_put_json(absl::StrCat(
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default","name":")", name,
        R"(","uid":")", name, "-", round, R"("},"spec":{"nodeName":")", FirstNode(session),
        R"(","containers":[{"name":"c","resources":{"requests":{"cpu":"1m"}}}]},)"
        R"("status":{"phase":"Running"}})"));
  }
  return request;
}

void RunClient(const ServedEbb& served, int client, const Amounts& amounts,
               const std::atomic<bool>& ends, Tally& tally) {
  const std::unique_ptr<PlannerClient> planner = served.Connect();
  Random random(static_cast<uint64_t>(client) + 1);
  std::vector<uint64_t> rounds(static_cast<size_t>(amounts.sessions));
  while (!ends) {
    const int s = static_cast<int>(random.Below(static_cast<uint64_t>(amounts.sessions)));
    const std::string session = SessionName(s);
    const uint64_t what = random.Below(100);
    const auto start = Clock::now();
    const auto took = [&](const char* call, const absl::Status& status) {
      tally.Add(call, SecondsSince(start), status);
    };
    if (what < 70) {
      wire::PlanCall call;
      call.mutable_input()->set_session(session);
      call.mutable_input()->set_allow_incomplete(true);  // Uniform clusters list no budgets.
      call.set_form(wire::AS_NAMES);
      took("Plan", planner->Plan(call).status());
    } else if (what < 90) {
      took("Apply", planner->Apply(Change(s, client, rounds[static_cast<size_t>(s)]++)).status());
    } else if (what < 95) {
      wire::ExplainCall call;
      call.mutable_input()->set_session(session);
      call.add_nodes(FirstNode(s));
      took("Explain", planner->Explain(call).status());
    } else {
      took("Status", planner->Status().status());
    }
  }
}

// Prints the daemon's resident size every ten seconds, until the time is over.
bool Watch(PlannerClient& client, int seconds) {
  uint64_t early = 0;
  uint64_t last = 0;
  const auto start = Clock::now();
  for (int at = 0; at < seconds;) {
    const int step = std::min(10, seconds - at);
    std::this_thread::sleep_until(start + std::chrono::seconds(at + step));
    at += step;
    const auto status = client.Status();
    if (!status.ok()) return false;
    last = status->resident_bytes();
    if (at <= seconds / 3) early = std::max(early, last);
    std::printf("%4d s: %6.1f MiB resident\n", at, static_cast<double>(last) / (1 << 20));
    std::fflush(stdout);
  }
  if (early == 0 || last <= early + early / 10) return true;
  std::printf("the resident size grows\n");
  return false;
}

int Run(const char* program, const Amounts& amounts) {
  const ServedEbb served(program);
  const std::unique_ptr<PlannerClient> client = served.Connect();
  for (int s = 0; s < amounts.sessions; ++s) {
    if (const absl::Status loaded = Load(*client, s); !loaded.ok()) {
      std::fprintf(stderr, "%s\n", loaded.ToString().c_str());
      return 1;
    }
  }
  std::printf("%d clients, %d sessions of %u nodes, %d s\n", amounts.clients, amounts.sessions,
              kNodes, amounts.seconds);
  Tally tally;
  std::atomic<bool> ends = false;
  std::vector<std::jthread> threads;
  for (int c = 0; c < amounts.clients; ++c) {
    threads.emplace_back([&, c] { RunClient(served, c, amounts, ends, tally); });
  }
  const bool flat = Watch(*client, amounts.seconds);
  ends = true;
  threads.clear();
  const uint64_t failed = tally.Print();
  return flat && failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ebb

int main(int argc, char** argv) {
  ebb::Amounts amounts;
  for (int i = 2; i + 1 < argc; i += 2) {
    const int value = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--seconds") == 0) amounts.seconds = value;
    if (std::strcmp(argv[i], "--clients") == 0) amounts.clients = value;
    if (std::strcmp(argv[i], "--sessions") == 0) amounts.sessions = value;
  }
  if (argc < 2 || argc % 2 != 0 || amounts.seconds < 1 || amounts.clients < 1 ||
      amounts.sessions < 1) {
    std::fprintf(stderr, "serve_soak EBB [--seconds S] [--clients C] [--sessions N]\n");
    return 2;
  }
  return ebb::Run(argv[1], amounts);
}
