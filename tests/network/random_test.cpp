// Drawn problems on drawn networks against brute force over tile maps (spec/search/timed_maps.h): up to 16 devices
// every plan takes the least time, and on 64 how far plans are from it is counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retile/check/check.h"
#include "retile/network/plan.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "retile/program/forms/text.h"
#include "spec/search/timed_maps.h"
#include "support/bridge.h"
#include "support/random_problems.h"
#include "support/samples.h"

namespace retile::test::network_random_test {
namespace {

using support::draw;
using support::Random;

/// Devices, their links, and on which meshes brute force looks: every order of the prime factors of the device
/// number that no link ends within.
struct Drawn {
  Mesh mesh;
  std::vector<network::Level> levels;
  std::vector<spec::Mesh> refined;
};

/// \param parts  what the links say, major to minor: a size and a link each
std::vector<spec::Mesh> refine(const std::vector<std::pair<Size, std::size_t>>& parts) {
  std::vector<std::vector<Size>> orders = {{}};
  for (std::size_t k = 0; k < parts.size();) {
    // Neighbours with one link are one number to be factored.
    Size run = 1;
    for (const std::size_t link = parts[k].second; k < parts.size() && parts[k].second == link; ++k)
      run *= parts[k].first;
    std::vector<Size> primes;
    for (Size p = 2; run > 1; ++p) {
      for (; run % p == 0; run /= p) primes.push_back(p);
    }
    std::vector<std::vector<Size>> longer;
    do {
      for (std::vector<Size> order : orders) {
        order.insert(order.end(), primes.begin(), primes.end());
        longer.push_back(std::move(order));
      }
    } while (std::next_permutation(primes.begin(), primes.end()));
    orders = std::move(longer);
  }
  std::vector<spec::Mesh> out;
  for (const std::vector<Size>& order : orders) {
    spec::Mesh H;
    for (const Size size : order) H.push_back({"p" + std::to_string(H.size()), size});
    out.push_back(std::move(H));
  }
  return out;
}

/// From the inside out: each slower than the last one by up to 30 times, with at least its latency.
std::vector<network::Link> draw_links(Random& random, std::size_t count) {
  std::vector<network::Link> out;
  Size rate = Size{1} << draw(random, 26, 40);
  Size latency = draw(random, 0, 3) == 0 ? 0 : draw(random, 1, 10'000'000);
  for (std::size_t l = 0; l < count; ++l) {
    out.push_back({rate, latency});
    rate = std::max(rate * 2 / draw(random, 3, 60), Size{1});
    latency += draw(random, 0, 2) * latency + draw(random, 0, 1) * 1'000'000;
  }
  return out;
}

/// Links of axes, or of groups of successive devices.
Drawn draw_devices(Random& random, const std::vector<Size>& axes) {
  std::vector<Axis> named;
  Size devices = 1;
  // Whole axes, or all of their prime factors by names of their own.
  const bool whole = draw(random, 0, 1) == 0;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    devices *= axes[k];
    const std::string name(1, static_cast<char>('x' + static_cast<int>(k)));
    Size left = axes[k];
    for (Size p = 2; left > 1; ++p) {
      if (whole) p = left;
      for (int part = 0; left % p == 0; left /= p, ++part) {
        named.push_back({whole ? name : name + std::to_string(p) + std::to_string(part), p});
      }
    }
  }
  Drawn out{Mesh::make(named).value(), {}, {}};
  std::vector<std::pair<Size, std::size_t>> parts;
  const auto most = static_cast<std::size_t>(draw(random, 1, 3));
  if (draw(random, 0, 2) > 0) {
    std::vector<std::size_t> used;
    for (const Axis& axis : named) {
      const auto link = static_cast<std::size_t>(draw(random, 0, static_cast<Size>(most) - 1));
      parts.emplace_back(axis.size, link);
      used.push_back(link);
    }
    // Without gaps.
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (auto& [size, link] : parts) {
      link = static_cast<std::size_t>(std::find(used.begin(), used.end(), link) - used.begin());
    }
  } else {
    std::vector<Size> primes;
    const spec::Mesh H = refine({{devices, 0}}).front();
    for (const spec::Axis& axis : H) primes.push_back(axis.k);
    support::shuffle(random, primes);
    Size left = devices;
    for (std::size_t l = 0; left > 1; ++l) {
      const bool last = l + 1 == most || draw(random, 0, 2) == 0;
      Size size = 1;
      do {
        size *= primes.back();
        primes.pop_back();
      } while (!primes.empty() && (last || draw(random, 0, 1) == 0));
      parts.insert(parts.begin(), {size, l});
      left /= size;
    }
  }
  std::size_t links = 0;
  for (const auto& [size, link] : parts) links = std::max(links, link + 1);
  out.levels.resize(links);
  const std::vector<network::Link> drawn = draw_links(random, links);
  for (std::size_t l = 0; l < links; ++l) out.levels[l] = {std::to_string(l), drawn[l], {}};
  Size stride = 1;
  for (std::size_t k = parts.size(); k-- > 0; stride *= parts[k].first) {
    out.levels[parts[k].second].digits.push_back({stride, parts[k].first});
  }
  out.refined = refine(parts);
  return out;
}

spec::Domains domains_of(Size devices, const std::vector<network::Level>& levels) {
  spec::Domains out;
  for (std::size_t l = 0; l <= levels.size(); ++l) {
    spec::Sizes domain(static_cast<std::size_t>(devices), 0);
    for (std::size_t outer = l; outer < levels.size(); ++outer) {
      for (const Digit& digit : levels[outer].digits) {
        for (Size d = 0; d < devices; ++d) {
          domain[static_cast<std::size_t>(d)] += d / digit.stride % digit.size * digit.stride;
        }
      }
    }
    out.domain.push_back(std::move(domain));
  }
  for (const network::Level& level : levels) {
    out.links.push_back({level.link.bytes_per_second, level.link.latency});
  }
  return out;
}

/// A graph is used again: networks and sizes do not change it.
const spec::TimedMaps& maps_of(const std::vector<spec::Mesh>& refined, const spec::Sizes& units) {
  static std::map<std::pair<std::string, spec::Sizes>, spec::TimedMaps> known;
  std::string name;
  for (const spec::Mesh& H : refined) {
    for (const spec::Axis& axis : H) name += std::to_string(axis.k) + ",";
    name += ";";
  }
  const std::pair key(name, units);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  return known.try_emplace(key, refined, units).first->second;
}

/// A type of so many units, written of elements; `short_by` of them are missing at the end of a dimension.
std::string text_of(const DistType& type, const Shape& scale, const Shape& short_by) {
  std::string out;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    const DistDim& dim = type.dims()[i];
    const Size global = dim.global * scale[i] - short_by[i];
    std::string axes;
    for (const std::string& name : dim.axes) axes += (axes.empty() ? "" : ",") + name;
    const std::string tile = std::to_string(dim.tile * scale[i]) + "{" + axes + "}";
    out += (out.empty() ? "" : ", ") + (axes.empty() ? "" : tile) + std::to_string(global);
  }
  return "[" + out + "]";
}

/// Where brute force looks: units along each dimension, and the elements of one.
struct Array {
  Shape units;
  Shape scale;
  [[nodiscard]] Size unit() const { return checked_product(scale).value(); }
};

/// Whether plans are asked for whose ends are cut in equal tiles, and with how much memory.
struct Kind {
  bool uneven = false;
  bool limited = false;
};

/// What a plan takes beside the least.
struct Compared {
  std::string text;
  Result<network::NetworkPlan> made;
  std::optional<double> least = {};    ///< of sequences of types, filled up to be even
  std::optional<double> bounded = {};  ///< within the larger end
};

class Problems {
 public:
  /// \param units  of the arrays; none: any that divide the devices
  Problems(std::uint64_t seed, std::vector<std::vector<Size>> meshes, std::vector<Shape> units,
           Kind kind = {})
      : random_(seed), meshes_(std::move(meshes)), units_(std::move(units)), kind_(kind) {}

  Compared next() {
    while (true) {
      const Drawn devices = draw_devices(random_, pick(meshes_));
      const Size count = devices.mesh.device_count();
      const Array array = draw_array(count);
      const DistType from = support::draw_type(random_, devices.mesh, array.units);
      const DistType to = support::draw_type(random_, devices.mesh, array.units);
      const spec::TimedMaps& maps =
          maps_of(devices.refined, {array.units.begin(), array.units.end()});
      const spec::Mesh H = support::to_spec(devices.mesh);
      const auto a = maps.number(*spec::base_offset_map(H, support::to_spec(from)));
      const auto b = maps.number(*spec::base_offset_map(H, support::to_spec(to)));
      if (!a || !b) continue;  // an axis within which a link ends, and not at a divisor
      const auto short_by = draw_shortage(from, to, array);
      if (!short_by) continue;
      const Size element = Size{1} << draw(random_, 0, 3);
      PlanOptions options{.element_bytes = element};
      spec::TimedLimits limits;
      // What of a tile lies in the array.
      limits.held = [&](const spec::Sizes& tile) {
        Size out = 1;
        for (std::size_t i = 0; i < tile.size(); ++i) {
          out *=
              std::min(tile[i] * array.scale[i], array.units[i] * array.scale[i] - (*short_by)[i]);
        }
        return out;
      };
      const Size bound = std::max(limits.held(maps.localtype(*a)), limits.held(maps.localtype(*b)));
      limits.tile = bound;
      if (kind_.limited) {
        limits.resident = draw(random_, bound, 6 * bound);
        limits.tile = std::max(bound, *limits.resident);
        options.memory_limit_bytes = *limits.resident * element;
      }
      const spec::Domains N = domains_of(count, devices.levels);
      const auto least = [&](const spec::TimedLimits& within) -> std::optional<double> {
        const auto found = maps.least(N, array.unit() * element, *a, *b, within);
        return found ? std::optional(static_cast<double>(*found)) : std::nullopt;
      };
      const auto known = least(limits);
      if (known && *known == 0) continue;  // by slices alone
      const Problem problem =
          parse_problem(to_text(devices.mesh), text_of(from, array.scale, *short_by),
                        text_of(to, array.scale, *short_by))
              .value();
      return {describe(problem, devices.levels, options),
              network::plan(problem, network::Network(count, devices.levels), options), known,
              kind_.limited ? least({bound, {}, limits.held}) : known};
    }
  }

 private:
  template <typename Value>
  const Value& pick(const std::vector<Value>& values) {
    return values[static_cast<std::size_t>(draw(random_, 0, static_cast<Size>(values.size()) - 1))];
  }

  /// From a few elements, of which latency says all, to gigabytes.
  Array draw_array(Size devices) {
    Array out;
    if (!units_.empty()) {
      out.units = pick(units_);
    } else {
      out.units.resize(static_cast<std::size_t>(draw(random_, 1, 3)));
      for (Size& extent : out.units) {
        do {
          extent = draw(random_, 1, devices);
        } while (devices % extent != 0 || (extent < devices && draw(random_, 0, 1) == 0));
      }
    }
    for (const Size extent : out.units) {
      // Which makes no tile possible that units do not.
      const Size base = extent == devices ? 2 : 5;
      const Size most = (base == 2 ? 24 : 10) / static_cast<Size>(out.units.size());
      Size factor = 1;
      for (Size k = draw(random_, 0, kind_.limited ? most / 2 : most); k > 0; --k) factor *= base;
      out.scale.push_back(factor);
    }
    return out;
  }

  /// How many elements are missing of each dimension, so few that tiles are as large as without.
  std::optional<Shape> draw_shortage(const DistType& from, const DistType& to, const Array& array) {
    Shape out(array.units.size(), 0);
    if (!kind_.uneven) return out;
    for (std::size_t i = 0; i < out.size(); ++i) {
      Size most = array.units[i] * array.scale[i];
      for (const DistType* const type : {&from, &to}) {
        const DistDim& dim = type->dims()[i];
        if (dim.global > dim.tile)
          most = std::min({most, dim.global / dim.tile, dim.tile * array.scale[i]});
      }
      out[i] = draw(random_, 0, most - 1);
      if (from.dims()[i].axes.empty() && to.dims()[i].axes.empty()) out[i] = 0;
    }
    if (std::all_of(out.begin(), out.end(), [](Size missing) { return missing == 0; }))
      return std::nullopt;
    return out;
  }

  static std::string describe(const Problem& problem, const std::vector<network::Level>& levels,
                              const PlanOptions& options) {
    std::string out = to_text(problem.spelling->mesh) + " " + problem.spelling->from + " ~> " +
                      problem.spelling->to + " of " + std::to_string(options.element_bytes) +
                      " bytes on";
    for (const network::Level& level : levels) {
      out += " " + std::to_string(level.link.bytes_per_second) +
             "B/s:" + std::to_string(level.link.latency) + "ps";
      for (const Digit& digit : level.digits)
        out += "/" + std::to_string(digit.stride) + ":" + std::to_string(digit.size);
    }
    if (options.memory_limit_bytes) out += " within " + std::to_string(*options.memory_limit_bytes);
    return out;
  }

  Random random_;
  std::vector<std::vector<Size>> meshes_;
  std::vector<Shape> units_;
  Kind kind_;
};

/// How far plans are from the least time.
class Figures {
 public:
  void note(double time, double least) {
    ratios_.push_back(time / least);
    logs_ += std::log(ratios_.back());
  }
  [[nodiscard]] double mean() const { return std::exp(logs_ / static_cast<double>(count())); }
  [[nodiscard]] double worst() const { return *std::max_element(ratios_.begin(), ratios_.end()); }
  [[nodiscard]] double median() {
    std::sort(ratios_.begin(), ratios_.end());
    return ratios_[ratios_.size() / 2];
  }
  [[nodiscard]] std::size_t count() const { return ratios_.size(); }

 private:
  std::vector<double> ratios_;
  double logs_ = 0;
};

#if defined(RETILE_SLOW_TESTS)
constexpr bool all_of_them = true;
#else
constexpr bool all_of_them = false;
#endif

int draws(int all, int few) { return all_of_them ? all : support::samples(few); }

const std::vector<std::vector<Size>> small_meshes = {
    {4},    {6},    {2, 2}, {2, 3}, {3, 2}, {2, 4},    {4, 2},    {3, 3},    {3, 4},
    {4, 3}, {2, 6}, {6, 2}, {4, 4}, {4, 4}, {2, 2, 2}, {2, 3, 2}, {2, 2, 3}, {2, 2, 4}};

/// Of an array with dimensions of so many units there are up to 11,743 types; of the last one hundreds.
std::vector<Shape> units_of_64() {
  if (all_of_them) return {{64, 64}, {64, 8}, {16, 32}, {16, 8, 2}};
  return {{8, 4}};
}

double time_of(const network::NetworkPlan& made) { return static_cast<double>(made.time); }

TEST(Random_problems, up_to_16_devices_plans_take_the_least_time) {
  Problems problems(11, small_meshes, {});
  const int count = draws(1000, 110);
  Figures usual;
  int beyond = 0;
  for (int k = 0; k < count; ++k) {
    const Compared one = problems.next();
    const network::NetworkPlan& made = one.made.value();
    beyond += time_of(made) < *one.least ? 1 : 0;
    // The usual plan may have a step that no type has (S10).
    EXPECT_EQ(time_of(made), std::min(*one.least, static_cast<double>(made.usual_time)))
        << one.text;
    EXPECT_TRUE(made.optimal) << one.text;
    EXPECT_EQ(check(made.program).answer, Answer::right) << one.text;
    usual.note(static_cast<double>(made.usual_time), *one.least);
  }
  std::cout << count << " problems, " << usual.mean() << " and " << usual.worst()
            << " times the least without the network; " << beyond
            << " faster than all sequences of types\n";
  // Control: plans that do not know the network take longer.
  if (count > 100) {
    EXPECT_GT(usual.worst(), 1.5);
  }
}

TEST(Random_problems, of_64_devices_plans_are_near_the_least_time) {
  const int count = draws(600, 30);
  if (count == 1)
    GTEST_SKIP() << "a search of all types of 64 devices takes too long when instrumented";
  Problems problems(12, {{8, 8}}, units_of_64());
  Figures ratios;
  Figures usual;
  Figures gaps;  // of those that are only searched
  for (int k = 0; k < count; ++k) {
    const Compared one = problems.next();
    const network::NetworkPlan& made = one.made.value();
    const double least = std::min(*one.least, static_cast<double>(made.usual_time));
    EXPECT_GE(time_of(made), least) << one.text;
    EXPECT_LE(static_cast<double>(made.lower_bound), least) << one.text;
    EXPECT_EQ(made.optimal, made.time == made.lower_bound) << one.text;
    EXPECT_EQ(check(made.program).answer, Answer::right) << one.text;
    ratios.note(time_of(made), *one.least);
    usual.note(static_cast<double>(made.usual_time), *one.least);
    if (!made.optimal) gaps.note(time_of(made), static_cast<double>(made.lower_bound));
  }
  std::cout << count << " problems of 64 devices: geometric mean " << ratios.mean() << ", worst "
            << ratios.worst() << " times the least; without the network " << usual.mean() << " and "
            << usual.worst() << "; " << gaps.count() << " only searched";
  if (gaps.count() > 0) std::cout << ", median gap " << gaps.median();
  std::cout << "\n";
  EXPECT_LE(ratios.worst(), 1.5);
  EXPECT_LE(ratios.mean(), 1.05);
  EXPECT_LE(20 * gaps.count(), ratios.count());
  if (gaps.count() > 0) {
    EXPECT_LE(gaps.median(), 1.2);
  }
  // Control: plans that do not know the network would not pass.
  if (count > 20) {
    EXPECT_GT(usual.worst(), 1.5);
    EXPECT_GT(usual.mean(), 1.05);
  }
}

void compare_uneven_tiles(Problems problems, int count) {
  Figures ratios;
  Figures usual;
  int slower = 0;
  for (int k = 0; k < count; ++k) {
    const Compared one = problems.next();
    const network::NetworkPlan& made = one.made.value();
    EXPECT_LE(made.time, made.usual_time) << one.text;
    EXPECT_FALSE(made.optimal) << one.text;
    const Verdict verdict = check(made.program);
    EXPECT_EQ(verdict.answer, Answer::right) << one.text;
    EXPECT_LE(verdict.height, verdict.bound) << one.text;
    ratios.note(time_of(made), *one.least);
    usual.note(static_cast<double>(made.usual_time), *one.least);
    slower += time_of(made) > *one.least ? 1 : 0;
  }
  std::cout << count << " problems of uneven tiles: geometric mean " << ratios.mean() << ", worst "
            << ratios.worst() << " times the least of tiles filled up, " << slower
            << " slower; without the network " << usual.mean() << "\n";
  // They may take less, where less lies in the array or a step goes along several dimensions.
  EXPECT_EQ(slower, 0);
  // Control: plans that do not know the network would not pass.
  if (count > 20) {
    EXPECT_GT(usual.mean(), 1.05);
  }
}

TEST(Random_problems, uneven_tiles_take_no_longer_than_filled_up_ones) {
  compare_uneven_tiles({13, small_meshes, {}, {.uneven = true}}, draws(250, 50));
}

TEST(Random_problems, uneven_tiles_of_64_devices_take_no_longer_than_filled_up_ones) {
  const int count = draws(150, 30);
  if (count == 1)
    GTEST_SKIP() << "a search of all types of 64 devices takes too long when instrumented";
  compare_uneven_tiles({13, {{8, 8}}, units_of_64(), {.uneven = true}}, count);
}

TEST(Random_problems, memory_buys_time) {
  Problems problems(14, small_meshes, {}, {.limited = true});
  const int count = draws(500, 110);
  int faster = 0;
  int infeasible = 0;
  for (int k = 0; k < count; ++k) {
    const Compared one = problems.next();
    if (!one.made) {
      EXPECT_EQ(one.made.error().code, Code::infeasible) << one.text;
      EXPECT_FALSE(one.least) << one.text;
      ++infeasible;
      continue;
    }
    const network::NetworkPlan& made = *one.made;
    ASSERT_TRUE(one.least) << one.text;
    EXPECT_EQ(time_of(made), std::min(*one.least, static_cast<double>(made.usual_time)))
        << one.text;
    EXPECT_EQ(check(made.program).answer, Answer::right) << one.text;
    faster += *one.least < *one.bounded ? 1 : 0;
  }
  std::cout << count << " problems with a limit: " << faster << " faster than within the bound, "
            << infeasible << " infeasible\n";
  // Control: the limit matters.
  if (count > 100) {
    EXPECT_GT(faster, count / 20);
    EXPECT_GT(infeasible, 0);
  }
}

}  // namespace
}  // namespace retile::test::network_random_test
