// Random Programs whose tiles are not alike, and spoiled ones: `check` and the oracle read the same ones and say the same.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "check/another_number.h"
#include "check/judge.h"
#include "retile/lower/lower.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "support/random_layouts.h"
#include "support/samples.h"

namespace check_tests {
namespace {

#ifdef RETILE_SLOW_TESTS
constexpr std::size_t wanted = 10'000'000;  // Programs that both read, and judge
#else
constexpr std::size_t wanted = support::samples(24'000U);
#endif

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}

  /// A Program in text form, of a plan or of random steps.
  std::string program() {
    static const std::vector<Size> counts{1, 2, 3, 4, 6, 8};
    devices_ = counts[static_cast<std::size_t>(support::draw(random_, 6))];
    Shape global = support::random_global(random_, 2, 9);
    const bool in_rounds = random_() % 4 == 0;
    if (in_rounds) {
      for (Size& extent : global) extent = std::vector<Size>{4, 8, 12, 16, 24}[random_() % 5];
    }
    const auto layout = in_rounds ? support::random_rounds : support::random_layout;
    retile::Layout from = layout(random_, devices_, global);
    retile::Layout to = layout(random_, devices_, global);
    if (in_rounds || random_() % 3 != 0) {
      const auto planned =
          retile::plan(retile::Problem::make(std::move(from), std::move(to)).value()).value();
      return to_text(retile::program_of(planned).value());
    }
    Program out;
    out.devices = devices_;
    out.from = std::move(from);
    out.to = std::move(to);
    for (Size k = support::draw(random_, 3); k >= 0; --k) out.steps.push_back(step(global.size()));
    return to_text(out);
  }

  /// The text with one number changed, as one of version 2.
  std::string spoiled(const std::string& text) {
    const std::string out = with_another_number(text, random_);
    return "retile.program/2\n" + out.substr(out.find('\n') + 1);
  }

 private:
  /// Groups of random devices of one size, or now and then of two.
  retile::DeviceTable groups() {
    std::vector<Size> order = shuffled();
    std::vector<Size> sizes;
    for (Size n = 1; n <= devices_; ++n) {
      if (devices_ % n == 0) sizes.push_back(n);
    }
    const auto n = static_cast<std::size_t>(sizes[random_() % sizes.size()]);
    std::vector<std::vector<Size>> rows;
    for (std::size_t at = 0; at < order.size(); at += n) {
      rows.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(at),
                        order.begin() + static_cast<std::ptrdiff_t>(at + n));
    }
    if (random_() % 3 != 0) {  // neighbours, as they have meaning
      Size next = 0;
      for (auto& row : rows) {
        for (Size& device : row) device = next++;
      }
    }
    return retile::DeviceTable::rows(std::move(rows));
  }

  std::vector<Size> shuffled() {
    std::vector<Size> out;
    for (Size d = 0; d < devices_; ++d) out.push_back(d);
    for (std::size_t k = out.size(); k > 1; --k) std::swap(out[k - 1], out[random_() % k]);
    return out;
  }

  std::optional<retile::PieceSize> piece() {
    if (random_() % 2 == 0) return std::nullopt;
    if (random_() % 3 == 0) return retile::PieceSize::balanced();
    return 1 + support::draw(random_, 5);
  }

  retile::Step step(std::size_t rank) {
    retile::Step out;
    const auto dim = [&] { return random_() % rank; };
    switch (random_() % 4) {
      case 0: {
        retile::Dynslice op{dim(), groups()};
        op.piece = piece();
        out.op = std::move(op);
        break;
      }
      case 1:
        out.op = retile::Allgather{dim(), groups()};
        break;
      case 2: {
        retile::Alltoall op{dim(), dim(), groups()};
        op.piece = piece();
        out.op = std::move(op);
        break;
      }
      default:
        out.op = retile::Allpermute{retile::DeviceTable::list(shuffled())};
    }
    return out;
  }

  std::mt19937_64 random_;
  Size devices_ = 1;
};

/// How both see it, and where they differ; nothing where both refuse to read it.
struct Seen {
  std::string what;
  std::string difference;
};

Seen see(const std::string& text) {
  const auto ours = retile::parse_programs(text);
  const auto theirs = spec::parse_programs(text);
  if (!ours || theirs.error) {
    const bool same = !ours && theirs.error;
    return {"refused", same ? "" : ours ? "the oracle alone refuses it" : "the oracle reads it"};
  }
  const Verdict got = retile::check(ours->front());
  const Verdict oracle = in_our_words(spec::check(theirs.programs.front()));
  Seen out;
  out.what = outcome(got);
  if (!naive::same_judgement(got, oracle)) {
    out.difference = "check:  " + show(got) + "\noracle: " + show(oracle);
  }
  return out;
}

TEST(UnevenRandom, both_checkers_say_the_same) {
  Draws draws(20261122);
  std::unordered_set<std::size_t> seen;  // hashes: two alike are taken for one
  std::map<std::string, std::size_t> counts;
  const auto take = [&](const std::string& text) {
    if (!seen.insert(std::hash<std::string>()(text)).second) return;
    const Seen it = see(text);
    ++counts[it.what];
    if (text.find("\nview ") != std::string::npos) {
      ++counts[it.what == "right" || it.what == "refused" ? "view " + it.what : "view, wrong"];
    }
    ASSERT_EQ(it.difference, "") << text;
  };
  while (seen.size() - counts["refused"] < wanted && !testing::Test::HasFatalFailure()) {
    const std::string text = draws.program();
    take(text);
    for (int k = 0; k < 4; ++k) take(draws.spoiled(text));
  }
  std::cout << seen.size() << " texts:";
  for (const auto& [what, count] : counts) std::cout << ' ' << what << ' ' << count;
  std::cout << '\n';
  for (const char* what :
       {"right", "refused", "end", "not_a_box", "ragged", "indivisible", "transfers", "tile_claim",
        "map_claim", "view right", "view refused", "view, wrong"}) {
    EXPECT_GT(counts[what], wanted / 2000) << what;
  }
}

}  // namespace
}  // namespace check_tests
