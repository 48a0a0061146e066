// What operations on whole arrays do, on one device. Room-internal.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "retile/core/walk.h"
#include "retile/whole/array.h"
#include "retile/whole/convolution.h"
#include "retile/whole/loops.h"
#include "retile/whole/module.h"
#include "retile/whole/scalar.h"

namespace retile::whole {

/// A word of a type that is added up: a zero of all types.
template <typename Domain>
class Kernels {
 public:
  Kernels(const Module& module, const Computation& in, const Domain& domain, Limits& limits)
      : module_(module), in_(in), domain_(domain), limits_(limits), calculator_(domain) {}

  /// What an operation on one device makes.
  /// Precondition: checked types; not one that moves alone, not one between devices.
  [[nodiscard]] std::vector<Block> made(const Instruction& one,
                                        const std::vector<Block>& operands) {
    std::vector<std::shared_ptr<Array>> out;
    for (const ValueId result : one.results) out.push_back(new_array(limits_, type(result)));
    make(one, operands, out);
    return {out.begin(), out.end()};
  }

  /// How an operation that draws numbers differs from others of its kind.
  void set_random(std::size_t number) { random_ = number; }

  [[nodiscard]] Block literal(const Instruction& one) const {
    const ArrayType& to = type(one.results[0]);
    auto out = new_array(limits_, to);
    const auto& words = std::get<Literal>(one.detail).words;
    limits_.work(static_cast<Size>(words.size()));
    const bool has_point = !to.kind.is_number();
    for (std::size_t k = 0; k < out->words.size(); ++k) {
      out->words[k] = has_point ? domain_.of_literal(operations::real_of(words[k])) : words[k];
    }
    return out;
  }
  /// Numbers added one to the other, element by element, by a computation: of a group of devices.
  [[nodiscard]] Block summed(const Instruction& one, const ArrayType& type,
                             const std::vector<Block>& addends) {
    auto out = new_array(limits_, type);
    out->words = addends.front()->words;
    ScalarProgram<Domain> program(module_.computations[one.calls[0]], domain_);
    const std::size_t width = words_of(type.kind);
    for (std::size_t k = 1; k < addends.size(); ++k) {
      limits_.work(static_cast<Size>(out->words.size()));
      combine(program, type.kind, out->words, addends[k]->words, width);
    }
    return out;
  }

 private:
  using Words = std::vector<Word>;
  using Outs = std::vector<std::shared_ptr<Array>>;

  [[nodiscard]] const ArrayType& type(ValueId value) const { return in_.values[value].type; }

  void make(const Instruction& one, const std::vector<Block>& operands, const Outs& out) {
    if (is_elementwise(one.id)) return elementwise(one, operands, *out[0]);
    switch (one.id) {
      case Id::iota:
        return iota(one, *out[0]);
      case Id::map:
        return map(one, operands, *out[0]);
      case Id::dot:
        return dot(one, operands, *out[0]);
      case Id::convolution:
        return convolution(one, operands, *out[0]);
      case Id::reduce:
        return reduce(one, operands, out);
      case Id::reduce_window:
        return reduce_window(one, operands, out);
      case Id::select_and_scatter:
        return select_and_scatter(one, operands, *out[0]);
      case Id::scatter:
        return scatter(one, operands, out);
      case Id::sort:
        return sort(one, operands, out);
      case Id::top_k:
        return top_k(one, operands, out);
      case Id::fft:
        return fft(one, operands, *out[0]);
      case Id::triangular_solve:
        return triangular_solve(one, operands, *out[0]);
      case Id::custom_call:
      case Id::rng_bit_generator:
      case Id::rng:
      case Id::cholesky:
        return unknown(one, operands, out);
      default:
        throw NotEvaluated{one.opcode + " is not evaluated", one.place};
    }
  }

  [[nodiscard]] static Number number_at(const Words& words, std::size_t index, std::size_t width) {
    if (width == 1) return {words[index]};
    return {words[2 * index], words[2 * index + 1]};
  }
  static void set_number(Words& words, std::size_t index, std::size_t width, const Number& number) {
    if (width == 1) {
      words[index] = number.real;
    } else {
      words[2 * index] = number.real;
      words[2 * index + 1] = number.imaginary;
    }
  }

  // Number by number.

  void elementwise(const Instruction& one, const std::vector<Block>& operands, Array& out) {
    const ArrayType& to = type(one.results[0]);
    const auto count = static_cast<std::size_t>(count_of(to));
    limits_.work(static_cast<Size>(count) * 4);
    std::array<Operand, 3> given;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const ArrayType& from = type(one.operands[k]);
      given[k] = {.words = operands[k]->words, .is_one = from.extents.empty(), .kind = from.kind};
    }
    if (Loops<Domain>(domain_).compute(one, {given.data(), operands.size()}, to.kind, out.words)) {
      return;
    }
    std::array<ElementKind, 3> kinds;
    for (std::size_t k = 0; k < operands.size(); ++k) kinds[k] = given[k].kind;
    std::array<Number, 3> numbers;
    const std::size_t width = words_of(to.kind);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < operands.size(); ++k) {
        numbers[k] =
            number_at(operands[k]->words, given[k].is_one ? 0 : i, words_of(given[k].kind));
      }
      set_number(out.words, i, width,
                 calculator_.calculated(one, {kinds.data(), operands.size()}, to.kind,
                                        {numbers.data(), operands.size()}));
    }
  }
  void map(const Instruction& one, const std::vector<Block>& operands, Array& out) {
    ScalarProgram<Domain> program(module_.computations[one.calls[0]], domain_);
    const ArrayType& to = type(one.results[0]);
    const auto count = static_cast<std::size_t>(count_of(to));
    for (std::size_t i = 0; i < count; ++i) {
      limits_.work(8);
      for (std::size_t k = 0; k < operands.size(); ++k) {
        program.set(k, number_at(operands[k]->words, i, words_of(type(one.operands[k]).kind)));
      }
      program.run();
      set_number(out.words, i, words_of(to.kind), program.result(0));
    }
  }
  void iota(const Instruction& one, Array& out) {
    const ArrayType& to = type(one.results[0]);
    const std::size_t dim = std::get<Dims>(one.detail).dims[0];
    const Size stride = strides_of(to.extents)[dim];
    const std::size_t width = words_of(to.kind);
    for (std::size_t i = 0; i < out.words.size() / width; ++i) {
      const Size index = static_cast<Size>(i) / stride % to.extents[dim];
      const bool has_point = !to.kind.is_number();
      set_number(out.words, i, width,
                 {has_point ? lifted(domain_, index, operations::element_kind("s64"), to.kind)
                            : operations::wrapped(index, to.kind),
                  has_point ? domain_.from(0) : 0});
    }
  }
  /// a := program(a, b), element by element.
  void combine(ScalarProgram<Domain>& program, const ElementKind& kind, Words& a, const Words& b,
               std::size_t width) {
    const auto only = program.only_operation();
    if (only && with_operation(domain_, *only, kind, [&](const auto& op) {
          for (std::size_t i = 0; i < a.size(); ++i) a[i] = op(a[i], b[i]);
        })) {
      return;
    }
    for (std::size_t i = 0; i < a.size() / width; ++i) {
      program.set(0, number_at(a, i, width));
      program.set(1, number_at(b, i, width));
      program.run();
      set_number(a, i, width, program.result(0));
    }
  }

  // Products.

  [[nodiscard]] static Shape picked(const Shape& shape, const std::vector<std::size_t>& dims) {
    Shape out;
    for (const std::size_t dim : dims) out.push_back(shape[dim]);
    return out;
  }
  [[nodiscard]] static std::vector<std::size_t> others(std::size_t rank,
                                                       const std::vector<std::size_t>& a,
                                                       const std::vector<std::size_t>& b) {
    std::vector<std::size_t> out;
    for (std::size_t k = 0; k < rank; ++k) {
      const bool is_used = std::find(a.begin(), a.end(), k) != a.end() ||
                           std::find(b.begin(), b.end(), k) != b.end();
      if (!is_used) out.push_back(k);
    }
    return out;
  }
  /// The operand as [batch, free, contracted], row by row.
  [[nodiscard]] static Words arranged(const Words& words, const Shape& shape,
                                      const std::vector<std::size_t>& batch,
                                      const std::vector<std::size_t>& free,
                                      const std::vector<std::size_t>& contracted,
                                      std::size_t width) {
    std::vector<std::size_t> order = batch;
    order.insert(order.end(), free.begin(), free.end());
    order.insert(order.end(), contracted.begin(), contracted.end());
    const Shape extents = picked(shape, order);
    Words out(words.size());
    copy_box(words, {.offset = 0, .strides = picked(strides_of(shape), order)}, out,
             whole_of(extents), extents, width);
    return out;
  }
  [[nodiscard]] static Size product_of(const Shape& shape) {
    return std::accumulate(shape.begin(), shape.end(), Size{1}, std::multiplies<>());
  }
  void dot(const Instruction& one, const std::vector<Block>& operands, Array& out) {
    const auto& detail = std::get<DotDetail>(one.detail);
    const ArrayType& left = type(one.operands[0]);
    const ArrayType& right = type(one.operands[1]);
    const ElementKind& to = type(one.results[0]).kind;
    const auto left_free = others(left.extents.size(), detail.left_batch, detail.left_contracting);
    const auto right_free =
        others(right.extents.size(), detail.right_batch, detail.right_contracting);
    const std::size_t width = words_of(to);
    const Words x = arranged(operands[0]->words, left.extents, detail.left_batch, left_free,
                             detail.left_contracting, width);
    const Words y = arranged(operands[1]->words, right.extents, detail.right_batch, right_free,
                             detail.right_contracting, width);
    const Size batch = product_of(picked(left.extents, detail.left_batch));
    const Size rows = product_of(picked(left.extents, left_free));
    const Size columns = product_of(picked(right.extents, right_free));
    const Size depth = product_of(picked(left.extents, detail.left_contracting));
    const bool is_finite = to.is_real() && Domain::are_finite(x) && Domain::are_finite(y);
    const auto words = static_cast<Size>(width);
    for (Size b = 0; b < batch; ++b) {
      products(to, x.data() + b * rows * depth * words, rows,
               y.data() + b * columns * depth * words, columns, depth, is_finite,
               out.words.data() + b * rows * columns * words);
    }
  }
  /// out[m * columns + n]: the sum of products of row m of x and row n of y, of `depth` numbers each.
  /// \param is_finite  all of them are numbers with a point, and finite
  void products(const ElementKind& kind, const Word* x, Size rows, const Word* y, Size columns,
                Size depth, bool is_finite, Word* out) {
    // A few rows at once, so that the clock is looked at between them.
    const Size step =
        is_finite ? std::clamp((Size{1} << 20U) / (columns * depth + 1), Size{2}, Size{64}) : 1;
    const auto words = static_cast<Size>(words_of(kind));
    for (Size m = 0; m < rows; m += step) {
      const Size here = std::min(step, rows - m);
      limits_.work(here * columns * depth + 1);
      const Word* const row = x + m * depth * words;
      Word* const made = out + m * columns * words;
      if (is_finite) {
        domain_.products(row, here, y, columns, depth, made);
        continue;
      }
      for (Size n = 0; n < columns; ++n) {
        const Number sum = product(kind, row, y + n * depth * words, depth);
        made[n * words] = sum.real;
        if (words == 2) made[n * words + 1] = sum.imaginary;
      }
    }
  }
  /// The sum of products of `depth` numbers.
  [[nodiscard]] Number product(const ElementKind& kind, const Word* x, const Word* y,
                               Size depth) const {
    if (kind.is_real()) {
      Word sum = domain_.from(0);
      for (Size k = 0; k < depth; ++k) sum = domain_.add(sum, domain_.mul(x[k], y[k]));
      return {sum};
    }
    if (kind.is_number()) {
      std::uint64_t sum = 0;
      for (Size k = 0; k < depth; ++k) {
        sum += static_cast<std::uint64_t>(x[k]) * static_cast<std::uint64_t>(y[k]);
      }
      if (kind.form == ElementKind::Form::truth) return {sum != 0 ? 1 : 0};
      return {operations::wrapped(static_cast<Word>(sum), kind)};
    }
    Number sum{domain_.from(0), domain_.from(0)};
    for (Size k = 0; k < depth; ++k) {
      const Word a = x[2 * k];
      const Word b = x[2 * k + 1];
      const Word c = y[2 * k];
      const Word d = y[2 * k + 1];
      sum.real = domain_.add(sum.real, domain_.sub(domain_.mul(a, c), domain_.mul(b, d)));
      sum.imaginary = domain_.add(sum.imaginary, domain_.add(domain_.mul(a, d), domain_.mul(b, c)));
    }
    return sum;
  }

  void convolution(const Instruction& one, const std::vector<Block>& operands, Array& out) {
    const auto& detail = std::get<ConvolutionDetail>(one.detail);
    const ArrayType& to = type(one.results[0]);
    const Patches patches(detail, type(one.operands[0]).extents, type(one.operands[1]).extents,
                          to.extents);
    const std::size_t width = words_of(to.kind);
    const Words weights = patches.weights(operands[1]->words, width);
    limits_.work(static_cast<Size>(weights.size()));
    const auto row = static_cast<std::size_t>(patches.depth()) * width;
    const bool is_finite = to.kind.is_real() && Domain::are_finite(weights);
    // Many patches at once, so that the kernel's rows are read once for all of them.
    const std::size_t most =
        std::clamp((std::size_t{1} << 15U) / (row + 1), std::size_t{1}, std::size_t{64});
    Words rows(most * row);
    Words made(most * static_cast<std::size_t>(patches.outputs()) * width);
    std::vector<Size> places;
    for (Size g = 0; g < patches.groups(); ++g) {
      const Word* const kernel =
          weights.data() + static_cast<std::size_t>(g * patches.outputs()) * row;
      const auto multiply = [&] {
        const std::span<const Word> filled(rows.data(), places.size() * row);
        products(to.kind, rows.data(), static_cast<Size>(places.size()), kernel, patches.outputs(),
                 patches.depth(), is_finite && Domain::are_finite(filled), made.data());
        std::size_t k = 0;
        for (const Size place : places) {
          for (Size o = 0; o < patches.outputs(); ++o) {
            set_number(out.words, static_cast<std::size_t>(place + o * patches.output_step()),
                       width, number_at(made, k++, width));
          }
        }
        places.clear();
      };
      for (Size b = 0; b < patches.batches(); ++b) {
        for_box(patches.positions(), [&](const Shape& position) {
          limits_.work(4 * patches.depth());
          patches.fill(operands[0]->words, g, b, position, rows.data() + places.size() * row,
                       width);
          places.push_back(patches.output(g, b, position));
          if (places.size() == most) multiply();
        });
      }
      multiply();
    }
  }

  // Reductions.

  void reduce(const Instruction& one, const std::vector<Block>& operands, const Outs& out) {
    const std::size_t count = operands.size() / 2;
    const Shape& shape = type(one.operands[0]).extents;
    std::vector<std::size_t> dims = std::get<Dims>(one.detail).dims;
    std::sort(dims.begin(), dims.end());
    const std::vector<std::size_t> kept = others(shape.size(), dims, {});
    const Shape strides = strides_of(shape);
    const std::vector<Size> outer = offsets_of(picked(shape, kept), picked(strides, kept));
    const std::vector<Size> inner = offsets_of(picked(shape, dims), picked(strides, dims));
    ScalarProgram<Domain> program(module_.computations[one.calls[0]], domain_);
    const ElementKind& kind = type(one.operands[0]).kind;
    const auto only = program.only_operation();
    const bool is_kept_last = !kept.empty() && kept.back() + 1 == shape.size();
    // Nobody says in which order numbers are put together: where that matters, it is the other way round.
    const bool is_turned = inner.size() > 1 && (only == Id::subtract || only == Id::divide);
    if (count == 1 && only && !is_turned &&
        with_operation(domain_, *only, kind, [&](const auto& op) {
          fold(op, operands[0]->words, outer, inner, is_kept_last, operands[1]->words[0],
               out[0]->words);
        })) {
      return;
    }
    for (std::size_t i = 0; i < outer.size(); ++i) {
      limits_.work(static_cast<Size>(inner.size()) * 16);
      std::vector<Number> sums = initial(one, operands, count);
      for (const Size offset : inner) {
        accumulate(program, one, operands, sums, static_cast<std::size_t>(outer[i] + offset),
                   is_turned);
      }
      for (std::size_t k = 0; k < count; ++k) {
        set_number(out[k]->words, i, words_of(type(one.results[k]).kind), sums[k]);
      }
    }
  }
  /// out[i]: of first and of all that lies at outer[i] + inner[..], in this order.
  /// \param is_by_rows  neighbours of the result are neighbours in `from` as well
  template <typename Op>
  void fold(const Op& op, const Words& from, const std::vector<Size>& outer,
            const std::vector<Size>& inner, bool is_by_rows, Word first, Words& out) {
    const Word* const words = from.data();
    if (is_by_rows) {
      std::fill(out.begin(), out.end(), first);
      for (const Size offset : inner) {
        limits_.work(static_cast<Size>(outer.size()));
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = op(out[i], words[outer[i] + offset]);
      }
      return;
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      limits_.work(static_cast<Size>(inner.size()));
      Word sum = first;
      for (const Size offset : inner) sum = op(sum, words[outer[i] + offset]);
      out[i] = sum;
    }
  }
  [[nodiscard]] std::vector<Number> initial(const Instruction& one,
                                            const std::vector<Block>& operands,
                                            std::size_t count) const {
    std::vector<Number> out;
    for (std::size_t k = 0; k < count; ++k) {
      out.push_back(
          number_at(operands[count + k]->words, 0, words_of(type(one.operands[count + k]).kind)));
    }
    return out;
  }
  void accumulate(ScalarProgram<Domain>& program, const Instruction& one,
                  const std::vector<Block>& operands, std::vector<Number>& sums, std::size_t index,
                  bool is_turned = false) const {
    for (std::size_t k = 0; k < sums.size(); ++k) {
      program.set(is_turned ? sums.size() + k : k, sums[k]);
      program.set(is_turned ? k : sums.size() + k,
                  number_at(operands[k]->words, index, words_of(type(one.operands[k]).kind)));
    }
    program.run();
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] = program.result(k);
  }
  void reduce_window(const Instruction& one, const std::vector<Block>& operands, const Outs& out) {
    const std::size_t count = operands.size() / 2;
    const auto& window = std::get<WindowDetail>(one.detail).dims;
    const Shape& shape = type(one.operands[0]).extents;
    const Shape strides = strides_of(shape);
    Shape sizes;
    for (const WindowDim& dim : window) sizes.push_back(dim.size);
    ScalarProgram<Domain> program(module_.computations[one.calls[0]], domain_);
    std::size_t i = 0;
    for_box(type(one.results[0]).extents, [&](const Shape& at) {
      limits_.work(product_of(sizes) * 16);
      std::vector<Number> sums = initial(one, operands, count);
      for_box(sizes, [&](const Shape& inside) {
        if (const auto offset = window_offset(window, at, inside, shape, strides)) {
          accumulate(program, one, operands, sums, static_cast<std::size_t>(*offset));
        }
      });
      for (std::size_t k = 0; k < count; ++k) {
        set_number(out[k]->words, i, words_of(type(one.results[k]).kind), sums[k]);
      }
      ++i;
    });
  }
  [[nodiscard]] static std::optional<Size> window_offset(const std::vector<WindowDim>& window,
                                                         const Shape& at, const Shape& inside,
                                                         const Shape& shape, const Shape& strides) {
    Size offset = 0;
    for (std::size_t k = 0; k < window.size(); ++k) {
      const Size index = base_index(window[k], at[k], inside[k], shape[k]);
      if (index < 0) return std::nullopt;
      offset += index * strides[k];
    }
    return offset;
  }
  void select_and_scatter(const Instruction& one, const std::vector<Block>& operands, Array& out) {
    const auto& window = std::get<WindowDetail>(one.detail).dims;
    const ArrayType& from = type(one.operands[0]);
    const Shape strides = strides_of(from.extents);
    const std::size_t width = words_of(from.kind);
    Shape sizes;
    for (const WindowDim& dim : window) sizes.push_back(dim.size);
    ScalarProgram<Domain> select(module_.computations[one.calls[0]], domain_);
    ScalarProgram<Domain> scatter(module_.computations[one.calls[1]], domain_);
    for (std::size_t k = 0; k < out.words.size() / width; ++k) {
      set_number(out.words, k, width, number_at(operands[2]->words, 0, width));
    }
    std::size_t i = 0;
    for_box(type(one.operands[1]).extents, [&](const Shape& at) {
      limits_.work(product_of(sizes) * 16);
      std::optional<std::size_t> best;
      for_box(sizes, [&](const Shape& inside) {
        const auto offset = window_offset(window, at, inside, from.extents, strides);
        if (!offset) return;
        const auto here = static_cast<std::size_t>(*offset);
        if (best) {
          select.set(0, number_at(operands[0]->words, *best, width));
          select.set(1, number_at(operands[0]->words, here, width));
          select.run();
          if (select.result(0).real != 0) return;
        }
        best = here;
      });
      if (best) {
        scatter.set(0, number_at(out.words, *best, width));
        scatter.set(1, number_at(operands[1]->words, i, width));
        scatter.run();
        set_number(out.words, *best, width, scatter.result(0));
      }
      ++i;
    });
  }
  void scatter(const Instruction& one, const std::vector<Block>& operands, const Outs& out) {
    const auto& detail = std::get<GatherDetail>(one.detail);
    const std::size_t count = one.results.size();
    const Shape& shape = type(one.operands[0]).extents;
    const ArrayType& indices = type(one.operands[count]);
    const IndexedBoxes boxes(detail, shape, indices.extents, type(one.operands[count + 1]).extents);
    ScalarProgram<Domain> program(module_.computations[one.calls[0]], domain_);
    for (std::size_t k = 0; k < count; ++k) out[k]->words = operands[k]->words;
    const std::vector<Size> inside = offsets_of(boxes.window_extents(), boxes.window_strides());
    const std::vector<Size> read = offsets_of(boxes.window_extents(), boxes.update_strides());
    const Shape strides = strides_of(shape);
    boxes.for_each([&](const std::vector<Size>& at, Size update) {
      limits_.work(static_cast<Size>(inside.size()) * 16 + 1);
      const Shape start = boxes.start(operands[count]->words, indices.kind, at);
      Size offset = 0;
      for (std::size_t k = 0; k < start.size(); ++k) {
        const auto& dims = boxes.window_dims();
        const auto dim = std::find(dims.begin(), dims.end(), k);
        const Size size =
            dim == dims.end()
                ? 1
                : boxes.window_extents()[static_cast<std::size_t>(dim - dims.begin())];
        // A box that does not lie inside is left out whole.
        if (start[k] < 0 || size > shape[k] || start[k] > shape[k] - size) return;
        offset += start[k] * strides[k];
      }
      for (std::size_t i = 0; i < inside.size(); ++i) {
        const auto there = static_cast<std::size_t>(offset + inside[i]);
        const auto here = static_cast<std::size_t>(update + read[i]);
        for (std::size_t k = 0; k < count; ++k) {
          const std::size_t width = words_of(type(one.results[k]).kind);
          program.set(k, number_at(out[k]->words, there, width));
          program.set(count + k, number_at(operands[count + 1 + k]->words, here, width));
        }
        program.run();
        for (std::size_t k = 0; k < count; ++k) {
          set_number(out[k]->words, there, words_of(type(one.results[k]).kind), program.result(k));
        }
      }
    });
  }

  // Orders.

  /// Sorts numbers by a relation that need not be an order, and keeps those that are alike in theirs.
  template <typename Less>
  void merge_sort(std::vector<std::size_t>& order, const Less& less) {
    std::vector<std::size_t> other(order.size());
    for (std::size_t run = 1; run < order.size(); run *= 2) {
      for (std::size_t begin = 0; begin < order.size(); begin += 2 * run) {
        const std::size_t middle = std::min(begin + run, order.size());
        const std::size_t end = std::min(begin + 2 * run, order.size());
        std::size_t a = begin;
        std::size_t b = middle;
        for (std::size_t k = begin; k < end; ++k) {
          const bool takes_second = a >= middle || (b < end && less(order[b], order[a]));
          other[k] = takes_second ? order[b++] : order[a++];
        }
      }
      std::swap(order, other);
    }
  }
  void sort(const Instruction& one, const std::vector<Block>& operands, const Outs& out) {
    const Shape& shape = type(one.operands[0]).extents;
    const std::size_t dim = std::get<Dims>(one.detail).dims[0];
    const Size stride = strides_of(shape)[dim];
    ScalarProgram<Domain> program(module_.computations[one.calls[0]], domain_);
    std::vector<std::size_t> widths;
    for (const ValueId operand : one.operands) widths.push_back(words_of(type(operand).kind));
    for_each_line(shape, dim, [&](Size begin) {
      const auto index = [&](std::size_t k) {
        return static_cast<std::size_t>(begin + static_cast<Size>(k) * stride);
      };
      std::vector<std::size_t> order(static_cast<std::size_t>(shape[dim]));
      std::iota(order.begin(), order.end(), std::size_t{0});
      merge_sort(order, [&](std::size_t a, std::size_t b) {
        limits_.work(32);
        for (std::size_t k = 0; k < operands.size(); ++k) {
          program.set(2 * k, number_at(operands[k]->words, index(a), widths[k]));
          program.set(2 * k + 1, number_at(operands[k]->words, index(b), widths[k]));
        }
        program.run();
        return program.result(0).real != 0;
      });
      for (std::size_t k = 0; k < operands.size(); ++k) {
        for (std::size_t i = 0; i < order.size(); ++i) {
          set_number(out[k]->words, index(i), widths[k],
                     number_at(operands[k]->words, index(order[i]), widths[k]));
        }
      }
    });
  }
  /// Calls `look` with where each line along a dimension begins.
  template <typename Look>
  static void for_each_line(const Shape& shape, std::size_t dim, const Look& look) {
    if (shape[dim] == 0) return;
    Shape box = shape;
    box[dim] = 1;
    const Shape strides = strides_of(shape);
    for_box(box, [&](const Shape& at) { look(offset_of(at, strides)); });
  }
  void top_k(const Instruction& one, const std::vector<Block>& operands, const Outs& out) {
    const ArrayType& from = type(one.operands[0]);
    const Size line = from.extents.back();
    const Size kept = type(one.results[0]).extents.back();
    const bool largest = std::get<Dims>(one.detail).dims[0] == 1;
    const Words& words = operands[0]->words;
    for (Size begin = 0, row = 0; begin < static_cast<Size>(words.size()); begin += line, ++row) {
      limits_.work(line * 32);
      std::vector<std::size_t> order(static_cast<std::size_t>(line));
      std::iota(order.begin(), order.end(), static_cast<std::size_t>(begin));
      merge_sort(order, [&](std::size_t a, std::size_t b) {
        const Word x = words[largest ? b : a];
        const Word y = words[largest ? a : b];
        return from.kind.is_real()
                   ? domain_.less(x, y)
                   : operations::compared(operations::Comparison::lt, operations::Order::of_type, x,
                                          y, from.kind);
      });
      for (Size k = 0; k < kept; ++k) {
        const std::size_t picked = order[static_cast<std::size_t>(k)];
        out[0]->words[static_cast<std::size_t>(row * kept + k)] = words[picked];
        out[1]->words[static_cast<std::size_t>(row * kept + k)] =
            static_cast<Word>(picked) - static_cast<Word>(begin);
      }
    }
  }

  // Others.

  [[nodiscard]] Number times(const Number& a, const std::array<Word, 2>& b) const {
    return {domain_.sub(domain_.mul(a.real, b[0]), domain_.mul(a.imaginary, b[1])),
            domain_.add(domain_.mul(a.real, b[1]), domain_.mul(a.imaginary, b[0]))};
  }
  /// Transforms every line along a dimension in place.
  void transform(Words& words, const Shape& shape, std::size_t dim, bool is_inverse) {
    const Size n = shape[dim];
    const Size stride = strides_of(shape)[dim];
    std::vector<std::array<Word, 2>> roots;
    for (Size k = 0; k < n; ++k) roots.push_back(domain_.root_parts(n, is_inverse ? k : -k));
    const Word scale = is_inverse ? domain_.div(domain_.from(1), domain_.from(n)) : domain_.from(1);
    for_each_line(shape, dim, [&](Size begin) {
      limits_.work(n * n * 8);
      std::vector<Number> line;
      for (Size k = 0; k < n; ++k) {
        line.push_back(number_at(words, static_cast<std::size_t>(begin + k * stride), 2));
      }
      for (Size k = 0; k < n; ++k) {
        Number sum{domain_.from(0), domain_.from(0)};
        for (Size i = 0; i < n; ++i) {
          const Number term =
              times(line[static_cast<std::size_t>(i)], roots[static_cast<std::size_t>(i * k % n)]);
          sum = {domain_.add(sum.real, term.real), domain_.add(sum.imaginary, term.imaginary)};
        }
        set_number(words, static_cast<std::size_t>(begin + k * stride), 2,
                   {domain_.mul(sum.real, scale), domain_.mul(sum.imaginary, scale)});
      }
    });
  }
  void fft(const Instruction& one, const std::vector<Block>& operands, Array& out) {
    const auto& detail = std::get<FftDetail>(one.detail);
    const ArrayType& from = type(one.operands[0]);
    const ArrayType& to = type(one.results[0]);
    const std::size_t rank = from.extents.size();
    const std::size_t first = rank - detail.lengths.size();
    const bool is_inverse =
        detail.kind == FftDetail::Kind::inverse || detail.kind == FftDetail::Kind::real_inverse;
    Shape shape = from.extents;
    for (std::size_t k = 0; k < detail.lengths.size(); ++k) shape[first + k] = detail.lengths[k];
    Words words(static_cast<std::size_t>(product_of(shape)) * 2);
    const Shape strides = strides_of(from.extents);
    std::size_t i = 0;
    for_box(shape, [&](const Shape& at) {
      set_number(words, i++, 2, spectrum_at(operands[0]->words, from, detail, at, strides));
    });
    for (std::size_t dim = first; dim < rank; ++dim) transform(words, shape, dim, is_inverse);
    const std::size_t width = words_of(to.kind);
    const Shape all = strides_of(shape);
    i = 0;
    for_box(to.extents, [&](const Shape& at) {
      set_number(out.words, i++, width,
                 number_at(words, static_cast<std::size_t>(offset_of(at, all)), 2));
    });
  }
  /// A number of what is transformed: of half a spectrum the other half, too.
  [[nodiscard]] Number spectrum_at(const Words& words, const ArrayType& from,
                                   const FftDetail& detail, Shape at, const Shape& strides) const {
    const std::size_t width = words_of(from.kind);
    bool is_conjugate = false;
    if (detail.kind == FftDetail::Kind::real_inverse && at.back() >= from.extents.back()) {
      const std::size_t first = at.size() - detail.lengths.size();
      for (std::size_t k = first; k < at.size(); ++k) {
        const Size n = detail.lengths[k - first];
        at[k] = (n - at[k]) % n;
      }
      is_conjugate = true;
    }
    Number out = number_at(words, static_cast<std::size_t>(offset_of(at, strides)), width);
    if (width == 1) out.imaginary = domain_.from(0);
    if (is_conjugate) out.imaginary = domain_.neg(out.imaginary);
    return out;
  }
  /// x of a x = b, or of x a = b, by substitution.
  void triangular_solve(const Instruction& one, const std::vector<Block>& operands, Array& out) {
    const auto& detail = std::get<TriangularDetail>(one.detail);
    const ArrayType& type_a = type(one.operands[0]);
    const ArrayType& type_b = type(one.operands[1]);
    if (!type_a.kind.is_real()) {
      throw NotEvaluated{"a triangular system of these numbers is not evaluated", one.place};
    }
    const std::size_t rank = type_b.extents.size();
    const Size n = type_a.extents.back();
    const Size rows = type_b.extents[rank - 2];
    const Size columns = type_b.extents[rank - 1];
    const Size systems = detail.is_left ? columns : rows;
    const Size batches = n == 0 ? 0 : count_of(type_a) / (n * n);
    // Solves from the first unknown on where the matrix as it acts has nothing above its diagonal.
    const bool acts_transposed = detail.is_transposed == detail.is_left;
    const bool is_forward = detail.is_lower != acts_transposed;
    out.words = operands[1]->words;
    for (Size batch = 0; batch < batches; ++batch) {
      const Word* a = operands[0]->words.data() + batch * n * n;
      Word* x = out.words.data() + batch * rows * columns;
      const auto entry = [&](Size i, Size j) {
        return acts_transposed ? a[j * n + i] : a[i * n + j];
      };
      for (Size s = 0; s < systems; ++s) {
        limits_.work(n * n * 4);
        const auto at = [&](Size i) -> Word& {
          return detail.is_left ? x[i * columns + s] : x[s * columns + i];
        };
        for (Size step = 0; step < n; ++step) {
          const Size i = is_forward ? step : n - 1 - step;
          Word sum = at(i);
          for (Size before = 0; before < step; ++before) {
            const Size j = is_forward ? before : n - 1 - before;
            sum = domain_.sub(sum, domain_.mul(entry(i, j), at(j)));
          }
          at(i) = detail.has_unit_diagonal ? sum : domain_.div(sum, entry(i, i));
        }
      }
    }
  }
  /// An integer of a function that is not understood: mostly 0, by which such functions say that all
  /// is well, so that what is made of their other results is looked at.
  [[nodiscard]] static Word status(std::uint64_t hash) {
    return hash % 4 == 0 ? static_cast<Word>(hash >> 2U) : 0;
  }
  /// What is not understood is a function of all that it gets.
  void unknown(const Instruction& one, const std::vector<Block>& operands, const Outs& out) {
    if (!Domain::is_exact && one.id != Id::rng_bit_generator) {
      throw NotEvaluated{one.opcode + " is not evaluated in floating point", one.place};
    }
    std::uint64_t text = 1469598103934665603U;
    const auto* detail = std::get_if<UnknownDetail>(&one.detail);
    std::string name = detail == nullptr ? one.opcode : detail->text;
    if (one.id == Id::rng) name += " " + std::to_string(random_);
    // Bits that are generated are the same ones in XLA, however many are asked for.
    const bool is_by_element = detail != nullptr && detail->is_by_element;
    if (is_by_element) {
      name += " " + text_of(ArrayType{type(one.results[0]).kind, {}});
    } else if (one.id != Id::rng_bit_generator) {
      for (const ValueId operand : one.operands) name += " " + text_of(type(operand));
      for (const ValueId result : one.results) name += " " + text_of(type(result));
    }
    for (const char c : name) text = (text ^ static_cast<unsigned char>(c)) * 1099511628211U;
    if (is_by_element) return by_element(text, operands, *out[0]);
    std::vector<Word> all;
    for (const Block& block : operands) {
      limits_.work(static_cast<Size>(block->words.size()) * 4);
      all.push_back(static_cast<Word>(domain_.hash(text, block->words)));
    }
    const auto key = static_cast<Word>(domain_.hash(text, all));
    for (std::size_t r = 0; r < out.size(); ++r) {
      const ElementKind& kind = type(one.results[r]).kind;
      limits_.work(static_cast<Size>(out[r]->words.size()) * 8);
      for (std::size_t k = 0; k < out[r]->words.size(); ++k) {
        const std::array<Word, 3> arguments = {key, static_cast<Word>(r), static_cast<Word>(k)};
        out[r]->words[k] = kind.is_number()
                               ? operations::wrapped(status(domain_.hash(text, arguments)), kind)
                               : domain_.unknown(text, arguments);
      }
    }
  }
  /// A function of numbers with a point, of which nothing else is known.
  void by_element(std::uint64_t text, const std::vector<Block>& operands, Array& out) {
    limits_.work(static_cast<Size>(out.words.size()) * 8);
    std::vector<Word> arguments(operands.size());
    for (std::size_t k = 0; k < out.words.size(); ++k) {
      for (std::size_t i = 0; i < operands.size(); ++i) arguments[i] = operands[i]->words[k];
      out.words[k] = domain_.unknown(text, arguments);
    }
  }

  const Module& module_;
  const Computation& in_;
  const Domain& domain_;
  Limits& limits_;
  Calculator<Domain> calculator_;
  std::size_t random_ = 0;
};

}  // namespace retile::whole
