#include "retile/operations/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace retile::operations {
namespace element_test {

using Form = ElementKind::Form;

TEST(Elements, have_their_kinds) {
  EXPECT_EQ(element_kind("pred").form, Form::truth);
  EXPECT_EQ(element_kind("i1").form, Form::truth);
  EXPECT_EQ(element_kind("s32").form, Form::integer);
  EXPECT_EQ(element_kind("u8").bits, 8);
  EXPECT_FALSE(element_kind("ui16").is_signed);
  EXPECT_EQ(element_kind("index").bits, 64);
  EXPECT_EQ(element_kind("f32").form, Form::real);
  EXPECT_EQ(element_kind("f8E5M2").form, Form::real);
  EXPECT_EQ(element_kind("c64").form, Form::complex);
  EXPECT_EQ(element_kind("complex<f64>").bits, 128);
  EXPECT_EQ(element_kind("token").form, Form::other);
  EXPECT_EQ(element_kind("f31").form, Form::other);
  EXPECT_EQ(element_kind("bf16").bytes(), 2);
  EXPECT_EQ(element_kind("f8e4m3fn").bytes(), 1);
  EXPECT_EQ(element_kind("c64").bytes(), 8);
  EXPECT_EQ(element_kind("s99999999999999999999").form, Form::other);
}

TEST(Elements, have_the_names_that_they_are_read_by) {
  for (const std::string_view name :
       {"pred", "s2",  "s4",   "s8",  "s16", "s32", "s64",  "u4",       "u8",     "u16",     "u32",
        "u64",  "f16", "bf16", "f32", "f64", "c64", "c128", "f8e4m3fn", "f8e5m2", "f4e2m1fn"}) {
    EXPECT_EQ(hlo_name(element_kind(name)), name);
    // MLIR's name is of the same type.
    EXPECT_EQ(element_kind(mlir_name(element_kind(name))), element_kind(name)) << name;
  }
  EXPECT_EQ(mlir_name(element_kind("pred")), "i1");
  EXPECT_EQ(mlir_name(element_kind("s32")), "i32");
  EXPECT_EQ(mlir_name(element_kind("u8")), "ui8");
  EXPECT_EQ(mlir_name(element_kind("c64")), "complex<f32>");
  EXPECT_EQ(mlir_name(element_kind("f8e4m3fn")), "f8E4M3FN");
  for (const std::string_view name : {"i7", "tf32", "complex<f16>", "token"}) {
    EXPECT_EQ(hlo_name(element_kind(name)), "") << name;
  }
  for (const std::string_view name : {"token", "s1", "complex<i8>"}) {
    EXPECT_EQ(mlir_name(element_kind(name)), "") << name;
  }
}

TEST(Elements, wrap_to_their_bits) {
  EXPECT_EQ(wrapped(255, element_kind("s8")), -1);
  EXPECT_EQ(wrapped(-1, element_kind("u8")), 255);
  EXPECT_EQ(wrapped(-7, element_kind("pred")), 1);
  EXPECT_EQ(wrapped(9, element_kind("s4")), -7);
  EXPECT_EQ(wrapped(7, element_kind("u2")), 3);
  EXPECT_EQ(wrapped(-1, element_kind("u64")), -1);
}

TEST(Elements, have_two_ends) {
  const auto ends = [](const std::string& type, Word least, Word largest) {
    const ElementKind kind = element_kind(type);
    EXPECT_TRUE(is_end(least, kind, End::least)) << type;
    EXPECT_TRUE(is_end(largest, kind, End::largest)) << type;
    EXPECT_FALSE(is_end(largest, kind, End::least)) << type;
    EXPECT_FALSE(is_end(least, kind, End::largest)) << type;
  };
  ends("pred", 0, 1);
  ends("s8", -128, 127);
  ends("u8", 0, 255);
  ends("s4", -8, 7);
  ends("s64", std::numeric_limits<Word>::min(), std::numeric_limits<Word>::max());
  ends("u64", 0, -1);
  const double infinity = std::numeric_limits<double>::infinity();
  ends("f32", word_of(-infinity), word_of(infinity));
  ends("f8e4m3fn", word_of(-448), word_of(448));
  ends("f8e8m0fnu", word_of(std::ldexp(1.0, -127)), word_of(std::ldexp(1.0, 127)));
  EXPECT_FALSE(is_end(word_of(-3.4e38), element_kind("f32"), End::least));
}

TEST(Elements, hold_what_fits) {
  EXPECT_TRUE(fits(-128, element_kind("s8")));
  EXPECT_FALSE(fits(128, element_kind("s8")));
  EXPECT_FALSE(fits(-1, element_kind("u8")));
  EXPECT_TRUE(fits(255, element_kind("u8")));
  EXPECT_FALSE(fits(256, element_kind("u8")));
}

/// Types of at most 16 bits, of every form.
const std::vector<std::string>& small_types() {
  static const std::vector<std::string> out = {
      "pred",       "s2",         "u2",       "s4",
      "u4",         "s8",         "u8",       "s16",
      "u16",        "f16",        "bf16",     "f8e5m2",
      "f8e4m3",     "f8e3m4",     "f8e4m3fn", "f8e4m3b11fnuz",
      "f8e5m2fnuz", "f8e4m3fnuz", "f6E3M2FN", "f6E2M3FN",
      "f4e2m1fn",   "f8e8m0fnu"};
  return out;
}

/// All values of a type; -0 is the least denormal below 0 here, and all NaNs are one.
std::set<double> values_of(const ElementKind& kind) {
  std::set<double> out;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << kind.bits; ++bits) {
    double value = 0;
    if (kind.is_real()) {
      value = real_of_bits(bits, *kind.format);
    } else {
      value = static_cast<double>(wrapped(static_cast<Word>(bits), kind));
    }
    if (std::isnan(value)) value = std::numeric_limits<double>::max();
    if (value == 0 && std::signbit(value)) value = -std::numeric_limits<double>::denorm_min();
    out.insert(value);
  }
  return out;
}

TEST(Elements, hold_all_of_others_where_sets_say_so) {
  std::map<std::string, std::set<double>> values;
  for (const std::string& name : small_types()) values[name] = values_of(element_kind(name));
  int held = 0;
  for (const std::string& to : small_types()) {
    if (to == "pred") continue;  // any number but 0 is true, so what it holds is no set of numbers
    for (const std::string& from : small_types()) {
      const bool want = std::includes(values[to].begin(), values[to].end(), values[from].begin(),
                                      values[from].end());
      const ElementKind to_kind = element_kind(to);
      const bool is = holds_all_of(to_kind, element_kind(from));
      if (to_kind.is_number() && element_kind(from).is_real()) {
        EXPECT_FALSE(is) << from << " to " << to;  // -0 and NaN aside there would be some
        continue;
      }
      EXPECT_EQ(is, want) << from << " to " << to;
      held += is ? 1 : 0;
    }
  }
  EXPECT_GT(held, 100);
}

TEST(Elements, of_more_bits_hold_what_their_precision_says) {
  const auto holds = [](const std::string& to, const std::string& from) {
    return holds_all_of(element_kind(to), element_kind(from));
  };
  EXPECT_TRUE(holds("f64", "s32"));
  EXPECT_TRUE(holds("f64", "u32"));
  EXPECT_FALSE(holds("f64", "s64"));
  EXPECT_FALSE(holds("f32", "s32"));
  EXPECT_TRUE(holds("s64", "u32"));
  EXPECT_FALSE(holds("s32", "u32"));
  EXPECT_TRUE(holds("f32", "tf32"));
  EXPECT_FALSE(holds("tf32", "f32"));
  EXPECT_TRUE(holds("c128", "c64"));
  EXPECT_TRUE(holds("c64", "f32"));
  EXPECT_FALSE(holds("f64", "c64"));
  EXPECT_FALSE(holds("token", "token"));
}

TEST(Elements, are_rounded_to_the_nearest) {
  for (const std::string& name : small_types()) {
    const ElementKind kind = element_kind(name);
    if (!kind.is_real()) continue;
    std::vector<double> finite;
    for (const double value : values_of(kind)) {
      if (std::abs(value) <= kind.format->largest && std::abs(value) > 1e-300) {
        finite.push_back(value);
        EXPECT_EQ(rounded(value, *kind.format), value) << name;
      }
    }
    for (std::size_t k = 1; k < finite.size(); ++k) {
      const double low = finite[k - 1];
      const double high = finite[k];
      if ((low < 0) != (high < 0)) continue;
      const double middle = (low + high) / 2;
      const double near_low = std::nextafter(middle, low);
      const double near_high = std::nextafter(middle, high);
      EXPECT_EQ(rounded(near_low, *kind.format), low) << name;
      EXPECT_EQ(rounded(near_high, *kind.format), high) << name;
      const double tie = rounded(middle, *kind.format);
      EXPECT_TRUE(tie == low || tie == high) << name;
    }
  }
}

TEST(Elements, beyond_the_largest_are_what_the_type_has) {
  const auto round = [](double real, const char* name) {
    return rounded(real, *element_kind(name).format);
  };
  EXPECT_EQ(round(65520, "f16"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(round(65519, "f16"), 65504);
  EXPECT_TRUE(std::isnan(round(1e6, "f8e4m3fn")));
  EXPECT_EQ(round(100, "f4e2m1fn"), 6);
  EXPECT_EQ(round(-100, "f4e2m1fn"), -6);
  EXPECT_FALSE(std::signbit(round(-0.0, "f8e4m3fnuz")));
  EXPECT_TRUE(std::signbit(round(-0.0, "f16")));
}

TEST(Elements, are_read_from_their_bits) {
  const auto bits = [](std::uint64_t number, const char* name) {
    return real_of_bits(number, *element_kind(name).format);
  };
  EXPECT_EQ(bits(0x3f800000, "f32"), 1.0);
  EXPECT_EQ(bits(0xff800000, "f32"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(bits(0x7fc00000, "f32")));
  EXPECT_EQ(bits(1, "f32"), 0x1p-149);
  EXPECT_EQ(bits(0x4059000000000000, "f64"), 100.0);
  EXPECT_EQ(bits(0x7e, "f8e4m3fn"), 448);
  EXPECT_TRUE(std::isnan(bits(0x80, "f8e4m3fnuz")));
  EXPECT_EQ(bits(0, "f8e8m0fnu"), 0x1p-127);
  EXPECT_TRUE(std::isnan(bits(255, "f8e8m0fnu")));
}

}  // namespace element_test
}  // namespace retile::operations
