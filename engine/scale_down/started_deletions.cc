#include "engine/scale_down/started_deletions.h"

#include <algorithm>

#include "engine/plan/node_standing.h"

namespace ebb {

void StartedDeletions::Update(const ClusterSnapshot& snapshot, const NodeSet& running,
                              std::span<const EndedDeletion> ended, std::optional<int64_t> now_s) {
  if (deletions_.empty()) return;
  const Catalog& catalog = snapshot.catalog();
  for (const EndedDeletion& end : ended) {
    const auto node = catalog.FindNode(end.node);
    const auto it = node.ok() ? deletions_.find(catalog.node(*node).name) : deletions_.end();
    if (it == deletions_.end()) continue;
    if (!end.ok) {
      deletions_.erase(it);
    } else {
      it->second = {it->second.uid, Phase::kSucceeded, now_s.value_or(it->second.at_s)};
    }
  }
  absl::erase_if(deletions_, [&](auto& deletion) {
    auto& [name, entry] = deletion;
    const NodeId node = catalog.FindNode(name);
    if (node == kNoNode || !snapshot.Contains(node) || catalog.node(node).uid != entry.uid) {
      return true;
    }
    if (entry.phase == Phase::kSucceeded) return now_s && *now_s - entry.at_s >= kDeletionTimeoutS;
    if (!running.Contains(node)) return now_s && entry.phase == Phase::kRunning;
    entry = {entry.uid, Phase::kRunning, now_s.value_or(entry.at_s)};
    return false;
  });
}

bool StartedDeletions::AskFor(const NodeInfo& node, int64_t now_s) {
  const auto [it, is_new] =
      deletions_.try_emplace(node.name, Entry{node.uid, Phase::kRequested, now_s});
  if (it->second.phase == Phase::kRequested) it->second.at_s = now_s;
  return is_new;
}

void StartedDeletions::DropOld(int64_t now_s) {
  absl::erase_if(deletions_, [&](const auto& deletion) {
    const Entry& entry = deletion.second;
    return entry.phase == Phase::kRequested && now_s - entry.at_s >= kDeletionTimeoutS;
  });
}

std::vector<StartedDeletions::Deletion> StartedDeletions::Save(const Symbols& symbols) const {
  std::vector<Deletion> deletions;
  deletions.reserve(deletions_.size());
  for (const auto& [node, entry] : deletions_) {
    deletions.push_back({std::string(symbols.Text(node)), std::string(symbols.Text(entry.uid)),
                         entry.phase, entry.at_s});
  }
  std::sort(deletions.begin(), deletions.end(),
            [](const Deletion& a, const Deletion& b) { return a.node < b.node; });
  return deletions;
}

void StartedDeletions::Restore(const std::vector<Deletion>& deletions, Symbols& symbols) {
  deletions_.clear();
  for (const Deletion& deletion : deletions) {
    deletions_[symbols.Intern(deletion.node)] = {symbols.Intern(deletion.uid), deletion.phase,
                                                 deletion.at_s};
  }
}

}  // namespace ebb
