#include "retile/core/names.h"

#include <algorithm>
#include <cstddef>

namespace retile {
namespace {

constexpr std::size_t most_words = 8;
/// Longer names are not compared: the work is the product of the lengths.
constexpr std::size_t longest_compared = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Least number of insertions, deletions and changes of one byte that lead from a to b; the case of
/// letters is no change.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() +
                               1);  // row[j]: from the read part of a to the first j bytes of b
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

}  // namespace

bool begins_name(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

bool continues_name(char c) {
  return begins_name(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
}

std::string name_text(std::string_view name) {
  const bool bare = !name.empty() && begins_name(name.front()) &&
                    std::all_of(name.begin(), name.end(), continues_name);
  return bare ? std::string(name) : "\"" + std::string(name) + "\"";
}

std::optional<std::string> nearest_name(std::string_view name,
                                        const std::vector<std::string>& candidates) {
  if (name.size() > longest_compared) return std::nullopt;
  std::optional<std::string> nearest;
  std::size_t least = 0;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest_compared) continue;
    const std::size_t changes = distance(name, candidate);
    // Two names are alike when most of the longer one stays: `xdev` is like `xdevs` and `Xdev`, `x`
    // is not like `y`.
    if (changes * 2 >= std::max(name.size(), candidate.size())) continue;
    if (!nearest || changes < least) {
      nearest = candidate;
      least = changes;
    }
  }
  return nearest;
}

std::string enumerate(const std::vector<std::string>& words) {
  std::string out;
  const std::size_t shown = words.size() > most_words ? most_words - 1 : words.size();
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) out += i + 1 == words.size() ? " and " : ", ";
    out += words[i];
  }
  if (shown < words.size()) out += " and " + std::to_string(words.size() - shown) + " more";
  return out;
}

}  // namespace retile
