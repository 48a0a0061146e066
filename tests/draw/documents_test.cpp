// Pictures in documents are drawn from the problems that stand beside them.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "retile/draw/svg.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/problem.h"
#include "retile/plan/plan.h"

namespace retile::documents_test {
namespace {

std::string file(const std::string& name) {
  std::ifstream in(std::string(RETILE_DOCUMENTS) + "/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string picture(const char* mesh, const char* from, const char* to) {
  return to_svg(program_of(plan(parse_problem(mesh, from, to).value()).value()).value()).value();
}

TEST(Documents, the_picture_of_readme_is_of_its_first_command) {
  const std::string readme = file("README.md");
  const std::string command =
      "$ retile plan --mesh data:4,model:2 --shape 8,8 \"P('data', 'model')\" \"P(None, 'data')\"";
  EXPECT_EQ(readme.find("$ retile "), readme.find(command + " --svg plan.svg\n"));
  EXPECT_NE(readme.find("<img src=\"docs/pictures/plan.svg\""), std::string::npos);
  const std::string drawn = file("docs/pictures/plan.svg");
  EXPECT_EQ(drawn, picture("data:4,model:2", "[2{data}8, 4{model}8]", "[8, 2{data}8]"));
  // Control: the picture of another problem is another one.
  EXPECT_NE(drawn, picture("data:4,model:2", "[2{data}8, 4{model}8]", "[4{model}8, 2{data}8]"));
}

TEST(Documents, the_pictures_of_modules_are_of_their_commands) {
  const std::string page = file("docs/reference/modules.md");
  const auto stands = [&](const std::string& command, const std::string& name) {
    EXPECT_NE(page.find("$ retile plan " + command + " --svg " + name + ".svg\n"),
              std::string::npos);
    EXPECT_NE(page.find("<img src=\"../pictures/" + name + ".svg\""), std::string::npos);
    return file("docs/pictures/" + name + ".svg");
  };
  const std::string rows = stands("--mesh d:4 '[8, 2{d}8]' '[2{d}8, 8]'", "rows");
  EXPECT_EQ(rows, picture("d:4", "[8, 2{d}8]", "[2{d}8, 8]"));
  EXPECT_NE(rows, picture("d:4", "[2{d}8, 8]", "[8, 2{d}8]"));
  const std::string halo = stands("--mesh i:4 '[3{i}12]' '[3{i}12<0,2>]'", "halo");
  EXPECT_EQ(halo, picture("i:4", "[3{i}12]", "[3{i}12<0,2>]"));
  EXPECT_NE(halo, picture("i:4", "[3{i}12]", "[3{i}12<0,1>]"));
}

}  // namespace
}  // namespace retile::documents_test
