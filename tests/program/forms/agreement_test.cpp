// Two readers of the text form, written apart, must accept and refuse the same texts and read the
// same Program from them.
//
// Texts are printed Programs, their other spellings, and damaged ones. The controls change one rule
// of one reader; every change must show.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "program/forms/twins.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"
#include "spec/program/text.h"
#include "support/program_generators.h"
#include "support/samples.h"

namespace agreement_test {
namespace {

using retile::Code;
using retile::Size;

// ---- What was read, as numbers in a row ---------------------------------------------------------

class Summary {
 public:
  template <typename Numbers>
  void list(const Numbers& numbers) {
    out_ << '[';
    for (const auto& number : numbers) out_ << number << ',';
    out_ << ']';
  }
  template <typename Lists>
  void lists(const Lists& rows) {
    out_ << '[';
    for (const auto& row : rows) list(row);
    out_ << ']';
  }
  Summary& word(std::string_view text) {
    out_ << ' ' << text << ' ';
    return *this;
  }
  std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

std::vector<std::vector<Size>> cut(const std::vector<Size>& numbers, std::size_t rank,
                                   Size devices) {
  std::vector<std::vector<Size>> out;
  auto at = numbers.begin();
  for (Size d = 0; d < devices; ++d) {
    out.emplace_back(at, at + static_cast<std::ptrdiff_t>(rank));
    at += static_cast<std::ptrdiff_t>(rank);
  }
  return out;
}

void add(Summary& out, const retile::Layout& map) {
  out.word("tiling");
  out.list(map.tile());
  out.list(map.global());
  // Devices may be very many where they all hold everything.
  const Size devices = std::min<Size>(map.devices(), 64);
  for (Size d = 0; d < devices; ++d) out.list(map.base_offset(d));
}
void add(Summary& out, const spec::Tiling& tiling, Size devices) {
  out.word("tiling");
  out.list(tiling.tile);
  out.list(tiling.global);
  for (Size d = 0; d < std::min<Size>(devices, 64); ++d) out.list(spec::base_offset(tiling, d));
}

std::string summary(const retile::Program& program) {
  Summary out;
  out.list(std::vector<Size>{program.devices});
  add(out, program.from);
  add(out, program.to);
  for (const retile::Step& step : program.steps) {
    out.word(op_name(step));
    if (const auto* dynslice = std::get_if<retile::Dynslice>(&step.op)) {
      out.list(std::vector<std::size_t>{dynslice->dim});
      if (const auto* groups = std::get_if<retile::DeviceTable>(&dynslice->pieces)) {
        out.lists(groups->to_rows());
      } else {
        const auto& parts = std::get<retile::PartList>(dynslice->pieces);
        out.lists(parts.part.to_rows());
        out.word("parts").list(std::vector<Size>{parts.parts});
      }
    } else if (const auto* allgather = std::get_if<retile::Allgather>(&step.op)) {
      out.list(std::vector<std::size_t>{allgather->dim});
      out.lists(allgather->groups.to_rows());
    } else if (const auto* alltoall = std::get_if<retile::Alltoall>(&step.op)) {
      out.list(std::vector<std::size_t>{alltoall->split, alltoall->concat});
      out.lists(alltoall->groups.to_rows());
    } else if (const auto* exchange = std::get_if<retile::Exchange>(&step.op)) {
      std::vector<std::vector<Size>> rows;
      for (const retile::Transfer& transfer : exchange->transfers) {
        rows.push_back(retile::row_of(transfer));
      }
      out.lists(rows);
    } else {
      const auto& source = std::get<retile::Allpermute>(step.op).source;
      if (const auto* table = std::get_if<retile::DeviceTable>(&source)) {
        out.lists(table->to_rows());
      } else {
        out.word("pairs").lists(std::get<retile::PairList>(source));
      }
    }
    if (step.claims.tile) out.word("tile").list(*step.claims.tile);
    if (step.claims.map) add(out, *step.claims.map);
    if (step.claims.at)
      out.word("at").lists(cut(*step.claims.at, program.from.rank(), program.devices));
  }
  return out.text();
}

std::string summary(const spec::Program& program) {
  static const std::map<spec::Op, std::string> names = {{spec::Op::dynslice, "dynslice"},
                                                        {spec::Op::allgather, "allgather"},
                                                        {spec::Op::alltoall, "alltoall"},
                                                        {spec::Op::allpermute, "allpermute"}};
  Summary out;
  out.list(std::vector<Size>{program.devices});
  add(out, program.from, program.devices);
  add(out, program.to, program.devices);
  for (const spec::Step& step : program.steps) {
    out.word(step.transfers ? "exchange" : names.at(step.p));
    if (step.p == spec::Op::dynslice) out.list(std::vector<spec::Index>{step.split});
    if (step.p == spec::Op::allgather) out.list(std::vector<spec::Index>{step.concat});
    if (step.p == spec::Op::alltoall) out.list(std::vector<spec::Index>{step.split, step.concat});
    if (step.transfers) {
      out.lists(*step.transfers);
    } else if (step.pairs) {
      out.word("pairs").lists(*step.pairs);
    } else {
      spec::Rows rows;
      for (Size r = 0; r < spec::row_count(step.table); ++r)
        rows.push_back(spec::row(step.table, r));
      out.lists(rows);
      if (step.parts) out.word("parts").list(std::vector<Size>{*step.parts});
    }
    if (step.tile) out.word("tile").list(*step.tile);
    if (step.map) add(out, *step.map, program.devices);
    if (step.at) out.word("at").lists(*step.at);
  }
  return out.text();
}

template <typename Programs>
std::string summaries(const Programs& programs) {
  std::string out;
  for (const auto& program : programs) out += summary(program) + "\n";
  return out;
}

// ---- Texts --------------------------------------------------------------------------------------

enum class Kind { printed, spelled, damaged };

std::string draw(std::uint64_t seed, Kind kind) {
  const auto choose = support::seeded(seed);
  std::string text;
  const Size count = choose(8) == 7 ? 2 : 1;
  for (Size p = 0; p < count; ++p)
    text += to_text(support::choose_program(choose, {.max_devices = 12}));
  if (kind == Kind::printed) return text;
  if (kind == Kind::spelled || choose(4) == 0) text = support::choose_spelling(choose, text);
  if (kind == Kind::damaged) text = support::choose_damage(choose, std::move(text));
  return text;
}

/// Numbers of devices that are cheap to enumerate; all damage that lies above is for the accepting
/// test alone.
bool is_small(const std::vector<retile::Program>& programs) {
  return std::all_of(programs.begin(), programs.end(),
                     [](const auto& program) { return program.devices <= 4096; });
}

/// Removes pieces as long as the readers disagree.
std::string shrunk(std::string text, const std::function<bool(const std::string&)>& fails) {
  for (std::size_t length = text.size() / 2; length > 0; length /= 2) {
    for (std::size_t at = 0; at + length <= text.size();) {
      const std::string shorter = text.substr(0, at) + text.substr(at + length);
      if (fails(shorter)) {
        text = shorter;
      } else {
        at += length;
      }
    }
  }
  return text;
}

bool disagree(const std::string& text) {
  const auto ours = retile::parse_programs(text);
  const auto theirs = spec::parse_programs(text);
  if (ours.has_value() != !theirs.error.has_value()) return true;
  return ours && is_small(*ours) && summaries(*ours) != summaries(theirs.programs);
}

// ---- Tests --------------------------------------------------------------------------------------

class TextFormVsSpec : public testing::TestWithParam<Kind> {};

TEST_P(TextFormVsSpec, same_texts_same_programs) {
  const Kind kind = GetParam();
  const std::uint64_t texts =
      support::samples<std::uint64_t>(kind == Kind::damaged ? 30'000 : 3'000);
  std::size_t accepted = 0;
  std::size_t compared = 0;
  std::map<std::string, std::size_t> refused;
  for (std::uint64_t seed = 0; seed < texts; ++seed) {
    const std::string text = draw(seed, kind);
    const auto ours = retile::parse_programs(text);
    if (disagree(text)) {
      const std::string small = shrunk(text, disagree);
      const auto mine = retile::parse_programs(small);
      const auto theirs = spec::parse_programs(small);
      FAIL() << "seed " << seed
             << "\nsrc:  " << (mine ? "accepts\n" + summaries(*mine) : render(mine.error()))
             << "\nspec: "
             << (theirs.error ? theirs.error->message : "accepts\n" + summaries(theirs.programs))
             << "\n"
             << testing::PrintToString(small);
    }
    if (!ours) {
      ++refused[std::string(code_name(ours.error().code))];
      // A diagnostic always points into its line.
      ASSERT_LE(ours.error().where.begin, ours.error().where.end);
      ASSERT_LE(ours.error().where.end, ours.error().input.size());
      ASSERT_FALSE(render(ours.error()).empty());
      continue;
    }
    ++accepted;
    if (is_small(*ours)) ++compared;
    // What was accepted survives both forms; JSON cannot hold names that are no UTF-8.
    std::string printed;
    std::string json;
    for (const auto& program : *ours) {
      printed += to_text(program);
      json += to_json(program);
    }
    ASSERT_EQ(retile::parse_any(printed).value(), *ours) << text;
    const auto from_json = retile::parse_any(json);
    ASSERT_TRUE(from_json.has_value()) << json << render(from_json.error());
    if (is_small(*ours)) {
      ASSERT_EQ(summaries(*from_json), summaries(*ours)) << text << json;
    }
  }
  std::cout << texts << " texts: " << accepted << " accepted by both (" << compared
            << " compared number by number), " << texts - accepted << " refused by both";
  for (const auto& [code, count] : refused) std::cout << ", " << code << ' ' << count;
  std::cout << '\n';
  if (kind == Kind::damaged) {
    EXPECT_GT(accepted, texts / 10);
    EXPECT_GT(texts - accepted, texts / 4);
  } else {
    EXPECT_EQ(accepted, texts);
  }
}

std::string kind_name(const testing::TestParamInfo<Kind>& drawn) {
  if (drawn.param == Kind::printed) return "printed";
  return drawn.param == Kind::spelled ? "spelled" : "damaged";
}
INSTANTIATE_TEST_SUITE_P(Texts, TextFormVsSpec,
                         testing::Values(Kind::printed, Kind::spelled, Kind::damaged), kind_name);

TEST(TextFormTwins, both_keep_the_rules_one_by_one) {
  for (const auto& twin : twins::all()) {
    EXPECT_FALSE(spec::parse_programs(twin.good).error.has_value()) << twin.name << '\n'
                                                                    << twin.good;
    EXPECT_FALSE(disagree(twin.good)) << twin.name << '\n' << twin.good;
    const std::string bad = twins::unmarked(twin.bad).text;
    EXPECT_TRUE(spec::parse_programs(bad).error.has_value()) << twin.name << '\n' << bad;
    EXPECT_FALSE(disagree(bad)) << twin.name << '\n' << bad;
  }
}

// ---- Controls -----------------------------------------------------------------------------------

using Accepts = std::function<bool(const std::string&)>;

bool accepts(const std::string& text) { return retile::parse_programs(text).has_value(); }

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

/// The text form with one rule changed.
std::map<std::string, Accepts> changed_readers() {
  std::map<std::string, Accepts> out;
  // One rule dropped: everything that only this rule refuses is accepted.
  for (const Code code :
       {Code::bad_number, Code::size_overflow, Code::duplicate_axis, Code::too_many_devices,
        Code::unknown_axis, Code::axis_used_twice, Code::axis_size_mismatch, Code::ill_formed_type,
        Code::rank_mismatch, Code::globaltype_mismatch, Code::bad_program, Code::bad_device,
        Code::bad_dimension, Code::syntax}) {
    out["without " + std::string(code_name(code))] = [code](const std::string& text) {
      const auto read = retile::parse_programs(text);
      return read || read.error().code == code;
    };
  }
  // Single rules of bad_program, known by their messages.
  for (const std::string message :
       {"stands twice", "misses a key", "not both", "at most two mesh lines", "already",
        "must stand above", "reserved word", "has no key", "a pair is", "of at has",
        "for 12 devices", "does not exist", "shapes of an iota", "T names", "T lists",
        "on its left", "line before its steps", "is not given", "said"}) {
    out["without \"" + message + "\""] = [message](const std::string& text) {
      const auto read = retile::parse_programs(text);
      return read || read.error().message.find(message) != std::string::npos;
    };
  }
  // Another rule.
  out["trailing commas"] = [](const std::string& text) {
    return accepts(replaced(text, ",]", "]"));
  };
  out["blanks inside <="] = [](const std::string& text) {
    return accepts(replaced(text, "< =", "<="));
  };
  out["no tabs"] = [](const std::string& text) {
    return text.find('\t') == std::string::npos && accepts(text);
  };
  out["no CRLF"] = [](const std::string& text) {
    return text.find("\r\n") == std::string::npos && accepts(text);
  };
  out["CR is a blank"] = [](const std::string& text) { return accepts(replaced(text, "\r", " ")); };
  out["NUL is a blank"] = [](const std::string& text) {
    return accepts(replaced(text, std::string_view("\0", 1), " "));
  };
  out["comments in quotes"] = [](const std::string& text) {
    std::string cut;
    bool comment = false;
    for (const char c : text) {
      comment = (comment || c == '#') && c != '\n';
      if (!comment) cut += c;
    }
    return accepts(cut);
  };
  out["no empty names"] = [](const std::string& text) {
    return text.find("\"\"") == std::string::npos && accepts(text);
  };
  out["a last line end is needed"] = [](const std::string& text) {
    return !text.empty() && text.back() == '\n' && accepts(text);
  };
  out["one Program per file"] = [](const std::string& text) {
    const auto read = retile::parse_programs(text);
    return read && read->size() == 1;
  };
  return out;
}

TEST(TextFormVsSpecControl, every_changed_rule_shows) {
  const auto readers = changed_readers();
  std::map<std::string, std::size_t> caught;
  const auto hold = [&](const std::string& text) {
    const bool right = !spec::parse_programs(text).error.has_value();
    for (const auto& [name, reader] : readers) {
      if (reader(text) != right) ++caught[name];
    }
  };
  for (const auto& twin : twins::all()) {
    hold(twin.good);
    hold(twins::unmarked(twin.bad).text);
  }
  for (std::uint64_t seed = 0; seed < support::samples(5'000U); ++seed) {
    hold(draw(seed, seed % 4 == 0 ? Kind::spelled : Kind::damaged));
  }
  for (const auto& [name, reader] : readers) {
    std::cout << caught[name] << " texts show: " << name << '\n';
    EXPECT_GT(caught[name], 0U) << name;
  }
}

/// A reader that takes the numbers wrongly is caught by comparing what was read.
TEST(TextFormVsSpecControl, a_number_read_wrongly_shows) {
  std::size_t changed = 0;
  std::size_t shown = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const std::string text = draw(seed, Kind::printed);
    auto ours = retile::parse_programs(text).value();
    if (ours.front().steps.empty()) continue;
    auto* alltoall = std::get_if<retile::Alltoall>(&ours.front().steps.front().op);
    if (alltoall == nullptr || alltoall->split == alltoall->concat) continue;
    std::swap(alltoall->split, alltoall->concat);
    ++changed;
    if (summaries(ours) != summaries(spec::parse_programs(text).programs)) ++shown;
  }
  EXPECT_GT(changed, 10U);
  EXPECT_EQ(shown, changed);
}

}  // namespace
}  // namespace agreement_test
