// The verdict on formal sums against integers: random Programs with addends are carried out on drawn
// numbers modulo 2^64, by code that shares nothing with the judge but the reader and the boxes.
//
// No right Program may end with other numbers than it should, and a Program that is wrong in its end
// must show it for some of the numbers drawn. A witness counts what it says, on numbers that are 0
// but for one. The controls are judges that forget something, and witnesses that count one more.
//
// Bound: meshes of up to 8 devices, rank 1 or 2, extents 1 to 6, up to 5 steps and 1 mistake.
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <random>
#include <tuple>

#include "spec/program/check.h"
#include "spec/program/text.h"

namespace spec::addends_numbers_test {
namespace {

#ifdef RETILE_SLOW_TESTS
constexpr int programs_drawn = 3'000'000;
#else
constexpr int programs_drawn = 36'000;
#endif

using Number = std::uint64_t;
using Random = std::mt19937_64;

Size below(Random& random, Size n) { return static_cast<Size>(random() % static_cast<Number>(n)); }
bool one_in(Random& random, Size n) { return below(random, n) == 0; }

// Programs on numbers.

struct Array {
  Sizes shape;
  std::vector<Number> values;  // in C order
};

Array empty(Index rank) { return {Sizes(rank, 0), {}}; }

/// The elements with begin <= l_i < end.
Array slice(const Array& a, Index i, Size begin, Size end) {
  begin = std::min(begin, a.shape[i]), end = std::min(end, a.shape[i]);
  if (begin == end) return empty(a.shape.size());
  Array out = {a.shape, {}};
  out.shape[i] = end - begin;
  Size inner = 1;
  for (Index j = i + 1; j < a.shape.size(); ++j) inner *= a.shape[j];
  for (Index at = 0; at < a.values.size(); ++at) {
    const Size l_i = static_cast<Size>(at) / inner % a.shape[i];
    if (begin <= l_i && l_i < end) out.values.push_back(a.values[at]);
  }
  return out;
}
Array joined(std::vector<Array> parts, Index i) {
  const Index rank = parts[0].shape.size();
  std::erase_if(parts, [](const Array& a) { return a.values.empty(); });
  if (parts.empty()) return empty(rank);
  Size outer = 1;
  for (Index j = 0; j < i; ++j) outer *= parts[0].shape[j];
  Array out = {parts[0].shape, {}};
  out.shape[i] = 0;
  for (const Array& a : parts) out.shape[i] += a.shape[i];
  for (Size o = 0; o < outer; ++o) {
    for (const Array& a : parts) {
      const auto chunk = static_cast<std::ptrdiff_t>(a.values.size()) / outer;
      const auto first = a.values.begin() + o * chunk;
      out.values.insert(out.values.end(), first, first + chunk);
    }
  }
  return out;
}

Number zero(Addition O) { return O == Addition::min ? ~Number{0} : 0; }
Number sum(Addition O, Number a, Number b) {
  if (O == Addition::max) return std::max(a, b);
  return O == Addition::min ? std::min(a, b) : a + b;
}

/// What the devices hold after a step that can be applied.
std::vector<Array> after(const Step& step, Addition O, const std::vector<Array>& before) {
  std::vector<Array> out = before;
  const Size D = static_cast<Size>(before.size());
  const Index r = before[0].shape.size();
  const auto of = [&](Size d) -> const Array& { return before[static_cast<Index>(d)]; };
  if (step.transfers) {
    for (Index d = 0; d < out.size(); ++d) {
      out[d].shape = step.shapes ? (*step.shapes)[d] : *step.tile;
      Size size = 1;
      for (const Size extent : out[d].shape) size *= extent;
      out[d].values.assign(static_cast<Index>(size), zero(O));
    }
    for (const Sizes& t : *step.transfers) {
      Array& to = out[static_cast<Index>(t[0])];
      Size size = 1;
      for (Index i = 0; i < r; ++i) size *= t[2 + 2 * r + i];
      for (Size n = 0; n < size; ++n) {
        Size rest = n, to_at = 0, from_at = 0, to_unit = 1, from_unit = 1;
        for (Index i = r; i-- > 0;) {
          const Size l = rest % t[2 + 2 * r + i];
          rest /= t[2 + 2 * r + i];
          to_at += (t[2 + i] + l) * to_unit, to_unit *= to.shape[i];
          from_at += (t[2 + r + i] + l) * from_unit, from_unit *= of(t[1]).shape[i];
        }
        Number& there = to.values[static_cast<Index>(to_at)];
        const Number value = of(t[1]).values[static_cast<Index>(from_at)];
        there = step.add == Addition::none ? value : sum(O, there, value);
      }
    }
    return out;
  }
  if (step.p == Op::allpermute && step.adding == Adding::none) {
    const Sizes P = row(table_of(step, D), 0);
    for (Index d = 0; d < out.size(); ++d) out[d] = of(P[d]);
    return out;
  }
  for (Size k = 0; k < row_count(step.table); ++k) {
    const Sizes members = row(step.table, k);
    const Size n = static_cast<Size>(members.size());
    const auto piece = [&](const Array& a, Size q) {
      const Size s = step.piece.value_or(a.shape[step.split] / n);
      return slice(a, step.split, q * s, (q + 1) * s);
    };
    Array all = of(members[0]);
    for (Size q = 1; q < n && step.adding != Adding::none; ++q) {
      const Array& a = of(members[static_cast<Index>(q)]);
      if (a.shape != all.shape) break;  // an unreduce of rows that are not alike
      for (Index at = 0; at < all.values.size(); ++at) {
        all.values[at] = sum(O, all.values[at], a.values[at]);
      }
    }
    for (Size q = 0; q < n; ++q) {
      const Array& own = of(members[static_cast<Index>(q)]);
      Array& made = out[static_cast<Index>(members[static_cast<Index>(q)])];
      const Array none = {own.shape, std::vector<Number>(own.values.size(), zero(O))};
      std::vector<Array> parts;
      for (const Size d : members) {
        if (step.p == Op::alltoall) parts.push_back(piece(of(d), q));
        if (step.p == Op::allgather) parts.push_back(of(d));
      }
      if (step.adding == Adding::reducescatter) {
        made = piece(all, q);
      } else if (step.adding == Adding::allreduce) {
        made = all;
      } else if (step.adding == Adding::unreduce) {
        made = q == 0 ? own : none;
      } else if (step.adding == Adding::embed) {
        parts.assign(members.size(), none);
        parts[static_cast<Index>(q)] = own;
        made = joined(parts, step.concat);
      } else if (step.p == Op::dynslice) {
        made = piece(own, q);
      } else {
        made = joined(parts, step.concat);
      }
    }
  }
  return out;
}

Sizes digits_of(const std::vector<Digit>& xs, Size d) {
  Sizes out;
  for (const Digit& x : xs) out.push_back(d / x.stride % x.size);
  return out;
}
Size number_of(const std::vector<Digit>& xs, Size d) {
  Size out = 0, unit = 1;
  for (const Digit& x : xs) out += d / x.stride % x.size * unit, unit *= x.size;
  return out;
}

struct Numbers {
  const Program& program;
  const Addition O = addition_of(program);
  const Size D = program.devices;
  Size K = 1;
  std::vector<std::vector<Number>> v = {};  // v[k][g]

  void draw(Random& random) {
    K = 1;
    for (const Digit& z : program.from.layout->zs) K *= z.size;
    Size size = 1;
    for (const Size n : program.from.global) size *= n;
    v.assign(static_cast<Index>(K), std::vector<Number>(static_cast<Index>(size)));
    for (auto& array : v) {
      for (Number& value : array) value = 1 + random() % (~Number{0} - 1);  // neither is zero(O)
    }
  }
  /// v_k on a box, for one k or for all.
  std::vector<Number> on(const Box& box, std::optional<Size> k) const {
    std::vector<Number> out;
    const Sizes extents = [&] {
      Sizes c;
      for (const Sizes& side : box) c.push_back(static_cast<Size>(side.size()));
      return c;
    }();
    Size size = 1;
    for (const Size c : extents) size *= c;
    for (Size n = 0; n < size; ++n) {
      Size rest = n, g = 0, unit = 1;
      for (Index i = box.size(); i-- > 0;) {
        g += box[i][static_cast<Index>(rest % extents[i])] * unit;
        rest /= extents[i];
        unit *= program.from.global[i];
      }
      Number value = zero(O);
      for (Size each = 0; each < K; ++each) {
        if (!k || *k == each) {
          value = sum(O, value, v[static_cast<Index>(each)][static_cast<Index>(g)]);
        }
      }
      out.push_back(value);
    }
    return out;
  }
  std::vector<Array> end() const {
    std::vector<Array> state;
    const auto all = boxes(*program.from.layout, D);
    for (Size d = 0; d < D; ++d) {
      const Box& box = all[static_cast<Index>(d)];
      state.push_back({{}, on(box, number_of(program.from.layout->zs, d))});
      for (const Sizes& side : box) state.back().shape.push_back(static_cast<Size>(side.size()));
    }
    for (const Step& step : program.steps) state = after(step, O, state);
    return state;
  }
  /// Whether the devices hold what `to` says. Without `replicas` these may differ (a control).
  bool are_right(bool replicas = true) const {
    const std::vector<Array> state = end();
    const Layout& L = *program.to.layout;
    const auto all = boxes(L, D);
    std::map<std::pair<std::vector<Sizes>, Size>, Index> holder;
    std::map<std::vector<Sizes>, std::vector<Number>> totals;
    for (Index d = 0; d < state.size(); ++d) {
      std::vector<Sizes> tile;
      for (const LayoutDim& dim : L.dims) {
        tile.push_back(digits_of(dim.xs, static_cast<Size>(d)));
      }
      const Size kappa = number_of(L.zs, static_cast<Size>(d));
      const auto& values = state[d].values;
      if (O == Addition::stack && values != on(all[d], kappa)) return false;
      const auto [at, is_new] = holder.emplace(std::pair(tile, kappa), d);
      if (!is_new) {
        if (replicas && state[at->second].values != values) return false;
        continue;
      }
      auto& total = totals[tile];
      total.resize(values.size(), zero(O));
      for (Index l = 0; l < values.size(); ++l) total[l] = sum(O, total[l], values[l]);
    }
    for (const auto& [key, d] : holder) {
      if (O != Addition::stack && totals[key.first] != on(all[d], std::nullopt)) return false;
    }
    return true;
  }
};

// Random Programs: steps that lead from type to type, and often a mistake.

struct MeshAxis {
  std::string name;
  Size k = 1, stride = 1;
};
struct Placed {
  std::vector<Index> zs;               // axes of the addends
  std::vector<std::vector<Index>> xs;  // per dimension, minor first
  Sizes c, n;
};
struct Line {
  std::string head, tail;  // the table stands between them
  Rows rows;
};

const char* const ways[] = {"", "sum", "max", "min", "stack"};

class Writer {
 public:
  explicit Writer(Random& random) : random_(random) {
    static const std::vector<Sizes> meshes = {{2}, {3}, {4}, {2, 2}, {2, 3}, {3, 2}, {2, 2, 2}};
    const Sizes& sizes = meshes[static_cast<Index>(below(random_, 7))];
    for (Index a = sizes.size(); a-- > 0;) {
      axes_.insert(axes_.begin(), {std::string(1, static_cast<char>('x' + a)), sizes[a], D_});
      D_ *= sizes[a];
    }
    way_ = ways[std::min<Size>(4, 1 + below(random_, 12) / 3)];
    if (way_ == "stack" && one_in(random_, 3)) way_ = "sum";
    const Index rank = static_cast<Index>(1 + below(random_, 2));
    for (Index i = 0; i < rank; ++i) n_.push_back(1 + below(random_, 6));
  }

  std::string text() {
    Placed type = any_type();
    if (way_ == "stack" && type.zs.empty()) return "";
    const std::string from = text_of(type);
    for (Size steps = below(random_, 6); steps > 0; --steps) step(type);
    Placed to = type;
    if (!lines_.empty() && one_in(random_, 2)) {
      spoil();
    } else if (one_in(random_, 4)) {
      to = any_type();
    }
    if (one_in(random_, 3)) std::shuffle(to.zs.begin(), to.zs.end(), random_);
    std::string out = "retile.program/2\nmesh ";
    for (const MeshAxis& a : axes_) {
      out += (&a == &axes_[0] ? "" : ",") + a.name + ":" + std::to_string(a.k);
    }
    out += "\nfrom " + from + "\nto " + text_of(to) + "\n";
    for (const Line& line : lines_) {
      out += line.head;
      if (!line.rows.empty()) out += text_of(line.rows);
      out += line.tail + "\n";
    }
    return out;
  }

 private:
  static std::string text_of(const Sizes& numbers) {
    std::string out;
    for (const Size n : numbers) out += (out.empty() ? "" : ",") + std::to_string(n);
    return "[" + out + "]";
  }
  static std::string text_of(const Rows& rows) {
    std::string out;
    for (const Sizes& row : rows) out += (out.empty() ? "" : ",") + text_of(row);
    return "[" + out + "]";
  }
  std::string names(const std::vector<Index>& xs) const {
    std::string out;
    for (const Index a : xs) out += (out.empty() ? "" : ",") + axes_[a].name;
    return "{" + out + "}";
  }
  std::string text_of(const Placed& type) const {
    std::string out;
    for (Index i = 0; i < n_.size(); ++i) {
      out += (out.empty() ? "" : ", ") + std::to_string(type.c[i]) + "~" + names(type.xs[i]) +
             std::to_string(n_[i]);
    }
    return (type.zs.empty() ? "" : way_ + names(type.zs)) + "[" + out + "]";
  }
  Size number_of_tiles(const std::vector<Index>& xs) const {
    Size out = 1;
    for (const Index a : xs) out *= axes_[a].k;
    return out;
  }

  Placed any_type() {
    Placed out;
    out.xs.resize(n_.size());
    std::vector<Index> order;
    for (Index a = 0; a < axes_.size(); ++a) order.push_back(a);
    std::shuffle(order.begin(), order.end(), random_);
    for (const Index a : order) {
      const Size where = below(random_, static_cast<Size>(n_.size()) + 3);
      if (where < 2) out.zs.push_back(a);
      if (where > 2) out.xs[static_cast<Index>(where - 3)].push_back(a);
    }
    for (Index i = 0; i < n_.size(); ++i) {
      const Size N = number_of_tiles(out.xs[i]);
      out.c.push_back((n_[i] + N - 1) / N);
    }
    return out;
  }
  /// Rows of the devices that differ in the axes, the first axis the fastest.
  Rows over(const std::vector<Index>& xs) const {
    std::map<Size, Sizes> out;
    for (Size d = 0; d < D_; ++d) {
      Size rest = d, q = 0, unit = 1;
      for (const Index a : xs) {
        const Size digit = d / axes_[a].stride % axes_[a].k;
        rest -= digit * axes_[a].stride;
        q += digit * unit, unit *= axes_[a].k;
      }
      Sizes& row = out[rest];
      row.resize(static_cast<Index>(unit));
      row[static_cast<Index>(q)] = d;
    }
    Rows rows;
    for (const auto& [rest, row] : out) rows.push_back(row);
    std::shuffle(rows.begin(), rows.end(), Random(rows.size()));
    return rows;
  }
  std::vector<Index> free_axes(const Placed& type) const {
    std::vector<Index> out;
    for (Index a = 0; a < axes_.size(); ++a) {
      bool used = std::count(type.zs.begin(), type.zs.end(), a) > 0;
      for (const auto& xs : type.xs) used = used || std::count(xs.begin(), xs.end(), a) > 0;
      if (!used) out.push_back(a);
    }
    return out;
  }
  /// Dimension i is cut over axis a; how that is said.
  std::string push(Placed& type, Index i, Index a) {
    const Size k = axes_[a].k, c = type.c[i];
    type.c[i] = (c + k - 1) / k;
    type.xs[i].insert(type.xs[i].begin(), a);
    return one_in(random_, 6) ? "" : " piece=" + std::to_string(type.c[i]);
  }
  Index pop(Placed& type, Index i) {
    const Index a = type.xs[i].front();
    type.xs[i].erase(type.xs[i].begin());
    type.c[i] *= axes_[a].k;
    return a;
  }
  static Index take(std::vector<Index>& from, Random& random) {
    const auto at = below(random, static_cast<Size>(from.size()));
    const Index out = from[static_cast<Index>(at)];
    from.erase(from.begin() + at);
    return out;
  }
  std::string add() const { return way_ == "sum" || way_ == "stack" ? "" : " add=" + way_; }

  /// A step that the type allows, if the one drawn is.
  void step(Placed& type) {
    const Index i = static_cast<Index>(below(random_, static_cast<Size>(n_.size())));
    const Index j = static_cast<Index>(below(random_, static_cast<Size>(n_.size())));
    const std::string dim = " dim=" + std::to_string(i) + " groups=";
    std::vector<Index> idle = free_axes(type);
    const Size kind = one_in(random_, 8) ? 3 : below(random_, way_ == "stack" ? 5 : 13);
    if (kind == 0 && !idle.empty()) {
      const Index a = take(idle, random_);
      const std::string piece = push(type, i, a);
      lines_.push_back({"dynslice" + dim, piece, over({a})});
    } else if (kind <= 2 && !type.xs[i].empty()) {
      lines_.push_back({"allgather" + dim, "", over({pop(type, i)})});
    } else if (kind == 3 && !type.xs[i].empty() && i != j) {
      const Index a = pop(type, i);
      const std::string piece = push(type, j, a);
      lines_.push_back(
          {"alltoall split=" + std::to_string(j) + " concat=" + std::to_string(i) + " groups=",
           piece, over({a})});
    } else if (kind == 4 && axes_.size() > 1) {
      swap_axes(type);
    } else if (kind <= 7 && !type.zs.empty()) {
      const Index a = take(type.zs, random_);
      const std::string piece = push(type, i, a);
      lines_.push_back({"reducescatter" + dim, piece + add(), over({a})});
    } else if (kind <= 9 && !type.zs.empty()) {
      const Index a = take(type.zs, random_);
      if (one_in(random_, 3)) {
        exchange(type, a);
      } else {
        lines_.push_back({"allreduce groups=", add(), over({a})});
      }
    } else if (kind == 10 && !idle.empty()) {
      const Index a = take(idle, random_);
      type.zs.push_back(a);
      lines_.push_back({"unreduce groups=", add(), over({a})});
    } else if (kind >= 11 && !type.xs[i].empty()) {
      const Index a = pop(type, i);
      type.zs.push_back(a);
      lines_.push_back({"embed" + dim, add(), over({a})});
    }
  }
  /// Axes of one size change places.
  void swap_axes(Placed& type) {
    const Index a = static_cast<Index>(below(random_, static_cast<Size>(axes_.size())));
    const Index b = (a + 1) % axes_.size();
    if (axes_[a].k != axes_[b].k) return;
    Sizes source;
    for (Size d = 0; d < D_; ++d) {
      const Size of_a = d / axes_[a].stride % axes_[a].k, of_b = d / axes_[b].stride % axes_[b].k;
      source.push_back(d + (of_b - of_a) * axes_[a].stride + (of_a - of_b) * axes_[b].stride);
    }
    const auto rename = [&](std::vector<Index>& xs) {
      for (Index& x : xs) x = x == a ? b : x == b ? a : x;
    };
    rename(type.zs);
    for (auto& xs : type.xs) rename(xs);
    lines_.push_back({"allpermute source=" + text_of(source), "", {}});
  }
  /// An allreduce as an exchange, where all tiles are alike.
  void exchange(const Placed& type, Index a) {
    Rows transfers;
    for (const Sizes& members : over({a})) {
      for (const Size t : members) {
        for (const Size s : members) {
          Sizes row = {t, s};
          row.resize(2 + 2 * n_.size(), 0);
          row.insert(row.end(), type.c.begin(), type.c.end());
          transfers.push_back(row);
        }
      }
    }
    lines_.push_back({"exchange transfers=",
                      " tile=" + text_of(type.c) + " add=" + (way_ == "stack" ? "sum" : way_),
                      transfers});
  }

  void spoil() {
    const Size at = below(random_, static_cast<Size>(lines_.size()));
    const auto line = lines_.begin() + at;
    const bool has_rows = !line->rows.empty();
    const bool is_exchange = line->head.front() == 'e' && line->head[1] == 'x';
    switch (below(random_, 6)) {
      case 0:
        lines_.erase(line);
        break;
      case 1:
        lines_.insert(line, Line(*line));
        break;
      case 2:
        if (has_rows && is_exchange) {
          line->rows.erase(line->rows.begin() +
                           below(random_, static_cast<Size>(line->rows.size())));
        } else if (has_rows) {
          Sizes& row = line->rows[0];
          std::shuffle(row.begin(), row.end(), random_);
        }
        break;
      case 3:
        if (has_rows && is_exchange) {
          line->rows.push_back(line->rows.front());
        } else if (has_rows) {
          line->rows = over({static_cast<Index>(below(random_, static_cast<Size>(axes_.size())))});
        }
        break;
      case 4:
        if (has_rows && !is_exchange) {  // over all devices
          std::vector<Index> all;
          for (Index a = 0; a < axes_.size(); ++a) all.push_back(a);
          line->rows = over(all);
        }
        break;
      default:
        std::swap(lines_[static_cast<Index>(at)], lines_.front());
    }
  }

  Random& random_;
  std::vector<MeshAxis> axes_;
  Size D_ = 1;
  std::string way_;
  Sizes n_;
  std::vector<Line> lines_;
};

// Judges that forget something.

enum class Forgets { nothing, replicas, addends, places, counts };

class Judge : public AddendsReplay {
 public:
  Judge(const Program& program, Forgets what) : AddendsReplay(program), what_(what) {}

 private:
  std::optional<Wrong> differs(const State& expected, const Tiling& tiling, const char* reason,
                               Size step) override {
    if (what_ == Forgets::nothing) return AddendsReplay::differs(expected, tiling, reason, step);
    const auto all = shares(*tiling.layout, D_);
    std::optional<Wrong> wrong = other_shape(expected, step);
    if (what_ != Forgets::places) {
      if (!wrong) wrong = other_element(expected, step);
      if (!wrong && what_ != Forgets::replicas) wrong = other_replica(expected, all, step);
    }
    if (!wrong && what_ != Forgets::addends) {
      wrong = incomplete(expected, all, addend_count(*tiling.layout), step);
    }
    if (wrong && what_ == Forgets::counts && wrong->times.value_or(0) > 1) wrong.reset();
    return wrong;
  }
  Forgets what_;
};

/// What stands at the witness, and at its replica, where element g of addend k is 1 and all others
/// are 0, so how often that was added there. Of a total all holders count.
bool witness_counts(const Program& program, const Wrong& wrong) {
  Random random(1);
  Numbers numbers{program};
  if (numbers.O == Addition::min) return true;
  numbers.draw(random);
  const auto number_in = [](const Sizes& l, const Sizes& shape) {
    Size out = 0;
    for (Index i = 0; i < l.size(); ++i) out = out * shape[i] + l[i];
    return static_cast<Index>(out);
  };
  const auto counts = [&](Size k, const Sizes& g) {  // by device
    for (auto& array : numbers.v) std::fill(array.begin(), array.end(), 0);
    numbers.v[static_cast<Index>(k)][number_in(g, program.from.global)] = 1;
    Sizes out;
    for (const Array& a : numbers.end()) {
      const Index at = number_in(*wrong.at, a.shape);
      out.push_back(at < a.values.size() ? static_cast<Size>(a.values[at]) : 0);
    }
    return out;
  };
  const Index d = static_cast<Index>(*wrong.device);
  if (wrong.found) {
    bool is_there = false;
    for (Size k = 0; k < numbers.K; ++k) is_there = is_there || counts(k, *wrong.found)[d] > 0;
    return is_there && *wrong.found != *wrong.element;
  }
  const Sizes count = counts(*wrong.addend, *wrong.element);
  if (wrong.replica) {
    return count[d] == *wrong.times && *wrong.times != *wrong.replica_times &&
           count[static_cast<Index>(*wrong.replica)] == *wrong.replica_times;
  }
  if (numbers.O == Addition::stack) return count[d] == *wrong.times;
  const Layout& L = *program.to.layout;
  std::map<Size, Size> held;  // by addend of `to`, where the tile is that of the witness
  for (Size e = 0; e < program.devices; ++e) {
    bool same = true;
    for (const LayoutDim& dim : L.dims) {
      same = same && digits_of(dim.xs, e) == digits_of(dim.xs, *wrong.device);
    }
    if (same) held.emplace(number_of(L.zs, e), count[static_cast<Index>(e)]);
  }
  Size total = 0;
  for (const auto& [kappa, times] : held) total += times;
  return total == *wrong.times && number_of(L.zs, *wrong.device) == 0;
}
/// Where the last step claims what `to` says, the claim is judged as the end is.
bool claim_is_judged_alike(Program program, const Verdict& verdict) {
  if (program.steps.empty()) return true;
  program.steps.back().map = program.to;
  const Verdict claimed = check(program);
  if (claimed.right != verdict.right) return false;
  if (verdict.right) return claimed.cost == verdict.cost && claimed.height == verdict.height;
  const Wrong &a = *verdict.wrong, &b = *claimed.wrong;
  return b.reason == "map_claim" && b.first_wrong_step + 1 == a.first_wrong_step &&
         std::tie(a.device, a.at, a.element, a.found, a.addend, a.times, a.replica,
                  a.replica_times) == std::tie(b.device, b.at, b.element, b.found, b.addend,
                                               b.times, b.replica, b.replica_times);
}
bool is_at_the_end(const Verdict& verdict) {
  const Wrong& wrong = *verdict.wrong;
  return wrong.first_wrong_step == verdict.steps && wrong.at.has_value();
}
bool shows(const Program& program, Random& random, bool replicas = true) {
  Numbers numbers{program};
  for (int k = 0; k < 500; ++k) {
    numbers.draw(random);
    if (!numbers.are_right(replicas)) return true;
  }
  return false;
}

TEST(AddendsNumbers, no_right_Program_has_wrong_numbers_and_wrong_ones_show) {
  Random random(20261122);
  std::map<std::string, int> said, in_right;
  for (int drawn = 0; drawn < programs_drawn;) {
    const std::string text = Writer(random).text();
    if (text.empty()) continue;
    const Programs read = parse_programs(text);
    if (read.error) {
      // What is drawn can be refused only where a stack ends as none.
      ASSERT_NE(text.find("stack"), std::string::npos) << read.error->message << "\n" << text;
      continue;
    }
    const Program& program = read.programs[0];
    if (addition_of(program) == Addition::none) continue;
    ++drawn;
    const Verdict verdict = check(program);
    ASSERT_TRUE(verdict.decided) << text;
    const std::string way = ways[static_cast<int>(addition_of(program))];
    if (verdict.right || verdict.wrong->first_wrong_step == verdict.steps) {
      ASSERT_TRUE(claim_is_judged_alike(program, verdict)) << text;
    }
    if (verdict.right) {
      Numbers numbers{program};
      for (int k = 0; k < 3; ++k) {
        numbers.draw(random);
        ASSERT_TRUE(numbers.are_right()) << text;
      }
      ++said["right " + way];
      for (const char* op : {"dynslice", "allgather", "alltoall", "allpermute", "reducescatter",
                             "allreduce", "unreduce", "embed", "exchange", "piece"}) {
        if (text.find(op) != std::string::npos) ++in_right[op];
      }
      continue;
    }
    if (!is_at_the_end(verdict)) {
      ++said[verdict.wrong->at ? "on the way" : verdict.wrong->reason];
      continue;
    }
    ++said[verdict.wrong->reason + " " + way];
    ASSERT_TRUE(shows(program, random)) << verdict.wrong->reason << "\n" << text;
    ASSERT_TRUE(witness_counts(program, *verdict.wrong)) << verdict.wrong->reason << "\n" << text;
    for (const auto count : {&Wrong::times, &Wrong::replica_times}) {
      Wrong other = *verdict.wrong;
      if (!(other.*count) || addition_of(program) == Addition::min) continue;
      ++*(other.*count);
      ASSERT_FALSE(witness_counts(program, other)) << text;
    }
  }
  for (const auto& [what, count] : said) std::cout << what << ": " << count << "\n";
  for (const auto& [what, count] : in_right)
    std::cout << "right with " << what << ": " << count << "\n";
  for (const char* what :
       {"right sum", "right max", "right min", "right stack", "end sum", "end max", "end min",
        "end stack", "replicas sum", "replicas max", "replicas min", "replicas stack",
        "addends sum", "addends max", "addends min", "addends stack"}) {
    EXPECT_GT(said[what], programs_drawn / 10000) << what;
  }
  EXPECT_EQ(in_right.size(), 10U);
  for (const auto& [what, count] : in_right) EXPECT_GT(count, programs_drawn / 1000) << what;
}

/// How many Programs a judge calls right whose numbers are wrong, or wrong in the end whose numbers
/// never show it.
int mistakes(Forgets what, int programs) {
  Random random(7);
  int out = 0;
  for (int drawn = 0; drawn < programs;) {
    const std::string text = Writer(random).text();
    const Programs read = text.empty() ? Programs() : parse_programs(text);
    if (read.programs.empty() || addition_of(read.programs[0]) == Addition::none) continue;
    ++drawn;
    const Verdict verdict = Judge(read.programs[0], what).run();
    Numbers numbers{read.programs[0]};
    numbers.draw(random);
    if (verdict.right && !numbers.are_right()) ++out;
    if (!verdict.right && is_at_the_end(verdict) && !shows(read.programs[0], random)) ++out;
  }
  return out;
}

TEST(AddendsNumbers, control_a_judge_that_forgets_something_is_noticed) {
  EXPECT_EQ(mistakes(Forgets::nothing, 3000), 0);
  EXPECT_GT(mistakes(Forgets::replicas, 3000), 0);
  EXPECT_GT(mistakes(Forgets::addends, 3000), 0);
  EXPECT_GT(mistakes(Forgets::places, 3000), 0);
  EXPECT_GT(mistakes(Forgets::counts, 3000), 0);
}

TEST(AddendsNumbers, control_numbers_that_forget_replicas_do_not_show_them) {
  const Programs read = parse_programs(
      "retile.program/2\nmesh x:2,y:2\nfrom [2]\nto sum{x}[2]\nunreduce groups=[[0,2],[3,1]]\n");
  ASSERT_FALSE(read.error);
  ASSERT_EQ(check(read.programs[0]).wrong.value().reason, "replicas");
  Random random(3);
  EXPECT_TRUE(shows(read.programs[0], random));
  EXPECT_FALSE(shows(read.programs[0], random, false));
}

}  // namespace
}  // namespace spec::addends_numbers_test
