#include "retile/whole/pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "retile/core/deadline.h"
#include "retile/whole/descent.h"

namespace retile::whole {
namespace {

std::string text_of_pair(const DraftPair& pair) {
  return text_of(pair.before) + "\n" + text_of(pair.after);
}

std::vector<Size> weight_of_pair(const DraftPair& pair) {
  std::vector<Size> out = weight_of(pair.before);
  const std::vector<Size> more = weight_of(pair.after);
  for (std::size_t k = 0; k < out.size(); ++k) out[k] += more[k];
  return out;
}

Result<Validation> judged_pair(const DraftPair& pair, const ValidateOptions& options) {
  return validate(text_of(pair.before), "the text before", text_of(pair.after), "the text after",
                  options);
}

}  // namespace

void drop_unused(DraftPair& pair) {
  drop_dead(pair.before);
  drop_dead(pair.after);
  const std::vector<bool> some = needed_parameters(pair.before);
  const std::vector<bool> others = needed_parameters(pair.after);
  std::vector<Size> kept;
  for (std::size_t k = 0; k < std::max(some.size(), others.size()); ++k) {
    const bool is_needed = (k < some.size() && some[k]) || (k < others.size() && others[k]);
    if (is_needed) kept.push_back(static_cast<Size>(k));
  }
  keep_parameters(pair.before, kept);
  keep_parameters(pair.after, kept);
}

Result<ShrunkPair> shrunk_pair(DraftPair pair, const ValidateOptions& options, Size most_questions,
                               const std::function<void(Size)>& asks) {
  // What is left in the end must be validated once more, for what it says beside the verdict.
  constexpr double part_of_search = 0.75;
  const Deadline end_of_all = Deadline::in(options.timeout_seconds);
  const Deadline deadline = Deadline::in(part_of_search * options.timeout_seconds);
  const auto left = [&](bool blames) {
    ValidateOptions out = options;
    out.timeout_seconds = deadline.seconds_left();
    out.blames = blames;
    return out;
  };
  auto given = judged_pair(pair, left(false));
  if (!given) return refuse(given.error());
  ShrunkPair out{.pair = std::move(pair), .given = *given, .left = *given, .end = {}};
  if (given->answer != Answer::wrong) return out;
  Size asked = 0;
  const auto keeps = [&](const DraftPair& next) -> Result<bool> {
    if (asks) asks(asked);
    ++asked;
    const auto made = judged_pair(next, left(false));
    if (deadline.passed()) return refuse(Code::limit_reached, "the time is over");
    const bool is_kept = made && made->answer == Answer::wrong;
    if (is_kept) out.left = *made;
    return is_kept;
  };
  std::vector<Kind<DraftPair>> kinds = kinds_for_pairs();
  kinds.insert(kinds.begin(), [&](const DraftPair& one) { return cuts_of(one, left(false)); });
  Descent<DraftPair> descent(
      out.pair, weight_of_pair, text_of_pair, [](const DraftPair&) { return true; }, keeps,
      most_questions);
  const auto end = descent.end(kinds);
  if (!end && end.error().code != Code::limit_reached) return refuse(end.error());
  out.end = {.runs = asked, .complete = end && end->complete};
  ValidateOptions last = options;
  last.timeout_seconds = end_of_all.seconds_left();
  auto validation = judged_pair(out.pair, last);
  if (validation && validation->answer == Answer::wrong) out.left = *std::move(validation);
  return out;
}

}  // namespace retile::whole
