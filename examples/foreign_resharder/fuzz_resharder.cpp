/// libFuzzer: every Program that the resharder makes is right, for any mesh, shape and layouts.
///
/// Only the resharder is linked. The judge is two headers of retile, which need nothing else.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "resharder.h"
#include "spec/program/check.h"
#include "spec/program/text.h"

namespace {

/// Numbers from bytes; zeros when they are used up.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  int below(std::size_t n) {
    if (left_ == 0) return 0;
    --left_;
    return static_cast<int>(*data_++ % n);
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

/// Each axis, in turn, goes to one end of the list of a dimension, or nowhere.
resharder::Layout layout(Bytes& bytes, std::size_t axes, std::size_t rank) {
  resharder::Layout out(rank);
  for (std::size_t a = 0; a < axes; ++a) {
    const auto i = static_cast<std::size_t>(bytes.below(rank + 1));
    const bool first = bytes.below(2) == 0;
    if (i < rank) out[i].insert(first ? out[i].begin() : out[i].end(), static_cast<int>(a));
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  resharder::Problem problem;
  int devices = 1;
  for (int axes = 1 + bytes.below(3); axes > 0; --axes) {
    problem.mesh.push_back(1 + bytes.below(3));
    devices *= problem.mesh.back();
  }
  const auto rank = static_cast<std::size_t>(1 + bytes.below(2));
  for (std::size_t i = 0; i < rank; ++i) problem.shape.push_back(devices * (1 + bytes.below(2)));
  problem.from = layout(bytes, problem.mesh.size(), rank);
  problem.to = layout(bytes, problem.mesh.size(), rank);

  const std::string text = to_program(problem, reshard(problem));
  const spec::Programs read = spec::parse_programs(text);
  if (!read.error && spec::check(read.programs.front()).right) return 0;
  std::cerr << (read.error ? read.error->message : "wrong") << "\n" << text;
  std::abort();
}
