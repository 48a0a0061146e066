// Tensors, and the values of local operations on them. Room-internal.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "expression.h"
#include "products.h"
#include "retile/core/deadline.h"
#include "retile/core/layout.h"
#include "retile/core/walk.h"

namespace retile::spmd {

/// Elements in C order.
template <typename T>
struct Tensor {
  Shape shape;
  std::vector<T> elements;
};

/// Thrown where a value cannot be worked out: a limit, or no time left.
struct Undecided {
  std::string why;
};

/// Operations that make larger tensors are not carried out.
inline constexpr Size most_in_tensor = Size{1} << 28;

/// Walks over all indices below `extents`, the last one fastest, and keeps an offset for each row of
/// strides.
class Walk {
 public:
  Walk(Shape extents, std::vector<std::vector<Size>> strides)
      : extents_(std::move(extents)),
        strides_(std::move(strides)),
        at_(extents_.size(), 0),
        offsets_(strides_.size(), 0) {}

  [[nodiscard]] Size offset(std::size_t row) const { return offsets_[row]; }
  /// False behind the last index.
  bool next() {
    for (std::size_t d = extents_.size(); d-- > 0;) {
      if (++at_[d] < extents_[d]) {
        for (std::size_t r = 0; r < offsets_.size(); ++r) offsets_[r] += strides_[r][d];
        return true;
      }
      for (std::size_t r = 0; r < offsets_.size(); ++r) {
        offsets_[r] -= strides_[r][d] * (extents_[d] - 1);
      }
      at_[d] = 0;
    }
    return false;
  }

 private:
  Shape extents_;
  std::vector<std::vector<Size>> strides_;
  Shape at_;
  std::vector<Size> offsets_;
};

/// Calls f(global position, local position) for every element of a part of a tile whose extents are `shape`.
template <typename F>
void for_each_element(const TilePart& part, const Shape& global_shape, const Shape& shape,
                      const F& f) {
  const std::vector<Size> global = strides_of(global_shape);
  const std::vector<Size> local = strides_of(shape);
  const Size first = offset_of(part.box.at, global);
  const Size place = offset_of(part.place, local);
  Walk walk(part.box.extent, {global, local});
  do {
    f(static_cast<std::size_t>(first + walk.offset(0)),
      static_cast<std::size_t>(place + walk.offset(1)));
  } while (walk.next());
}

/// Likewise of all parts of a device's tile.
template <typename F>
void for_each_element(const Layout& layout, const Shape& shape, Size device, const F& f) {
  for (const TilePart& part : layout.parts(device)) {
    for_each_element(part, layout.global(), shape, f);
  }
}

/// An arithmetic that works out the maximum of several at once.
template <typename A>
concept HasMost = requires(const A& a, const std::vector<typename A::Value>& all) {
  a.most(all);
};

/// Whether two numbers are different ones. Of intervals that is not whether they are the same.
template <typename A>
bool differ(const A& a, const typename A::Value& p, const typename A::Value& q) {
  if constexpr (requires { a.differ(p, q); }) {
    return a.differ(p, q);
  } else {
    return p != q;
  }
}

template <typename A>
typename A::Value maximum_of(const A& a, const std::vector<typename A::Value>& all) {
  if constexpr (HasMost<A>) {
    return a.most(all);
  } else {
    return std::accumulate(all.begin() + 1, all.end(), all[0],
                           [&a](auto p, auto q) { return a.max(p, q); });
  }
}

/// An arithmetic in which it is known which index a number is.
template <typename A>
concept HasIndices = requires(const A& a, const typename A::Value& value) {
  a.index(value);
};

/// An arithmetic that adds up most_gathered products, at most 8, before it makes a number of them.
template <typename A>
concept Gathers = requires {
  typename A::Gathered;
};

/// Values of expressions in the arithmetic A: A::Value, from(Size), add, sub, mul, div, max, exp, sqrt,
/// step and equal. See HasMost, HasIndices and Gathers.
template <typename A>
class Evaluator {
 public:
  using T = typename A::Value;

  explicit Evaluator(Deadline deadline = {}, A arithmetic = A())
      : a_(std::move(arithmetic)), deadline_(deadline), watch_(deadline_) {}
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  /// Precondition: the expression has a shape where its values have those of `values`.
  Tensor<T> value(const Expression& e, const std::vector<const Tensor<T>*>& values) {
    if (e.op == LocalOp::value) return *values[e.value];
    std::vector<Tensor<T>> made;  // operands that are no values
    made.reserve(e.operands.size());
    Operands operands;
    for (const Expression& operand : e.operands) {
      if (operand.op == LocalOp::value) {
        operands.push_back(values[operand.value]);
      } else {
        made.push_back(value(operand, values));
        operands.push_back(&made.back());
      }
    }
    return applied(e, operands);
  }

  using Operands = std::vector<const Tensor<T>*>;

  /// One operation. Precondition: it has a shape.
  Tensor<T> applied(const Expression& e, const Operands& operands) {
    std::vector<Shape> shapes;
    for (const Tensor<T>* operand : operands) shapes.push_back(operand->shape);
    Tensor<T> out{*shape_of(e, shapes), {}};
    const auto count = checked_product(out.shape);
    if (!count || *count > most_in_tensor) {
      throw Undecided{"an operation with more than 2^28 elements"};
    }
    out.elements.assign(static_cast<std::size_t>(*count), a_.from(0));
    work(e, operands, out);
    return out;
  }

 private:
  void spend(Size work) {
    if (!watch_.in_time(work)) throw Undecided{"the time is up"};
  }

  /// Calls f(begin, end) for parts of so many elements one behind the other, and looks at the time between
  /// them.
  template <typename F>
  void in_parts(std::size_t count, Size work_of_one, F f) {
    constexpr std::size_t most = std::size_t{1} << 16;
    for (std::size_t begin = 0; begin < count; begin += most) {
      const std::size_t end = std::min(count, begin + most);
      spend(static_cast<Size>(end - begin) * work_of_one);
      f(begin, end);
    }
  }

  void work(const Expression& e, const Operands& x, Tensor<T>& out) {
    if (e.op == LocalOp::einsum) {
      einsum(e.einsum, x, out);
      return;
    }
    const Size number = e.numbers.empty() ? 0 : e.numbers[0];
    const T factor = a_.from(number);
    switch (e.op) {
      case LocalOp::add:
        return fold(x, out, [r = a_](T a, T b) { return r.add(a, b); });
      case LocalOp::sub:
        return fold(x, out, [r = a_](T a, T b) { return r.sub(a, b); });
      case LocalOp::mul:
        return fold(x, out, [r = a_](T a, T b) { return r.mul(a, b); });
      case LocalOp::div:
        return fold(x, out, [r = a_](T a, T b) { return r.div(a, b); });
      case LocalOp::max:
        return maximum(x, out);
      case LocalOp::min:
        return minimum(x, out);
      case LocalOp::exp:
        return map(*x[0], out, [r = a_](T a) { return r.exp(a); });
      case LocalOp::sqrt:
        return map(*x[0], out, [r = a_](T a) { return r.sqrt(a); });
      case LocalOp::step:
        return map(*x[0], out, [r = a_](T a) { return r.step(a); });
      case LocalOp::equal:
        return fold(x, out, [r = a_](T a, T b) { return r.equal(a, b); });
      case LocalOp::neg:
        return map(*x[0], out, [r = a_](T a) { return r.sub(r.from(0), a); });
      case LocalOp::relu:
        return map(*x[0], out, [r = a_](T a) { return r.max(a, r.from(0)); });
      case LocalOp::scale:
        return map(*x[0], out, [r = a_, factor](T a) { return r.mul(factor, a); });
      case LocalOp::fill:
        return map(*x[0], out, [factor](T) { return factor; });
      case LocalOp::reduce_sum:
        return reduce(*x[0], number, out, [r = a_](T a, T b) { return r.add(a, b); });
      case LocalOp::reduce_max:
        return reduce_maximum(*x[0], number, out);
      case LocalOp::transpose:
        return transpose(*x[0], e.numbers, out);
      case LocalOp::take:
        return take(*x[0], *x[1], static_cast<std::size_t>(number), out);
      default:
        return trim(*x[0], e.numbers, out);
    }
  }

  template <typename F>
  void fold(const Operands& x, Tensor<T>& out, F f) {
    out.elements = x[0]->elements;
    for (std::size_t k = 1; k < x.size(); ++k) {
      in_parts(out.elements.size(), 2, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          out.elements[i] = f(out.elements[i], x[k]->elements[i]);
        }
      });
    }
  }
  void maximum(const Operands& x, Tensor<T>& out) {
    if constexpr (HasMost<A>) {
      std::vector<T> all(x.size());
      for (std::size_t i = 0; i < out.elements.size(); ++i) {
        spend(static_cast<Size>(x.size()));
        for (std::size_t k = 0; k < x.size(); ++k) all[k] = x[k]->elements[i];
        out.elements[i] = a_.most(all);
      }
    } else {
      fold(x, out, [r = a_](T a, T b) { return r.max(a, b); });
    }
  }
  /// min(x, y) = -max(-x, -y).
  void minimum(const Operands& x, Tensor<T>& out) {
    const auto negative = [r = a_](T a) { return r.sub(r.from(0), a); };
    std::vector<Tensor<T>> negatives;
    for (const Tensor<T>* operand : x) {
      negatives.push_back(*operand);
      map(*operand, negatives.back(), negative);
    }
    Operands pointers;
    for (const Tensor<T>& operand : negatives) pointers.push_back(&operand);
    maximum(pointers, out);
    map(out, out, negative);
  }
  void reduce_maximum(const Tensor<T>& x, Size dim, Tensor<T>& out) {
    if constexpr (HasMost<A>) {
      const auto d = static_cast<std::size_t>(dim);
      std::vector<T> all(static_cast<std::size_t>(x.shape[d]));
      if (out.elements.empty()) return;
      const auto after = static_cast<std::size_t>(strides_of(x.shape)[d]);
      for (std::size_t o = 0; o < out.elements.size(); ++o) {
        spend(static_cast<Size>(all.size()));
        const std::size_t first = o / after * all.size() * after + o % after;
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = x.elements[first + i * after];
        out.elements[o] = a_.most(all);
      }
    } else {
      reduce(x, dim, out, [r = a_](T a, T b) { return r.max(a, b); });
    }
  }
  template <typename F>
  void map(const Tensor<T>& x, Tensor<T>& out, F f) {
    in_parts(out.elements.size(), 2, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) out.elements[i] = f(x.elements[i]);
    });
  }
  /// The dimension between `before` and `after` elements is folded; nothing of none is 0.
  template <typename F>
  void reduce(const Tensor<T>& x, Size dim, Tensor<T>& out, F f) {
    const auto d = static_cast<std::size_t>(dim);
    const Size extent = x.shape[d];
    if (out.elements.empty() || extent == 0) return;
    const Size after = strides_of(x.shape)[d];
    for (std::size_t o = 0; o < out.elements.size(); ++o) {
      spend(2 * extent);
      const Size before = static_cast<Size>(o) / after;
      const Size first = before * extent * after + static_cast<Size>(o) % after;
      T sum = x.elements[static_cast<std::size_t>(first)];
      for (Size i = 1; i < extent; ++i) {
        sum = f(sum, x.elements[static_cast<std::size_t>(first + i * after)]);
      }
      out.elements[o] = sum;
    }
  }
  void transpose(const Tensor<T>& x, const std::vector<Size>& order, Tensor<T>& out) {
    if (out.elements.empty()) return;
    const std::vector<Size> strides = strides_of(x.shape);
    std::vector<Size> picked;
    for (const Size d : order) picked.push_back(strides[static_cast<std::size_t>(d)]);
    Walk walk(out.shape, {picked});
    for (T& element : out.elements) {
      spend(8);
      element = x.elements[static_cast<std::size_t>(walk.offset(0))];
      (void)walk.next();
    }
  }
  void trim(const Tensor<T>& x, const std::vector<Size>& numbers, Tensor<T>& out) {
    if (out.elements.empty()) return;
    const std::vector<Size> strides = strides_of(x.shape);
    const Size skipped = numbers[1] * strides[static_cast<std::size_t>(numbers[0])];
    Walk walk(out.shape, {strides});
    for (T& element : out.elements) {
      spend(8);
      element = x.elements[static_cast<std::size_t>(skipped + walk.offset(0))];
      (void)walk.next();
    }
  }

  /// x[i, m, l] and out[i, j, l] for all i and l.
  struct Taken {
    std::size_t m = 0;
    std::size_t j = 0;
    std::size_t after = 1;    // how many l there are
    std::size_t indices = 1;  // how many j
    std::size_t rows = 1;     // how many i
  };
  template <typename F>
  void each_taken(const Tensor<T>& x, Tensor<T>& out, const Taken& at, F f) {
    const std::size_t n = x.elements.size() / at.rows / at.after;
    spend(static_cast<Size>(2 * at.rows * at.after));
    for (std::size_t i = 0; i < at.rows; ++i) {
      const T* const from = x.elements.data() + (i * n + at.m) * at.after;
      T* const to = out.elements.data() + (i * at.indices + at.j) * at.after;
      for (std::size_t l = 0; l < at.after; ++l) to[l] = f(to[l], from[l]);
    }
  }
  /// out[i, j, l] = x[i, c[j], l]. Where nobody knows which index a number is: the sum over all m of
  /// x[i, m, l] equal(c[j], m).
  void take(const Tensor<T>& x, const Tensor<T>& c, std::size_t dim, Tensor<T>& out) {
    if (out.elements.empty()) return;
    std::size_t after = 1;
    for (std::size_t d = dim + 1; d < x.shape.size(); ++d) {
      after *= static_cast<std::size_t>(x.shape[d]);
    }
    const Size n = x.shape[dim];
    const std::size_t indices = c.elements.size();
    const std::size_t rows = out.elements.size() / after / indices;
    for (std::size_t j = 0; j < indices; ++j) {
      if constexpr (HasIndices<A>) {
        const Size m = a_.index(c.elements[j]);
        if (m < 0 || m >= n) throw Undecided{"an index that its array does not have"};
        each_taken(x, out, {static_cast<std::size_t>(m), j, after, indices, rows},
                   [](const T& /*before*/, const T& element) { return element; });
      } else {
        for (Size m = 0; m < n; ++m) {
          spend(10);
          const T is_it = a_.equal(c.elements[j], a_.from(m));
          each_taken(
              x, out, {static_cast<std::size_t>(m), j, after, indices, rows},
              [&](const T& sum, const T& element) { return a_.add(sum, a_.mul(element, is_it)); });
        }
      }
    }
  }

  /// out[i, j] = sum over k of x[i, k] y[k, j], as the subscripts say.
  void einsum(const Einsum& e, const Operands& x, Tensor<T>& out) {
    std::vector<Shape> shapes;
    for (const Tensor<T>* operand : x) shapes.push_back(operand->shape);
    const auto extents = label_extents(e, shapes);
    // Innermost runs the last label of the result, along a row; just outside of it those that are summed:
    // so a row is in the cache until it is complete.
    std::string labels = e.out.substr(0, e.out.empty() ? 0 : e.out.size() - 1);
    for (const auto& [label, extent] : *extents) {
      if (e.out.find(label) == std::string::npos) labels += label;
    }
    if (!e.out.empty()) labels += e.out.back();
    Shape all;
    for (const char label : labels) all.push_back(extents->at(label));
    const auto terms = checked_product(all);
    if (!terms) throw Undecided{"an einsum of 2^63 products"};
    if (*terms == 0) return;
    if constexpr (requires { A::multiplies(); }) {
      if (multiplied(e, *extents, x, *terms, out)) return;
    }
    std::vector<std::vector<Size>> rows;
    for (std::size_t k = 0; k < x.size(); ++k)
      rows.push_back(strides_by(labels, e.in[k], shapes[k]));
    std::vector<std::string> result;
    for (const char label : e.out) result.emplace_back(1, label);
    rows.push_back(strides_by(labels, result, out.shape));
    products(x, all, rows, out);
  }
  /// False where the einsum is left to loops.
  bool multiplied(const Einsum& e, const std::map<char, Size>& extents, const Operands& x,
                  Size terms, Tensor<T>& out) {
    const auto product = matrix_product(e, extents);
    if (!product || !A::multiplies()) return false;
    spend(terms);
    a_.multiply(*product, x[0]->elements.data(), x[1]->elements.data(), out.elements.data());
    return true;
  }
  /// How far a step of each label goes in an operand.
  static std::vector<Size> strides_by(const std::string& labels,
                                      const std::vector<std::string>& dims, const Shape& shape) {
    const std::vector<Size> strides = strides_of(shape);
    std::vector<Size> out(labels.size(), 0);
    for (std::size_t d = 0; d < dims.size(); ++d) {
      for (const char label : dims[d]) out[labels.find(label)] += strides[d];
    }
    return out;
  }
  void products(const Operands& x, Shape all, std::vector<std::vector<Size>> rows, Tensor<T>& out) {
    const Size inner = all.empty() ? 1 : all.back();
    std::vector<Size> steps(rows.size(), 0);
    if (!all.empty()) {
      for (std::size_t r = 0; r < rows.size(); ++r) {
        steps[r] = rows[r].back();
        rows[r].pop_back();
      }
      all.pop_back();
    }
    Walk walk(std::move(all), std::move(rows));
    if constexpr (Gathers<A>) {
      if (x.size() == 2) return gathered(x, walk, steps, inner, out);
    }
    do {
      spend(inner * static_cast<Size>(x.size()));
      row(x, walk, steps, inner, out);
    } while (walk.next());
  }
  /// Rows that are added to the same one, several at a time.
  void gathered(const Operands& x, Walk& walk, const std::vector<Size>& steps, Size inner,
                Tensor<T>& out) {
    Rows rows{.a_step = steps[0], .b_step = steps[1], .to_step = steps[2], .inner = inner};
    for (bool more = true; more;) {
      const Size to = walk.offset(2);
      std::size_t count = 0;
      for (; more && count < A::most_gathered && walk.offset(2) == to; ++count) {
        rows.a[count] = x[0]->elements.data() + walk.offset(0);
        rows.b[count] = x[1]->elements.data() + walk.offset(1);
        more = walk.next();
      }
      spend(inner * static_cast<Size>(2 * count));
      rows.to = out.elements.data() + to;
      if (count == A::most_gathered) {
        add_rows(rows, std::integral_constant<std::size_t, A::most_gathered>());
      } else {
        add_rows(rows, count);
      }
    }
  }
  struct Rows {
    std::array<const T*, 8> a = {};
    std::array<const T*, 8> b = {};
    Size a_step = 0;
    Size b_step = 0;
    Size to_step = 0;
    Size inner = 0;
    T* to = nullptr;
  };
  /// \param count  a number, or one that the compiler knows
  template <typename Count>
  void add_rows(const Rows& rows, Count count) const {
    const A r = a_;  // a copy that no element can be part of
    std::array<T, 8> first;
    for (std::size_t k = 0; k < count; ++k) first[k] = *rows.a[k];
    for (Size i = 0; i < rows.inner; ++i) {
      typename A::Gathered sum = {};
      for (std::size_t k = 0; k < count; ++k) {
        const T& a = rows.a_step == 0 ? first[k] : rows.a[k][i * rows.a_step];
        r.gather(sum, a, rows.b[k][i * rows.b_step]);
      }
      T& to = rows.to[i * rows.to_step];
      to = r.add(to, r.gathered(sum));
    }
  }
  void row(const Operands& x, const Walk& walk, const std::vector<Size>& steps, Size inner,
           Tensor<T>& out) {
    const A r = a_;  // a copy that no element can be part of
    T* const to = out.elements.data() + walk.offset(x.size());
    const Size step = steps.back();
    if (x.size() == 2) {
      const T* const a = x[0]->elements.data() + walk.offset(0);
      const T* const b = x[1]->elements.data() + walk.offset(1);
      if (steps[0] == 0 && steps[1] == 1 && step == 1) {
        for (Size i = 0; i < inner; ++i) to[i] = r.add(to[i], r.mul(*a, b[i]));
        return;
      }
      for (Size i = 0; i < inner; ++i) {
        to[i * step] = r.add(to[i * step], r.mul(a[i * steps[0]], b[i * steps[1]]));
      }
      return;
    }
    for (Size i = 0; i < inner; ++i) {
      T term = r.from(1);
      for (std::size_t k = 0; k < x.size(); ++k) {
        term = r.mul(term, x[k]->elements[static_cast<std::size_t>(walk.offset(k) + i * steps[k])]);
      }
      to[i * step] = r.add(to[i * step], term);
    }
  }

  A a_;  // the arithmetic
  Deadline deadline_;
  Watch watch_;
};

}  // namespace retile::spmd
