#include "retile/exec/exchange/tile_exchange.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "retile/core/element_type.h"
#include "retile/core/hash.h"

namespace retile {
namespace {

Diagnostic bad(Code code, std::string message) {
  return {.code = code, .message = std::move(message)};
}

bool lies_within(const Shape& start, const Shape& shape, const Shape& tile) {
  for (std::size_t i = 0; i < tile.size(); ++i) {
    if (shape[i] < 1 || shape[i] > tile[i] || start[i] < 0 || start[i] > tile[i] - shape[i]) {
      return false;
    }
  }
  return true;
}

std::uint64_t hash_shape(std::uint64_t hash, const Shape& shape) {
  hash = hash_number(hash, shape.size());
  for (const Size extent : shape) hash = hash_number(hash, static_cast<std::uint64_t>(extent));
  return hash;
}

}  // namespace

std::optional<Diagnostic> TileExchange::fault_of_tiles() const {
  if (!is_element_size(element_bytes)) {
    return bad(Code::bad_argument,
               fmt::format("an element has 1, 2, 4, 8 or 16 bytes, not {}", element_bytes));
  }
  if (out_tile.size() != in_tile.size()) {
    return bad(Code::bad_dimension, "the tiles before and after have different ranks");
  }
  for (const Shape* tile : {&in_tile, &out_tile}) {
    for (const Size extent : *tile) {
      if (extent < 1) return bad(Code::bad_argument, "a tile without elements");
    }
    const auto elements = checked_product(*tile);
    if (!elements || !checked_mul(*elements, element_bytes)) {
      return bad(Code::size_overflow, "the bytes of a tile do not fit in 63 bits");
    }
  }
  return std::nullopt;
}

std::optional<Diagnostic> TileExchange::fault_of_transfer(std::size_t k, Size members) const {
  const Transfer& transfer = exchange.transfers[k];
  for (const Size device : {transfer.source, transfer.target}) {
    if (device < 0 || device >= members) {
      return bad(Code::bad_device,
                 fmt::format("transfer {}: device {} of a team of {}", k, device, members));
    }
  }
  const std::size_t rank = in_tile.size();
  if (transfer.shape.size() != rank || transfer.source_start.size() != rank ||
      transfer.target_start.size() != rank) {
    return bad(Code::bad_dimension,
               fmt::format("transfer {}: a box of another rank than the tiles", k));
  }
  if (!lies_within(transfer.source_start, transfer.shape, in_tile) ||
      !lies_within(transfer.target_start, transfer.shape, out_tile)) {
    return bad(Code::bad_argument, fmt::format("transfer {}: its box leaves the tile", k));
  }
  return std::nullopt;
}

std::optional<Diagnostic> TileExchange::fault(int members) const {
  if (auto wrong = fault_of_tiles()) return wrong;
  std::vector<Size> covered(static_cast<std::size_t>(members), 0);
  for (std::size_t k = 0; k < exchange.transfers.size(); ++k) {
    if (auto wrong = fault_of_transfer(k, members)) return wrong;
    const Transfer& transfer = exchange.transfers[k];
    Size& sum = covered[static_cast<std::size_t>(transfer.target)];
    const auto more = checked_add(sum, *checked_product(transfer.shape));
    if (!more) return bad(Code::size_overflow, "the transfers' sizes do not fit in 63 bits");
    sum = *more;
  }
  const Size size = *checked_product(out_tile);
  for (std::size_t target = 0; target < covered.size(); ++target) {
    if (whole ? covered[target] != size : covered[target] > size) {
      return bad(Code::bad_argument, fmt::format("device {} gets {} elements for a tile of {}",
                                                 target, covered[target], size));
    }
  }
  return std::nullopt;
}

std::uint64_t TileExchange::hash() const {
  std::uint64_t hash = hash_shape(hash_start, in_tile);
  hash = hash_shape(hash, out_tile);
  hash = hash_number(hash, static_cast<std::uint64_t>(element_bytes));
  hash = hash_number(hash, whole ? 1 : 0);
  hash = hash_number(hash, exchange.transfers.size());
  for (const Transfer& transfer : exchange.transfers) {
    hash = hash_number(hash, static_cast<std::uint64_t>(transfer.target));
    hash = hash_number(hash, static_cast<std::uint64_t>(transfer.source));
    for (const Shape* numbers : {&transfer.target_start, &transfer.source_start, &transfer.shape}) {
      hash = hash_shape(hash, *numbers);
    }
  }
  return hash;
}

Size box_bytes(const Shape& shape, Size element_bytes) {
  for (const Size extent : shape) element_bytes *= extent;
  return element_bytes;
}

}  // namespace retile
