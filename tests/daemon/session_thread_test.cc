#include "daemon/session_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/sessions.h"
#include "tests/session/session_objects.h"

namespace ebb::session_thread_test {
namespace {

using test::NodeJson;
using test::PodJson;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SessionThreadTest : public ::testing::Test {
 protected:
  SessionThreadTest() {
    options_.clock_s = [] { return int64_t{1780315200}; };
    options_.resident_bytes = [] { return uint64_t{0}; };
    Make(256);
  }
  void Make(size_t calls_max) {
    thread_ = std::make_shared<SessionThread>(std::make_unique<Session>("s", options_), calls_max);
  }

  // Keeps the session's thread at work until the promise is kept.
  std::promise<void> Occupy() {
    std::promise<void> go;
    std::promise<void> began;
    thread_->Post({.run = [&began, over = std::make_shared<std::future<void>>(go.get_future())](
                              Session&) -> SessionCall::Respond {
                     began.set_value();
                     over->wait();
                     return nullptr;
                   },
                   .refuse = [](const absl::Status&) {}});
    began.get_future().wait();
    return go;
  }
  void PostChange(std::function<void(Session&)> what) {
    thread_->Post({.run = [what = std::move(what)](Session& session) -> SessionCall::Respond {
                     what(session);
                     return nullptr;
                   },
                   .refuse = [](const absl::Status&) {},
                   .kind = SessionCall::Kind::kChange});
  }

  // Waits for the call's end.
  absl::Status Do(std::function<absl::Status(Session&)> what, uint64_t min_version = 0) {
    std::promise<absl::Status> ended;
    thread_->Post({.run = [&](Session& session) -> SessionCall::Respond {
                     return [&, status = what(session)] { ended.set_value(status); };
                   },
                   .refuse = [&](const absl::Status& why) { ended.set_value(why); },
                   .cancelled = nullptr,
                   .min_version = min_version});
    return ended.get_future().get();
  }
  static absl::Status Put(Session& session, const std::vector<std::string>& objects) {
    ChangeBatch batch;
    for (const std::string& object : objects) {
      if (absl::Status s = batch.PutJson(object); !s.ok()) return s;
    }
    return session.cluster().Take(batch);
  }

  // A cluster in which one of two nodes can go; `more` is an additional node.
  static absl::Status PutCluster(Session& session, const std::string& more = "") {
    std::vector<std::string> objects = {NodeJson("a"), NodeJson("b"), test::ReplicaSetJson(),
                                        PodJson("p", "a"), PodJson("q", "b")};
    if (!more.empty()) objects.push_back(NodeJson(more));
    return Put(session, objects);
  }

  // What a subscriber received.
  struct SentPlans {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<uint64_t> versions;
    std::vector<uint64_t> removes;
    std::vector<std::string> refusals;
    absl::Status end;
    PlanSubscriber::State state = PlanSubscriber::State::kReady;

    void WaitFor(size_t count) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return versions.size() >= count; });
    }
    void WaitForRefusals(size_t count) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return refusals.size() >= count; });
    }
    void WaitForEnd() {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return !end.ok(); });
    }
  };
  static std::unique_ptr<PlanSubscriber> SubscriberOf(const std::shared_ptr<SentPlans>& sent) {
    auto subscriber = std::make_unique<PlanSubscriber>();
    subscriber->state = [sent] {
      const std::lock_guard lock(sent->mutex);
      return sent->state;
    };
    subscriber->send = [sent](const absl::StatusOr<wire::PlanChange>& change) {
      const std::lock_guard lock(sent->mutex);
      if (!change.ok()) {
        sent->end = change.status();
      } else if (!change->refused().empty()) {
        sent->refusals.push_back(change->refused());
      } else {
        sent->versions.push_back(change->version());
        sent->removes.push_back(change->remove_count());
      }
      sent->changed.notify_all();
    };
    return subscriber;
  }

  SessionOptions options_;
  std::shared_ptr<SessionThread> thread_;
};

TEST_F(SessionThreadTest, CallsRunInTheirOrder) {
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    thread_->Post({.run = [&order, i](Session&) -> SessionCall::Respond {
                     order.push_back(i);
                     return nullptr;
                   },
                   .refuse = [](const absl::Status&) {}});
  }
  ASSERT_TRUE(Do([](Session&) { return absl::OkStatus(); }).ok());
  ASSERT_EQ(order.size(), 100);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

// Symptom: changes that had come while a long question ran waited for the questions before them,
// whose answers said that they were of now.
TEST_F(SessionThreadTest, ChangesGoBeforeCallsThatHaveNotBegun) {
  std::promise<void> go = Occupy();
  std::string order;  // Of the session's thread.
  const auto write = [&order](char letter) {
    return [&order, letter](Session&) { order += letter; };
  };
  std::promise<void> asked;
  for (const bool last : {false, true}) {
    thread_->Post({.run = [&, last](Session&) -> SessionCall::Respond {
                     order += 'q';
                     if (last) asked.set_value();
                     return nullptr;
                   },
                   .refuse = [](const absl::Status&) {}});
  }
  // What comes while the changes run waits for the question: a stream has no end.
  PostChange([&](Session&) {
    order += '1';
    PostChange(write('3'));
  });
  PostChange(write('2'));
  EXPECT_EQ(thread_->Status().calls_waiting(), 4);
  go.set_value();
  asked.get_future().wait();
  thread_.reset();
  EXPECT_EQ(order, "12q3q");
}

// A client that was answered that its change is taken, or that its stream has ended, asks next.
TEST_F(SessionThreadTest, ACallFindsTheChangeThatWasPostedBeforeIt) {
  for (int i = 1; i <= 3000; ++i) {
    int changed = 0;  // Of the session's thread.
    PostChange([&changed, i](Session&) { changed = i; });
    ASSERT_TRUE(Do([&changed, i](Session&) {
                  return changed == i ? absl::OkStatus() : absl::InternalError("");
                }).ok());
  }
}

TEST_F(SessionThreadTest, AWatchedPlanIncludesTheChangesThatHaveArrived) {
  const auto sent = std::make_shared<SentPlans>();
  thread_->Subscribe(SubscriberOf(sent));
  sent->WaitForRefusals(1);
  thread_->Post({.run = [this](Session& session) -> SessionCall::Respond {
                   PostChange([](Session& s) { EXPECT_TRUE(PutCluster(s, "more").ok()); });
                   EXPECT_TRUE(PutCluster(session).ok());
                   return nullptr;
                 },
                 .refuse = [](const absl::Status&) {}});
  sent->WaitFor(1);
  const std::lock_guard lock(sent->mutex);
  EXPECT_THAT(sent->versions, ElementsAre(2));
}

TEST_F(SessionThreadTest, AnAnswerIsNotNewerThanAPendingChange) {
  std::atomic<int64_t> now = 100;
  options_.clock_s = [&now] { return now.load(); };
  Make(256);
  ASSERT_TRUE(Do([](Session& session) {
                const uint64_t resync = session.cluster().BeginResync();
                if (absl::Status s = PutCluster(session); !s.ok()) return s;
                session.cluster().BeginFeed();
                return session.cluster().EndResync(resync).status();
              }).ok());
  std::promise<void> go = Occupy();
  int64_t as_of = 0;
  int64_t as_of_at_end = 0;
  absl::Status five_seconds;
  absl::Status nine_seconds;
  std::promise<void> asked;
  thread_->Post({.run = [&](Session& session) -> SessionCall::Respond {
                   as_of = session.cluster().Freshness().as_of();
                   five_seconds = session.cluster().CheckAnswers(5);
                   nine_seconds = session.cluster().CheckAnswers(9);
                   now = 200;  // It takes long.
                   as_of_at_end = session.cluster().Freshness().as_of();
                   asked.set_value();
                   return nullptr;
                 },
                 .refuse = [](const absl::Status&) {}});
  PostChange([&](Session&) {
    now = 110;
    PostChange([](Session&) {});
    now = 119;
  });
  go.set_value();
  asked.get_future().wait();
  EXPECT_EQ(as_of, 110);
  EXPECT_EQ(five_seconds.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(five_seconds.message()),
              HasSubstr("changes that came since then are not taken yet"));
  EXPECT_TRUE(nine_seconds.ok()) << nine_seconds;
  EXPECT_EQ(as_of_at_end, 110);
  // Once all is taken it is as of the time at which the answer began.
  ASSERT_TRUE(Do([&](Session& session) {
                now = 300;
                return session.cluster().Freshness().as_of() == 200 ? absl::OkStatus()
                                                                    : absl::InternalError("");
              }).ok());
  thread_.reset();  // Before what its calls use.
}

TEST_F(SessionThreadTest, ACallWaitsForItsVersion) {
  std::promise<uint64_t> version;
  thread_->Post({.run = [&](Session& session) -> SessionCall::Respond {
                   version.set_value(session.cluster().version());
                   return nullptr;
                 },
                 .refuse = [](const absl::Status&) {},
                 .cancelled = nullptr,
                 .min_version = 2});
  ASSERT_TRUE(Do([](Session& s) { return Put(s, {NodeJson("a")}); }).ok());
  ASSERT_TRUE(Do([](Session& s) { return Put(s, {NodeJson("b")}); }).ok());
  EXPECT_EQ(version.get_future().get(), 2);
  EXPECT_EQ(thread_->Status().version(), 2);
}

TEST_F(SessionThreadTest, ACancelledCallThatWaitsForAVersionIsRefused) {
  std::atomic<bool> cancelled = false;
  std::promise<absl::Status> refused;
  thread_->Post({.run = [](Session&) -> SessionCall::Respond { return nullptr; },
                 .refuse = [&](const absl::Status& why) { refused.set_value(why); },
                 .cancelled = [&] { return cancelled.load(); },
                 .min_version = 9});
  ASSERT_TRUE(Do([](Session&) { return absl::OkStatus(); }).ok());
  EXPECT_EQ(thread_->Status().calls_waiting(), 1);
  cancelled = true;
  thread_->Wake();
  EXPECT_EQ(refused.get_future().get().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(thread_->Status().calls_waiting(), 0);
}

TEST_F(SessionThreadTest, ACallWaitsForOneSubscriberAtMost) {
  ASSERT_TRUE(Do([](Session& session) { return PutCluster(session); }).ok());
  std::string order;  // Used by the session's thread.
  std::promise<void> all_sent;
  const auto send = [&](const absl::StatusOr<wire::PlanChange>& change) {
    if (!change.ok()) return;  // The session has ended.
    order += 'w';
    if (order == "w") {
      thread_->Post({.run = [&](Session&) -> SessionCall::Respond {
                       order += 'c';
                       return nullptr;
                     },
                     .refuse = [](const absl::Status&) {}});
    }
    if (std::ranges::count(order, 'w') == 3) all_sent.set_value();
  };
  // Adds all subscribers before the first one is notified.
  ASSERT_TRUE(Do([&](Session&) {
                for (int i = 0; i < 3; ++i) {
                  auto subscriber = std::make_unique<PlanSubscriber>();
                  subscriber->state = [] { return PlanSubscriber::State::kReady; };
                  subscriber->send = send;
                  thread_->Subscribe(std::move(subscriber));
                }
                return absl::OkStatus();
              }).ok());
  all_sent.get_future().wait();
  thread_.reset();
  EXPECT_EQ(order, "wcww");
}

TEST_F(SessionThreadTest, AfterEndWaitingNoCallWaitsForAVersion) {
  std::promise<absl::Status> refused;
  thread_->Post({.run = [](Session&) -> SessionCall::Respond { return nullptr; },
                 .refuse = [&](const absl::Status& why) { refused.set_value(why); },
                 .cancelled = nullptr,
                 .min_version = 2});
  thread_->EndWaiting(absl::UnavailableError("the end"));
  EXPECT_EQ(refused.get_future().get().message(), "the end");
  ASSERT_TRUE(Do([](Session& s) { return Put(s, {NodeJson("a")}); }).ok());
  EXPECT_TRUE(Do([](Session&) { return absl::OkStatus(); }, 1).ok());
  EXPECT_EQ(Do([](Session&) { return absl::OkStatus(); }, 2).message(), "the end");
}

TEST_F(SessionThreadTest, AsManyCallsWaitAsAllowed) {
  Make(2);
  std::promise<void> go;
  std::promise<void> began;
  thread_->Post({.run = [&](Session&) -> SessionCall::Respond {
                   began.set_value();
                   go.get_future().wait();
                   return nullptr;
                 },
                 .refuse = [](const absl::Status&) {}});
  began.get_future().wait();
  std::vector<absl::Status> refused;
  for (int i = 0; i < 3; ++i) {
    thread_->Post({.run = [](Session&) -> SessionCall::Respond { return nullptr; },
                   .refuse = [&](const absl::Status& why) { refused.push_back(why); }});
  }
  ASSERT_EQ(refused.size(), 1);
  EXPECT_EQ(refused[0].code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused[0].message()), HasSubstr("--max-waiting-calls"));
  // A call that ends something that was begun is accepted nevertheless.
  std::promise<void> ended;
  thread_->Post({.run = [&](Session&) -> SessionCall::Respond {
                   ended.set_value();
                   return nullptr;
                 },
                 .refuse =
                     [&](const absl::Status& why) {
                       refused.push_back(why);
                       ended.set_value();
                     },
                 .beyond_max = true});
  EXPECT_EQ(refused.size(), 1);
  go.set_value();
  ended.get_future().wait();
  thread_.reset();  // Must end before the objects that its calls use.
}

TEST_F(SessionThreadTest, CallsThatWaitForAChangeDoNotBlockIt) {
  Make(4);
  std::promise<void> refused;
  std::promise<void> last_ran;
  std::atomic<int> ran = 0;
  for (int i = 0; i < 4; ++i) {
    thread_->Post({.run = [&](Session&) -> SessionCall::Respond {
                     if (++ran == 4) last_ran.set_value();
                     return nullptr;
                   },
                   .refuse = [](const absl::Status& why) { ADD_FAILURE() << why; },
                   .cancelled = nullptr,
                   .min_version = 1});
  }
  thread_->Post({.run = [](Session&) -> SessionCall::Respond { return nullptr; },
                 .refuse = [&](const absl::Status&) { refused.set_value(); },
                 .cancelled = nullptr,
                 .min_version = 1});
  refused.get_future().wait();
  EXPECT_TRUE(Do([](Session& session) { return PutCluster(session); }).ok());
  last_ran.get_future().wait();
}

TEST_F(SessionThreadTest, ClosingRefusesWaitingCalls) {
  std::promise<absl::Status> refused;
  thread_->Post({.run = [](Session&) -> SessionCall::Respond { return nullptr; },
                 .refuse = [&](const absl::Status& why) { refused.set_value(why); },
                 .cancelled = nullptr,
                 .min_version = 9});
  thread_->Close(absl::AbortedError("closed"));
  EXPECT_EQ(refused.get_future().get().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Do([](Session&) { return absl::OkStatus(); }).code(), absl::StatusCode::kAborted);
}

// Symptom: a question's answer came as good long after its session was closed, about a cluster that
// was gone.
TEST_F(SessionThreadTest, ClosingEndsARunningQuestionAndNoOtherCall) {
  using Kind = SessionCall::Kind;
  for (const Kind kind : {Kind::kQuestion, Kind::kInTurn, Kind::kChange}) {
    Make(256);
    std::promise<void> began;
    std::promise<absl::Status> ended;
    thread_->Post({.run = [&](Session&) -> SessionCall::Respond {
                     began.set_value();
                     while (!thread_->closing().Expired()) std::this_thread::yield();
                     return [&ended] { ended.set_value(absl::OkStatus()); };
                   },
                   .refuse = [&ended](const absl::Status& why) { ended.set_value(why); },
                   .kind = kind});
    began.get_future().wait();
    thread_->Close(absl::AbortedError("closed"));
    EXPECT_EQ(ended.get_future().get().code(),
              kind == Kind::kQuestion ? absl::StatusCode::kAborted : absl::StatusCode::kOk);
  }
}

TEST_F(SessionThreadTest, ClosingEndsARunningPlanOfASubscriber) {
  ASSERT_TRUE(Do([](Session& session) { return PutCluster(session); }).ok());
  const auto sent = std::make_shared<SentPlans>();
  auto subscriber = SubscriberOf(sent);
  // The last look at it before its plan is made.
  subscriber->state = [this, looks = 0]() mutable {
    if (++looks == 2) thread_->Close(absl::AbortedError("closed"));
    return PlanSubscriber::State::kReady;
  };
  thread_->Subscribe(std::move(subscriber));
  sent->WaitForEnd();
  EXPECT_THAT(sent->versions, IsEmpty());
}

TEST_F(SessionThreadTest, SubscribersReceiveOnlyPlansThatChanged) {
  const auto sent = std::make_shared<SentPlans>();
  thread_->Subscribe(SubscriberOf(sent));
  ASSERT_TRUE(Do([](Session& s) {
                return Put(s, {NodeJson("a"), NodeJson("b"), PodJson("p", "a")});
              }).ok());
  sent->WaitFor(1);
  // A change that does not change the plan is not sent.
  ASSERT_TRUE(Do([](Session& s) {
                return Put(s, {R"({"apiVersion":"v1","kind":"Namespace",)"
                               R"("metadata":{"name":"default","uid":"d"}})"});
              }).ok());
  ASSERT_TRUE(Do([](Session& s) { return Put(s, {NodeJson("c")}); }).ok());
  sent->WaitFor(2);
  {
    const std::lock_guard lock(sent->mutex);
    EXPECT_THAT(sent->versions, ElementsAre(1, 3));
    sent->state = PlanSubscriber::State::kGone;
  }
}

// Symptom: the subscriber of a cluster that allows no plan got no message at all.
TEST_F(SessionThreadTest, ASubscriberReceivesEachReasonForAMissingPlanOnce) {
  const auto sent = std::make_shared<SentPlans>();
  thread_->Subscribe(SubscriberOf(sent));
  sent->WaitForRefusals(1);
  ASSERT_TRUE(Do([](Session& s) { return Put(s, {}); }).ok());
  ASSERT_TRUE(Do([](Session& s) { return PutCluster(s); }).ok());
  sent->WaitFor(1);
  const std::lock_guard lock(sent->mutex);
  EXPECT_THAT(sent->refusals, ElementsAre(HasSubstr("no nodes")));
  EXPECT_THAT(sent->removes, ElementsAre(1));
}

// Symptom: settings changed the plan, but subscribers were notified only after the next change of
// the cluster.
TEST_F(SessionThreadTest, SubscribersReceiveThePlanThatNewSettingsChange) {
  const auto sent = std::make_shared<SentPlans>();
  thread_->Subscribe(SubscriberOf(sent));
  ASSERT_TRUE(Do([](Session& s) { return PutCluster(s); }).ok());
  sent->WaitFor(1);
  ASSERT_TRUE(Do([](Session& s) {
                wire::Settings settings;
                settings.add_group_sizes()->set_name("g");
                settings.mutable_group_sizes(0)->set_min_size(2);
                settings.mutable_group_sizes(0)->set_max_size(5);
                return s.cluster().SetSettings(settings);
              }).ok());
  sent->WaitFor(2);
  const std::lock_guard lock(sent->mutex);
  EXPECT_THAT(sent->removes, ElementsAre(1, 0));
  EXPECT_THAT(sent->versions, ElementsAre(1, 1));
}

TEST_F(SessionThreadTest, ABusySubscriberReceivesThePlanLater) {
  const auto sent = std::make_shared<SentPlans>();
  sent->state = PlanSubscriber::State::kBusy;
  thread_->Subscribe(SubscriberOf(sent));
  for (const char* name : {"c", "d"}) {
    ASSERT_TRUE(Do([&](Session& s) { return PutCluster(s, name); }).ok());
  }
  {
    const std::lock_guard lock(sent->mutex);
    EXPECT_THAT(sent->versions, IsEmpty());
    sent->state = PlanSubscriber::State::kReady;
  }
  thread_->Wake();
  sent->WaitFor(1);  // One plan: of the version that the session has by then.
  const std::lock_guard lock(sent->mutex);
  EXPECT_THAT(sent->versions, ElementsAre(2));
}

TEST_F(SessionThreadTest, ClosingNotifiesSubscribers) {
  const auto sent = std::make_shared<SentPlans>();
  thread_->Subscribe(SubscriberOf(sent));
  ASSERT_TRUE(Do([](Session& s) { return PutCluster(s); }).ok());
  sent->WaitFor(1);
  thread_->Close(absl::AbortedError("closed"));
  sent->WaitForEnd();
  EXPECT_EQ(sent->end.code(), absl::StatusCode::kAborted);
  // A later subscriber is notified at once.
  const auto late = std::make_shared<SentPlans>();
  thread_->Subscribe(SubscriberOf(late));
  EXPECT_EQ(late->end.code(), absl::StatusCode::kAborted);
}

TEST_F(SessionThreadTest, EachCallThatWaitsIsServed) {
  std::vector<std::promise<uint64_t>> versions(5);
  for (size_t i = 0; i < versions.size(); ++i) {
    thread_->Post({.run = [&, i](Session& session) -> SessionCall::Respond {
                     versions[i].set_value(session.cluster().version());
                     return nullptr;
                   },
                   .refuse = [](const absl::Status&) {},
                   .cancelled = nullptr,
                   .min_version = versions.size() - i});
  }
  for (size_t i = 0; i < versions.size(); ++i) {
    ASSERT_TRUE(Do([&](Session& s) { return Put(s, {NodeJson(absl::StrCat("n", i))}); }).ok());
  }
  for (size_t i = 0; i < versions.size(); ++i) {
    EXPECT_GE(versions[i].get_future().get(), versions.size() - i);
  }
  EXPECT_EQ(thread_->Status().calls_waiting(), 0);
}

TEST_F(SessionThreadTest, ACallThatIsCancelledBeforeItsTurnDoesNotRun) {
  std::promise<void> go;
  thread_->Post({.run = [&](Session&) -> SessionCall::Respond {
                   go.get_future().wait();
                   return nullptr;
                 },
                 .refuse = [](const absl::Status&) {}});
  std::promise<absl::Status> refused;
  thread_->Post({.run = [](Session&) -> SessionCall::Respond {
                   ADD_FAILURE() << "ran";
                   return nullptr;
                 },
                 .refuse = [&](const absl::Status& why) { refused.set_value(why); },
                 .cancelled = [] { return true; }});
  go.set_value();
  EXPECT_EQ(refused.get_future().get().code(), absl::StatusCode::kCancelled);
}

TEST(SessionsTest, AreFoundByName) {
  SessionOptions options;
  Sessions sessions(options, {.sessions_max = 2, .calls_max = 10});
  EXPECT_EQ(sessions.Find("a").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(sessions.FindOrMake("A b").status().code(), absl::StatusCode::kInvalidArgument);
  const auto a = sessions.FindOrMake("a");
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(*sessions.FindOrMake("a"), *a);
  EXPECT_EQ((*sessions.FindOrMake(""))->name(), "default");
  const absl::Status full = sessions.FindOrMake("c").status();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), HasSubstr("--max-sessions"));
  EXPECT_EQ(sessions.All().size(), 2);
  ASSERT_TRUE(sessions.Close("a").ok());
  EXPECT_EQ(sessions.Close("a").code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(sessions.FindOrMake("c").ok());
  sessions.CloseAll();
  EXPECT_EQ(sessions.FindOrMake("d").status().code(), absl::StatusCode::kUnavailable);
}

TEST(SessionsTest, OnlyANewSessionTakesObjectsAsGiven) {
  SessionOptions options;
  Sessions sessions(options, Sessions::Limits());
  const auto as_given = [](const std::shared_ptr<SessionThread>& session) {
    return session->Status().as_given();
  };
  EXPECT_TRUE(as_given(*sessions.FindOrMake("given", Sessions::Kind::kAsGiven)));
  EXPECT_TRUE(as_given(*sessions.FindOrMake("given")));
  EXPECT_FALSE(as_given(*sessions.FindOrMake("usual")));
  EXPECT_FALSE(as_given(*sessions.FindOrMake("usual", Sessions::Kind::kAsGiven)));
}

}  // namespace
}  // namespace ebb::session_thread_test
