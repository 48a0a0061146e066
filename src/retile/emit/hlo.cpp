// HLO on the tiles of devices, as XLA's partitioner prints it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "retile/core/cases.h"
#include "retile/core/layout_facts.h"
#include "retile/emit/trace.h"
#include "retile/notation/axes.h"
#include "retile/notation/convert.h"
#include "retile/program/apply.h"

namespace retile::emit {
namespace {

/// `f32[16,8]{1,0}`
std::string array(const Shape& shape, std::string_view element) {
  std::string out = fmt::format("{}[{}]", element, fmt::join(shape, ","));
  if (shape.empty()) return out;
  std::string order;
  for (std::size_t k = shape.size(); k-- > 0;)
    order += fmt::format("{}{}", order.empty() ? "" : ",", k);
  return out + fmt::format("{{{}}}", order);
}

/// `[4,2]<=[8]`, or rows where no single iota lists them.
std::string groups_text(const DeviceTable& table) {
  if (const IotaChain* chain = table.chain()) {
    const IotaChain simple = chain->simplified();
    const Size columns = table.columns();
    const std::string counts = fmt::format("[{},{}]", table.row_count(), columns);
    if (simple.stages().empty()) return fmt::format("{}<=[{}]", counts, simple.size());
    if (simple.stages().size() == 1) {
      const IotaStage& stage = simple.stages().front();
      return fmt::format("{}<=[{}]T({})", counts, fmt::join(stage.shape, ","),
                         fmt::join(stage.transpose, ","));
    }
  }
  std::string out;
  for (const auto& row : rows_of(table)) {
    out += fmt::format("{}{{{}}}", out.empty() ? "" : ",", fmt::join(row, ","));
  }
  return "{" + out + "}";
}

/// How many devices say which tile: the layout as HLO's sharding, if it can.
std::string hlo_sharding(const Layout& layout) {
  if (!layout.is_compact()) return "";
  Sharding sharding;
  sharding.mesh.mesh = Mesh::make({{"d", layout.devices()}}).value();
  sharding.layout = layout;
  for (std::size_t i = 0; i < layout.rank(); ++i) {
    CutDim& dim = sharding.dims.emplace_back();
    dim.tile = layout.tile()[i];
    dim.global = layout.global()[i];
    auto parts = notation::parts_over(sharding.mesh.mesh, layout.digits()[i]);
    if (!parts) return "";
    dim.parts = *std::move(parts);
  }
  sharding.addition = addition_or_sum(layout);
  auto addends = notation::parts_over(sharding.mesh.mesh, addend_digits(layout));
  if (!addends) return "";
  sharding.addends = *std::move(addends);
  return to_text(sharding, ShardingForm::hlo2).value_or("");
}

/// Writes the entry, instruction by instruction.
class Entry {
 public:
  Entry(const Program& program, std::string_view element) : program_(program), element_(element) {}

  void step(const Step& step, const Shape& before, const Shape& after) {
    before_ = before;
    after_ = after;
    match(
        step.op, [&](const Dynslice& op) { slice(op); },
        [&](const Allgather& op) {
          value_ = define("all-gather", after_,
                          fmt::format("all-gather({}), {}, dimensions={{{}}}, "
                                      "use_global_device_ids=true",
                                      value_, grouping(op.groups), op.dim));
        },
        [&](const Alltoall& op) { all_to_all(op); }, [&](const Allpermute& op) { permute(op); },
        [&](const Exchange&) {
          refuse_form("HLO has no exchange", {"--collectives plans without one"});
        },
        [&](const Reducescatter& op) {
          value_ = define("reduce-scatter", after_,
                          fmt::format("reduce-scatter({}), {}, use_global_device_ids=true, "
                                      "dimensions={{{}}}, to_apply=%{}",
                                      value_, grouping(op.groups), op.dim, adding(op.add)));
        },
        [&](const Allreduce& op) {
          value_ = define("all-reduce", after_,
                          fmt::format("all-reduce({}), {}, use_global_device_ids=true, "
                                      "to_apply=%{}",
                                      value_, grouping(op.groups), adding(op.add)));
        },
        [&](const Unreduce&) { refuse_form("unreduce is not written as HLO yet"); },
        [&](const Embed&) { refuse_form("embed is not written as HLO yet"); },
        [&](const OverDims auto&) { refuse_over_dims(step, "HLO"); });
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& value() const { return value_; }
  [[nodiscard]] bool adds() const { return !adding_.empty(); }
  /// The computations that add.
  [[nodiscard]] const std::string& computations() const { return adding_; }

 private:
  std::string define_as(std::string_view name, const std::string& type, const std::string& right) {
    std::string out = fmt::format("%{}.{}", name, ++count_);
    text_ += fmt::format("  {} = {} {}\n", out, type, right);
    return out;
  }
  std::string define(std::string_view name, const Shape& shape, const std::string& right) {
    return define_as(name, array(shape, element_), right);
  }

  std::string grouping(const DeviceTable& groups) {
    return fmt::format("channel_id={}, replica_groups={}", ++channels_, groups_text(groups));
  }

  void slice(const Dynslice& op) {
    const auto starts = slice_starts(program_, op, after_);
    const Shape all = {program_.devices};
    if (device_.empty()) device_ = define_as("partition-id", "u32[]", "partition-id()");
    const std::string table = define_as("constant", array(all, "s32"),
                                        fmt::format("constant({{{}}})", fmt::join(starts, ", ")));
    const std::string own =
        define_as("dynamic-slice", array({1}, "s32"),
                  fmt::format("dynamic-slice({}, {}), dynamic_slice_sizes={{1}}", table, device_));
    const std::string start = define_as("reshape", "s32[]", fmt::format("reshape({})", own));
    const std::string zero =
        before_.size() > 1 ? define_as("constant", "s32[]", "constant(0)") : "";
    std::string operands = value_;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      operands += ", " + (i == op.dim ? start : zero);
    }
    value_ = define("dynamic-slice", after_,
                    fmt::format("dynamic-slice({}), dynamic_slice_sizes={{{}}}", operands,
                                fmt::join(after_, ",")));
  }

  /// HLO's splits and concatenates one dimension: the pieces get one of their own, which then goes in
  /// front of the one that grows.
  void all_to_all(const Alltoall& op) {
    if (op.split == op.concat) {
      value_ = define("all-to-all", after_,
                      fmt::format("all-to-all({}), {}, dimensions={{{}}}", value_,
                                  grouping(op.groups), op.split));
      return;
    }
    const Size n = op.groups.columns();
    Shape apart = before_;
    apart[op.split] /= n;
    apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(op.split), n);
    const std::string pieces = define("reshape", apart, fmt::format("reshape({})", value_));
    const std::string moved = define("all-to-all", apart,
                                     fmt::format("all-to-all({}), {}, dimensions={{{}}}", pieces,
                                                 grouping(op.groups), op.split));
    const std::size_t grows = op.concat < op.split ? op.concat : op.concat + 1;
    std::vector<std::size_t> order;
    Shape turned;
    for (std::size_t i = 0; i < apart.size(); ++i) {
      if (i == grows) order.push_back(op.split);
      if (i != op.split) order.push_back(i);
    }
    for (const std::size_t i : order) turned.push_back(apart[i]);
    const std::string transposed =
        define("transpose", turned,
               fmt::format("transpose({}), dimensions={{{}}}", moved, fmt::join(order, ",")));
    value_ = define("reshape", after_, fmt::format("reshape({})", transposed));
  }

  void permute(const Allpermute& op) {
    std::string pairs;
    const std::vector<Size> from = sources_of(op.source, program_.devices);
    for (std::size_t d = 0; d < from.size(); ++d) {
      pairs += fmt::format("{}{{{},{}}}", d == 0 ? "" : ",", from[d], d);
    }
    value_ = define("collective-permute", after_,
                    fmt::format("collective-permute({}), channel_id={}, source_target_pairs={{{}}}",
                                value_, ++channels_, pairs));
  }

  /// The computation that adds two elements.
  std::string adding(Addition addition) {
    const std::string name = addition == Addition::max   ? "maximum"
                             : addition == Addition::min ? "minimum"
                                                         : "add";
    const std::string text = fmt::format(
        "%{0} (a: {1}[], b: {1}[]) -> {1}[] {{\n  %a = {1}[] parameter(0)\n  %b = {1}[] "
        "parameter(1)\n  ROOT %{0}.0 = {1}[] {0}(%a, %b)\n}}\n\n",
        name, element_);
    if (adding_.find(text) == std::string::npos) adding_ += text;
    return name;
  }

  const Program& program_;
  std::string_view element_;
  Shape before_;
  Shape after_;
  std::string text_;
  std::string adding_;
  std::string value_ = "%param";
  std::string device_;
  Size count_ = 0;
  Size channels_ = 0;
};

}  // namespace

std::string hlo(const Program& program, std::string_view element) {
  check_listable(program, "HLO");
  const std::vector<Shape> tiles = even_tiles(program, "HLO");
  Entry entry(program, element);
  for (std::size_t k = 0; k < program.steps.size(); ++k) {
    entry.step(program.steps[k], tiles[k], tiles[k + 1]);
  }
  const std::string from = hlo_sharding(program.from);
  const std::string to = hlo_sharding(program.to);
  std::string out =
      fmt::format("HloModule retile, entry_computation_layout={{({})->{}}}, num_partitions={}\n\n",
                  array(tiles.front(), element), array(tiles.back(), element), program.devices);
  out += entry.computations();
  out += ends_text(program, "// ");
  out += fmt::format("ENTRY %main_spmd (param: {0}[{1}]) -> {0}[{2}] {{\n", element,
                     fmt::join(tiles.front(), ","), fmt::join(tiles.back(), ","));
  out += fmt::format("  %param = {} parameter(0){}\n", array(tiles.front(), element),
                     from.empty() ? "" : ", sharding=" + from);
  out += entry.text();
  return out + fmt::format("  ROOT %end = {} copy({}){}\n}}\n", array(tiles.back(), element),
                           entry.value(), to.empty() ? "" : ", sharding=" + to);
}

}  // namespace retile::emit
