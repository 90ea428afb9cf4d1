// Cooldowns: after a scale-up, a deletion or a failed deletion, nothing is deleted
// for a while, in the cluster or in the group that it happened to.
//
// Units:   seconds.
// Cost:    O(log groups).
// Threads: none.
// Source:  cluster-autoscaler core/static_autoscaler.go isScaleDownInCooldown and
//          processors/scaledowncandidates delay processor.

#ifndef EBB_ENGINE_SCALE_DOWN_COOLDOWN_H_
#define EBB_ENGINE_SCALE_DOWN_COOLDOWN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ebb {

enum class ScaleEventKind : uint8_t { kScaleUp, kDeletion, kFailedDeletion };

struct ScaleEvent {
  ScaleEventKind kind;
  std::string group;
  int64_t at_s = 0;
};

struct CooldownOptions {
  int64_t scale_down_delay_after_add_s = 600;
  int64_t scale_down_delay_after_delete_s = 0;
  int64_t scale_down_delay_after_failure_s = 180;
  // A group's events hold back that group alone: its nodes are no candidates, and
  // lose their timers.  Otherwise they hold back every deletion, and timers go on.
  bool scale_down_delay_type_local = false;

  bool operator==(const CooldownOptions&) const = default;
};

class Cooldowns {
 public:
  // When each kind last happened.
  struct Last {
    std::string group;  // Empty: anywhere.
    std::optional<int64_t> scale_up_s;
    std::optional<int64_t> deletion_s;
    std::optional<int64_t> failed_deletion_s;
    friend bool operator==(const Last&, const Last&) = default;
  };

  explicit Cooldowns(const CooldownOptions& options) : options_(options) {}

  void Note(const ScaleEvent& event);

  // Nothing may be deleted at `now_s`.  Never with scale_down_delay_type_local.
  [[nodiscard]] bool Active(int64_t now_s) const;
  // Which event holds back deletions at `now_s`, and until when; of several the one that lasts
  // longest.  nullopt: Active() is false.
  struct Hold {
    ScaleEventKind kind;
    int64_t at_s;
    int64_t until_s;
  };
  [[nodiscard]] std::optional<Hold> HoldAt(int64_t now_s) const;
  // Nothing of this group.  Only with scale_down_delay_type_local.
  [[nodiscard]] bool ActiveFor(std::string_view group, int64_t now_s) const;

  // When a scale-up of the group was last reported.
  [[nodiscard]] std::optional<int64_t> LastScaleUp(std::string_view group) const;

  // Sorted by group.
  [[nodiscard]] std::vector<Last> Save() const;
  void Restore(const std::vector<Last>& events);

 private:
  [[nodiscard]] bool Holds(const Last& last, int64_t now_s) const;

  CooldownOptions options_;
  std::map<std::string, Last, std::less<>> last_;
};

}  // namespace ebb

#endif  // EBB_ENGINE_SCALE_DOWN_COOLDOWN_H_
