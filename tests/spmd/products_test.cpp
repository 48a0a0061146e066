// Products of two matrices: which einsums are one, and what a BLAS makes of them, beside plain loops.
#include "retile/spmd/products.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "retile/spmd/run/multiplying.h"

namespace retile::spmd::products_test {
namespace {

constexpr const char* ways[] = {"ik,kj->ij", "ki,kj->ij", "ik,jk->ij", "ki,jk->ij",
                                "ik,kj->ji", "ki,kj->ji", "ik,jk->ji", "ki,jk->ji"};

std::optional<MatrixProduct> product_of(const std::string& subscripts, Size i, Size j, Size k) {
  const std::map<char, Size> extents = {{'i', i}, {'j', j}, {'k', k}};
  return matrix_product(*einsum_of(subscripts), extents);
}

/// Where the element of an operand or of the result lies, for values of its labels.
std::size_t offset(const std::string& labels, const std::map<char, Size>& extents,
                   const std::map<char, Size>& at) {
  return static_cast<std::size_t>(at.at(labels[0]) * extents.at(labels[1]) + at.at(labels[1]));
}

/// Loops over the labels, and compares.
template <typename T>
void is_einsum(const std::string& way, Size i, Size j, Size k) {
  const std::map<char, Size> extents = {{'i', i}, {'j', j}, {'k', k}};
  std::vector<T> x(static_cast<std::size_t>(i * k)), y(static_cast<std::size_t>(k * j));
  for (std::size_t n = 0; n < x.size(); ++n) x[n] = static_cast<T>(n * 7 % 19) - 9;
  for (std::size_t n = 0; n < y.size(); ++n) y[n] = static_cast<T>(n * 5 % 17) - 8;
  std::vector<T> wanted(static_cast<std::size_t>(i * j), 0);
  std::map<char, Size> at;
  for (at['i'] = 0; at['i'] < i; ++at['i']) {
    for (at['j'] = 0; at['j'] < j; ++at['j']) {
      for (at['k'] = 0; at['k'] < k; ++at['k']) {
        wanted[offset(way.substr(7), extents, at)] +=
            x[offset(way.substr(0, 2), extents, at)] * y[offset(way.substr(3, 2), extents, at)];
      }
    }
  }
  // What was there before does not count, not even where it is no number.
  std::vector<T> found(wanted.size(), std::numeric_limits<T>::quiet_NaN());
  const auto product = product_of(way, i, j, k);
  ASSERT_TRUE(product) << way;
  multiply(*product, x.data(), y.data(), found.data());
  EXPECT_EQ(found, wanted) << way << " " << i << " " << j << " " << k;
}

TEST(Products, all_transposes_of_two_matrices) {
  for (const std::string way : ways) {
    const auto product = product_of(way, 2, 3, 5);
    ASSERT_TRUE(product) << way;
    const bool turned = way.substr(7) == "ji";
    EXPECT_EQ(product->swapped, turned) << way;
    EXPECT_EQ(product->rows, turned ? 3 : 2);
    EXPECT_EQ(product->columns, turned ? 2 : 3);
    EXPECT_EQ(product->inner, 5);
  }
}

TEST(Products, what_is_no_product_of_matrices) {
  for (const std::string text :
       {"ik,kj->i", "ik,kj->ijk", "ik->ik", "ii,ij->ij", "ij,ij->ij", "ij,ji->ij", "ik,ij->ij",
        "i+k,kj->ij", "i+jk,kj->ij", "ki+j,kj->ij", "k,kj->jk", "ik,kj,jk->ij", "ik,ik->ik",
        "ij,kk->ij", "ik,jk->ik", ",->"}) {
    EXPECT_FALSE(product_of(text, 2, 2, 2)) << text;
  }
  const Size most = 2147483647;
  EXPECT_TRUE(product_of("ik,kj->ij", most, 1, most));
  EXPECT_FALSE(product_of("ik,kj->ij", most + 1, 1, 1));
  EXPECT_FALSE(product_of("ik,kj->ij", 1, most + 1, 1));
  EXPECT_FALSE(product_of("ik,kj->ij", 1, 1, most + 1));
  EXPECT_FALSE(product_of("ik,kj->ij", 1, 1, 0));
}

TEST(Products, a_blas_multiplies_as_loops_do) {
  if (!blas_is_built()) GTEST_SKIP() << "no BLAS is built in";
  for (const std::string way : ways) {
    for (const Size i : {1, 2, 5, 33}) {
      for (const Size j : {1, 3, 34}) {
        for (const Size k : {1, 4, 35}) {
          is_einsum<float>(way, i, j, k);
          is_einsum<double>(way, i, j, k);
        }
      }
    }
  }
}

}  // namespace
}  // namespace retile::spmd::products_test
