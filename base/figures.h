// Numbers in the form that people read: grouped, rounded, with a unit.
//
// Threads: pure.

#ifndef EBB_BASE_FIGURES_H_
#define EBB_BASE_FIGURES_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace ebb {

// "1,234,567".
std::string WithCommas(uint64_t number);
// "+1,234", "-1", "0".
std::string Signed(int64_t number);
// "1 node", "2,000 nodes".
std::string Count(uint64_t number, std::string_view one, std::string_view many);
// 0.3412 -> "34.1%".
std::string Percent(double fraction);
// An amount for JSON, rounded to a millionth: sums of binary fractions would otherwise print
// digits like 157.76000000000002.
double RoundedAmount(double amount);
// 1234500 -> "1,234.5": cores from milli-CPU.
std::string Cores(int64_t cpu_milli);
// 16374562816 -> "15.2 GiB".  Bytes chooses the unit; Gibibytes always uses GiB, for columns.
std::string Bytes(int64_t bytes);
std::string Gibibytes(int64_t bytes);

}  // namespace ebb

#endif  // EBB_BASE_FIGURES_H_
