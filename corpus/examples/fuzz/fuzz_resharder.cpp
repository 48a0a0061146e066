/// libFuzzer: bytes are a problem, the resharder answers, and the library judges the answer.
#include <retile/retile.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "resharder.h"

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

/// Each axis cuts a dimension, as the slowest one or as the fastest, or none.
Cut cut(Bytes& bytes, std::size_t axes, std::size_t rank) {
  Cut out(rank);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const auto dim = static_cast<std::size_t>(bytes.below(rank + 1));
    const bool first = bytes.below(2) == 0;
    if (dim == rank) continue;
    out[dim].insert(first ? out[dim].begin() : out[dim].end(), static_cast<int>(axis));
  }
  return out;
}

/// A problem whose tiles are all alike, however the axes cut.
Problem problem(Bytes& bytes) {
  Problem out;
  int devices = 1;
  for (int axes = 1 + bytes.below(3); axes > 0; --axes) {
    out.mesh.push_back(1 + bytes.below(3));
    devices *= out.mesh.back();
  }
  const auto rank = static_cast<std::size_t>(1 + bytes.below(2));
  for (std::size_t i = 0; i < rank; ++i) out.shape.push_back(devices * (1 + bytes.below(2)));
  out.from = cut(bytes, out.mesh.size(), rank);
  out.to = cut(bytes, out.mesh.size(), rank);
  return out;
}

[[noreturn]] void fail(const std::string& why, const std::string& text) {
  std::fprintf(stderr, "%s\n%s", why.c_str(), text.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const std::string text = reshard(problem(bytes));
  const auto programs = retile::parse_programs(text);
  if (!programs) fail(retile::render(programs.error()), text);
  for (const retile::Program& program : *programs) {
    if (retile::check(program).answer != retile::Answer::right) fail("wrong", text);
  }
  return 0;
}
