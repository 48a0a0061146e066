/// The operations of modules and of PartIR as they are written.
#pragma once

#include <vector>

#include "local_ops.h"

namespace spec::spmd {

/// An operation as it is written: how many numbers and operands stand behind it. Those with two take
/// more, but sub, div, equal and take; einsum has one for each subscript, and transpose a list of numbers.
struct OperationRow {
  const char* word;
  LocalOp op;
  Index numbers, args;
};
inline const std::vector<OperationRow>& operations() {
  static const std::vector<OperationRow> all = {{"add", LocalOp::add, 0, 2},
                                                {"sub", LocalOp::sub, 0, 2},
                                                {"mul", LocalOp::mul, 0, 2},
                                                {"div", LocalOp::div, 0, 2},
                                                {"max", LocalOp::max, 0, 2},
                                                {"min", LocalOp::min, 0, 2},
                                                {"neg", LocalOp::neg, 0, 1},
                                                {"relu", LocalOp::relu, 0, 1},
                                                {"exp", LocalOp::exp, 0, 1},
                                                {"sqrt", LocalOp::sqrt, 0, 1},
                                                {"step", LocalOp::step, 0, 1},
                                                {"equal", LocalOp::equal, 0, 2},
                                                {"fill", LocalOp::fill, 1, 1},
                                                {"scale", LocalOp::scale, 1, 1},
                                                {"reduce_sum", LocalOp::reduce_sum, 1, 1},
                                                {"trim", LocalOp::trim, 3, 1},
                                                {"reduce_max", LocalOp::reduce_max, 1, 1},
                                                {"einsum", LocalOp::einsum, 0, 0},
                                                {"transpose", LocalOp::transpose, 0, 1},
                                                {"take", LocalOp::take, 1, 2}};
  return all;
}
/// Null where no operation is written so.
inline const OperationRow* operation_named(const Name& word) {
  for (const OperationRow& row : operations()) {
    if (row.word == word) return &row;
  }
  return nullptr;
}

}  // namespace spec::spmd
