#include "daemon/page_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/rfc3339.h"
#include "report/page_data.h"
#include "report/plan_json.h"
#include "report/plan_report.h"
#include "snapshot/formats/json_text.h"

namespace ebb {
namespace {

using Json = nlohmann::ordered_json;

bool IsSame(const std::weak_ptr<const void>& a, const std::weak_ptr<const void>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

absl::StatusOr<std::string> PageJson(Session& session) {
  Json page;
  const auto tell = [&](const PlanReport& report) {
    page = PageData(report, PlanJson(report));
    return absl::OkStatus();
  };
  if (absl::Status s = session.questions().WithReport(wire::PlanInput(), std::nullopt, tell);
      !s.ok())
    return s;
  page["version"] = session.cluster().version();
  if (const wire::Freshness freshness = session.cluster().Freshness();
      freshness.has_not_fed_since()) {
    page["notFedSince"] = FormatRfc3339(freshness.not_fed_since());
  }
  page["timers"] = Json::array();
  for (const auto& [node, since_s] : session.rounds().Timers()) {
    page["timers"].push_back({{"node", node}, {"since", FormatRfc3339(since_s)}});
  }
  return CompactJson(page);
}

std::optional<std::string> PageJsons::Find(const std::weak_ptr<const void>& owner,
                                           uint64_t revision, int64_t rounds) {
  const std::lock_guard lock(mutex_);
  const auto page =
      std::ranges::find_if(pages_, [&](const Page& each) { return IsSame(each.owner, owner); });
  if (page == pages_.end() || page->revision != revision || page->rounds != rounds) {
    return std::nullopt;
  }
  return page->text;
}

absl::StatusOr<std::string> PageJsons::Of(const std::weak_ptr<const void>& owner,
                                          Session& session) {
  const uint64_t revision = session.cluster().revision();
  const int64_t rounds = session.Status().rounds();
  if (auto kept = Find(owner, revision, rounds)) return *std::move(kept);
  absl::StatusOr<std::string> text = PageJson(session);
  if (!text.ok()) return text;
  const std::lock_guard lock(mutex_);
  std::erase_if(
      pages_, [&](const Page& each) { return each.owner.expired() || IsSame(each.owner, owner); });
  pages_.push_back({.owner = owner, .revision = revision, .rounds = rounds, .text = *text});
  return text;
}

}  // namespace ebb
