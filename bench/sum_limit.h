// What a sum cannot be faster than on this machine: one read of every addend and one write of every
// sum, all of it in a process's own memory.
#pragma once

#include <cstddef>

namespace sums_bench {

/// Takes `in` as equal parts, one for each process, adds them up, and writes the sum as often as it
/// fits into `out`. Of both there is a whole number of parts (what is left over is not touched).
/// Reads and writes as much as one process must on the average: all processes that do this at once
/// read every addend once and write every sum once.
void sum_limit(const float* in, std::size_t in_elements, float* out, std::size_t out_elements,
               int processes);

}  // namespace sums_bench
