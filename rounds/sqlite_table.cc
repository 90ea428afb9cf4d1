#include "rounds/sqlite_table.h"

#include <cmath>

#include "base/text.h"
#include "base/time_range.h"

namespace ebb {

bool Statement::Next() {
  if (!ok_) return false;
  const int result = sqlite3_step(statement_);
  ok_ = result == SQLITE_ROW || result == SQLITE_DONE;
  return result == SQLITE_ROW;
}

std::string Statement::Text(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return bytes == nullptr ? std::string()
                          : std::string(static_cast<const char*>(bytes), static_cast<size_t>(size));
}

int64_t Rows::Int(int column, int64_t min, int64_t max) {
  if (!Holds(column, SQLITE_INTEGER, "an integer")) return min;
  const int64_t value = sqlite3_column_int64(get(), column);
  if (value >= min && value <= max) return value;
  Wrong(column, absl::StrCat(value, " is not from ", min, " to ", max));
  return min;
}

int64_t Rows::Time(int column) { return Int(column, 0, kLatestTimeS); }

double Rows::Amount(int column) {
  constexpr double kMax = static_cast<double>(int64_t{1} << 53);  // Whole numbers are exact.
  if (!Holds(column, SQLITE_FLOAT, "a real number")) return 0;
  const double value = sqlite3_column_double(get(), column);
  if (!(value >= 0 && value <= kMax)) Wrong(column, absl::StrCat(value, " is not an amount"));
  return value;
}

void Rows::CheckWhole(int column) {
  const double value = sqlite3_column_double(get(), column);
  if (value != std::floor(value)) Wrong(column, absl::StrCat(value, " is not a whole number"));
}

void Rows::Wrong(int column, std::string_view how) {
  if (what_.empty()) {
    what_ = absl::StrCat("table ", table_, ", column ", sqlite3_column_name(get(), column), ": ",
                         Absl(how));
  }
  Fail();
}

bool Rows::Holds(int column, int type, const char* name) {
  if (sqlite3_column_type(get(), column) == type) return true;
  Wrong(column, absl::StrCat("it holds no value that is ", name));
  return false;
}

}  // namespace ebb
