// Who sends what to whom between two layouts by tile numbers, asked of one device at a time: what a
// device sends and receives follows from its number, and nobody looks at the others.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/size.h"
#include "retile/program/ops.h"

namespace retile {

/// The rule of direct() where it can be asked so.
///
/// A new tile is cut where old tiles begin and end. A device keeps what it holds itself. Every other
/// box comes from a holder of the old tile: those who get something of that tile are numbered, by
/// new tile and then by replica, and taken to its holders in turn. So of an old tile no holder sends
/// to two devices more than another, but for those that need nothing as they hold it.
///
/// Running example: `[3{x}12, 2{y}12]` to `[2{y}12, 3{x}12]` over x:4,y:6. Device 0 has rows 0 to 2,
/// columns 0 and 1, and gets rows 0 and 1, columns 0 to 2: it keeps a box of 2 x 2 and gets one of
/// 2 x 1 from device 1.
class Routes {
 public:
  /// Whether both layouts are by tile numbers, in boxes, `from` without halos, and hold no addends.
  [[nodiscard]] static bool knows(const Layout& from, const Layout& to);

  /// Both outlive it. Preconditions: knows(from, to), and they are of one array and as many devices.
  Routes(const Layout& from, const Layout& to);

  /// Boxes that a device's new tile is cut into, those that it keeps among them; at most 2^62 are
  /// counted.
  [[nodiscard]] Size boxes(Size device) const;

  /// What received() and sent() hold at most for a device, while they run.
  [[nodiscard]] Size table_bytes(Size device) const;

  /// Calls use(const Transfer&) for every box of the device's new tile in C order, those that it keeps
  /// among them. The Transfer is the same object in every call.
  /// \complexity O(rank) for each box, with a table of the boxes along every dimension that has few
  template <typename Use>
  void received(Size device, Use&& use) const;

  /// The same for every box that the device sends to another one.
  template <typename Use>
  void sent(Size device, Use&& use) const;

 private:
  /// Digits of the position that say a number, minor to major.
  struct Numeral {
    std::vector<Digit> digits;
    Size count = 1;
    /// The part of a position that says number n.
    [[nodiscard]] Size position(Size n) const;
    [[nodiscard]] Size number(Size position) const;
  };

  /// One end.
  struct End {
    explicit End(const Layout& layout);
    const Layout* layout;
    std::optional<IotaChain> device_at;  ///< nothing: position p is device p
    std::optional<IotaChain> position_of;
    std::vector<Numeral> tiles;  ///< per dimension
    Numeral replica;
    [[nodiscard]] Size position(Size device) const {
      return position_of ? position_of->at(device) : device;
    }
    [[nodiscard]] Size device(Size position) const {
      return device_at ? device_at->at(position) : position;
    }
  };

  /// A tile along one dimension that meets a tile of the other end, and the stretch that both have.
  struct Piece {
    Size tile = 0;      ///< its number
    Size position = 0;  ///< the digits that say it
    Size at = 0;        ///< where its box begins
    Size begin = 0;     ///< of what both have
    Size end = 0;
    // Of an old tile: the new tiles that meet it are numbered from `first`, `count` of them.
    Size first = 0;
    Size count = 0;
  };

  [[nodiscard]] static Stretch stretch(const Layout& layout, std::size_t k, Size tile);
  /// The tiles that meet a stretch, numbers that are empty among them.
  [[nodiscard]] static Stretch meeting(const Layout& layout, std::size_t k, Stretch stretch);

  /// All pieces along one dimension, by number. Where they are many each is made when it is asked
  /// for: a table that leaves the cache costs more, and so does its memory.
  struct Line {
    std::size_t k = 0;
    Stretch tile;    ///< of the device
    Stretch met;     ///< tiles of the other end
    Size count = 0;  ///< of pieces; those of old tiles are never empty
    std::vector<Piece> table = {};
    Size made = -1;  ///< the number of the only piece at hand, where there is no table
    Piece piece = {};
  };
  static constexpr Size most_in_table = 4096;
  [[nodiscard]] Line old_line(std::size_t k, Size new_tile) const;
  [[nodiscard]] Line new_line(std::size_t k, Size old_tile) const;
  [[nodiscard]] Piece old_piece(const Line& line, Size tile) const;
  [[nodiscard]] Piece new_piece(const Line& line, Size tile) const;
  [[nodiscard]] const Piece& old_at(Line& line, Size n) const {
    if (!line.table.empty()) return line.table[static_cast<std::size_t>(n)];
    if (std::exchange(line.made, n) != n) line.piece = old_piece(line, line.met.begin + n);
    return line.piece;
  }
  [[nodiscard]] const Piece& new_at(Line& line, Size n) const {
    if (!line.table.empty()) return line.table[static_cast<std::size_t>(n)];
    if (std::exchange(line.made, n) != n) line.piece = new_piece(line, line.met.begin + n);
    return line.piece;
  }
  [[nodiscard]] Shape numbers(const End& end, Size position) const;
  [[nodiscard]] bool has_numbers(const End& end, Size position, const Shape& numbers) const;

  std::size_t rank_;
  End from_;
  End to_;
};

template <typename Use>
void Routes::received(Size device, Use&& use) const {
  const Size position = to_.position(device);
  const Shape mine = numbers(to_, position);
  const Size old_position = from_.position(device);
  const Shape old = numbers(from_, old_position);
  std::vector<Line> lines;
  for (std::size_t k = 0; k < rank_; ++k) {
    lines.push_back(old_line(k, mine[k]));
    if (lines.back().count == 0) return;
  }
  const Size replica = to_.replica.number(position);
  Transfer transfer{device, 0, Shape(rank_), Shape(rank_), Shape(rank_)};
  std::vector<Size> chosen(rank_, 0);
  while (true) {
    Size turn = 0;
    Size source = 0;
    bool own = true;
    for (std::size_t k = 0; k < rank_; ++k) {
      const Piece& piece = old_at(lines[k], chosen[k]);
      turn = turn * piece.count + (mine[k] - piece.first);
      source += piece.position;
      own = own && piece.tile == old[k];
      transfer.target_start[k] = piece.begin - lines[k].tile.begin;
      transfer.source_start[k] = piece.begin - piece.at;
      transfer.shape[k] = piece.end - piece.begin;
    }
    turn = turn * to_.replica.count + replica;
    transfer.source =
        own ? device : from_.device(source + from_.replica.position(turn % from_.replica.count));
    use(static_cast<const Transfer&>(transfer));
    std::size_t k = rank_;
    while (k > 0 && ++chosen[k - 1] == lines[k - 1].count) chosen[--k] = 0;
    if (k == 0) return;
  }
}

template <typename Use>
void Routes::sent(Size device, Use&& use) const {
  const Size position = from_.position(device);
  const Shape mine = numbers(from_, position);
  std::vector<Line> lines;
  Size turns = to_.replica.count;
  for (std::size_t k = 0; k < rank_; ++k) {
    lines.push_back(new_line(k, mine[k]));
    if (lines.back().count == 0) return;
    turns *= lines.back().count;
  }
  Transfer transfer{0, device, Shape(rank_), Shape(rank_), Shape(rank_)};
  for (Size turn = from_.replica.number(position); turn < turns; turn += from_.replica.count) {
    Size target = to_.replica.position(turn % to_.replica.count);
    Size rest = turn / to_.replica.count;
    bool some = true;
    for (std::size_t k = rank_; k-- > 0;) {
      const Piece& piece = new_at(lines[k], rest % lines[k].count);
      rest /= lines[k].count;
      target += piece.position;
      some = some && piece.begin < piece.end;
      transfer.target_start[k] = piece.begin - piece.at;
      transfer.source_start[k] = piece.begin - lines[k].tile.begin;
      transfer.shape[k] = piece.end - piece.begin;
    }
    if (!some) continue;
    transfer.target = to_.device(target);
    if (has_numbers(from_, from_.position(transfer.target), mine)) continue;  // it keeps that
    use(static_cast<const Transfer&>(transfer));
  }
}

}  // namespace retile
