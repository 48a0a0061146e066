// StableHLO on the tiles of devices, with tables of who slices where.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "retile/core/cases.h"
#include "retile/emit/trace.h"
#include "retile/program/apply.h"

namespace retile::emit {
namespace {

/// `dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`
std::string dense_rows(const std::vector<std::vector<Size>>& rows) {
  std::string out;
  for (const auto& row : rows) {
    out += fmt::format("{}[{}]", out.empty() ? "" : ", ", fmt::join(row, ", "));
  }
  return fmt::format("dense<[{}]> : tensor<{}x{}xi64>", out, rows.size(), rows.front().size());
}

/// Writes the body of the function, operation by operation.
class Body {
 public:
  Body(const Program& program, std::string_view element) : program_(program), element_(element) {}

  void step(const Step& step, const Shape& before, const Shape& after) {
    before_ = before;
    after_ = after;
    match(
        step.op, [&](const Dynslice& op) { slice(op); }, [&](const Allgather& op) { gather(op); },
        [&](const Alltoall& op) { all_to_all(op); }, [&](const Allpermute& op) { permute(op); },
        [&](const Exchange&) {
          refuse_form("StableHLO has no exchange", {"--collectives plans without one"});
        },
        [&](const Reducescatter& op) { reduce_scatter(op); },
        [&](const Allreduce& op) { all_reduce(op); },
        [&](const Unreduce&) { refuse_form("unreduce is not written as StableHLO yet"); },
        [&](const Embed&) { refuse_form("embed is not written as StableHLO yet"); },
        [&](const OverDims auto&) { refuse_over_dims(step, "StableHLO"); });
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& value() const { return value_; }

 private:
  /// A new value of this right-hand side.
  std::string define(const std::string& right) {
    std::string name = fmt::format("%{}", count_++);
    text_ += fmt::format("    {} = {}\n", name, right);
    return name;
  }

  std::string constant(Size number) {
    return define(fmt::format("stablehlo.constant dense<{}> : tensor<i32>", number));
  }

  /// What the table says for the device.
  std::string look_up(const std::vector<Size>& table) {
    const auto count = static_cast<Size>(table.size());
    const std::string type = tensor({count}, "i32");
    const std::string all =
        define(fmt::format("stablehlo.constant dense<[{}]> : {}", fmt::join(table, ", "), type));
    const std::string own = define(fmt::format(
        "stablehlo.dynamic_slice {}, {}, sizes = [1] : ({}, tensor<ui32>) -> tensor<1xi32>", all,
        device(), type));
    return define(fmt::format("stablehlo.reshape {} : (tensor<1xi32>) -> tensor<i32>", own));
  }

  const std::string& device() {
    if (device_.empty()) device_ = define("stablehlo.partition_id : tensor<ui32>");
    return device_;
  }

  void slice(const Dynslice& op) {
    const std::string start = look_up(slice_starts(program_, op, after_));
    const std::string zero = before_.size() > 1 ? constant(0) : "";
    std::string starts;
    std::string types;
    for (std::size_t i = 0; i < before_.size(); ++i) {
      starts += ", " + (i == op.dim ? start : zero);
      types += ", tensor<i32>";
    }
    value_ = define(fmt::format("stablehlo.dynamic_slice {}{}, sizes = [{}] : ({}{}) -> {}", value_,
                                starts, fmt::join(after_, ", "), tensor(before_, element_), types,
                                tensor(after_, element_)));
  }

  [[nodiscard]] std::string channel() {
    return fmt::format("channel_handle = #stablehlo.channel_handle<handle = {}, type = 1>",
                       ++channels_);
  }

  [[nodiscard]] std::string types() const {
    return fmt::format("({}) -> {}", tensor(before_, element_), tensor(after_, element_));
  }

  static std::string groups(const DeviceTable& table) {
    return "replica_groups = " + dense_rows(rows_of(table));
  }

  void gather(const Allgather& op) {
    value_ =
        define(fmt::format("\"stablehlo.all_gather\"({}) <{{all_gather_dim = {} : i64, {}, {}, "
                           "use_global_device_ids}}> : {}",
                           value_, op.dim, channel(), groups(op.groups), types()));
  }

  void all_to_all(const Alltoall& op) {
    value_ = define(fmt::format(
        "\"stablehlo.all_to_all\"({}) <{{{}, concat_dimension = {} : i64, {}, split_count = {} : "
        "i64, split_dimension = {} : i64}}> : {}",
        value_, channel(), op.concat, groups(op.groups), op.groups.columns(), op.split, types()));
  }

  void permute(const Allpermute& op) {
    std::vector<std::vector<Size>> pairs;
    const std::vector<Size> from = sources_of(op.source, program_.devices);
    for (std::size_t d = 0; d < from.size(); ++d) {
      pairs.push_back({from[d], static_cast<Size>(d)});
    }
    value_ = define(
        fmt::format("\"stablehlo.collective_permute\"({}) <{{{}, source_target_pairs = {}}}> : {}",
                    value_, channel(), dense_rows(pairs), types()));
  }

  /// The function that adds two elements.
  [[nodiscard]] std::string adding(Addition addition) const {
    const std::string_view name = addition == Addition::max   ? "maximum"
                                  : addition == Addition::min ? "minimum"
                                                              : "add";
    return fmt::format(
        "({{\n    ^bb0(%a: {1}, %b: {1}):\n      %s = stablehlo.{0} %a, %b : {1}\n      "
        "stablehlo.return %s : {1}\n    }})",
        name, tensor({}, element_));
  }

  void reduce_scatter(const Reducescatter& op) {
    value_ = define(
        fmt::format("\"stablehlo.reduce_scatter\"({}) <{{{}, {}, scatter_dimension = {} : i64, "
                    "use_global_device_ids}}> {} : {}",
                    value_, channel(), groups(op.groups), op.dim, adding(op.add), types()));
  }

  void all_reduce(const Allreduce& op) {
    value_ = define(
        fmt::format("\"stablehlo.all_reduce\"({}) <{{{}, {}, use_global_device_ids}}> {} : {}",
                    value_, channel(), groups(op.groups), adding(op.add), types()));
  }

  const Program& program_;
  std::string_view element_;
  Shape before_;
  Shape after_;
  std::string text_;
  std::string value_ = "%arg0";
  std::string device_;
  Size count_ = 0;
  Size channels_ = 0;
};

}  // namespace

std::string stablehlo(const Program& program, std::string_view element) {
  check_listable(program, "StableHLO");
  const std::vector<Shape> tiles = even_tiles(program, "StableHLO");
  Body body(program, element);
  for (std::size_t k = 0; k < program.steps.size(); ++k) {
    body.step(program.steps[k], tiles[k], tiles[k + 1]);
  }
  std::string out = ends_text(program, "// ");
  out += fmt::format(
      "module @retile attributes {{mhlo.num_partitions = {} : i32, mhlo.num_replicas = 1 : i32}} "
      "{{\n",
      program.devices);
  out += fmt::format("  func.func public @main(%arg0: {}) -> {} {{\n",
                     tensor(tiles.front(), element), tensor(tiles.back(), element));
  out += body.text();
  return out +
         fmt::format("    return {} : {}\n  }}\n}}\n", body.value(), tensor(tiles.back(), element));
}

}  // namespace retile::emit
