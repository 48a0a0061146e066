#include "retile/array/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "matching.h"
#include "retile/program/forms/layout_reader.h"
#include "tactics.h"

namespace retile::array {

namespace {

using spmd::LocalOp;
using text::fail;

constexpr Size most_factor = 4096;  // of einsum
constexpr std::size_t most_addends = 64;
constexpr std::size_t most_text = std::size_t{1} << 20;
/// What a module may have.
constexpr Size most_devices_of_layouts = Size{1} << 16;

// Schedules.

std::size_t statement_of(const Statements& all, const std::string& name, const text::Place& place) {
  for (std::size_t s = 0; s < all.statements.size(); ++s) {
    if (all.arrays[all.statements[s].out.array].name == name) return s;
  }
  fail(place, {Code::bad_argument, fmt::format("no statement writes {}", name)});
}

std::size_t variable_of(const Statement& statement, const text::Token<std::string>& name) {
  for (std::size_t v = 0; v < statement.variables.size(); ++v) {
    if (statement.variables[v].name == name.value) return v;
  }
  fail(name.place,
       {Code::bad_argument, fmt::format("the statement has no variable {}", name.value)});
}

Grid scheduled(const Statements& all) {
  Grid out;
  std::vector<const Schedule*> of(all.statements.size());
  for (const Schedule& schedule : all.schedules) {
    const std::size_t s = statement_of(all, schedule.array, schedule.place);
    if (of[s] != nullptr)
      fail(schedule.place, {Code::bad_argument, "a second schedule of one statement"});
    of[s] = &schedule;
  }
  for (const Schedule* schedule : of) {
    if (schedule == nullptr || out.devices > 1) continue;
    for (const auto& [variable, pieces] : schedule->pieces) {
      if (pieces > 1) add_axis(out, variable.value, pieces, schedule->place);
    }
  }
  for (std::size_t s = 0; s < of.size(); ++s) {
    const Statement& statement = all.statements[s];
    out.cuts.emplace_back(statement.variables.size());
    if (of[s] == nullptr) continue;
    Size stride = out.devices;
    for (const auto& [variable, pieces] : of[s]->pieces) {
      const std::size_t v = variable_of(statement, variable);
      if (pieces == 1) continue;
      if (stride % pieces != 0 || out.cuts[s][v]) {
        fail(variable.place, {Code::bad_argument,
                              out.cuts[s][v] ? "a variable stands twice in a schedule"
                                             : "the first schedule has other numbers of devices"});
      }
      stride /= pieces;
      out.cuts[s][v] = Cut{{{stride, pieces}}};
    }
  }
  return out;
}

Grid by_tactics(const Statements& all) {
  Grid out;
  for (const Tactic& tactic : axes_of_tactics(all)) {
    add_axis(out, tactic.axis, tactic.pieces, tactic.place);
  }
  propagate(all, out);
  return out;
}

// Local operations.

/// An expression, and which variable each of its dimensions runs over.
struct Labelled {
  std::string text;
  std::vector<std::size_t> labels;
};

/// What stands for a read: its name, and how many indices at either end of a dimension are not read.
struct Source {
  std::string name;
  std::vector<std::pair<Size, Size>> trims;
};

std::string in_brackets(const std::string& text) {
  return text.find(' ') == std::string::npos ? text : "(" + text + ")";
}

/// The body of a statement as a local operation. The text is the same on all devices, and that of the
/// whole arrays but for what is trimmed.
class Body {
 public:
  Body(const Statement& statement, std::vector<Source> sources)
      : statement_(statement), sources_(std::move(sources)) {}

  std::string text() {
    std::vector<std::size_t> out, all;
    for (const Subscript& s : statement_.out.subscripts) out.push_back(s.factors[0].first);
    all = out;
    for (std::size_t v = 0; v < statement_.variables.size(); ++v) {
      if (std::count(out.begin(), out.end(), v) == 0) all.push_back(v);
    }
    if (statement_.meeting == Meeting::add || statement_.meeting == Meeting::assign) {
      std::vector<const Term*> factors;
      Size scale = 1;
      if (product(statement_.body, factors, scale) && !factors.empty() && covers(factors, out)) {
        return scaled(scale, einsum(factors, out, all));
      }
      if (all != out) return sum_of_addends(out, all);
      return spread(term(statement_.body), all).text;
    }
    Labelled body = spread(term(statement_.body), all);
    const bool is_min = statement_.meeting == Meeting::min;
    if (is_min) body.text = "neg " + in_brackets(body.text);
    for (std::size_t d = all.size(); d-- > out.size();) {
      body.text = fmt::format("reduce_max {} {}", d, in_brackets(body.text));
    }
    return is_min ? "neg " + in_brackets(body.text) : body.text;
  }

 private:
  static std::string label(std::size_t v) {
    return {static_cast<char>(v < 26 ? 'a' + v : 'A' + (v - 26))};
  }
  /// Labels are the variables' own names where all have one letter.
  [[nodiscard]] std::string named(std::size_t v) const {
    for (const Variable& variable : statement_.variables) {
      if (variable.name.size() != 1 || variable.name == "_") return label(v);
    }
    return statement_.variables[v].name;
  }
  [[nodiscard]] std::string labels(const std::vector<std::size_t>& all) const {
    std::string out;
    for (const std::size_t v : all) out += named(v);
    return out;
  }

  /// The array of a read, without what is not read of it, and without the dimensions of which one index is
  /// read: what is left there is a sum of one. A dimension with an array of indices becomes those of that array.
  /// \param takes  else such a dimension is left out, too: where nothing but the others' extents counts
  [[nodiscard]] std::string array(std::size_t read, bool takes = true) const {
    std::string out = sources_[read].name;
    for (std::size_t i = 0; i < sources_[read].trims.size(); ++i) {
      const auto [low, high] = sources_[read].trims[i];
      if (low + high > 0) out = fmt::format("trim {} {} {} {}", i, low, high, in_brackets(out));
    }
    const auto& all = statement_.reads[read].subscripts;
    for (std::size_t i = all.size(); i-- > 0;) {
      if (all[i].index && takes) {
        out = fmt::format("take {} {} {}", i, in_brackets(out), in_brackets(array(*all[i].index)));
      } else if (all[i].factors.empty()) {
        out = fmt::format("reduce_sum {} {}", i, in_brackets(out));
      }
    }
    return out;
  }
  [[nodiscard]] std::string subscripts(const Access& access) const {
    std::string out;
    for (const Subscript& s : access.subscripts) {
      out += s.index ? subscripts(statement_.reads[*s.index]) : subscript(s, access);
    }
    return out;
  }
  /// `2i+k`; nothing of a constant, whose dimension array() leaves out.
  [[nodiscard]] std::string subscript(const Subscript& s, const Access& access) const {
    std::string out;
    for (const auto& [v, factor] : s.factors) {
      if (factor < 1 || factor > most_factor) {
        fail(access.place,
             {Code::unsupported,
              "a variable with a factor below 1 or above 4096 has no local operation"});
      }
      out += (out.empty() ? "" : "+") + (factor == 1 ? "" : fmt::format("{}", factor)) + named(v);
    }
    return out;
  }
  void variables(const Access& access, std::vector<std::size_t>& out) const {
    for (const Subscript& s : access.subscripts) {
      if (s.index) variables(statement_.reads[*s.index], out);
      for (const auto& [v, factor] : s.factors) {
        if (std::count(out.begin(), out.end(), v) == 0) out.push_back(v);
      }
    }
  }

  /// Whether a term is a product of reads and numbers.
  static bool product(const Term& term, std::vector<const Term*>& factors, Size& scale) {
    if (term.kind == TermKind::access) factors.push_back(&term);
    if (term.kind == TermKind::number) {
      if (__builtin_mul_overflow(scale, term.number, &scale)) return false;
    }
    if (term.is(LocalOp::mul)) {
      return product(term.args[0], factors, scale) && product(term.args[1], factors, scale);
    }
    if (term.is(LocalOp::neg)) {
      scale = -scale;
      return product(term.args[0], factors, scale);
    }
    return term.kind == TermKind::access || term.kind == TermKind::number;
  }
  /// Whether factors have all these variables.
  [[nodiscard]] bool covers(const std::vector<const Term*>& factors,
                            const std::vector<std::size_t>& all) const {
    const auto found = variables_of(factors);
    return std::all_of(all.begin(), all.end(), [&](std::size_t v) {
      return std::count(found.begin(), found.end(), v) > 0;
    });
  }
  [[nodiscard]] std::vector<std::size_t> variables_of(
      const std::vector<const Term*>& factors) const {
    std::vector<std::size_t> out;
    for (const Term* factor : factors) variables(statement_.reads[factor->access], out);
    return out;
  }
  static std::string scaled(Size scale, std::string text) {
    return scale == 1 ? text : fmt::format("scale {} {}", scale, in_brackets(text));
  }
  /// \param all  what is summed over where it is not in `out`, also where no factor has it
  [[nodiscard]] std::string einsum(const std::vector<const Term*>& factors,
                                   const std::vector<std::size_t>& out,
                                   const std::vector<std::size_t>& all) const {
    std::string in, operands;
    for (const Term* factor : factors) {
      in += (in.empty() && factor == factors.front() ? "" : ",") +
            subscripts(statement_.reads[factor->access]);
      operands += " " + in_brackets(array(factor->access));
    }
    auto more = unknown(factors);
    const auto found = variables_of(factors);
    for (const std::size_t v : all) {
      if (std::count(found.begin(), found.end(), v) == 0) more.push_back(v);
    }
    if (factors.size() == 1 && more.empty() && in == labels(out)) return array(factors[0]->access);
    for (const std::size_t v : more) {
      in += "," + named(v);
      operands += " (" + ones(v) + ")";
    }
    return fmt::format("einsum \"{}->{}\"{}", in, labels(out), operands);
  }
  /// The variables of which something else than the factors must say how far they go: in i + k one of
  /// both, unless it stands alone somewhere.
  [[nodiscard]] std::vector<std::size_t> unknown(const std::vector<const Term*>& factors) const {
    std::vector<bool> known(statement_.variables.size(), false);
    const auto unknown_in = [&](const Subscript& s) {
      std::vector<std::size_t> out;
      for (const auto& [v, one] : s.factors) {
        if (!known[v]) out.push_back(v);
      }
      return out;
    };
    std::vector<const Subscript*> all;
    for (const Term* factor : factors) {
      add_subscripts(statement_.reads[factor->access], all);
    }
    std::vector<std::size_t> out;
    for (;;) {
      const Subscript* open = nullptr;
      bool more = false;
      for (const Subscript* s : all) {
        const auto here = unknown_in(*s);
        if (here.size() == 1) more = known[here[0]] = true;
        if (here.size() > 1) open = s;
      }
      if (more) continue;
      if (open == nullptr) return out;
      const auto here = unknown_in(*open);
      const auto has_ones = [&](std::size_t v) { return alone(v).has_value(); };
      const auto v = std::find_if(here.begin(), here.end(), has_ones);
      out.push_back(v == here.end() ? here[0] : *v);
      known[out.back()] = true;
    }
  }
  void add_subscripts(const Access& access, std::vector<const Subscript*>& out) const {
    for (const Subscript& s : access.subscripts) {
      out.push_back(&s);
      if (s.index) add_subscripts(statement_.reads[*s.index], out);
    }
  }
  /// What is summed of every addend of the body: so no product of all variables is made.
  [[nodiscard]] std::string sum_of_addends(const std::vector<std::size_t>& out,
                                           const std::vector<std::size_t>& all) {
    std::vector<std::pair<const Term*, bool>> addends;  // and whether it is subtracted
    add_addends(statement_.body, false, addends);
    std::string sum;
    for (const auto& [addend, is_negative] : addends) {
      std::vector<const Term*> factors;
      Size scale = is_negative ? -1 : 1;
      std::string text;
      if (product(*addend, factors, scale) && !factors.empty() && covers(factors, out)) {
        text = scaled(scale, einsum(factors, out, all));
      } else {
        text = contracted(spread(term(*addend), all), out);
        if (is_negative) text = "neg " + in_brackets(text);
      }
      if (addends.size() == 1) return text;
      sum += " " + in_brackets(text);
    }
    return "add" + sum;
  }
  static void add_addends(const Term& term, bool is_negative,
                          std::vector<std::pair<const Term*, bool>>& out) {
    const bool is_sum = term.is(LocalOp::add) || term.is(LocalOp::sub) || term.is(LocalOp::neg);
    // A sum has at most so many operands.
    if (!is_sum || out.size() >= most_addends - term.args.size()) {
      out.emplace_back(&term, is_negative);
      return;
    }
    for (std::size_t k = 0; k < term.args.size(); ++k) {
      const bool turns = term.is(LocalOp::neg) || (term.is(LocalOp::sub) && k == 1);
      add_addends(term.args[k], is_negative != turns, out);
    }
  }
  [[nodiscard]] std::string contracted(const Labelled& body,
                                       const std::vector<std::size_t>& out) const {
    return fmt::format("einsum \"{}->{}\" {}", labels(body.labels), labels(out),
                       in_brackets(body.text));
  }

  /// A read in which a variable is a subscript, and which one; without a factor if there is one.
  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> alone(std::size_t v) const {
    std::optional<std::pair<std::size_t, std::size_t>> out;
    for (std::size_t r = 0; r < statement_.reads.size(); ++r) {
      const auto& all = statement_.reads[r].subscripts;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].factors.size() != 1 || all[i].factors[0].first != v) continue;
        if (all[i].factors[0].second == 1) return std::pair(r, i);
        if (!out) out = std::pair(r, i);
      }
    }
    return out;
  }
  /// Ones along a variable, from a read that has it.
  [[nodiscard]] std::string ones(std::size_t v) const {
    const auto found = alone(v);
    if (!found) {
      fail(statement_.place, {Code::unsupported, fmt::format("nothing is read at variable {} alone",
                                                             statement_.variables[v].name)});
    }
    const auto [r, dim] = *found;
    const auto& all = statement_.reads[r].subscripts;
    const bool has_sums = std::any_of(all.begin(), all.end(),
                                      [](const Subscript& s) { return s.factors.size() > 1; });
    if (all.size() == 1 && all[0].factors[0].second == 1) return "fill 1 " + in_brackets(array(r));
    if (!has_sums) {
      std::string own;
      for (const Subscript& s : all) own += subscript(s, statement_.reads[r]);
      return fmt::format("fill 1 (einsum \"{}->{}\" {})", own, named(v),
                         in_brackets(array(r, false)));
    }
    std::string out = array(r, false);
    std::size_t left = 0;  // dimensions that array() left
    for (const Subscript& s : all) left += s.factors.empty() ? 0U : 1U;
    for (std::size_t i = all.size(); i-- > 0;) {
      if (all[i].factors.empty()) continue;
      --left;
      if (i != dim) out = fmt::format("reduce_sum {} {}", left, in_brackets(out));
    }
    if (all[dim].factors[0].second != 1) {
      out = fmt::format("einsum \"{}->{}\" {}", subscript(all[dim], statement_.reads[r]), named(v),
                        in_brackets(out));
    }
    return "fill 1 " + in_brackets(out);
  }
  /// The expression over just these variables, in this order: repeated along those that it lacks.
  [[nodiscard]] Labelled spread(Labelled x, const std::vector<std::size_t>& to) const {
    if (x.labels == to) return x;
    std::string in = labels(x.labels), operands = " " + in_brackets(x.text);
    for (const std::size_t v : to) {
      if (std::count(x.labels.begin(), x.labels.end(), v) > 0) continue;
      in += "," + named(v);
      operands += " (" + ones(v) + ")";
    }
    return {fmt::format("einsum \"{}->{}\"{}", in, labels(to), operands), to};
  }

  Labelled term(const Term& term) {
    if (text_size_ > most_text)
      fail(statement_.place, {Code::limit_reached, "an expression too long"});
    ++text_size_;
    std::vector<const Term*> factors;
    Size scale = 1;
    if (product(term, factors, scale) && !factors.empty()) {
      const auto found = variables_of(factors);
      return {scaled(scale, einsum(factors, found, found)), found};
    }
    if (term.kind == TermKind::number) {
      if (statement_.variables.empty()) {
        if (statement_.reads.empty()) {
          fail(statement_.place, {Code::unsupported, "a number alone has no local operation"});
        }
        // What is read has one element.
        return {fmt::format("fill {} {}", term.number, in_brackets(array(0))), {}};
      }
      return {fmt::format("scale {} ({})", term.number, ones(0)), {0}};
    }
    std::vector<Labelled> parts;
    std::vector<std::size_t> all;
    for (const Term& arg : term.args) {
      parts.push_back(this->term(arg));
      for (const std::size_t v : parts.back().labels) {
        if (std::count(all.begin(), all.end(), v) == 0) all.push_back(v);
      }
    }
    for (Labelled& part : parts) part = spread(std::move(part), all);
    // A sum of sums is one of all terms, so that long ones are not deep.
    const bool is_longer = term.is(LocalOp::add) && parts[0].text.rfind("add ", 0) == 0;
    if (is_longer) return {parts[0].text + " " + in_brackets(parts[1].text), all};
    std::string out(spmd::name_of(term.op));
    for (const Labelled& part : parts) out += " " + in_brackets(part.text);
    return {std::move(out), all};
  }

  const Statement& statement_;
  std::vector<Source> sources_;
  std::size_t text_size_ = 0;
};

// The module.

class Writer {
 public:
  Writer(const Statements& all, Grid grid) : all_(all), grid_(std::move(grid)) {
    values_.resize(all.arrays.size());
    whole_.resize(all.arrays.size());
    meanings_.resize(all.arrays.size());
    for (const Array& array : all.arrays) names_.insert(array.name);
    look_for_definitions();
  }

  std::string text() {
    std::string mesh;
    for (const auto& [axis, size] : grid_.axes) {
      mesh += (mesh.empty() ? "" : ",") + fmt::format("{}:{}", axis, size);
    }
    if (mesh.empty()) mesh = "one:1";
    check_layouts(all_, mesh);
    for (std::size_t s = 0; s < all_.statements.size(); ++s) statement(s);
    std::vector<std::string> names, layouts;
    for (const Returned& one : all_.returned) {
      bring_back(one);
      names.push_back(values_[one.array]->name);
      layouts.push_back(values_[one.array]->layout);
    }
    std::string parameters;
    for (std::size_t a = 0; a < all_.arrays.size(); ++a) {
      if (parameter_[a].empty()) continue;
      parameters += (parameters.empty() ? "" : ", ") + all_.arrays[a].name + " : " + parameter_[a];
      if (const auto below = all_.arrays[a].below) parameters += fmt::format(" below {}", *below);
    }
    return fmt::format("retile.spmd/1\nmesh {}\nfn main({}) -> {}\n{}return {}\ndenotes {}\n", mesh,
                       parameters, fmt::join(layouts, ", "), lines_, fmt::join(names, ", "),
                       denoted());
  }

 private:
  struct Value {
    std::string name;
    std::string layout;
  };

  static std::string rooted(const Shape& shape) {
    return fmt::format("[{}]@0", fmt::join(shape, ", "));
  }

  /// Where something that is written is read several times, or several arrays are returned, all are defined.
  void look_for_definitions() {
    is_defined_.assign(all_.arrays.size(), false);
    std::vector<int> reads(all_.arrays.size(), 0);
    for (const Statement& statement : all_.statements) {
      for (const Access& read : statement.reads) ++reads[read.array];
    }
    for (const Returned& one : all_.returned) ++reads[one.array];
    has_block_ = all_.returned.size() > 1;
    for (const Statement& statement : all_.statements) {
      has_block_ = has_block_ || reads[statement.out.array] > 1;
    }
    for (const Statement& statement : all_.statements) {
      is_defined_[statement.out.array] = has_block_;
    }
  }
  [[nodiscard]] std::string denoted() const {
    if (!has_block_) return meaning(all_.returned[0].array);
    std::vector<std::string> names;
    for (const Returned& one : all_.returned) names.push_back(all_.arrays[one.array].name);
    return fmt::format("{{\n{}return {}\n}}", definitions_, fmt::join(names, ", "));
  }

  /// Brings what is returned to where it is wanted.
  void bring_back(const Returned& one) {
    const Array& array = all_.arrays[one.array];
    if (!values_[one.array]) {
      fail(array.place, {Code::unsupported, "what is returned is neither written nor read"});
    }
    if (one.as && parameter_[*one.as].empty()) {
      fail(one.layout_place,
           {Code::unsupported,
            fmt::format("nothing reads {}, so it has no layout", all_.arrays[*one.as].name)});
    }
    if (one.as) bring(one.array, parameter_[*one.as]);
    if (one.at_root) bring(one.array, rooted(*array.shape));
    if (one.layout) bring(one.array, *one.layout);
  }

  std::string fresh(const std::string& name) {
    for (std::size_t k = 1;; ++k) {
      std::string out = fmt::format("{}_{}", name, k);
      if (names_.insert(out).second) return out;
    }
  }

  /// The layout of an input that is first needed in this one. Boxes that are listed may leave elements
  /// out: where it is needed in others, too, it begins in one that has them all.
  [[nodiscard]] std::string given(std::size_t a, const std::string& first) const {
    const Shape& shape = *all_.arrays[a].shape;
    if (!may_leave_out(first)) return first;
    bool others = std::any_of(all_.returned.begin(), all_.returned.end(), [a](const Returned& one) {
      return one.as == a || (one.array == a && (one.layout || one.at_root || one.as));
    });
    for (std::size_t s = 0; s < all_.statements.size(); ++s) {
      const Matching matching(grid_, all_.statements[s], grid_.cuts[s]);
      std::vector<std::size_t> use_of;
      for (const Use& use : uses_of(all_.statements[s], use_of)) {
        if (use.array != a) continue;
        const std::string layout = matching.layout(use, shape, "");
        if (!may_leave_out(layout)) return layout;
        others = others || layout != first;
      }
    }
    return others ? fmt::format("[{}]", fmt::join(shape, ", ")) : first;
  }

  /// The name under which an array has this layout; it is redistributed where it has another.
  std::string bring(std::size_t a, const std::string& layout) {
    const Array& array = all_.arrays[a];
    if (!values_[a]) {
      parameter_[a] = array.at_root  ? rooted(*array.shape)
                      : array.layout ? *array.layout
                                     : given(a, layout);
      values_[a] = Value{array.name, parameter_[a]};
    }
    if (values_[a]->layout == layout) return values_[a]->name;
    if (!may_leave_out(values_[a]->layout) || !whole_[a]) whole_[a] = values_[a];
    const std::string name = fresh(array.name);
    lines_ += fmt::format("{} = redistribute {} as {}\n", name, whole_[a]->name, layout);
    values_[a] = Value{name, layout};
    return name;
  }

  void statement(std::size_t s) {
    const Statement& statement = all_.statements[s];
    const Matching matching(grid_, statement, grid_.cuts[s]);
    std::vector<std::size_t> use_of;
    const std::vector<Use> uses = uses_of(statement, use_of);
    std::vector<std::string> names;
    std::string arguments;
    for (const Use& use : uses) {
      names.push_back(bring(use.array, matching.layout(use, *all_.arrays[use.array].shape, "")));
      arguments += " " + names.back();
    }
    std::vector<Source> locals, wholes;
    std::size_t size = 0;
    for (std::size_t r = 0; r < statement.reads.size(); ++r) {
      const Use& use = uses[use_of[r]];
      size += meaning(use.array).size();
      if (size > most_text) too_long(statement);
      locals.push_back({names[use_of[r]], trims(s, use, statement.reads[r], false)});
      wholes.push_back({meaning(use.array), trims(s, use, statement.reads[r], true)});
    }
    const Use written = written_by(statement);
    const std::string layout = matching.layout(written, *all_.arrays[written.array].shape,
                                               addition_of(statement, grid_, grid_.cuts[s]));
    const std::string& name = all_.arrays[written.array].name;
    lines_ += fmt::format("{} = spmd{} {{ {} }} as {}\n", name, arguments,
                          Body(statement, std::move(locals)).text(), layout);
    values_[written.array] = Value{name, layout};
    meanings_[written.array] = Body(statement, std::move(wholes)).text();
    if (is_defined_[written.array]) {
      definitions_ += fmt::format("{} = {}\n", name, meanings_[written.array]);
      meanings_[written.array].clear();
    }
    if (meanings_[written.array].size() + definitions_.size() > most_text) too_long(statement);
  }

  [[noreturn]] static void too_long(const Statement& statement) {
    fail(statement.place, {Code::limit_reached, "what this denotes takes more than 2^20 bytes"});
  }
  std::string meaning(std::size_t a) const {
    return meanings_[a].empty() ? all_.arrays[a].name : meanings_[a];
  }

  /// What of a dimension this read leaves out: of the box that all reads share, or of the whole array.
  std::vector<std::pair<Size, Size>> trims(std::size_t s, const Use& use, const Access& read,
                                           bool is_whole) const {
    const Statement& statement = all_.statements[s];
    std::vector<Interval> all;
    for (const Variable& variable : statement.variables) all.push_back({0, variable.extent});
    std::vector<std::pair<Size, Size>> out;
    for (std::size_t i = 0; i < read.subscripts.size(); ++i) {
      bool is_cut = false;
      for (const auto& [v, factor] : read.subscripts[i].factors) {
        is_cut = is_cut || grid_.cuts[s][v].has_value();
      }
      if (read.subscripts[i].index) {  // may be any
        out.emplace_back(0, 0);
        continue;
      }
      const Interval own = constraint({read.subscripts[i]}, all);
      const Size n = (*all_.arrays[use.array].shape)[i];
      const Interval shared =
          is_whole || !is_cut ? Interval{0, n} : constraint(use.subscripts[i], all);
      out.emplace_back(own.begin - shared.begin, shared.end - own.end);
    }
    return out;
  }

  const Statements& all_;
  Grid grid_;
  std::vector<std::optional<Value>> values_;  // by array, as it was needed last
  std::vector<std::optional<Value>> whole_;   // by array, where no element is left out
  std::vector<std::string> meanings_;         // by array, of those that are written and not defined
  std::vector<bool> is_defined_;              // by array
  bool has_block_ = false;                    // `denotes` is one, with definitions
  std::string definitions_;
  std::map<std::size_t, std::string> parameter_;
  std::set<std::string> names_;
  std::string lines_;
};

}  // namespace

void check_layouts(const Statements& statements, const std::string& mesh) {
  const text::Input input = {mesh, "mesh", false};
  std::optional<forms::LayoutReader> reader;
  const auto check = [&](const Array& array, const text::Place& place) {
    if (!reader) {
      text::Scanner axes(input);
      reader.emplace(axes, most_devices_of_layouts);
    }
    text::Scanner in(*place.input, place.span);
    const Shape global = reader->read(in).layout.global();
    in.expect_end();
    if (global == *array.shape) return;
    fail(place, {Code::globaltype_mismatch,
                 fmt::format("this is a layout of an array of shape [{}], and {} has [{}]",
                             fmt::join(global, ","), array.name, fmt::join(*array.shape, ","))});
  };
  for (const Array& array : statements.arrays) {
    if (array.layout) check(array, array.layout_place);
  }
  for (const Returned& one : statements.returned) {
    if (one.layout) check(statements.arrays[one.array], one.layout_place);
  }
}

std::string module_of(const Statements& statements, Grid grid) {
  return Writer(statements, std::move(grid)).text();
}

Result<std::string> partition(const Statements& statements) {
  return text::result_of([&] {
    if (!statements.tactics.empty() && !statements.schedules.empty()) {
      fail(statements.tactics[0].place, {Code::bad_argument, "either schedules or tactics"});
    }
    return module_of(statements,
                     statements.tactics.empty() ? scheduled(statements) : by_tactics(statements));
  });
}

}  // namespace retile::array
