#include "retile/whole/matching.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <variant>

#include "retile/core/names.h"
#include "retile/notation/sharding.h"
#include "retile/whole/array.h"
#include "retile/whole/evaluate.h"

namespace retile::whole {
namespace {

bool has_loops(const Module& module) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& one : computation.body) {
      if (one.id == Id::while_loop) return true;
    }
  }
  return false;
}

class Matcher {
 public:
  Matcher(const Module& before, const Module& after, std::string before_name)
      : before_(before), after_(after), before_name_(std::move(before_name)) {}

  [[nodiscard]] Result<Matching> matching() const {
    Matching out;
    out.devices = std::max(after_.devices(), before_.devices());
    out.has_loops = has_loops(before_) || has_loops(after_);
    for (const Module* module : {&before_, &after_}) note_numbers(*module, out);
    const Computation& a = before_.main();
    const Computation& b = after_.main();
    if (std::min(after_.devices(), before_.devices()) > 1 &&
        after_.devices() != before_.devices()) {
      return refuse(Code::bad_argument,
                    fmt::format("{} before, but {} after", counted(before_.devices(), "device"),
                                counted(after_.devices(), "device")));
    }
    if (a.parameters.size() != b.parameters.size()) {
      return refuse(Code::bad_argument, fmt::format("{} before, but {} after",
                                                    counted(a.parameters.size(), "parameter"),
                                                    counted(b.parameters.size(), "parameter")));
    }
    if (a.results.size() != b.results.size()) {
      return refuse(Code::bad_argument,
                    fmt::format("{} before, but {} after", counted(a.results.size(), "result"),
                                counted(b.results.size(), "result")));
    }
    if (same_types(a, a.parameters, b, b.parameters) && same_types(a, a.results, b, b.results) &&
        !are_tiles()) {
      out.is_per_device = are_per_device();
      for (const ValueId one : a.parameters)
        out.starts.push_back(uncut(type_of(a, one), out.devices));
      for (const ValueId one : a.results) out.ends.push_back(uncut(type_of(a, one), out.devices));
      return out;
    }
    out.is_partitioned = true;
    for (std::size_t k = 0; k < a.parameters.size(); ++k) {
      auto cut = cut_of(said(before_.starts[k], after_.starts[k]), type_of(a, a.parameters[k]),
                        type_of(b, b.parameters[k]), fmt::format("parameter {}", k), out.devices);
      if (!cut) return refuse(cut.error());
      out.starts.push_back(*std::move(cut));
    }
    for (std::size_t k = 0; k < a.results.size(); ++k) {
      auto cut = cut_of(said(before_.ends[k], after_.ends[k]), type_of(a, a.results[k]),
                        type_of(b, b.results[k]), fmt::format("result {}", k), out.devices);
      if (!cut) return refuse(cut.error());
      out.ends.push_back(*std::move(cut));
    }
    return out;
  }

 private:
  /// Whether arguments of one type before and after are tiles nevertheless: an extent of 1 that is
  /// cut has tiles of its own type, of which all but one are padding, and so have addends of a sum.
  [[nodiscard]] bool are_tiles() const {
    if (before_.is_partitioned || after_.devices() == 1) return false;
    const auto is_told = [](const End& end) { return end.sharding.has_value(); };
    const bool is_global = std::any_of(after_.starts.begin(), after_.starts.end(), is_told) ||
                           std::any_of(after_.ends.begin(), after_.ends.end(), is_told);
    return after_.is_partitioned ||
           (!is_global && (are_tiles_of(before_.starts, before_.main().parameters) ||
                           are_tiles_of(before_.ends, before_.main().results)));
  }
  [[nodiscard]] bool are_tiles_of(const std::vector<End>& ends,
                                  const std::vector<ValueId>& values) const {
    for (std::size_t k = 0; k < ends.size(); ++k) {
      const ArrayType& type = type_of(before_.main(), values[k]);
      const auto cut = cut_of(ends[k], type, type, "", after_.devices());
      if (!cut) continue;
      const auto is_part = [&](const Box& box) { return box.extent != type.extents; };
      const bool has_parts = std::any_of(cut->boxes.begin(), cut->boxes.end(), is_part);
      if (has_parts || !cut->addends.empty()) return true;
    }
    return false;
  }
  /// Whether both texts are of one device, each of which has arguments of its own: the partitioner
  /// names them so, replicas always do, and so does what exchanges without saying how arrays lie.
  [[nodiscard]] bool are_per_device() const {
    if (before_.is_partitioned && after_.is_partitioned) return true;
    if (before_.replicas > 1 && after_.replicas > 1) return true;
    const auto is_told = [](const End& end) { return end.sharding.has_value(); };
    return std::none_of(before_.starts.begin(), before_.starts.end(), is_told) &&
           std::none_of(before_.ends.begin(), before_.ends.end(), is_told) &&
           before_.devices() > 1 && is_of_one_device(before_);
  }
  static void note_numbers(const Module& module, Matching& out) {
    constexpr std::size_t most = 16;  // of one constant: others are tables
    for (const Computation& computation : module.computations) {
      for (const Value& value : computation.values) {
        if (!value.type.kind.is_real()) continue;
        const auto bits = static_cast<int>(value.type.kind.format->mantissa_bits);
        out.coarsest = std::max(out.coarsest, std::ldexp(1, 1 - bits));
      }
      for (const Instruction& one : computation.body) {
        const auto* literal = std::get_if<Literal>(&one.detail);
        if (literal == nullptr || literal->words.size() > most) continue;
        const ElementKind& kind = type_of(computation, one.results[0]).kind;
        if (kind.form != ElementKind::Form::integer) continue;
        out.integers.insert(out.integers.end(), literal->words.begin(), literal->words.end());
      }
    }
  }
  [[nodiscard]] static bool is_of_one_device(const Module& module) {
    bool exchanges = false;
    for (const Computation& computation : module.computations) {
      for (const Instruction& one : computation.body) {
        if (std::holds_alternative<ManualDetail>(one.detail)) return false;
        exchanges = exchanges || depends_on_device(one);
      }
    }
    return exchanges;
  }
  [[nodiscard]] static bool same_types(const Computation& a, const std::vector<ValueId>& some,
                                       const Computation& b, const std::vector<ValueId>& others) {
    return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                      [&](ValueId x, ValueId y) { return type_of(a, x) == type_of(b, y); });
  }
  /// Shardy's text says how its tiles are cut, which the text before it need not say.
  [[nodiscard]] static const End& said(const End& before, const End& after) {
    return before.sharding ? before : after;
  }
  [[nodiscard]] Result<Cut> cut_of(const End& end, const ArrayType& global, const ArrayType& tile,
                                   const std::string& what, Size devices) const {
    if (global.kind != tile.kind) {
      return refuse(Code::bad_argument, fmt::format("{} is {} before, but {} after", what,
                                                    text_of(global), text_of(tile)));
    }
    Cut out = uncut(global, devices);
    out.tile = tile;
    Shape expected = global.extents;
    if (end.sharding && !global.extents.empty()) {
      ShardingContext context;
      context.mesh = end.mesh;
      context.shape = global.extents;
      context.devices = devices;
      context.in_boxes = true;
      auto sharding = parse_sharding(*end.sharding, context, before_name_);
      if (!sharding) return refuse(sharding.error());
      if (sharding->layout.devices() != devices) {
        return refuse(Code::bad_argument,
                      fmt::format("{} is cut for {}, but there are {}", what,
                                  counted(sharding->layout.devices(), "device"), devices));
      }
      if (auto added = set_addends(sharding->layout, what, out); !added) {
        return refuse(added.error());
      }
      out.boxes = sharding->layout.boxes();
      expected = sharding->layout.tile();
    }
    if (tile.extents.size() != global.extents.size() || !holds(tile.extents, expected)) {
      return refuse(
          {.code = Code::bad_argument,
           .message = fmt::format("{} is {} after, but a tile of {} is [{}]", what, text_of(tile),
                                  text_of(global), fmt::join(expected, ",")),
           .notes = notes_on_tile(end, global, tile, what)});
    }
    return out;
  }
  /// What may be the reason of another tile than the text before says.
  [[nodiscard]] static std::vector<std::string> notes_on_tile(const End& end,
                                                              const ArrayType& global,
                                                              const ArrayType& tile,
                                                              const std::string& what) {
    if (tile.extents.size() != global.extents.size()) return {};
    const bool is_larger = std::equal(tile.extents.begin(), tile.extents.end(),
                                      global.extents.begin(), std::greater_equal<>());
    if (is_larger) return {"it is larger after the pass: BEFORE and AFTER may be swapped"};
    if (end.sharding) return {};
    return {fmt::format("the text before says no sharding of {}: retile validate {} says it", what,
                        what.starts_with("result") ? "--to" : "--from")};
  }
  [[nodiscard]] static bool holds(const Shape& tile, const Shape& box) { return tile == box; }
  [[nodiscard]] static Result<void> set_addends(const Layout& layout, const std::string& what,
                                                Cut& out) {
    if (!layout.addends()) return {};
    if (layout.addends()->addition != Addition::sum ||
        out.global.kind.form == ElementKind::Form::truth) {
      return refuse(Code::unsupported,
                    fmt::format("{} is made of several devices, but is no sum", what));
    }
    out.addend_count = layout.addend_count();
    for (Size d = 0; d < layout.devices(); ++d) out.addends.push_back(layout.addend(d));
    return {};
  }

  const Module& before_;
  const Module& after_;
  std::string before_name_;
};

}  // namespace

Cut uncut(const ArrayType& type, Size devices) {
  const Box box{.at = Shape(type.extents.size(), 0), .extent = type.extents};
  return {.boxes = std::vector<Box>(static_cast<std::size_t>(devices), box),
          .global = type,
          .tile = type};
}

Result<Matching> matching_of(const Module& before, const Module& after,
                             const std::string& before_name) {
  return Matcher(before, after, before_name).matching();
}

}  // namespace retile::whole
