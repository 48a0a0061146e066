// The steps, in one table: what each is called, which keys it has in the forms, what it holds, and
// what it makes of the devices' arrays.
//
// A step is a struct, an alternative of `Op`, a row `OpRow<Step>` and its `OpFacts` (op_facts.h). Who asks whether a step
// has groups, cuts or adds asks the facts, and no step by its name. Who cannot do without visits `Op` or
// `Meaning` through `match`, without a default: whoever adds a step is told by the compiler where else
// something must be said about it. docs/reference/program.md has the same table for people.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "retile/core/addition.h"
#include "retile/core/cuts.h"
#include "retile/core/device_table.h"
#include "retile/core/size.h"

namespace retile {

// ---- What steps hold ----------------------------------------------------------------------------

/// How the forms write PieceSize::balanced().
inline constexpr std::string_view balanced_word = "balanced";

/// `parts=n part=L`: device d keeps piece L[d] of n; `part` has one entry per device, each below
/// `parts`.
struct PartList {
  Size parts = 1;
  DeviceTable part;
  friend bool operator==(const PartList&, const PartList&) = default;
};

/// Which piece each device keeps: its position in a group, or as listed.
using KeptPieces = std::variant<DeviceTable, PartList>;

/// Every device keeps one of n equal pieces of its tile along `dim`, or of those that `piece` says:
/// piece q at position q of its group, or as listed.
struct Dynslice {
  std::size_t dim = 0;
  KeptPieces pieces;
  std::optional<PieceSize> piece = {};
  friend bool operator==(const Dynslice&, const Dynslice&) = default;
};

/// Every device gets the group's tiles concatenated along `dim`, position 0 first.
struct Allgather {
  std::size_t dim = 0;
  DeviceTable groups;
  friend bool operator==(const Allgather&, const Allgather&) = default;
};

/// Position q gets piece q along `split` of every member's tile, concatenated along `concat`,
/// position 0 first.
struct Alltoall {
  std::size_t split = 0;
  std::size_t concat = 0;  ///< may equal split
  DeviceTable groups;
  std::optional<PieceSize> piece = {};  ///< as of a Dynslice
  friend bool operator==(const Alltoall&, const Alltoall&) = default;
};

/// The allgathers along several dimensions as one. A row's members stand in a grid of `counts`, the
/// last fastest, and so do their tiles along `dims`: what is the k-th number of a member's place says
/// where its tile lies along dims[k]. Where a dimension stands several times, the first is slowest.
struct AllgatherDims {
  std::vector<std::size_t> dims;  ///< one at least
  Shape counts;                   ///< as many, >= 1; together the members of a row
  DeviceTable groups;
  friend bool operator==(const AllgatherDims&, const AllgatherDims&) = default;
};

/// The alltoalls between several dimensions as one. Cut along `splits`, the tiles are grids of pieces.
/// The place of the device says which piece it gets of every member, and the place of the member where
/// that lies along `concats`.
struct AlltoallDims {
  std::vector<std::size_t> splits;   ///< one at least
  std::vector<std::size_t> concats;  ///< as many
  Shape counts;                      ///< as of an AllgatherDims
  DeviceTable groups;
  friend bool operator==(const AlltoallDims&, const AlltoallDims&) = default;
};

/// A step along several dimensions, whatever it does along them (grid.h).
template <typename Step>
concept OverDims = std::is_same_v<Step, AllgatherDims> || std::is_same_v<Step, AlltoallDims>;

/// Pairs [source, target]; who is no target keeps its own tile.
using PairList = std::vector<std::array<Size, 2>>;

/// From which device each gets its tile: source[d], or pairs.
using Sources = std::variant<DeviceTable, PairList>;

/// Every device d gets the tile of device source[d].
struct Allpermute {
  Sources source;
  friend bool operator==(const Allpermute&, const Allpermute&) = default;
};

/// A box of elements of the source device's tile that the target device gets. All in elements, one
/// number per dimension; both tiles lie in C order.
struct Transfer {
  Size target = 0;
  Size source = 0;     ///< may be the target itself
  Shape target_start;  ///< where the box lies in the target's tile after the step
  Shape source_start;  ///< where it lies in the source's tile before the step
  Shape shape;         ///< extents of the box, >= 1
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

/// Every device's new tile is put together from boxes of old tiles; each of its elements comes from
/// exactly one transfer. With `add` it is the sum of all transfers that write it, zero where none
/// does. The step's `tile` claim says the shape of the new tiles, or its `shapes`
/// claim those of every device: one of the two is required.
struct Exchange {
  std::vector<Transfer> transfers;
  std::optional<Addition> add = {};
  friend bool operator==(const Exchange&, const Exchange&) = default;
};

/// The row of a transfer in the forms: target, source, the two starts, the shape.
[[nodiscard]] std::vector<Size> row_of(const Transfer& transfer);

/// Numbers of transfers, those of one target together: the lowest target first, in the order of
/// the list within one.
[[nodiscard]] std::vector<std::size_t> by_target(const std::vector<Transfer>& transfers);

/// The members' tiles are added, element by element; position q gets piece q of the sum along
/// `dim`.
struct Reducescatter {
  std::size_t dim = 0;
  DeviceTable groups;
  std::optional<PieceSize> piece = {};  ///< as of a Dynslice
  Addition add = Addition::sum;         ///< never stack
  friend bool operator==(const Reducescatter&, const Reducescatter&) = default;
};

/// Every device gets the sum of the members' tiles.
struct Allreduce {
  DeviceTable groups;
  Addition add = Addition::sum;  ///< never stack
  friend bool operator==(const Allreduce&, const Allreduce&) = default;
};

/// Position 0 keeps its tile, the others get zeros: what the members held alike are addends
/// afterwards.
struct Unreduce {
  DeviceTable groups;
  Addition add = Addition::sum;  ///< never stack
  friend bool operator==(const Unreduce&, const Unreduce&) = default;
};

/// Position q gets a tile n times as long along `dim`, of zeros but for its own tile as piece q.
struct Embed {
  std::size_t dim = 0;
  DeviceTable groups;
  Addition add = Addition::sum;  ///< never stack
  friend bool operator==(const Embed&, const Embed&) = default;
};

/// A step without its claims.
using Op = std::variant<Dynslice, Allgather, Alltoall, Allpermute, Exchange, Reducescatter,
                        Allreduce, Unreduce, Embed, AllgatherDims, AlltoallDims>;

// ---- The table ----------------------------------------------------------------------------------

/// How the value of a key is written.
enum class KeyKind {
  number,    ///< `2`
  piece,     ///< `2`, or `balanced`
  groups,    ///< rows of devices, or an iota with two numbers on its left
  list,      ///< devices or parts, or an iota with one number on its left
  rows,      ///< rows of numbers
  ints,      ///< `[2,3]`
  tiling,    ///< `[3{x}12, 2{y}12]`
  addition,  ///< `max`
};

struct Key {
  std::string_view name;
  KeyKind kind{};
  int since = 1;  ///< the version of the forms that has it first
};

/// A member of a step, and the key with which its value is written.
template <typename Step, typename Value>
struct Field {
  std::string_view key;
  Value Step::*member;
};
template <typename Step, typename Value>
Field(std::string_view, Value Step::*) -> Field<Step, Value>;

/// The row of a step: `name`; `keys` in the order in which they are written, without the claims;
/// `fields`, its members in that order; `needs`, which keys it must have; `not_both`, which ones exclude
/// each other, or empty; `since`, the version of the forms that has it first. A key belongs to the field of
/// its name, except that `groups`, `parts` and `part` belong to KeptPieces, `source` and `pairs` to Sources.
template <typename Step>
struct OpRow;

template <>
struct OpRow<Dynslice> {
  static constexpr std::string_view name = "dynslice";
  static constexpr std::array keys = {Key{"dim", KeyKind::number}, Key{"groups", KeyKind::groups},
                                      Key{"parts", KeyKind::number}, Key{"part", KeyKind::list},
                                      Key{"piece", KeyKind::piece, 2}};
  static constexpr std::tuple fields = {Field{"dim", &Dynslice::dim},
                                        Field{"pieces", &Dynslice::pieces},
                                        Field{"piece", &Dynslice::piece}};
  static constexpr std::string_view needs = "dim, and either groups, or parts and part";
  static constexpr std::string_view not_both = "either groups, or parts and part, not both";
  static constexpr int since = 1;
};
template <>
struct OpRow<Allgather> {
  static constexpr std::string_view name = "allgather";
  static constexpr std::array keys = {Key{"dim", KeyKind::number}, Key{"groups", KeyKind::groups}};
  static constexpr std::tuple fields = {Field{"dim", &Allgather::dim},
                                        Field{"groups", &Allgather::groups}};
  static constexpr std::string_view needs = "dim and groups";
  static constexpr std::string_view not_both = "";
  static constexpr int since = 1;
};
template <>
struct OpRow<Alltoall> {
  static constexpr std::string_view name = "alltoall";
  static constexpr std::array keys = {Key{"split", KeyKind::number}, Key{"concat", KeyKind::number},
                                      Key{"groups", KeyKind::groups},
                                      Key{"piece", KeyKind::piece, 2}};
  static constexpr std::tuple fields = {
      Field{"split", &Alltoall::split}, Field{"concat", &Alltoall::concat},
      Field{"groups", &Alltoall::groups}, Field{"piece", &Alltoall::piece}};
  static constexpr std::string_view needs = "split, concat and groups";
  static constexpr std::string_view not_both = "";
  static constexpr int since = 1;
};
template <>
struct OpRow<Allpermute> {
  static constexpr std::string_view name = "allpermute";
  static constexpr std::array keys = {Key{"source", KeyKind::list}, Key{"pairs", KeyKind::rows}};
  static constexpr std::tuple fields = {Field{"source", &Allpermute::source}};
  static constexpr std::string_view needs = "source or pairs";
  static constexpr std::string_view not_both = "either source or pairs, not both";
  static constexpr int since = 1;
};
template <>
struct OpRow<Exchange> {
  static constexpr std::string_view name = "exchange";
  static constexpr std::array keys = {Key{"transfers", KeyKind::rows},
                                      Key{"add", KeyKind::addition, 2}};
  static constexpr std::tuple fields = {Field{"transfers", &Exchange::transfers},
                                        Field{"add", &Exchange::add}};
  static constexpr std::string_view needs =
      "transfers, and tile, which says the shape of the new tiles";
  static constexpr std::string_view not_both = "";
  static constexpr int since = 1;
};

template <>
struct OpRow<Reducescatter> {
  static constexpr std::string_view name = "reducescatter";
  static constexpr std::array keys = {Key{"dim", KeyKind::number}, Key{"groups", KeyKind::groups},
                                      Key{"piece", KeyKind::piece}, Key{"add", KeyKind::addition}};
  static constexpr std::tuple fields = {
      Field{"dim", &Reducescatter::dim}, Field{"groups", &Reducescatter::groups},
      Field{"piece", &Reducescatter::piece}, Field{"add", &Reducescatter::add}};
  static constexpr std::string_view needs = "dim and groups";
  static constexpr std::string_view not_both = "";
  static constexpr int since = 2;
};
template <>
struct OpRow<Allreduce> {
  static constexpr std::string_view name = "allreduce";
  static constexpr std::array keys = {Key{"groups", KeyKind::groups},
                                      Key{"add", KeyKind::addition}};
  static constexpr std::tuple fields = {Field{"groups", &Allreduce::groups},
                                        Field{"add", &Allreduce::add}};
  static constexpr std::string_view needs = "groups";
  static constexpr std::string_view not_both = "";
  static constexpr int since = 2;
};
template <>
struct OpRow<Unreduce> {
  static constexpr std::string_view name = "unreduce";
  static constexpr std::array keys = {Key{"groups", KeyKind::groups},
                                      Key{"add", KeyKind::addition}};
  static constexpr std::tuple fields = {Field{"groups", &Unreduce::groups},
                                        Field{"add", &Unreduce::add}};
  static constexpr std::string_view needs = "groups";
  static constexpr std::string_view not_both = "";
  static constexpr int since = 2;
};
template <>
struct OpRow<Embed> {
  static constexpr std::string_view name = "embed";
  static constexpr std::array keys = {Key{"dim", KeyKind::number}, Key{"groups", KeyKind::groups},
                                      Key{"add", KeyKind::addition}};
  static constexpr std::tuple fields = {Field{"dim", &Embed::dim}, Field{"groups", &Embed::groups},
                                        Field{"add", &Embed::add}};
  static constexpr std::string_view needs = "dim and groups";
  static constexpr std::string_view not_both = "";
  static constexpr int since = 2;
};

template <>
struct OpRow<AllgatherDims> {
  static constexpr std::string_view name = "allgather_dims";
  static constexpr std::array keys = {Key{"dims", KeyKind::ints}, Key{"counts", KeyKind::ints},
                                      Key{"groups", KeyKind::groups}};
  static constexpr std::tuple fields = {Field{"dims", &AllgatherDims::dims},
                                        Field{"counts", &AllgatherDims::counts},
                                        Field{"groups", &AllgatherDims::groups}};
  static constexpr std::string_view needs = "dims, counts and groups";
  static constexpr std::string_view not_both = "";
  static constexpr int since = 2;
};
template <>
struct OpRow<AlltoallDims> {
  static constexpr std::string_view name = "alltoall_dims";
  static constexpr std::array keys = {Key{"splits", KeyKind::ints}, Key{"concats", KeyKind::ints},
                                      Key{"counts", KeyKind::ints}, Key{"groups", KeyKind::groups}};
  static constexpr std::tuple fields = {
      Field{"splits", &AlltoallDims::splits}, Field{"concats", &AlltoallDims::concats},
      Field{"counts", &AlltoallDims::counts}, Field{"groups", &AlltoallDims::groups}};
  static constexpr std::string_view needs = "splits, concats, counts and groups";
  static constexpr std::string_view not_both = "";
  static constexpr int since = 2;
};

/// What any step may claim of its result; these keys stand last.
inline constexpr std::array claim_keys = {Key{"tile", KeyKind::ints}, Key{"map", KeyKind::tiling},
                                          Key{"at", KeyKind::rows},
                                          Key{"shapes", KeyKind::rows, 2}};

/// A row as a value.
struct OpInfo {
  std::string_view name;
  std::span<const Key> keys;
  std::string_view needs;
  std::string_view not_both;
  int since = 1;
};

/// All rows; row k is that of alternative k of Op.
[[nodiscard]] std::span<const OpInfo> op_table();
[[nodiscard]] const OpInfo& info(const Op& op);

/// Whether a step says of which sizes its pieces are: tiles that it makes may differ then.
[[nodiscard]] bool says_pieces(const Op& op);
/// The version of the forms that can first say a step, with the keys that it has.
[[nodiscard]] int since(const Op& op);

/// Takes the keys that an op has, with their values, in the order of its row.
class KeySink {
 public:
  KeySink() = default;
  KeySink(const KeySink&) = delete;
  KeySink& operator=(const KeySink&) = delete;
  virtual ~KeySink() = default;
  virtual void number(std::string_view key, Size value) = 0;
  virtual void piece(std::string_view key, PieceSize value) = 0;
  virtual void groups(std::string_view key, const DeviceTable& table) = 0;
  virtual void list(std::string_view key, const DeviceTable& table) = 0;
  /// \param row  row number 0 .. count - 1
  virtual void rows(std::string_view key, std::size_t count,
                    const std::function<std::vector<Size>(std::size_t)>& row) = 0;
  virtual void ints(std::string_view key, const std::vector<Size>& values) = 0;
  virtual void addition(std::string_view key, Addition value) = 0;
};
void write_keys(const Op& op, KeySink& sink);

/// Calls `visit` with the key and the value of each member of an op, in the order of its row.
/// \param op  an Op, const or not
template <typename AnyOp, typename Visit>
void each_field(AnyOp& op, const Visit& visit) {
  std::visit(
      [&visit](auto& step) {
        std::apply([&](const auto&... field) { (visit(field.key, step.*field.member), ...); },
                   OpRow<std::remove_cvref_t<decltype(step)>>::fields);
      },
      op);
}

}  // namespace retile
