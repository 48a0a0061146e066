#include "judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <tuple>
#include <type_traits>
#include <utility>

#include "arithmetic.h"
#include "retile/lower/lower.h"
#include "tensor.h"

namespace retile::spmd {

namespace {

/// Of all values that are needed at one time, on all devices, and of families.
constexpr Size most_held = Size{1} << 27;
constexpr Size most_degree = Size{1} << 40;
constexpr int rounds_with_maxima = 64;

/// What a value is while a module is carried out: its tile on every device.
template <typename A>
using Tiles = std::vector<Tensor<typename A::Value>>;

/// One array for each addend.
template <typename A>
using Family = std::vector<std::vector<typename A::Value>>;

/// Calls f(global position, local position) for every element of a device's box.
template <typename F>
void for_each_element(const Layout& layout, const Shape& shape, Size device, const F& f) {
  const auto count = checked_product(shape);
  if (!count || *count == 0) return;
  const std::vector<Size> strides = strides_of(layout.global());
  const Shape at = layout.base_offset(device);
  Size first = 0;
  for (std::size_t d = 0; d < at.size(); ++d) first += at[d] * strides[d];
  Walk walk(shape, {strides});
  for (Size local = 0; local < *count; ++local) {
    f(static_cast<std::size_t>(first + walk.offset(0)), static_cast<std::size_t>(local));
    (void)walk.next();
  }
}

Shape index_of(const Shape& global, std::size_t position) {
  Shape out(global.size());
  auto rest = static_cast<Size>(position);
  for (std::size_t d = global.size(); d-- > 0;) {
    out[d] = rest % global[d];
    rest /= global[d];
  }
  return out;
}

/// Carries a module out once on numbers that are drawn.
template <typename A>
class Round {
 public:
  using T = typename A::Value;

  Round(const Module& module, std::uint64_t seed, const Deadline& deadline)
      : module_(module), random_(seed), evaluator_(deadline), last_use_(module.values.size()) {
    for (std::size_t s = 0; s < module.body.size(); ++s) {
      for (const std::size_t x : arguments_of(module.body[s])) last_use_[x] = s;
    }
    last_use_[module.returned] = module.body.size();
  }

  std::optional<WrongModule> run() {
    tiles_.resize(module_.values.size());
    for (std::size_t x = 0; x < module_.parameters; ++x) {
      const Type& type = module_.values[x].type;
      const Family<A> family = drawn_family(type.layout());
      if (module_.denotes) {
        inputs_.push_back({type.layout().global(), collapsed(family, type.layout())});
      }
      tiles_[x] = tiles_of(family, type);
      if (!last_use_[x]) drop(x);
    }
    for (std::size_t s = 0; s < module_.body.size(); ++s) {
      if (auto wrong = carry_out(module_.body[s])) {
        wrong->statement = s;
        return wrong;
      }
      for (const std::size_t x : arguments_of(module_.body[s])) {
        if (last_use_[x] == s) drop(x);
      }
      if (!last_use_[module_.body[s].value]) drop(module_.body[s].value);
    }
    return module_.denotes ? compared() : std::nullopt;
  }

 private:
  static std::vector<std::size_t> arguments_of(const Statement& statement) {
    if (const auto* op = std::get_if<SpmdOp>(&statement.op)) return op->arguments;
    return {std::get<RedistributeOp>(statement.op).argument};
  }
  void drop(std::size_t x) {
    for (const auto& tile : tiles_[x]) held_ -= static_cast<Size>(tile.elements.size());
    tiles_[x] = {};
  }
  void hold(Size elements) {
    if (elements > most_held - std::min(held_, most_held)) {
      throw Undecided{"more than 2^27 elements at one time on all devices together"};
    }
    held_ += elements;
  }

  T draw() {
    const std::uint64_t number = random_();
    if constexpr (std::is_same_v<A, Modular>) {
      // Of 2^64 numbers each rest has 8 or 9.
      return number % Modular::prime;
    } else {
      return least_ + static_cast<T>(number % static_cast<std::uint64_t>(most_ - least_ + 1));
    }
  }

  /// Arrays that are all positive, all negative, or near zero tell maxima apart that others do not.
  void draw_range() {
    static constexpr std::array<std::pair<Size, Size>, 5> ranges = {
        {{-8, 8}, {-8, -1}, {1, 8}, {-2, 2}, {-3, 8}}};
    std::tie(least_, most_) = ranges[random_() % ranges.size()];
  }

  Family<A> drawn_family(const Layout& layout) {
    draw_range();
    const auto all = checked_mul(layout.global_size(), layout.addend_count());
    if (!all || *all > most_held) {
      throw Undecided{"an array of more than 2^27 elements, addends counted"};
    }
    Family<A> out(static_cast<std::size_t>(layout.addend_count()));
    for (auto& array : out) {
      array.resize(static_cast<std::size_t>(layout.global_size()));
      for (T& element : array) element = draw();
    }
    return out;
  }

  /// What a family means: its sum, maximum or minimum.
  static std::vector<T> collapsed(const Family<A>& family, const Layout& layout) {
    std::vector<T> out = family[0];
    const Addition addition = layout.addends() ? layout.addends()->addition : Addition::sum;
    for (std::size_t k = 1; k < family.size(); ++k) {
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = together(addition, out[i], family[k][i]);
      }
    }
    return out;
  }
  static T together(Addition addition, T a, T b) {
    if (addition == Addition::max) return A::max(a, b);
    if (addition != Addition::min) return A::add(a, b);
    return A::sub(A::from(0), A::max(A::sub(A::from(0), a), A::sub(A::from(0), b)));
  }

  Tiles<A> tiles_of(const Family<A>& family, const Type& type) {
    Tiles<A> out;
    for (Size d = 0; d < module_.devices; ++d) {
      Tensor<T> tile{type.shape(d), {}};
      const Size count = *checked_product(tile.shape);  // the reader has seen to it
      hold(count);
      tile.elements.resize(static_cast<std::size_t>(count));
      const auto& array = family[static_cast<std::size_t>(type.layout().addend(d))];
      for_each_element(type.layout(), tile.shape, d, [&](std::size_t global, std::size_t local) {
        tile.elements[local] = array[global];
      });
      out.push_back(std::move(tile));
    }
    return out;
  }

  /// The family that tiles are of, or where devices disagree or leave out an element.
  std::optional<WrongModule> family_of(const Tiles<A>& tiles, const Type& type, Family<A>& out) {
    const Layout& layout = type.layout();
    const auto all = checked_mul(layout.global_size(), layout.addend_count());
    if (!all || *all > most_held) {
      throw Undecided{"an array of more than 2^27 elements, addends counted"};
    }
    const auto size = static_cast<std::size_t>(layout.global_size());
    out.assign(static_cast<std::size_t>(layout.addend_count()), std::vector<T>(size, A::from(0)));
    std::vector<std::vector<bool>> is_known(out.size(), std::vector<bool>(size, false));
    std::optional<WrongModule> wrong;
    for (Size d = 0; d < module_.devices && !wrong; ++d) {
      const auto k = static_cast<std::size_t>(layout.addend(d));
      const Tensor<T>& tile = tiles[static_cast<std::size_t>(d)];
      for_each_element(layout, tile.shape, d, [&](std::size_t global, std::size_t local) {
        const T element = tile.elements[local];
        if (is_known[k][global] && out[k][global] != element && !wrong) {
          wrong = found("replicas", layout, global, k);
          wrong->device = d;
        }
        out[k][global] = element;
        is_known[k][global] = true;
      });
    }
    for (std::size_t k = 0; k < out.size() && !wrong; ++k) {
      const auto gap = std::find(is_known[k].begin(), is_known[k].end(), false);
      if (gap == is_known[k].end()) continue;
      wrong = found("uncovered", layout, static_cast<std::size_t>(gap - is_known[k].begin()), k);
    }
    return wrong;
  }
  static WrongModule found(std::string reason, const Layout& layout, std::size_t position,
                           std::size_t addend) {
    WrongModule out{.reason = std::move(reason)};
    out.element = index_of(layout.global(), position);
    if (layout.addend_count() > 1) out.addend = static_cast<Size>(addend);
    return out;
  }

  std::optional<WrongModule> carry_out(const Statement& statement) {
    const Type& type = module_.values[statement.value].type;
    Family<A> family;
    if (const auto* op = std::get_if<SpmdOp>(&statement.op)) {
      tiles_[statement.value] = local_values(*op);
      return family_of(tiles_[statement.value], type, family);
    }
    const std::size_t x = std::get<RedistributeOp>(statement.op).argument;
    const Type& from = module_.values[x].type;
    if (auto wrong = family_of(tiles_[x], from, family)) return wrong;
    tiles_[statement.value] =
        tiles_of(split(collapsed(family, from.layout()), type.layout()), type);
    return std::nullopt;
  }

  Tiles<A> local_values(const SpmdOp& op) {
    Tiles<A> out;
    for (Size d = 0; d < module_.devices; ++d) {
      std::vector<const Tensor<T>*> values;
      for (const std::size_t x : op.arguments) {
        values.push_back(&tiles_[x][static_cast<std::size_t>(d)]);
      }
      std::vector<Tensor<T>> defined;
      defined.reserve(op.definitions.size());
      for (const auto& [name, e] : op.definitions) {
        defined.push_back(evaluator_.value(e, values));
        values.push_back(&defined.back());
      }
      out.push_back(evaluator_.value(op.result, values));
      hold(static_cast<Size>(out.back().elements.size()));
    }
    return out;
  }

  /// Addends that mean the array: all but the first are any numbers.
  Family<A> split(std::vector<T> array, const Layout& layout) {
    const auto count = static_cast<std::size_t>(layout.addend_count());
    if (count > 1 && layout.addends()->addition != Addition::sum) {
      throw Undecided{"a redistribution to addends that are not summed"};
    }
    const auto all = checked_mul(layout.global_size(), layout.addend_count());
    if (!all || *all > most_held) {
      throw Undecided{"an array of more than 2^27 elements, addends counted"};
    }
    Family<A> out = {std::move(array)};
    for (std::size_t k = 1; k < count; ++k) {
      out.emplace_back(out[0].size());
      for (std::size_t i = 0; i < out[k].size(); ++i) {
        out[k][i] = draw();
        out[0][i] = A::sub(out[0][i], out[k][i]);
      }
    }
    return out;
  }

  std::optional<WrongModule> compared() {
    const Type& type = module_.values[module_.returned].type;
    Family<A> family;
    if (auto wrong = family_of(tiles_[module_.returned], type, family)) return wrong;
    const std::vector<T> held = collapsed(family, type.layout());
    std::vector<const Tensor<T>*> inputs;
    for (const Tensor<T>& input : inputs_) inputs.push_back(&input);
    const Tensor<T> wanted = evaluator_.value(*module_.denotes, inputs);
    const auto [at, other] = std::mismatch(held.begin(), held.end(), wanted.elements.begin());
    if (at == held.end()) return std::nullopt;
    WrongModule out{.reason = "denotes"};
    out.element = index_of(type.layout().global(), static_cast<std::size_t>(at - held.begin()));
    return out;
  }

  const Module& module_;
  std::mt19937_64 random_;
  Evaluator<A> evaluator_;
  std::vector<std::optional<std::size_t>> last_use_;  // the statement; the body's end: returned
  std::vector<Tiles<A>> tiles_;
  std::vector<Tensor<T>> inputs_;
  Size held_ = 0;
  Size least_ = 0;  // of the numbers that are drawn, where they have an order
  Size most_ = 0;
};

Size bounded_add(Size a, Size b) { return std::min(a + b, most_degree); }

/// The degree of an expression as a polynomial of what its values are polynomials of.
Size degree_of(const Expression& e, const std::vector<Size>& values) {
  if (e.op == LocalOp::value) return values[e.value];
  const bool multiplies = e.op == LocalOp::mul || e.op == LocalOp::einsum;
  Size out = 0;
  for (const Expression& operand : e.operands) {
    const Size degree = degree_of(operand, values);
    out = multiplies ? bounded_add(out, degree) : std::max(out, degree);
  }
  return out;
}

Size degree_of(const Module& module) {
  std::vector<Size> degrees(module.parameters, 1);
  Size most = 1;
  if (module.denotes) most = std::max(most, degree_of(*module.denotes, degrees));
  for (const Statement& statement : module.body) {
    Size degree = 1;
    if (const auto* op = std::get_if<SpmdOp>(&statement.op)) {
      std::vector<Size> values;
      for (const std::size_t x : op->arguments) values.push_back(degrees[x]);
      for (const auto& [name, e] : op->definitions) values.push_back(degree_of(e, values));
      degree = degree_of(op->result, values);
    } else {
      degree = std::max(degree, degrees[std::get<RedistributeOp>(statement.op).argument]);
    }
    degrees.push_back(degree);
    most = std::max(most, degree);
  }
  return most;
}

bool has_maxima(const Module& module) {
  const auto adds_otherwise = [](const Value& value) {
    const auto& addends = value.type.layout().addends();
    return addends && addends->addition != Addition::sum;
  };
  if (std::any_of(module.values.begin(), module.values.end(), adds_otherwise)) return true;
  if (module.denotes && has_maxima(*module.denotes)) return true;
  for (const Statement& statement : module.body) {
    const auto* op = std::get_if<SpmdOp>(&statement.op);
    if (op == nullptr) continue;
    if (has_maxima(op->result)) return true;
    for (const auto& [name, e] : op->definitions) {
      if (has_maxima(e)) return true;
    }
  }
  return false;
}

/// The name of an argument with addends of which the result does not depend linearly.
std::optional<std::string> not_linear(const Module& module, const SpmdOp& op) {
  std::vector<Dependence> values;
  std::optional<std::string> partial;
  for (const std::size_t x : op.arguments) {
    const bool has_addends = module.values[x].type.layout().addend_count() > 1;
    if (has_addends && !partial) partial = module.values[x].name;
    values.push_back(has_addends ? Dependence::linear : Dependence::none);
  }
  for (const auto& [name, e] : op.definitions) values.push_back(dependence_of(e, values));
  if (dependence_of(op.result, values) == Dependence::other) return partial;
  return std::nullopt;
}

/// Goes through `module`'s redistributions; false where one is wrong or undecided.
Result<bool> judge_routes(const Module& module, const CheckOptions& options, ModuleVerdict& out) {
  bool right = true;
  for (std::size_t s = 0; s < module.body.size(); ++s) {
    const auto* op = std::get_if<RedistributeOp>(&module.body[s].op);
    if (op == nullptr) continue;
    Route route;
    if (op->program) {
      route.program = *op->program;
      route.verdict = check(route.program, options);
    } else {
      auto planned = route_of(module.values[op->argument].type.layout(),
                              module.values[module.body[s].value].type.layout(), options);
      if (!planned) {
        return text::result_of(
            [&]() -> bool { text::fail_with(module.body[s].place, planned.error()); });
      }
      route = *std::move(planned);
    }
    route.statement = s;
    const Answer answer = route.verdict.answer;
    out.routes.push_back(std::move(route));
    if (answer == Answer::right || !right) continue;
    right = false;
    if (answer == Answer::wrong) {
      out.answer = Answer::wrong;
      out.wrong = WrongModule{.reason = "program", .statement = s};
    } else {
      out.why_undecided = "the steps of a redistribution were not decided within the limits";
    }
  }
  return right;
}

template <typename A>
void judge_rounds(const Module& module, std::uint64_t seed, const Deadline& deadline, int rounds,
                  ModuleVerdict& out) {
  for (int round = 0; round < rounds; ++round) {
    out.wrong = Round<A>(module, seed + static_cast<std::uint64_t>(round), deadline).run();
    out.rounds = round + 1;
    if (!out.wrong) continue;
    out.answer = Answer::wrong;
    return;
  }
  out.answer = Answer::right;
}

void judge_values(const Module& module, std::uint64_t seed, const Deadline& deadline,
                  ModuleVerdict& out) {
  if (out.degree >= most_degree) {
    out.why_undecided = "values are polynomials of degree 2^40 or more";
    return;
  }
  try {
    if (out.has_maxima) {
      judge_rounds<Integers>(module, seed, deadline, rounds_with_maxima, out);
    } else {
      judge_rounds<Modular>(module, seed, deadline, 1, out);
    }
  } catch (const Undecided& undecided) {
    out.why_undecided = undecided.why;
  }
}

std::uint64_t new_seed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32U) ^ device();
}

}  // namespace

Result<Route> route_of(const Layout& from, const Layout& to, const CheckOptions& options) {
  const auto problem = Problem::make(from, to);
  if (!problem) return refuse(problem.error());
  auto planned = plan(*problem);
  if (!planned) return refuse(planned.error());
  auto program = program_of(*planned);
  if (!program) return refuse(program.error());
  Route out;
  out.program = *std::move(program);
  out.plan = *std::move(planned);
  out.verdict = check(out.program, options);
  return out;
}

Result<std::vector<Route>> routes_of(const Module& module, const CheckOptions& options) {
  ModuleVerdict verdict;
  const auto right = judge_routes(module, options, verdict);
  if (!right) return refuse(right.error());
  if (*right) return std::move(verdict.routes);
  return refuse({.code = Code::inapplicable,
                 .message = "the steps of a redistribution are not right",
                 .notes = {"`retile check` says where they are wrong"}});
}

Result<ModuleVerdict> judge(const Module& module, const JudgeOptions& options) {
  const Deadline deadline = Deadline::in(options.timeout_seconds);
  ModuleVerdict out;
  out.degree = degree_of(module);
  out.has_maxima = has_maxima(module);
  for (std::size_t s = 0; s < module.body.size(); ++s) {
    const auto* op = std::get_if<SpmdOp>(&module.body[s].op);
    if (op == nullptr) continue;
    if (auto name = not_linear(module, *op)) out.not_linear.emplace_back(s, *std::move(name));
  }
  const auto routes = judge_routes(module, {.timeout_seconds = options.timeout_seconds}, out);
  if (routes && !*routes) return out;
  judge_values(module, options.seed ? *options.seed : new_seed(), deadline, out);
  // Where nobody holds an element there are no steps either: that is wrong, and not refused.
  if (!routes && out.answer != Answer::wrong) return refuse(routes.error());
  return out;
}

}  // namespace retile::spmd
