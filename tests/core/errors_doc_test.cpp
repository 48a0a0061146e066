// docs/reference/errors.md lists every code, once, with its rule, its meaning and an example. The examples
// themselves are run by errors_doc_test.py where the program is built.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "retile/core/diagnostic.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/typing.h"

namespace errors_doc_test {
namespace {

/// The text below each heading "## `code`".
std::multimap<std::string, std::string> sections(const std::string& text) {
  std::multimap<std::string, std::string> out;
  std::istringstream lines(text);
  std::string line;
  auto current = out.end();
  while (std::getline(lines, line)) {
    if (line.rfind("## ", 0) == 0) {
      const bool is_code = line.size() > 5 && line[3] == '`' && line.back() == '`';
      current = is_code ? out.emplace(line.substr(4, line.size() - 5), "") : out.end();
    } else if (current != out.end()) {
      current->second += line + "\n";
    }
  }
  return out;
}

/// What is wrong with the document, one line per fault.
std::string faults(const std::string& text) {
  const auto documented = sections(text);
  std::string out;
  std::set<std::string> codes;
  for (const retile::Code code : retile::all_codes()) {
    const std::string name(code_name(code));
    codes.insert(name);
    if (documented.count(name) != 1) {
      out += name + " stands " + std::to_string(documented.count(name)) + " times\n";
      continue;
    }
    const std::string& section = documented.find(name)->second;
    const auto holds = [&](const char* part) { return section.find(part) != std::string::npos; };
    if (!holds("\nRule: ")) out += name + " has no rule\n";
    if (!holds("\n```console\n$ ") && !holds("\n```cpp\n")) out += name + " has no example\n";
    if (!holds("\nerror: ") && !holds("\nno plan within")) out += name + " has no output\n";
  }
  for (const auto& entry : documented) {
    if (!codes.contains(entry.first)) out += entry.first + " is no code\n";
  }
  return out;
}

std::string document() {
  std::ifstream file(RETILE_ERRORS_DOC);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ErrorsDocument, lists_every_code_with_rule_meaning_and_example) {
  EXPECT_EQ(faults(document()), "");
}

TEST(ErrorsDocument, a_missing_a_doubled_and_an_invented_code_are_noticed) {
  const std::string text = document();
  const std::size_t begin = text.find("## `syntax`");
  const std::size_t end = text.find("\n## ", begin) + 1;
  ASSERT_NE(begin, std::string::npos);
  EXPECT_EQ(faults(text.substr(0, begin) + text.substr(end)), "syntax stands 0 times\n");
  EXPECT_EQ(faults(text + "\n" + text.substr(begin, end - begin)), "syntax stands 2 times\n");
  EXPECT_EQ(faults(text + "\n## `sintax`\n"), "sintax is no code\n");
  std::string without_example = text;
  without_example.erase(text.find("\nerror: ", begin), 7);
  EXPECT_EQ(faults(without_example), "syntax has no output\n");
}

TEST(ErrorsDocument, the_example_in_cpp_prints_what_is_documented) {
  const auto mesh = retile::parse_mesh("x:4").value();
  const auto type = retile::parse_type("[3{x}12, 6]", mesh).value();
  const std::string printed =
      render(apply(mesh, retile::AlltoallRule{.from_dim = 0, .to_dim = 1}, type).error());
  EXPECT_NE(document().find("```\n" + printed + "```\n"), std::string::npos) << printed;
}

}  // namespace
}  // namespace errors_doc_test
