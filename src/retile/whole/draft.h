// A module of HLO as words that can be changed and printed again. What it does not change keeps the words of
// its text.
//
// Metadata, tables of source lines and layouts that say nothing are left out, and of the header all but
// how many devices there are.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/text/place.h"

namespace retile::whole {

struct DraftInstruction {
  bool is_root = false;
  std::string name;  ///< without `%`
  std::string type;  ///< `f32[4,8]`, or a tuple of such
  std::string opcode;
  std::vector<std::string> operands;  ///< `p`, or `p#1`
  std::string inside;                 ///< of parameters their number, of constants their elements
  std::vector<std::pair<std::string, std::string>> attributes;

  [[nodiscard]] bool is_parameter() const { return opcode == "parameter"; }
  [[nodiscard]] bool is_tuple() const { return !type.empty() && type.front() == '('; }
  /// Empty where it has none of this name.
  [[nodiscard]] std::string_view attribute(std::string_view which) const;
  void set(std::string_view which, std::string value);
  void drop(std::string_view which);
  friend bool operator==(const DraftInstruction&, const DraftInstruction&) = default;
};

struct DraftComputation {
  std::string name;
  std::vector<DraftInstruction> body;

  [[nodiscard]] DraftInstruction* find(std::string_view value);
  [[nodiscard]] const DraftInstruction* find(std::string_view value) const;
  [[nodiscard]] DraftInstruction& root();
  [[nodiscard]] const DraftInstruction& root() const;
};

struct Draft {
  std::string name;
  Size replicas = 1;
  Size partitions = 1;
  std::vector<DraftComputation> computations;  ///< the entry last

  [[nodiscard]] DraftComputation& entry() { return computations.back(); }
  [[nodiscard]] const DraftComputation& entry() const { return computations.back(); }
};

/// \error as the reader of HLO; syntax: a text of none or of several modules
[[nodiscard]] Result<Draft> draft_of(const text::Input& input);
[[nodiscard]] std::string text_of(const Draft& draft);

/// `x` of `x#1`.
[[nodiscard]] std::string_view name_in(std::string_view operand);
/// What stands between commas of `{a, {b, c}}` or of `(a, b)`; all of it where there are no brackets.
[[nodiscard]] std::vector<std::string> parts_within(std::string_view text);

/// Takes away what no result needs: instructions, computations that nothing calls, and parameters
/// of the entry. Those that stay keep their order, and are numbered anew.
/// \return  the old numbers of the entry's parameters that stay
std::vector<Size> drop_unused(Draft& draft);
/// The same, but parameters of the entry stay.
void drop_dead(Draft& draft);
/// Takes away parameters of the entry, which nothing may need, by their numbers.
void keep_parameters(Draft& draft, const std::vector<Size>& kept);
/// Whether something needs a parameter of the entry, by number.
[[nodiscard]] std::vector<bool> needed_parameters(const Draft& draft);

/// Puts `to` in the place of a value of a computation wherever it is needed, as its result included. Both
/// are of one type; the value itself stays.
void replace_uses(DraftComputation& in, std::string_view value, std::string_view to);

/// Makes a parameter of the entry of an instruction that makes an array.
/// \param number  that no other has
void make_parameter(DraftInstruction& instruction, Size number);
[[nodiscard]] Size parameter_count(const Draft& draft);

/// How many arrays the entry makes, where its result is an array or a tuple that a `tuple` makes; else 0.
[[nodiscard]] std::size_t result_count(const Draft& draft);
/// Keeps some of these results, in their order, and their shardings.
void keep_results(Draft& draft, const std::vector<std::size_t>& kept);

/// Instructions that are neither parameters nor constants, of all computations.
[[nodiscard]] std::size_t operations_of(const Draft& draft);

}  // namespace retile::whole
