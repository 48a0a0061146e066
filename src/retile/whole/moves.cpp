#include "retile/whole/moves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <set>

namespace retile::whole {
namespace {

using Moves = std::vector<Move<Draft>>;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A text in which each number is another one.
template <typename Change>
std::string with_numbers_changed(std::string_view text, const Change& change) {
  std::string out;
  for (std::size_t k = 0; k < text.size();) {
    std::size_t end = k;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end == k) {
      out += text[k++];
      continue;
    }
    Size number = 0;
    const auto read = std::from_chars(text.data() + k, text.data() + end, number);
    out += read.ec == std::errc() ? std::to_string(change(number))
                                  : std::string(text.substr(k, end - k));
    k = end;
  }
  return out;
}

// Results.

Moves fewer_results(const Draft& draft) {
  Moves out;
  const std::size_t count = result_count(draft);
  const auto keep = [](std::vector<std::size_t> kept) {
    return [kept = std::move(kept)](Draft& next) {
      keep_results(next, kept);
      drop_unused(next);
      return true;
    };
  };
  if (count < 2) return out;
  for (std::size_t k = 0; k < count; ++k) {
    out.push_back({.key = fmt::format("result {} alone of {}", k, count), .make = keep({k})});
  }
  for (std::size_t k = count; k-- > 0;) {
    std::vector<std::size_t> kept(count);
    std::iota(kept.begin(), kept.end(), std::size_t{0});
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(k));
    out.push_back({.key = fmt::format("result {} of {}", k, count), .make = keep(kept)});
  }
  return out;
}

/// `ROOT (f32[4]) tuple(x)`: the array itself.
Moves no_tuple(const Draft& draft) {
  const DraftInstruction& root = draft.entry().root();
  const bool is_alone = root.opcode == "tuple" && root.operands.size() == 1 &&
                        root.operands.front().find('#') == std::string::npos;
  if (!is_alone) return {};
  return {{.key = "no tuple", .make = [](Draft& next) {
             DraftInstruction& tuple = next.entry().root();
             const auto shardings = parts_within(tuple.attribute("sharding"));
             tuple.set("sharding", shardings.size() == 1 ? shardings.front() : "{replicated}");
             replace_uses(next.entry(), tuple.name, std::string(tuple.operands.front()));
             drop_unused(next);
             return true;
           }}};
}

// Operations.

/// How many instructions are left without one of them.
std::size_t left_without(const Draft& draft, const std::string& name) {
  Draft next = draft;
  make_parameter(*next.entry().find(name), parameter_count(next));
  drop_dead(next);
  return operations_of(next);
}

/// An operation is a new parameter; what goes away with it counts.
Moves cuts(const Draft& draft) {
  std::vector<std::pair<std::size_t, std::string>> order;
  for (const DraftInstruction& one : draft.entry().body) {
    if (one.is_parameter() || one.is_tuple() || one.opcode == "constant") continue;
    order.emplace_back(left_without(draft, one.name), one.name);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Moves out;
  for (const auto& [left, name] : order) {
    out.push_back({.key = "cut " + name, .make = [name = name](Draft& next) {
                     make_parameter(*next.entry().find(name), parameter_count(next));
                     drop_unused(next);
                     return true;
                   }});
  }
  return out;
}

/// What stands for an instruction: operands of its type, what a tuple was made of, and what goes into
/// the operation whose part it takes.
std::vector<std::string> stand_ins(const DraftComputation& in, const DraftInstruction& one) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& operand) {
    const DraftInstruction* made = in.find(name_in(operand));
    if (made != nullptr && operand.find('#') == std::string::npos && made->type == one.type) {
      out.push_back(operand);
    }
  };
  for (const std::string& operand : one.operands) add(operand);
  if (one.opcode != "get-tuple-element" || one.operands.empty()) return out;
  const DraftInstruction* whole = in.find(name_in(one.operands.front()));
  if (whole == nullptr) return out;
  for (const std::string& operand : whole->operands) {
    add(operand);
    const DraftInstruction* tuple = in.find(name_in(operand));
    if (tuple == nullptr || tuple->opcode != "tuple") continue;
    for (const std::string& part : tuple->operands) add(part);
  }
  return out;
}

Moves operands_instead(const Draft& draft) {
  Moves out;
  for (std::size_t c = draft.computations.size(); c-- > 0;) {
    const DraftComputation& in = draft.computations[c];
    for (std::size_t k = in.body.size(); k-- > 0;) {
      const DraftInstruction& one = in.body[k];
      for (const std::string& other : stand_ins(in, one)) {
        out.push_back({.key = fmt::format("{}: {} is {}", in.name, one.name, other),
                       .make = [in = in.name, name = one.name, other](Draft& next) {
                         for (DraftComputation& each : next.computations) {
                           if (each.name == in) replace_uses(each, name, other);
                         }
                         drop_unused(next);
                         return true;
                       }});
      }
    }
  }
  return out;
}

// Words.

constexpr std::string_view sharding_word = "sharding";

bool is_said_cut(std::string_view sharding) {
  return !sharding.empty() && sharding != "{replicated}" && sharding.front() == '{';
}

Moves fewer_shardings(const Draft& draft) {
  Moves out;
  const auto drop = [](DraftInstruction& one) { one.drop(sharding_word); };
  const auto is_inner = [](const DraftInstruction& one) {
    return !one.is_parameter() && !one.is_root && !one.attribute(sharding_word).empty();
  };
  out.push_back({.key = "no inner sharding", .make = [=](Draft& next) {
                   for (DraftInstruction& one : next.entry().body) {
                     if (is_inner(one)) drop(one);
                   }
                   return true;
                 }});
  for (const DraftInstruction& one : draft.entry().body) {
    const std::string_view said = one.attribute(sharding_word);
    if (is_inner(one)) {
      out.push_back(
          {.key = "no sharding of " + one.name, .make = [=, name = one.name](Draft& next) {
             drop(*next.entry().find(name));
             return true;
           }});
    }
    if (is_said_cut(said) && !one.is_tuple()) {
      out.push_back({.key = "whole " + one.name, .make = [name = one.name](Draft& next) {
                       next.entry().find(name)->set(sharding_word, "{replicated}");
                       return true;
                     }});
    }
  }
  return out;
}

Moves fewer_attributes(const Draft& draft) {
  std::set<std::string> names;
  for (const DraftComputation& in : draft.computations) {
    for (const DraftInstruction& one : in.body) {
      for (const auto& [name, value] : one.attributes) names.insert(name);
    }
  }
  names.erase(std::string(sharding_word));
  Moves out;
  for (const std::string& name : names) {
    out.push_back({.key = "no " + name, .make = [name](Draft& next) {
                     for (DraftComputation& in : next.computations) {
                       for (DraftInstruction& one : in.body) one.drop(name);
                     }
                     return true;
                   }});
  }
  return out;
}

// Devices.

/// The axes that shardings name, with their sizes.
std::map<std::string, Size> named_axes(const Draft& draft) {
  std::map<std::string, Size> out;
  for (const DraftInstruction& one : draft.entry().body) {
    const std::string_view text = one.attribute(sharding_word);
    for (std::size_t k = text.find('\''); k < text.size(); k = text.find('\'', k)) {
      const std::size_t end = text.find('\'', k + 1);
      if (end == std::string_view::npos) break;
      Size size = 0;
      if (text.substr(end, 2) == "'=") {
        std::from_chars(text.data() + end + 2, text.data() + text.size(), size);
        out[std::string(text.substr(k + 1, end - k - 1))] = size;
      }
      k = end + 1;
    }
  }
  return out;
}

/// The divisors of a number that are primes.
std::vector<Size> primes_of(Size number) {
  std::vector<Size> out;
  for (Size prime = 2; prime <= number; ++prime) {
    if (number % prime == 0) out.push_back(prime);
    while (number % prime == 0) number /= prime;
  }
  return out;
}

/// \param change  a sharding's words, or nothing
template <typename Change>
bool change_shardings(Draft& draft, const Change& change) {
  for (DraftComputation& in : draft.computations) {
    for (DraftInstruction& one : in.body) {
      const std::string_view said = one.attribute(sharding_word);
      if (said.empty()) continue;
      const bool is_tuple = said.substr(0, 2) == "{{";
      std::vector<std::string> parts =
          is_tuple ? parts_within(said) : std::vector<std::string>{std::string(said)};
      for (std::string& part : parts) {
        const std::optional<std::string> other = change(part);
        if (!other) return false;
        part = *other;
      }
      one.set(sharding_word, is_tuple ? fmt::format("{{{}}}", fmt::join(parts, ", ")) : parts[0]);
    }
  }
  return true;
}

Moves fewer_devices(const Draft& draft) {
  Moves out;
  const Size devices = draft.partitions;
  const auto axes = named_axes(draft);
  for (const auto& [axis, size] : axes) {
    std::vector<Size> sizes = {1};
    for (const Size prime : primes_of(size)) sizes.push_back(size / prime);
    for (const Size to : sizes) {
      if (to >= size || devices % size != 0) continue;
      out.push_back({.key = fmt::format("axis {} of {}", axis, to),
                     .make = [axis = axis, size = size, to](Draft& next) {
                       next.partitions = next.partitions / size * to;
                       return change_shardings(next, [&](const std::string& sharding) {
                         return std::optional(with_axis(sharding, axis, to));
                       });
                     }});
    }
  }
  if (!axes.empty()) return out;
  for (const Size prime : primes_of(devices)) {
    for (Size stride = 1; devices / stride % prime == 0; stride *= prime) {
      out.push_back({.key = fmt::format("digit {} of {}", stride, prime), .make = [=](Draft& next) {
                       next.partitions = devices / prime;
                       return change_shardings(next, [&](const std::string& sharding) {
                         return with_digit_zero(sharding, devices, stride, prime);
                       });
                     }});
    }
  }
  return out;
}

// Extents.

/// What becomes of the other extents where one becomes shorter: nothing, or those that it is a part of,
/// or a divisor of, become shorter with it.
std::vector<std::map<Size, Size>> ways_to_shorten(const std::set<Size>& all, Size from, Size to) {
  std::vector<std::map<Size, Size>> out = {{{from, to}}};
  std::map<Size, Size> multiples = {{from, to}};
  for (const Size other : all) {
    if (other > from && other % from == 0) multiples[other] = other / from * to;
  }
  out.push_back(multiples);
  for (const Size other : all) {
    if (other <= from) continue;
    out.push_back({{from, to}, {other, other - (from - to)}});
    if (other % from == 0) out.push_back({{from, to}, {other, other / from * to}});
    for (const Size third : all) {
      if (third > other) {
        out.push_back({{from, to}, {other, other - (from - to)}, {third, third - (from - to)}});
      }
    }
  }
  return out;
}

Moves shorter_extents(const Draft& draft) {
  Moves out;
  const std::set<Size> all = extents_in(draft);
  const auto add = [&](const std::map<Size, Size>& extents) {
    for (const bool with_numbers : {false, true}) {
      std::string key = with_numbers ? "numbers" : "extents";
      for (const auto& [from, to] : extents) key += fmt::format(" {}:{}", from, to);
      out.push_back({.key = key, .make = [=](Draft& next) {
                       std::optional<Draft> other = with_extents(next, extents, with_numbers);
                       if (!other) return false;
                       next = *std::move(other);
                       return true;
                     }});
    }
  };
  std::map<Size, Size> halves;
  for (const Size extent : all) {
    if (extent > 1) halves[extent] = (extent + 1) / 2;
  }
  add(halves);
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    for (const Size to : {Size{1}, *at / 2, *at - 1}) {
      if (to < 1 || to >= *at) continue;
      for (const auto& extents : ways_to_shorten(all, *at, to)) add(extents);
    }
  }
  return out;
}

/// The elements of a literal, where they are no more than words between commas.
std::optional<std::vector<std::string>> elements_of(std::string_view inside) {
  std::vector<std::string> out;
  std::string now;
  for (const char c : inside) {
    if (c == '(' || c == '"') return std::nullopt;
    if (c == '{' || c == '}' || c == ',' || c == ' ' || c == '\n') {
      if (!now.empty()) out.push_back(std::move(now));
      now.clear();
    } else {
      now += c;
    }
  }
  if (!now.empty()) out.push_back(std::move(now));
  return out;
}

/// The first elements along every dimension, in braces.
std::string literal_of(const std::vector<std::string>& elements, const Shape& from, const Shape& to,
                       std::size_t dim, Size offset) {
  if (dim == to.size()) return elements[static_cast<std::size_t>(offset)];
  Size stride = 1;
  for (std::size_t k = dim + 1; k < from.size(); ++k) stride *= from[k];
  std::vector<std::string> parts;
  for (Size k = 0; k < to[dim]; ++k) {
    parts.push_back(literal_of(elements, from, to, dim + 1, offset + k * stride));
  }
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

bool shorten_literal(DraftInstruction& one, const Shape& from) {
  const Shape to = extents_of(one.type);
  const auto elements = elements_of(one.inside);
  const auto count = checked_product(from);
  if (!elements || !count || static_cast<Size>(elements->size()) != *count) return false;
  for (std::size_t k = 0; k < to.size(); ++k) {
    if (to[k] > from[k]) return false;
  }
  one.inside = literal_of(*elements, from, to, 0, 0);
  return true;
}

bool is_of_extents(std::string_view attribute) {
  constexpr std::array<std::string_view, 5> names = {"slice", "dynamic_slice_sizes", "slice_sizes",
                                                     "fft_length", "padding"};
  return std::find(names.begin(), names.end(), attribute) != names.end();
}

/// Numbers in brackets of a type.
template <typename Change>
std::string type_changed(std::string_view type, const Change& change) {
  std::string out;
  for (std::size_t k = 0; k < type.size();) {
    const std::size_t open = std::min(type.find('[', k), type.size());
    const std::size_t close = std::min(type.find(']', open), type.size());
    out += type.substr(k, open - k);
    out += with_numbers_changed(type.substr(open, close - open), change);
    k = close;
    if (k < type.size()) out += type[k++];
  }
  return out;
}

}  // namespace

Shape extents_of(std::string_view type) {
  Shape out;
  const std::size_t open = std::min(type.find('['), type.size());
  static_cast<void>(
      with_numbers_changed(type.substr(open, type.find(']') - open),
                           [&](Size number) { return out.push_back(number), number; }));
  return out;
}

std::set<Size> extents_in(const Draft& draft) {
  std::set<Size> out;
  for (const DraftComputation& in : draft.computations) {
    for (const DraftInstruction& one : in.body) {
      for (const std::string& type : parts_within(one.type)) {
        for (const Size extent : extents_of(type)) out.insert(extent);
      }
    }
  }
  return out;
}

std::optional<Draft> with_extents(Draft draft, const std::map<Size, Size>& extents,
                                  bool with_numbers) {
  const auto change = [&](Size number) {
    const auto found = extents.find(number);
    return found == extents.end() ? number : found->second;
  };
  const auto of_window = [&](Size number) {
    // A window that takes in all of an extent is padded by one less.
    const auto found = extents.find(number + 1);
    return extents.contains(number) || found == extents.end() ? change(number) : found->second - 1;
  };
  for (DraftComputation& in : draft.computations) {
    for (DraftInstruction& one : in.body) {
      const Shape old = extents_of(one.type);
      std::string type = type_changed(one.type, change);
      const bool is_other = type != one.type;
      one.type = std::move(type);
      if (one.opcode == "constant") {
        const bool is_whole = one.type == "s32[]" || one.type == "s64[]" || one.type == "u32[]";
        if (is_other && !shorten_literal(one, old)) return std::nullopt;
        if (with_numbers && is_whole) one.inside = with_numbers_changed(one.inside, change);
      }
      for (auto& [name, value] : one.attributes) {
        if (is_of_extents(name)) value = with_numbers_changed(value, change);
        if (name == "window") value = with_numbers_changed(value, of_window);
      }
    }
  }
  return draft;
}

std::vector<Size> weight_of(const Draft& draft) {
  Size rest = 0;
  Size shardings = 0;
  Size words = 0;
  Size elements = 0;
  for (const DraftComputation& in : draft.computations) {
    for (const DraftInstruction& one : in.body) {
      rest += 1;
      shardings += is_said_cut(one.attribute(sharding_word)) ? 1 : 0;
      words += static_cast<Size>(one.attributes.size());
      for (const std::string& type : parts_within(one.type)) {
        for (const Size extent : extents_of(type)) elements += extent;
      }
    }
  }
  const DraftInstruction& root = draft.entry().root();
  const auto results = static_cast<Size>(root.opcode == "tuple" ? root.operands.size() : 1);
  return {static_cast<Size>(operations_of(draft)),
          results,
          draft.partitions,
          rest,
          shardings,
          words,
          elements};
}

std::vector<Kind<Draft>> kinds_of_moves() {
  return {fewer_results,   cuts,          operands_instead, no_tuple,
          fewer_shardings, fewer_devices, fewer_attributes, shorter_extents};
}

}  // namespace retile::whole
