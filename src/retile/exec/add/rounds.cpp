#include "retile/exec/add/rounds.h"

#include <algorithm>
#include <cstring>

#include "retile/core/assert.h"
#include "retile/core/index.h"
#include "retile/core/walk.h"

namespace retile::add {
namespace {

/// By every share: its place among its owner's elements.
template <typename Function>
void for_each_share(const Rounds& rounds, const Function& function) {
  for (std::size_t owner = 0; owner < rounds.shares().size(); ++owner) {
    Size position = 0;
    for (const Share& share : rounds.shares()[owner]) {
      function(static_cast<Size>(owner), position, share);
      position += share.end - share.begin;
    }
  }
}

}  // namespace

Rounds::Rounds(const Sums& sums, Size element_bytes) : shares_(shares_of(sums, element_bytes)) {
  std::vector<Size> times(shares_.size(), 0);
  for_each_share(*this, [&](Size, Size position, const Share& share) {
    longest_ = std::max(longest_, position + share.end - share.begin);
    const std::vector<Term>& terms = sums.boxes[share.box].terms;
    for (const Term& term : terms) {
      if (term.is_element()) {
        parcels_ = std::max(parcels_, ++times[index(term.device)]);
      }
    }
    for (const Term& term : terms) {
      if (term.is_element()) times[index(term.device)] = 0;
    }
  });
}

RoundSizes Rounds::sizes(Size window) const {
  const Size most = std::max<Size>(std::min(window, longest_), 1);
  return {.window = most, .parcels = parcels_, .rounds = (longest_ + most - 1) / most};
}

Size Rounds::bound_bytes(const Sums& sums, std::size_t rank) const {
  const auto processes = static_cast<Size>(shares_.size());
  std::vector<Size> bytes(shares_.size(), 0);
  Size levels = 0;
  const Size piece = 5 * Size{sizeof(Size)};
  const Size box = copy::BoxStream::box_bytes(rank);
  for_each_share(*this, [&](Size owner, Size, const Share& share) {
    const SumBox& sum = sums.boxes[share.box];
    const Recipe recipe(sum.terms);
    levels = std::max(levels, recipe.levels());
    Size& own = bytes[index(owner)];
    for (const Term& term : sum.terms) {
      if (!term.is_element()) continue;
      bytes[index(term.device)] += piece + box;
      own += piece + Size{sizeof(int)};
    }
    for (const Term& target : sum.targets) {
      bytes[index(target.device)] += piece + box;
      own += piece;
    }
    own += piece + 2 * Size{sizeof(std::size_t)} +
           Recipe::bound_bytes(static_cast<Size>(sum.terms.size())) +
           static_cast<Size>(recipe.addends() * sizeof(void*));
  });
  return Size{sizeof(RoundsOf)} + *std::max_element(bytes.begin(), bytes.end()) +
         processes * (4 * Size{sizeof(std::vector<int>)} + Size{sizeof(void*)}) +
         2 * copy::BoxStream::object_bytes(rank) + levels * block_bytes;
}

RoundsOf::RoundsOf(int process, const Sums& sums, const Rounds& rounds, RoundSizes sizes,
                   const DeviceShapes& in_tiles, const DeviceShapes& out_tiles, Size element_bytes,
                   const std::optional<Adder>& adder)
    : process_(process),
      sizes_(sizes),
      element_bytes_(element_bytes),
      adder_(adder),
      sent_(rounds.shares().size()),
      taken_(rounds.shares().size()),
      given_(rounds.shares().size()),
      received_(rounds.shares().size()),
      next_(rounds.shares().size(), nullptr) {
  find(sums, rounds, in_tiles, out_tiles);
  for (auto* const lists : {&sent_, &taken_, &given_, &received_}) {
    for (Pieces& pieces : *lists) pieces.shrink_to_fit();
  }
  own_.shrink_to_fit();
  addends_.shrink_to_fit();
  sources_.shrink_to_fit();
  recipes_.shrink_to_fit();
  std::size_t most = 0;
  Size levels = 0;
  for (const Recipe& recipe : recipes_) {
    most = std::max(most, recipe.addends());
    levels = std::max(levels, recipe.levels());
  }
  blocks_.assign(most, nullptr);
  scratch_.resize(index(levels * block_bytes));
}

void RoundsOf::find(const Sums& sums, const Rounds& rounds, const DeviceShapes& in_tiles,
                    const DeviceShapes& out_tiles) {
  std::vector<Transfer> packs;
  std::vector<Transfer> takes;
  for_each_share(rounds, [&](Size owner, Size position, const Share& share) {
    const SumBox& box = sums.boxes[share.box];
    const Size elements = share.end - share.begin;
    for (const Term& term : box.terms) {
      if (!term.is_element()) continue;
      const Size source = term.device;
      if (owner == process_) {
        received_[index(source)].push_back({position, elements, 0, share.begin});
      }
      if (source != process_) continue;
      sent_[index(owner)].push_back({position, elements, packs.size(), share.begin});
      const Shape at = index_of(term.element, in_tiles.of(source));
      packs.push_back({owner, source, at, at, box.shape});
    }
    for (const Term& target : box.targets) {
      if (owner == process_) {
        given_[index(target.device)].push_back({position, elements, 0, share.begin});
      }
      if (target.device != process_) continue;
      taken_[index(owner)].push_back({position, elements, takes.size(), share.begin});
      const Shape at = index_of(target.element, out_tiles.of(target.device));
      takes.push_back({target.device, owner, at, at, box.shape});
    }
    if (owner != process_) return;
    add_own(box, position, share);
    for (const Term& term : box.terms) {
      if (term.is_element()) sources_.push_back(static_cast<int>(term.device));
    }
  });
  packs_.emplace(copy::End::source, element_bytes_, in_tiles.of(process_), packs,
                 copy::Boxes::apart);
  takes_.emplace(copy::End::target, element_bytes_, out_tiles.of(process_), takes,
                 copy::Boxes::apart);
}

void RoundsOf::add_own(const SumBox& box, Size position, const Share& share) {
  Recipe recipe(box.terms);
  const auto known = std::find(recipes_.begin(), recipes_.end(), recipe);
  own_.push_back({position, share.end - share.begin, addends_.size(), share.begin});
  addends_.push_back({static_cast<std::size_t>(known - recipes_.begin()), sources_.size()});
  if (known == recipes_.end()) recipes_.push_back(std::move(recipe));
}

/// What of the pieces lies in the window: function(piece, where it begins in the window, how much of
/// the piece is before, how many elements).
template <typename Function>
void RoundsOf::for_each(const Pieces& pieces, Size round, const Function& function) const {
  const Size begin = round * sizes_.window;
  const Size end = begin + sizes_.window;
  auto it = std::partition_point(pieces.begin(), pieces.end(), [&](const Piece& piece) {
    return piece.position + piece.elements <= begin;
  });
  for (; it != pieces.end() && it->position < end; ++it) {
    const Size from = std::max(begin, it->position);
    const Size to = std::min(end, it->position + it->elements);
    function(*it, from - begin, from - it->position, to - from);
  }
}

Size RoundsOf::pack(Size round, int owner, const std::byte* in, std::byte* parcel) {
  Size packed = 0;
  for_each(sent_[index(owner)], round, [&](const Piece& piece, Size, Size before, Size elements) {
    copy::BoxStream::Cursor at{.box = piece.box, .at = (piece.begin + before) * element_bytes_};
    packed += packs_->pack(at, in, parcel + packed, elements * element_bytes_);
  });
  return packed;
}

Size RoundsOf::sent_bytes(Size round, int owner) const {
  Size sum = 0;
  for_each(sent_[index(owner)], round,
           [&](const Piece&, Size, Size, Size elements) { sum += elements * element_bytes_; });
  return sum;
}

Size RoundsOf::received_bytes(Size round, int source) const {
  Size sum = 0;
  for_each(received_[index(source)], round,
           [&](const Piece&, Size, Size, Size elements) { sum += elements * element_bytes_; });
  return sum;
}

void RoundsOf::make(Size round, std::span<const std::byte* const> parcels, std::byte* sums) {
  std::copy(parcels.begin(), parcels.end(), next_.begin());
  const Size block = block_bytes / element_bytes_;
  for_each(own_, round, [&](const Piece& piece, Size at, Size, Size elements) {
    const Addends& added = addends_[piece.box];
    const Recipe& recipe = recipes_[added.recipe];
    for (std::size_t k = 0; k < recipe.addends(); ++k) {
      const std::byte*& parcel = next_[index(sources_[added.sources + k])];
      blocks_[k] = parcel;
      parcel += elements * element_bytes_;
    }
    for (Size begin = 0; begin < elements; begin += block) {
      const Size count = std::min(block, elements - begin);
      const auto addend = [&](std::size_t k, std::size_t) {
        return blocks_[k] + begin * element_bytes_;
      };
      std::byte* const to = sums + (at + begin) * element_bytes_;
      const auto level = [&](std::uint32_t number) {
        return number == 0 ? to : scratch_.data() + number * block_bytes;
      };
      const std::byte* const sum = recipe.run(adder_, index(count), addend, level);
      if (sum != to) std::memcpy(to, sum, index(count * element_bytes_));
    }
  });
}

RoundsOf::Range RoundsOf::range(const Pieces& pieces, Size round) const {
  Range out;
  for_each(pieces, round, [&](const Piece&, Size at, Size, Size elements) {
    if (out.bytes() == 0) out.begin = at * element_bytes_;
    out.end = (at + elements) * element_bytes_;
  });
  return out;
}

RoundsOf::Range RoundsOf::taken(Size round, int owner) const {
  return range(taken_[index(owner)], round);
}

RoundsOf::Range RoundsOf::given(Size round, int target) const {
  return range(given_[index(target)], round);
}

void RoundsOf::take(Size round, int owner, const std::byte* sums, std::byte* out) {
  for_each(taken_[index(owner)], round,
           [&](const Piece& piece, Size position, Size before, Size elements) {
             copy::BoxStream::Cursor at{.box = piece.box,
                                        .at = (piece.begin + before) * element_bytes_};
             takes_->unpack(at, sums + position * element_bytes_, out, elements * element_bytes_);
           });
}

Size RoundsOf::held_bytes() const {
  std::size_t out = sizeof *this + own_.capacity() * sizeof(Piece) +
                    addends_.capacity() * sizeof(Addends) + sources_.capacity() * sizeof(int) +
                    (next_.capacity() + blocks_.capacity()) * sizeof(void*) + scratch_.capacity();
  for (const auto* const lists : {&sent_, &taken_, &given_, &received_}) {
    out += lists->capacity() * sizeof(Pieces);
    for (const Pieces& pieces : *lists) out += pieces.capacity() * sizeof(Piece);
  }
  Size sum = static_cast<Size>(out) + packs_->held_bytes() + takes_->held_bytes();
  for (const Recipe& recipe : recipes_) sum += recipe.held_bytes();
  return sum;
}

}  // namespace retile::add
