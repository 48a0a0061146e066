// Shardings on fewer devices.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <set>

#include "retile/whole/moves.h"

namespace retile::whole {
namespace {

/// `devices=[2,1,2]<=[4]T(..) last_tile_dim_replicate`: the grid, which device stands where, and what
/// follows.
struct Grid {
  Shape extents;
  std::vector<Size> devices;
  std::string behind;
};

std::vector<Size> numbers_in(std::string_view text) {
  std::vector<Size> out;
  for (std::size_t k = 0; k < text.size();) {
    Size number = 0;
    const auto read = std::from_chars(text.data() + k, text.data() + text.size(), number);
    if (read.ec == std::errc()) {
      out.push_back(number);
      k = static_cast<std::size_t>(read.ptr - text.data());
    } else {
      ++k;
    }
  }
  return out;
}

Size product(const Shape& extents) { return checked_product(extents).value_or(0); }

/// The numbers 0, 1, .. in a grid whose dimensions are turned.
std::vector<Size> turned(const Shape& grid, const std::vector<Size>& order) {
  std::vector<Size> out;
  const Size count = product(grid);
  for (Size position = 0; position < count; ++position) {
    Size left = position;
    Size number = 0;
    Shape at(grid.size(), 0);
    for (std::size_t k = order.size(); k-- > 0;) {
      const auto dim = static_cast<std::size_t>(order[k]);
      at[dim] = left % grid[dim];
      left /= grid[dim];
    }
    for (std::size_t k = 0; k < grid.size(); ++k) number = number * grid[k] + at[k];
    out.push_back(number);
  }
  return out;
}

/// What stands behind `devices=[..]`, as a list.
std::optional<std::vector<Size>> listed(std::string_view text) {
  if (text.substr(0, 2) != "<=") return numbers_in(text);
  const std::size_t close = text.find(']');
  if (close == std::string_view::npos) return std::nullopt;
  const Shape grid = numbers_in(text.substr(0, close));
  std::vector<Size> order;
  const std::size_t turn = text.find('T');
  if (turn != std::string_view::npos) {
    order = numbers_in(text.substr(turn));
  } else {
    for (std::size_t k = 0; k < grid.size(); ++k) order.push_back(static_cast<Size>(k));
  }
  std::set<Size> dims(order.begin(), order.end());
  const bool is_order = order.size() == grid.size() && dims.size() == grid.size() &&
                        (dims.empty() || *dims.rbegin() < static_cast<Size>(grid.size()));
  if (!is_order) return std::nullopt;
  return turned(grid, order);
}

std::optional<Grid> grid_of(std::string_view sharding, Size devices) {
  constexpr std::string_view head = "{devices=[";
  const std::size_t close = sharding.find(']');
  if (sharding.substr(0, head.size()) != head || close == std::string_view::npos) {
    return std::nullopt;
  }
  Grid out;
  out.extents = numbers_in(sharding.substr(head.size(), close - head.size()));
  const std::size_t end = std::min(sharding.find_first_of(" }", close), sharding.size());
  const auto list = listed(sharding.substr(close + 1, end - close - 1));
  if (!list || static_cast<Size>(list->size()) != devices || product(out.extents) != devices) {
    return std::nullopt;
  }
  out.devices = *list;
  out.behind = std::string(sharding.substr(end));
  return out;
}

}  // namespace

std::string with_axis(std::string_view sharding, std::string_view axis, Size to) {
  std::string out(sharding);
  const std::string name = fmt::format("'{}'", axis);
  for (std::size_t k = out.rfind(name); k != std::string::npos && k > 0;
       k = out.rfind(name, k - 1)) {
    std::size_t end = k + name.size();
    const bool is_size = out[end] == '=';
    while (end < out.size() && out[end] != ',' && out[end] != '}' && out[end] != ']') ++end;
    if (to > 1) {
      if (is_size) out.replace(k, end - k, fmt::format("{}={}", name, to));
      continue;
    }
    if (out[end] == ',') {
      ++end;
      while (end < out.size() && out[end] == ' ') ++end;
    } else {
      while (k > 0 && (out[k - 1] == ' ' || out[k - 1] == ',')) --k;
    }
    out.erase(k, end - k);
  }
  return out.find("mesh[]") != std::string::npos ? "{replicated}" : out;
}

std::optional<std::string> with_digit_zero(std::string_view sharding, Size devices, Size stride,
                                           Size base) {
  if (sharding.find("devices=") == std::string_view::npos) return std::string(sharding);
  const std::optional<Grid> grid = grid_of(sharding, devices);
  if (!grid) return std::nullopt;
  std::vector<std::set<Size>> seen(grid->extents.size());
  std::vector<Size> kept;
  for (std::size_t position = 0; position < grid->devices.size(); ++position) {
    const Size device = grid->devices[position];
    if (device / stride % base != 0) continue;
    kept.push_back(device / (stride * base) * stride + device % stride);
    auto left = static_cast<Size>(position);
    for (std::size_t k = grid->extents.size(); k-- > 0; left /= grid->extents[k]) {
      seen[k].insert(left % grid->extents[k]);
    }
  }
  Shape extents;
  for (const std::set<Size>& values : seen) extents.push_back(static_cast<Size>(values.size()));
  // Positions are in order, so what is kept is a grid of its own where the counts say so.
  if (product(extents) != static_cast<Size>(kept.size())) return std::nullopt;
  const bool is_last_of_copies = grid->behind.find("last_tile_dim_replicate") != std::string::npos;
  const auto tiles = product(
      is_last_of_copies && !extents.empty() ? Shape(extents.begin(), extents.end() - 1) : extents);
  if (tiles == 1) return "{replicated}";
  return fmt::format("{{devices=[{}]{}{}", fmt::join(extents, ","), fmt::join(kept, ","),
                     grid->behind);
}

}  // namespace retile::whole
