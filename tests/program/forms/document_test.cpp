// docs/reference/program.md: every block of the page is what it says.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"
#include "spec/program/check.h"
#include "spec/program/text.h"

namespace document_test {
namespace {

struct Block {
  std::string info;
  std::string text;
  std::size_t line = 0;
};

std::vector<Block> blocks_of(const std::string& page) {
  std::vector<Block> out;
  std::istringstream lines(page);
  std::string line;
  bool inside = false;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (line.rfind("```", 0) == 0) {
      inside = !inside;
      if (inside) out.push_back({line.substr(3), "", number});
    } else if (inside) {
      out.back().text += line + '\n';
    }
  }
  EXPECT_FALSE(inside) << "a block has no end";
  return out;
}

std::vector<Block> blocks() {
  std::ifstream file(RETILE_PROGRAM_DOCUMENT);
  std::ostringstream text;
  text << file.rdbuf();
  return blocks_of(text.str());
}

std::string text_of(const std::optional<spec::Sizes>& list) {
  if (!list) return "null";
  std::string out;
  for (const spec::Size number : *list) out += (out.empty() ? "" : ",") + std::to_string(number);
  return "[" + out + "]";
}

/// The verdict of the second implementation, as it prints it.
std::string verdict_on(const std::string& text) {
  const auto programs = spec::parse_programs(text);
  if (programs.error || programs.programs.size() != 1) return "no Program";
  const spec::Verdict verdict = spec::check(programs.programs.front());
  std::ostringstream out;
  out << std::boolalpha << "right: " << verdict.right << "\nwithin_bound: " << verdict.within_bound
      << "\nheight: " << verdict.height << "\nbound: " << verdict.bound
      << "\ncost: " << verdict.cost << "\nsteps: " << verdict.steps << '\n';
  if (verdict.wrong) {
    const auto& wrong = *verdict.wrong;
    out << "first_wrong_step: " << wrong.first_wrong_step << "\nreason: " << wrong.reason
        << "\ndevice: " << (wrong.device ? std::to_string(*wrong.device) : "null")
        << "\nat: " << text_of(wrong.at) << "\nelement: " << text_of(wrong.element)
        << "\nfound: " << text_of(wrong.found) << '\n';
    const auto line = [&out](const char* name, const std::optional<spec::Size>& value) {
      if (value) out << name << ": " << *value << '\n';
    };
    line("addend", wrong.addend);
    line("times", wrong.times);
    line("replica", wrong.replica);
    line("replica_times", wrong.replica_times);
  }
  return out.str();
}

/// What is wrong with a block, or nothing. `above` is the block before it.
std::string mistake(const Block& block, const Block& above) {
  if (block.info == "text") return "";  // the grammar
  if (block.info == "retile.program") {
    const auto got = retile::parse_programs(block.text, "program.txt");
    if (!got) return render(got.error());
    std::string printed;
    for (const auto& program : *got) printed += to_text(program);
    const auto again = retile::parse_programs(printed);
    if (!again || *again != *got) return "does not come back from\n" + printed;
    return "";
  }
  if (block.info == "retile.program-refused") {
    return retile::parse_programs(block.text).has_value() ? "is not refused" : "";
  }
  if (block.info == "diagnostic") {
    if (above.info != "retile.program-refused") return "stands below no refused Program";
    const auto got = retile::parse_programs(above.text, "program.txt");
    const std::string said = got ? "nothing" : render(got.error());
    return said == block.text ? "" : "is said:\n" + said;
  }
  if (block.info == "verdict") {
    if (above.info.rfind("retile.program", 0) != 0) return "stands below no Program";
    const std::string said = verdict_on(above.text);
    return said == block.text ? "" : "is said:\n" + said;
  }
  if (block.info == "json") {
    if (above.info != "retile.program") return "stands below no Program";
    const auto json = retile::parse_any(block.text, "program.json");
    if (!json) return render(json.error());
    if (*json != retile::parse_programs(above.text).value()) return "is another Program";
    // Line ends are for the reader of the page.
    std::string line = block.text;
    line.erase(std::remove(line.begin(), line.end(), '\n'), line.end());
    return to_json(json->front()) == line ? "" : "prints as\n" + to_json(json->front());
  }
  return "has a kind that nothing tests";
}

TEST(Document, every_block_is_what_it_says) {
  const auto all = blocks();
  std::map<std::string, std::size_t> counts;
  for (std::size_t b = 0; b < all.size(); ++b) {
    EXPECT_EQ(mistake(all[b], b > 0 ? all[b - 1] : Block{}), "")
        << "docs/reference/program.md:" << all[b].line;
    ++counts[all[b].info];
  }
  EXPECT_GE(counts["retile.program"], 7U);
  EXPECT_GE(counts["retile.program-refused"], 2U);
  EXPECT_EQ(counts["retile.program-refused"], counts["diagnostic"]);
  EXPECT_GE(counts["verdict"], 6U);
  EXPECT_GE(counts["json"], 1U);
}

// Control: a page on which one character of a block is changed is caught.
TEST(Document, changed_blocks_are_caught) {
  const auto all = blocks();
  std::size_t changed = 0;
  std::size_t caught = 0;
  for (std::size_t b = 0; b < all.size(); ++b) {
    if (all[b].info == "text" || all[b].info == "retile.program-refused") continue;
    const std::size_t digit = all[b].text.find_first_of("0123456789", all[b].text.size() / 2);
    if (digit == std::string::npos) continue;
    Block block = all[b];
    block.text[digit] = block.text[digit] == '9' ? '8' : static_cast<char>(block.text[digit] + 1);
    ++changed;
    const bool found = !mistake(block, b > 0 ? all[b - 1] : Block{}).empty() ||
                       (b + 1 < all.size() && !mistake(all[b + 1], block).empty());
    if (found) ++caught;
  }
  EXPECT_GT(changed, 10U);
  EXPECT_EQ(caught, changed);
}

TEST(Document, names_every_word_of_the_form) {
  std::ifstream file(RETILE_PROGRAM_DOCUMENT);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string page = text.str();
  for (const std::string word : {"`groups`",
                                 "`bijection`",
                                 "`indivisible`",
                                 "`tile_claim`",
                                 "`map_claim`",
                                 "`not_a_box`",
                                 "`end`",
                                 "`limit`",
                                 "dynslice dim=",
                                 "allgather dim=",
                                 "alltoall split=",
                                 "allpermute source=",
                                 "allpermute pairs=",
                                 "exchange transfers=",
                                 "`transfers`",
                                 "`allreduce`",
                                 "`reducescatter`",
                                 "`reshape`",
                                 "`transpose`",
                                 "`pad`",
                                 "`concat`",
                                 "`schema`",
                                 "`mesh_to`",
                                 "`first_wrong_step`",
                                 "`element`",
                                 "`found`"}) {
    EXPECT_NE(page.find(word), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace document_test
