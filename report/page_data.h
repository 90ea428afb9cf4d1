// What the page (html_page.h) shows of a plan, as JSON: the plan as `ebb plan -o json` prints it,
// and what the plan leaves out, in a compact form: each pod of each node, with what it requests.
//
//   {"plan": {...},
//    "cluster": {
//      "teamLabel": "team", "namespaces": ["shop"], "teams": ["a"],
//      "pods": [[0, "web-5d4f8-", 250, 268435456, 0, 0, 1]],
//      "nodes": [["n1", [0, "x2x4z", "9kfqp"]]],
//      "budgets": [["shop", "web", 1]], "waits": [[[0], []]], "keepers": [0, -1]}}
//
// `pods`: kinds of pods: namespace, the beginning of the name, cpu in milli-units, bytes of memory,
// GPUs, team (an index of `teams`, or -1), and 1 if the pod belongs to its node (DaemonSet,
// mirror). `nodes`: name; its pods, where a number is a kind and each text that follows is the end
// of the name of a pod of that kind; on a node with GPUs also how many GPUs pods may request.
// `waits`: for each node of plan.remove and each of its pods, the budgets that select it;
// `budgets`: namespace, name, disruptions allowed now. `keepers`: for each node of plan.keep an
// index of plan.summary.keptMostBy, or -1.
//
// Cost:    O(pods), some 20 ms for 100,000.
// Threads: pure.

#ifndef EBB_REPORT_PAGE_DATA_H_
#define EBB_REPORT_PAGE_DATA_H_

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "report/plan_report.h"

namespace ebb {

inline constexpr std::string_view kTeamLabel = "team";

// `plan`: the report as JSON.  `team_label`: the label of pods, or else of their namespaces, by
// which costs are divided.
nlohmann::ordered_json PageData(const PlanReport& report, nlohmann::ordered_json plan,
                                std::string_view team_label = kTeamLabel);

}  // namespace ebb

#endif  // EBB_REPORT_PAGE_DATA_H_
