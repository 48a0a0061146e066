#include <algorithm>
#include <cstring>

#include "retile/exec/copy/runs.h"
#include "retile/exec/mpi/collectives/step_move.h"

namespace retile::mpi {
namespace {

enum class Direction { pack, unpack };

template <Direction direction>
void copy_bytes(std::byte* packed, std::byte* tile, std::size_t bytes) {
  if constexpr (direction == Direction::pack) {
    std::memcpy(packed, tile, bytes);
  } else {
    std::memcpy(tile, packed, bytes);
  }
}

template <Direction direction>
void transfer(std::byte* packed, std::byte* tile, const Piece& piece, Size begin, Size bytes) {
  const Size segment = piece.segment_bytes;
  const Size stride = segment * piece.n;
  const Size inside = begin % segment;
  // Where in the tile the current segment starts.
  Size at = begin / segment * stride + piece.q * segment;
  if (inside != 0) {  // the rest of a segment that an earlier round began
    const Size length = std::min(segment - inside, bytes);
    copy_bytes<direction>(packed, tile + at + inside, static_cast<std::size_t>(length));
    packed += length;
    bytes -= length;
    at += stride;
  }
  const Size count = bytes / segment;
  if constexpr (direction == Direction::pack) {
    copy::copy_runs(packed, segment, tile + at, stride, segment, count);
  } else {
    copy::copy_runs(tile + at, stride, packed, segment, segment, count);
  }
  const Size rest = bytes % segment;
  if (rest != 0) {
    copy_bytes<direction>(packed + count * segment, tile + at + count * stride,
                          static_cast<std::size_t>(rest));
  }
}

class SliceMove final : public StepMove {
 public:
  SliceMove(const Piece& piece, Size out_bytes) : piece_(piece), out_bytes_(out_bytes) {}
  [[nodiscard]] Result<void> run(const std::byte* from, std::byte* to, std::byte*) const override {
    pack(to, from, piece_, 0, out_bytes_);
    return {};
  }

 private:
  Piece piece_;
  Size out_bytes_;
};

}  // namespace

Size block_bytes(const Shape& shape, std::size_t dim, Size element_bytes) {
  Size bytes = element_bytes;
  for (std::size_t i = dim; i < shape.size(); ++i) bytes *= shape[i];
  return bytes;
}

/// Packing only reads the tile; one template serves both directions.
void pack(std::byte* packed, const std::byte* tile, const Piece& piece, Size begin, Size bytes) {
  transfer<Direction::pack>(packed, const_cast<std::byte*>(tile), piece, begin, bytes);
}

void unpack(const std::byte* packed, std::byte* tile, const Piece& piece, Size begin, Size bytes) {
  transfer<Direction::unpack>(const_cast<std::byte*>(packed), tile, piece, begin, bytes);
}

std::unique_ptr<StepMove> slice_move(const Piece& piece, Size out_bytes) {
  return std::make_unique<SliceMove>(piece, out_bytes);
}

}  // namespace retile::mpi
