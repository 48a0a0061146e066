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

std::string name(int axis) { return std::string(1, static_cast<char>('a' + axis)); }

/// `[3{a,b}12, 12]`, as retile writes it: for each dimension the tile, its axes, the first one
/// fastest, and the whole.
std::string type_text(const Problem& problem, const Cut& cut) {
  std::string out;
  for (std::size_t i = 0; i < cut.size(); ++i) {
    int tile = problem.shape[i];
    std::string axes;
    for (const int axis : cut[i]) {
      tile /= problem.mesh[static_cast<std::size_t>(axis)];
      axes = name(axis) + (axes.empty() ? "" : ",") + axes;
    }
    out += (i > 0 ? ", " : "") + std::to_string(tile) + "{" + axes + "}" +
           std::to_string(problem.shape[i]);
  }
  return "[" + out + "]";
}

retile::foreign::EndTexts ends_of(const Problem& problem) {
  std::string mesh;
  for (std::size_t axis = 0; axis < problem.mesh.size(); ++axis) {
    mesh += (axis > 0 ? "," : "") + name(static_cast<int>(axis)) + ":" +
            std::to_string(problem.mesh[axis]);
  }
  return {
      .mesh = mesh, .from = type_text(problem, problem.from), .to = type_text(problem, problem.to)};
}

[[noreturn]] void fail(const std::string& why, const std::string& text) {
  std::fprintf(stderr, "%s\n%s", why.c_str(), text.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const Problem asked = problem(bytes);
  const std::string text = reshard(asked);
  const auto functions = retile::foreign::judge_text(text, "resharder", ends_of(asked));
  if (!functions) fail(retile::render(functions.error()), text);
  for (const retile::foreign::JudgedFunction& function : *functions) {
    if (function.verdict.right != true) fail("wrong", text);
  }
  return 0;
}
