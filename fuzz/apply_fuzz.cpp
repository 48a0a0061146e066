// The typing rules of Fig. 8 and Sec. 7.1, and base offsets after an accepted step: src against
// spec.
//
// An input is choices, or a text: `mesh x:2,y:2`, `from [1{x,y}4, 4]`, and the collective in spec's
// notation, `alltoall(0,1,{x,y})` or `allpermute [4, 1{x,y}4]`.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz_target.h"
#include "notation/paper/rule_comparison.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/typing.h"
#include "spec/program/type_text.h"
#include "support/bridge.h"
#include "support/generators.h"

const fuzz::Target fuzz::target = {"apply", 0.9};

namespace {

using support::TypedStep;

std::optional<TypedStep> read_step(std::string_view text) {
  const auto lines = support::lines_of(text);
  constexpr std::string_view from = "from ";
  if (lines.size() < 3 || lines[1].substr(0, from.size()) != from) return std::nullopt;
  const auto mesh = retile::parse_mesh(std::string_view(lines[0]).substr(5));
  if (!mesh) return std::nullopt;
  const auto type = retile::parse_type(std::string_view(lines[1]).substr(from.size()), *mesh);
  if (!type) return std::nullopt;
  const spec::Mesh H = support::to_spec(*mesh);
  const auto p = spec::read_line<spec::MultiCollective>(lines[2], [&](spec::Tokens& in) {
    return spec::with_axes(spec::read_collective(in, H), support::to_spec(*type));
  });
  if (!p) return std::nullopt;
  TypedStep out{*mesh, *type, {}};
  if (p->p == spec::Op::allgather) out.collective = retile::AllgatherRule{p->i, p->x.size()};
  if (p->p == spec::Op::dynslice) out.collective = retile::DynsliceRule{p->i, p->x};
  if (p->p == spec::Op::alltoall) out.collective = retile::AlltoallRule{p->i, p->j, p->x.size()};
  if (p->p == spec::Op::allpermute) {
    const auto to = retile::parse_type(spec::to_text(p->to), *mesh);
    if (!to) return std::nullopt;
    out.collective = retile::AllpermuteRule{*to};
  }
  return out;
}

/// Control: an allgather removes the major-most axis.
std::optional<spec::Type> mistaken(const spec::Mesh& H, const spec::MultiCollective& p,
                                   const spec::Type& tau) {
  static const comparison::Oracle oracle = [] {
    for (const auto& mutant : comparison::rule_mutants()) {
      if (mutant.name == "T-ALLGATHER of the major-most axis") return mutant.oracle;
    }
    std::abort();
  }();
  return oracle(H, p, tau);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::input(data, size);
  std::optional<TypedStep> read;
  if (bytes.substr(0, 5) == "mesh ") {
    read = read_step(bytes);
    if (!read) return 0;
  } else {
    static const support::Bounds bounds = {.max_devices = 1 << 16, .max_axes = 6, .max_rank = 5};
    const auto choose = support::byte_choices(bytes);
    read = choose(4) == 3 ? support::choose_typed_step(choose, bounds)
                          : support::choose_typed_step(choose);
  }
  const TypedStep& step = *read;
  fuzz::reached();
  const auto outcome = fuzz::control()
                           ? comparison::compare(step.mesh, step.from, step.collective, mistaken)
                           : comparison::compare(step.mesh, step.from, step.collective);
  const spec::Type tau = support::to_spec(step.from);
  const auto p = support::to_spec(step.mesh, step.from, step.collective);
  const std::string notation =
      "mesh " + to_text(step.mesh) + "\nfrom " + to_text(step.from) + "\n" + spec::to_text(p);
  fuzz::require(outcome.difference.empty(), outcome.difference, notation);
  if (!p.x.empty()) {  // without axes the notation means the minor-most one
    const auto again = spec::parse_collective(spec::to_text(p), tau, {});
    fuzz::require(again && again->p == p.p && again->i == p.i && again->j == p.j && again->x == p.x,
                  "spec reads the collective that it prints otherwise", notation);
  }
  const auto after = retile::apply(step.mesh, step.collective, step.from);
  if (!after) {
    fuzz::tally("no rule applies");
    fuzz::require(!after.error().message.empty() && !retile::render(after.error()).empty(),
                  "a refusal without a message", notation);
    return 0;
  }
  fuzz::tally("a rule applies");
  if (step.mesh.device_count() > 512) return 0;
  fuzz::tally("base offset maps compared");
  const auto beta = spec::base_offset_map(support::to_spec(step.mesh), support::to_spec(*after));
  fuzz::require(beta == support::to_spec(layout_of(step.mesh, *after)),
                "other base offsets after the step: " + to_text(*after), notation);
  return 0;
}

static const std::vector<std::string> vocabulary = {"allgather(0)",
                                                    "allgather(0,{x,y})",
                                                    "dynslice(0,x)",
                                                    "dynslice(1,{x,y})",
                                                    "alltoall(0,1)",
                                                    "alltoall(1,0,{x,y})",
                                                    "allpermute",
                                                    "mesh ",
                                                    "from ",

                                                    "{x}",
                                                    "{x,y}",
                                                    "x",
                                                    "y",
                                                    "z",
                                                    "[",
                                                    "]",
                                                    "{",
                                                    "}",
                                                    ",",
                                                    "x:2",
                                                    "u:1",
                                                    "4",
                                                    "12"};
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return fuzz::mutate_text_or_choices("mesh ", data, size, max_size, seed, vocabulary);
}
