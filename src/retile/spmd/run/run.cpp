#include "run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "multiplying.h"
#include "retile/core/layout_facts.h"
#include "retile/exec/npy/npy.h"
#include "retile/exec/npy/splitmix.h"
#include "retile/run/files.h"
#include "retile/spmd/arithmetic.h"
#include "retile/spmd/tensor.h"
#include "rounding.h"

namespace retile::spmd {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Largest magnitudes that an expression can have, from those of its values.
class Magnitude {
 public:
  static double of(const Expression& e, const std::vector<Shape>& shapes,
                   const std::vector<double>& values) {
    if (e.op == LocalOp::value) return values[e.value];
    std::vector<double> parts;
    std::vector<Shape> operands;
    for (const Expression& operand : e.operands) {
      parts.push_back(of(operand, shapes, values));
      operands.push_back(typed(operand, shapes));
    }
    switch (e.op) {
      case LocalOp::einsum:
        return einsum(e.einsum, operands, parts);
      case LocalOp::add:
      case LocalOp::sub: {
        double sum = 0;
        for (const double part : parts) sum += part;
        return sum;
      }
      case LocalOp::mul: {
        double product = 1;
        for (const double part : parts) product *= std::max(part, 1.0);
        return product;
      }
      case LocalOp::scale:
        return parts[0] * std::max(std::abs(static_cast<double>(e.numbers[0])), 1.0);
      case LocalOp::fill:
        return std::abs(static_cast<double>(e.numbers[0]));
      case LocalOp::step:
      case LocalOp::equal:
        return 1;
      case LocalOp::take:
        return parts[0];
      case LocalOp::reduce_sum:
        return parts[0] *
               std::max(static_cast<double>(operands[0][static_cast<std::size_t>(e.numbers[0])]),
                        1.0);
      default:
        return *std::max_element(parts.begin(), parts.end());
    }
  }

 private:
  static double einsum(const Einsum& e, const std::vector<Shape>& operands,
                       const std::vector<double>& parts) {
    double out = 1;
    for (const double part : parts) out *= std::max(part, 1.0);
    const auto extents = label_extents(e, operands);
    for (const auto& [label, extent] : *extents) {
      if (e.out.find(label) == std::string::npos) {
        out *= std::max(static_cast<double>(extent), 1.0);
      }
    }
    return out;
  }
};

/// An upper bound of all magnitudes in the module, if those of the parameters are at most `least`. Every
/// part of a value counts: what a device holds of it is no larger than the sum of all of its addends'
/// bounds.
double largest_value(const Module& module, double least) {
  double largest = least;
  const auto addends_of = [&](std::size_t x) {
    return static_cast<double>(module.values[x].type.layout().addend_count());
  };
  std::vector<double> bounds;  // of a value, whatever its addends
  std::vector<Shape> globals;
  for (std::size_t x = 0; x < module.parameters; ++x) {
    const Below& below = module.values[x].below;
    bounds.push_back(below ? static_cast<double>(*below) : least * addends_of(x));
    largest = std::max(largest, bounds.back());
    globals.push_back(module.values[x].type.layout().global());
  }
  if (module.denotes) {
    std::vector<double> known = bounds;
    const auto look = [&](const Expression& e) {
      const double bound = Magnitude::of(e, globals, known);
      largest = std::max(largest, bound);
      return bound;
    };
    for (const auto& [name, e] : module.denotes->definitions) {
      known.push_back(look(e));
      globals.push_back(typed(e, globals));
    }
    for (const Expression& e : module.denotes->results) look(e);
  }
  for (const Statement& statement : module.body) {
    double bound = 0;
    if (const auto* op = std::get_if<SpmdOp>(&statement.op)) {
      for (Size d = 0; d < module.devices; ++d) {
        std::vector<Shape> shapes;
        std::vector<double> values;
        for (const std::size_t x : op->arguments) {
          shapes.push_back(module.values[x].type.shape(d));
          values.push_back(bounds[x]);
        }
        for (const auto& [name, e] : op->definitions) {
          values.push_back(Magnitude::of(e, shapes, values));
          largest = std::max(largest, values.back());
          shapes.push_back(typed(e, shapes));
        }
        bound = std::max(bound, Magnitude::of(op->result, shapes, values));
      }
      bound *= addends_of(statement.value);
    } else {
      bound = bounds[std::get<RedistributeOp>(statement.op).argument];
    }
    bounds.push_back(bound);
    largest = std::max(largest, bound);
  }
  return largest;
}

/// What parameters are made of.
struct Drawing {
  Size most = 9;          ///< integers from -most to most
  double divisor = 1;     ///< by which they are divided
  bool positive = false;  ///< from the half of them on, so that nothing is divided by 0
};

/// Numbers by parameter, addend and place.
class Generator {
 public:
  explicit Generator(const Drawing& drawing) : drawing_(drawing) {}

  [[nodiscard]] double value(std::size_t parameter, Size addend, Size position) const {
    const std::uint64_t stream = splitmix64((static_cast<std::uint64_t>(parameter) << 32U) ^
                                            static_cast<std::uint64_t>(addend));
    const std::uint64_t number = splitmix64(stream ^ static_cast<std::uint64_t>(position));
    const Size least = drawing_.positive ? drawing_.most / 2 : -drawing_.most;
    const auto count = static_cast<std::uint64_t>(drawing_.most - least + 1);
    return static_cast<double>(static_cast<Size>(number % count) + least) / drawing_.divisor;
  }
  /// Whole numbers from 0 to below - 1.
  [[nodiscard]] static double index(std::size_t parameter, Size position, Size below) {
    const std::uint64_t stream = splitmix64(static_cast<std::uint64_t>(parameter) << 32U);
    return static_cast<double>(splitmix64(stream ^ static_cast<std::uint64_t>(position)) %
                               static_cast<std::uint64_t>(below));
  }

 private:
  Drawing drawing_;
};

/// Thrown where a file cannot be read.
struct Unread {
  Diagnostic why;
};

/// What parameters are: numbers that are made up, or those of files. \tparam T  what files hold
template <typename T>
class Parameters {
 public:
  Parameters(const Module& module, const Drawing& drawing, const std::vector<NpyFile>& files)
      : module_(module), generator_(drawing), files_(files) {}

  /// The tile of a device. \exception Unread
  void tile(std::size_t x, Size d, Tensor<T>& out) const {
    const Layout& layout = module_.values[x].type.layout();
    if (!files_.empty()) return read(TileReader(files_[x], layout, d), x, out.elements);
    for_each_element(layout, out.shape, d, [&](std::size_t global, std::size_t local) {
      out.elements[local] = static_cast<T>(drawn(x, layout.addend(d), static_cast<Size>(global)));
    });
  }

  /// A box of what the parameter means, in the arithmetic A. \exception Unread, NotFinite, Undecided
  template <typename A>
  Tensor<typename A::Value> box(const A& a, std::size_t x, const Box& box) const {
    const auto count = checked_product(box.extent);
    if (!count || *count > most_in_tensor) {
      throw Undecided{"more than 2^28 elements of a parameter to compare with"};
    }
    Tensor<typename A::Value> out{box.extent,
                                  std::vector<typename A::Value>(static_cast<std::size_t>(*count))};
    if (*count == 0) return out;
    if (!files_.empty()) {
      std::vector<T> elements(out.elements.size());
      read(TileReader(files_[x], box.extent, box.at), x, elements);
      std::transform(elements.begin(), elements.end(), out.elements.begin(), [&a](T element) {
        const auto number = static_cast<double>(element);
        if (!std::isfinite(number)) throw NotFinite{};
        return a.of(number);
      });
      return out;
    }
    const Layout& layout = module_.values[x].type.layout();
    const std::vector<Size> strides = strides_of(layout.global());
    const Size first = offset_of(box.at, strides);
    Walk walk(box.extent, {strides});
    for (auto& element : out.elements) {
      element = whole(a, x, layout, first + walk.offset(0));
      (void)walk.next();
    }
    return out;
  }

 private:
  void read(TileReader reader, std::size_t x, std::vector<T>& elements) const {
    if (elements.empty()) return;
    if (!module_.values[x].below) return read_as(reader, elements);
    const ElementType& type = files_[x].header().type;
    if (type.kind != ElementKind::signed_integer) return read_indices<T>(reader, x, elements);
    if (type.bytes == 4) return read_indices<std::int32_t>(reader, x, elements);
    read_indices<std::int64_t>(reader, x, elements);
  }
  template <typename From>
  static void read_as(TileReader& reader, std::vector<From>& elements) {
    const auto done = reader.read(std::as_writable_bytes(std::span(elements)));
    if (!done) throw Unread{done.error()};
  }
  /// \tparam From  what the file holds
  template <typename From>
  void read_indices(TileReader& reader, std::size_t x, std::vector<T>& elements) const {
    std::vector<From> held(elements.size());
    read_as(reader, held);
    const Size below = *module_.values[x].below;
    for (std::size_t k = 0; k < held.size(); ++k) {
      const Size index = Machine<From>::index(held[k]);
      if (index < 0 || index >= below) {
        throw Unread{{.code = Code::bad_number,
                      .message = fmt::format("{} holds {}, and its elements are indices: whole "
                                             "numbers from 0 to {}",
                                             module_.values[x].name, held[k], below - 1)}};
      }
      elements[k] = static_cast<T>(index);
    }
  }
  [[nodiscard]] double drawn(std::size_t x, Size addend, Size position) const {
    const Below& below = module_.values[x].below;
    return below ? Generator::index(x, position, *below) : generator_.value(x, addend, position);
  }
  /// What the addends of one place mean.
  template <typename A>
  auto whole(const A& a, std::size_t x, const Layout& layout, Size position) const {
    auto out = a.of(drawn(x, 0, position));
    const Addition addition = addition_or_sum(layout);
    const auto negative = [&a](const auto& p) { return a.sub(a.from(0), p); };
    for (Size k = 1; k < layout.addend_count(); ++k) {
      const auto next = a.of(drawn(x, k, position));
      out = addition == Addition::max   ? a.max(out, next)
            : addition == Addition::min ? negative(a.max(negative(out), negative(next)))
                                        : a.add(out, next);
    }
    return out;
  }

  const Module& module_;
  Generator generator_;
  const std::vector<NpyFile>& files_;
};

/// The arithmetic of what a run is compared with: doubles that hold every value exactly, or with functions
/// doubles beside what rounding may do.
struct Exact : Machine<double> {
  static double of(double number) { return number; }
  static double number(double a) { return a; }
  static double tolerance(double /*wanted*/) { return 0; }
  static double settled(double a) { return a; }
};
class Near : public Rounding {
 public:
  using Rounding::Rounding;
  static double number(const Value& a) { return a.number; }
};

/// Elements of `denotes`, of boxes of it and what these need: of each definition the box around all that is needed
/// of it, once. Loops work them out, so that a mistake of a BLAS is found.
template <typename T, typename A>
class Reference {
 public:
  using Values = Tensor<typename A::Value>;

  Reference(const Module& module, const Parameters<T>& parameters, A arithmetic)
      : module_(module), parameters_(parameters), a_(arithmetic), evaluator_({}, arithmetic) {
    for (std::size_t x = 0; x < module.parameters; ++x) {
      globals_.push_back(module.values[x].type.layout().global());
    }
    for (const auto& [name, e] : module.denotes->definitions) {
      globals_.push_back(typed(e, globals_));
    }
    boxes_.resize(globals_.size());
    last_use_.resize(globals_.size());
    values_.resize(globals_.size());
  }

  /// A box of a result will be asked for.
  void announce(std::size_t result, const Box& box) {
    need(module_.denotes->results[result], box, globals_.size());
  }
  /// Works out the definitions, after all was announced.
  void define() {
    for (std::size_t x = globals_.size(); x-- > module_.parameters;) {
      if (boxes_[x]) need(definition(x), *boxes_[x], x);
    }
    for (std::size_t x = module_.parameters; x < globals_.size(); ++x) {
      if (boxes_[x]) values_[x] = at(definition(x), *boxes_[x]);
      for (auto& element : values_[x].elements) element = a_.settled(element);
      for (std::size_t y = module_.parameters; y < x; ++y) {
        if (last_use_[y] == x) values_[y] = {};
      }
    }
  }
  Values result(std::size_t number, const Box& box) {
    return at(module_.denotes->results[number], box);
  }

 private:
  [[nodiscard]] const Expression& definition(std::size_t x) const {
    return module_.denotes->definitions[x - module_.parameters].second;
  }
  /// \param user  a definition, or their number
  void need(const Expression& e, const Box& box, std::size_t user) {
    if (e.op == LocalOp::value) {
      last_use_[e.value] = std::max(last_use_[e.value], user);
      auto& known = boxes_[e.value];
      known = known ? around(*known, box) : box;
      return;
    }
    const std::vector<Box> boxes =
        e.op == LocalOp::trim ? std::vector<Box>{behind_trim(e, box)} : needed(e, box);
    for (std::size_t k = 0; k < e.operands.size(); ++k) need(e.operands[k], boxes[k], user);
  }
  static Box around(const Box& a, const Box& b) {
    Box out = a;
    for (std::size_t d = 0; d < a.at.size(); ++d) {
      out.at[d] = std::min(a.at[d], b.at[d]);
      out.extent[d] = std::max(a.at[d] + a.extent[d], b.at[d] + b.extent[d]) - out.at[d];
    }
    return out;
  }
  static Box behind_trim(const Expression& e, Box box) {
    box.at[static_cast<std::size_t>(e.numbers[0])] += e.numbers[1];
    return box;
  }

  Values at(const Expression& e, const Box& box) {
    if (e.op == LocalOp::value && e.value < module_.parameters) {
      return parameters_.box(a_, e.value, box);
    }
    if (e.op == LocalOp::value) return part_of_definition(e.value, box);
    if (e.op == LocalOp::trim) return trimmed(e, box);
    std::vector<Values> values;
    std::vector<const Values*> operands;
    values.reserve(e.operands.size());
    const std::vector<Box> boxes = needed(e, box);
    for (std::size_t k = 0; k < e.operands.size(); ++k) {
      values.push_back(at(e.operands[k], boxes[k]));
      operands.push_back(&values.back());
    }
    return evaluator_.applied(e, operands);
  }

  [[nodiscard]] Values part_of_definition(std::size_t x, const Box& box) const {
    const Values& all = values_[x];
    Values out{box.extent, {}};
    const auto count = static_cast<std::size_t>(*checked_product(box.extent));
    if (count == 0) return out;
    out.elements.reserve(count);
    const std::vector<Size> strides = strides_of(all.shape);
    Size first = 0;
    for (std::size_t d = 0; d < strides.size(); ++d) {
      first += (box.at[d] - boxes_[x]->at[d]) * strides[d];
    }
    Walk walk(box.extent, {strides});
    for (std::size_t k = 0; k < count; ++k) {
      out.elements.push_back(all.elements[static_cast<std::size_t>(first + walk.offset(0))]);
      (void)walk.next();
    }
    return out;
  }
  Values trimmed(const Expression& e, const Box& box) {
    return at(e.operands[0], behind_trim(e, box));
  }

  /// The boxes of the operands that a box of the result needs.
  [[nodiscard]] std::vector<Box> needed(const Expression& e, const Box& box) const {
    std::vector<Shape> shapes;
    for (const Expression& operand : e.operands) shapes.push_back(typed(operand, globals_));
    if (e.op == LocalOp::einsum) return needed_of_einsum(e.einsum, shapes, box);
    if (e.op == LocalOp::take) {
      return needed_of_take(static_cast<std::ptrdiff_t>(e.numbers[0]), shapes, box);
    }
    Box out = box;
    if (e.op == LocalOp::transpose) {
      for (std::size_t k = 0; k < e.numbers.size(); ++k) {
        out.at[static_cast<std::size_t>(e.numbers[k])] = box.at[k];
        out.extent[static_cast<std::size_t>(e.numbers[k])] = box.extent[k];
      }
    }
    if (e.op == LocalOp::reduce_sum || e.op == LocalOp::reduce_max) {
      const auto d = static_cast<std::ptrdiff_t>(e.numbers[0]);
      out.at.insert(out.at.begin() + d, 0);
      out.extent.insert(out.extent.begin() + d, shapes[0][static_cast<std::size_t>(d)]);
    }
    return std::vector<Box>(e.operands.size(), out);
  }
  /// The whole dimension, and of the indices those for the box.
  static std::vector<Box> needed_of_take(std::ptrdiff_t dim, const std::vector<Shape>& shapes,
                                         const Box& box) {
    const auto rank = static_cast<std::ptrdiff_t>(shapes[1].size());
    const Size extent = shapes[0][static_cast<std::size_t>(dim)];
    const auto part = [&](const Shape& of, const Shape& whole) {
      Shape taken(of.begin(), of.begin() + dim);
      taken.insert(taken.end(), whole.begin(), whole.end());
      taken.insert(taken.end(), of.begin() + dim + rank, of.end());
      return taken;
    };
    const auto indices = [&](const Shape& of) {
      return Shape(of.begin() + dim, of.begin() + dim + rank);
    };
    return {{part(box.at, {0}), part(box.extent, {extent})},
            {indices(box.at), indices(box.extent)}};
  }
  static std::vector<Box> needed_of_einsum(const Einsum& e, const std::vector<Shape>& shapes,
                                           const Box& box) {
    const auto extents = label_extents(e, shapes);
    const auto reach = [&](char label) {
      const std::size_t k = e.out.find(label);
      if (k == std::string::npos) return std::pair(Size{0}, extents->at(label));
      return std::pair(box.at[k], box.extent[k]);
    };
    std::vector<Box> out;
    for (const auto& dims : e.in) {
      Box& operand = out.emplace_back();
      for (const std::string& labels : dims) {
        Size at = 0;
        Size extent = 1;
        for (const char label : labels) {
          at += reach(label).first;
          extent += reach(label).second - 1;
        }
        operand.at.push_back(at);
        operand.extent.push_back(std::max<Size>(extent, 0));
      }
    }
    return out;
  }

  const Module& module_;
  const Parameters<T>& parameters_;
  std::vector<Shape> globals_;             // of parameters, then of definitions
  std::vector<std::optional<Box>> boxes_;  // likewise: what is needed
  std::vector<std::size_t> last_use_;      // likewise
  std::vector<Values> values_;             // of definitions
  A a_;                                    // the arithmetic
  Evaluator<A> evaluator_;
};

Result<Layout> without_addends(const Layout& layout) {
  if (layout.addend_count() == 1) return layout;
  return Layout::numbered(layout.devices(), layout.cuts(), layout.digits(), layout.halos());
}

/// A run in elements of type T, compared in the arithmetic A.
template <typename T, typename A>
class Running {
 public:
  Running(const Processes& processes, const Module& module, const std::vector<Route>& routes,
          const MakeExecutor& make, const Parameters<T>& parameters, A arithmetic)
      : processes_(processes),
        module_(module),
        routes_(routes),
        make_(make),
        parameters_(parameters),
        a_(arithmetic),
        tiles_(module.values.size()),
        last_use_(module.values.size()) {
    const bool all = processes.processes() == 1;
    first_ = all ? 0 : processes.process();
    count_ = all ? module.devices : 1;
    for (std::size_t s = 0; s < module.body.size(); ++s) {
      if (const auto* op = std::get_if<SpmdOp>(&module.body[s].op)) {
        for (const std::size_t x : op->arguments) last_use_[x] = s;
      } else {
        last_use_[std::get<RedistributeOp>(module.body[s].op).argument] = s;
      }
    }
    for (const Returned& one : module.returned) last_use_[one.value] = module.body.size();
  }

  /// \param sink  what is returned goes there if it is right
  Result<RunReport> run(run::Sink* sink = nullptr) {
    if (auto done = processes_.agree(generated()); !done) return refuse(done.error());
    std::size_t next_route = 0;
    for (std::size_t s = 0; s < module_.body.size(); ++s) {
      const Statement& statement = module_.body[s];
      if (std::holds_alternative<SpmdOp>(statement.op)) {
        // What stops one process stops all: nobody waits in the next redistribution.
        if (auto done = processes_.agree(computed(statement)); !done) return refuse(done.error());
      } else {
        const Route& route = routes_[next_route++];
        const std::size_t x = std::get<RedistributeOp>(statement.op).argument;
        auto moved = move(route.program, tiles_[x]);
        if (!moved) return refuse(moved.error());
        store(statement.value, *std::move(moved));
      }
      for (std::size_t x = 0; x <= statement.value; ++x) {
        if (last_use_[x] == s || (!last_use_[x] && x == statement.value)) drop(x);
      }
    }
    if (auto done = whole_results(); !done) return refuse(done.error());
    if (auto done = processes_.agree(compared()); !done) return refuse(done.error());
    RunReport out = together();
    if (sink != nullptr && !out.difference && out.is_finite) {
      if (auto done = write(*sink); !done) return refuse(done.error());
    }
    return out;
  }

 private:
  using Tiles = std::vector<Tensor<T>>;

  void store(std::size_t x, Tiles tiles) {
    for (const auto& tile : tiles) held_ += bytes_of(tile);
    tiles_[x] = std::move(tiles);
    report_.peak_bytes = std::max(report_.peak_bytes, held_);
  }
  void drop(std::size_t x) {
    for (const auto& tile : tiles_[x]) held_ -= bytes_of(tile);
    tiles_[x] = {};
  }
  static Size bytes_of(const Tensor<T>& tile) {
    return static_cast<Size>(tile.elements.size() * sizeof(T));
  }

  Result<void> generated() {
    try {
      for (std::size_t x = 0; x < module_.parameters; ++x) {
        if (last_use_[x]) generate(x);
      }
    } catch (const Unread& file) {
      return refuse(file.why);
    }
    return {};
  }
  void generate(std::size_t x) {
    const Type& type = module_.values[x].type;
    Tiles out;
    for (Size d = first_; d < first_ + count_; ++d) {
      Tensor<T> tile{type.shape(d), {}};
      const Size count = *checked_product(tile.shape);  // the reader has seen to it
      tile.elements.resize(static_cast<std::size_t>(count));
      if (count > 0) parameters_.tile(x, d, tile);
      out.push_back(std::move(tile));
    }
    store(x, std::move(out));
  }

  Result<void> computed(const Statement& statement) {
    const auto& op = std::get<SpmdOp>(statement.op);
    const auto begin = Clock::now();
    Tiles out;
    try {
      for (Size d = 0; d < count_; ++d) {
        std::vector<const Tensor<T>*> values;
        for (const std::size_t x : op.arguments) {
          values.push_back(&tiles_[x][static_cast<std::size_t>(d)]);
        }
        Tiles defined;
        defined.reserve(op.definitions.size());
        for (const auto& [name, e] : op.definitions) {
          defined.push_back(evaluator_.value(e, values));
          values.push_back(&defined.back());
        }
        out.push_back(evaluator_.value(op.result, values));
      }
    } catch (const Undecided& limit) {
      return refuse({.code = Code::limit_reached, .message = limit.why});
    }
    store(statement.value, std::move(out));
    report_.seconds += since(begin);
    return {};
  }

  /// Carries a Program out on the tiles of this process's devices.
  Result<Tiles> move(const Program& program, const Tiles& from) {
    auto begin = Clock::now();
    const auto executor = make_(program);
    if (!executor) return refuse(executor.error());
    report_.making_seconds += since(begin);
    for (Size d = 0; d < count_; ++d) {
      const auto& elements = from[static_cast<std::size_t>(d)].elements;
      const std::span<std::byte> to = (*executor)->input(first_ + d);
      if (!to.empty()) std::memcpy(to.data(), elements.data(), to.size());
    }
    if (auto cleared = (*executor)->clear_output(); !cleared) return refuse(cleared.error());
    processes_.barrier();
    begin = Clock::now();
    if (auto moved = (*executor)->move(); !moved) return refuse(moved.error());
    const double seconds = since(begin);
    report_.seconds += seconds;
    report_.moving_seconds += seconds;
    ++report_.moves;
    report_.received_bytes += (*executor)->figures().received;
    Tiles out;
    for (Size d = first_; d < first_ + count_; ++d) {
      const std::span<std::byte> bytes = (*executor)->output(d);
      Tensor<T> tile{program.to.local_shape(d), std::vector<T>(bytes.size() / sizeof(T))};
      if (!bytes.empty()) std::memcpy(tile.elements.data(), bytes.data(), bytes.size());
      out.push_back(std::move(tile));
    }
    report_.peak_bytes =
        std::max(report_.peak_bytes, held_ + (*executor)->figures().peak + tiles_bytes(out));
    return out;
  }
  static Size tiles_bytes(const Tiles& tiles) {
    Size out = 0;
    for (const auto& tile : tiles) out += bytes_of(tile);
    return out;
  }

  /// What is returned, with its addends added up.
  Result<void> whole_results() {
    for (const Returned& one : module_.returned) {
      const Layout& layout = module_.values[one.value].type.layout();
      auto whole = without_addends(layout);
      if (!whole) return refuse(whole.error());
      result_layouts_.push_back(*std::move(whole));
      if (layout == result_layouts_.back()) {
        results_.push_back(std::move(tiles_[one.value]));
        continue;
      }
      const auto route = route_of(layout, result_layouts_.back(), {});
      if (!route) return refuse(route.error());
      const RunReport before = report_;
      auto out = move(route->program, tiles_[one.value]);
      report_ = before;  // the comparison's own
      if (!out) return refuse(out.error());
      results_.push_back(*std::move(out));
    }
    return {};
  }

  Result<void> write(run::Sink& sink) const {
    run::Buffer buffer;
    const auto tile_of = [this](Size d) {
      return std::as_bytes(std::span(results_[0][static_cast<std::size_t>(d - first_)].elements));
    };
    return sink.write(processes_, {.first = first_, .count = count_}, tile_of, result_layouts_[0],
                      buffer, [](std::string_view, Size, Size) {});
  }

  Result<void> compared() {
    try {
      Reference<T, A> reference(module_, parameters_, a_);
      for (std::size_t k = 0; k < results_.size(); ++k) {
        for (Size d = first_; d < first_ + count_; ++d) {
          for (const TilePart& part : result_layouts_[k].parts(d)) reference.announce(k, part.box);
        }
      }
      reference.define();
      for (std::size_t k = 0; k < results_.size(); ++k) {
        for (Size d = first_; d < first_ + count_; ++d) {
          compare(reference, k, result_layouts_[k], d,
                  results_[k][static_cast<std::size_t>(d - first_)]);
        }
      }
    } catch (const Undecided& limit) {
      return refuse({.code = Code::limit_reached, .message = limit.why});
    } catch (const Unread& file) {
      return refuse(file.why);
    } catch (const NotFinite&) {
      report_.is_finite = false;
    }
    return {};
  }
  void compare(Reference<T, A>& reference, std::size_t result, const Layout& layout, Size d,
               const Tensor<T>& tile) {
    report_.compared += static_cast<Size>(tile.elements.size());
    for (const TilePart& part : layout.parts(d)) {
      compare(reference.result(result, part.box), result, part, d, tile);
    }
  }
  /// What a part of a tile should be with what it is.
  void compare(const Tensor<typename A::Value>& wanted, std::size_t result, const TilePart& part,
               Size d, const Tensor<T>& tile) {
    const std::vector<Size> strides = strides_of(tile.shape);
    const Size first = offset_of(part.place, strides);
    Walk walk(part.box.extent, {strides});
    for (std::size_t at = 0; at < wanted.elements.size() && !report_.difference; ++at) {
      const auto found =
          static_cast<double>(tile.elements[static_cast<std::size_t>(first + walk.offset(0))]);
      (void)walk.next();
      const double expected = a_.number(wanted.elements[at]);
      const double tolerance = a_.tolerance(wanted.elements[at]);
      report_.tolerance = std::max(report_.tolerance, tolerance);
      report_.largest = std::max(report_.largest, std::abs(expected));
      if (std::abs(found - expected) <= tolerance) continue;
      Difference out{result, d, index_of(static_cast<Size>(at), part.box.extent), expected, found};
      for (std::size_t k = 0; k < out.element.size(); ++k) out.element[k] += part.box.at[k];
      report_.difference = std::move(out);
    }
  }

  /// One report of all processes.
  RunReport together() {
    std::array<std::uint64_t, 1> compared = {static_cast<std::uint64_t>(report_.compared)};
    processes_.sum(compared);
    std::array<std::uint64_t, 2> most = {static_cast<std::uint64_t>(report_.received_bytes),
                                         static_cast<std::uint64_t>(report_.peak_bytes)};
    processes_.maximum(most);
    RunReport out = report_;
    out.compared = static_cast<Size>(compared[0]);
    const std::vector<bool> finite = processes_.gather(report_.is_finite);
    out.tolerance = processes_.maximum(report_.tolerance);
    out.largest = processes_.maximum(report_.largest);
    out.is_finite = std::count(finite.begin(), finite.end(), false) == 0;
    out.received_bytes = static_cast<Size>(most[0]);
    out.peak_bytes = static_cast<Size>(most[1]);
    out.seconds = processes_.maximum(report_.seconds);
    out.moving_seconds = processes_.maximum(report_.moving_seconds);
    out.making_seconds = processes_.maximum(report_.making_seconds);
    const std::vector<bool> differs = processes_.gather(report_.difference.has_value());
    const auto first = std::find(differs.begin(), differs.end(), true);
    out.difference.reset();
    if (first != differs.end()) {
      out.difference = shared_difference(static_cast<int>(first - differs.begin()));
    }
    return out;
  }
  Difference shared_difference(int root) {
    Difference mine = report_.difference.value_or(Difference{.element = {}});
    const auto number = [&](std::uint64_t value) { return processes_.broadcast(value, root); };
    const auto real = [&](double value) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      bits = number(bits);
      std::memcpy(&value, &bits, sizeof bits);
      return value;
    };
    Difference out;
    out.returned = static_cast<std::size_t>(number(static_cast<std::uint64_t>(mine.returned)));
    out.device = static_cast<Size>(number(static_cast<std::uint64_t>(mine.device)));
    mine.element.resize(module_.returned[out.returned].type.layout().rank(), 0);
    for (const Size index : mine.element) {
      out.element.push_back(static_cast<Size>(number(static_cast<std::uint64_t>(index))));
    }
    out.expected = real(mine.expected);
    out.found = real(mine.found);
    return out;
  }

  const Processes& processes_;
  const Module& module_;
  const std::vector<Route>& routes_;
  const MakeExecutor& make_;
  const Parameters<T>& parameters_;
  A a_;  // the arithmetic of what it is compared with
  Evaluator<Fastest<T>> evaluator_;
  std::vector<Tiles> tiles_;
  std::vector<Tiles> results_;
  std::vector<Layout> result_layouts_;
  std::vector<std::optional<std::size_t>> last_use_;  // as in judge.cpp
  RunReport report_;
  Size held_ = 0;
  Size first_ = 0;
  Size count_ = 1;
};

/// The largest number up to which all integers are values of the type.
std::optional<double> exact_up_to(const ElementType& type) {
  const bool integer = type.kind == ElementKind::signed_integer;
  if (!integer && type.kind != ElementKind::floating) return std::nullopt;
  if (type.bytes == 4) return integer ? 0x1p31 - 1 : 0x1p24;
  if (type.bytes == 8) return 0x1p53;  // what doubles compare
  return std::nullopt;
}

/// The largest parameters for which no value can be rounded, at most 9.
Result<Size> largest_parameters(const Module& module, const ElementType& type) {
  const auto exact = exact_up_to(type);
  for (const Size most : {9, 5, 3, 1}) {
    if (largest_value(module, static_cast<double>(most)) <= *exact) return most;
  }
  return refuse(
      {.code = Code::unsupported,
       .message = fmt::format("values of up to {:.3g} could be rounded, even if parameters "
                              "are -1, 0 and 1",
                              largest_value(module, 1)),
       .notes = {"f64 and i64 hold larger ones"}});
}

/// How much rounding may change, of the largest element, where elements are still compared.
constexpr double most_tolerance = 1e-3;

constexpr std::string_view not_finite = "an element of the result is no number";

/// Whether the machine's type T is floating, of 4 or 8 bytes.
bool is_float(const ElementType& type) {
  return type.kind == ElementKind::floating && (type.bytes == 4 || type.bytes == 8);
}

/// Calls f with a zero of the type. Precondition: exact_up_to() knows it.
template <typename F>
auto with_type(const ElementType& type, const F& f) {
  const bool integer = type.kind == ElementKind::signed_integer;
  if (integer) return type.bytes == 4 ? f(std::int32_t{}) : f(std::int64_t{});
  return type.bytes == 4 ? f(float{}) : f(double{});
}

/// The run of a module, by what it starts from.
class ModuleRun {
 public:
  ModuleRun(const Processes& processes, const Module& module, const std::vector<Route>& routes,
            const ElementType& type, const MakeExecutor& make)
      : processes_(processes), module_(module), routes_(routes), type_(type), make_(make) {}

  /// On numbers that are made up.
  Result<RunReport> drawn() const {
    if (has_functions(module_)) return drawn_near();
    const auto most = largest_parameters(module_, type_);
    if (!most) return refuse(most.error());
    const Drawing drawing = {.most = *most};
    return with_type(type_, [&](auto zero) { return on(drawing, {}, Exact(), zero, nullptr); });
  }

  /// On those of files.
  Result<RunReport> given(const std::vector<NpyFile>& files, run::Sink* sink) const {
    return with_type(type_, [&](auto zero) { return given_as(zero, files, sink); });
  }

 private:
  template <typename A, typename T>
  Result<RunReport> on(const Drawing& drawing, const std::vector<NpyFile>& files,
                       const A& arithmetic, T /*zero*/, run::Sink* sink) const {
    const Parameters<T> parameters(module_, drawing, files);
    return Running<T, A>(processes_, module_, routes_, make_, parameters, arithmetic).run(sink);
  }

  template <typename T>
  Result<RunReport> given_as(T zero, const std::vector<NpyFile>& files, run::Sink* sink) const {
    if constexpr (std::is_floating_point_v<T>) {
      using Limits = std::numeric_limits<T>;
      const Near near(Limits::epsilon() / 2, static_cast<double>(Limits::max()),
                      static_cast<double>(Limits::min()));
      auto out = on({}, files, near, zero, sink);
      if (!out || out->is_finite) return out;
      return refuse(
          {.code = Code::unsupported,
           .message = fmt::format("{}, or could be too large for one, so that nothing can "
                                  "be compared",
                                  not_finite)});
    } else {
      const auto most = largest_element<T>(files);
      if (!most) return refuse(most.error());
      const double largest = largest_value(module_, *most);
      if (largest > *exact_up_to(type_)) {
        return refuse(
            {.code = Code::unsupported,
             .message = fmt::format("parameters of up to {:.6g} could make values of {:.3g}, "
                                    "which may not fit",
                                    *most, largest)});
      }
      return on({}, files, Exact(), zero, sink);
    }
  }

  /// A run of a module with functions, whose values are rounded. Parameters are fractions of either sign, or
  /// where these have no value everywhere, fractions from a half to one.
  Result<RunReport> drawn_near() const {
    // Smaller parameters make smaller exponents, of which rounding makes less.
    for (const double divisor : {0x1p10, 0x1p14, 0x1p18}) {
      for (const bool positive : {false, true}) {
        const Drawing drawing = {.most = 1024, .divisor = divisor, .positive = positive};
        const auto with = [&](auto zero) {
          constexpr double unit = std::numeric_limits<decltype(zero)>::epsilon() / 2;
          return on(drawing, {}, Near(unit), zero, nullptr);
        };
        auto out = type_.bytes == 4 ? with(float{}) : with(double{});
        // Where nothing but zeros should be, nothing is rounded, either.
        const double most =
            std::max(most_tolerance * (out ? out->largest : 0), std::numeric_limits<double>::min());
        if (!out || (out->is_finite && out->tolerance <= most)) return out;
      }
    }
    return refuse(
        {.code = Code::unsupported,
         .message = fmt::format("{}, or rounding may change it by more than a thousandth of "
                                "the largest, so that nothing can be compared",
                                not_finite)});
  }

  /// The largest magnitude in any file. Collective.
  template <typename T>
  Result<double> largest_element(const std::vector<NpyFile>& files) const {
    constexpr std::size_t most_at_once = std::size_t{1} << 16;
    double out = 0;
    Result<void> mine;
    for (std::size_t x = 0; x < files.size() && mine; ++x) {
      if (module_.values[x].below) continue;  // which counts by itself
      const Size all = *checked_product(files[x].header().shape);
      TileReader reader(files[x], files[x].header().shape,
                        Shape(files[x].header().shape.size(), 0));
      std::vector<T> elements;
      for (Size begin = 0; begin < all && mine; begin += static_cast<Size>(elements.size())) {
        elements.resize(std::min(static_cast<std::size_t>(all - begin), most_at_once));
        mine = reader.read(std::as_writable_bytes(std::span(elements)));
        for (const T element : elements)
          out = std::max(out, std::abs(static_cast<double>(element)));
      }
    }
    if (auto agreed = processes_.agree(mine); !agreed) return refuse(agreed.error());
    return processes_.maximum(out);
  }

  const Processes& processes_;
  const Module& module_;
  const std::vector<Route>& routes_;
  const ElementType& type_;
  const MakeExecutor& make_;
};

/// Files of all parameters; none where they are made up.
Result<std::vector<NpyFile>> files_of(const Module& module, const ElementType& type,
                                      const std::string& pattern) {
  if (pattern.empty()) return std::vector<NpyFile>();
  std::vector<run::NamedArray> arrays;
  for (std::size_t x = 0; x < module.parameters; ++x) {
    const Layout& layout = module.values[x].type.layout();
    if (layout.addends()) {
      return refuse(
          {.code = Code::unsupported,
           .message = fmt::format("parameter {} has addends, and a file has but one array",
                                  module.values[x].name)});
    }
    arrays.push_back({module.values[x].name, layout.global(), module.values[x].below.has_value()});
  }
  return run::open_inputs(arrays, pattern, type);
}

}  // namespace

Result<RunReport> run(const Processes& processes, const Module& module,
                      const std::vector<Route>& routes, const ElementType& type,
                      const MakeExecutor& make, const RunFiles& files) {
  if (!module.denotes) {
    return refuse({.code = Code::unsupported,
                   .message = "a module without denotes says nothing that a result could be "
                              "compared with"});
  }
  if (has_functions(module) && !is_float(type)) {
    return refuse({.code = Code::unsupported,
                   .message = "a module with exp, sqrt or div runs on elements of f32 and f64"});
  }
  if (!exact_up_to(type)) {
    return refuse(
        {.code = Code::unsupported, .message = "modules run on elements of i32, i64, f32 and f64"});
  }
  for (const Value& value : module.values) {
    if (!value.below || static_cast<double>(*value.below) <= *exact_up_to(type)) continue;
    return refuse(
        {.code = Code::unsupported,
         .message = fmt::format("indices below {}, as {} has, are no elements of this type",
                                *value.below, value.name),
         .notes = {"f64 and i64 hold larger ones"}});
  }
  const auto inputs = files_of(module, type, files.input);
  const Result<void> opened = inputs ? Result<void>() : refuse(inputs.error());
  if (auto agreed = processes.agree(opened); !agreed) return refuse(agreed.error());
  std::optional<run::Sink> sink;
  if (!files.input.empty() && !files.output.empty()) {
    if (module.returned.size() > 1) {
      return refuse({.code = Code::unsupported,
                     .message = "one file is written, and the module returns several arrays"});
    }
    const auto whole = without_addends(module.values[module.returned[0].value].type.layout());
    if (!whole) return refuse(whole.error());
    auto made = run::Sink::create(processes, files.output, *whole, run::Source(type));
    if (!made) return refuse(made.error());
    sink = *std::move(made);
  }
  const ModuleRun it(processes, module, routes, type, make);
  if (files.input.empty()) return it.drawn();
  return it.given(*inputs, sink ? &*sink : nullptr);
}

}  // namespace retile::spmd
