#include "retile/whole/smaller.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>

#include "retile/whole/array.h"
#include "retile/whole/parts.h"
#include "retile/whole/typing.h"

namespace retile::whole {
namespace {

bool is_integer(const ArrayType& type) { return type.kind.form == ElementKind::Form::integer; }

/// Whether all elements of a constant are one number.
bool is_splat(const Literal& literal, std::size_t width) {
  const auto& words = literal.words;
  for (std::size_t k = width; k < words.size(); ++k) {
    if (words[k] != words[k - width]) return false;
  }
  return true;
}

// ---- Integers that count along a dimension ------------------------------------------------------

/// Integers, in classes of those that are added to each other, compared or chosen from. Where one of a
/// class begins a box along a dimension, all of it are divided as the dimension is.
class Units {
 public:
  explicit Units(Parts& parts) : parts_(parts) {}

  /// \param type  of integers
  [[nodiscard]] std::size_t add(const ArrayType& type) {
    const Size bits = is_integer(type) ? type.kind.bits : 64;
    classes_.push_back({.parent = classes_.size(), .bits = bits});
    return classes_.size() - 1;
  }
  void join(std::size_t a, std::size_t b) {
    a = root(a);
    b = root(b);
    if (a == b) return;
    if (classes_[a].members < classes_[b].members) std::swap(a, b);
    Class gone = std::move(classes_[b]);
    classes_[b] = {.parent = a, .bits = gone.bits};
    classes_[a].members += gone.members;
    Class& kept = classes_[a];
    kept.bits = std::min(kept.bits, gone.bits);
    kept.is_other = kept.is_other || gone.is_other;
    kept.words.insert(kept.words.end(), gone.words.begin(), gone.words.end());
    if (gone.dim) begin_at(a, *gone.dim);
  }
  /// It is made or used by something for which only its number counts.
  void set_other(std::size_t id) { classes_[root(id)].is_other = true; }
  void set_words(std::size_t id, const std::vector<Word>& words) {
    Class& of = classes_[root(id)];
    of.words.insert(of.words.end(), words.begin(), words.end());
  }
  /// It begins something along a dimension.
  void begin_at(std::size_t id, const PartList& dim) {
    Class& of = classes_[root(id)];
    if (of.dim) {
      parts_.unify(*of.dim, dim, true);
    } else {
      of.dim = dim;
    }
  }
  [[nodiscard]] const std::optional<PartList>& dim(std::size_t id) const {
    return classes_[root(id)].dim;
  }

  /// A product counts along a dimension if one of its factors does.
  void add_product(std::size_t a, std::size_t b, std::size_t product) {
    products_.push_back({a, b, product});
  }
  /// Gives factors and products their dimensions.
  void settle_products() {
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (const auto& [a, b, product] : products_) {
        const bool has_any = dim(a) || dim(b);
        if (dim(product) && !has_any) {
          begin_at(is_factor(a, b) ? a : b, *dim(product));
          goes_on = true;
        } else if (!dim(product) && has_any) {
          begin_at(product, *(dim(a) ? dim(a) : dim(b)));
          goes_on = true;
        }
      }
    }
    for (const auto& [a, b, product] : products_) {
      if (!dim(product)) continue;
      parts_.unify(*dim(product), *(dim(a) ? dim(a) : dim(b)), true);
      if (dim(a) && dim(b)) {
        for (const std::size_t id : {a, b, product}) set_other(id);
      }
    }
  }
  /// Numbers that their type may be too narrow for are all needed, as smaller ones would fit again.
  /// Constants say where something begins; what is no constant may be any index.
  void cut() {
    for (const Class& of : classes_) {
      if (!of.dim) continue;
      const Size most = Size{1} << static_cast<unsigned>(std::max(Size{0}, of.bits - room_bits));
      if (of.is_other || parts_.longest(*of.dim) > most) parts_.freeze(*of.dim);
      for (const Word word : of.words) {
        if (word < -most || word > most) {
          parts_.freeze(*of.dim);
          break;
        }
        parts_.cut_at(*of.dim, std::abs(word));
      }
    }
  }

 private:
  /// Numbers that count along a dimension stay below the last ones of their type by so many bits: they
  /// are added to each other and multiplied with.
  static constexpr Size room_bits = 4;

  struct Class {
    std::size_t parent = 0;
    std::size_t members = 1;
    Size bits = 64;  ///< of the narrowest type of its members
    bool is_other = false;
    std::vector<Word> words = {};
    std::optional<PartList> dim = {};
  };
  struct Product {
    std::size_t a;
    std::size_t b;
    std::size_t product;
  };
  [[nodiscard]] std::size_t root(std::size_t id) const {
    while (classes_[id].parent != id) id = classes_[id].parent;
    return id;
  }
  /// Which of two factors is a number of elements: the one that the text says.
  [[nodiscard]] bool is_factor(std::size_t a, std::size_t b) const {
    const Class& one = classes_[root(a)];
    const Class& other = classes_[root(b)];
    return !one.words.empty() && (!one.is_other || other.is_other || other.words.empty());
  }

  Parts& parts_;
  std::vector<Class> classes_;
  std::vector<Product> products_;
};

// ---- What operations tie together ---------------------------------------------------------------

/// The dimensions of the values of one text.
class Walk {
 public:
  Walk(const Module& module, Parts& parts, Units& units)
      : module_(module), parts_(parts), units_(units) {
    for (const Computation& computation : module.computations) {
      auto& dims = dims_.emplace_back();
      auto& unit = unit_.emplace_back();
      is_place_.emplace_back(computation.values.size(), false);
      for (const Value& value : computation.values) {
        auto& lists = dims.emplace_back();
        for (const Size extent : value.type.extents) lists.push_back(parts.fresh(extent));
        unit.push_back(units.add(value.type));
      }
    }
  }

  void tie() {
    for (std::size_t c = 0; c < module_.computations.size(); ++c) {
      at_ = c;
      for (const Instruction& one : module_.computations[c].body) tie(one);
    }
    at_ = module_.entry;
    for (const ValueId value : module_.main().parameters) is_other(value);
    for (const ValueId value : module_.main().results) is_other(value);
  }
  /// Where boxes begin and end. After all ties.
  void cut() {
    for (const auto& [dim, index] : cuts_) parts_.cut_at(dim, index);
  }
  void cut_later(const PartList& dim, Size index) { cuts_.emplace_back(dim, std::abs(index)); }

  [[nodiscard]] const PartList& dim(std::size_t computation, ValueId value, std::size_t k) const {
    return dims_[computation][value][k];
  }
  [[nodiscard]] const std::optional<PartList>& unit(std::size_t computation, ValueId value) const {
    return units_.dim(unit_[computation][value]);
  }

 private:
  [[nodiscard]] const Computation& in() const { return module_.computations[at_]; }
  [[nodiscard]] const ArrayType& type(ValueId value) const { return in().values[value].type; }
  [[nodiscard]] const Shape& extents(ValueId value) const { return type(value).extents; }
  [[nodiscard]] const PartList& dim(ValueId value, std::size_t k) const {
    return dims_[at_][value][k];
  }
  [[nodiscard]] std::size_t rank(ValueId value) const { return extents(value).size(); }

  void same(ValueId a, std::size_t i, ValueId b, std::size_t j, bool has_tile = false) {
    parts_.unify(dim(a, i), dim(b, j), has_tile);
  }
  void same_shape(ValueId a, ValueId b) {
    for (std::size_t k = 0; k < rank(a); ++k) same(a, k, b, k);
  }
  void freeze(ValueId value, std::size_t k) { parts_.freeze(dim(value, k)); }
  void freeze(ValueId value) {
    for (std::size_t k = 0; k < rank(value); ++k) freeze(value, k);
  }
  void is_other(ValueId value) { units_.set_other(unit_[at_][value]); }
  void same_unit(ValueId a, ValueId b) {
    if (is_integer(type(a)) && is_integer(type(b))) units_.join(unit_[at_][a], unit_[at_][b]);
  }
  void same_units(const Instruction& one, std::size_t first = 0) {
    for (std::size_t k = first; k < one.operands.size(); ++k) {
      same_unit(one.operands[k], one.results[0]);
    }
  }
  void are_other(const Instruction& one) {
    for (const ValueId value : one.operands) is_other(value);
    for (const ValueId value : one.results) is_other(value);
  }
  /// Values of two computations, which are the same.
  void same_across(ValueId here, std::size_t other, ValueId there) {
    for (std::size_t k = 0; k < rank(here); ++k) parts_.unify(dim(here, k), dim(other, there, k));
    units_.join(unit_[at_][here], unit_[other][there]);
  }

  void tie(const Instruction& one);
  void tie_units(const Instruction& one);
  void tie_places(const Instruction& one);
  [[nodiscard]] bool is_place(ValueId value) const { return is_place_[at_][value]; }
  /// Numbers of elements along a dimension.
  void counted(const Instruction& one) {
    const std::size_t along = std::get<Dims>(one.detail).dims[0];
    const ValueId value = one.results[0];
    if (!is_integer(type(value))) return freeze(value, along);
    is_place_[at_][value] = true;
    parts_.keep_order(dim(value, along));
    units_.begin_at(unit_[at_][value], dim(value, along));
  }
  void elementwise(const Instruction& one) {
    for (const ValueId value : one.operands) {
      if (rank(value) == rank(one.results[0])) same_shape(value, one.results[0]);
    }
  }
  void constant(const Instruction& one) {
    const auto* literal = std::get_if<Literal>(&one.detail);
    const ValueId value = one.results[0];
    if (literal == nullptr) return is_other(value);
    if (!is_splat(*literal, words_of(type(value).kind))) freeze(value);
    if (!is_integer(type(value))) return;
    units_.set_words(unit_[at_][value], literal->words);
  }
  /// What lies in memory one behind the other is the same.
  void reshaped(const Instruction& one) {
    PartList from;
    PartList to;
    const auto add = [&](ValueId value, PartList& out) {
      for (std::size_t k = 0; k < rank(value); ++k) {
        const PartList& more = dim(value, k);
        out.insert(out.end(), more.begin(), more.end());
      }
    };
    add(one.operands[0], from);
    add(one.results[0], to);
    parts_.unify(from, to);
  }
  void broadcast(const Instruction& one) {
    const auto& dims = std::get<Dims>(one.detail).dims;
    for (std::size_t k = 0; k < dims.size(); ++k) {
      if (extents(one.operands[0])[k] == extents(one.results[0])[dims[k]]) {
        same(one.operands[0], k, one.results[0], dims[k]);
      }
    }
  }
  void transposed(const Instruction& one) {
    const auto& dims = std::get<Dims>(one.detail).dims;
    for (std::size_t k = 0; k < dims.size(); ++k) same(one.operands[0], dims[k], one.results[0], k);
  }
  void reversed(const Instruction& one) {
    same_shape(one.operands[0], one.results[0]);
    for (const std::size_t k : std::get<Dims>(one.detail).dims) freeze(one.operands[0], k);
  }
  void sliced(const Instruction& one) {
    const auto& detail = std::get<SliceDetail>(one.detail);
    const ValueId from = one.operands[0];
    const ValueId to = one.results[0];
    for (std::size_t k = 0; k < rank(from); ++k) {
      if (detail.stride[k] != 1) {
        freeze(from, k);
        freeze(to, k);
        continue;
      }
      same(from, k, to, k, true);
      cut_later(dim(from, k), detail.start[k]);
      cut_later(dim(from, k), detail.limit[k]);
    }
  }
  void manual_box(const Instruction& one, const ManualDetail& detail) {
    const bool to_tiles = one.id == Id::slice;
    const ValueId whole = to_tiles ? one.operands[0] : one.results[0];
    const ValueId tile = to_tiles ? one.results[0] : one.operands[0];
    for (std::size_t k = 0; k < rank(whole); ++k) {
      same(whole, k, tile, k, true);
      for (const Shape& start : detail.starts) cut_later(dim(whole, k), start[k]);
    }
  }
  void padded(const Instruction& one) {
    const auto& detail = std::get<PadDetail>(one.detail);
    const ValueId from = one.operands[0];
    const ValueId to = one.results[0];
    for (std::size_t k = 0; k < rank(from); ++k) {
      if (detail.interior[k] != 0) {
        freeze(from, k);
        freeze(to, k);
        continue;
      }
      same(from, k, to, k, true);
      cut_later(dim(to, k), detail.low[k]);
      cut_later(dim(to, k), detail.high[k]);
    }
  }
  void concatenated(const Instruction& one) {
    const std::size_t along = std::get<Dims>(one.detail).dims[0];
    Size at = 0;
    for (const ValueId value : one.operands) {
      for (std::size_t k = 0; k < rank(value); ++k) {
        same(value, k, one.results[0], k, k == along);
      }
      cut_later(dim(one.results[0], along), at);
      at += extents(value)[along];
    }
  }
  void dynamic(const Instruction& one) {
    const bool updates = one.id == Id::dynamic_update_slice;
    const ValueId whole = one.operands[0];
    const ValueId box = updates ? one.operands[1] : one.results[0];
    if (updates) same_shape(whole, one.results[0]);
    for (std::size_t k = 0; k < rank(whole); ++k) {
      same(whole, k, box, k, true);
      // A box as long as the array begins at 0 whatever the index is.
      const std::size_t unit = unit_[at_][one.operands[(updates ? 2 : 1) + k]];
      if (extents(whole)[k] == extents(box)[k]) {
        units_.set_other(unit);
      } else {
        units_.begin_at(unit, dim(whole, k));
      }
    }
  }
  void dot(const Instruction& one) {
    const auto& detail = std::get<DotDetail>(one.detail);
    const ValueId a = one.operands[0];
    const ValueId b = one.operands[1];
    std::size_t to = 0;
    for (std::size_t k = 0; k < detail.left_batch.size(); ++k, ++to) {
      same(a, detail.left_batch[k], b, detail.right_batch[k]);
      same(a, detail.left_batch[k], one.results[0], to);
    }
    for (std::size_t k = 0; k < detail.left_contracting.size(); ++k) {
      same(a, detail.left_contracting[k], b, detail.right_contracting[k]);
    }
    const auto free = [&](ValueId value, const std::vector<std::size_t>& batch,
                          const std::vector<std::size_t>& contracting) {
      for (std::size_t k = 0; k < rank(value); ++k) {
        if (!has_dim(batch, k) && !has_dim(contracting, k)) same(value, k, one.results[0], to++);
      }
    };
    free(a, detail.left_batch, detail.left_contracting);
    free(b, detail.right_batch, detail.right_contracting);
  }
  void convolution(const Instruction& one) {
    const auto& detail = std::get<ConvolutionDetail>(one.detail);
    const ValueId in = one.operands[0];
    const ValueId kernel = one.operands[1];
    const ValueId out = one.results[0];
    for (const std::size_t k : detail.input_spatial) freeze(in, k);
    for (const std::size_t k : detail.kernel_spatial) freeze(kernel, k);
    for (const std::size_t k : detail.output_spatial) freeze(out, k);
    if (detail.feature_groups != 1 || detail.batch_groups != 1) {
      for (const ValueId value : {in, kernel, out}) freeze(value);
      return;
    }
    same(in, detail.input_batch, out, detail.output_batch);
    same(in, detail.input_feature, kernel, detail.kernel_input);
    same(kernel, detail.kernel_output, out, detail.output_feature);
  }
  void reduced(const Instruction& one) {
    const auto& gone = std::get<Dims>(one.detail).dims;
    const std::size_t number = one.results.size();
    for (std::size_t v = 0; v < number; ++v) {
      same_shape(one.operands[v], one.operands[0]);
      std::size_t to = 0;
      for (std::size_t k = 0; k < rank(one.operands[v]); ++k) {
        if (!has_dim(gone, k)) same(one.operands[v], k, one.results[v], to++);
      }
    }
  }
  void windows(const Instruction& one) {
    const auto& window = std::get<WindowDetail>(one.detail).dims;
    const auto is_none = [](const WindowDim& dim) {
      return dim.size == 1 && dim.stride == 1 && dim.low == 0 && dim.high == 0 &&
             dim.base_dilation == 1;
    };
    std::vector<ValueId> arrays = one.operands;
    arrays.insert(arrays.end(), one.results.begin(), one.results.end());
    for (const ValueId value : arrays) {
      for (std::size_t k = 0; k < rank(value); ++k) {
        is_none(window[k]) ? same(value, k, one.operands[0], k) : freeze(value, k);
      }
    }
  }
  void indexed(const Instruction& one) {
    const auto& detail = std::get<GatherDetail>(one.detail);
    const std::size_t number = one.id == Id::scatter ? one.results.size() : 1;
    const ValueId indices = one.operands[number];
    if (detail.index_vector < rank(indices)) freeze(indices, detail.index_vector);
    for (std::size_t v = 0; v < number; ++v) {
      const ValueId whole = one.operands[v];
      const ValueId box = one.id == Id::scatter ? one.operands[number + 1 + v] : one.results[0];
      same_shape(whole, one.operands[0]);
      if (one.id == Id::scatter) same_shape(whole, one.results[v]);
      windows_of(detail, whole, box);
      batches_of(detail, indices, box);
      for (std::size_t k = 0; k < detail.operand_batch.size(); ++k) {
        same(whole, detail.operand_batch[k], indices, detail.indices_batch[k]);
      }
    }
  }
  void windows_of(const GatherDetail& detail, ValueId whole, ValueId box) {
    std::size_t window = 0;
    for (std::size_t k = 0; k < rank(whole); ++k) {
      if (has_dim(detail.operand_batch, k)) continue;
      const bool is_gone = has_dim(detail.collapsed, k);
      const std::size_t there = is_gone ? 0 : detail.window_dims[window++];
      const bool is_whole =
          !is_gone && !has_dim(detail.index_map, k) && extents(whole)[k] == extents(box)[there];
      if (is_whole) {
        same(whole, k, box, there);
        continue;
      }
      freeze(whole, k);
      if (!is_gone) freeze(box, there);
    }
  }
  void batches_of(const GatherDetail& detail, ValueId indices, ValueId box) {
    std::size_t k = 0;
    for (std::size_t there = 0; there < rank(box); ++there) {
      if (has_dim(detail.window_dims, there)) continue;
      if (k == detail.index_vector) ++k;
      same(indices, k++, box, there);
    }
  }
  /// All arrays have one shape, and single indices of some dimensions count.
  void along(const Instruction& one, std::size_t first, std::size_t count) {
    std::vector<ValueId> arrays = one.operands;
    arrays.insert(arrays.end(), one.results.begin(), one.results.end());
    for (const ValueId value : arrays) {
      for (std::size_t k = 0; k < rank(value); ++k) {
        k >= first&& k < first + count ? freeze(value, k) : same(value, k, arrays[0], k);
      }
    }
  }
  void looped(const Instruction& one) {
    for (const ComputationId id : one.calls) {
      const Computation& called = module_.computations[id];
      for (std::size_t k = 0; k < one.operands.size(); ++k) {
        same_across(one.operands[k], id, called.parameters[k]);
      }
    }
    const Computation& body = module_.computations[one.calls[1]];
    for (std::size_t k = 0; k < one.results.size(); ++k) {
      same_across(one.results[k], one.calls[1], body.results[k]);
      same_shape(one.results[k], one.operands[k]);
      same_unit(one.results[k], one.operands[k]);
    }
  }
  void chosen(const Instruction& one) {
    std::size_t operand = 1;
    is_other(one.operands[0]);
    for (const ComputationId id : one.calls) {
      const Computation& called = module_.computations[id];
      for (const ValueId parameter : called.parameters) {
        same_across(one.operands[operand++], id, parameter);
      }
      for (std::size_t k = 0; k < one.results.size(); ++k) {
        same_across(one.results[k], id, called.results[k]);
      }
    }
  }
  void exchanged(const Instruction& one) {
    const auto* detail = std::get_if<GroupsDetail>(&one.detail);
    const bool grows = one.id == Id::all_gather || one.id == Id::reduce_scatter;
    for (std::size_t v = 0; v < one.operands.size(); ++v) {
      for (std::size_t k = 0; k < rank(one.operands[v]); ++k) {
        same(one.operands[v], k, one.results[v], k, grows && k == detail->dim);
      }
    }
    if (one.id != Id::all_to_all) return;
    for (const ValueId value : one.operands) same_shape(value, one.operands[0]);
    if (!detail->has_dim) return;
    const auto size = static_cast<Size>(detail->groups.front().size());
    cut_later(dim(one.operands[0], detail->dim), extents(one.operands[0])[detail->dim] / size);
  }

  const Module& module_;
  Parts& parts_;
  Units& units_;
  std::vector<std::vector<std::vector<PartList>>> dims_;  // of computations, values
  std::vector<std::vector<std::size_t>> unit_;
  std::vector<std::vector<bool>> is_place_;  // made of an iota: of every element where it stands
  std::vector<std::pair<PartList, Size>> cuts_;
  std::size_t at_ = 0;  // the computation that is walked through
};

void Walk::tie(const Instruction& one) {
  tie_units(one);
  tie_places(one);
  if (std::holds_alternative<ManualDetail>(one.detail)) {
    return manual_box(one, std::get<ManualDetail>(one.detail));
  }
  if (is_elementwise(one.id) || one.id == Id::map) return elementwise(one);
  switch (one.id) {
    case Id::constant:
      return constant(one);
    case Id::iota:
      return counted(one);
    case Id::reshape:
    case Id::bitcast:
      return reshaped(one);
    case Id::broadcast:
      return broadcast(one);
    case Id::transpose:
      return transposed(one);
    case Id::reverse:
      return reversed(one);
    case Id::slice:
      return sliced(one);
    case Id::pad:
      return padded(one);
    case Id::concatenate:
      return concatenated(one);
    case Id::dynamic_slice:
    case Id::dynamic_update_slice:
      return dynamic(one);
    case Id::dot:
      return dot(one);
    case Id::convolution:
      return convolution(one);
    case Id::reduce:
      return reduced(one);
    case Id::reduce_window:
    case Id::select_and_scatter:
      return windows(one);
    case Id::gather:
    case Id::scatter:
      return indexed(one);
    case Id::sort:
      return along(one, std::get<Dims>(one.detail).dims[0], 1);
    case Id::top_k:
      return along(one, rank(one.operands[0]) - 1, 1);
    case Id::fft: {
      const std::size_t count = std::get<FftDetail>(one.detail).lengths.size();
      return along(one, rank(one.operands[0]) - count, count);
    }
    case Id::triangular_solve:
    case Id::cholesky:
      return along(one, rank(one.operands[0]) < 2 ? 0 : rank(one.operands[0]) - 2, 2);
    case Id::while_loop:
      return looped(one);
    case Id::conditional:
      return chosen(one);
    case Id::all_gather:
    case Id::all_reduce:
    case Id::reduce_scatter:
    case Id::collective_permute:
    case Id::collective_broadcast:
    case Id::all_to_all:
      return exchanged(one);
    default:  // nothing is known of it
      for (const ValueId value : one.operands) freeze(value);
      for (const ValueId value : one.results) freeze(value);
  }
}

/// What an operation says of the integers that it takes and makes.
void Walk::tie_units(const Instruction& one) {
  switch (one.id) {
    case Id::constant:
    case Id::iota:
    case Id::while_loop:
    case Id::conditional:
      return;  // each says it itself
    case Id::copy:
    case Id::bitcast:
    case Id::reshape:
    case Id::transpose:
    case Id::reverse:
    case Id::slice:
    case Id::pad:
    case Id::concatenate:
    case Id::broadcast:
    case Id::add:
    case Id::subtract:
    case Id::negate:
    case Id::maximum:
    case Id::minimum:
    case Id::clamp:
    case Id::remainder:
    case Id::all_gather:
    case Id::collective_permute:
    case Id::collective_broadcast:
      for (std::size_t v = 0; v < one.results.size(); ++v)
        same_unit(one.operands[v], one.results[v]);
      if (one.results.size() == 1) same_units(one);
      return;
    case Id::all_to_all:
      for (const ValueId value : one.results) same_unit(one.operands[0], value);
      for (const ValueId value : one.operands) same_unit(one.results[0], value);
      return;
    case Id::select:
      return same_units(one, 1);
    case Id::compare:
      return same_unit(one.operands[0], one.operands[1]);
    case Id::dynamic_slice:
      return same_unit(one.operands[0], one.results[0]);
    case Id::dynamic_update_slice:
      same_unit(one.operands[0], one.results[0]);
      return same_unit(one.operands[1], one.results[0]);
    case Id::convert:
      if (!is_integer(type(one.operands[0])) || !is_integer(type(one.results[0]))) {
        return are_other(one);
      }
      return same_units(one);
    case Id::divide:  // how often one goes into the other is a number
      if (!is_integer(type(one.results[0]))) return;
      same_unit(one.operands[0], one.operands[1]);
      return is_other(one.results[0]);
    case Id::multiply:
      if (!is_integer(type(one.results[0]))) return;
      return units_.add_product(unit_[at_][one.operands[0]], unit_[at_][one.operands[1]],
                                unit_[at_][one.results[0]]);
    default:
      for (const ComputationId id : one.calls) {
        for (const ValueId value : module_.computations[id].parameters) {
          units_.set_other(unit_[id][value]);
        }
        for (const ValueId value : module_.computations[id].results) {
          units_.set_other(unit_[id][value]);
        }
      }
      return are_other(one);
  }
}

/// Numbers of elements may be moved and compared, also from the beginning of a tile on: which of two
/// elements stands in front is the same wherever others between them are left out. Of whatever else is
/// made of them, all are needed.
void Walk::tie_places(const Instruction& one) {
  const auto count = std::count_if(one.operands.begin(), one.operands.end(),
                                   [&](ValueId v) { return is_place(v); });
  if (count == 0) return;
  switch (one.id) {
    case Id::compare:
      return;
    case Id::add:
    case Id::subtract:
      if (count == 1 && (one.id == Id::add || is_place(one.operands.front()))) break;
      return are_other(one);
    case Id::copy:
    case Id::bitcast:
    case Id::reshape:
    case Id::transpose:
    case Id::broadcast:
    case Id::slice:
    case Id::select:
    case Id::maximum:
    case Id::minimum:
    case Id::convert:
      break;
    default:
      return are_other(one);
  }
  is_place_[at_][one.results[0]] = true;
}

// ---- The texts with other extents ---------------------------------------------------------------

/// Gives every use of a short integer constant a constant of its own, as it may count elements along
/// one dimension here and another one there.
Module with_own_constants(const Module& module) {
  constexpr std::size_t most = 64;
  Module out = module;
  for (Computation& computation : out.computations) {
    std::vector<const Instruction*> maker(computation.values.size(), nullptr);
    for (const Instruction& one : computation.body) {
      const auto* literal = std::get_if<Literal>(&one.detail);
      if (literal == nullptr || literal->words.size() > most) continue;
      if (is_integer(computation.values[one.results[0]].type)) maker[one.results[0]] = &one;
    }
    std::vector<bool> is_used(computation.values.size(), false);
    std::vector<Instruction> body;
    for (const Instruction& one : computation.body) {
      Instruction copy = one;
      for (ValueId& value : copy.operands) {
        if (maker[value] == nullptr) continue;
        if (!is_used[value]) {
          is_used[value] = true;
          continue;
        }
        Instruction constant = *maker[value];
        computation.values.push_back(computation.values[value]);
        value = computation.values.size() - 1;
        constant.results = {value};
        body.push_back(std::move(constant));
      }
      body.push_back(std::move(copy));
    }
    computation.body = std::move(body);
  }
  return out;
}

/// Divides the extents of a text.
class Divider {
 public:
  Divider(const Walk& walk, const Parts& parts, Size least)
      : walk_(walk), parts_(parts), factors_(parts.factors(least)) {}

  /// Nothing where it would not be a text any more, which would be a fault of the rules above.
  [[nodiscard]] std::optional<Module> divided(const Module& module) const {
    Module out = module;
    for (std::size_t c = 0; c < out.computations.size(); ++c) {
      Computation& computation = out.computations[c];
      for (ValueId value = 0; value < computation.values.size(); ++value) {
        Shape& extents = computation.values[value].type.extents;
        for (std::size_t k = 0; k < extents.size(); ++k) extents[k] /= factor(c, value, k);
      }
      for (Instruction& one : computation.body) divide(c, computation, one);
    }
    for (const Computation& computation : out.computations) {
      for (const Instruction& one : computation.body) {
        if (type_fault(out, computation, one)) return std::nullopt;
      }
    }
    return out;
  }

 private:
  [[nodiscard]] Size factor(std::size_t computation, ValueId value, std::size_t k) const {
    return parts_.factor(walk_.dim(computation, value, k), factors_);
  }
  void divide(std::size_t c, const Computation& computation, Instruction& one) const {
    if (auto* literal = std::get_if<Literal>(&one.detail)) {
      divide(c, computation, one.results[0], *literal);
    } else if (auto* slice = std::get_if<SliceDetail>(&one.detail)) {
      for (std::size_t k = 0; k < slice->start.size(); ++k) {
        slice->start[k] /= factor(c, one.operands[0], k);
        slice->limit[k] /= factor(c, one.operands[0], k);
      }
    } else if (auto* pad = std::get_if<PadDetail>(&one.detail)) {
      for (std::size_t k = 0; k < pad->low.size(); ++k) {
        pad->low[k] /= factor(c, one.results[0], k);
        pad->high[k] /= factor(c, one.results[0], k);
      }
    } else if (auto* gather = std::get_if<GatherDetail>(&one.detail)) {
      for (std::size_t k = 0; k < gather->sizes.size(); ++k) {
        gather->sizes[k] /= std::min(factor(c, one.operands[0], k), gather->sizes[k]);
      }
    } else if (auto* manual = std::get_if<ManualDetail>(&one.detail)) {
      const ValueId whole = one.id == Id::slice ? one.operands[0] : one.results[0];
      for (Shape& start : manual->starts) {
        for (std::size_t k = 0; k < start.size(); ++k) start[k] /= factor(c, whole, k);
      }
    }
  }
  void divide(std::size_t c, const Computation& computation, ValueId value,
              Literal& literal) const {
    const ArrayType& type = computation.values[value].type;
    literal.words.resize(static_cast<std::size_t>(count_of(type)) * words_of(type.kind));
    const auto& unit = walk_.unit(c, value);
    if (!unit || !is_integer(type)) return;
    const Size by = parts_.factor(*unit, factors_);
    for (Word& word : literal.words) word /= by;
  }

  const Walk& walk_;
  const Parts& parts_;
  std::vector<Size> factors_;
};

/// Whether a number may say how many elements there are, or be what a mean multiplies by.
bool may_count(Word word, const ElementKind& kind, Size least) {
  if (kind.form == ElementKind::Form::truth) return false;
  if (kind.is_number()) return word >= least;
  const double number = std::fabs(operations::real_of(word));
  if (!std::isfinite(number) || number == 0) return false;
  const double count = std::max(number, 1 / number);
  constexpr double rounding = 1e-2;  // of formats with few bits
  return count > static_cast<double>(least) - 1 &&
         std::fabs(count - std::round(count)) <= rounding * count;
}

/// Numbers of constants that may be numbers of elements.
/// \param counts  integers that are such numbers; others may be where a text counts
std::set<Word> counts_of(const Module& module, const Walk& walk, const std::set<Size>& counts,
                         bool has_counting) {
  const Size least = *counts.begin();
  std::set<Word> out;
  for (std::size_t c = 0; c < module.computations.size(); ++c) {
    const Computation& computation = module.computations[c];
    for (const Instruction& one : computation.body) {
      const auto* literal = std::get_if<Literal>(&one.detail);
      if (literal == nullptr || walk.unit(c, one.results[0])) continue;
      const ElementKind& kind = computation.values[one.results[0]].type.kind;
      for (const Word word : literal->words) {
        if (kind.is_number() && !has_counting && !counts.contains(word)) continue;
        if (may_count(word, kind, least)) out.insert(word);
      }
    }
  }
  return out;
}

/// Whether it adds up a constant, which counts elements.
/// \param is_constant  of every value, whether it has one number, other than 0, in all elements
bool is_counting(const Instruction& one, const std::vector<bool>& is_constant) {
  switch (one.id) {
    case Id::reduce:
    case Id::reduce_window:
      return is_constant[one.operands.front()];
    case Id::dot:
    case Id::convolution:
      return is_constant[one.operands[0]] && is_constant[one.operands[1]];
    case Id::scatter:
      return is_constant[one.operands.back()];
    default:
      return false;
  }
}

/// Whether all elements of the result are one number if those of its operands are.
bool keeps_constants(Id id) {
  return is_elementwise(id) || id == Id::broadcast || id == Id::reshape || id == Id::transpose ||
         id == Id::slice || id == Id::bitcast;
}

/// How many operations count elements.
std::size_t countings_in(const Module& module) {
  std::size_t out = 0;
  for (const Computation& computation : module.computations) {
    std::vector<bool> is_constant(computation.values.size(), false);
    for (const Instruction& one : computation.body) {
      if (is_counting(one, is_constant)) ++out;
      bool is_one =
          keeps_constants(one.id) && std::all_of(one.operands.begin(), one.operands.end(),
                                                 [&](ValueId value) { return is_constant[value]; });
      if (const auto* literal = std::get_if<Literal>(&one.detail)) {
        const auto& words = literal->words;
        is_one = !words.empty() && words.front() != 0 &&
                 is_splat(*literal, words_of(computation.values[one.results[0]].type.kind));
      }
      if (is_one) is_constant[one.results[0]] = true;
    }
  }
  return out;
}

/// Whether a number of elements stands in one text and is counted in the other, or may be.
/// \param extents  that were divided
bool may_miscount(const Module& before, const Walk& first, const Module& after, const Walk& second,
                  const std::vector<std::pair<Size, Size>>& extents) {
  std::set<Size> counts;
  for (const auto& [from, to] : extents) {
    counts.insert(from);
    for (const auto& [other, by] : extents) counts.insert(checked_mul(from, other).value_or(from));
  }
  const bool has_counting = countings_in(before) != countings_in(after);
  return counts_of(before, first, counts, has_counting) !=
         counts_of(after, second, counts, has_counting);
}

/// Extents and what became of them, where that is something else; the largest first.
std::vector<std::pair<Size, Size>> divided_extents(const Module& module, const Module& divided) {
  std::set<std::pair<Size, Size>, std::greater<>> out;
  for (std::size_t c = 0; c < module.computations.size(); ++c) {
    for (ValueId value = 0; value < module.computations[c].values.size(); ++value) {
      const Shape& from = module.computations[c].values[value].type.extents;
      const Shape& to = divided.computations[c].values[value].type.extents;
      for (std::size_t k = 0; k < from.size(); ++k) {
        if (from[k] != to[k]) out.emplace(from[k], to[k]);
      }
    }
  }
  return {out.begin(), out.end()};
}

/// Whether it has the same extents, or is so large that even one draw of it takes too long.
bool is_no_other(const Divided& others, const Divided& texts, double most_work) {
  constexpr double longer = 4;
  const double work = work_of(others.before) + work_of(others.after);
  return others.extents == texts.extents || (most_work > 0 && work > longer * most_work);
}

/// Whether all is there that can be counted at all.
bool has_elements(const Module& module) {
  for (const Computation& computation : module.computations) {
    for (const Value& value : computation.values) {
      for (const Size extent : value.type.extents) {
        if (extent < 1) return false;
      }
      if (!checked_product(value.type.extents)) return false;
    }
  }
  return true;
}

void tie_ends(const Module& before, const std::vector<ValueId>& some, Walk& first,
              const Module& after, const std::vector<ValueId>& others, Walk& second,
              const Boxes& boxes, Parts& parts) {
  for (std::size_t v = 0; v < some.size(); ++v) {
    const std::size_t rank = before.main().values[some[v]].type.extents.size();
    for (std::size_t k = 0; k < rank; ++k) {
      const PartList& whole = first.dim(before.entry, some[v], k);
      parts.unify(whole, second.dim(after.entry, others[v], k), !boxes.empty());
      if (boxes.empty()) continue;
      for (const Box& box : boxes[v]) {
        first.cut_later(whole, box.at[k]);
        first.cut_later(whole, box.at[k] + box.extent[k]);
      }
    }
  }
}

}  // namespace

double work_of(const Module& module) {
  double out = 0;
  const auto count = [](const ArrayType& type) {
    double all = 1;
    for (const Size extent : type.extents) all *= static_cast<double>(extent);
    return all;
  };
  for (const Computation& computation : module.computations) {
    for (const Value& value : computation.values) out += count(value.type);
    for (const Instruction& one : computation.body) {
      if (one.results.size() != 1) continue;
      const double made = count(computation.values[one.results[0]].type);
      if (const auto* detail = std::get_if<DotDetail>(&one.detail)) {
        double products = made;
        const Shape& left = computation.values[one.operands[0]].type.extents;
        for (const std::size_t k : detail->left_contracting) {
          products *= static_cast<double>(left[k]);
        }
        out += products;
      } else if (const auto* windows = std::get_if<ConvolutionDetail>(&one.detail)) {
        const ArrayType& kernel = computation.values[one.operands[1]].type;
        const auto outputs = static_cast<double>(kernel.extents[windows->kernel_output]);
        out += made * count(kernel) / std::max(1.0, outputs);
      }
    }
  }
  return out * static_cast<double>(module.devices());
}

std::optional<Smaller> smaller(const Module& before, const Module& after, const Boxes& starts,
                               const Boxes& ends, double most_work) {
  if (!has_elements(before) || !has_elements(after)) return std::nullopt;
  const Module own_before = with_own_constants(before);
  const Module own_after = with_own_constants(after);
  Parts parts;
  Units units(parts);
  Walk first(own_before, parts, units);
  Walk second(own_after, parts, units);
  first.tie();
  second.tie();
  const Computation& a = before.main();
  const Computation& b = after.main();
  tie_ends(before, a.parameters, first, after, b.parameters, second, starts, parts);
  tie_ends(before, a.results, first, after, b.results, second, ends, parts);
  units.settle_products();
  first.cut();
  second.cut();
  units.cut();

  const auto divided = [&](Size least) -> std::optional<Divided> {
    auto some = Divider(first, parts, least).divided(own_before);
    auto others = Divider(second, parts, least).divided(own_after);
    if (!some || !others) return std::nullopt;
    auto extents = divided_extents(own_before, *some);
    return Divided{*std::move(some), *std::move(others), std::move(extents)};
  };
  Smaller out;
  Size at_least = 0;
  for (const Size least : {8, 4, 2, 1}) {
    // Of one element nobody sees where it goes, so tiles of one are for those in need.
    if (least == 1 && most_work <= 0) break;
    auto texts = divided(least);
    if (!texts) return std::nullopt;
    at_least = least;
    out.texts = *std::move(texts);
    if (work_of(out.texts.before) + work_of(out.texts.after) <= most_work) break;
  }
  if (out.texts.extents.empty()) return std::nullopt;
  out.others = divided(at_least > 2 ? at_least / 2 : 2 * at_least);
  if (out.others && is_no_other(*out.others, out.texts, most_work)) out.others.reset();
  out.may_miscount = may_miscount(own_before, first, own_after, second, out.texts.extents);
  return out;
}

}  // namespace retile::whole
