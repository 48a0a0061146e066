// Random Programs that the forms can say, right and wrong ones alike, and texts around them:
// spelled otherwise, or damaged.
//
// As in generators.h a value is decoded from a source of choices, and 0 is the simplest choice. The
// Programs keep every rule that makes a text a Program; whether their steps apply and their claims
// hold is left to chance.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/program/forms/text.h"
#include "retile/program/program.h"
#include "support/generators.h"

namespace support {

struct ProgramBounds {
  retile::Size max_devices = 24;
  std::size_t max_rank = 3;
  std::size_t max_steps = 4;
};

/// Choices from a seed, for loops that count what they saw.
inline Choose seeded(std::uint64_t seed) {
  return [engine = std::mt19937_64(seed)](retile::Size bound) mutable {
    return static_cast<retile::Size>(engine() % static_cast<std::uint64_t>(bound));
  };
}

namespace detail {

inline bool maybe(const Choose& choose, retile::Size one_in) {
  return choose(one_in) == one_in - 1;
}

inline std::vector<retile::Size> divisors(retile::Size n) {
  std::vector<retile::Size> out;
  for (retile::Size d = 1; d <= n; ++d) {
    if (n % d == 0) out.push_back(d);
  }
  return out;
}

/// Extents >= 1 with this product; extents of 1 may stand anywhere.
inline retile::Shape choose_factors(const Choose& choose, retile::Size product) {
  retile::Shape out;
  for (int i = 0; i < 4 && (product > 1 || maybe(choose, 4)); ++i) {
    const auto fitting = divisors(product);
    const retile::Size factor =
        i == 3 ? product : fitting[fitting.size() - 1 - pick_index(choose, fitting.size())];
    out.push_back(factor);
    product /= factor;
  }
  return out;
}

inline std::vector<retile::Size> choose_permutation(const Choose& choose, retile::Size count) {
  std::vector<retile::Size> out;
  for (retile::Size i = 0; i < count; ++i) {
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(choose(i + 1)), i);
  }
  return out;
}

}  // namespace detail

/// A chain of up to three stages over `size` numbers, none of which is a lone `[size]`.
inline retile::IotaChain choose_chain(const Choose& choose, retile::Size size) {
  retile::IotaChain out(size);
  const auto stages = detail::pick_index(choose, 4);
  for (std::size_t s = 0; s < stages; ++s) {
    retile::IotaStage stage;
    stage.shape = detail::choose_factors(choose, size);
    const bool transposes = !stage.shape.empty() && !detail::maybe(choose, 4);
    if (transposes) {
      for (const retile::Size k :
           detail::choose_permutation(choose, static_cast<retile::Size>(stage.shape.size()))) {
        stage.transpose.push_back(static_cast<std::size_t>(k));
      }
    }
    if (stages == 1 && !transposes && stage.shape.size() == 1) return out;
    out.append(std::move(stage));
  }
  return out;
}

/// Groups: an iota over all or some devices, regular rows, or any rows of existing devices.
inline retile::DeviceTable choose_groups(const Choose& choose, retile::Size devices) {
  switch (choose(4)) {
    case 0: {
      const auto size = detail::maybe(choose, 6) ? 1 + choose(devices) : devices;
      return retile::DeviceTable::iota(choose_chain(choose, size),
                                       detail::pick(choose, detail::divisors(size)));
    }
    case 1:
    case 2: {
      const auto columns = detail::pick(choose, detail::divisors(devices));
      const auto entries = detail::choose_permutation(choose, devices);
      std::vector<std::vector<retile::Size>> rows;
      for (auto entry = entries.begin(); entry != entries.end(); entry += columns) {
        rows.emplace_back(entry, entry + columns);
      }
      return retile::DeviceTable::rows(std::move(rows));
    }
    default: {
      std::vector<std::vector<retile::Size>> rows(detail::pick_index(choose, 4));
      for (auto& row : rows) {
        row.resize(detail::pick_index(choose, 4));
        for (auto& device : row) device = choose(devices);
      }
      return retile::DeviceTable::rows(std::move(rows));
    }
  }
}

/// One entry per device below `bound`; with `any_length` sometimes another number of entries.
inline retile::DeviceTable choose_list(const Choose& choose, retile::Size devices,
                                       retile::Size bound, bool any_length) {
  if (bound >= devices && choose(3) == 0)
    return retile::DeviceTable::iota(choose_chain(choose, devices), devices);
  if (bound == devices && choose(2) == 0) {
    return retile::DeviceTable::list(detail::choose_permutation(choose, devices));
  }
  const bool odd = any_length && detail::maybe(choose, 4);
  std::vector<retile::Size> entries(odd ? detail::pick_index(choose, 5)
                                        : static_cast<std::size_t>(devices));
  for (auto& entry : entries) entry = choose(bound);
  return retile::DeviceTable::list(std::move(entries));
}

/// A mesh of `devices` devices, not always one that has names for what is cut.
inline retile::Mesh choose_mesh_of(const Choose& choose, retile::Size devices) {
  static const std::vector<std::string> names = {"x", "y", "z", "w", "v"};
  retile::Shape sizes = detail::choose_factors(choose, devices);
  if (sizes.empty()) sizes.push_back(devices);
  std::vector<retile::Axis> axes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    axes.push_back({i == 0 && detail::maybe(choose, 6) ? "a # b" : names[i], sizes[i]});
  }
  return detail::value(retile::Mesh::make(std::move(axes)));
}

/// A tile map in digits of the device number, of an array of this shape.
inline retile::Layout choose_compact(const Choose& choose, retile::Size devices,
                                     const retile::Shape& global) {
  retile::Shape tile = global;
  std::vector<std::vector<retile::Digit>> digits(global.size());
  retile::Size stride = devices;
  for (const retile::Size size : detail::choose_factors(choose, devices)) {
    stride /= size;
    std::vector<std::size_t> fitting;
    for (std::size_t i = 0; i < tile.size(); ++i) {
      if (size > 1 && tile[i] % size == 0) fitting.push_back(i);
    }
    const std::size_t place = detail::pick_index(choose, fitting.size() + 1);
    if (place == fitting.size()) continue;  // replicates
    auto& list = digits[fitting[place]];
    list.insert(
        list.begin() + static_cast<std::ptrdiff_t>(detail::pick_index(choose, list.size() + 1)),
        retile::Digit{.stride = stride, .size = size});
    tile[fitting[place]] /= size;
  }
  return detail::value(
      retile::Layout::compact(devices, global, std::move(tile), std::move(digits)));
}

/// Boxes anywhere in the array.
inline retile::Layout choose_explicit(const Choose& choose, retile::Size devices,
                                      const retile::Shape& global) {
  retile::Shape tile;
  for (const retile::Size extent : global) tile.push_back(1 + choose(extent));
  std::vector<retile::Size> at;
  for (retile::Size d = 0; d < devices; ++d) {
    for (std::size_t i = 0; i < global.size(); ++i) at.push_back(choose(global[i] - tile[i] + 1));
  }
  return detail::value(retile::Layout::listed(devices, global, std::move(tile), std::move(at)));
}

inline retile::Step choose_step(const Choose& choose, retile::Size devices,
                                const retile::Shape& global) {
  const std::size_t rank = global.size();
  retile::Step out;
  static const std::vector<retile::Size> any = {
      1, 2, 0, 3, 12, 1'000'000, std::numeric_limits<retile::Size>::max()};
  const auto dim = [&] { return detail::pick_index(choose, rank); };
  switch (rank == 0 ? 3 : choose(4)) {
    case 0:
      if (choose(2) == 0) {
        out.op = retile::Dynslice{.dim = dim(), .pieces = choose_groups(choose, devices)};
      } else {
        retile::PartList parts;
        parts.parts = 1 + choose(devices + 2);
        parts.part = choose_list(choose, devices, parts.parts, false);
        out.op = retile::Dynslice{.dim = dim(), .pieces = std::move(parts)};
      }
      break;
    case 1:
      out.op = retile::Allgather{.dim = dim(), .groups = choose_groups(choose, devices)};
      break;
    case 2:
      out.op = retile::Alltoall{
          .split = dim(), .concat = dim(), .groups = choose_groups(choose, devices)};
      break;
    default:
      if (choose(3) == 2) {
        retile::Exchange exchange;
        exchange.transfers.resize(detail::pick_index(choose, 5));
        const auto number = [&choose] { return detail::pick(choose, any); };
        for (auto& transfer : exchange.transfers) {
          transfer.target = choose(devices);
          transfer.source = choose(devices);
          for (std::size_t i = 0; i < rank; ++i) {
            transfer.target_start.push_back(number());
            transfer.source_start.push_back(number());
            transfer.shape.push_back(std::max<retile::Size>(number(), 1));
          }
        }
        out.op = std::move(exchange);
        auto& tile = out.claims.tile.emplace();
        while (tile.size() < rank) tile.push_back(std::max<retile::Size>(number(), 1));
      } else if (choose(2) == 0) {
        out.op = retile::Allpermute{.source = choose_list(choose, devices, devices, true)};
      } else {
        retile::PairList pairs(detail::pick_index(choose, 5));
        for (auto& pair : pairs) pair = {choose(devices), choose(devices)};
        out.op = retile::Allpermute{.source = std::move(pairs)};
      }
  }
  if (!out.claims.tile && choose(2) == 0) {
    auto& tile =
        out.claims.tile.emplace(detail::maybe(choose, 6) ? detail::pick_index(choose, 4) : rank);
    for (auto& extent : tile) extent = detail::pick(choose, any);
  }
  if (choose(3) == 0) out.claims.map = choose_compact(choose, devices, global);
  if (detail::maybe(choose, 6)) {
    auto& at = out.claims.at.emplace(rank * static_cast<std::size_t>(devices));
    for (auto& offset : at) offset = detail::pick(choose, any);
  }
  return out;
}

inline retile::Program choose_program(const Choose& choose, const ProgramBounds& bounds = {}) {
  retile::Program out;
  out.devices = 1 + choose(bounds.max_devices);
  if (!detail::maybe(choose, 4)) {
    out.mesh = choose_mesh(choose, {.max_devices = bounds.max_devices});
    out.devices = out.mesh->device_count();
  }
  if (detail::maybe(choose, 4)) {
    const retile::Mesh other = choose_mesh_of(choose, out.devices);
    if (other != out.mesh) out.mesh_to = other;
  }
  static const std::vector<retile::Size> extents = {1, 2, 6, 12, 24, 5, 60, 1LL << 20};
  retile::Shape global(detail::pick_index(choose, bounds.max_rank + 1));
  for (auto& extent : global) extent = detail::pick(choose, extents);
  const auto tiling = [&] {
    return detail::maybe(choose, 5) ? choose_explicit(choose, out.devices, global)
                                    : choose_compact(choose, out.devices, global);
  };
  out.from = tiling();
  out.to = tiling();
  const std::size_t steps = detail::pick_index(choose, bounds.max_steps + 1);
  for (std::size_t s = 0; s < steps; ++s)
    out.steps.push_back(choose_step(choose, out.devices, global));
  return out;
}

inline rc::Gen<retile::Program> programs(ProgramBounds bounds = {}) {
  constexpr std::size_t choices = 400;  // more are 0
  const auto number =
      rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, 5040 * 11));
  return rc::gen::map(rc::gen::container<std::vector<std::uint32_t>>(choices, number),
                      [bounds](const std::vector<std::uint32_t>& numbers) {
                        std::size_t next = 0;
                        const Choose choose = [&](retile::Size bound) -> retile::Size {
                          return next < numbers.size() ? retile::Size{numbers[next++]} % bound : 0;
                        };
                        return choose_program(choose, bounds);
                      });
}

// ---- Texts --------------------------------------------------------------------------------------

/// The tokens of a text form, line ends among them; whatever is no token is one byte.
inline std::vector<std::string> program_tokens(std::string_view text) {
  std::vector<std::string> out;
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
  };
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t begin = i++;
    const char c = text[begin];
    if (c == ' ') continue;
    if (text.substr(begin, 16) == "retile.program/1") {
      i = begin + 16;
    } else if (c == '"') {
      while (i < text.size() && text[i] != '"' && text[i] != '\n') ++i;
      if (i < text.size() && text[i] == '"') ++i;
    } else if (text.substr(begin, 2) == "<=") {
      i = begin + 2;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0) ++i;
    } else if (in_word(c)) {
      while (i < text.size() && in_word(text[i])) ++i;
    }
    out.emplace_back(text.substr(begin, i - begin));
  }
  return out;
}

/// The same Program in another spelling: blanks, tabs, comments, empty lines, CRLF, leading zeros,
/// keys without blanks.
inline std::string choose_spelling(const Choose& choose, std::string_view text) {
  const bool crlf = detail::maybe(choose, 4);
  const retile::Size noise = 2 + choose(20);  // the larger, the calmer
  const auto is_word = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
  };
  std::string out;
  for (const std::string& token : program_tokens(text)) {
    if (token == "\n") {
      if (detail::maybe(choose, noise))
        out += " # \"quotes\", [brackets] and \x01\xFF mean nothing here";
      out += crlf ? "\r\n" : "\n";
      if (detail::maybe(choose, noise)) out += "\t\n";
      continue;
    }
    // Two words need a blank between them, and so do two numbers; a word may follow a number at
    // once.
    const bool digit = std::isdigit(static_cast<unsigned char>(token.front())) != 0;
    const bool touches = !out.empty() && in_word(out.back()) && (is_word(token.front()) || digit);
    if (touches && (digit || std::isdigit(static_cast<unsigned char>(out.back())) == 0 ||
                    !detail::maybe(choose, 3))) {
      out += ' ';
    }
    if (detail::maybe(choose, noise)) out += detail::maybe(choose, 2) ? "\t " : " ";
    if (digit && detail::maybe(choose, noise)) out += "00";
    out += token;
  }
  if (detail::maybe(choose, 8) && !out.empty()) out.pop_back();  // no line end at the end
  return out;
}

namespace detail {

inline std::string joined(const std::vector<std::string>& tokens) {
  std::string out;
  for (const std::string& token : tokens) {
    if (!out.empty() && std::isalnum(static_cast<unsigned char>(out.back())) != 0) out += ' ';
    out += token;
  }
  return out;
}

/// Damage that leaves the syntax alone, mostly, so that other rules have their say.
inline void damage_meaning(const Choose& choose, std::vector<std::string>& tokens) {
  static const std::vector<std::string> numbers = {"1",
                                                   "2",
                                                   "3",
                                                   "4",
                                                   "6",
                                                   "0",
                                                   "2147483648",
                                                   "4294967296",
                                                   "4611686018427387904",
                                                   "9223372036854775807"};
  std::vector<std::size_t> names;      // `x` of `x:4`
  std::vector<std::size_t> in_braces;  // names of digits
  std::vector<std::size_t> digits;     // numbers
  bool braces = false;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const char first = tokens[t].front();
    const bool name =
        first == '"' || first == '_' || std::isalpha(static_cast<unsigned char>(first)) != 0;
    if (tokens[t] == "{") braces = true;
    if (tokens[t] == "}") braces = false;
    if (name && t + 1 < tokens.size() && tokens[t + 1] == ":") names.push_back(t);
    if (name && braces) in_braces.push_back(t);
    if (std::isdigit(static_cast<unsigned char>(first)) != 0) digits.push_back(t);
  }
  const auto pick_token = [&](const auto& matches) {
    std::vector<std::size_t> found;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      if (matches(t)) found.push_back(t);
    }
    return found.empty() ? tokens.size() : pick(choose, found);
  };
  const auto is_op = [&](std::size_t t) {
    return tokens[t] == "dynslice" || tokens[t] == "allgather" || tokens[t] == "alltoall" ||
           tokens[t] == "allpermute" || tokens[t] == "exchange";
  };
  const auto is_key = [&](std::size_t t) {
    return t + 1 < tokens.size() && tokens[t + 1] == "=" &&
           std::isalpha(static_cast<unsigned char>(tokens[t].front())) != 0;
  };
  const auto kind = choose(10);
  if (kind >= 6) {
    static const std::vector<std::string> keys = {
        "dim=0",           "split=0",           "concat=0",
        "groups=[[0]]",    "groups=[1,1]<=[1]", "groups=[1]<=[1]",
        "groups=[1]",      "part=[0]",          "parts=1",
        "part=[1]<=[1]",   "part=[1,1]<=[1]",   "source=[0]",
        "source=[1]<=[1]", "source=[1,1]<=[1]", "pairs=[]",
        "pairs=[[0]]",     "tile=[1]",          "map=[1]",
        "at=[[0]]",        "transfers=[]",      "transfers=[[0,0,0,0,1]]"};
    static const std::vector<std::string> ops = {"dynslice", "allgather", "alltoall", "allpermute",
                                                 "exchange", "pad",       "transpose"};
    std::size_t at = tokens.size();
    if (kind == 6) at = pick_token([&](std::size_t t) { return tokens[t] == "<="; });
    if (kind == 7 || kind == 8) at = pick_token(is_op);
    if (kind == 9) at = pick_token(is_key);
    if (at == tokens.size()) return;
    if (kind == 6) tokens[at] = choose(2) == 0 ? "< =" : "<";
    if (kind == 7) tokens[at] = pick(choose, ops);
    if (kind == 8)
      tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                    " " + pick(choose, keys) + " ");
    if (kind == 9) {  // the key and its value
      std::size_t end = at + 1;
      while (end < tokens.size() && tokens[end] != "\n" && !is_key(end)) ++end;
      tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at),
                   tokens.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return;
  }
  if (kind == 0 && names.size() > 1) tokens[pick(choose, names)] = tokens[pick(choose, names)];
  if (kind == 1 && !names.empty() && !in_braces.empty())
    tokens[pick(choose, in_braces)] = tokens[pick(choose, names)];
  if (kind == 2 && !in_braces.empty())
    tokens[pick(choose, in_braces)] += ":" + pick(choose, numbers);
  if (kind == 3 && !digits.empty()) {  // the same number everywhere
    const std::string old = tokens[pick(choose, digits)];
    std::replace(tokens.begin(), tokens.end(), old, pick(choose, numbers));
  }
  if (kind == 4 && digits.size() > 1)
    std::swap(tokens[pick(choose, digits)], tokens[pick(choose, digits)]);
  if (kind == 5 &&
      !in_braces.empty()) {  // a name by a digit of the same size, if the mesh has it once
    const std::size_t place = pick(choose, in_braces);
    for (const std::size_t name : names) {
      if (tokens[name] == tokens[place] && name + 2 < tokens.size()) {
        tokens[place] = pick(choose, numbers) + ":" + tokens[name + 2];
        break;
      }
    }
  }
}

}  // namespace detail

/// A text with one to three places damaged, byte by byte or token by token; some stay Programs.
inline std::string choose_damage(const Choose& choose, std::string text) {
  static const std::vector<std::string> words = {"0",
                                                 "1",
                                                 "2",
                                                 "3",
                                                 "7",
                                                 "24",
                                                 "00",
                                                 "9223372036854775807",
                                                 "9223372036854775808",
                                                 "2147483648",
                                                 "-1",
                                                 "[",
                                                 "]",
                                                 "[]",
                                                 "[[]]",
                                                 "{",
                                                 "}",
                                                 "(",
                                                 ")",
                                                 ",",
                                                 ":",
                                                 "=",
                                                 "<=",
                                                 "< =",
                                                 "\"",
                                                 "\"x\"",
                                                 "#",
                                                 "\n",
                                                 "\r",
                                                 "\r\n",
                                                 "\t",
                                                 " ",
                                                 std::string(1, '\0'),
                                                 "\xC3\xA9",
                                                 ";",
                                                 "T",
                                                 "T(0)",
                                                 "T(1,0)",
                                                 "t",
                                                 "x",
                                                 "y",
                                                 "x:2",
                                                 "1:2",
                                                 "2:3",
                                                 "2:1",
                                                 "retile.program/1",
                                                 "retile.program/2",
                                                 "retile",
                                                 "mesh",
                                                 "devices",
                                                 "from",
                                                 "to",
                                                 "dynslice",
                                                 "allgather",
                                                 "alltoall",
                                                 "allpermute",
                                                 "reshape",
                                                 "concat",
                                                 "exchange",
                                                 "dim=0",
                                                 "split=0",
                                                 "concat=1",
                                                 "groups=[[0]]",
                                                 "groups=[1,1]<=[1]",
                                                 "parts=2",
                                                 "part=[0]",
                                                 "source=[0]",
                                                 "pairs=[[0,0]]",
                                                 "pairs=[[0]]",
                                                 "transfers=[[0,0,0,0,1]]",
                                                 "transfers=[[0,0]]",
                                                 "tile=[1]",
                                                 "map=[1]",
                                                 "at=[[0]]",
                                                 "global=[1]",
                                                 "<=[1]",
                                                 "<=[]",
                                                 "\nmesh x:2,y:3\n",
                                                 "\nmesh x:1\n",
                                                 "\ndevices 6\n",
                                                 "\nfrom [1]\n",
                                                 "\nto []\n",
                                                 "\ndevices 2147483649\n",
                                                 "1{}1",
                                                 "2{1:2}4"};
  const auto edits = 1 + choose(3);
  for (retile::Size e = 0; e < edits; ++e) {
    if (text.empty()) return text;
    const auto kind = choose(16);
    if (kind >= 10) {
      auto tokens = program_tokens(text);
      detail::damage_meaning(choose, tokens);
      text = detail::joined(tokens);
    } else if (kind < 3) {  // bytes
      const std::size_t at = detail::pick_index(choose, text.size());
      if (kind == 0) text.erase(at, 1 + detail::pick_index(choose, 3));
      if (kind == 1)
        text[at] = static_cast<char>(detail::maybe(choose, 4) ? choose(256) : 32 + choose(96));
      if (kind == 2) text.insert(at, detail::pick(choose, words));
    } else if (kind < 8) {  // tokens
      auto tokens = program_tokens(text);
      if (tokens.empty()) return text;
      const std::size_t at = detail::pick_index(choose, tokens.size());
      const std::size_t other = detail::pick_index(choose, tokens.size());
      const auto place = tokens.begin() + static_cast<std::ptrdiff_t>(at);
      if (kind == 3) tokens.erase(place);
      if (kind == 4) tokens.insert(place, tokens[other]);
      if (kind == 5) std::swap(tokens[at], tokens[other]);
      if (kind == 6) *place = detail::pick(choose, words);
      if (kind == 7) {  // numbers are where most rules are
        for (std::size_t k = 0; k < tokens.size(); ++k) {
          auto& token = tokens[(at + k) % tokens.size()];
          if (std::isdigit(static_cast<unsigned char>(token.front())) != 0) {
            token = std::to_string(choose(30));
            break;
          }
        }
      }
      text = detail::joined(tokens);
    } else {  // lines
      std::vector<std::string> lines(1);
      for (const char c : text) {
        lines.back() += c;
        if (c == '\n') lines.emplace_back();
      }
      const std::size_t at = detail::pick_index(choose, lines.size());
      const std::size_t other = detail::pick_index(choose, lines.size());
      const auto place = lines.begin() + static_cast<std::ptrdiff_t>(at);
      if (kind == 8) lines.erase(place);
      if (kind == 9) std::swap(lines[at], lines[other]);
      text.clear();
      for (const std::string& line : lines) text += line;
    }
  }
  return text;
}

}  // namespace support

namespace retile {

inline void showValue(const Program& program, std::ostream& os) { os << '\n' << to_text(program); }
inline void PrintTo(const Program& program, std::ostream* os) { showValue(program, *os); }

}  // namespace retile

namespace rc {

template <>
struct Arbitrary<retile::Program> {
  static Gen<retile::Program> arbitrary() { return support::programs(); }
};

}  // namespace rc
