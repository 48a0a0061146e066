// Loops over many numbers beside the same operations on one number.
#include "retile/whole/loops.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "retile/whole/field.h"
#include "retile/whole/real.h"

namespace retile::whole {
namespace {

using operations::Comparison;
using operations::element_kind;

/// Numbers of a type with its ends and, of those with a point, zeros and what is no number.
template <typename Domain>
std::vector<Word> numbers(const Domain& domain, const ElementKind& kind, std::size_t count,
                          std::mt19937_64& random) {
  std::vector<Word> special;
  if (kind.is_real()) {
    for (const double real : {0.0, 1.0, -1.0, 3.0, 300.0, double{INFINITY}, -double{INFINITY}}) {
      special.push_back(domain.of_literal(real));
    }
    special.push_back(domain.of_literal(NAN));
  } else {
    for (const Word word : {Word{0}, Word{1}, Word{-1}, Word{7}, Word{8}, Word{64}, Word{1} << 31U,
                            std::numeric_limits<Word>::max(), std::numeric_limits<Word>::min()}) {
      special.push_back(operations::wrapped(word, kind));
    }
  }
  std::vector<Word> out;
  for (std::size_t k = 0; k < count; ++k) {
    if (random() % 3 == 0) {
      out.push_back(special[random() % special.size()]);
    } else {
      out.push_back(kind.is_real() ? domain.drawn(random)
                                   : operations::wrapped(static_cast<Word>(random()), kind));
    }
  }
  return out;
}

/// Words that are alike; what is no number has several.
template <typename Domain>
bool are_alike(Word a, Word b, const ElementKind& kind) {
  if (a == b) return true;
  return !Domain::is_exact && kind.is_real() && std::isnan(operations::real_of(a)) &&
         std::isnan(operations::real_of(b));
}

/// The result of an operation number by number; whether it has a loop, which makes the same.
template <typename Domain>
bool agrees(const Domain& domain, const Instruction& one, const std::vector<Operand>& operands,
            const ElementKind& to, std::size_t count) {
  std::vector<Word> fast(count, -77);
  if (!Loops<Domain>(domain).compute(one, operands, to, fast)) return false;
  const Calculator<Domain> calculator(domain);
  std::vector<ElementKind> kinds;
  for (const Operand& operand : operands) kinds.push_back(operand.kind);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Number> given;
    for (const Operand& operand : operands)
      given.push_back({operand.words[operand.is_one ? 0 : i]});
    const Word slow = calculator.calculated(one, kinds, to, given).real;
    if (are_alike<Domain>(fast[i], slow, to)) continue;
    ADD_FAILURE() << one.opcode << " " << operations::hlo_name(kinds[0]) << " to "
                  << operations::hlo_name(to) << ": " << fast[i] << ", not " << slow << ", of "
                  << given[0].real << " and " << given.back().real;
    return true;
  }
  return true;
}

Instruction instruction(Id id, Detail detail = NoDetail{}) {
  return {.id = id,
          .opcode = std::string(operations::row_of(id).hlo),
          .detail = std::move(detail),
          .operands = {},
          .results = {},
          .calls = {},
          .place = {}};
}

const std::vector<std::size_t>& counts() {
  static const std::vector<std::size_t> out = {0, 1, 2, 5, 64, 2500};
  return out;
}

const std::array<const char*, 9> integer_types = {"pred", "s8",  "u8",  "s16", "u16",
                                                  "s32",  "u32", "s64", "u64"};

template <typename Domain>
class Loop : public testing::Test {
 public:
  const Domain domain{domain_of()};
  std::mt19937_64 random{7};

  /// How many operations among these have a loop for a type.
  int loops(const std::vector<Id>& ids, const char* type, std::size_t operands) {
    const ElementKind kind = element_kind(type);
    int out = 0;
    for (const Id id : ids) {
      bool has_loop = true;
      for (const std::size_t count : counts()) {
        std::vector<std::vector<Word>> words;
        std::vector<Operand> given;
        for (std::size_t k = 0; k < operands; ++k) {
          words.push_back(numbers(domain, kind, count, random));
        }
        for (const auto& some : words) given.push_back({.words = some, .kind = kind});
        has_loop &= agrees(domain, instruction(id), given, kind, count);
      }
      out += has_loop ? 1 : 0;
    }
    return out;
  }

 private:
  static Domain domain_of() {
    if constexpr (Domain::is_exact) {
      return Domain(11, 4);
    } else {
      return Domain(11);
    }
  }
};

using Domains = testing::Types<Field, Real>;
TYPED_TEST_SUITE(Loop, Domains);

std::vector<Id> from_to(Id first, Id last) {
  std::vector<Id> out;
  for (int k = static_cast<int>(first); k <= static_cast<int>(last); ++k) {
    out.push_back(static_cast<Id>(k));
  }
  return out;
}

TYPED_TEST(Loop, of_two_integers_is_their_arithmetic) {
  const std::vector<Id> ids = {
      Id::add,    Id::subtract, Id::multiply, Id::maximum,    Id::minimum,
      Id::bit_or, Id::bit_and,  Id::bit_xor,  Id::shift_left, Id::shift_right_logical};
  for (const char* type : integer_types) {
    EXPECT_EQ(this->loops(ids, type, 2), std::string(type) == "pred" ? 3 : 10) << type;
    EXPECT_EQ(this->loops({Id::bit_not}, type, 1), 1) << type;
  }
}

TYPED_TEST(Loop, of_numbers_with_a_point_is_their_algebra) {
  EXPECT_EQ(this->loops({Id::add, Id::subtract, Id::multiply, Id::divide, Id::maximum, Id::minimum},
                        "f32", 2),
            6);
  std::vector<Id> unary = from_to(Id::exponential, Id::round_nearest_even);
  const std::vector<Id> others = from_to(Id::acos, Id::sinh);
  unary.insert(unary.end(), others.begin(), others.end());
  unary.insert(unary.end(), {Id::negate, Id::absolute, Id::sign});
  EXPECT_EQ(this->loops(unary, "f32", 1), static_cast<int>(unary.size()));
}

TYPED_TEST(Loop, compares_by_the_order_of_the_type) {
  for (const char* type : {"pred", "s8", "u8", "s16", "u32", "s64", "u64", "f32"}) {
    const ElementKind kind = element_kind(type);
    for (int comparison = 0; comparison <= static_cast<int>(Comparison::ge); ++comparison) {
      for (const auto order : {operations::Order::of_type, operations::Order::total}) {
        if (order == operations::Order::total && !kind.is_real()) continue;
        const std::vector<Word> a = numbers(this->domain, kind, 900, this->random);
        std::vector<Word> b = numbers(this->domain, kind, 900, this->random);
        for (std::size_t k = 0; k < b.size(); k += 4) b[k] = a[k];
        const Instruction one =
            instruction(Id::compare, CompareDetail{static_cast<Comparison>(comparison), order});
        EXPECT_TRUE(agrees(this->domain, one,
                           {{.words = a, .kind = kind}, {.words = b, .kind = kind}},
                           element_kind("pred"), a.size()));
      }
    }
  }
}

TYPED_TEST(Loop, converts_as_numbers_are_converted) {
  std::vector<const char*> types(integer_types.begin(), integer_types.end());
  types.insert(types.end(), {"f16", "bf16", "f32", "f64"});
  int has_loop = 0;
  for (const char* from : types) {
    for (const char* to : types) {
      const ElementKind kind = element_kind(from);
      const std::vector<Word> a = numbers(this->domain, kind, 300, this->random);
      has_loop += agrees(this->domain, instruction(Id::convert), {{.words = a, .kind = kind}},
                         element_kind(to), a.size())
                      ? 1
                      : 0;
    }
  }
  // Not of integers to truth values.
  EXPECT_EQ(has_loop, 13 * 13 - 9);
}

TYPED_TEST(Loop, selects_and_clamps_by_one_number_or_by_many) {
  for (const char* type : {"s8", "u64", "s32", "bf16"}) {
    const ElementKind kind = element_kind(type);
    const ElementKind truth = element_kind("pred");
    for (const std::size_t count : counts()) {
      const std::vector<Word> a = numbers(this->domain, kind, count, this->random);
      const std::vector<Word> b = numbers(this->domain, kind, count + 1, this->random);
      const std::vector<Word> c = numbers(this->domain, kind, count + 1, this->random);
      const std::vector<Word> t = numbers(this->domain, truth, count + 1, this->random);
      const std::span<const Word> first(b.data(), count);
      const std::span<const Word> last(c.data(), count);
      const Operand middle{.words = a, .kind = kind};
      for (const bool is_one : {false, true}) {
        const Operand low{
            .words = is_one ? std::span(b).first(1) : first, .is_one = is_one, .kind = kind};
        const Operand high{
            .words = is_one ? std::span(c).first(1) : last, .is_one = is_one, .kind = kind};
        EXPECT_TRUE(agrees(this->domain, instruction(Id::clamp), {low, middle, high}, kind, count));
        const Operand picked{
            .words = std::span(t).first(is_one ? 1 : count), .is_one = is_one, .kind = truth};
        EXPECT_TRUE(agrees(this->domain, instruction(Id::select),
                           {picked, middle, {.words = last, .kind = kind}}, kind, count));
      }
    }
  }
}

TEST(LoopOfComplexNumbers, selects_by_one_truth_value_alone) {
  const Field field(3, 4);
  const Loops<Field> loops(field);
  const ElementKind complex = element_kind("c64");
  const ElementKind truth = element_kind("pred");
  const std::vector<Word> a = {1, 2, 3, 4};
  const std::vector<Word> b = {5, 6, 7, 8};
  for (const Word picked : {Word{0}, Word{1}}) {
    const std::vector<Word> truths = {picked, picked};
    std::vector<Word> out(4, 0);
    const std::vector<Operand> given = {
        {.words = std::span(truths).first(1), .is_one = true, .kind = truth},
        {.words = a, .kind = complex},
        {.words = b, .kind = complex}};
    EXPECT_TRUE(loops.compute(instruction(Id::select), given, complex, out));
    EXPECT_EQ(out, picked != 0 ? a : b);
    EXPECT_FALSE(loops.compute(instruction(Id::add), {{given[1], given[2]}}, complex, out));
    const std::vector<Operand> many = {{.words = truths, .kind = truth}, given[1], given[2]};
    EXPECT_FALSE(loops.compute(instruction(Id::select), many, complex, out));
  }
}

}  // namespace
}  // namespace retile::whole
