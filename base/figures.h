// Figures as people read them: grouped, rounded, with a unit.
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
// "1 node", "2,000 nodes".
std::string Count(uint64_t number, std::string_view one, std::string_view many);
// 0.3412 -> "34.1%".
std::string Percent(double fraction);
// An amount as JSON has it: without the noise of sums of binary fractions (157.76000000000002),
// to a millionth.
double RoundedAmount(double amount);
// 1234500 -> "1,234.5": cores from milli-CPU.
std::string Cores(int64_t cpu_milli);
// 16374562816 -> "15.2 GiB", in the unit that suits; for columns, in one.
std::string Bytes(int64_t bytes);
std::string Gibibytes(int64_t bytes);

}  // namespace ebb

#endif  // EBB_BASE_FIGURES_H_
