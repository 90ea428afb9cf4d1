// Opens the state file of sizing policies for commands; also `ebb policy failsafe`.
//
// Threads: none.

#ifndef EBB_CLI_POLICIES_POLICY_STATE_H_
#define EBB_CLI_POLICIES_POLICY_STATE_H_

#include <iosfwd>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "engine/scale_down/sizing_state.h"
#include "rounds/sqlite_state.h"

namespace ebb {

struct KeptSizing {
  std::unique_ptr<SqliteState> store;  // Null: there is no state file.
  SizingState sizing;
};

// `file` may be empty.  Errors: those of SqliteState; InvalidArgument: the file is a record.
absl::StatusOr<KeptSizing> OpenSizing(const std::string& file, SqliteStateOptions options);

// Prints the pools of a state file, and whether each is in failsafe.  Returns the exit code.
int ListFailsafe(const std::string& file, std::ostream& out, std::ostream& err);
// Ends the failsafe of a pool.  Returns the exit code.
int ClearFailsafe(const std::string& file, const std::string& pool, std::ostream& out,
                  std::ostream& err);

}  // namespace ebb

#endif  // EBB_CLI_POLICIES_POLICY_STATE_H_
