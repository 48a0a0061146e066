// Local operations as loops of C. Room-internal.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "retile/core/size.h"
#include "retile/spmd/expression.h"

namespace retile::spmd {

/// What arrays are made of, and how their elements are computed.
struct Dialect {
  std::string type;    ///< of an element
  std::string space;   ///< the function that makes an array of zeros
  std::string prefix;  ///< of the functions `..add`, `..mul` and so on; empty: C's own operators
  bool multiplies = true;  ///< whether a BLAS computes products of matrices
};

/// An array of a C program, whose extents may differ between devices.
struct CArray {
  std::string name;
  std::vector<Shape> shapes;  ///< of every device
};

/// Numbers of every device as C expressions: a number where all have the same, else an element of a table
/// of constants that is read at `rank`.
class PerDevice {
 public:
  [[nodiscard]] std::string of(const std::vector<Size>& numbers);
  /// Definitions of all tables.
  [[nodiscard]] const std::string& tables() const { return tables_; }

 private:
  std::map<std::vector<Size>, std::string> names_;
  std::string tables_;
};

/// Writes statements that compute expressions.
class Loops {
 public:
  /// \param per_device  outlives this
  Loops(Dialect dialect, PerDevice& per_device)
      : dialect_(std::move(dialect)), per_device_(per_device) {}

  /// An array with the value of an expression of these values: a new one, or where the expression is a value
  /// that one.
  [[nodiscard]] CArray array_of(const Expression& e, const std::vector<CArray>& values);

  /// Everything written since the last call.
  [[nodiscard]] std::string taken_text();
  /// Frees the new arrays since the last call but this one.
  void free_others(const CArray& kept);

 private:
  using Indices = std::vector<std::string>;
  using Values = std::vector<CArray>;

  [[nodiscard]] std::vector<Shape> shapes_of(const Expression& e, const Values& values) const;
  /// Writes arrays of the einsums and sums in an expression, which have loops of their own.
  void prepare(const Expression& e, const Values& values);
  CArray einsum(const Expression& e, const Values& values);
  CArray reduced(const Expression& e, const Values& values);
  CArray element_by_element(const Expression& e, const Values& values);
  void write_products(const Einsum& e, const std::vector<CArray>& operands, const CArray& out,
                      const std::map<char, std::string>& extents);
  [[nodiscard]] bool write_blas(const Einsum& e, const std::vector<CArray>& operands,
                                const CArray& out, const std::map<char, std::string>& extents);

  /// The element of an expression at an index.
  [[nodiscard]] std::string element(const Expression& e, const Indices& at,
                                    const Values& values) const;
  [[nodiscard]] std::string taken(const Expression& e, const Indices& at,
                                  const Values& values) const;
  [[nodiscard]] std::string operation(const Expression& e,
                                      const std::vector<std::string>& operands) const;
  [[nodiscard]] std::string binary(char c_operator, const std::string& function,
                                   const std::string& a, const std::string& b) const;
  [[nodiscard]] std::string call(const std::string& function, const std::string& operands) const;
  [[nodiscard]] std::string number(Size value) const;

  [[nodiscard]] std::string extent(const CArray& array, std::size_t dim) const;
  /// `a[i0 * 8 + i1]`
  [[nodiscard]] std::string at(const CArray& array, const Indices& indices) const;
  CArray made(std::vector<Shape> shapes);
  void open(const std::string& index, const std::string& extent);
  void open_if(const std::string& condition);
  void close(std::size_t loops);
  void line(const std::string& text);

  Dialect dialect_;
  PerDevice& per_device_;
  std::map<std::string, CArray> prepared_;  // new arrays, by what is in them
  std::vector<std::string> new_;
  std::string text_;
  std::size_t arrays_ = 0;
  std::size_t depth_ = 1;  // of the line that is written next
};

}  // namespace retile::spmd
