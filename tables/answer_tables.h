// Tables of answers: an answer as JSON (docs/plan.schema.json and its like), read into columns.
//
//   absl::StatusOr<ColumnTable> moves = AnswerTable("moves", plan_json);
//
// An answer of `ebb plan -o json` gives the same tables as one of the library, now or later.
//
// Cost:    O(answer).
// Threads: pure.
// Errors:  InvalidArgument: not an answer that has such a table; which name or which field is
// wrong.

#ifndef EBB_TABLES_ANSWER_TABLES_H_
#define EBB_TABLES_ANSWER_TABLES_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "tables/column_table.h"

namespace ebb {

// `name`: "plans", "removals", "moves", "kept" (of a Plan), "blockers" (of Blockers) or "frontier"
// (of a Frontier).
absl::StatusOr<ColumnTable> AnswerTable(std::string_view name, std::string_view answer);

}  // namespace ebb

#endif  // EBB_TABLES_ANSWER_TABLES_H_
