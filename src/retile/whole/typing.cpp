#include "retile/whole/typing.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "retile/whole/array.h"
#include "retile/whole/scalar.h"

namespace retile::whole {
namespace {

/// The first thing that does not fit. Thrown inside of this file.
struct Fault {
  std::string what;
};

void require(bool holds, std::string_view what) {
  if (!holds) throw Fault{std::string(what)};
}

class TypeChecker {
 public:
  TypeChecker(const Module& module, const Computation& in, const Instruction& one)
      : module_(module), in_(in), one_(one) {}

  void check() const {
    if (std::holds_alternative<ManualDetail>(one_.detail)) return manual();
    if (is_elementwise(one_.id)) return elementwise();
    switch (one_.id) {
      case Id::constant:
        return literal();
      case Id::partition_id:
      case Id::replica_id:
        takes(0);
        makes({.kind = result(0).kind, .extents = {}});
        return require(result(0).kind.is_number(), "numbers of devices are integers");
      case Id::iota:
        takes(0);
        require(dims().size() == 1 && dims()[0] < result(0).extents.size(),
                "iota counts along a dimension");
        return require(result(0).kind.form != ElementKind::Form::other &&
                           result(0).kind.form != ElementKind::Form::truth,
                       "iota makes numbers");
      case Id::reshape:
      case Id::bitcast:
        takes(1);
        require(result(0).kind == operand(0).kind, "the elements have another type");
        return require(count(result(0).extents) == count(operand(0).extents),
                       "as many elements before as after");
      case Id::broadcast:
        return broadcast();
      case Id::transpose:
        return transpose();
      case Id::reverse:
        takes(1);
        distinct(dims(), operand(0).extents.size());
        return makes(operand(0));
      case Id::slice:
        return slice();
      case Id::pad:
        return pad();
      case Id::concatenate:
        return concatenate();
      case Id::dynamic_slice:
      case Id::dynamic_update_slice:
        return dynamic();
      case Id::map:
        return map();
      case Id::dot:
        return dot();
      case Id::convolution:
        return convolution();
      case Id::reduce:
      case Id::reduce_window:
        return reduce();
      case Id::select_and_scatter:
        return select_and_scatter();
      case Id::gather:
      case Id::scatter:
        return indexed();
      case Id::sort:
        return sort();
      case Id::top_k:
        return top_k();
      case Id::fft:
        return fft();
      case Id::triangular_solve:
        return triangular_solve();
      case Id::while_loop:
        return while_loop();
      case Id::conditional:
        return conditional();
      case Id::all_gather:
      case Id::all_reduce:
      case Id::reduce_scatter:
      case Id::collective_permute:
      case Id::collective_broadcast:
        return collective();
      case Id::all_to_all:
        return all_to_all();
      case Id::cholesky:
        takes(1);
        return makes(operand(0));
      case Id::custom_call:
      case Id::rng:
      case Id::rng_bit_generator:
        for (const ValueId value : one_.results) has_words(type(value));
        for (const ValueId value : one_.operands) has_words(type(value));
        return by_element();
      default:
        throw Fault{fmt::format("{} is not evaluated", one_.opcode)};
    }
  }

 private:
  [[nodiscard]] const ArrayType& type(ValueId value) const { return in_.values[value].type; }
  [[nodiscard]] const ArrayType& operand(std::size_t k) const {
    require(k < one_.operands.size(), "it has too few operands");
    return type(one_.operands[k]);
  }
  [[nodiscard]] const ArrayType& result(std::size_t k) const {
    require(k < one_.results.size(), "it makes too few arrays");
    return type(one_.results[k]);
  }
  [[nodiscard]] const std::vector<std::size_t>& dims() const {
    return std::get<Dims>(one_.detail).dims;
  }
  void takes(std::size_t operands, std::size_t results = 1) const {
    require(one_.operands.size() == operands && one_.results.size() == results,
            fmt::format("it takes {} and makes {}", operands, results));
  }
  static Size count(const Shape& extents) {
    const auto out = checked_product(extents);
    require(out.has_value(), "an array of more than 2^63 elements");
    return *out;
  }
  static void has_words(const ArrayType& type) {
    require(type.kind.form != ElementKind::Form::other, "elements of this type are not evaluated");
    count(type.extents);
  }
  void makes(const ArrayType& expected, std::size_t k = 0) const {
    if (result(k) == expected) return;
    throw Fault{
        fmt::format("it makes {}, but here {} stands", text_of(expected), text_of(result(k)))};
  }
  static void distinct(const std::vector<std::size_t>& dims, std::size_t rank) {
    const std::set<std::size_t> all(dims.begin(), dims.end());
    require(all.size() == dims.size() && (all.empty() || *all.rbegin() < rank),
            "dimensions that are there, each once");
  }
  [[nodiscard]] const Computation& called(std::size_t k) const {
    require(k < one_.calls.size(), "a computation is missing");
    return module_.computations[one_.calls[k]];
  }
  /// A computation of scalars: these parameters, one of each kind, and these results.
  void scalars(std::size_t k, const std::vector<ElementKind>& parameters,
               const std::vector<ElementKind>& results) const {
    const Computation& computation = called(k);
    const auto are = [&](const std::vector<ValueId>& values,
                         const std::vector<ElementKind>& kinds) {
      return std::equal(values.begin(), values.end(), kinds.begin(), kinds.end(),
                        [&](ValueId value, const ElementKind& kind) {
                          return computation.values[value].type == ArrayType{kind, {}};
                        });
    };
    require(are(computation.parameters, parameters) && are(computation.results, results),
            "the computation that it applies has other types");
  }

  void literal() const {
    takes(0);
    has_words(result(0));
    const auto words =
        checked_mul(count(result(0).extents), static_cast<Size>(words_of(result(0).kind)));
    require(words == static_cast<Size>(std::get<Literal>(one_.detail).words.size()),
            "as many numbers as elements");
  }
  void elementwise() const {
    require(one_.results.size() == 1 && !one_.operands.empty() && one_.operands.size() <= 3,
            "it takes one to three arrays, and makes one");
    has_words(result(0));
    for (std::size_t k = 0; k < one_.operands.size(); ++k) {
      has_words(operand(k));
      const bool may_be_scalar = (one_.id == Id::select && k == 0) || one_.id == Id::clamp;
      require(
          operand(k).extents == result(0).extents || (may_be_scalar && operand(k).extents.empty()),
          "operands and result have one shape");
    }
    elementwise_kinds();
  }
  void elementwise_kinds() const {
    const ElementKind& first = operand(0).kind;
    const ElementKind& to = result(0).kind;
    const auto is_truth = [](const ElementKind& kind) {
      return kind.form == ElementKind::Form::truth;
    };
    const std::size_t number = one_.operands.size();
    switch (one_.id) {
      case Id::select:
        return require(
            number == 3 && is_truth(first) && operand(1).kind == to && operand(2).kind == to,
            "select takes truth values and two arrays of its type");
      case Id::clamp:
        return require(number == 3 && first == to && operand(1).kind == to &&
                           operand(2).kind == to && !is_complex(to),
                       "clamp takes three arrays of its type");
      case Id::compare: {
        const auto order = std::get<CompareDetail>(one_.detail).order;
        require(is_complex(first) || operations::may_order(order, first) ||
                    (order == operations::Order::total && first.is_number()),
                "numbers of this type have no such order");
        return require(number == 2 && operand(1).kind == first && is_truth(to),
                       "two arrays of one type are compared, which makes truth values");
      }
      case Id::reduce_precision: {
        const auto& detail = std::get<RoundDetail>(one_.detail);
        constexpr Size most = 1024;
        return require(number == 1 && first == to && first.is_real() && detail.exponent_bits >= 1 &&
                           detail.mantissa_bits >= 0 && detail.exponent_bits < most &&
                           detail.mantissa_bits < most,
                       "it rounds numbers with a point, to one bit of the exponent or more");
      }
      case Id::convert:
      case Id::bitcast_convert:
        return require(number == 1, "one array is converted");
      case Id::is_finite:
        return require(number == 1 && first.is_real() && is_truth(to),
                       "of numbers with a point it makes truth values");
      case Id::real:
      case Id::imag:
        return require(number == 1 && to.is_real() && (is_complex(first) || first == to),
                       "parts of complex numbers have a point");
      case Id::complex:
        return require(number == 2 && first.is_real() && operand(1).kind == first && is_complex(to),
                       "a complex number has two parts");
      case Id::absolute:
        return require(number == 1 && (first == to || (is_complex(first) && to.is_real())),
                       "operands and result have one type");
      default:
        for (std::size_t k = 0; k < number; ++k) {
          require(operand(k).kind == to, "operands and result have one type");
        }
        return require(number == arity(), fmt::format("it takes {}", arity()));
    }
  }
  [[nodiscard]] std::size_t arity() const {
    if (const auto arithmetic = integer_arithmetic(one_.id)) {
      return operations::is_unary(*arithmetic) ? 1 : 2;
    }
    return one_.id == Id::power || one_.id == Id::atan2 ? 2 : 1;
  }

  void broadcast() const {
    takes(1);
    require(operand(0).kind == result(0).kind, "the elements have another type");
    distinct(dims(), result(0).extents.size());
    require(dims().size() == operand(0).extents.size(), "every dimension has a place");
    for (std::size_t k = 0; k < dims().size(); ++k) {
      const Size from = operand(0).extents[k];
      require(from == 1 || from == result(0).extents[dims()[k]], "an extent that is kept or was 1");
    }
    count(result(0).extents);
  }
  void transpose() const {
    takes(1);
    distinct(dims(), operand(0).extents.size());
    require(dims().size() == operand(0).extents.size(), "every dimension has a place");
    ArrayType expected{operand(0).kind, {}};
    for (const std::size_t dim : dims()) expected.extents.push_back(operand(0).extents[dim]);
    makes(expected);
  }
  void slice() const {
    takes(1);
    const auto& detail = std::get<SliceDetail>(one_.detail);
    const Shape& from = operand(0).extents;
    require(detail.start.size() == from.size() && detail.limit.size() == from.size() &&
                detail.stride.size() == from.size(),
            "a slice of another rank");
    ArrayType expected{operand(0).kind, {}};
    for (std::size_t k = 0; k < from.size(); ++k) {
      const Size start = detail.start[k];
      const Size limit = detail.limit[k];
      require(start >= 0 && start <= limit && limit <= from[k] && detail.stride[k] >= 1,
              "a slice inside of its operand");
      expected.extents.push_back((limit - start + detail.stride[k] - 1) / detail.stride[k]);
    }
    makes(expected);
  }
  void pad() const {
    takes(2);
    const auto& detail = std::get<PadDetail>(one_.detail);
    const Shape& from = operand(0).extents;
    require(operand(1) == ArrayType{operand(0).kind, {}}, "a scalar to pad with");
    require(detail.low.size() == from.size(), "padding of another rank");
    ArrayType expected{operand(0).kind, {}};
    for (std::size_t k = 0; k < from.size(); ++k) {
      require(detail.interior[k] >= 0, "padding between neighbours is not negative");
      const auto gaps = checked_mul(std::max(Size{0}, from[k] - 1), detail.interior[k]);
      constexpr Size most = Size{1} << 60U;
      require(gaps && *gaps < most && std::abs(detail.low[k]) < most &&
                  std::abs(detail.high[k]) < most && from[k] < most,
              "padding beyond 2^60");
      const Size extent = from[k] + *gaps + detail.low[k] + detail.high[k];
      require(extent >= 0, "padding takes away more than there is");
      expected.extents.push_back(extent);
    }
    makes(expected);
  }
  void concatenate() const {
    require(!one_.operands.empty() && one_.results.size() == 1 && dims().size() == 1 &&
                dims()[0] < operand(0).extents.size(),
            "arrays are put together along a dimension");
    ArrayType expected = operand(0);
    expected.extents[dims()[0]] = 0;
    for (std::size_t k = 0; k < one_.operands.size(); ++k) {
      ArrayType other = operand(k);
      require(other.extents.size() == expected.extents.size(), "arrays of one rank");
      const Size extent = other.extents[dims()[0]];
      const auto sum = checked_add(expected.extents[dims()[0]], extent);
      require(sum.has_value(), "an extent of more than 2^63");
      other.extents[dims()[0]] = expected.extents[dims()[0]];
      require(other == expected, "arrays that differ along one dimension only");
      expected.extents[dims()[0]] = *sum;
    }
    makes(expected);
  }
  void dynamic() const {
    const bool updates = one_.id == Id::dynamic_update_slice;
    const std::size_t first = updates ? 2 : 1;
    const Shape& from = operand(0).extents;
    takes(first + from.size());
    for (std::size_t k = first; k < one_.operands.size(); ++k) {
      require(operand(k).extents.empty() && operand(k).kind.form == ElementKind::Form::integer,
              "starts are integers");
    }
    const ArrayType& box = updates ? operand(1) : result(0);
    require(box.kind == operand(0).kind && box.extents.size() == from.size(),
            "a box of the operand's type and rank");
    for (std::size_t k = 0; k < from.size(); ++k) {
      require(box.extents[k] <= from[k], "a box that fits into the operand");
    }
    if (updates) makes(operand(0));
  }
  void map() const {
    require(!one_.operands.empty() && one_.results.size() == 1, "arrays are mapped to one");
    std::vector<ElementKind> kinds;
    for (std::size_t k = 0; k < one_.operands.size(); ++k) {
      require(operand(k).extents == result(0).extents, "arrays of one shape");
      kinds.push_back(operand(k).kind);
    }
    scalars(0, kinds, {result(0).kind});
  }
  void dot() const {
    takes(2);
    const auto& detail = std::get<DotDetail>(one_.detail);
    const Shape& left = operand(0).extents;
    const Shape& right = operand(1).extents;
    products();
    ArrayType expected{result(0).kind, {}};
    pair(detail.left_batch, detail.right_batch, left, right);
    pair(detail.left_contracting, detail.right_contracting, left, right);
    const auto all = [](std::vector<std::size_t> a, const std::vector<std::size_t>& b) {
      a.insert(a.end(), b.begin(), b.end());
      return a;
    };
    const auto used_left = all(detail.left_batch, detail.left_contracting);
    const auto used_right = all(detail.right_batch, detail.right_contracting);
    distinct(used_left, left.size());
    distinct(used_right, right.size());
    for (const std::size_t dim : detail.left_batch) expected.extents.push_back(left[dim]);
    const auto add_free = [&](const Shape& shape, const std::vector<std::size_t>& used) {
      for (std::size_t k = 0; k < shape.size(); ++k) {
        if (std::find(used.begin(), used.end(), k) == used.end()) {
          expected.extents.push_back(shape[k]);
        }
      }
    };
    add_free(left, used_left);
    add_free(right, used_right);
    makes(expected);
  }
  /// Factors may have fewer bits than the product.
  void products() const {
    require(
        operand(0).kind.form == result(0).kind.form && operand(1).kind.form == result(0).kind.form,
        "factors and product are numbers of one kind");
    has_words(result(0));
  }
  static void pair(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b,
                   const Shape& left, const Shape& right) {
    require(a.size() == b.size(), "as many dimensions of both factors");
    distinct(a, left.size());
    distinct(b, right.size());
    for (std::size_t k = 0; k < a.size(); ++k) {
      require(left[a[k]] == right[b[k]], "dimensions of one extent");
    }
  }
  /// How many windows there are along a dimension.
  static Size windows(const WindowDim& dim, Size extent) {
    constexpr Size most = Size{1} << 31U;
    require(extent < most && dim.size >= 1 && dim.size < most && dim.stride >= 1 &&
                dim.stride < most && dim.base_dilation >= 1 && dim.base_dilation < most &&
                dim.window_dilation >= 1 && dim.window_dilation < most &&
                std::abs(dim.low) < most && std::abs(dim.high) < most,
            "a window of numbers below 2^31");
    const Size base = extent == 0 ? 0 : (extent - 1) * dim.base_dilation + 1;
    const Size padded = base + dim.low + dim.high;
    const Size window = (dim.size - 1) * dim.window_dilation + 1;
    return padded < window ? 0 : (padded - window) / dim.stride + 1;
  }
  void convolution() const {
    takes(2);
    const auto& detail = std::get<ConvolutionDetail>(one_.detail);
    const Shape& input = operand(0).extents;
    const Shape& kernel = operand(1).extents;
    const Shape& out = result(0).extents;
    const std::size_t rank = detail.input_spatial.size() + 2;
    products();
    require(input.size() == rank && kernel.size() == rank && out.size() == rank &&
                detail.window.size() == rank - 2,
            "input, kernel and output of one rank");
    for (std::size_t k = 0; k < rank - 2; ++k) {
      const WindowDim& dim = detail.window[k];
      require(kernel[detail.kernel_spatial[k]] == dim.size, "the kernel is the window");
      require(out[detail.output_spatial[k]] == windows(dim, input[detail.input_spatial[k]]),
              "as many outputs as windows");
    }
    const Size groups = detail.feature_groups;
    const Size batches = detail.batch_groups;
    require(groups >= 1 && batches >= 1 && (groups == 1 || batches == 1), "groups of one kind");
    const Size features = kernel[detail.kernel_input];
    const Size outputs = kernel[detail.kernel_output];
    require(features <= input[detail.input_feature] && input[detail.input_feature] % groups == 0 &&
                input[detail.input_feature] / groups == features,
            "features of the input in groups");
    require(outputs % std::max(groups, batches) == 0 && out[detail.output_feature] == outputs,
            "features of the output in groups");
    require(input[detail.input_batch] % batches == 0 &&
                out[detail.output_batch] == input[detail.input_batch] / batches,
            "batches in groups");
  }
  void reduce() const {
    const std::size_t number = one_.results.size();
    require(number >= 1 && one_.operands.size() == 2 * number,
            "as many arrays as first values and results");
    const Shape& from = operand(0).extents;
    std::vector<ElementKind> kinds;
    for (std::size_t k = 0; k < number; ++k) {
      require(operand(k).extents == from, "arrays of one shape");
      require(operand(number + k) == ArrayType{operand(k).kind, {}}, "a scalar to begin with");
      kinds.push_back(operand(k).kind);
    }
    std::vector<ElementKind> both = kinds;
    both.insert(both.end(), kinds.begin(), kinds.end());
    scalars(0, both, kinds);
    const Shape extents = one_.id == Id::reduce ? kept(from) : windowed(from);
    for (std::size_t k = 0; k < number; ++k) makes({kinds[k], extents}, k);
  }
  [[nodiscard]] Shape kept(const Shape& from) const {
    distinct(dims(), from.size());
    Shape out;
    for (std::size_t k = 0; k < from.size(); ++k) {
      if (!has_dim(dims(), k)) out.push_back(from[k]);
    }
    return out;
  }
  [[nodiscard]] Shape windowed(const Shape& from) const {
    const auto& window = std::get<WindowDetail>(one_.detail).dims;
    require(window.size() == from.size(), "a window of another rank");
    Shape out;
    for (std::size_t k = 0; k < from.size(); ++k) out.push_back(windows(window[k], from[k]));
    return out;
  }
  void select_and_scatter() const {
    takes(3);
    const ElementKind& kind = operand(0).kind;
    require(operand(1).kind == kind && operand(2) == ArrayType{kind, {}}, "arrays of one type");
    require(operand(1).extents == windowed(operand(0).extents), "as many numbers as windows");
    scalars(0, {kind, kind}, {operations::element_kind("pred")});
    scalars(1, {kind, kind}, {kind});
    makes(operand(0));
  }
  void indexed() const {
    const auto& detail = std::get<GatherDetail>(one_.detail);
    const bool scatters = one_.id == Id::scatter;
    const std::size_t number = scatters ? one_.results.size() : 1;
    require(number >= 1 && one_.results.size() == number &&
                one_.operands.size() == (scatters ? 2 * number + 1 : 2),
            "another number of operands");
    const Shape& from = operand(0).extents;
    const ArrayType& indices = operand(number);
    require(indices.kind.form == ElementKind::Form::integer, "indices are integers");
    const Shape& update = scatters ? operand(number + 1).extents : result(0).extents;
    indexed_dims(detail, from, indices.extents, update);
    if (!scatters) {
      require(result(0).kind == operand(0).kind, "the elements have another type");
      require(detail.sizes.size() == from.size(), "sizes for all dimensions");
    }
    std::size_t window = 0;
    for (std::size_t k = 0; k < from.size(); ++k) {
      const bool is_gone = has_dim(detail.collapsed, k) || has_dim(detail.operand_batch, k);
      const Size size = is_gone ? 1 : update[detail.window_dims[window++]];
      require(scatters || detail.sizes[k] == size, "sizes are those of the result");
      require(size <= from[k] || scatters, "a box that fits into the operand");
    }
    if (!scatters) return;
    std::vector<ElementKind> kinds;
    for (std::size_t k = 0; k < number; ++k) {
      require(operand(k).extents == from && operand(number + 1 + k).extents == update &&
                  operand(number + 1 + k).kind == operand(k).kind,
              "arrays of one shape");
      makes(operand(k), k);
      kinds.push_back(operand(k).kind);
    }
    std::vector<ElementKind> both = kinds;
    both.insert(both.end(), kinds.begin(), kinds.end());
    scalars(0, both, kinds);
  }
  static void indexed_dims(const GatherDetail& detail, const Shape& from, const Shape& indices,
                           const Shape& update) {
    distinct(detail.window_dims, update.size());
    require(std::is_sorted(detail.window_dims.begin(), detail.window_dims.end()),
            "dimensions of the window in their order");
    distinct(detail.index_map, from.size());
    std::vector<std::size_t> gone = detail.collapsed;
    gone.insert(gone.end(), detail.operand_batch.begin(), detail.operand_batch.end());
    distinct(gone, from.size());
    require(gone.size() + detail.window_dims.size() == from.size(),
            "every dimension of the operand is in the window, or collapsed");
    require(detail.index_vector <= indices.size(), "the indices stand along a dimension");
    distinct(detail.indices_batch, indices.size());
    require(detail.operand_batch.size() == detail.indices_batch.size() &&
                !has_dim(detail.indices_batch, detail.index_vector),
            "as many dimensions of batches");
    for (std::size_t k = 0; k < detail.operand_batch.size(); ++k) {
      require(from[detail.operand_batch[k]] == indices[detail.indices_batch[k]],
              "batches of one extent");
      require(!has_dim(detail.index_map, detail.operand_batch[k]), "a batch has no index");
    }
    const Size length = detail.index_vector == indices.size() ? 1 : indices[detail.index_vector];
    require(length == static_cast<Size>(detail.index_map.size()), "an index for each dimension");
    Shape batch;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      if (k != detail.index_vector) batch.push_back(indices[k]);
    }
    Shape others;
    for (std::size_t k = 0; k < update.size(); ++k) {
      if (!has_dim(detail.window_dims, k)) others.push_back(update[k]);
    }
    require(batch == others, "a box for each index");
  }
  void sort() const {
    const std::size_t number = one_.results.size();
    require(number >= 1 && one_.operands.size() == number && dims().size() == 1,
            "arrays are sorted");
    std::vector<ElementKind> kinds;
    for (std::size_t k = 0; k < number; ++k) {
      require(operand(k).extents == operand(0).extents, "arrays of one shape");
      require(dims()[0] < operand(k).extents.size(), "along a dimension");
      makes(operand(k), k);
      kinds.insert(kinds.end(), 2, operand(k).kind);
    }
    scalars(0, kinds, {operations::element_kind("pred")});
  }
  void top_k() const {
    takes(1, 2);
    const ArrayType& from = operand(0);
    require(!from.extents.empty() && (from.kind.is_real() || from.kind.is_number()),
            "numbers along the last dimension");
    ArrayType expected = from;
    expected.extents.back() = result(0).extents.empty() ? 0 : result(0).extents.back();
    require(expected.extents.back() <= from.extents.back(), "no more than there are");
    makes(expected, 0);
    require(result(1).extents == expected.extents && result(1).kind.is_number(),
            "an index for each number");
  }
  void fft() const {
    takes(1);
    const auto& detail = std::get<FftDetail>(one_.detail);
    const ArrayType& from = operand(0);
    const std::size_t rank = from.extents.size();
    require(!detail.lengths.empty() && detail.lengths.size() <= rank &&
                result(0).extents.size() == rank,
            "lengths of the last dimensions");
    for (const Size length : detail.lengths) require(length >= 1, "lengths are at least 1");
    using Kind = FftDetail::Kind;
    require(is_complex(from.kind) != (detail.kind == Kind::real_forward) &&
                is_complex(result(0).kind) != (detail.kind == Kind::real_inverse),
            "spectra are complex");
    require(from.kind.format == result(0).kind.format, "numbers of one format");
    const std::size_t first = rank - detail.lengths.size();
    for (std::size_t k = 0; k < rank; ++k) {
      const Size full = k < first ? from.extents[k] : detail.lengths[k - first];
      const Size half = k + 1 == rank ? full / 2 + 1 : full;
      require(from.extents[k] == (detail.kind == Kind::real_inverse ? half : full) &&
                  result(0).extents[k] == (detail.kind == Kind::real_forward ? half : full),
              "extents are the lengths");
    }
  }
  void triangular_solve() const {
    takes(2);
    const auto& detail = std::get<TriangularDetail>(one_.detail);
    const Shape& a = operand(0).extents;
    const Shape& b = operand(1).extents;
    require(operand(0).kind == operand(1).kind, "both of one type");
    require(a.size() >= 2 && a.size() == b.size(), "matrices of one rank");
    const std::size_t rank = a.size();
    require(a[rank - 1] == a[rank - 2] && b[rank - (detail.is_left ? 2 : 1)] == a[rank - 1],
            "as many equations as unknowns");
    require(std::equal(a.begin(), a.end() - 2, b.begin()), "as many systems");
    makes(operand(1));
  }
  [[nodiscard]] bool same_types(const Computation& some, const std::vector<ValueId>& values,
                                const std::vector<ValueId>& here, std::size_t first) const {
    if (first + values.size() > here.size()) return false;
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (some.values[values[k]].type != type(here[first + k])) return false;
    }
    return true;
  }
  void while_loop() const {
    const Computation& condition = called(0);
    const Computation& body = called(1);
    const auto fits = [&](const Computation& one) {
      return one.parameters.size() == one_.operands.size() &&
             same_types(one, one.parameters, one_.operands, 0);
    };
    require(fits(condition) && fits(body), "condition and body take what the loop takes");
    require(body.results.size() == one_.operands.size() &&
                same_types(body, body.results, one_.operands, 0),
            "the body makes what it takes");
    require(one_.results.size() == one_.operands.size() &&
                same_types(body, body.results, one_.results, 0),
            "the loop makes what it takes");
    require(condition.results.size() == 1 && condition.values[condition.results[0]].type ==
                                                 ArrayType{operations::element_kind("pred"), {}},
            "the condition is a truth value");
  }
  void conditional() const {
    const ArrayType& index = operand(0);
    const bool by_truth = index.kind.form == ElementKind::Form::truth;
    require(index.extents.empty() && index.kind.is_number(), "a number chooses");
    require(!one_.calls.empty() && (!by_truth || one_.calls.size() == 2), "branches");
    std::size_t first = 1;
    for (std::size_t k = 0; k < one_.calls.size(); ++k) {
      const Computation& branch = called(k);
      require(same_types(branch, branch.parameters, one_.operands, first),
              "a branch takes what it is given");
      first += branch.parameters.size();
      require(branch.results.size() == one_.results.size() &&
                  same_types(branch, branch.results, one_.results, 0),
              "all branches make the same types");
    }
    require(first == one_.operands.size(), "as many operands as the branches take");
  }

  /// Of what is not understood, but made number by number.
  void by_element() const {
    const auto* unknown = std::get_if<UnknownDetail>(&one_.detail);
    if (unknown == nullptr || !unknown->is_by_element) return;
    takes(one_.operands.size());
    require(!one_.operands.empty() && result(0).kind.is_real(), "numbers with a point");
    for (std::size_t k = 0; k < one_.operands.size(); ++k) {
      require(operand(k) == result(0), "operands of the result's type");
    }
  }

  // Between devices.

  void manual() const {
    takes(1);
    const auto& starts = std::get<ManualDetail>(one_.detail).starts;
    const bool to_tiles = one_.id == Id::slice;
    const Shape& whole = to_tiles ? operand(0).extents : result(0).extents;
    const Shape& tile = to_tiles ? result(0).extents : operand(0).extents;
    require(operand(0).kind == result(0).kind && whole.size() == tile.size(),
            "tiles of the array's type");
    for (const Shape& start : starts) {
      require(start.size() == whole.size(), "tiles of the array's rank");
      for (std::size_t k = 0; k < whole.size(); ++k) {
        require(start[k] >= 0 && tile[k] <= whole[k] && start[k] <= whole[k] - tile[k],
                "tiles inside of the array");
      }
    }
  }
  [[nodiscard]] const DeviceGroups& groups() const {
    const DeviceGroups& out = std::get<GroupsDetail>(one_.detail).groups;
    std::set<Size> seen;
    for (const auto& group : out) {
      // Nothing is cut by how many they are.
      const bool may_differ = one_.id == Id::all_reduce || one_.id == Id::collective_broadcast;
      require(!group.empty() && (may_differ || group.size() == out.front().size()),
              "groups of one size");
      for (const Size device : group) {
        require(device >= 0 && device < module_.devices() && seen.insert(device).second,
                "devices that are there, each in one group");
      }
    }
    require(!out.empty(), "groups");
    return out;
  }
  void collective() const {
    require(!one_.operands.empty() && one_.results.size() == one_.operands.size(),
            "as many results as operands");
    if (one_.id == Id::collective_permute) {
      std::set<Size> targets;
      for (const auto& [source, target] : std::get<PairsDetail>(one_.detail).pairs) {
        require(source >= 0 && source < module_.devices() && target >= 0 &&
                    target < module_.devices() && targets.insert(target).second,
                "devices that are there, each a target once");
      }
    }
    for (std::size_t k = 0; k < one_.operands.size(); ++k) collective_of(k);
  }
  void collective_of(std::size_t k) const {
    ArrayType expected = operand(k);
    if (one_.id != Id::collective_permute) {
      const auto size = static_cast<Size>(groups().front().size());
      const std::size_t dim = std::get<GroupsDetail>(one_.detail).dim;
      if (one_.id == Id::all_gather || one_.id == Id::reduce_scatter) {
        require(dim < expected.extents.size(), "along a dimension");
        Size& extent = expected.extents[dim];
        require(one_.id == Id::all_gather || extent % size == 0, "parts of one extent");
        const auto grown = checked_mul(extent, size);
        require(grown.has_value(), "an extent of more than 2^63");
        extent = one_.id == Id::all_gather ? *grown : extent / size;
      }
      if (one_.id == Id::all_reduce || one_.id == Id::reduce_scatter) {
        scalars(0, {expected.kind, expected.kind}, {expected.kind});
      }
    }
    makes(expected, k);
  }
  void all_to_all() const {
    const auto& detail = std::get<GroupsDetail>(one_.detail);
    const std::size_t size = groups().front().size();
    if (detail.has_dim) {
      takes(1);
      require(detail.dim < operand(0).extents.size() &&
                  operand(0).extents[detail.dim] % static_cast<Size>(size) == 0,
              "parts of one extent");
      return makes(operand(0));
    }
    takes(size, size);
    for (std::size_t k = 0; k < size; ++k) makes(operand(0), k);
    for (std::size_t k = 0; k < size; ++k) require(operand(k) == operand(0), "parts of one type");
  }

  const Module& module_;
  const Computation& in_;
  const Instruction& one_;
};

}  // namespace

std::optional<std::string> type_fault(const Module& module, const Computation& in,
                                      const Instruction& instruction) {
  try {
    TypeChecker(module, in, instruction).check();
  } catch (const Fault& fault) {
    return fault.what;
  }
  return std::nullopt;
}

}  // namespace retile::whole
