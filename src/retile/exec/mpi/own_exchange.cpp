#include "retile/exec/mpi/own_exchange.h"

#include <utility>
#include <variant>

#include "retile/exec/exchange/direct.h"

namespace retile::mpi {

Result<OwnExchange> OwnExchange::find(const Task& task, Size transfer_limit) {
  OwnExchange out(task);
  const Program& program = task.program;
  const auto& steps = program.steps;
  if (steps.size() == 1) out.given_ = std::get_if<Exchange>(&steps.front().op);
  if (out.given_ != nullptr) return out;
  // With one node alone nothing crosses.
  const Size node_devices = task.nodes.count > 1 ? task.nodes.successive() : 1;
  if (Routes::knows(program.from, program.to)) {
    out.routes_.emplace(program.from, program.to, node_devices);
    return out;
  }
  auto whole = direct(program, {.transfer_limit = transfer_limit, .node_devices = node_devices});
  if (!whole) return tl::unexpected(whole.error());
  out.made_ = std::move(std::get<Exchange>(whole->steps.front().op));
  return out;
}

/// Those of this process.
template <typename Use>
void OwnExchange::for_each(const Use& use) const {
  const Size self = task_->comm.process();
  if (routes_) {
    routes_->received(self, use);
    routes_->sent(self, use);
    return;
  }
  for (const Transfer& transfer : (given_ != nullptr ? *given_ : *made_).transfers) {
    if (transfer.source == self || transfer.target == self) use(transfer);
  }
}

OwnExchange::Numbers OwnExchange::count() const {
  std::uint64_t kept = 0;
  std::uint64_t near = 0;
  std::uint64_t far = 0;
  for_each([&](const Transfer& transfer) {
    if (transfer.source == transfer.target) {
      ++kept;
    } else if (task_->nodes.together(transfer)) {
      ++near;
    } else {
      ++far;
    }
  });
  const std::uint64_t tables =
      routes_ ? static_cast<std::uint64_t>(routes_->table_bytes(task_->comm.process())) : 0;
  return {kept + near + far, kept, 2 * kept + near, near + far, near, far, tables};
}

void OwnExchange::learn(const Numbers& most) {
  const auto number = [&most](std::size_t k) { return static_cast<Size>(most[k]); };
  most_ = {number(0), number(1), number(2), number(3), number(4), number(5), number(6)};
}

void OwnExchange::take() {
  if (taken_) return;
  std::size_t count = 0;
  for_each([&count](const Transfer&) { ++count; });
  own_.transfers.reserve(count);
  for_each([this](const Transfer& transfer) {
    Transfer& own = own_.transfers.emplace_back(transfer);
    if (task_->placement == nullptr) return;
    task_->placement->in.move(own.source, own.source_start);
    task_->placement->out.move(own.target, own.target_start);
  });
  made_.reset();
  taken_ = true;
}

std::optional<Size> OwnExchange::listed() const {
  if (!made_) return std::nullopt;
  return static_cast<Size>(made_->transfers.capacity());
}

}  // namespace retile::mpi
