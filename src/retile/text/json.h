// JSON that is read member by member, with places: of files that nobody has to hold as a tree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "retile/core/names.h"
#include "retile/text/scanner.h"

namespace retile::text {

class JsonReader {
 public:
  /// Ends of lines are blanks from here on.
  explicit JsonReader(const Input& input) : scanner(input) { scanner.read_over_lines(); }

  Scanner scanner;

  using Member = std::function<void(const Token<std::string>&)>;
  /// Reads an object; `member` reads the value of every key, and none is there twice.
  void object(const Member& member) {
    scanner.expect("{");
    std::vector<std::string> seen;
    seen.reserve(8);
    if (scanner.accept("}")) return;
    do {
      const Token<std::string> key = scanner.quoted("a key");
      if (std::find(seen.begin(), seen.end(), key.value) != seen.end()) {
        fail(key.place,
             {.code = Code::bad_program, .message = "a second " + shown_name(key.value)});
      }
      seen.push_back(key.value);
      scanner.expect(":");
      member(key);
    } while (scanner.accept(","));
    if (!scanner.accept("}")) scanner.fail_expected("',' or '}' after a member");
  }
  void list(const std::function<void()>& item) {
    scanner.expect("[");
    if (scanner.accept("]")) return;
    do {
      if (++entries_ > most_entries) {
        fail(scanner.rest(),
             {.code = Code::limit_reached, .message = "more than 2^24 entries of lists"});
      }
      item();
    } while (scanner.accept(","));
    if (!scanner.accept("]")) scanner.fail_expected("',' or ']' after an entry");
  }
  std::vector<Size> sizes() {
    std::vector<Size> out;
    list([&] { out.push_back(scanner.number().value); });
    return out;
  }

 private:
  /// Of all lists of a file.
  static constexpr std::size_t most_entries = std::size_t{1} << 24;
  std::size_t entries_ = 0;
};

}  // namespace retile::text
