#include "retile/foreign/mlir/before.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <vector>

#include "retile/core/names.h"
#include "retile/foreign/before.h"

namespace retile::foreign::mlir {
namespace {

using Kind = Attribute::Kind;

/// Names of operations that only a program of one device among several has, whatever their dialect.
constexpr std::array<std::string_view, 28> of_devices = {"all_gather",
                                                         "all_slice",
                                                         "all_to_all",
                                                         "all_reduce",
                                                         "reduce_scatter",
                                                         "collective_permute",
                                                         "collective_broadcast",
                                                         "replicated_to_unreduced",
                                                         "sharded_to_unreduced",
                                                         "partition_id",
                                                         "replica_id",
                                                         "mesh.broadcast",
                                                         "mesh.gather",
                                                         "mesh.recv",
                                                         "mesh.reduce",
                                                         "mesh.scatter",
                                                         "mesh.send",
                                                         "mesh.shift",
                                                         "shard.broadcast",
                                                         "shard.gather",
                                                         "shard.recv",
                                                         "shard.reduce",
                                                         "shard.scatter",
                                                         "shard.send",
                                                         "shard.shift",
                                                         "process_linear_index",
                                                         "process_multi_index",
                                                         "update_halo"};
/// Operations that leave a reshard to the partitioner.
constexpr std::array<std::string_view, 4> left_to_others = {
    "sdy.reshard", "sdy.sharding_constraint", "sdy.sharding_group", "sdy.named_computation"};
/// What calls carry shardings to the partitioner.
constexpr std::array<std::string_view, 3> targets = {"Sharding", "SPMDFullToShardShape",
                                                     "SPMDShardToFullShape"};

bool is_of_a_device(std::string_view name) {
  return std::any_of(of_devices.begin(), of_devices.end(), [&](std::string_view one) {
    return name.ends_with(one) &&
           (one.size() == name.size() || name[name.size() - one.size() - 1] == '.' ||
            one.find('.') != std::string_view::npos);
  });
}

class Looker {
 public:
  Looker(const ModuleContext& context, const Op& function, const ReadOptions& options)
      : context_(context), function_(function), options_(options) {}

  void look() {
    gather(function_);
    for (const Op* op : ops_) {
      of_a_device_ = of_a_device_ || is_of_a_device(op->name);
      manual_ = manual_ || op->name == "sdy.manual_computation";
      look_at_name(*op);
    }
    if (of_a_device_) return;
    for (const Op* op : ops_) look_at_sharding(*op);
    if (manual_ || options_.shape || !of_several() || does_nothing()) return;
    fail_unpartitioned(function_.place, Partitioner::xla,
                       "no collective and no number of a device stands in it");
  }

 private:
  /// All operations inside of one, and of the functions that are called there.
  void gather(const Op& op) {
    for (const Region& region : op.regions) {
      for (const Block& block : region.blocks) {
        for (const Op& inner : block.ops) {
          ops_.push_back(&inner);
          gather(inner);
          if (inner.name != "call" && inner.name != "func.call") continue;
          const Attribute* callee = find(inner, "callee");
          const auto found =
              callee == nullptr ? context_.functions.end() : context_.functions.find(callee->text);
          if (found == context_.functions.end() || !called_.insert(found->second).second) continue;
          gather(*found->second);
        }
      }
    }
  }
  static void look_at_name(const Op& op) {
    const auto* const left = std::find(left_to_others.begin(), left_to_others.end(), op.name);
    if (left != left_to_others.end()) {
      fail_unpartitioned(op.place, Partitioner::xla,
                         fmt::format("{} leaves it to others", shown_name(op.name)));
    }
    const Attribute* target = find(op, "call_target_name", "callee");
    if (op.name != "stablehlo.custom_call" || target == nullptr) return;
    if (std::find(targets.begin(), targets.end(), target->text) == targets.end()) return;
    fail_unpartitioned(op.place, Partitioner::xla,
                       fmt::format("a sharding is called, {}", shown_name(target->text)));
  }
  static void look_at_sharding(const Op& op) {
    for (const std::string_view name : {"sdy.sharding", "mhlo.sharding"}) {
      if (find(op, name) == nullptr) continue;
      fail_unpartitioned(op.place, Partitioner::xla,
                         fmt::format("{} has a sharding, but is neither argument nor result",
                                     shown_name(Builder::result_name(op))));
    }
  }
  /// The shardings of arguments or of results, as they are written.
  [[nodiscard]] std::vector<std::string_view> shardings(std::string_view list) const {
    std::vector<std::string_view> out;
    const Attribute* all = find(function_, list);
    for (std::size_t k = 0; all != nullptr && k < all->items.size(); ++k) {
      for (const NamedAttribute& entry : all->items[k]->entries) {
        if (entry.name != "sdy.sharding" && entry.name != "mhlo.sharding") continue;
        out.push_back(text_at(entry.value->place));
      }
    }
    return out;
  }
  [[nodiscard]] bool of_several() const {
    return context_.partitions.value_or(1) > 1 || !shardings("arg_attrs").empty() ||
           !shardings("res_attrs").empty();
  }
  [[nodiscard]] bool does_nothing() const {
    return body_of(function_).ops.size() == 1 && shardings("arg_attrs") == shardings("res_attrs");
  }

  const ModuleContext& context_;
  const Op& function_;
  const ReadOptions& options_;
  std::vector<const Op*> ops_;
  std::set<const Op*> called_;
  bool of_a_device_ = false;
  bool manual_ = false;
};

/// Where a word stands in a text as a whole.
std::size_t find_word(std::string_view text, std::string_view word) {
  std::size_t at = text.find(word);
  while (at != std::string_view::npos) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || text[at - 1] == '.' || !continues_name(text[at - 1]);
    if (begins && (end == text.size() || !continues_name(text[end]))) return at;
    at = text.find(word, end);
  }
  return std::string_view::npos;
}

}  // namespace

void refuse_unpartitioned(const ModuleContext& context, const Op& function,
                          const ReadOptions& options) {
  Looker(context, function, options).look();
}

void refuse_unpartitioned_words(const text::Input& input, const ReadOptions& options) {
  const auto fail_at = [&](std::size_t at, std::string_view word, std::string_view what,
                           Partitioner partitioner) {
    fail_unpartitioned({.input = &input, .span = {at, at + word.size()}}, partitioner,
                       fmt::format("{} {}", word, what));
  };
  const auto look_for = [&](std::string_view word, std::string_view what, Partitioner partitioner) {
    const std::size_t at = find_word(input.text, word);
    if (at != std::string_view::npos) fail_at(at, word, what, partitioner);
  };
  for (const std::string_view word :
       {"@Sharding", "@SPMDFullToShardShape", "\"Sharding\"", "\"SPMDFullToShardShape\""}) {
    const std::size_t at = input.text.find(word);
    if (at != std::string_view::npos) fail_at(at, word, "is called", Partitioner::xla);
  }
  for (const std::string_view word : left_to_others) {
    look_for(word, "leaves it to others", Partitioner::xla);
  }
  const bool of_a_device = std::any_of(
      of_devices.begin(), of_devices.end(),
      [&](std::string_view word) { return find_word(input.text, word) != std::string_view::npos; });
  if (of_a_device || options.shape) return;
  for (const std::string_view word : {"sdy.sharding", "mhlo.sharding"}) {
    look_for(word, "stands in it, and nothing of one device", Partitioner::xla);
  }
  for (const std::string_view word : {"mesh.shard", "shard.shard"}) {
    look_for(word, "stands in it, and nothing of one device", Partitioner::mesh_dialect);
  }
}

}  // namespace retile::foreign::mlir
