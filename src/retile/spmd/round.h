// A module carried out on numbers that are drawn. Room-internal.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "judge.h"
#include "retile/core/layout_facts.h"
#include "retile/core/walk.h"
#include "smaller.h"
#include "tensor.h"

namespace retile::spmd {

/// Of all values that are needed at one time, on all devices, and of families.
inline constexpr Size most_held_bytes = Size{1} << 30;

/// What a value is while a module is carried out: its tile on every device.
template <typename A>
using Tiles = std::vector<Tensor<typename A::Value>>;

/// One array for each addend.
template <typename A>
using Family = std::vector<std::vector<typename A::Value>>;

/// Carries a module out once on numbers that are drawn, at the extents that it has or at smaller ones.
template <typename A>
class Round {
 public:
  using T = typename A::Value;

  /// \param at, random  outlive this
  Round(const Smaller& at, std::mt19937_64& random, const Deadline& deadline, A arithmetic)
      : module_(at.module),
        scales_(at.scales),
        random_(random),
        a_(std::move(arithmetic)),
        evaluator_(deadline, a_),
        watch_(deadline),
        last_use_(at.module.values.size()) {
    for (std::size_t s = 0; s < module_.body.size(); ++s) {
      for (const std::size_t x : arguments_of(module_.body[s])) last_use_[x] = s;
    }
    for (const Returned& one : module_.returned) last_use_[one.value] = module_.body.size();
  }

  std::optional<WrongModule> run() {
    tiles_.resize(module_.values.size());
    for (std::size_t x = 0; x < module_.parameters; ++x) {
      const Family<A> family = drawn_family(x);
      if (module_.denotes) inputs_.push_back({global(x), collapsed(family, layout(x))});
      tiles_[x] = tiles_of(family, x);
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
  /// What an element costs that is drawn, put somewhere or compared, in nanoseconds.
  void spend_on_element() {
    if (!watch_.in_time(10)) throw Undecided{"the time is up"};
  }
  static constexpr int log_of_most_held = sizeof(T) <= 8 ? 27 : sizeof(T) <= 16 ? 26 : 25;
  static constexpr Size most_held = Size{1} << log_of_most_held;
  static_assert(most_held * static_cast<Size>(sizeof(T)) <= most_held_bytes);
  void hold(Size elements) {
    if (elements > most_held - std::min(held_, most_held)) {
      throw Undecided{fmt::format("more than 2^{} elements at one time on all devices together",
                                  log_of_most_held)};
    }
    held_ += elements;
  }

  [[nodiscard]] const Layout& layout(std::size_t x) const {
    return module_.values[x].type.layout();
  }
  [[nodiscard]] Shape scaled(std::size_t x, Shape shape) const {
    for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = scales_[x][i](shape[i]);
    return shape;
  }
  [[nodiscard]] Shape global(std::size_t x) const { return scaled(x, layout(x).global()); }
  [[nodiscard]] Shape local(std::size_t x, Size device) const {
    return scaled(x, module_.values[x].type.shape(device));
  }
  template <typename F>
  void for_each_element_of(std::size_t x, Size device, const F& f) const {
    for (TilePart part : layout(x).parts(device)) {
      part.place = scaled(x, part.place);
      part.box = {scaled(x, part.box.at), scaled(x, part.box.extent)};
      for_each_element(part, global(x), local(x, device), f);
    }
  }

  /// How many elements a value has. Throws Undecided where they are too many, of all addends together.
  [[nodiscard]] std::size_t fit(std::size_t x) const {
    const auto one = checked_product(global(x));
    const auto all = one ? checked_mul(*one, layout(x).addend_count()) : std::nullopt;
    if (!all || *all > most_held) {
      throw Undecided{
          fmt::format("an array of more than 2^{} elements, addends counted", log_of_most_held)};
    }
    return static_cast<std::size_t>(*one);
  }

  Family<A> drawn_family(std::size_t x) {
    const std::size_t size = fit(x);
    a_.begin_family(random_);
    if constexpr (HasIndices<A>) {
      if (module_.values[x].below) return drawn_indices(size, *module_.values[x].below);
    }
    Family<A> out(static_cast<std::size_t>(layout(x).addend_count()));
    for (auto& array : out) {
      array.resize(size);
      for (T& element : array) {
        spend_on_element();
        element = a_.drawn(random_);
      }
    }
    return out;
  }

  /// Some families have few different ones.
  Family<A> drawn_indices(std::size_t size, Size below) {
    const std::uint64_t most = random_() % 3 == 0 ? 2 : std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t count = std::min(most, static_cast<std::uint64_t>(below));
    Family<A> out(1, std::vector<T>(size));
    for (T& element : out[0]) {
      spend_on_element();
      element = a_.from(static_cast<Size>(random_() % count));
    }
    return out;
  }

  /// What a family means: its sum, maximum or minimum.
  std::vector<T> collapsed(const Family<A>& family, const Layout& layout) {
    std::vector<T> out = family[0];
    const Addition addition = addition_or_sum(layout);
    std::vector<T> addends(family.size());
    for (std::size_t i = 0; i < out.size() && family.size() > 1; ++i) {
      for (std::size_t k = 0; k < family.size(); ++k) {
        spend_on_element();
        addends[k] = family[k][i];
      }
      out[i] = together(addition, addends);
    }
    return out;
  }
  T together(Addition addition, std::vector<T>& addends) const {
    const bool is_minimum = addition == Addition::min;
    if (is_minimum) {
      for (T& p : addends) p = a_.sub(a_.from(0), p);
    }
    if (is_minimum || addition == Addition::max) {
      const T most = maximum_of(a_, addends);
      return is_minimum ? a_.sub(a_.from(0), most) : most;
    }
    return std::accumulate(addends.begin(), addends.end(), a_.from(0),
                           [this](T p, T q) { return a_.add(p, q); });
  }

  Tiles<A> tiles_of(const Family<A>& family, std::size_t x) {
    Tiles<A> out;
    for (Size d = 0; d < module_.devices; ++d) {
      Tensor<T> tile{local(x, d), {}};
      const Size count = *checked_product(tile.shape);  // the reader has seen to it
      hold(count);
      tile.elements.resize(static_cast<std::size_t>(count));
      const auto& array = family[static_cast<std::size_t>(layout(x).addend(d))];
      for_each_element_of(x, d, [&](std::size_t in_array, std::size_t in_tile) {
        spend_on_element();
        tile.elements[in_tile] = array[in_array];
      });
      out.push_back(std::move(tile));
    }
    return out;
  }

  /// The family that tiles are of, or where devices disagree or leave out an element.
  std::optional<WrongModule> family_of(const Tiles<A>& tiles, std::size_t x, Family<A>& out) {
    const std::size_t size = fit(x);
    const auto addends = static_cast<std::size_t>(layout(x).addend_count());
    out.assign(addends, std::vector<T>(size, a_.from(0)));
    std::vector<std::vector<bool>> is_known(out.size(), std::vector<bool>(size, false));
    std::optional<WrongModule> wrong;
    for (Size d = 0; d < module_.devices && !wrong; ++d) {
      const auto k = static_cast<std::size_t>(layout(x).addend(d));
      const Tensor<T>& tile = tiles[static_cast<std::size_t>(d)];
      for_each_element_of(x, d, [&](std::size_t in_array, std::size_t in_tile) {
        spend_on_element();
        const T element = tile.elements[in_tile];
        if (is_known[k][in_array] && !wrong && differ(a_, out[k][in_array], element)) {
          wrong = found("replicas", x, in_array, k);
          wrong->device = d;
        }
        out[k][in_array] = element;
        is_known[k][in_array] = true;
      });
    }
    for (std::size_t k = 0; k < out.size() && !wrong; ++k) {
      const auto gap = std::find(is_known[k].begin(), is_known[k].end(), false);
      if (gap == is_known[k].end()) continue;
      wrong = found("uncovered", x, static_cast<std::size_t>(gap - is_known[k].begin()), k);
    }
    return wrong;
  }
  WrongModule found(std::string reason, std::size_t x, std::size_t position,
                    std::size_t addend) const {
    WrongModule out{.reason = std::move(reason)};
    out.element = index_of(static_cast<Size>(position), global(x));
    for (std::size_t i = 0; i < out.element->size(); ++i) {
      (*out.element)[i] = scales_[x][i].index((*out.element)[i]);
    }
    if (layout(x).addend_count() > 1) out.addend = static_cast<Size>(addend);
    return out;
  }

  std::optional<WrongModule> carry_out(const Statement& statement) {
    const std::size_t made = statement.value;
    Family<A> family;
    if (const auto* op = std::get_if<SpmdOp>(&statement.op)) {
      tiles_[made] = local_values(*op);
      return family_of(tiles_[made], made, family);
    }
    const std::size_t x = std::get<RedistributeOp>(statement.op).argument;
    if (auto wrong = family_of(tiles_[x], x, family)) return wrong;
    tiles_[made] = tiles_of(split(collapsed(family, layout(x)), made), made);
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
  Family<A> split(std::vector<T> array, std::size_t x) {
    const auto count = static_cast<std::size_t>(layout(x).addend_count());
    if (count > 1 && layout(x).addends()->addition != Addition::sum) {
      throw Undecided{"a redistribution to addends that are not summed"};
    }
    (void)fit(x);
    a_.begin_family(random_);
    Family<A> out = {std::move(array)};
    for (std::size_t k = 1; k < count; ++k) {
      out.emplace_back(out[0].size());
      for (std::size_t i = 0; i < out[k].size(); ++i) {
        spend_on_element();
        out[k][i] = a_.drawn(random_);
        out[0][i] = a_.sub(out[0][i], out[k][i]);
      }
    }
    return out;
  }

  std::optional<WrongModule> compared() {
    std::vector<const Tensor<T>*> inputs;
    for (const Tensor<T>& input : inputs_) inputs.push_back(&input);
    std::vector<Tensor<T>> defined;
    defined.reserve(module_.denotes->definitions.size());
    for (const auto& [name, e] : module_.denotes->definitions) {
      defined.push_back(evaluator_.value(e, inputs));
      inputs.push_back(&defined.back());
      hold(static_cast<Size>(defined.back().elements.size()));
    }
    for (std::size_t k = 0; k < module_.returned.size(); ++k) {
      if (auto wrong = compared(k, inputs)) return wrong;
    }
    return std::nullopt;
  }
  std::optional<WrongModule> compared(std::size_t k, const std::vector<const Tensor<T>*>& inputs) {
    const std::size_t x = module_.returned[k].value;
    Family<A> family;
    if (auto wrong = family_of(tiles_[x], x, family)) {
      wrong->returned = k;
      return wrong;
    }
    const std::vector<T> held = collapsed(family, layout(x));
    const Tensor<T> wanted = evaluator_.value(module_.denotes->results[k], inputs);
    const auto same = [this](const T& p, const T& q) { return !differ(a_, p, q); };
    const auto [at, other] = std::mismatch(held.begin(), held.end(), wanted.elements.begin(), same);
    if (at == held.end()) return std::nullopt;
    WrongModule out = found("denotes", x, static_cast<std::size_t>(at - held.begin()), 0);
    out.addend.reset();
    out.returned = k;
    return out;
  }

  const Module& module_;
  const Scales& scales_;
  std::mt19937_64& random_;
  A a_;  // the arithmetic
  Evaluator<A> evaluator_;
  Watch watch_;
  std::vector<std::optional<std::size_t>> last_use_;  // the statement; the body's end: returned
  std::vector<Tiles<A>> tiles_;
  std::vector<Tensor<T>> inputs_;
  Size held_ = 0;
};

}  // namespace retile::spmd
