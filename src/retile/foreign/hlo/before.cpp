#include "retile/foreign/hlo/before.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "retile/core/names.h"
#include "retile/foreign/before.h"

namespace retile::foreign::hlo {
namespace {

template <std::size_t n>
bool is_among(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// What only a program of one device among several says.
bool is_of_a_device(std::string_view opcode) {
  static constexpr std::array<std::string_view, 15> opcodes = {"partition-id",
                                                               "replica-id",
                                                               "all-gather",
                                                               "all-gather-start",
                                                               "all-to-all",
                                                               "ragged-all-to-all",
                                                               "all-reduce",
                                                               "all-reduce-start",
                                                               "reduce-scatter",
                                                               "collective-permute",
                                                               "collective-broadcast",
                                                               "collective-permute-start",
                                                               "send",
                                                               "recv",
                                                               "async-start"};
  return is_among(opcode, opcodes);
}

/// What hands its operand on as it is.
bool is_copy(std::string_view opcode) {
  static constexpr std::array<std::string_view, 5> opcodes = {"parameter", "copy", "tuple",
                                                              "get-tuple-element", "opt-barrier"};
  return is_among(opcode, opcodes);
}

/// Whether a sharding says more than that all devices have the whole.
bool cuts(const Attribute* sharding) {
  return sharding != nullptr &&
         text_of(sharding->value).find_first_of("=[") != std::string_view::npos;
}

class Looker {
 public:
  Looker(const Module& module, const ReadOptions& options) : module_(module), options_(options) {}

  void look() {
    for (const Computation& computation : module_.computations) {
      for (const Instruction& instruction : computation.instructions) {
        if (is_of_a_device(instruction.opcode.value)) of_a_device_ = true;
        look_at_call(instruction);
      }
    }
    for (const Computation& computation : module_.computations) {
      for (const Instruction& instruction : computation.instructions) {
        look_at_sharding(computation, instruction);
      }
    }
    if (!of_a_device_ && !options_.shape && of_several() && !partitioned() && !only_copies()) {
      fail_unpartitioned(module_.name.place, Partitioner::xla,
                         "no collective and no number of a device stands in it");
    }
  }

 private:
  static void look_at_call(const Instruction& instruction) {
    static constexpr std::array<std::string_view, 3> targets = {
        "\"Sharding\"", "\"SPMDFullToShardShape\"", "\"SPMDShardToFullShape\""};
    const Attribute* target = instruction.find("custom_call_target");
    if (target == nullptr) return;
    const std::string_view text = text_of(target->value);
    if (!is_among(text, targets) && text.substr(0, 9) != "\"xla.sdy.") return;
    fail_unpartitioned(target->value, Partitioner::xla,
                       fmt::format("{} calls {}", shown_name(instruction.name.value),
                                   shown_name(text.substr(1, text.size() - 2))));
  }
  /// The root may stand behind others where none is marked.
  [[nodiscard]] static bool is_root(const Computation& computation,
                                    const Instruction& instruction) {
    return instruction.is_root || &instruction == &computation.instructions.back();
  }
  static void look_at_sharding(const Computation& computation, const Instruction& instruction) {
    const Attribute* sharding = instruction.find("sharding");
    if (sharding == nullptr || instruction.opcode.value == "parameter" ||
        is_root(computation, instruction)) {
      return;
    }
    fail_unpartitioned(sharding->name_place, Partitioner::xla,
                       fmt::format("{} has a sharding, but is neither parameter nor root",
                                   shown_name(instruction.name.value)));
  }
  /// Whether there are several devices, as far as the text says it.
  [[nodiscard]] bool of_several() const {
    const Attribute* partitions = module_.find("num_partitions");
    if (partitions != nullptr && text_of(partitions->value) != "1") return true;
    for (const Computation& computation : module_.computations) {
      for (const Instruction& instruction : computation.instructions) {
        if (cuts(instruction.find("sharding"))) return true;
      }
    }
    return cuts(module_.find("spmd_output_sharding"));
  }
  /// `main.0_spmd`: so XLA calls what it has partitioned.
  [[nodiscard]] bool partitioned() const {
    return std::any_of(module_.computations.begin(), module_.computations.end(),
                       [](const Computation& computation) {
                         return computation.name.value.find("_spmd") != std::string::npos;
                       });
  }
  /// Whether it copies alone, between shardings of the same words.
  [[nodiscard]] bool only_copies() const {
    std::string_view start;
    std::string_view end;
    for (const Computation& computation : module_.computations) {
      for (const Instruction& instruction : computation.instructions) {
        if (!is_copy(instruction.opcode.value)) return false;
        const Attribute* sharding = instruction.find("sharding");
        if (sharding == nullptr) continue;
        std::string_view& written = instruction.opcode.value == "parameter" ? start : end;
        if (written.empty()) written = text_of(sharding->value);
      }
    }
    return start == end;
  }

  const Module& module_;
  const ReadOptions& options_;
  bool of_a_device_ = false;
};

}  // namespace

void refuse_unpartitioned(const Module& module, const ReadOptions& options) {
  Looker(module, options).look();
}

}  // namespace retile::foreign::hlo
