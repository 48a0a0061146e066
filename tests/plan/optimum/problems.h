/// Problems for attacks on `optimal`: meshes of several primes, up to 2,310 devices and rank 6, in
/// which the factors of at least two primes move.
///
/// Most are drawn at random. Those that the planner cannot decide are so rare among them that they
/// are looked for near known ones: a known one is changed a little.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retile/core/primes.h"
#include "retile/notation/paper/dist_type.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/problem.h"
#include "support/random_problems.h"

namespace optimum {

using retile::Mesh;
using retile::Problem;
using retile::Shape;
using retile::Size;
using support::draw;
using support::Random;

constexpr Size most_devices = 2310;
constexpr Size most_rank = 6;
constexpr Size most_elements = Size{1} << 40;

inline std::size_t draw_index(Random& random, std::size_t size) {
  return static_cast<std::size_t>(draw(random, 0, static_cast<Size>(size) - 1));
}
template <class List>
auto& draw_from(Random& random, List& list) {
  return list[draw_index(random, list.size())];
}

// ---- Drawn at random

/// Where problems come from: numbers of devices, and how often the array can be cut.
struct Source {
  std::vector<Size> devices;
  Size most_cuts = 0;  // axes that extents are divisible by, counted for each dimension
};

/// So few devices that all tile maps can be looked at, or all normal forms.
inline const Source& small_source() {
  static const Source source = {{6, 10, 12, 14, 15, 18, 20, 21, 24, 28, 30, 30, 36, 42, 60}, 9};
  return source;
}
/// Devices whose every tile can be looked at, but not every tile map.
inline const Source& middle_source() {
  static const Source source = {{30, 30, 42, 42, 66,  66,  70,  70,  105, 105, 30,  42, 66,
                                 70, 60, 84, 90, 105, 110, 126, 140, 150, 165, 210, 210},
                                11};
  return source;
}
/// More of them. A certificate takes the longer to check the more there are.
inline const Source& large_source() {
  static const Source source = {{120, 180, 315, 330, 420, 462, 630, 770, 1155, 2310}, 11};
  return source;
}

/// δ as axes: its prime factors in a random order, some of them joined to one axis.
inline Mesh draw_mesh(Random& random, Size devices) {
  std::vector<Size> factors;
  for (const retile::PrimePower& power : retile::factorize(devices)) {
    factors.insert(factors.end(), static_cast<std::size_t>(power.exponent), power.prime);
  }
  std::vector<retile::Axis> axes;
  while (!factors.empty()) {
    const auto at = static_cast<std::ptrdiff_t>(draw_index(random, factors.size()));
    const Size factor = factors[static_cast<std::size_t>(at)];
    factors.erase(factors.begin() + at);
    if (!axes.empty() && draw(random, 0, 4) == 0) {
      axes.back().size *= factor;
    } else {
      axes.push_back(
          {std::string(1, static_cast<char>('a' + static_cast<int>(axes.size()))), factor});
    }
  }
  return Mesh::make(std::move(axes)).value();
}

inline Shape draw_global(Random& random, const Mesh& mesh, const Source& source) {
  const Size rank = draw(random, 0, 2) == 0 ? draw(random, 1, most_rank) : draw(random, 2, 4);
  Shape global(static_cast<std::size_t>(rank), 1);
  Size elements = 1;
  const auto multiply = [&](Size factor) {
    if (elements > most_elements / factor) return;
    draw_from(random, global) *= factor;
    elements *= factor;
  };
  for (Size cuts = draw(random, 3, source.most_cuts); cuts > 0; --cuts) {
    multiply(draw_from(random, mesh.axes()).size);
  }
  constexpr std::array<Size, 6> more = {1, 1, 2, 3, 4, 11};  // what no axis, or none alone, divides
  multiply(draw_from(random, more));
  multiply(draw_from(random, more));
  return global;
}

/// Whether the factors of at least two primes are spread over the dimensions otherwise than before.
inline bool two_primes_move(const Problem& problem) {
  const auto exponent = [](Size prime, Size count) {
    int out = 0;
    for (; count % prime == 0; count /= prime) ++out;
    return out;
  };
  int moving = 0;
  for (const retile::PrimePower& power : retile::factorize(problem.from.devices())) {
    bool moves = false;
    for (std::size_t i = 0; i < problem.from.rank(); ++i) {
      moves = moves || exponent(power.prime, problem.from.cuts()[i].count()) !=
                           exponent(power.prime, problem.to.cuts()[i].count());
    }
    moving += moves ? 1 : 0;
  }
  return moving >= 2;
}

/// A problem in which two primes move. What it costs is not looked at.
inline Problem draw_moving(Random& random, const Source& source) {
  while (true) {
    const Mesh mesh = draw_mesh(random, draw_from(random, source.devices));
    const Shape global = draw_global(random, mesh, source);
    const bool replicate = draw(random, 0, 2) > 0;
    const auto from = support::draw_type(random, mesh, global, replicate);
    const auto to = support::draw_type(random, mesh, global, replicate);
    Problem problem = retile::make_problem(mesh, from, to).value();
    if (two_primes_move(problem)) return problem;
  }
}

// ---- Near known ones

/// A problem as it is spelled: axes, extents, and of both ends the axes of every dimension. One that
/// was changed may mean nothing.
struct Spelled {
  using Lists = std::vector<std::vector<std::string>>;
  std::vector<retile::Axis> axes;
  Shape global;
  std::array<Lists, 2> ends;

  [[nodiscard]] Size size_of(const std::string& name) const {
    for (const retile::Axis& axis : axes) {
      if (axis.name == name) return axis.size;
    }
    return 0;
  }
};

inline Spelled spelled(const Problem& problem) {
  const Mesh& mesh = problem.spelling->mesh;
  Spelled out{mesh.axes(), problem.from.global(), {}};
  for (const std::size_t end : {std::size_t{0}, std::size_t{1}}) {
    const std::string& text = end == 0 ? problem.spelling->from : problem.spelling->to;
    const retile::DistType type = retile::parse_type(text, mesh).value();
    for (const auto& dim : type.dims()) out.ends[end].push_back(dim.axes);
  }
  return out;
}

/// The problem that is spelled so; nullopt where there is none, or it is larger than ours are.
inline std::optional<Problem> problem_of(const Spelled& spelling) {
  Size elements = 1;
  for (const Size extent : spelling.global) {
    if (elements > most_elements / extent) return std::nullopt;
    elements *= extent;
  }
  const auto mesh = Mesh::make(spelling.axes);
  if (!mesh || mesh->device_count() > most_devices) return std::nullopt;
  std::vector<retile::DistType> ends;
  for (const Spelled::Lists& lists : spelling.ends) {
    std::vector<retile::DistDim> dims;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      Size tile = spelling.global[i];
      for (const std::string& name : lists[i]) {
        if (tile % spelling.size_of(name) != 0) return std::nullopt;
        tile /= spelling.size_of(name);
      }
      dims.push_back({tile, lists[i], spelling.global[i]});
    }
    auto type = retile::DistType::make(*mesh, std::move(dims));
    if (!type) return std::nullopt;
    ends.push_back(std::move(*type));
  }
  auto problem = retile::make_problem(*mesh, ends[0], ends[1]);
  if (!problem || !two_primes_move(*problem)) return std::nullopt;
  return std::move(*problem);
}

/// The same text for problems that differ in names, and in the order of dimensions that sizes tell
/// apart.
inline std::string name_of(const Spelled& spelling) {
  const auto sizes = [&](const std::vector<std::string>& names) {
    std::vector<Size> out;
    for (const std::string& name : names) out.push_back(spelling.size_of(name));
    return out;
  };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < spelling.global.size(); ++i) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    const auto key = [&](std::size_t k) {
      return std::tuple{spelling.global[k], sizes(spelling.ends[0][k]), sizes(spelling.ends[1][k])};
    };
    return key(i) < key(j);
  });
  std::map<std::string, std::size_t> numbers;
  std::string out;
  for (const std::size_t i : order) {
    out += std::to_string(spelling.global[i]);
    for (const Spelled::Lists& lists : spelling.ends) {
      out += '|';
      for (const std::string& name : lists[i]) {
        const auto number = numbers.emplace(name, numbers.size()).first->second;
        out += std::to_string(number) + ':' + std::to_string(spelling.size_of(name)) + ',';
      }
    }
    out += ';';
  }
  Size devices = 1;
  for (const retile::Axis& axis : spelling.axes) devices *= axis.size;
  return out + std::to_string(devices);
}

/// Takes an axis out of the lists of one end, and puts it anywhere.
inline void move_axis(Random& random, Spelled& spelling) {
  Spelled::Lists& lists = draw_from(random, spelling.ends);
  const std::string name = draw_from(random, spelling.axes).name;
  for (auto& list : lists) std::erase(list, name);
  const std::size_t dim = draw_index(random, lists.size() + 1);
  if (dim == lists.size()) return;
  const auto at = draw_index(random, lists[dim].size() + 1);
  lists[dim].insert(lists[dim].begin() + static_cast<std::ptrdiff_t>(at), name);
}

inline void change_extent(Random& random, Spelled& spelling) {
  Size& extent = draw_from(random, spelling.global);
  const Size factor = draw_from(random, spelling.axes).size;
  if (draw(random, 0, 1) == 0) {
    extent *= factor;
  } else if (extent % factor == 0) {
    extent /= factor;
  }
}

/// One axis more, in the same dimension of one or both ends, or one less.
inline void change_axes(Random& random, Spelled& spelling) {
  constexpr std::array<Size, 4> primes = {2, 3, 5, 7};
  if (draw(random, 0, 1) == 0 && spelling.axes.size() > 1) {
    const std::size_t at = draw_index(random, spelling.axes.size());
    for (auto& lists : spelling.ends) {
      for (auto& list : lists) std::erase(list, spelling.axes[at].name);
    }
    spelling.axes.erase(spelling.axes.begin() + static_cast<std::ptrdiff_t>(at));
    return;
  }
  std::string name = "a";
  while (spelling.size_of(name) != 0) ++name[0];
  const Size size = draw_from(random, primes);
  spelling.axes.push_back({name, size});
  const std::size_t dim = draw_index(random, spelling.global.size() + 1);
  if (dim == spelling.global.size()) return;
  const Size only = draw(random, 0, 2);  // end 0, end 1, or both
  for (const std::size_t end : {std::size_t{0}, std::size_t{1}}) {
    if (only == static_cast<Size>(1 - end)) continue;
    auto& list = spelling.ends[end][dim];
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(draw_index(random, list.size() + 1)),
                name);
  }
  if (draw(random, 0, 1) == 0) spelling.global[dim] *= size;
}

/// One dimension more, or one less that nothing is spread over.
inline void change_rank(Random& random, Spelled& spelling) {
  if (draw(random, 0, 1) == 0 && spelling.global.size() < static_cast<std::size_t>(most_rank)) {
    spelling.global.push_back(draw_from(random, spelling.axes).size *
                              draw_from(random, spelling.axes).size);
    for (auto& lists : spelling.ends) lists.emplace_back();
    return;
  }
  const std::size_t dim = draw_index(random, spelling.global.size());
  if (spelling.global.size() == 1) return;
  if (!spelling.ends[0][dim].empty() || !spelling.ends[1][dim].empty()) return;
  spelling.global.erase(spelling.global.begin() + static_cast<std::ptrdiff_t>(dim));
  for (auto& lists : spelling.ends) lists.erase(lists.begin() + static_cast<std::ptrdiff_t>(dim));
}

/// One to three changes.
inline Spelled neighbour(Random& random, Spelled spelling) {
  constexpr std::array<Size, 6> sizes = {2, 3, 4, 5, 6, 7};
  for (Size changes = draw(random, 1, 3); changes > 0; --changes) {
    switch (draw(random, 0, 6)) {
      case 0:
        change_extent(random, spelling);
        break;
      case 1:
        change_axes(random, spelling);
        break;
      case 2:
        change_rank(random, spelling);
        break;
      case 3:  // another order of axes: the same names, other digits of the device number
        std::swap(draw_from(random, spelling.axes), draw_from(random, spelling.axes));
        break;
      case 4:
        draw_from(random, spelling.axes).size = draw_from(random, sizes);
        break;
      default:
        move_axis(random, spelling);
    }
  }
  return spelling;
}

/// A problem near one of these.
inline Problem draw_near(Random& random, const std::vector<Spelled>& known) {
  while (true) {
    if (auto problem = problem_of(neighbour(random, draw_from(random, known)))) return *problem;
  }
}

}  // namespace optimum
