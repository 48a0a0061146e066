// What the readers of other systems' programs make, and the evaluator takes: functions of operations
// on the tiles of devices, in one vocabulary for HLO, StableHLO, Shardy, MLIR and traces of DTensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "retile/core/addition.h"
#include "retile/core/layout.h"
#include "retile/core/mesh.h"
#include "retile/core/size.h"
#include "retile/operations/arithmetic.h"
#include "retile/operations/element.h"

namespace retile::foreign {

using operations::element_kind;
using operations::ElementKind;
using operations::wrapped;

/// Where something stands in a file, both counted from 1.
struct FilePlace {
  std::size_t line = 1;
  std::size_t column = 1;
};

/// What one device holds: its element type as the file spells it, and its extents. All devices'
/// values have the same type.
struct TileType {
  std::string element;  ///< `f32`, `s32`, `i64`, `pred`, `i1`, `index`
  Shape extents;
  friend bool operator==(const TileType&, const TileType&) = default;
};

/// A value of a Function: its index in Function::values.
using ValueId = std::size_t;

/// Groups of devices in their order, which says whose part stands where. All are as long; every
/// device stands in one of them, once.
using Groups = std::vector<std::vector<Size>>;

// The operations. Operands are in Operation::operands; who has none says so. What the types of
// operands and results must be, typing.h says.
//
// Values may lie on single devices (Value::device). Then collectives, and Assemble, have an operand and
// a result for every member, in whose order they number the members instead of devices.

/// A parameter of the function, counted from 0. No operands.
struct Parameter {
  std::size_t number = 0;
};
/// Words (operations/element.h), row by row; one where all are alike. Of types without words a 0 is a
/// zero, and any other number one that nothing is known of. No operands.
struct Constant {
  std::vector<std::int64_t> numbers;
};
/// A scalar, of every device another: its number, that of its replica, its place along an axis. No
/// operands.
struct PerDevice {
  std::vector<std::int64_t> numbers;
};
/// The place along a dimension. No operands.
struct Iota {
  std::size_t dim = 0;
};
/// The same elements under another name: copies, barriers, casts that change nothing.
struct Same {};
/// To another element type.
struct Convert {};
struct Reshape {};
/// New dimension k is old dimension permutation[k].
struct Transpose {
  std::vector<std::size_t> permutation;
};
struct Slice {
  Shape start;
  Shape limit;
  Shape stride;
};
/// Operands: the array, the scalar to pad with. Negative low and high take away.
struct Pad {
  Shape low;
  Shape high;
  Shape interior;
};
struct Concatenate {
  std::size_t dim = 0;
};
/// These dimensions turned around.
struct Reverse {
  std::vector<std::size_t> dims;
};
/// Old dimension k becomes new dimension dims[k], where an extent of 1 repeats, too; all others
/// repeat.
struct Broadcast {
  std::vector<std::size_t> dims;
};
/// Operands: the array, a scalar start for every dimension; starts are clamped.
struct DynamicSlice {
  Shape sizes;
};
/// Operands: the array, the update, a scalar start for every dimension; starts are clamped.
struct DynamicUpdateSlice {};
/// Operands: truth values (of the shape, or a scalar), where true, where false.
struct Select {};
using operations::Arithmetic;
using operations::Comparison;
using operations::Order;
/// Of numbers.
struct Compare {
  Comparison comparison{};
  Order order = Order::of_type;
};
/// Of one or two arrays of numbers; `add`, `maximum` and `minimum` of elements, too.
struct Calculate {
  Arithmetic arithmetic{};
};
/// Operands: the least, numbers, the most; the ends may be scalars.
struct Clamp {};
/// The tiles of a group one behind the other along a dimension.
struct AllGather {
  std::size_t dim = 0;
  Groups groups;
};
/// Cuts along `split` into one part for every member, sends part j to member j, and puts what comes
/// one behind the other along `concat`. With several operands these are the parts, and there are as
/// many results: number j comes from member j.
struct AllToAll {
  std::size_t split = 0;
  std::size_t concat = 0;
  Groups groups;
};
/// Pairs of source and target; who is no target gets zeros.
struct CollectivePermute {
  std::vector<std::pair<Size, Size>> pairs;
};
struct AllReduce {
  Addition addition = Addition::sum;
  Groups groups;
  Size divisor = 1;  ///< of what a sum makes
};
/// Adds, and leaves member j with part j along the dimension.
struct ReduceScatter {
  Addition addition = Addition::sum;
  std::size_t dim = 0;
  Groups groups;
  Size divisor = 1;
};
/// From every device the box of its operand at starts[device], of the result's extents; what of it
/// lies behind the operand's end is undefined. What a slice by axes says without offset tables.
struct TakeBox {
  std::vector<Shape> starts;
};
/// Of every device a result of nothing (what adds nothing: zeros of a sum), but for its operand at
/// starts[device]; of nothing alone where that is missing.
struct PutBox {
  Addition addition = Addition::sum;
  std::vector<std::optional<Shape>> starts;
};

/// Every device puts its result together from boxes of what devices hold of the operand; what no box
/// covers is undefined. What one collective of several dimensions does, or of uneven tiles.
struct Assemble {
  struct Piece {
    Size source = 0;
    Shape from;  ///< where the box begins in the source's operand
    Shape to;    ///< and where in the result
    Shape extents;
  };
  std::vector<std::vector<Piece>> pieces;  ///< of every device
  Groups groups = {};  ///< those who give and get, where they are rows of one length
};

using Action =
    std::variant<Parameter, Constant, PerDevice, Iota, Same, Convert, Reshape, Transpose, Slice,
                 Pad, Concatenate, Reverse, Broadcast, DynamicSlice, DynamicUpdateSlice, Select,
                 Compare, Calculate, Clamp, AllGather, AllToAll, CollectivePermute, AllReduce,
                 ReduceScatter, TakeBox, PutBox, Assemble>;

/// A value as the file names it. One operation of the file may be several here; the last has its
/// claim.
struct Value {
  std::string name;  ///< `%all-gather.3`
  TileType type;
  FilePlace place;
  /// What the file says that all devices hold of the array: Shardy's out_sharding.
  std::shared_ptr<const Layout> claim = {};
  /// The one that holds it, where not all do.
  std::optional<Size> device = {};
  /// The extents of every device's own tile, at the beginning of one of the type's; none: the type's.
  std::vector<Shape> tiles = {};
};

struct Operation {
  Action action;
  std::string name;  ///< as the file spells it: `all-gather`, `sdy.all_gather`
  FilePlace place;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;  ///< one, but of AllToAll with several operands, and of members
};

/// An end that the file states, as it spells it.
struct WrittenEnd {
  std::string text;
  FilePlace place;
  /// What the text means; nothing: a sharding (notation/sharding.h) that says no global shape.
  std::optional<Layout> layout = {};
  Size divisor = 1;  ///< the array is the sum of its addends, divided by it
};

/// One function. The readers make one of every function of a text; arrays_of (arrays.h) takes apart
/// what moves several arrays, and what is left is judged, each by itself.
struct Function {
  std::string name;
  FilePlace place;
  Size devices = 1;
  std::vector<Value> values;
  std::vector<Operation> operations;  ///< in an order in which operands come first
  std::vector<Size> ranks = {};       ///< of a trace: what it calls the devices
  bool prepares_addends = false;      ///< of a trace: they are no addends as they are kept
  std::vector<ValueId> parameters;
  std::vector<ValueId> results;
  std::optional<Mesh> mesh = {};  ///< where the file has one that both ends are said over
  /// What is known of the ends: all of it, or what options must say.
  std::optional<WrittenEnd> from = {};
  std::optional<WrittenEnd> to = {};
  /// The same of every parameter and result, as far as the text says it.
  std::vector<std::optional<WrittenEnd>> starts = {};
  std::vector<std::optional<WrittenEnd>> ends = {};
  /// Which of how many arrays of its function it moves.
  std::size_t array = 0;
  std::size_t arrays = 1;
  /// What in the text may mean something else than its author thinks.
  std::vector<std::string> notes = {};
};

}  // namespace retile::foreign
