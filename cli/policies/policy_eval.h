// `ebb policy eval`: one round of each pool of a file, over a dump.
//
// With a state file it continues from the round before, and treats the changes that it requests as
// done.  It saves the state before it prints anything.
//
// Errors:  exit code 1: something cannot be read, the input cannot be a whole cluster, or
//          Prometheus does not answer.
// Threads: none.

#ifndef EBB_CLI_POLICIES_POLICY_EVAL_H_
#define EBB_CLI_POLICIES_POLICY_EVAL_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "snapshot/import/load_cluster.h"

namespace ebb {

struct PolicyEvalRequest {
  std::string file;
  std::vector<std::string> inputs = {};
  std::string series = {};
  std::vector<std::string> usage = {};  // Files with lists of the metrics API.
  std::string state = {};
  std::string now = {};  // RFC 3339; empty: the latest time in the input.
  std::string output = "table";
  LoadOptions load = {.use = InputUse::kFilter};
};

int EvalPools(const PolicyEvalRequest& request, std::ostream& out, std::ostream& err);

}  // namespace ebb

#endif  // EBB_CLI_POLICIES_POLICY_EVAL_H_
