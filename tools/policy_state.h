// The state file of sizing policies, as commands use it; and `ebb policy failsafe`.
//
// Threads: none.

#ifndef EBB_TOOLS_POLICY_STATE_H_
#define EBB_TOOLS_POLICY_STATE_H_

#include <iosfwd>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "engine/sizing_state.h"
#include "service/sqlite_state.h"

namespace ebb {

struct KeptSizing {
  std::unique_ptr<SqliteState> store;  // Null: there is no state file.
  SizingState sizing;
};

// `file` may be empty.  Errors: those of SqliteState; it is a record.
absl::StatusOr<KeptSizing> OpenSizing(const std::string& file, SqliteStateOptions options);

// Prints the pools of a state file.  The exit code.
int ListFailsafe(const std::string& file, std::ostream& out, std::ostream& err);
// Ends the failsafe of a pool.
int ClearFailsafe(const std::string& file, const std::string& pool, std::ostream& out,
                  std::ostream& err);

}  // namespace ebb

#endif  // EBB_TOOLS_POLICY_STATE_H_
