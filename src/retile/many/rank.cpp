#include "retile/many/rank.h"

#include <utility>

#include "retile/program/moves.h"

namespace retile::many {
namespace {

OwnStep of_routes(const Routes& routes, const Problem& problem, Size device) {
  OwnStep out{.name = OpRow<Exchange>::name,
              .before = problem.from.tile(device),
              .after = problem.to.tile(device)};
  routes.received(device, [&out](const Transfer& box) { out.received.push_back(box); });
  routes.sent(device, [&out](const Transfer& box) { out.sent.push_back(box); });
  return out;
}

OwnStep of_moves(const Step& step, const TileShapes& tiles, Moves& moves, Size device) {
  const auto place = static_cast<std::size_t>(device);
  OwnStep out{.name = op_name(step),
              .before = tiles[place],
              .after = moves.after[place],
              .adds = addition_of(step).has_value()};
  for (Transfer& box : moves.transfers) {
    if (box.target == device) {
      out.received.push_back(std::move(box));
    } else if (box.source == device) {
      out.sent.push_back(std::move(box));
    }
  }
  return out;
}

}  // namespace

Result<std::vector<OwnStep>> own_steps(const Way& way, const Problem& problem, Size device) {
  if (const auto routes = routes_of(way, problem)) {
    return std::vector<OwnStep>{of_routes(*routes, problem, device)};
  }
  const auto program = program_of(way, problem);
  if (!program) return refuse(program.error());
  std::vector<OwnStep> out;
  TileShapes tiles = shapes_of(program->from);
  for (const Step& step : program->steps) {
    auto moves = moves_of(step, tiles, {}, device);
    if (!moves) return refuse(Code::limit_reached, "a step moves more boxes than are looked at");
    out.push_back(of_moves(step, tiles, *moves, device));
    tiles = std::move(moves->after);
  }
  return out;
}

}  // namespace retile::many
