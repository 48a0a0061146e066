// Modules on arrays of files, on the simulator: what is read, what is written, and what nothing can be said of.
#include "exec/npy/files.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "retile/exec/npy/npy.h"
#include "retile/exec/sim/executor.h"
#include "retile/spmd/judge.h"
#include "retile/spmd/run/run.h"

namespace retile::spmd::files_test {
namespace {

/// A product of matrices of which each device has half of the inner dimension.
constexpr const char* product = R"(retile.spmd/1
mesh d:2
fn main(x : [2, 2{d}4], w : [2{d}4, 3]) -> sum{d}[2, 3]
y = spmd x w { einsum "ik,kj->ij" x w } as sum{d}[2, 3]
return y
denotes einsum "ik,kj->ij" x w
)";
constexpr const char* root = R"(retile.spmd/1
mesh d:2
fn main(x : [2{d}4]) -> [2{d}4]
y = spmd x { sqrt (mul x x) } as [2{d}4]
return y
denotes sqrt (mul x x)
)";

template <typename T>
ElementType type_of() {
  return {std::is_floating_point_v<T> ? ElementKind::floating : ElementKind::signed_integer,
          sizeof(T)};
}

class Files : public testing::Test {
 protected:
  template <typename T>
  void write(const std::string& name, const Shape& shape, const std::vector<T>& numbers) const {
    const auto bytes = std::as_bytes(std::span(numbers));
    retile::test::write_file(path(name), retile::test::npy_text(npy_descr(type_of<T>()), shape,
                                                                {bytes.begin(), bytes.end()}));
  }
  template <typename T>
  [[nodiscard]] std::vector<T> read(const std::string& name) const {
    const auto file = NpyFile::open(path(name));
    if (!file || file->header().type != type_of<T>()) return {};
    std::vector<T> out(static_cast<std::size_t>(*checked_product(file->header().shape)));
    EXPECT_TRUE(
        file->read_at(file->header().data_offset_bytes, std::as_writable_bytes(std::span(out))));
    return out;
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.file(name); }

  template <typename T>
  void write_operands(const std::vector<T>& x) const {
    write<T>("x.npy", {2, 4}, x);
    write<T>("w.npy", {4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  }
  /// A run whose result goes to y.npy.
  [[nodiscard]] Result<RunReport> run_of(const std::string& text, const ElementType& type,
                                         const std::string& pattern = "{}.npy") const {
    const text::Input input = {text, "m", true};
    const auto module = read_module(input);
    if (!module) return refuse(module.error());
    const auto routes = routes_of(*module);
    if (!routes) return refuse(routes.error());
    return run(OneProcess(), *module, *routes, type,
               [&type](const Program& program) { return sim::make_executor(program, type); },
               {path(pattern), path("y.npy")});
  }
  template <typename T>
  void expect_product(const std::vector<T>& x, const std::vector<T>& wanted) const {
    write_operands(x);
    const auto report = run_of(product, type_of<T>());
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_FALSE(report->difference);
    EXPECT_EQ(report->compared, 12);
    EXPECT_EQ(report->tolerance > 0, std::is_floating_point_v<T>);
    EXPECT_EQ(read<T>("y.npy"), wanted);
  }
  [[nodiscard]] bool wrote() const { return std::filesystem::exists(path("y.npy")); }
  void expect_refused(const Result<RunReport>& report, Code code, const std::string& words) const {
    ASSERT_FALSE(report) << words;
    EXPECT_EQ(report.error().code, code);
    EXPECT_NE(report.error().message.find(words), std::string::npos) << report.error().message;
    EXPECT_FALSE(wrote());
  }

 private:
  retile::test::TemporaryDirectory folder_;
};

TEST_F(Files, what_a_module_returns_for_them_is_written) {
  const std::vector<int> x = {1, 0, -2, 3, 0, 5, 1, -1};
  const auto as = [&x](auto zero) { return std::vector<decltype(zero)>(x.begin(), x.end()); };
  const std::vector<int> wanted = {17, 19, 21, 17, 22, 27};
  const auto of = [&wanted](auto zero) {
    return std::vector<decltype(zero)>(wanted.begin(), wanted.end());
  };
  expect_product(as(float{}), of(float{}));
  expect_product(as(double{}), of(double{}));
  expect_product(as(std::int32_t{}), of(std::int32_t{}));
  expect_product(as(std::int64_t{}), of(std::int64_t{}));
}

TEST_F(Files, indices_are_whole_numbers_below_their_extent) {
  const std::string text = R"(retile.spmd/1
mesh d:2
fn main(x : [3, 2], c : [2{d}4] below 3) -> [2{d}4, 2]
y = spmd x c { take 0 x c } as [2{d}4, 2]
return y
denotes take 0 x c
)";
  write<float>("x.npy", {3, 2}, {1, 2, 3, 4, 5, 6});
  const auto of = [&](const std::vector<float>& indices) {
    write<float>("c.npy", {4}, indices);
    return run_of(text, type_of<float>());
  };
  for (const float other : {3.0F, -1.0F, 0.5F, 1e30F, std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity()}) {
    expect_refused(of({0, 1, 2, other}), Code::bad_number, "c holds ");
  }
  const auto report = of({2, 0, 1, 1});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->difference);
  EXPECT_EQ(read<float>("y.npy"), (std::vector<float>{5, 6, 1, 2, 3, 4, 3, 4}));
  // Integers beside numbers with a point, which may not fit where they are no indices.
  write<std::int64_t>("c.npy", {4}, {2, 0, 1, 1});
  ASSERT_TRUE(run_of(text, type_of<float>()));
  EXPECT_EQ(read<float>("y.npy"), (std::vector<float>{5, 6, 1, 2, 3, 4, 3, 4}));
  write<std::int32_t>("c.npy", {4}, {0, 0, 0, 2});
  ASSERT_TRUE(run_of(text, type_of<float>()));
  EXPECT_EQ(read<float>("y.npy"), (std::vector<float>{1, 2, 1, 2, 1, 2, 5, 6}));
  EXPECT_EQ(std::filesystem::remove(path("y.npy")), true);
  write<std::int64_t>("c.npy", {4}, {0, 0, 0, std::int64_t{1} << 32});
  expect_refused(run_of(text, type_of<float>()), Code::bad_number, "c holds 4294967296, and");
  write<double>("c.npy", {4}, {0, 0, 0, 1});
  expect_refused(run_of(text, type_of<float>()), Code::bad_file, "holds elements of type <f8");
  // Of integers, whose largest elements count by themselves.
  write<std::int32_t>("x.npy", {3, 2}, {1, 2, 3, 4, 5, 1 << 30});
  write<std::int32_t>("c.npy", {4}, {2, 2, 2, 2});
  EXPECT_TRUE(run_of(text, type_of<std::int32_t>()));
  write<std::int32_t>("c.npy", {4}, {2, 2, 2, 3});
  EXPECT_FALSE(run_of(text, type_of<std::int32_t>()));
  write<std::int64_t>("c.npy", {4}, {2, 2, 2, std::int64_t{1} << 32});
  EXPECT_FALSE(run_of(text, type_of<std::int32_t>()));
}

TEST_F(Files, what_is_wrong_is_not_written) {
  write_operands<float>({1, 0, -2, 3, 0, 5, 1, -1});
  std::string text = product;
  text.replace(text.find("denotes einsum \"ik,kj->ij\" x w"), 30,
               "denotes neg (einsum \"ik,kj->ij\" x w)");
  const auto report = run_of(text, type_of<float>());
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->difference);
  EXPECT_EQ(report->difference->expected, -17);
  EXPECT_FALSE(wrote());
}

TEST_F(Files, integers_that_may_not_fit_are_refused) {
  constexpr auto most = (std::int32_t{1} << 30) - 1;
  write_operands<std::int32_t>({most, 0, 0, 0, 0, 0, 0, 0});
  expect_refused(run_of(product, type_of<std::int32_t>()), Code::unsupported, "which may not fit");
  // The last one, too, and of any sign.
  write_operands<std::int32_t>({0, 0, 0, 0, 0, 0, 0, -most});
  expect_refused(run_of(product, type_of<std::int32_t>()), Code::unsupported, "which may not fit");
}

TEST_F(Files, numbers_beyond_the_type_are_refused) {
  write_operands<float>({3e38F, 3e38F, 0, 0, 0, 0, 0, 0});
  expect_refused(run_of(product, type_of<float>()), Code::unsupported, "too large");
  constexpr float none = std::numeric_limits<float>::quiet_NaN();
  write_operands<float>({none, 0, 0, 0, 0, 0, 0, 0});
  expect_refused(run_of(product, type_of<float>()), Code::unsupported, "no number");
  write<double>("x.npy", {4}, {1, 2, 3, std::numeric_limits<double>::infinity()});
  expect_refused(run_of(root, type_of<double>()), Code::unsupported, "no number");
}

TEST_F(Files, products_below_the_least_number_are_not_wrong) {
  write<float>("x.npy", {4}, {1e-30F, 0, -1e-25F, 3});
  const auto report = run_of(root, type_of<float>());
  // The root of a number that may be any tiny one, or less, has no value.
  expect_refused(report, Code::unsupported, "no number");
  write<float>("x.npy", {4}, {0, -2, 1, 3});
  ASSERT_TRUE(run_of(root, type_of<float>()));
  EXPECT_EQ(read<float>("y.npy"), (std::vector<float>{0, 2, 1, 3}));
}

TEST_F(Files, files_must_hold_the_parameters) {
  write_operands<float>({1, 0, -2, 3, 0, 5, 1, -1});
  const ElementType type = type_of<float>();
  expect_refused(run_of(product, type, "x.npy"), Code::bad_argument, "for the names of 2 arrays");
  expect_refused(run_of(product, type, "no {}.npy"), Code::bad_file, "cannot be opened");
  expect_refused(run_of(product, type_of<double>()), Code::bad_file, "--dtype says <f8");
  write<float>("w.npy", {3, 4}, std::vector<float>(12));
  expect_refused(run_of(product, type), Code::bad_file, "where [4, 3] is what w is");
  retile::test::write_file(path("w.npy"),
                           retile::test::npy_text(">f4", {4, 3}, std::vector<std::byte>(48)));
  expect_refused(run_of(product, type), Code::bad_file, "computed with as <f4");
  write<float>("x.npy", {4}, std::vector<float>(4, 1));
  ASSERT_TRUE(run_of(root, type, "x.npy"));
  EXPECT_TRUE(wrote());
}

}  // namespace
}  // namespace retile::spmd::files_test
