#include "cli/policies/policy_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "base/printable.h"
#include "base/rfc3339.h"
#include "cli/print/fail.h"
#include "cli/print/table.h"

namespace ebb {

absl::StatusOr<KeptSizing> OpenSizing(const std::string& file, SqliteStateOptions options) {
  KeptSizing kept;
  if (file.empty()) return kept;
  options.use = SqliteUse::kState;
  absl::StatusOr<std::unique_ptr<SqliteState>> store = SqliteState::Open(file, options);
  if (!store.ok()) return store.status();
  kept.store = *std::move(store);
  absl::StatusOr<SizingState> sizing = kept.store->LoadSizing();
  if (!sizing.ok()) return sizing.status();
  kept.sizing = *std::move(sizing);
  return kept;
}

int ListFailsafe(const std::string& file, std::ostream& out, std::ostream& err) {
  const absl::StatusOr<KeptSizing> kept = OpenSizing(file, {.read_only = true});
  if (!kept.ok()) return Fail(kept.status(), err);
  Table table({"POOL", "POLICY", "FAILSAFE", "FAILURES IN A ROW", "LAST ROUND"});
  for (const PoolState& each : kept->sizing.pools) {
    table.AddRow({each.pool, each.policy, each.failsafe ? "yes" : "no",
                  std::to_string(each.failures), FormatRfc3339(each.at_s)});
  }
  if (table.empty()) {
    out << "no pool was sized yet\n";
  } else {
    table.Print(out);
  }
  return 0;
}

int ClearFailsafe(const std::string& file, const std::string& pool, std::ostream& out,
                  std::ostream& err) {
  absl::StatusOr<KeptSizing> kept = OpenSizing(file, {.must_exist = true});
  if (!kept.ok()) return Fail(kept.status(), err);
  const auto found = std::ranges::find(kept->sizing.pools, pool, &PoolState::pool);
  if (found == kept->sizing.pools.end()) {
    std::vector<std::string> names;
    for (const PoolState& each : kept->sizing.pools) names.push_back(each.pool);
    const std::string nearest = Nearest(pool, names);
    return Fail(absl::NotFoundError(
                    fmt::format("{}: no pool has the name {}{}", file, pool,
                                nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest))),
                err);
  }
  if (!found->failsafe) {
    out << fmt::format("pool {} is not in failsafe\n", Printable(pool));
    return 0;
  }
  found->failsafe = false;
  found->failures = 0;
  if (absl::Status s = kept->store->SaveSizing(kept->sizing); !s.ok()) return Fail(s, err);
  out << fmt::format("pool {}: its failsafe has ended\n", Printable(pool));
  return 0;
}

}  // namespace ebb
