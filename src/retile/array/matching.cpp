#include "matching.h"

#include <fmt/format.h>

#include <algorithm>

#include "retile/core/division.h"

namespace retile::array {

namespace {

using text::fail;

/// Where listed boxes and pieces are looked at one by one.
constexpr Size most_listed_devices = Size{1} << 16;

/// The halo with which the tiles between these cuts are the wanted ones, as text, if there is one.
std::optional<std::string> halo_of(const std::vector<Size>& at, const std::vector<Interval>& wanted,
                                   Size n) {
  Size below = 0, above = 0;
  for (std::size_t t = 0; t < wanted.size(); ++t) {
    if (wanted[t].begin == wanted[t].end) continue;
    below = std::max(below, at[t] - wanted[t].begin);
    above = std::max(above, wanted[t].end - at[t + 1]);
  }
  for (std::size_t t = 0; t < wanted.size(); ++t) {
    const bool is_empty = wanted[t].begin == wanted[t].end;
    if (is_empty != (at[t] == at[t + 1])) return std::nullopt;
    if (is_empty) continue;
    if (std::max<Size>(0, at[t] - below) != wanted[t].begin) return std::nullopt;
    if (std::min(n, at[t + 1] + above) != wanted[t].end) return std::nullopt;
  }
  return below + above == 0 ? "" : fmt::format("<{},{}>", below, above);
}

bool has_no_value(const Subscript& subscript, const std::vector<Interval>& ranges) {
  return std::any_of(subscript.factors.begin(), subscript.factors.end(), [&](const auto& factor) {
    return ranges[factor.first].begin == ranges[factor.first].end;
  });
}

/// How long i + k + .. must be for each variable to have its number of values: 1, and for each variable
/// its factor times one less than its number. Below 0 where too many have none.
Size length_of_sum(const Subscript& subscript, const std::vector<Interval>& ranges) {
  Size out = 1;
  for (const auto& [v, factor] : subscript.factors) {
    out += factor * (ranges[v].end - ranges[v].begin - 1);
  }
  return out;
}

/// What stands for a sum of which a variable has no value: nothing is read, but the others must be
/// as long as they are.
Interval around_nothing(const Subscript& subscript, const std::vector<Interval>& ranges) {
  Interval out = {subscript.constant, 0};
  for (const auto& [v, factor] : subscript.factors) {
    if (ranges[v].begin < ranges[v].end) out.begin += factor * ranges[v].begin;
  }
  out.end = out.begin + std::max<Size>(length_of_sum(subscript, ranges), 0);
  return out;
}

}  // namespace

Size Cut::pieces() const {
  Size out = 1;
  for (const Digit& digit : digits) out *= digit.size;
  return out;
}

Size Cut::number(Size device) const {
  Size out = 0;
  for (std::size_t k = digits.size(); k-- > 0;) {
    out = out * digits[k].size + device / digits[k].stride % digits[k].size;
  }
  return out;
}

std::string Grid::text(const Cut& cut) const {
  std::string out;
  for (const Digit& digit : cut.digits) {
    std::string name = fmt::format("{}:{}", digit.stride, digit.size);
    Size stride = devices;
    for (const auto& [axis, size] : axes) {
      stride /= size;
      if (digit == Digit{stride, size}) name = axis;
    }
    out += (out.empty() ? "" : ",") + name;
  }
  return out;
}

std::vector<Use> uses_of(const Statement& statement, std::vector<std::size_t>& use_of) {
  std::vector<Use> out;
  const auto factors = [](const Subscript& s) { return s.factors; };
  for (const Access& access : statement.reads) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const Use& use) {
      bool is_same = use.array == access.array;
      for (std::size_t i = 0; i < access.subscripts.size() && is_same; ++i) {
        is_same = factors(use.subscripts[i][0]) == factors(access.subscripts[i]);
      }
      return is_same;
    });
    use_of.push_back(static_cast<std::size_t>(same - out.begin()));
    if (same == out.end()) {
      out.push_back({access.array, std::vector<std::vector<Subscript>>(access.subscripts.size())});
    }
    for (std::size_t i = 0; i < access.subscripts.size(); ++i) {
      out[use_of.back()].subscripts[i].push_back(access.subscripts[i]);
    }
  }
  return out;
}

Use written_by(const Statement& statement) {
  Use out = {statement.out.array, {}};
  for (const Subscript& subscript : statement.out.subscripts) out.subscripts.push_back({subscript});
  return out;
}

bool is_written(const Statement& statement, std::size_t variable) {
  const auto& subscripts = statement.out.subscripts;
  return std::any_of(subscripts.begin(), subscripts.end(),
                     [variable](const Subscript& out) { return out.factors[0].first == variable; });
}

std::string addition_of(const Statement& statement, const Grid& grid, const Cuts& cuts) {
  std::string digits;
  for (std::size_t v = 0; v < statement.variables.size(); ++v) {
    if (is_written(statement, v) || !cuts[v]) continue;
    const Size p = cuts[v]->pieces(), n = statement.variables[v].extent;
    const Interval last = piece_of(n, p, p - 1);
    if (statement.meeting != Meeting::add && last.begin == last.end) {
      fail(statement.place, {Code::unsupported, "a piece without work has no maximum or minimum"});
    }
    digits += (digits.empty() ? "" : ",") + grid.text(*cuts[v]);
  }
  const char* const word = statement.meeting == Meeting::max   ? "max"
                           : statement.meeting == Meeting::min ? "min"
                                                               : "sum";
  return digits.empty() ? "" : fmt::format("{}{{{}}}", word, digits);
}

std::string Matching::layout(const Use& use, const Shape& shape,
                             const std::string& addition) const {
  std::string out = addition + "[";
  std::vector<std::size_t> cut;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    // A type has an axis once: not the box that x[i,i] needs.
    for (const auto& [v, factor] : use.subscripts[i][0].factors) {
      if (cuts_[v] && std::count(cut.begin(), cut.end(), v) > 0) return listed(use, shape);
      if (cuts_[v]) cut.push_back(v);
    }
    const auto dim = dimension(use.subscripts[i], shape[i]);
    if (!dim) return listed(use, shape);
    out += (i > 0 ? ", " : "") + *dim;
  }
  return out + "]";
}

std::vector<Interval> Matching::ranges(Size device) const {
  std::vector<Interval> out;
  for (std::size_t v = 0; v < cuts_.size(); ++v) {
    const Size n = statement_.variables[v].extent;
    out.push_back(cuts_[v] ? piece_of(n, cuts_[v]->pieces(), cuts_[v]->number(device))
                           : Interval{0, n});
  }
  return out;
}

bool Matching::is_cut(const Subscript& subscript) const {
  const auto here = [&](const auto& factor) { return cuts_[factor.first].has_value(); };
  return std::any_of(subscript.factors.begin(), subscript.factors.end(), here);
}

Interval Matching::box_of(const std::vector<Subscript>& subscripts,
                          const std::vector<Interval>& ranges) const {
  const Subscript& s = subscripts[0];
  if (s.factors.size() > 1 && has_no_value(s, ranges) && length_of_sum(s, ranges) < 0) {
    fail(statement_.place,
         {Code::unsupported, "a sum of variables that have no value on a device has no layout"});
  }
  return constraint(subscripts, ranges);
}

/// The dimension as a type has it: whole, or cut by the one variable of it that is cut, with a halo
/// where neighbours' elements are needed, too. What is whole may have more than is needed.
std::optional<std::string> Matching::dimension(const std::vector<Subscript>& subscripts,
                                               Size n) const {
  std::optional<std::size_t> cut;
  for (const auto& [v, factor] : subscripts[0].factors) {
    if (!cuts_[v]) continue;
    if (cut) return std::nullopt;
    cut = v;
  }
  if (!cut) return fmt::format("{}", n);
  std::vector<Interval> ranges;
  for (const Variable& variable : statement_.variables) ranges.push_back({0, variable.extent});
  const Size extent = statement_.variables[*cut].extent, pieces = cuts_[*cut]->pieces();
  const std::string digit = "{" + grid_.text(*cuts_[*cut]) + "}" + fmt::format("{}", n);
  if (pieces > most_listed_devices) return std::nullopt;
  std::vector<Interval> wanted;
  std::vector<Size> at = {0};
  for (Size t = 0; t < pieces; ++t) {
    ranges[*cut] = piece_of(extent, pieces, t);
    wanted.push_back(box_of(subscripts, ranges));
    at.push_back(ranges[*cut].end == extent ? n : ranges[*cut].end);
  }
  const Size block = ceil_div(n, pieces);
  std::vector<Size> blocks = {0};
  for (Size t = 1; t <= pieces; ++t) blocks.push_back(t <= n / block ? t * block : n);
  for (const bool lists : {false, true}) {
    const std::vector<Size>& cuts = lists ? at : blocks;
    const auto halo = halo_of(cuts, wanted, n);
    if (!halo) continue;
    const std::string spelling =
        lists ? fmt::format("({})", fmt::join(cuts, ",")) : fmt::format("{}", block);
    return spelling + digit + *halo;
  }
  return std::nullopt;
}

std::string Matching::listed(const Use& use, const Shape& shape) const {
  if (grid_.devices > most_listed_devices) {
    fail(statement_.place,
         {Code::limit_reached, "more than 2^16 devices, whose boxes no type says"});
  }
  Shape largest(shape.size(), 0);
  std::vector<std::string> at, extents;
  for (Size d = 0; d < grid_.devices; ++d) {
    const auto values = ranges(d);
    Shape begin, extent;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const Interval box =
          is_cut(use.subscripts[i][0]) ? box_of(use.subscripts[i], values) : Interval{0, shape[i]};
      begin.push_back(box.begin == box.end ? 0 : box.begin);
      extent.push_back(box.end - box.begin);
      largest[i] = std::max(largest[i], extent[i]);
    }
    at.push_back(fmt::format("[{}]", fmt::join(begin, ",")));
    extents.push_back(fmt::format("[{}]", fmt::join(extent, ",")));
  }
  return fmt::format("tile=[{}] global=[{}] at=[{}] shapes=[{}]", fmt::join(largest, ","),
                     fmt::join(shape, ","), fmt::join(at, ","), fmt::join(extents, ","));
}

bool may_leave_out(std::string_view layout) { return layout.starts_with("tile="); }

Interval piece_of(Size n, Size p, Size t) {
  const Size b = ceil_div(n, p);
  const auto at = [&](Size k) { return b == 0 || k > n / b ? n : b * k; };
  return {at(t), at(t + 1)};
}

Interval constraint(const std::vector<Subscript>& subscripts, const std::vector<Interval>& ranges) {
  std::optional<Interval> out;
  for (const Subscript& s : subscripts) {
    Interval here = {s.constant, s.constant};
    if (has_no_value(s, ranges)) {
      if (s.factors.size() == 1) return {0, 0};
      const Interval around = around_nothing(s, ranges);
      if (!out) out = around;
      out = Interval{std::min(out->begin, around.begin), std::max(out->end, around.end)};
      continue;
    }
    for (const auto& [v, factor] : s.factors) {
      const auto [begin, end] = ranges[v];
      here.begin += factor * (factor > 0 ? begin : end - 1);
      here.end += factor * (factor > 0 ? end - 1 : begin);
    }
    ++here.end;
    if (!out) out = here;
    out = Interval{std::min(out->begin, here.begin), std::max(out->end, here.end)};
  }
  return out.value_or(Interval{});
}

}  // namespace retile::array
