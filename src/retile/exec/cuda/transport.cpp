#include "retile/exec/cuda/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace retile::cuda {
namespace {

struct Word {
  int failed = 0;
  Code code{};
  std::array<char, Transport::most_gathered_bytes - 2 * sizeof(int)> message{};
};
static_assert(sizeof(Word) <= Transport::most_gathered_bytes);
static_assert(std::is_trivially_copyable_v<Word>);

}  // namespace

Result<void> agree(Transport& transport, const Result<void>& mine) {
  Word word;
  if (!mine) {
    word.failed = 1;
    word.code = mine.error().code;
    const std::string& message = mine.error().message;
    std::memcpy(word.message.data(), message.data(),
                std::min(message.size(), word.message.size() - 1));
  }
  std::vector<Word> words(static_cast<std::size_t>(transport.members()));
  auto gathered = transport.gather(std::as_bytes(std::span(&word, 1)),
                                   std::as_writable_bytes(std::span(words)));
  if (!gathered) return gathered;
  if (!mine) return mine;
  for (std::size_t k = 0; k < words.size(); ++k) {
    if (words[k].failed == 0) continue;
    return refuse({.code = words[k].code,
                   .message = fmt::format("process {}: {}", k, words[k].message.data())});
  }
  return {};
}

}  // namespace retile::cuda
