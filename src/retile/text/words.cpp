#include "retile/text/words.h"

#include <fmt/format.h>

#include <algorithm>

namespace retile::text {
namespace {

/// Longer words are not compared: the work is the product of the lengths.
constexpr std::size_t longest_compared = 64;
constexpr std::size_t most_compared = 200;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Least number of insertions, deletions and changes of one byte that lead from a to b; the case of
/// letters is no change.
std::size_t distance(std::string_view a, std::string_view b) {
  // row[j]: from the read part of a to the first j bytes of b
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

/// Whether `word` is more than nothing, and what `candidate` begins with; the case of letters is no
/// difference.
bool begins(std::string_view word, std::string_view candidate) {
  return !word.empty() && word.size() <= candidate.size() &&
         distance(word, candidate.substr(0, word.size())) == 0;
}

}  // namespace

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  if (word.size() > longest_compared) return std::nullopt;
  std::optional<std::string> best;
  std::size_t least = 0;
  for (std::size_t k = 0; k < std::min(candidates.size(), most_compared); ++k) {
    const std::string& candidate = candidates[k];
    if (candidate.size() > longest_compared) continue;
    const std::size_t changes = distance(word, candidate);
    const std::size_t longest = std::max(word.size(), candidate.size());
    if (changes * 2 > longest || (changes * 2 == longest && !begins(word, candidate))) continue;
    if (!best || changes < least) {
      best = candidate;
      least = changes;
    }
  }
  return best;
}

std::string enumerate(const std::vector<std::string>& words, std::string_view last,
                      std::size_t most) {
  std::string out;
  const std::size_t shown = words.size() > most ? most - 1 : words.size();
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) out += i + 1 == words.size() ? fmt::format(" {} ", last) : ", ";
    out += words[i];
  }
  if (shown < words.size()) out += fmt::format(" {} {} more", last, words.size() - shown);
  return out;
}

}  // namespace retile::text
