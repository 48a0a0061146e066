#include "products.h"

#include <limits>

namespace retile::spmd {

namespace {

/// Two dimensions of one label each.
bool is_matrix(const std::vector<std::string>& dims) {
  return dims.size() == 2 && dims[0].size() == 1 && dims[1].size() == 1 && dims[0] != dims[1];
}
bool has(const std::vector<std::string>& dims, char label) {
  return dims[0][0] == label || dims[1][0] == label;
}
char other(const std::vector<std::string>& dims, char label) {
  return dims[0][0] == label ? dims[1][0] : dims[0][0];
}

}  // namespace

std::optional<MatrixProduct> matrix_product(const Einsum& einsum,
                                            const std::map<char, Size>& extents) {
  if (einsum.in.size() != 2 || einsum.out.size() != 2) return std::nullopt;
  if (!is_matrix(einsum.in[0]) || !is_matrix(einsum.in[1])) return std::nullopt;
  const char row = einsum.out[0];
  const char column = einsum.out[1];
  MatrixProduct out;
  out.swapped = !has(einsum.in[0], row);
  const auto& first = einsum.in[out.swapped ? 1 : 0];
  const auto& second = einsum.in[out.swapped ? 0 : 1];
  if (!has(first, row) || !has(second, column)) return std::nullopt;
  const char summed = other(first, row);
  if (summed != other(second, column)) return std::nullopt;
  out.first_turned = first[0][0] == summed;
  out.second_turned = second[1][0] == summed;
  out.rows = extents.at(row);
  out.columns = extents.at(column);
  out.inner = extents.at(summed);
  for (const Size extent : {out.rows, out.columns, out.inner}) {
    if (extent < 1 || extent > std::numeric_limits<int>::max()) return std::nullopt;
  }
  return out;
}

}  // namespace retile::spmd
