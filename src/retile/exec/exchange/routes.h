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
/// box comes from a holder of the old tile. Digits of the device number that tell its holders apart,
/// and those who need something of it as well, are the same in source and target: so what need not
/// leave a node does not, whatever the nodes are. For the others of these digits, the targets that
/// are left are numbered, by new tile and then by replica, and taken to the holders in turn. So of an
/// old tile no holder sends to two devices more than another, but for those that need nothing as
/// they hold it.
///
/// With nodes of so many devices, numbered one after the other, whoever can is served by its own node,
/// even where then some holders of a tile send more than others.
///
/// Running example: `[3{x}12, 2{y}12]` to `[2{y}12, 3{x}12]` over x:4,y:6. Device 0 has rows 0 to 2,
/// columns 0 and 1, and gets rows 0 and 1, columns 0 to 2: it keeps a box of 2 x 2 and gets one of
/// 2 x 1 from device 1.
class Routes {
 public:
  /// Whether both layouts are by tile numbers, in boxes, `from` without halos, and hold no addends.
  [[nodiscard]] static bool knows(const Layout& from, const Layout& to);

  /// Both outlive it. Preconditions: knows(from, to), and they are of one array and as many devices.
  /// \param node_devices  at least 1; the sources of every device are chosen from its own node first,
  ///     where keeps_to_nodes()
  Routes(const Layout& from, const Layout& to, Size node_devices = 1);

  /// Whether digits of the device number count the nodes; where they do not, and there is more than
  /// one device in a node, nodes are not looked at.
  [[nodiscard]] bool keeps_to_nodes() const { return keeps_to_nodes_; }

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

  /// What some digits of a position count in it.
  [[nodiscard]] static Size part_of(const std::vector<Digit>& digits, Size position) {
    Size out = 0;
    for (const Digit& digit : digits) {
      out += position / digit.stride % digit.size * digit.stride;
    }
    return out;
  }

  /// One end.
  struct End {
    explicit End(const Layout& layout);
    const Layout* layout;
    std::optional<IotaChain> device_at;  ///< nothing: position p is device p
    std::optional<IotaChain> position_of;
    std::vector<Numeral> tiles;  ///< per dimension
    std::vector<bool> skips;     ///< likewise, whether tiles that hold nothing stand between others
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

  /// How new tiles that meet an old one are numbered along one dimension.
  struct Along {
    /// A digit of the position, and what it counts in numbers of new tiles.
    struct Part {
      Digit digit;
      Size weight = 1;
      bool copied = false;
    };
    bool by_digits = false;   ///< else the number is how many tiles are before it
    std::vector<Part> parts;  ///< minor to major; the copied ones count nothing
    Numeral rest;             ///< the others: these are numbers

    /// The place among all that meet the old tile of what has a number, where the copied digits are
    /// those of a position.
    [[nodiscard]] Size place(Size number, Size position) const;
  };

  /// Which holder serves whom.
  struct Turns {
    std::vector<Digit> copied;  ///< the same in source and target
    Numeral holder;             ///< which of those that agree in these
    std::vector<Along> along;
    Numeral replica;  ///< the rest of the target

    std::vector<Digit> unsaid;  ///< of `copied`, those that no new tile says

    [[nodiscard]] Size copied_of(Size position) const { return part_of(copied, position); }
    [[nodiscard]] Size unsaid_of(Size position) const { return part_of(unsaid, position); }
  };

  /// \param atoms  of which all digits are made, major to minor; nothing: no digit is copied
  [[nodiscard]] Turns turns(const std::optional<std::vector<Digit>>& atoms) const;
  [[nodiscard]] Along along(std::size_t k, const std::vector<Digit>& atoms) const;
  /// Targets of their own node's holders, and the others.
  [[nodiscard]] const Turns& turns_of(Size holders, Size target) const {
    return in_node_ && is_in_node(holders, target) ? *in_node_ : even_;
  }
  [[nodiscard]] bool is_in_node(Size holders, Size target) const;
  template <typename Use>
  void sent_by(const Turns& turns, Size device, Use&& use) const;

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
  Turns even_;
  std::optional<Turns> in_node_;  ///< nothing: as even_
  std::vector<Digit> tied_;       ///< of an old tile's number, those that count nodes
  bool keeps_to_nodes_ = false;
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
  Transfer transfer{device, 0, Shape(rank_), Shape(rank_), Shape(rank_)};
  std::vector<Size> chosen(rank_, 0);
  while (true) {
    Size source = 0;
    bool own = true;
    for (std::size_t k = 0; k < rank_; ++k) {
      const Piece& piece = old_at(lines[k], chosen[k]);
      source += piece.position;
      own = own && piece.tile == old[k];
      transfer.target_start[k] = piece.begin - lines[k].tile.begin;
      transfer.source_start[k] = piece.begin - piece.at;
      transfer.shape[k] = piece.end - piece.begin;
    }
    transfer.source = device;
    if (!own) {
      const Turns& turns = turns_of(source, position);
      Size turn = 0;
      for (std::size_t k = 0; k < rank_; ++k) {
        const Along& along = turns.along[k];
        const Piece& piece = old_at(lines[k], chosen[k]);
        turn = along.by_digits ? turn * along.rest.count + along.rest.number(position)
                               : turn * piece.count + (mine[k] - piece.first);
      }
      turn = turn * turns.replica.count + turns.replica.number(position);
      source += turns.copied_of(position) + turns.holder.position(turn % turns.holder.count);
      transfer.source = from_.device(source);
    }
    use(static_cast<const Transfer&>(transfer));
    std::size_t k = rank_;
    while (k > 0 && ++chosen[k - 1] == lines[k - 1].count) chosen[--k] = 0;
    if (k == 0) return;
  }
}

template <typename Use>
void Routes::sent(Size device, Use&& use) const {
  sent_by(even_, device, use);
  if (in_node_) sent_by(*in_node_, device, use);
}

template <typename Use>
void Routes::sent_by(const Turns& turns, Size device, Use&& use) const {
  const Size position = from_.position(device);
  const Shape mine = numbers(from_, position);
  const Size copied = turns.copied_of(position);
  Size holders = 0;
  std::vector<Line> lines;
  Size count = turns.replica.count;
  for (std::size_t k = 0; k < rank_; ++k) {
    holders += from_.tiles[k].position(mine[k]);
    lines.push_back(new_line(k, mine[k]));
    if (lines.back().count == 0) return;
    count *= turns.along[k].by_digits ? turns.along[k].rest.count : lines.back().count;
  }
  Transfer transfer{0, device, Shape(rank_), Shape(rank_), Shape(rank_)};
  for (Size turn = turns.holder.number(position); turn < count; turn += turns.holder.count) {
    Size target = turns.replica.position(turn % turns.replica.count);
    Size rest = turn / turns.replica.count;
    bool some = true;
    for (std::size_t k = rank_; k-- > 0;) {
      const Along& along = turns.along[k];
      const Size numbers_along = along.by_digits ? along.rest.count : lines[k].count;
      const Size number = rest % numbers_along;
      const Piece& piece =
          new_at(lines[k], along.by_digits ? along.place(number, position) : number);
      rest /= numbers_along;
      target += piece.position;
      some = some && piece.begin < piece.end;
      transfer.target_start[k] = piece.begin - piece.at;
      transfer.source_start[k] = piece.begin - lines[k].tile.begin;
      transfer.shape[k] = piece.end - piece.begin;
    }
    if (!some) continue;
    // Copied digits that no new tile says are those of the holder; the others may say otherwise.
    target += turns.unsaid_of(position);
    if (turns.copied_of(target) != copied || &turns_of(holders, target) != &turns) continue;
    transfer.target = to_.device(target);
    if (has_numbers(from_, from_.position(transfer.target), mine)) continue;  // it keeps that
    use(static_cast<const Transfer&>(transfer));
  }
}

}  // namespace retile
