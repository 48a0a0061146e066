#include "loops.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "retile/spmd/products.h"
#include "retile/text/place.h"

namespace retile::spmd {

namespace {

/// Whether it has loops of its own, inside of those over its result.
bool has_own_loops(const Expression& e) {
  return e.op == LocalOp::einsum || e.op == LocalOp::reduce_sum || e.op == LocalOp::reduce_max;
}

std::size_t dim_of(const Expression& e) { return static_cast<std::size_t>(e.numbers[0]); }

/// `i0`, `i1`, ..
std::vector<std::string> loop_indices(std::size_t rank) {
  std::vector<std::string> out;
  for (std::size_t d = 0; d < rank; ++d) out.push_back(fmt::format("i{}", d));
  return out;
}

/// A subscript, `2 * i + k`, as an index.
std::string index_of_labels(const std::string& labels) {
  std::map<char, Size> factors;
  for (const char label : labels) ++factors[label];
  std::string out;
  for (const auto& [label, factor] : factors) {
    if (!out.empty()) out += " + ";
    out += factor == 1 ? fmt::format("{}", label) : fmt::format("{} * {}", factor, label);
  }
  return out;
}

/// The same text for expressions that are the same, and for no others.
std::string key_of(const Expression& e) {
  std::string out = fmt::format("({} {} \"{}\" {}", static_cast<int>(e.op), e.value, e.subscripts,
                                fmt::join(e.numbers, ","));
  for (const Expression& operand : e.operands) out += key_of(operand);
  return out + ")";
}

}  // namespace

std::string PerDevice::of(const std::vector<Size>& numbers) {
  if (std::all_of(numbers.begin(), numbers.end(), [&](Size n) { return n == numbers[0]; })) {
    return fmt::format("{}", numbers[0]);
  }
  const auto [entry, is_new] = names_.try_emplace(numbers, fmt::format("E{}", names_.size()));
  if (is_new) {
    tables_ += fmt::format("static const int64_t {}[] = {{{}}};\n", entry->second,
                           fmt::join(numbers, ", "));
  }
  return entry->second + "[rank]";
}

CArray Loops::array_of(const Expression& e, const Values& values) {
  if (e.op == LocalOp::value) return values[e.value];
  const std::string key = key_of(e);
  const auto known = prepared_.find(key);
  if (known != prepared_.end()) return known->second;
  CArray out = e.op == LocalOp::einsum ? einsum(e, values)
               : has_own_loops(e)      ? reduced(e, values)
                                       : element_by_element(e, values);
  prepared_.emplace(key, out);
  return out;
}

std::string Loops::taken_text() { return std::exchange(text_, {}); }

void Loops::free_others(const CArray& kept) {
  for (const std::string& name : new_) {
    if (name != kept.name) line(fmt::format("free({});", name));
  }
  new_.clear();
  prepared_.clear();
}

std::vector<Shape> Loops::shapes_of(const Expression& e, const Values& values) const {
  std::vector<Shape> out;
  std::vector<Shape> last;
  for (std::size_t d = 0; d < values[0].shapes.size(); ++d) {
    std::vector<Shape> shapes;
    for (const CArray& value : values) shapes.push_back(value.shapes[d]);
    out.push_back(d > 0 && shapes == last ? out.back() : typed(e, shapes));
    last = std::move(shapes);
  }
  return out;
}

void Loops::prepare(const Expression& e, const Values& values) {
  if (has_own_loops(e)) {
    (void)array_of(e, values);
    return;
  }
  for (const Expression& operand : e.operands) prepare(operand, values);
}

CArray Loops::element_by_element(const Expression& e, const Values& values) {
  prepare(e, values);
  CArray out = made(shapes_of(e, values));
  const Indices indices = loop_indices(out.shapes[0].size());
  for (std::size_t d = 0; d < indices.size(); ++d) open(indices[d], extent(out, d));
  line(fmt::format("{} = {};", at(out, indices), element(e, indices, values)));
  close(indices.size());
  return out;
}

CArray Loops::reduced(const Expression& e, const Values& values) {
  const Expression& operand = e.operands[0];
  prepare(operand, values);
  CArray out = made(shapes_of(e, values));
  const CArray summed = {"", shapes_of(operand, values)};
  const Indices indices = loop_indices(out.shapes[0].size());
  Indices inner = indices;
  inner.insert(inner.begin() + static_cast<std::ptrdiff_t>(dim_of(e)), "k");
  for (std::size_t d = 0; d < indices.size(); ++d) open(indices[d], extent(out, d));
  line(fmt::format("{} all = {};", dialect_.type, number(0)));
  open("k", extent(summed, dim_of(e)));
  line(fmt::format("const {} next = {};", dialect_.type, element(operand, inner, values)));
  const std::string both =
      e.op == LocalOp::reduce_sum ? binary('+', "add", "all", "next") : call("max", "all, next");
  line(fmt::format("all = k > 0 ? {} : next;", both));
  close(1);
  line(fmt::format("{} = all;", at(out, indices)));
  close(indices.size());
  return out;
}

CArray Loops::einsum(const Expression& e, const Values& values) {
  std::vector<CArray> operands;
  for (const Expression& operand : e.operands) operands.push_back(array_of(operand, values));
  std::map<char, std::vector<Size>> sizes;
  for (std::size_t d = 0; d < values[0].shapes.size(); ++d) {
    std::vector<Shape> shapes;
    for (const CArray& operand : operands) shapes.push_back(operand.shapes[d]);
    // That they fit the reader has seen to.
    const auto extents = label_extents(e.einsum, shapes);
    for (const auto& [label, n] : *extents) sizes[label].push_back(n);
  }
  std::map<char, std::string> extents;
  for (const auto& [label, numbers] : sizes) extents[label] = per_device_.of(numbers);
  CArray out = made(shapes_of(e, values));
  const bool has_product = write_blas(e.einsum, operands, out, extents);
  write_products(e.einsum, operands, out, extents);
  if (has_product) text_ += "#endif\n";
  return out;
}

/// Innermost runs the last label of the result, along a row, and just outside of it those that are summed.
void Loops::write_products(const Einsum& e, const std::vector<CArray>& operands, const CArray& out,
                           const std::map<char, std::string>& extents) {
  std::string labels = e.out.substr(0, e.out.empty() ? 0 : e.out.size() - 1);
  for (const auto& [label, extent] : extents) {
    if (e.out.find(label) == std::string::npos) labels += label;
  }
  if (!e.out.empty()) labels += e.out.back();
  for (const char label : labels) open(std::string(1, label), extents.at(label));
  std::string product;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    Indices indices;
    for (const std::string& dim : e.in[k]) indices.push_back(index_of_labels(dim));
    const std::string factor = at(operands[k], indices);
    product = product.empty() ? factor : binary('*', "mul", product, factor);
  }
  Indices indices;
  for (const char label : e.out) indices.emplace_back(1, label);
  const std::string to = at(out, indices);
  line(fmt::format("{} = {};", to, binary('+', "add", to, product)));
  close(labels.size());
}

/// The product of two matrices, up to the loops that compute it without a BLAS.
bool Loops::write_blas(const Einsum& e, const std::vector<CArray>& operands, const CArray& out,
                       const std::map<char, std::string>& extents) {
  if (!dialect_.multiplies) return false;
  std::map<char, Size> any;  // how the operands lie does not depend on how large they are
  for (const auto& [label, extent] : extents) any[label] = 1;
  const auto product = matrix_product(e, any);
  if (!product) return false;
  const auto& first = e.in[product->swapped ? 1 : 0];
  const std::string rows = extents.at(e.out[0]);
  const std::string columns = extents.at(e.out[1]);
  const std::string inner = extents.at(first[product->first_turned ? 0 : 1][0]);
  const auto turned = [](bool is_turned) { return is_turned ? "CblasTrans" : "CblasNoTrans"; };
  std::string condition;  // a BLAS refuses matrices without elements, which a device may have
  for (const std::string& extent : {rows, columns, inner}) {
    if (extent == "0") return false;
    if (extent.front() == 'E') {
      condition += fmt::format("{}{} > 0", condition.empty() ? "" : " && ", extent);
    }
  }
  text_ += "#ifndef NO_CBLAS\n";
  if (!condition.empty()) open_if(condition);
  line(fmt::format("cblas_dgemm(CblasRowMajor, {}, {}, (int){}, (int){}, (int){}, 1,",
                   turned(product->first_turned), turned(product->second_turned), rows, columns,
                   inner));
  ++depth_;
  line(fmt::format("{}, (int){}, {}, (int){}, 0, {}, (int){});",
                   operands[product->swapped ? 1 : 0].name, product->first_turned ? rows : inner,
                   operands[product->swapped ? 0 : 1].name,
                   product->second_turned ? inner : columns, out.name, columns));
  --depth_;
  if (!condition.empty()) close(1);
  text_ += "#else\n";
  return true;
}

std::string Loops::element(const Expression& e, const Indices& indices,
                           const Values& values) const {
  if (e.op == LocalOp::value) return at(values[e.value], indices);
  if (has_own_loops(e)) return at(prepared_.at(key_of(e)), indices);
  if (e.op == LocalOp::fill) return number(e.numbers[0]);
  Indices inner = indices;
  if (e.op == LocalOp::trim && e.numbers[1] != 0) {
    inner[dim_of(e)] = fmt::format("({} + {})", indices[dim_of(e)], e.numbers[1]);
  }
  if (e.op == LocalOp::transpose) {
    for (std::size_t k = 0; k < indices.size(); ++k) {
      inner[static_cast<std::size_t>(e.numbers[k])] = indices[k];
    }
  }
  if (e.op == LocalOp::take) return taken(e, indices, values);
  std::vector<std::string> operands;
  for (const Expression& operand : e.operands) operands.push_back(element(operand, inner, values));
  return operation(e, operands);
}

/// `x[i0 * 6 + index_in(col[i1], 6)]`
std::string Loops::taken(const Expression& e, const Indices& indices, const Values& values) const {
  const std::size_t rank = shapes_of(e.operands[1], values)[0].size();
  const auto begin = indices.begin() + static_cast<std::ptrdiff_t>(dim_of(e));
  const auto end = begin + static_cast<std::ptrdiff_t>(rank);
  const std::string index = element(e.operands[1], Indices(begin, end), values);
  const CArray from = {"", shapes_of(e.operands[0], values)};
  Indices inner(indices.begin(), begin);
  inner.push_back(fmt::format("index_in({}{}, {})", index, dialect_.prefix.empty() ? "" : ".number",
                              extent(from, dim_of(e))));
  inner.insert(inner.end(), end, indices.end());
  return element(e.operands[0], inner, values);
}

std::string Loops::operation(const Expression& e, const std::vector<std::string>& x) const {
  const auto folded = [&](const auto& join) {
    std::string out = x[0];
    for (std::size_t k = 1; k < x.size(); ++k) out = join(out, x[k]);
    return out;
  };
  const auto negative = [&](const std::string& a) {
    return dialect_.prefix.empty() ? fmt::format("-({})", a) : binary('-', "sub", number(0), a);
  };
  switch (e.op) {
    case LocalOp::add:
      return folded([&](auto a, auto b) { return binary('+', "add", a, b); });
    case LocalOp::sub:
      return binary('-', "sub", x[0], x[1]);
    case LocalOp::mul:
      return folded([&](auto a, auto b) { return binary('*', "mul", a, b); });
    case LocalOp::div:
      return binary('/', "div", x[0], x[1]);
    case LocalOp::max:
      return folded([&](auto a, auto b) { return call("max", a + ", " + b); });
    case LocalOp::min:
      return folded([&](auto a, auto b) { return call("min", a + ", " + b); });
    case LocalOp::neg:
      return fmt::format("({})", negative(x[0]));
    case LocalOp::relu:
      return call("max", x[0] + ", " + number(0));
    case LocalOp::exp:
      return dialect_.prefix.empty() ? fmt::format("exp({})", x[0]) : call("exp", x[0]);
    case LocalOp::sqrt:
      return dialect_.prefix.empty() ? fmt::format("sqrt({})", x[0]) : call("sqrt", x[0]);
    case LocalOp::scale:
      return binary('*', "mul", number(e.numbers[0]), x[0]);
    case LocalOp::step:
    case LocalOp::equal:
      throw text::Failure{{.code = Code::unsupported,
                           .message = "step and equal are not written as C: which numbers they "
                                      "take for equal is a matter of rounding"}};
    default:  // transpose and trim have changed the index
      return x[0];
  }
}

std::string Loops::binary(char c_operator, const std::string& function, const std::string& a,
                          const std::string& b) const {
  if (dialect_.prefix.empty()) return fmt::format("({} {} {})", a, c_operator, b);
  return call(function, a + ", " + b);
}

std::string Loops::call(const std::string& function, const std::string& operands) const {
  return fmt::format("{}{}({})", dialect_.prefix.empty() ? "element_" : dialect_.prefix, function,
                     operands);
}

std::string Loops::number(Size value) const {
  return dialect_.prefix.empty() ? fmt::format("{}.0", value)
                                 : call("of", fmt::format("{}.0", value));
}

std::string Loops::extent(const CArray& array, std::size_t dim) const {
  std::vector<Size> numbers;
  for (const Shape& shape : array.shapes) numbers.push_back(shape[dim]);
  return per_device_.of(numbers);
}

std::string Loops::at(const CArray& array, const Indices& indices) const {
  std::string out = "0";
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const bool is_sum = out.find(' ') != std::string::npos && out.front() != '(';
    if (d == 0) {
      out = indices[0];
    } else if (d == 1) {
      out =
          fmt::format("{} * {} + {}", is_sum ? "(" + out + ")" : out, extent(array, d), indices[d]);
    } else {
      out = fmt::format("({}) * {} + {}", out, extent(array, d), indices[d]);
    }
  }
  return fmt::format("{}[{}]", array.name, out);
}

CArray Loops::made(std::vector<Shape> shapes) {
  CArray out = {fmt::format("{}{}", dialect_.prefix.empty() ? "t" : "d", arrays_++),
                std::move(shapes)};
  std::vector<Size> counts;
  for (const Shape& shape : out.shapes) counts.push_back(*checked_product(shape));
  line(fmt::format("{0} *{1} = {2}({3});", dialect_.type, out.name, dialect_.space,
                   per_device_.of(counts)));
  new_.push_back(out.name);
  return out;
}

void Loops::open(const std::string& index, const std::string& extent) {
  line(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0}) {{", index, extent));
  ++depth_;
}

void Loops::open_if(const std::string& condition) {
  line(fmt::format("if ({}) {{", condition));
  ++depth_;
}

void Loops::close(std::size_t loops) {
  for (; loops > 0; --loops) {
    --depth_;
    line("}");
  }
}

void Loops::line(const std::string& text) { text_ += std::string(2 * depth_, ' ') + text + "\n"; }

}  // namespace retile::spmd
