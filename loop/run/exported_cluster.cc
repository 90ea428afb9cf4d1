#include "loop/run/exported_cluster.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "snapshot/import/incomplete.h"

namespace ebb {

absl::StatusOr<uint64_t> ExportedCluster::SessionVersion() {
  const absl::StatusOr<wire::StatusReply> status = calls_.Status();
  if (!status.ok()) return status.status();
  for (const wire::SessionStatus& session : status->sessions()) {
    if (session.session() != options_.session) continue;
    if (options_.needs_feed && session.feeds() == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("session ", options_.session,
                       ": no client feeds it: no open Sync stream has ended a resync"));
    }
    fed_ = session.feeds() > 0;
    return session.version();
  }
  return absl::NotFoundError(absl::StrCat("session ", Printable(options_.session), ": not found"));
}

absl::Status ExportedCluster::Fetch() {
  absl::StatusOr<SessionCalls::Exported> exported = calls_.Export(options_.session);
  if (!exported.ok()) return exported.status();
  const bool first = live_ == nullptr;
  LoadOptions load = options_.load;
  load.allow_incomplete = true;  // Checked below, when the cluster's source is known.
  auto live = LiveCluster::FromDump("the session's cluster", exported->snapshot, load);
  if (!live.ok()) return live.status();
  if (fed_) (*live)->SetSource(InputSource::kFeeder);
  absl::StatusOr<LiveCluster::Version> checked = (*live)->Checked();
  if (!checked.ok()) return checked.status();
  if (absl::Status s =
          CheckMayBeCarriedOut(checked->cluster.warnings, options_.load.allow_incomplete);
      !s.ok()) {
    return s;
  }
  cluster_.reset();
  live_ = *std::move(live);
  cluster_.emplace(*std::move(checked));
  // Checked only at first: a group that had nodes then may lose them all.
  if (absl::Status s = CheckMinimums(cluster_->cluster.snapshot.catalog(), options_.groups);
      first && !s.ok()) {
    live_.reset();
    cluster_.reset();
    return s;
  }
  AddGroupWarnings(cluster_->cluster.snapshot.catalog(), options_.groups,
                   cluster_->cluster.warnings);
  version_ = exported->version;
  if (scale_down_ != nullptr) {
    const auto& symbols = cluster_->cluster.snapshot.catalog().shared_symbols();
    scale_down_->Restore(scale_down_->Save(), symbols);
  }
  return absl::OkStatus();
}

absl::StatusOr<Observation> ExportedCluster::Observe(int64_t /*now_s*/) {
  const absl::StatusOr<uint64_t> version = SessionVersion();
  if (!version.ok()) return version.status();
  if (!cluster_ || *version != version_) {
    if (absl::Status s = Fetch(); !s.ok()) return s;
  }
  LoadedCluster& cluster = cluster_->cluster;
  Observation observed;
  observed.snapshot = &cluster.snapshot;
  observed.groups = AssignGroups(cluster.snapshot.catalog(), options_.groups);
  observed.pending = cluster.pending;
  observed.objects = [this](ObjectSink& sink) { return live_->Export(sink); };
  return observed;
}

}  // namespace ebb
