// A whole program: computations of operations on arrays, as a compiler prints them before or after it
// was cut for several devices.
//
// Tuples are gone: a value is an array, and whatever makes or takes a tuple makes or takes its parts.
// Calls and fusions are gone, too: what they call stands in their place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "retile/core/size.h"
#include "retile/notation/paper/problem.h"
#include "retile/operations/table.h"

namespace retile::whole {

using operations::ElementKind;
using operations::Id;
using operations::Word;

/// Where something stands in its text, both counted from 1.
struct TextPlace {
  std::size_t line = 1;
  std::size_t column = 1;
};

struct ArrayType {
  ElementKind kind;
  Shape extents;
  friend bool operator==(const ArrayType&, const ArrayType&) = default;
};

/// A value of a Computation: its index in Computation::values.
using ValueId = std::size_t;
/// A computation of a Module: its index in Module::computations.
using ComputationId = std::size_t;
/// Groups of devices in their order; whoever stands in none takes no part.
using DeviceGroups = std::vector<std::vector<Size>>;

// What an operation says beside its operands. An operation with nothing to say has NoDetail.

struct NoDetail {};
/// Words row by row; of complex numbers two for each element, the real part first.
struct Literal {
  std::vector<Word> words;
};
/// A scalar, of every device another.
struct OfDevices {
  std::vector<Word> words;
};
/// Dimensions in an order: of iota, transpose, reverse, broadcast, concatenate, reduce, sort, top-k.
struct Dims {
  std::vector<std::size_t> dims;
};
struct SliceDetail {
  Shape start;
  Shape limit;
  Shape stride;
};
struct PadDetail {
  Shape low;
  Shape high;
  Shape interior;
};
struct CompareDetail {
  operations::Comparison comparison{};
  operations::Order order = operations::Order::of_type;
};
struct DotDetail {
  std::vector<std::size_t> left_contracting;
  std::vector<std::size_t> right_contracting;
  std::vector<std::size_t> left_batch;
  std::vector<std::size_t> right_batch;
};
/// Of a window along one dimension.
struct WindowDim {
  Size size = 1;
  Size stride = 1;
  Size low = 0;
  Size high = 0;
  Size base_dilation = 1;
  Size window_dilation = 1;
  bool is_reversed = false;
};
struct WindowDetail {
  std::vector<WindowDim> dims;
};
struct ConvolutionDetail {
  std::vector<WindowDim> window;  ///< of the spatial dimensions
  std::size_t input_batch = 0;
  std::size_t input_feature = 0;
  std::vector<std::size_t> input_spatial;
  std::size_t kernel_input = 0;
  std::size_t kernel_output = 0;
  std::vector<std::size_t> kernel_spatial;
  std::size_t output_batch = 0;
  std::size_t output_feature = 0;
  std::vector<std::size_t> output_spatial;
  Size feature_groups = 1;
  Size batch_groups = 1;
};
/// Of gather and, by the names that both have in common, of scatter.
struct GatherDetail {
  std::vector<std::size_t> window_dims;    ///< offset_dims, update_window_dims
  std::vector<std::size_t> collapsed;      ///< collapsed_slice_dims, inserted_window_dims
  std::vector<std::size_t> index_map;      ///< start_index_map, scatter_dims_to_operand_dims
  std::vector<std::size_t> operand_batch;  ///< operand_batching_dims, input_batching_dims
  std::vector<std::size_t> indices_batch;  ///< start_indices_batching_dims, scatter_indices_..
  std::size_t index_vector = 0;
  Shape sizes;  ///< slice_sizes; of scatter none
};
struct FftDetail {
  enum class Kind { forward, inverse, real_forward, real_inverse };
  Kind kind{};
  Shape lengths;
};
struct RoundDetail {
  Size exponent_bits = 0;
  Size mantissa_bits = 0;
};
struct TriangularDetail {
  bool is_left = true;
  bool is_lower = true;
  bool has_unit_diagonal = false;
  bool is_transposed = false;
};
struct GroupsDetail {
  DeviceGroups groups;
  std::size_t dim = 0;   ///< of all-gather, reduce-scatter, and where all-to-all cuts
  bool has_dim = false;  ///< all-to-all of an array, not of a tuple
};
struct PairsDetail {
  std::vector<std::pair<Size, Size>> pairs;
};
/// All that the text says about something that is not understood, so that the same is the same.
struct UnknownDetail {
  std::string text;
  bool is_by_element = false;  ///< each element is made of those at its place
};
/// From arrays to tiles of a region that is written per device, and back: the box that each device
/// holds of the array.
struct ManualDetail {
  std::vector<Shape> starts;
};

using Detail =
    std::variant<NoDetail, Literal, OfDevices, Dims, SliceDetail, PadDetail, CompareDetail,
                 DotDetail, WindowDetail, ConvolutionDetail, GatherDetail, FftDetail, RoundDetail,
                 TriangularDetail, GroupsDetail, PairsDetail, UnknownDetail, ManualDetail>;

struct Value {
  std::string name;  ///< as the text spells it; with `#1` where it is a part of a tuple
  ArrayType type;
};

struct Instruction {
  Id id{};
  std::string opcode;  ///< as the text spells it
  Detail detail;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::vector<ComputationId> calls;
  TextPlace place;
  std::string source = {};  ///< `model.py:12`, the line that the text names for it
};

/// A name that the text gives to a value once more, by copying it.
struct CopiedValue {
  ValueId value = 0;
  std::string name;
  std::string opcode;
  TextPlace place;
  std::string source = {};
};

struct Computation {
  std::string name;
  std::vector<Value> values;
  std::vector<ValueId> parameters;  ///< parts of tuples one behind the other
  std::vector<Instruction> body;    ///< in an order in which operands come first
  std::vector<ValueId> results;
  std::vector<CopiedValue> copies = {};  ///< in the order of the text
};

/// What an argument or a result is as a whole: its sharding, where the text says one.
struct End {
  std::optional<std::string> sharding = {};
  TextPlace place = {};
  std::optional<PlacedMesh> mesh = {};  ///< of a sharding that an option says
};

/// A sharding that the text gives to some array, whatever operation makes it.
struct Declared {
  std::string sharding;
  ArrayType type;
};

struct Module {
  std::string name;
  Size replicas = 1;
  Size partitions = 1;
  std::vector<Computation> computations;
  ComputationId entry = 0;
  std::vector<End> starts;                    ///< of every parameter of the entry
  std::vector<End> ends;                      ///< of every result
  std::vector<Declared> declared = {};        ///< in the order of the text
  std::map<std::string, Size> formulas = {};  ///< functions read as formulas, and how many of each
  bool is_partitioned = false;  ///< whether the text says that the partitioner has been there

  [[nodiscard]] Size devices() const { return replicas * partitions; }
  [[nodiscard]] const Computation& main() const { return computations[entry]; }
};

}  // namespace retile::whole
