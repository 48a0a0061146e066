// What literals and attributes of HLO mean, whoever reads the instruction. The first mistake is thrown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/diagnostic.h"
#include "retile/core/size.h"
#include "retile/foreign/hlo/syntax.h"
#include "retile/foreign/module.h"

namespace retile::foreign::hlo {

/// How many there are of both.
struct DeviceRanks {
  Size replicas = 1;
  Size partitions = 1;
  [[nodiscard]] Size devices() const { return replicas * partitions; }
};

[[noreturn]] void refuse_at(const Place& place, Code code, std::string message,
                            std::vector<std::string> notes = {});

/// Where the lines of a text begin.
class Lines {
 public:
  explicit Lines(std::string_view text);
  [[nodiscard]] FilePlace at(const Place& place) const;

 private:
  std::vector<std::size_t> begins_ = {0};
};

/// A number of the module's header, such as `num_partitions`.
[[nodiscard]] std::optional<Size> header_number(const Module& module, std::string_view name);
/// The computation of a module whose name this is, with a `%` or without.
[[nodiscard]] const Computation& computation_of(const Module& module, const Place& name);
/// The only computation, or the one that is called the entry.
[[nodiscard]] const Computation& entry_of(const Module& module);
/// What a computation makes: the instruction that is marked, or the last. Precondition: it has one.
[[nodiscard]] const Instruction& root_of(const Computation& computation);

/// An attribute that an instruction must have.
[[nodiscard]] const Attribute& need(const Instruction& instruction, std::string_view name);
/// Numbers between commas in braces, `{0,2}`.
[[nodiscard]] std::vector<Token<Size>> read_numbers(Scanner& scanner);
/// The same as all of an attribute; none where it is missing.
[[nodiscard]] std::vector<Size> numbers_of(const Instruction& instruction, std::string_view name);
/// Numbers of dimensions, `{1,0}`.
[[nodiscard]] std::vector<std::size_t> dims_of(const Instruction& instruction,
                                               std::string_view name = "dimensions");
[[nodiscard]] Size signed_number(Scanner& scanner);

/// The word that a literal is, of a type with words; of others 0 for zero, and else 1.
[[nodiscard]] std::optional<std::int64_t> literal(std::string_view word, const ElementKind& kind);
/// The literals of a constant, one behind the other; of complex numbers with their parentheses.
[[nodiscard]] std::vector<Place> literals(const Instruction& instruction);
/// One word for each element of a constant of this type.
[[nodiscard]] std::vector<std::int64_t> words_of(const Instruction& instruction,
                                                 const TileType& type);

/// `{[0:4], [0:8:2]}`
[[nodiscard]] Slice slice_of(const Instruction& instruction);
/// `0_1x2_-3x0_0_1`: low, high and between neighbours, for every dimension.
[[nodiscard]] Pad pad_of(const Instruction& instruction);
[[nodiscard]] Compare comparison_of(const Instruction& instruction);

/// The shardings of a tuple, `{{replicated}, {devices=[2]<=[2]}}`; none where it is one.
[[nodiscard]] std::vector<Place> shardings_of(const Place& value);

/// The groups of a collective, of devices.
[[nodiscard]] Groups device_groups(const Instruction& instruction, const DeviceRanks& ranks);
/// Whether groups are of replicas, each with all its partitions.
[[nodiscard]] bool groups_take_all_partitions(const Instruction& instruction);
/// The pairs of a collective-permute, of devices.
[[nodiscard]] std::vector<std::pair<Size, Size>> device_pairs(const Instruction& instruction,
                                                              const DeviceRanks& ranks);

}  // namespace retile::foreign::hlo
