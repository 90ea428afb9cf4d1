// Cooldowns: after a scale-up, a deletion or a failed deletion, no node is deleted for a while,
// either in the whole cluster or in the group of the event.
//
// Units:   seconds.
// Cost:    O(log groups).
// Threads: not thread-safe.
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
  // True: an event holds back only its own group, whose nodes are no candidates and lose their
  // timers.  False: an event holds back every deletion, and timers continue.
  bool scale_down_delay_type_local = false;

  bool operator==(const CooldownOptions&) const = default;
};

class Cooldowns {
 public:
  // When each kind of event last happened.
  struct Last {
    std::string group;  // Empty: in any group.
    std::optional<int64_t> scale_up_s;
    std::optional<int64_t> deletion_s;
    std::optional<int64_t> failed_deletion_s;
    friend bool operator==(const Last&, const Last&) = default;
  };

  explicit Cooldowns(const CooldownOptions& options) : options_(options) {}

  void Note(const ScaleEvent& event);

  // Whether deletions are held back at `now_s`.  Always false with scale_down_delay_type_local.
  [[nodiscard]] bool Active(int64_t now_s) const;
  // The event that holds back deletions at `now_s`, and until when.  If there are several, the one
  // that lasts longest.  nullopt: Active() is false.
  struct Hold {
    ScaleEventKind kind;
    int64_t at_s;
    int64_t until_s;
  };
  [[nodiscard]] std::optional<Hold> HoldAt(int64_t now_s) const;
  // Whether deletions in this group are held back.  Always false without
  // scale_down_delay_type_local.
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
