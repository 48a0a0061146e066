// Comparisons about Programs: verdicts, exchanges, bytes, proofs.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check/random_programs.h"
#include "house/campaign/shelf.h"
#include "house/campaign/tally.h"
#include "retile/check/check.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/sim/sim.h"
#include "retile/lower/lower.h"
#include "retile/program/forms/text.h"
#include "retile/prove/prove.h"
#include "spec/program/facts.h"
#include "support/mutants.h"
#include "support/program_bridge.h"

namespace campaign {

inline constexpr std::array<Kind, 4> program_kinds = {Kind::verdict, Kind::exchange, Kind::moved,
                                                      Kind::prove};

inline std::string both(const retile::Program& program, const retile::Verdict& got,
                        const spec::Verdict& want) {
  return "\n" + to_text(program) +
         "src: " + (got.answer == retile::Answer::right ? "right" : "wrong") + ", cost " +
         std::to_string(got.cost) +
         "\nspec: " + (want.right ? "right" : "wrong: " + want.wrong->reason) + ", cost " +
         std::to_string(want.cost);
}

/// A Program on both sides.
struct Both {
  const retile::Program& program;
  spec::Program theirs = support::to_spec(program);
  spec::Verdict want = spec::check(theirs);
  /// Trivial: no step, or right at no cost.
  [[nodiscard]] Case as_case() const {
    const Strata wrong = want.right ? 0 : only(Stratum::wrong);
    return {hash_of(theirs), strata_of(theirs) | wrong,
            theirs.steps.empty() || (want.right && want.cost == 0)};
  }
};

// ---- Verdicts

inline void compare_verdict(Tally& tally, const retile::Program& program) {
  retile::Verdict got = retile::check(program);
  const Both subject{program};
  // The two have limits of their own; past them there is nothing to compare.
  if (got.answer == retile::Answer::undecided || !subject.want.decided) {
    return tally.leave_open(Kind::verdict);
  }
  if (tally.falsifies(Kind::verdict)) got.cost += 1;
  if (!support::same_judgement(got, subject.want)) {
    return tally.differ(Kind::verdict, both(program, got, subject.want));
  }
  tally.accept(Kind::verdict, subject.as_case());
}

/// The Program, and mutants of it of every kind that it has.
inline void compare_verdicts(Tally& tally, const Choose& choose, const retile::Program& program) {
  compare_verdict(tally, program);
  for (const support::Mutation mutation : support::all_mutations) {
    for (int k = 0; k < 2; ++k) {
      if (const auto mutant = support::mutate(program, mutation, choose))
        compare_verdict(tally, mutant->program);
    }
  }
}

/// A Program of others, right about as often as wrong, and a mutant of it.
inline void compare_foreign(Tally& tally, const Choose& choose) {
  const retile::Program program = check_tests::random_program(choose);
  compare_verdict(tally, program);
  const auto mutation = support::detail::pick(
      choose,
      std::vector<support::Mutation>(support::all_mutations.begin(), support::all_mutations.end()));
  if (const auto mutant = support::mutate(program, mutation, choose))
    compare_verdict(tally, mutant->program);
}

// ---- Exchanges

/// The ends of a Program as one exchange is right on both sides, with one verdict.
inline void compare_exchange(Tally& tally, const Planned& planned,
                             const retile::Program& exchange) {
  retile::Verdict got = retile::check(exchange);
  const spec::Verdict want = spec::check(support::to_spec(exchange));
  if (got.answer == retile::Answer::undecided || !want.decided) {
    return tally.leave_open(Kind::exchange);
  }
  if (tally.falsifies(Kind::exchange)) got.cost += 1;
  if (!want.right || !support::same_judgement(got, want)) {
    return tally.differ(Kind::exchange, both(exchange, got, want));
  }
  tally.accept(Kind::exchange, {planned.hash, planned.strata, planned.trivial});
}

// ---- Bytes

inline constexpr retile::Size tag_bytes = 4;

/// Per device its box of a tiling, as spec places it: every element is its own global number.
inline retile::sim::Tiles tagged(const spec::Tiling& tiling, spec::Size devices) {
  retile::sim::Tiles out;
  const std::size_t rank = tiling.tile.size();
  for (spec::Size d = 0; d < devices; ++d) {
    const spec::Sizes base = spec::base_offset(tiling, d);
    std::vector<std::byte>& tile = out.emplace_back();
    const spec::Size size = spec::product(tiling.tile).value();
    for (spec::Size local = 0; local < size; ++local) {
      spec::Size rest = local;
      spec::Size stride = 1;
      std::uint32_t tag = 0;
      for (std::size_t i = rank; i-- > 0; rest /= tiling.tile[i]) {
        tag += static_cast<std::uint32_t>((base[i] + rest % tiling.tile[i]) * stride);
        stride *= tiling.global[i];
      }
      std::array<std::byte, tag_bytes> bytes{};
      std::memcpy(bytes.data(), &tag, tag_bytes);
      tile.insert(tile.end(), bytes.begin(), bytes.end());
    }
  }
  return out;
}

/// The most elements that one device gets from others, counted over the tables: of n pieces that it
/// joins, or takes in exchange for its own, one is its own.
inline spec::Size received_elements(const spec::Program& program) {
  std::vector<spec::Size> received(static_cast<std::size_t>(program.devices), 0);
  spec::Sizes c = program.from.tile;
  for (const spec::Step& step : program.steps) {
    const spec::Sizes next = spec::joined(step, spec::piece(step, c).value()).value();
    const spec::Size size = spec::product(next).value();
    for (spec::Size d = 0; d < program.devices; ++d) {
      spec::Size& count = received[static_cast<std::size_t>(d)];
      if (step.transfers) {
        for (const spec::Sizes& row : *step.transfers) {
          if (row[0] != d || row[1] == d) continue;
          count +=
              spec::product({row.end() - static_cast<std::ptrdiff_t>(c.size()), row.end()}).value();
        }
      } else if (step.p == spec::Op::allpermute && step.pairs) {
        for (const spec::Sizes& pair : *step.pairs)
          count += pair[1] == d && pair[0] != d ? size : 0;
      } else if (step.p == spec::Op::allpermute) {
        count += spec::row(step.table, 0)[static_cast<std::size_t>(d)] != d ? size : 0;
      } else if (spec::joins(step)) {
        count += size - size / spec::pieces(step);
      }
    }
    c = next;
  }
  return received.empty() ? 0 : *std::max_element(received.begin(), received.end());
}

/// What lies where after src's simulator has run a right Program, and what its devices received.
inline void compare_moved(Tally& tally, const Planned& planned, const retile::Program& program,
                          std::uint64_t form) {
  constexpr spec::Size most_elements = 1 << 16;  // of all devices
  if (planned.plan.height > most_elements / program.devices) return tally.leave_open(Kind::moved);
  const spec::Program theirs = support::to_spec(program);
  const auto got = retile::sim::run(program, tagged(theirs.from, theirs.devices), tag_bytes);
  const spec::Size want = received_elements(theirs) * tag_bytes;
  const bool same = got && got->tiles == tagged(theirs.to, theirs.devices) &&
                    got->received_bytes == want && !tally.falsifies(Kind::moved);
  if (!same) {
    return tally.differ(Kind::moved,
                        "\n" + to_text(program) + "src: " +
                            (got ? std::to_string(got->received_bytes) + " bytes" : "refused") +
                            "\nspec: " + std::to_string(want) + " bytes");
  }
  tally.accept(Kind::moved,
               {Hash().add(planned.hash).add(form).value(), planned.strata, planned.trivial});
}

// ---- Proofs

inline std::string facts_text(const std::vector<spec::Fact>& facts) {
  std::string out;
  for (const auto& [name, numbers] : facts) {
    out += "fact " + name + " [";
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      out += (k > 0 ? "," : "") + std::to_string(numbers[k]);
    }
    out += "]\n";
  }
  return out;
}

/// A solver's answer for all devices, and the replay of every device; what was proved, line by line.
inline void compare_proof(Tally& tally, const retile::Program& program) {
  const Both subject{program};
  const Case what = subject.as_case();
  if (!subject.want.decided || !tally.wants(Kind::prove, what.strata) ||
      tally.has_seen(Kind::prove, what.hash)) {
    return;
  }
  auto proof = retile::prove(program, {.timeout_seconds = 20});
  if (!proof || proof->method != retile::ProofMethod::symbolic ||
      proof->verdict.answer == retile::Answer::undecided) {
    return tally.leave_open(Kind::prove);
  }
  if (tally.falsifies(Kind::prove)) proof->verdict.cost += 1;
  const bool same = support::same_judgement(proof->verdict, subject.want) &&
                    (!proof->proved() || retile::facts(program, proof->verdict) ==
                                             facts_text(spec::facts(subject.theirs, subject.want)));
  if (!same) return tally.differ(Kind::prove, both(program, proof->verdict, subject.want));
  tally.accept(Kind::prove, what);
}

/// The Program, and mutants that a solver is asked about: their tables are still regular.
inline void compare_proofs(Tally& tally, const Choose& choose, const retile::Program& program) {
  compare_proof(tally, program);
  constexpr std::array<support::Mutation, 4> regular = {
      support::Mutation::wrong_dimension, support::Mutation::step_left_out,
      support::Mutation::step_doubled, support::Mutation::wrong_final_type};
  const auto mutation = regular[static_cast<std::size_t>(choose(regular.size()))];
  if (const auto mutant = support::mutate(program, mutation, choose)) {
    compare_proof(tally, support::without_claims(mutant->program));
  }
}

// ---- Drawing

/// Everything about one problem's Programs that is still asked for.
inline void compare_programs(Tally& tally, const Choose& choose, const Planned& planned) {
  const auto asked = [&](Kind kind) { return tally.wants(kind, planned.strata); };
  const bool exchanges = asked(Kind::exchange) && !tally.has_seen(Kind::exchange, planned.hash);
  const std::uint64_t first = Hash().add(planned.hash).add(std::uint64_t{0}).value();
  const bool moves = asked(Kind::moved) && !tally.has_seen(Kind::moved, first);
  if (!exchanges && !moves && !asked(Kind::verdict) && !asked(Kind::prove)) return;
  const retile::Program program = retile::lower(planned.plan);
  if (asked(Kind::verdict)) compare_verdicts(tally, choose, program);
  if (asked(Kind::prove)) compare_proofs(tally, choose, program);
  if (moves) compare_moved(tally, planned, program, 0);
  if (!exchanges && !moves && choose(8) != 0) return;
  const auto exchange = retile::direct(program);
  if (!exchange) return;  // too large: small problems are not
  if (exchanges) compare_exchange(tally, planned, *exchange);
  if (moves) compare_moved(tally, planned, *exchange, 1);
  if (!asked(Kind::verdict)) return;
  const auto mutant = support::mutate(*exchange, support::Mutation::transfer_changed, choose);
  if (mutant) compare_verdict(tally, mutant->program);
}

inline void draw_programs(Tally& tally, const Choose& choose) {
  constexpr std::size_t most_types = 12;
  if (tally.wants(Kind::verdict)) {
    for (int k = 0; k < 40; ++k) compare_foreign(tally, choose);
  }
  const bool small_tiles = tally.wants(Kind::moved) && choose(2) == 0;
  Shelf shelf(choose, choose_wish(choose, tally, program_kinds, small_tiles), most_types);
  const auto all = [](std::uint64_t, std::uint64_t) { return true; };
  shelf.for_each_pair(tally, all, [&](const Planned& planned, std::size_t, std::size_t) {
    compare_programs(tally, choose, planned);
  });
}

}  // namespace campaign
