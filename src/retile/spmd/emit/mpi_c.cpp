#include "mpi_c.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "loops.h"
#include "retile/core/layout_facts.h"
#include "retile/core/names.h"
#include "retile/emit/c_steps.h"
#include "retile/exec/exchange/direct.h"
#include "retile/spmd/judge.h"
#include "texts.h"

namespace retile::spmd {

namespace {

using emit::with_rank;

/// Boxes of all parameters and the result that are listed at most.
constexpr std::size_t most_boxes = std::size_t{1} << 18;

constexpr std::string_view headers[] = {"float.h", "math.h",   "mpi.h",   "stdint.h",
                                        "stdio.h", "stdlib.h", "string.h"};

std::string braces(const Shape& numbers) { return fmt::format("{{{}}}", fmt::join(numbers, ", ")); }

/// A part of the module's text in a comment of one line, which nothing in it may end or continue.
std::string comment(std::string_view text) {
  std::string out = "  // ";
  for (const char c : text.substr(0, text.find('\n'))) {
    const bool is_plain = c >= ' ' && c <= '~' && c != '\\' && c != '?';
    out += is_plain ? c : '.';
  }
  return out + "\n";
}

std::vector<std::size_t> arguments_of(const Statement& statement) {
  if (const auto* op = std::get_if<SpmdOp>(&statement.op)) return op->arguments;
  return {std::get<RedistributeOp>(statement.op).argument};
}

std::vector<Shape> shapes_of(const Layout& layout) {
  std::vector<Shape> out;
  for (Size d = 0; d < layout.devices(); ++d) out.push_back(layout.local_shape(d));
  return out;
}

class Writer {
 public:
  Writer(const Module& module, std::string_view text, std::vector<Route> routes)
      : module_(module), text_(text), routes_(std::move(routes)) {}

  std::string written() {
    name_values();
    rank_ = largest_rank();
    const std::string steps = module_function();
    const std::string parameters = run_function();
    const std::string denoted = denoted_function();
    const std::string result = result_tables();
    std::string out = std::string(c_head);
    for (const std::string_view name : headers) out += fmt::format("#include <{}>\n", name);
    if (steps.find("cblas_") != std::string::npos) {
      out += "#ifndef NO_CBLAS\n#include <cblas.h>\n#endif\n";
    }
    out += c_types;
    out += fmt::format("enum {{ DEVICES = {}, RANK = {} }};\n", module_.devices, rank_);
    out += std::string(emit::c_helpers()) + std::string(c_elements);
    out += per_device_.tables() + tables_ + "\n" + steps;
    out += below_table();
    return out + std::string(c_numbers) + boxes_ + parameters + denoted + result +
           std::string(c_tail);
  }

 private:
  [[nodiscard]] std::size_t returned() const { return module_.returned[0].value; }
  [[nodiscard]] const Layout& layout(std::size_t x) const {
    return module_.values[x].type.layout();
  }

  /// Names of C that say which value it is: `v2_hidden`.
  void name_values() {
    for (std::size_t x = 0; x < module_.values.size(); ++x) {
      std::string name = fmt::format("v{}_", x);
      for (const char c : module_.values[x].name) {
        if (continues_name(c) && c != '-' && c != '.') name += c;
      }
      names_.push_back(std::move(name));
      std::vector<Shape> shapes;
      for (Size d = 0; d < module_.devices; ++d) shapes.push_back(module_.values[x].type.shape(d));
      values_.push_back({names_.back(), std::move(shapes)});
    }
  }
  [[nodiscard]] std::size_t largest_rank() const {
    std::size_t out = 1;
    for (const Value& value : module_.values) out = std::max(out, value.type.layout().rank());
    for (const Route& route : routes_) out = std::max(out, route.program.from.rank());
    return out;
  }

  /// An array of the extents of every device's tile.
  std::string shape_table(const std::vector<Shape>& shapes) {
    const auto [entry, is_new] =
        shape_names_.try_emplace(shapes, fmt::format("S{}", shape_names_.size()));
    if (is_new) {
      tables_ += fmt::format("static const int64_t {}[][RANK] = {{", entry->second);
      for (std::size_t d = 0; d < shapes.size(); ++d) {
        tables_ += (d > 0 ? ", " : "") + braces(with_rank(shapes[d], rank_, 1));
      }
      tables_ += "};\n";
    }
    return entry->second;
  }

  /// Of parameters that are indices what they are below, of others 0.
  [[nodiscard]] std::string below_table() const {
    std::vector<Size> below = {};
    for (std::size_t x = 0; x < module_.parameters; ++x) {
      below.push_back(module_.values[x].below.value_or(0));
    }
    if (below.empty()) below.push_back(0);
    return fmt::format("\nstatic const int64_t BELOW[] = {{{}}};\n", fmt::join(below, ", "));
  }

  std::string module_function() {
    const std::vector<std::size_t> last = last_uses();
    std::string head;
    std::string body;
    for (std::size_t x = 0; x < module_.parameters; ++x) {
      head += fmt::format("{}element *{}", x > 0 ? ", " : "", names_[x]);
      if (last[x] == 0) body += fmt::format("  free({});\n", names_[x]);
    }
    Loops loops({.type = "element", .space = "space", .prefix = ""}, per_device_);
    std::size_t route = 0;
    for (std::size_t s = 0; s < module_.body.size(); ++s) {
      const Statement& statement = module_.body[s];
      body += comment(text_.substr(statement.lines.span.begin,
                                   statement.lines.span.end - statement.lines.span.begin));
      // Statements are counted from 1 here: 0 is the module's head.
      if (const auto* op = std::get_if<SpmdOp>(&statement.op)) {
        body += computed(*op, statement.value, loops);
      } else {
        body += moved(routes_[route++], last[arguments_of(statement)[0]] == s + 1);
      }
      for (std::size_t x = 0; x <= statement.value; ++x) {
        const bool is_taken =
            std::holds_alternative<RedistributeOp>(statement.op) && x != statement.value;
        const bool is_unused = x == statement.value && last[x] == 0;
        if ((last[x] == s + 1 && !is_taken) || is_unused) {
          body += fmt::format("  free({});\n", names_[x]);
        }
      }
    }
    return fmt::format(
        "/* Frees the parameters' tiles, and returns the result's. */\n"
        "element *module({}) {{\n{}  return {};\n}}\n",
        head, body, names_[returned()]);
  }
  /// The last statement that reads a value, counted from 1; 0: none does; the result is read at the end.
  [[nodiscard]] std::vector<std::size_t> last_uses() const {
    std::vector<std::size_t> out(module_.values.size(), 0);
    for (std::size_t s = 0; s < module_.body.size(); ++s) {
      for (const std::size_t x : arguments_of(module_.body[s])) out[x] = s + 1;
    }
    out[returned()] = module_.body.size() + 1;
    return out;
  }

  std::string computed(const SpmdOp& op, std::size_t value, Loops& loops) {
    std::vector<CArray> known;
    for (const std::size_t x : op.arguments) known.push_back(values_[x]);
    const std::size_t arguments = known.size();
    for (const auto& [name, e] : op.definitions) known.push_back(loops.array_of(e, known));
    const CArray result = loops.array_of(op.result, known);
    const bool is_argument =
        std::any_of(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(arguments),
                    [&](const CArray& array) { return array.name == result.name; });
    std::string out = loops.taken_text();
    loops.free_others(result);
    const std::string freed = loops.taken_text();
    out += fmt::format("  element *{} = {};\n", names_[value],
                       is_argument ? copy_text(result.name, values_[value]) : result.name);
    return out + freed;
  }
  std::string copy_text(const std::string& name, const CArray& array) {
    std::vector<Size> counts;
    for (const Shape& shape : array.shapes) counts.push_back(*checked_product(shape));
    return fmt::format("copy_of({}, {})", name, per_device_.of(counts));
  }

  std::string moved(const Route& route, bool is_last_use) {
    const Statement& statement = module_.body[route.statement];
    const std::size_t x = arguments_of(statement)[0];
    const std::string& name = names_[statement.value];
    auto steps = steps_of(route.program, name);
    if (!steps && steps.error().code == Code::unsupported) {
      const auto exchange = direct(route.program);
      steps = exchange ? steps_of(*exchange, name) : refuse(exchange.error());
    }
    if (!steps) text::fail_with(statement.place, steps.error());
    return fmt::format("  element *{} = {};\n{}", name,
                       is_last_use ? names_[x] : copy_text(names_[x], values_[x]), *steps);
  }
  Result<std::string> steps_of(const Program& program, const std::string& name) {
    std::string from;
    std::string to;
    if (std::any_of(program.steps.begin(), program.steps.end(), is_exchange)) {
      from = shape_table(shapes_of(program.from)) + "[rank]";
      to = shape_table(shapes_of(program.to)) + "[rank]";
    }
    return emit::c_steps(program,
                         {.tile = name, .from_shape = from, .to_shape = to, .rank = rank_});
  }

  /// Makes the parameters' tiles and calls `module`.
  std::string run_function() {
    std::string calls;
    for (std::size_t x = 0; x < module_.parameters; ++x) {
      const Layout& of = layout(x);
      const std::string shapes = shape_table(values_[x].shapes);
      const auto [table, count] = box_table(fmt::format("B{}", x), of);
      std::vector<Size> addends;
      for (Size d = 0; d < module_.devices; ++d) addends.push_back(of.addend(d));
      calls +=
          fmt::format("{}\n                tile_of({}, {}[rank], (const int64_t[]){}, {}, {}, {})",
                      x > 0 ? "," : "", x, shapes, braces(with_rank(of.global(), rank_, 1)), table,
                      count, per_device_.of(addends));
    }
    return fmt::format("element *run_module(void) {{\n  return module({});\n}}\n", calls);
  }
  /// Rows of boxes, at least one, which of device -1 is nobody's; and how many.
  std::pair<std::string, std::size_t> box_table(const std::string& name, const Layout& of) {
    std::size_t count = 0;
    boxes_ += fmt::format("static const int64_t {}[][BOX] = {{", name);
    const auto add = [&](Size device, const Shape& place, const Shape& at, const Shape& extent) {
      boxes_ += fmt::format("{}{{{}, {}, {}, {}}}", count > 0 ? ", " : "", device,
                            fmt::join(with_rank(place, rank_, 0), ", "),
                            fmt::join(with_rank(at, rank_, 0), ", "),
                            fmt::join(with_rank(extent, rank_, 1), ", "));
      ++count;
    };
    for (Size d = 0; d < module_.devices; ++d) {
      for (const TilePart& part : of.parts(d)) {
        if (++listed_ > most_boxes) {
          text::fail(module_.body.empty() ? module_.returned[0].type.place : module_.body[0].place,
                     {Code::limit_reached,
                      "the tiles of parameters and result have more than 2^18 boxes, "
                      "which C would list"});
        }
        add(d, part.place, part.box.at, part.box.extent);
      }
    }
    const Shape none(of.rank(), 0);
    if (count == 0) add(-1, none, none, none);
    boxes_ += "};\n";
    return {name, count};
  }

  /// What the module denotes, by loops.
  std::string denoted_function() {
    PerDevice one;  // extents of whole arrays are numbers
    Loops loops({.type = "num", .space = "num_space", .prefix = "num_", .multiplies = false}, one);
    std::vector<CArray> wholes;
    std::string begin;
    std::string end;
    for (std::size_t x = 0; x < module_.parameters; ++x) {
      const Layout& of = layout(x);
      const Addition addition = addition_or_sum(of);
      wholes.push_back({fmt::format("p{}", x), {of.global()}});
      begin += fmt::format("  num *p{0} = whole({0}, {1}, {2}, {3});\n", x, of.global_size(),
                           of.addend_count(), emit::c_operation(addition));
    }
    for (const auto& [name, e] : module_.denotes->definitions) {
      wholes.push_back(loops.array_of(e, wholes));
    }
    const CArray result = loops.array_of(module_.denotes->results[0], wholes);
    const std::string body = loops.taken_text();
    loops.free_others(result);
    wholes.resize(module_.parameters);  // the others are freed as all arrays of the loops
    for (const CArray& array : wholes) {
      if (array.name != result.name) end += fmt::format("  free({});\n", array.name);
    }
    return fmt::format("num *denoted(void) {{\n{}{}{}{}  return {};\n}}\n", begin, body,
                       loops.taken_text(), end, result.name);
  }

  /// Where the result lies, and who holds the addends of the same tile.
  std::string result_tables() {
    const Layout& of = layout(returned());
    const std::size_t before = boxes_.size();
    const std::size_t count = box_table("RESULT_BOXES", of).second;
    std::string out = boxes_.substr(before);
    boxes_.resize(before);
    const auto rows = rows_of(of);
    out += "static const int DEVICES_OF[][ADDENDS] = {";
    for (std::size_t row = 0; row < rows.size(); ++row) {
      out += (row > 0 ? ", " : "") + braces(rows[row]);
    }
    out += fmt::format("}};\nstatic const int64_t GLOBAL[RANK] = {};\n",
                       braces(with_rank(of.global(), rank_, 1)));
    out += "static const int64_t SHAPE[][RANK] = {";
    for (std::size_t d = 0; d < values_[returned()].shapes.size(); ++d) {
      out += (d > 0 ? ", " : "") + braces(with_rank(values_[returned()].shapes[d], rank_, 1));
    }
    const Addition addition = addition_or_sum(of);
    return fmt::format(
               "enum {{ ADDENDS = {}, BOXES = {}, ROWS = {}, FIRST_DIM = {}, HAS_FUNCTIONS = {} "
               "}};\n"
               "#define ADD {}\n",
               of.addend_count(), count, rows.size(), rank_ - of.rank(),
               has_functions(module_) ? 1 : 0, emit::c_operation(addition)) +
           out + "};\n";
  }
  /// Rows of devices that hold all addends of one tile.
  static std::vector<std::vector<Size>> rows_of(const Layout& of) {
    std::map<std::vector<std::pair<Shape, Shape>>, std::vector<std::vector<Size>>> holders;
    for (Size d = 0; d < of.devices(); ++d) {
      std::vector<std::pair<Shape, Shape>> tile;
      for (const TilePart& part : of.parts(d)) tile.emplace_back(part.box.at, part.box.extent);
      auto& addends = holders[tile];
      addends.resize(static_cast<std::size_t>(of.addend_count()));
      addends[static_cast<std::size_t>(of.addend(d))].push_back(d);
    }
    std::vector<std::vector<Size>> out;
    for (const auto& [tile, addends] : holders) {
      for (std::size_t row = 0; row < addends[0].size(); ++row) {
        auto& devices = out.emplace_back();
        for (const auto& of_addend : addends) devices.push_back(of_addend[row]);
      }
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  const Module& module_;
  std::string_view text_;
  std::vector<Route> routes_;
  std::size_t rank_ = 1;
  std::vector<std::string> names_;
  std::vector<CArray> values_;
  PerDevice per_device_;
  std::map<std::vector<Shape>, std::string> shape_names_;
  std::string tables_;
  std::string boxes_;
  std::size_t listed_ = 0;
};

}  // namespace

Result<std::string> mpi_c(const Module& module, std::string_view text) {
  constexpr Size most_exact = Size{1} << 53;
  for (const Value& value : module.values) {
    if (value.below && *value.below > most_exact) {
      return refuse({.code = Code::unsupported,
                     .message = fmt::format("indices below {}, as {} has, are no doubles",
                                            *value.below, value.name)});
    }
  }
  if (!module.denotes) {
    return refuse({.code = Code::unsupported,
                   .message = "a module without denotes says nothing that a result could be "
                              "compared with"});
  }
  if (module.returned.size() > 1) {
    return refuse({.code = Code::unsupported,
                   .message = "a module that returns several arrays is not written as C"});
  }
  auto routes = routes_of(module);
  if (!routes) return refuse(routes.error());
  return text::result_of([&] { return Writer(module, text, *std::move(routes)).written(); });
}

}  // namespace retile::spmd
