/// Tensors over any numbers that can be added and multiplied, and their parts.
///
/// A tensor is in C order, the last dimension fastest. An extent may be 0. Numbers are integers, or
/// formal polynomials.
#pragma once

#include "../paper/notation.h"

namespace spec {

template <class Number>
struct Tensor {
  Sizes shape;
  std::vector<Number> elements;
  bool operator==(const Tensor&) const = default;
};

/// Calls visit(i) for every index of a shape, in C order.
template <class Visit>
void for_each_index(const Sizes& shape, const Visit& visit) {
  for (const Size extent : shape) {
    if (extent == 0) return;
  }
  Sizes i(shape.size(), 0);
  for (bool more = true; more;) {
    visit(static_cast<const Sizes&>(i));
    more = false;
    for (Index d = shape.size(); d-- > 0 && !more;) {
      more = ++i[d] < shape[d];
      if (!more) i[d] = 0;
    }
  }
}

/// Where element i stands: ((i_0 s_1 + i_1) s_2 + i_2) ..
inline Index position(const Sizes& shape, const Sizes& i) {
  Size out = 0;
  for (Index d = 0; d < shape.size(); ++d) out = out * shape[d] + i[d];
  return static_cast<Index>(out);
}

/// The tensor whose element i is element(i).
template <class Number, class Element>
Tensor<Number> tensor_of(const Sizes& shape, const Element& element) {
  Tensor<Number> out = {shape, {}};
  for_each_index(shape, [&](const Sizes& i) { out.elements.push_back(element(i)); });
  return out;
}

/// x[lo, hi): the elements whose index in every dimension d is in [lo_d, hi_d).
template <class Number>
Tensor<Number> part(const Tensor<Number>& x, const Sizes& lo, const Sizes& hi) {
  Sizes shape;
  for (Index d = 0; d < x.shape.size(); ++d) shape.push_back(hi[d] - lo[d]);
  return tensor_of<Number>(shape, [&](Sizes i) {
    for (Index d = 0; d < i.size(); ++d) i[d] += lo[d];
    return x.elements[position(x.shape, i)];
  });
}

/// Sets the elements of x from index lo on to those of y.
template <class Number>
void put(Tensor<Number>& x, const Sizes& lo, const Tensor<Number>& y) {
  for_each_index(y.shape, [&](Sizes i) {
    const Number& value = y.elements[position(y.shape, i)];
    for (Index d = 0; d < i.size(); ++d) i[d] += lo[d];
    x.elements[position(x.shape, i)] = value;
  });
}

}  // namespace spec
