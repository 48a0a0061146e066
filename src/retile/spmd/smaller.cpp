#include "smaller.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace retile::spmd {

namespace {

/// Of all values and devices. More are not looked at one by one.
constexpr Size most_tiles = Size{1} << 22;

/// Dimensions that have the same indices: classes of slots that are joined.
class Classes {
 public:
  std::size_t fresh() {
    parent_.push_back(parent_.size());
    step_.push_back(0);
    return parent_.size() - 1;
  }
  std::size_t of(std::size_t slot) {
    while (parent_[slot] != slot) slot = parent_[slot] = parent_[parent_[slot]];
    return slot;
  }
  void join(std::size_t a, std::size_t b) {
    a = of(a);
    b = of(b);
    if (a == b) return;
    parent_[b] = a;
    step_[a] = std::gcd(step_[a], step_[b]);
  }
  /// Something begins or ends at n.
  void ends_at(std::size_t slot, Size n) {
    Size& step = step_[of(slot)];
    step = std::gcd(step, n);
  }
  /// Something looks at single indices.
  void keep(std::size_t slot) { step_[of(slot)] = 1; }
  /// Everything begins and ends at multiples of it; 0: all is empty.
  Size step(std::size_t slot) { return step_[of(slot)]; }

 private:
  std::vector<std::size_t> parent_;
  std::vector<Size> step_;  // of a class that stands for itself
};

/// What is known of a value's formulas.
struct Formula {
  std::vector<std::size_t> slots;  // by dimension
  /// Whether each product in it has a factor, an element of an input or of a new addend, that is another one
  /// for every index.
  std::vector<bool> varies;
  /// By class: how many indices a product in it has at most, those of the value itself and those that are
  /// summed.
  std::map<std::size_t, Size> indices;
};

class Reduction {
 public:
  explicit Reduction(const Module& module) : module_(module) {}

  Smaller run() {
    // The first time for the classes, the second for what is counted of them, the third for the numbers.
    for (pass_ = Pass::join; pass_ != Pass::done;
         pass_ = static_cast<Pass>(static_cast<int>(pass_) + 1)) {
      next_slot_ = 0;
      number_slot_ = slot();
      out_.module = module_;
      walk();
    }
    for (const auto& slots : values_) {
      out_.scales.emplace_back();
      for (const std::size_t slot : slots) {
        const Scale scale = scale_of(slot);
        out_.scales.back().push_back(scale);
        if (scale.is_smaller()) out_.largest = std::max(out_.largest, scale.from / scale.to);
      }
    }
    return std::move(out_);
  }

 private:
  enum class Pass { join, count, write, done };

  std::size_t slot() {
    if (pass_ == Pass::join) return classes_.fresh();
    return next_slot_++;
  }
  std::vector<std::size_t> slots(std::size_t count) {
    std::vector<std::size_t> out(count);
    for (std::size_t& s : out) s = slot();
    return out;
  }
  void join(std::size_t a, std::size_t b) {
    if (pass_ == Pass::join) classes_.join(a, b);
  }
  void keep(std::size_t s) {
    if (pass_ != Pass::write) classes_.keep(s);
  }
  void see(const Formula& f) {
    if (pass_ != Pass::count) return;
    for (const auto& [c, count] : f.indices) needed_[c] = std::max(needed_[c], count);
  }

  void walk() {
    std::vector<Formula> values;
    values_.clear();
    for (std::size_t x = 0; x < module_.parameters; ++x) values.push_back(tensor(x));
    std::vector<Formula> inputs;
    for (std::size_t x = 0; x < module_.parameters; ++x) {
      inputs.push_back(collapsed(values[x], module_.values[x].type.layout()));
    }
    for (std::size_t s = 0; s < module_.body.size(); ++s) {
      Statement& statement = out_.module.body[s];
      Formula made;
      if (auto* op = std::get_if<SpmdOp>(&statement.op)) {
        std::vector<Formula> known;
        for (const std::size_t x : op->arguments) known.push_back(values[x]);
        for (auto& [name, e] : op->definitions) known.push_back(formula(e, known));
        made = formula(op->result, known);
      } else {
        const std::size_t x = std::get<RedistributeOp>(statement.op).argument;
        made = collapsed(values[x], module_.values[x].type.layout());
      }
      Formula value = tensor(statement.value);
      for (std::size_t i = 0; i < made.slots.size(); ++i) join(value.slots[i], made.slots[i]);
      // New addends have an element for each index. The last one is what is left.
      for (const auto& [c, count] : made.indices) {
        value.indices[c] = std::max(value.indices[c], count);
      }
      value.varies = made.varies;
      values.push_back(std::move(value));
    }
    std::vector<Formula> held;
    for (const auto& [x, type] : module_.returned) {
      held.push_back(collapsed(values[x], module_.values[x].type.layout()));
      see(held.back());
    }
    if (!out_.module.denotes) return;
    for (auto& [name, e] : out_.module.denotes->definitions) inputs.push_back(formula(e, inputs));
    for (std::size_t k = 0; k < held.size(); ++k) {
      const Formula wanted = formula(out_.module.denotes->results[k], inputs);
      for (std::size_t i = 0; i < wanted.slots.size(); ++i) join(held[k].slots[i], wanted.slots[i]);
    }
  }

  /// As many different numbers as the value has elements. Its tiles say where its dimensions are cut.
  Formula tensor(std::size_t x) {
    const Type& type = module_.values[x].type;
    const std::size_t rank = type.layout().rank();
    Formula out{slots(rank), std::vector<bool>(rank, true), {}};
    values_.push_back(out.slots);
    if (pass_ == Pass::join) {
      for (std::size_t i = 0; i < rank; ++i) {
        classes_.ends_at(out.slots[i], type.layout().global()[i]);
      }
      for (Size d = 0; d < module_.devices; ++d) cut(type, d, out.slots);
    }
    for (const std::size_t s : out.slots) ++out.indices[classes_.of(s)];
    see(out);
    return out;
  }
  void cut(const Type& type, Size d, const std::vector<std::size_t>& slots) {
    const Shape shape = type.shape(d);
    for (std::size_t i = 0; i < slots.size(); ++i) classes_.ends_at(slots[i], shape[i]);
    for (const TilePart& part : type.layout().parts(d)) {
      for (std::size_t i = 0; i < slots.size(); ++i) {
        for (const Size n : {part.place[i], part.box.at[i], part.box.extent[i]}) {
          classes_.ends_at(slots[i], n);
        }
      }
    }
  }
  /// What addends mean together.
  Formula collapsed(Formula f, const Layout& layout) {
    const bool is_symbol = layout.addend_count() > 1 && layout.addends()->addition != Addition::sum;
    return is_symbol ? symbol(std::move(f)) : f;
  }

  /// Results of functions and maxima: new numbers, of which nobody knows whether they are others for
  /// other indices.
  Formula symbol(Formula f) {
    see(f);
    for (const auto& [c, count] : f.indices) {
      if (count > 0) has_symbols_[c] = true;
    }
    f.indices.clear();
    for (const std::size_t s : f.slots) ++f.indices[classes_.of(s)];
    f.varies.assign(f.slots.size(), false);
    return f;
  }
  /// How many of a class the dimensions are.
  Size own(const std::vector<std::size_t>& slots, std::size_t c) {
    return static_cast<Size>(std::count_if(slots.begin(), slots.end(),
                                           [&](std::size_t s) { return classes_.of(s) == c; }));
  }

  Formula formula(Expression& e, const std::vector<Formula>& values) {
    if (e.op == LocalOp::value) return values[e.value];
    std::vector<Formula> parts;
    for (Expression& operand : e.operands) parts.push_back(formula(operand, values));
    Formula out = applied(e, parts);
    see(out);
    return out;
  }
  Formula applied(Expression& e, std::vector<Formula>& parts) {
    const auto d = e.numbers.empty() ? 0 : static_cast<std::size_t>(e.numbers[0]);
    has_equal_ = has_equal_ || e.op == LocalOp::equal;
    if (e.op == LocalOp::einsum) return einsum(e.einsum, parts);
    if (e.op == LocalOp::take) return take(d, parts);
    Formula out = parts[0];
    for (std::size_t k = 1; k < parts.size(); ++k) {
      for (std::size_t i = 0; i < out.slots.size(); ++i) join(out.slots[i], parts[k].slots[i]);
    }
    switch (e.op) {
      case LocalOp::mul:
        return product(parts);
      case LocalOp::div:
        parts[1] = symbol(std::move(parts[1]));
        return product(parts);
      case LocalOp::fill:
        out.indices.clear();
        for (const std::size_t s : out.slots) ++out.indices[classes_.of(s)];
        out.varies.assign(out.slots.size(), false);
        return out;
      case LocalOp::reduce_sum:
        if (!out.varies[d]) keep(out.slots[d]);  // how many there are is a factor
        [[fallthrough]];
      case LocalOp::reduce_max:
        if (e.op == LocalOp::reduce_max) out = symbol(std::move(out));
        out.slots.erase(out.slots.begin() + static_cast<std::ptrdiff_t>(d));
        out.varies.erase(out.varies.begin() + static_cast<std::ptrdiff_t>(d));
        return out;
      case LocalOp::transpose: {
        const Formula old = out;
        for (std::size_t k = 0; k < out.slots.size(); ++k) {
          out.slots[k] = old.slots[static_cast<std::size_t>(e.numbers[k])];
          out.varies[k] = old.varies[static_cast<std::size_t>(e.numbers[k])];
        }
        return out;
      }
      case LocalOp::trim:
        for (Size* const n : {&e.numbers[1], &e.numbers[2]}) {
          if (pass_ == Pass::join) classes_.ends_at(out.slots[d], *n);
          if (pass_ == Pass::write) *n = scale_of(out.slots[d])(*n);
        }
        return out;
      default: {
        for (std::size_t k = 1; k < parts.size(); ++k) {
          for (const auto& [c, count] : parts[k].indices) {
            out.indices[c] = std::max(out.indices[c], count);
          }
          for (std::size_t i = 0; i < out.varies.size(); ++i) {
            out.varies[i] = out.varies[i] && parts[k].varies[i];
          }
        }
        const bool is_symbol = is_maximum(e.op) || is_function(e.op);
        return is_symbol ? symbol(std::move(out)) : out;
      }
    }
  }
  /// Element by element.
  Formula product(const std::vector<Formula>& parts) {
    Formula out = parts[0];
    for (std::size_t k = 1; k < parts.size(); ++k) {
      for (const auto& [c, count] : parts[k].indices) {
        out.indices[c] += count - own(parts[k].slots, c);
      }
      for (std::size_t i = 0; i < out.varies.size(); ++i) {
        out.varies[i] = out.varies[i] || parts[k].varies[i];
      }
    }
    return out;
  }
  Formula einsum(const Einsum& e, const std::vector<Formula>& parts) {
    std::map<char, std::size_t> slot_of;
    std::map<char, bool> varies;
    for (const auto& dims : e.in) {
      for (const std::string& labels : dims) {
        for (const char label : labels) {
          if (slot_of.count(label) == 0) slot_of[label] = slot();
        }
      }
    }
    Formula out;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      for (std::size_t i = 0; i < e.in[k].size(); ++i) {
        const std::string& labels = e.in[k][i];
        const std::size_t dim = parts[k].slots[i];
        if (labels.size() == 1) {
          join(slot_of[labels[0]], dim);
          varies[labels[0]] = varies[labels[0]] || parts[k].varies[i];
          continue;
        }
        keep(dim);
        for (const char label : labels) keep(slot_of[label]);
      }
      for (const auto& [c, count] : parts[k].indices) {
        out.indices[c] += count - own(parts[k].slots, c);
      }
    }
    for (const auto& [label, s] : slot_of) {
      ++out.indices[classes_.of(s)];
      const bool is_summed = e.out.find(label) == std::string::npos;
      if (is_summed && !varies[label]) keep(s);  // how many there are is a factor
    }
    for (const char label : e.out) {
      out.slots.push_back(slot_of[label]);
      out.varies.push_back(varies[label]);
    }
    return out;
  }

  /// einsum "im,jm->ij" x (equal (einsum "j,m->jm" c ..) (einsum "m,j->jm" numbers ..)), where `numbers` has another
  /// one for each m, the same for all that is taken. Another `equal` may know one of these numbers.
  Formula take(std::size_t d, const std::vector<Formula>& parts) {
    const std::size_t taken = parts[0].slots[d];
    join(taken, number_slot_);
    if (!parts[0].varies[d] || has_equal_) keep(taken);
    Formula compared = parts[1];
    compared.slots.push_back(taken);
    compared.varies.push_back(true);
    ++compared.indices[classes_.of(taken)];
    (void)symbol(std::move(compared));
    Formula out = parts[0];
    for (const std::size_t s : parts[1].slots) ++out.indices[classes_.of(s)];
    const auto place = static_cast<std::ptrdiff_t>(d);
    out.slots.erase(out.slots.begin() + place);
    out.slots.insert(out.slots.begin() + place, parts[1].slots.begin(), parts[1].slots.end());
    out.varies.erase(out.varies.begin() + place);
    out.varies.insert(out.varies.begin() + place, parts[1].slots.size(), false);
    return out;
  }

  /// So many indices stay that every product has its own, and beside symbols any two of them, and three more.
  Scale scale_of(std::size_t s) {
    const std::size_t c = classes_.of(s);
    const Size step = classes_.step(s);
    if (step <= 1) return {};
    const Size needed = std::max<Size>(needed_[c], 1);
    const Size stay = has_symbols_[c] ? 2 * needed + 3 : needed;
    return stay < step ? Scale{step, stay} : Scale{};
  }

  const Module& module_;
  Smaller out_;
  Pass pass_ = Pass::join;
  Classes classes_;
  std::size_t next_slot_ = 0;
  std::size_t number_slot_ = 0;  // of dimensions of which elements are taken
  bool has_equal_ = false;
  std::vector<std::vector<std::size_t>> values_;  // slots, by value
  std::map<std::size_t, Size> needed_;            // by class
  std::map<std::size_t, bool> has_symbols_;       // likewise
};

}  // namespace

Smaller smaller(const Module& module) {
  const auto tiles = static_cast<Size>(module.values.size()) * module.devices;
  return tiles > most_tiles ? as_it_is(module) : Reduction(module).run();
}

Smaller as_it_is(const Module& module) {
  Smaller out{module, {}, 1};
  for (const Value& value : module.values) {
    out.scales.emplace_back(value.type.layout().rank());
  }
  return out;
}

}  // namespace retile::spmd
