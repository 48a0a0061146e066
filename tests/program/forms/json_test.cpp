#include "retile/program/forms/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "program/forms/twins.h"
#include "retile/program/forms/text.h"
#include "support/program_generators.h"
#include "support/samples.h"

namespace json_test {
namespace {

using retile::Code;
using retile::parse_any;
using retile::parse_program_json;
using retile::parse_programs;
using retile::Program;
using testing::Contains;
using testing::HasSubstr;

Program read(const std::string& text) { return twins::only(parse_any(text, "test"), text); }

TEST(Json, example_3_1) {
  const Program program = read(
      "retile.program/1\n"
      "mesh x:4,y:6\n"
      "from [3{x}12, 2{y}12]\n"
      "to [2{y}12, 3{x}12]\n"
      "alltoall split=0 concat=1 groups=[8,3]<=[24] tile=[1,6] map=[1{1:3,x}12, 6{3:2}12]\n"
      "allpermute source=[24]<=[2,6,2]T(0,2,1)<=[4,2,3]T(1,0,2) tile=[1,6] map=[1{6:2,y}12, "
      "6{12:2}12]\n"
      "alltoall split=1 concat=0 groups=[12,2]<=[2,2,6]T(0,2,1) tile=[2,3] map=[2{y}12, 3{x}12]\n");
  EXPECT_EQ(
      to_json(program),
      R"json({"schema":"retile.program/1","devices":24,"mesh":[["x",4],["y",6]],"from":"[3{x}12, 2{y}12]","to":"[2{y}12, 3{x}12]","steps":[)json"
      R"json({"op":"alltoall","split":0,"concat":1,"groups":"[8,3]<=[24]","tile":[1,6],"map":"[1{1:3,x}12, 6{3:2}12]"},)json"
      R"json({"op":"allpermute","source":"[24]<=[2,6,2]T(0,2,1)<=[4,2,3]T(1,0,2)","tile":[1,6],"map":"[1{6:2,y}12, 6{12:2}12]"},)json"
      R"json({"op":"alltoall","split":1,"concat":0,"groups":"[12,2]<=[2,2,6]T(0,2,1)","tile":[2,3],"map":"[2{y}12, 3{x}12]"}]})json");
  EXPECT_EQ(read(to_json(program)), program);
}

TEST(Json, every_key_of_every_step) {
  const Program program = read(
      "retile.program/1\n"
      "devices 2\n"
      "from tile=[1] global=[2] at=[[0],[1]]\n"
      "mesh \"a \\ b\":2\n"
      "to [1{\"a \\ b\"}2]\n"
      "dynslice dim=0 parts=2 part=[0,1] at=[[0],[1]]\n"
      "dynslice dim=0 parts=2 part=[2]<=[2]\n"
      "dynslice dim=0 groups=[[0,1]]\n"
      "allgather dim=0 groups=[[],[0]]\n"
      "allpermute pairs=[[0,1],[1,0]] tile=[]\n"
      "allpermute pairs=[]\n"
      "allpermute source=[1,0]\n");
  EXPECT_EQ(to_json(program),
            R"({"schema":"retile.program/1","devices":2,"mesh":null,"mesh_to":[["a \\ b",2]],)"
            R"("from":"tile=[1] global=[2] at=[[0],[1]]","to":"[1{\"a \\ b\"}2]","steps":[)"
            R"({"op":"dynslice","dim":0,"parts":2,"part":[0,1],"at":[[0],[1]]},)"
            R"({"op":"dynslice","dim":0,"parts":2,"part":"[2]<=[2]"},)"
            R"({"op":"dynslice","dim":0,"groups":[[0,1]]},)"
            R"({"op":"allgather","dim":0,"groups":[[],[0]]},)"
            R"({"op":"allpermute","pairs":[[0,1],[1,0]],"tile":[]},)"
            R"({"op":"allpermute","pairs":[]},)"
            R"({"op":"allpermute","source":[1,0]}]})");
  EXPECT_EQ(read(to_json(program)), program);
}

TEST(Json, names_that_are_no_utf8_are_replaced_and_stay_different) {
  const Program program =
      read("retile.program/1\nmesh \"\xFF\":2,\"\xFE\":3\nfrom [1{\"\xFF\",\"\xFE\"}6]\nto [6]\n");
  const Program back = read(to_json(program));
  EXPECT_EQ(back.from, program.from);
  EXPECT_EQ(back.to, program.to);
  EXPECT_EQ(back.mesh->axes().size(), 2U);
}

TEST(Json, names_may_hold_what_json_escapes) {
  const Program program =
      read("retile.program/1\nmesh \"\\ / \xC3\xA9 \xE2\x80\xA8\":2\nfrom [2]\nto [2]\n");
  EXPECT_EQ(read(to_json(program)), program);
}

// ---- Rules --------------------------------------------------------------------------------------

/// A Program of six devices with `steps`; other fields can be put before them.
std::string with(const std::string& steps,
                 const std::string& fields =
                     R"("schema":"retile.program/1","devices":6,"mesh":[["x",2],["y",3]],)"
                     R"("from":"[3{x}6, 4]","to":"[6, 4]")") {
  return "{" + fields + ",\"steps\":[" + steps + "]}";
}
std::string fields(const std::string& text) { return with("", text); }

const std::string schema = R"("schema":"retile.program/1",)";

class JsonRule : public testing::TestWithParam<twins::Twin> {};

TEST_P(JsonRule, accepts_the_good_twin) {
  const auto got = parse_program_json(GetParam().good);
  EXPECT_TRUE(got.has_value()) << GetParam().good << (got ? "" : render(got.error()));
}
TEST_P(JsonRule, refuses_the_bad_twin_at_its_place) {
  const auto bad = twins::unmarked(GetParam().bad);
  const auto got = parse_program_json(bad.text, "file");
  ASSERT_FALSE(got.has_value()) << bad.text;
  SCOPED_TRACE(render(got.error()));
  EXPECT_EQ(code_name(got.error().code), code_name(GetParam().code));
  EXPECT_EQ(got.error().source, "file:" + std::to_string(bad.line));
  EXPECT_EQ(got.error().input, bad.line_text);
  EXPECT_EQ(got.error().where.begin, bad.span.begin);
  EXPECT_EQ(got.error().where.end, bad.span.end);
}

const std::vector<twins::Twin>& rules() {
  static const std::vector<twins::Twin> rules = {
      {"it is JSON", with(""), with("«}»"), Code::syntax},
      {"it ends", with(""), with("").substr(0, with("").size() - 1) + "«»", Code::syntax},
      {"strings end", with(""), R"({"schema":"retile.pro«»)", Code::syntax},
      {"nothing follows", with("") + " \n", with("") + " \n«x»", Code::syntax},
      {"one Program", with(""), with("") + "«{»}", Code::syntax},
      {"it is an object", with(""), "«[]»", Code::bad_program},
      {"schema is there", with(""),
       R"(«{»"devices":1,"mesh":null,"from":"[]","to":"[]","steps":[]})", Code::bad_program},
      {"schema is known", with(""),
       R"({"schema":«"retile.program/3"»,"devices":1,"mesh":null,"from":"[]","to":"[]","steps":[]})",
       Code::bad_program},
      {"fields may stand in any order",
       "{\"steps\":[],\"to\":\"[]\",\"from\":\"[]\",\"mesh\":null," + schema + "\"devices\":1}",
       "{\"steps\":[],\"to\":\"[]\",\"from\":\"[]\",\"mesh\":null," + schema + "«\"device\"»:1}",
       Code::bad_program},
      {"fields stand once", with(""), "{" + schema + "«\"schema\"»:\"retile.program/1\"}",
       Code::bad_program},
      {"devices is there", with(""),
       "«{»" + schema + R"("mesh":[["x",1]],"from":"[]","to":"[]","steps":[]})", Code::bad_program},
      {"mesh is there", with(""),
       "«{»" + schema + R"("devices":1,"from":"[]","to":"[]","steps":[]})", Code::bad_program},
      {"from is there", with(""),
       "«{»" + schema + R"("devices":1,"mesh":null,"to":"[]","steps":[]})", Code::bad_program},
      {"to is there", with(""),
       "«{»" + schema + R"("devices":1,"mesh":null,"from":"[]","steps":[]})", Code::bad_program},
      {"steps is there", with(""),
       "«{»" + schema + R"("devices":1,"mesh":null,"from":"[]","to":"[]"})", Code::bad_program},
      {"steps is a list", with(""),
       "{" + schema + R"("devices":1,"mesh":null,"from":"[]","to":"[]","steps":«null»})",
       Code::bad_program},
      {"steps are objects", with(R"({"op":"allpermute","pairs":[]})"), with(R"(«"allpermute"»)"),
       Code::bad_program},
      {"steps are no numbers", with(R"({"op":"allpermute","pairs":[]})"),
       "{" + schema + R"("devices":1,"mesh":null,"from":"[]","to":"[]","steps":«[1]»})",
       Code::bad_program},
      {"steps are no lists", with(R"({"op":"allpermute","pairs":[]})"),
       "{" + schema + R"("devices":1,"mesh":null,"from":"[]","to":"[]","steps":«[[]]»})",
       Code::bad_program},
      {"objects stand only in steps", with(""), "{" + schema + "\"devices\":«{»}}",
       Code::bad_program},

      {"numbers are whole", with("", schema + R"("devices":6,"mesh":null,"from":"[]","to":"[]")"),
       fields(schema + R"("devices":«6.0»,"mesh":null,"from":"[]","to":"[]")"), Code::bad_number},
      {"numbers have no exponent", with(""),
       fields(schema + R"("devices":«6e0»,"mesh":null,"from":"[]","to":"[]")"), Code::bad_number},
      {"numbers are not negative", with(""),
       fields(schema + R"("devices":«-6»,"mesh":null,"from":"[]","to":"[]")"), Code::bad_number},
      {"numbers are below 2^63",
       with(R"({"op":"allpermute","pairs":[],"tile":[9223372036854775807]})"),
       with(R"({"op":"allpermute","pairs":[],"tile":[«9223372036854775808»]})"), Code::bad_number},
      {"numbers are below 2^64", with(""),
       with(R"({"op":"allpermute","pairs":[],"tile":[1,«99999999999999999999»]})"),
       Code::bad_number},
      {"true means nothing", with(""), fields(schema + R"("devices":«true»)"), Code::bad_program},
      {"devices is a number", with(""), fields(schema + R"("devices":«"6"»)"), Code::bad_program},
      {"nesting is shallow", with(R"({"op":"allgather","dim":0,"groups":[[0]]})"),
       with(R"({"op":"allgather","dim":0,"groups":[[«[»0]]]})"), Code::bad_program},

      {"mesh is a list of pairs", with(""),
       fields(schema + R"("devices":6,"mesh":[«["x"]»],"from":"[]","to":"[]")"), Code::bad_program},
      {"mesh has an axis", with(""),
       fields(schema + R"("devices":6,"mesh":«[]»,"from":"[]","to":"[]")"), Code::bad_program},
      {"mesh is no object", with(""),
       fields(schema + R"("devices":6,"mesh":«{»"x":6},"from":"[]","to":"[]")"), Code::bad_program},
      {"axis sizes are 1 at least", with(""),
       fields(schema + R"("devices":6,"mesh":[["x",«0»]],"from":"[]","to":"[]")"),
       Code::bad_number},
      {"axis names differ", with(""),
       fields(schema + R"("devices":6,"mesh":[["x",2],[«"x"»,3]],"from":"[]","to":"[]")"),
       Code::duplicate_axis},
      {"axis names hold no quotes", with(""),
       fields(schema + R"("devices":6,"mesh":[[«"\""»,6]],"from":"[]","to":"[]")"), Code::syntax},
      {"axis names hold no line ends", with(""),
       fields(schema + R"("devices":6,"mesh":[[«"\n"»,6]],"from":"[]","to":"[]")"), Code::syntax},
      {"axis names hold no control characters",
       fields(schema + R"("devices":6,"mesh":[["\u00a0",6]],"from":"[]","to":"[]")"),
       fields(schema + R"("devices":6,"mesh":[[«"\u009b"»,6]],"from":"[]","to":"[]")"),
       Code::syntax},
      {"mesh and devices agree", with(""),
       fields(schema + R"("devices":5,"mesh":«[["x",6]]»,"from":"[]","to":"[]")"),
       Code::bad_program},
      {"mesh_to agrees",
       fields(schema +
              R"("devices":6,"mesh":null,"mesh_to":[["x",6]],"from":"[6]","to":"[1{x}6]")"),
       fields(schema +
              R"("devices":6,"mesh":null,"mesh_to":«[["x",5]]»,"from":"[6]","to":"[1{x}6]")"),
       Code::bad_program},
      {"mesh_to is never null",
       fields(schema + R"("devices":6,"mesh":null,"from":"[6]","to":"[6]")"),
       fields(schema + R"("devices":6,"mesh":null,"mesh_to":«null»,"from":"[6]","to":"[6]")"),
       Code::bad_program},
      {"tilings are strings", with(""),
       fields(schema + R"("devices":6,"mesh":null,"from":«[6]»,"to":"[6]")"), Code::bad_program},

      {"steps have an op", with(R"({"dim":0,"op":"allgather","groups":[]})"),
       with(R"(«{»"dim":0,"groups":[]})"), Code::bad_program},
      {"op is known", with(R"({"op":"allgather","dim":0,"groups":[]})"),
       with(R"({"op":«"gather"»,"dim":0,"groups":[]})"), Code::syntax},
      {"op is not reserved", with(R"({"op":"allgather","dim":0,"groups":[]})"),
       with(R"({"op":«"pad"»,"dim":0})"), Code::bad_program},
      {"op is a string", with(R"({"op":"allgather","dim":0,"groups":[]})"), with(R"({"op":«1»})"),
       Code::bad_program},
      {"keys are known", with(R"({"op":"allgather","dim":0,"groups":[]})"),
       with(R"({"op":"allgather","dim":0,«"group"»:[]})"), Code::bad_program},
      {"keys belong to the step", with(R"({"op":"allgather","dim":0,"groups":[]})"),
       with(R"({"op":"allgather",«"split"»:0,"groups":[]})"), Code::bad_program},
      {"keys stand once", with(R"({"op":"allgather","dim":0,"groups":[]})"),
       with(R"({"op":"allgather","dim":0,«"dim"»:0,"groups":[]})"), Code::bad_program},
      {"keys are all there", with(R"({"op":"allgather","dim":0,"groups":[]})"),
       with(R"({"op":«"allgather"»,"dim":0})"), Code::bad_program},
      {"dim is below the rank", with(R"({"op":"allgather","dim":1,"groups":[]})"),
       with(R"({"op":"allgather","dim":«2»,"groups":[]})"), Code::bad_dimension},
      {"dim is a number", with(R"({"op":"allgather","dim":1,"groups":[]})"),
       with(R"({"op":"allgather","dim":«[1]»,"groups":[]})"), Code::bad_program},
      {"groups are rows", with(R"({"op":"allgather","dim":0,"groups":[[0,1]]})"),
       with(R"({"op":"allgather","dim":0,"groups":«[0,1]»})"), Code::bad_program},
      {"rows are not mixed", with(R"({"op":"allgather","dim":0,"groups":[[0,1],[2]]})"),
       with(R"({"op":"allgather","dim":0,"groups":[[0,1],«2»]})"), Code::bad_program},
      {"numbers are not mixed", with(R"({"op":"allpermute","source":[0,1]})"),
       with(R"({"op":"allpermute","source":[0,«[1]»]})"), Code::bad_program},
      {"devices exist", with(R"({"op":"allgather","dim":0,"groups":[[0,1],[5]]})"),
       with(R"({"op":"allgather","dim":0,"groups":[[0,1],[«6»]]})"), Code::bad_device},
      {"listed groups are no string", with(R"({"op":"allgather","dim":0,"groups":"[6,1]<=[6]"})"),
       with(R"({"op":"allgather","dim":0,"groups":«"[[0,1]]"»})"), Code::bad_program},
      {"a listed source is no string", with(R"({"op":"allpermute","source":"[6]<=[6]"})"),
       with(R"({"op":"allpermute","source":«"[0,1]"»})"), Code::bad_program},
      {"pairs have two", with(R"({"op":"allpermute","pairs":[[0,1]]})"),
       with(R"({"op":"allpermute","pairs":[[«0»]]})"), Code::bad_program},
      {"transfers are rows",
       with(R"({"op":"exchange","transfers":[[0,0,0,0,0,0,1,1]],"tile":[1,1]})"),
       with(R"({"op":"exchange","transfers":«[0,0,0,0,0,0,1,1]»,"tile":[1,1]})"),
       Code::bad_program},
      {"transfers have their length",
       with(R"({"op":"exchange","transfers":[[0,0,0,0,0,0,1,1]],"tile":[1,1]})"),
       with(R"({"op":"exchange","transfers":[[«0»,0,0,0,0,1,1]],"tile":[1,1]})"),
       Code::bad_program},
      {"an exchange says its tile", with(R"({"op":"exchange","transfers":[],"tile":[1,1]})"),
       with(R"({"op":«"exchange"»,"transfers":[]})"), Code::bad_program},
      {"parts exist", with(R"({"op":"dynslice","dim":0,"parts":2,"part":[0,1,0,1,0,1]})"),
       with(R"({"op":"dynslice","dim":0,"parts":2,"part":[0,1,0,1,0,«2»]})"), Code::bad_program},
      {"tile is a list", with(R"({"op":"allpermute","pairs":[],"tile":[1]})"),
       with(R"({"op":"allpermute","pairs":[],"tile":«1»})"), Code::bad_program},
      {"map is a string", with(R"({"op":"allpermute","pairs":[],"map":"[6, 4]"})"),
       with(R"({"op":"allpermute","pairs":[],"map":«[6,4]»})"), Code::bad_program},
      {"at has a row per device",
       with(R"({"op":"allpermute","pairs":[],"at":[[0,0],[0,0],[0,0],[0,0],[0,0],[0,0]]})"),
       with(R"({"op":"allpermute","pairs":[],"at":«[[0,0]]»})"), Code::bad_program},
      {"places are right in later lines",
       with("\n\n{\"op\":\"allgather\",\n\"dim\":0,\"groups\":[]}"),
       with("\n\n{\"op\":\"allgather\",\n\"dim\":«2» ,\"groups\":[]}"), Code::bad_dimension},
  };
  return rules;
}

std::string test_name(const testing::TestParamInfo<twins::Twin>& drawn) {
  std::string out;
  for (const char c : drawn.param.name) {
    const bool word = ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9');
    out += word ? c : '_';
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(Twins, JsonRule, testing::ValuesIn(rules()), test_name);

TEST(JsonString, diagnostics_point_into_the_string) {
  const auto good = parse_program_json(with(R"({"op":"allgather","dim":0,"groups":"[2,3]<=[6]"})"));
  EXPECT_TRUE(good.has_value());
  const auto bad = parse_program_json(
      "\n" + with(R"({"op":"allgather","dim":0,"groups":"[2,3]<=[7]"})"), "file");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, Code::bad_device);
  EXPECT_EQ(bad.error().source, "file:2");
  EXPECT_EQ(bad.error().input, "[2,3]<=[7]");
  EXPECT_EQ(bad.error().where.begin, 8U);
  EXPECT_EQ(bad.error().where.end, 9U);
}

TEST(JsonString, holds_one_value_without_comment_or_line_end) {
  for (const std::string tail : {" # no", "\\n", " groups=[]", "\\u0000"}) {
    EXPECT_FALSE(parse_program_json(with(R"({"op":"allpermute","source":"[6]<=[6])" + tail + "\"}"))
                     .has_value())
        << tail;
  }
  EXPECT_TRUE(
      parse_program_json(with(R"({"op":"allpermute","source":" [6] <= [6]\t"})")).has_value());
}

TEST(JsonString, tilings_keep_their_rules) {
  const auto from = [](const std::string& tiling) {
    return parse_program_json(
        fields(schema + R"("devices":6,"mesh":[["x",6]],"from":")" + tiling + R"(","to":"[6]")"));
  };
  EXPECT_TRUE(from("[1{x}6]").has_value());
  EXPECT_EQ(from("[2{x}6]").error().code, Code::ill_formed_type);
  EXPECT_EQ(from("[1{y}6]").error().code, Code::unknown_axis);
  EXPECT_EQ(from("[1{x:5}6]").error().code, Code::axis_size_mismatch);
  EXPECT_EQ(from("[1{x,x}36]").error().code, Code::axis_used_twice);
  EXPECT_EQ(from("[1{x}6").error().code, Code::syntax);
  EXPECT_EQ(from("[1{x}6] [6]").error().code, Code::syntax);
  EXPECT_EQ(from("[7]").error().code, Code::globaltype_mismatch);
  EXPECT_EQ(from("[6, 1]").error().code, Code::rank_mismatch);
}

TEST(JsonRepair, names_the_nearest_field) {
  EXPECT_THAT(parse_program_json(R"({"shcema":1})").error().notes,
              Contains("did you mean schema?"));
  EXPECT_THAT(parse_program_json(with(R"({"op":"allgather","gruops":[]})")).error().notes,
              Contains("did you mean groups?"));
}

// ---- Either form --------------------------------------------------------------------------------

TEST(ParseAny, several_objects_are_several_programs) {
  const std::string one = with("");
  const auto all = parse_any(" \r\n" + one + "\n\n" + one + one + "\n");
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->size(), 3U);
  const auto bad = parse_any(one + "\n,\n" + one, "file");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().source, "file:2");
  EXPECT_EQ(bad.error().code, Code::syntax);
}

TEST(ParseAny, a_mistake_in_the_second_object_is_found_there) {
  const auto bad = parse_any(with("") + "\n" + with(R"({"op":"pad"})"), "file");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().source, "file:2");
}

TEST(ParseAny, the_first_byte_that_is_no_blank_decides) {
  EXPECT_TRUE(parse_any("\n\t retile.program/1\ndevices 1\nfrom []\nto []\n").has_value());
  EXPECT_TRUE(parse_any("\n\t " + with("")).has_value());
  EXPECT_FALSE(parse_any("").has_value());
  EXPECT_FALSE(parse_any("[" + with("") + "]").has_value());
  EXPECT_FALSE(parse_any("\xEF\xBB\xBF" + with("")).has_value());
  EXPECT_FALSE(parse_any(with("") + "\xEF\xBB\xBF" + with("")).has_value());
  EXPECT_FALSE(parse_any("retile.program/1\ndevices 1\nfrom []\nto []\n" + with("")).has_value());
}

TEST(JsonRubbish, random_damage_never_crashes) {
  std::size_t refused = 0;
  std::size_t accepted = 0;
  for (std::uint64_t seed = 0; seed < support::samples(20'000U); ++seed) {
    const auto choose = support::seeded(seed);
    std::string json = to_json(support::choose_program(choose, {.max_devices = 6}));
    const auto edits = 1 + choose(3);
    for (retile::Size e = 0; e < edits; ++e) {
      const auto at = static_cast<std::size_t>(choose(static_cast<retile::Size>(json.size())));
      const auto kind = choose(4);
      if (kind == 0) json.erase(at, 1 + static_cast<std::size_t>(choose(3)));
      if (kind == 1 && at < json.size()) json[at] = static_cast<char>(choose(256));
      if (kind == 2) json.insert(at, 1, "[]{},:\"0129-.e \n"[choose(16)]);
      if (kind == 3) json.resize(at);
      if (json.empty()) break;
    }
    const auto got = parse_any(json, "rubbish");
    if (got) {
      ++accepted;
      for (const Program& program : *got) {
        ASSERT_EQ(parse_program_json(to_json(program)).value(), program);
        ASSERT_EQ(parse_programs(to_text(program)).value().front(), program);
      }
    } else {
      ++refused;
      ASSERT_LE(got.error().where.begin, got.error().where.end);
      ASSERT_LE(got.error().where.end, got.error().input.size());
      ASSERT_LT(got.error().message.size(), 400U);
    }
  }
  std::cout << accepted << " damaged JSON texts accepted, " << refused << " refused\n";
  EXPECT_GT(accepted, support::samples(300U));
  EXPECT_GT(refused, support::samples(15'000U));
}

TEST(JsonRubbish, megabytes_are_refused) {
  const auto repeated = [](const std::string& piece) {
    std::string out;
    for (std::size_t i = 0; i < support::samples(200'000U); ++i) out += piece;
    return out;
  };
  for (const std::string& text :
       {"{" + repeated("["), "{\"steps\":" + repeated("["),
        "{\"steps\":[" + repeated("{\"op\":\"pad\"},"), "{\"from\":[" + repeated("[],") + "1]}",
        "{\"from\":\"" + repeated("x"), "{" + repeated("{"), "{\"" + repeated("x") + "\":1}",
        "{\"devices\":" + repeated("9") + "}", "{" + std::string(1'000'000, '\0'),
        "{\"mesh\":[" + repeated("[\"x\",1],") + "[\"x\",1]]," + schema +
            "\"devices\":1,\"from\":\"[]\",\"to\":\"[]\",\"steps\":[]}"}) {
    const auto got = parse_any(text);
    ASSERT_FALSE(got.has_value());
    EXPECT_LT(got.error().message.size(), 400U);
  }
}

}  // namespace
}  // namespace json_test
