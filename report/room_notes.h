// RoomNotes: what a plan keeps free, keeps together, and assumes of pods that move: gangs that hold
// nodes, CapacityBuffers, headroom, and pods that a VerticalPodAutoscaler will change.
//
// Units:   pods, nodes; headroom as fractions.
// Cost:    O(nodes that stay + moves + gangs); with headroom O(nodes).
// Threads: pure.

#ifndef EBB_REPORT_ROOM_NOTES_H_
#define EBB_REPORT_ROOM_NOTES_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/plan_report.h"

namespace ebb {

struct RoomNotes {
  struct GangNote {
    std::string kind;  // "PodGroup"
    std::string name;  // "namespace/name"
    int64_t pods = 0;  // That run.
    int64_t nodes = 0;
    int64_t kept_nodes = 0;  // Nodes whose reason is the gang.
    bool moves = false;      // The plan moves all of its pods.
    std::optional<int64_t> min_count = {};
    int64_t declared = 0;  // Pods, of a JobSet Jobs, that its pods declare; 0: none.
    int64_t missing = 0;   // Of the declared ones, or of the minimum, those that the input lacks.
    std::string not_understood = {};  // A field of its PodGroup.
  };
  struct BufferNote {
    std::string name;
    std::string strategy;
    int64_t replicas = 0;
    int64_t pods = 0;    // That stand for it.
    int64_t placed = 0;  // That found room.
    std::string problem = {};
  };
  struct HeadroomNote {
    double cpu = 0;  // As asked for.
    double memory = 0;
    std::string per;
    // Free after the plan, of the nodes that count, in the scope with the least; absent: they offer
    // nothing.
    std::optional<double> free_cpu = {};
    std::optional<double> free_memory = {};
  };
  struct VpaNote {
    std::string name;
    int64_t pods = 0;  // That move.
    // What they ask for together now, and after they moved.
    CpuAndMemory before;
    CpuAndMemory after;
  };
  std::vector<GangNote> gangs = {};  // Whose pods stay together.
  std::vector<BufferNote> buffers = {};
  std::optional<HeadroomNote> headroom = {};
  std::vector<VpaNote> vpas = {};
};

RoomNotes RoomNotesOf(const PlanReport& report);

// Adds the members `gangs`, `capacityBuffers`, `headroom` and `changedByVpa`; those that would be
// empty are absent.
void PutRoomNotes(const RoomNotes& notes, nlohmann::ordered_json& summary);

// A sentence for each, with names as they are: escape them to print them.
std::vector<std::string> RoomNotesText(const RoomNotes& notes);

}  // namespace ebb

#endif  // EBB_REPORT_ROOM_NOTES_H_
