// What every fuzz target shares: counts of what the inputs reached, the report of a difference, the
// negative control.
//
//     const fuzz::Target fuzz::target = {"apply", 0.9};
//     extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
//       const auto text = fuzz::input(data, size);
//       ..
//       fuzz::reached();
//       if (ours != theirs) fuzz::differs("the type after the step", "mesh x:2\n..");
//       return 0;
//     }
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace fuzz {

struct Target {
  const char* name = "";
  double least_share = 1;  ///< of the saved corpus, what must reach the comparison
};
extern const Target target;

struct Counts {
  std::uint64_t inputs = 0;
  std::uint64_t reached = 0;
  std::map<std::string, std::uint64_t> tallies;
};
inline Counts& counts() {
  static Counts all;
  return all;
}

/// Prints what was counted, on standard error beside what libFuzzer prints.
inline void print_counts() {
  const Counts& all = counts();
  std::fprintf(stderr, "%s: %llu inputs, %llu reached the comparison\n", target.name,
               static_cast<unsigned long long>(all.inputs),
               static_cast<unsigned long long>(all.reached));
  for (const auto& [what, count] : all.tallies) {
    std::fprintf(stderr, "%s:   %llu %s\n", target.name, static_cast<unsigned long long>(count),
                 what.c_str());
  }
}

/// The bytes as text; counts the input.
inline std::string_view input(const std::uint8_t* data, std::size_t size) {
  Counts& all = counts();
  if (all.inputs++ == 0) std::atexit(print_counts);
  return {reinterpret_cast<const char*>(data), size};
}

/// Both sides gave a value and the values are compared.
inline void reached() { ++counts().reached; }
inline void tally(const std::string& what) { ++counts().tallies[what]; }

/// Negative control: RETILE_FUZZ_CONTROL=1 makes every target compare with a copy of one side that
/// has a mistake; it must be noticed.
inline bool control() {
  static const bool on = [] {
    const char* value = std::getenv("RETILE_FUZZ_CONTROL");
    return value != nullptr && std::strcmp(value, "1") == 0;
  }();
  return on;
}

/// Says what differs and for which input, then aborts. `notation` is ready to paste.
[[noreturn]] inline void differs(const std::string& what, const std::string& notation) {
  std::fprintf(stderr, "%sMISMATCH in %s: %s\n%s\n", control() ? "control: " : "", target.name,
               what.c_str(), notation.c_str());
  if (control()) {
    std::fflush(stderr);
    std::_Exit(EXIT_SUCCESS);  // found, as it should be
  }
  std::abort();
}

/// differs(what, notation) unless `holds`.
inline void require(bool holds, const std::string& what, const std::string& notation) {
  if (!holds) differs(what, notation);
}

inline std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Puts `text` into libFuzzer's buffer.
inline std::size_t store(std::string_view text, std::uint8_t* data, std::size_t max_size) {
  const std::size_t size = std::min(text.size(), max_size);
  if (size > 0) std::memcpy(data, text.data(), size);
  return size;
}

/// Makes a valid input from a seed, so that targets need not wait for luck.
using Fresh = std::string (*)(std::uint64_t seed);

/// Mostly whole tokens; sometimes libFuzzer's own mutations, or a fresh input.
inline std::size_t mutate_text(std::uint8_t* data, std::size_t size, std::size_t max_size,
                               unsigned seed, const std::vector<std::string>& vocabulary,
                               Fresh fresh = nullptr) {
  if (seed % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 == 1 && fresh != nullptr) {
    const std::string text = fresh(seed / 8);
    if (text.size() <= max_size) return store(text, data, max_size);
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  return store(support::mutate_text(text, seed / 8, vocabulary), data, max_size);
}

/// For targets whose inputs are texts if they begin with `mark`, else choices.
inline std::size_t mutate_text_or_choices(std::string_view mark, std::uint8_t* data,
                                          std::size_t size, std::size_t max_size, unsigned seed,
                                          const std::vector<std::string>& vocabulary) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  return bytes.substr(0, mark.size()) == mark ? mutate_text(data, size, max_size, seed, vocabulary)
                                              : LLVMFuzzerMutate(data, size, max_size);
}

inline std::size_t splice(const std::uint8_t* data1, std::size_t size1, const std::uint8_t* data2,
                          std::size_t size2, std::uint8_t* out, std::size_t max_size,
                          unsigned seed) {
  return store(support::splice_lines({reinterpret_cast<const char*>(data1), size1},
                                     {reinterpret_cast<const char*>(data2), size2}, seed),
               out, max_size);
}

}  // namespace fuzz

/// Mutates inputs by tokens and lines of a text language.
#define RETILE_FUZZ_TEXT_MUTATORS(vocabulary, fresh)                                              \
  extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,            \
                                                 std::size_t max_size, unsigned seed) {           \
    return fuzz::mutate_text(data, size, max_size, seed, vocabulary, fresh);                      \
  }                                                                                               \
  extern "C" std::size_t LLVMFuzzerCustomCrossOver(                                               \
      const std::uint8_t* data1, std::size_t size1, const std::uint8_t* data2, std::size_t size2, \
      std::uint8_t* out, std::size_t max_size, unsigned seed) {                                   \
    return fuzz::splice(data1, size1, data2, size2, out, max_size, seed);                         \
  }
