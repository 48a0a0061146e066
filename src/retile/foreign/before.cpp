#include "retile/foreign/before.h"

#include <string_view>

namespace retile::foreign {
namespace {

constexpr std::string_view beginning = "this text is from before the partitioner: ";

}  // namespace

std::string text_to_take(Partitioner partitioner) {
  if (partitioner == Partitioner::mesh_dialect) {
    return "take what mlir-opt-19 --mesh-spmdization or mlir-opt-22 --shard-partition makes of it "
           "(docs/reference/foreign.md)";
  }
  return "take XLA's dump after_spmd-partitioning: XLA_FLAGS=\"--xla_dump_to=DIR "
         "--xla_dump_hlo_pass_re=spmd.* --xla_dump_large_constants=true\" "
         "(docs/reference/foreign.md)";
}

std::string who_judges(const operations::Row* row) {
  if (row == nullptr) {
    return "check judges moves: compile the move alone (docs/how-to/xla.md) where a module "
           "computes";
  }
  return "`retile validate BEFORE AFTER` judges modules that compute";
}

void fail_unpartitioned(const text::Place& place, Partitioner partitioner, const std::string& why) {
  text::fail(place, {.code = Code::unsupported,
                     .message = std::string(beginning) + why,
                     .notes = {text_to_take(partitioner)}});
}

bool says_unpartitioned(const Diagnostic& diagnostic) {
  return diagnostic.message.substr(0, beginning.size()) == beginning;
}

}  // namespace retile::foreign
