// The picture in README.md is drawn from the problem that stands below it.
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
  return to_svg(lower(plan(parse_problem(mesh, from, to).value()).value())).value();
}

TEST(Documents, the_picture_of_readme_is_of_its_first_command) {
  const std::string readme = file("README.md");
  const std::string command =
      "$ retile plan --mesh data:4,model:2 '[2{data}8, 4{model}8]' '[8, 2{data}8]'";
  EXPECT_EQ(readme.find("$ retile "), readme.find(command + " --svg plan.svg\n"));
  EXPECT_NE(readme.find("<img src=\"docs/pictures/plan.svg\""), std::string::npos);
  const std::string drawn = file("docs/pictures/plan.svg");
  EXPECT_EQ(drawn, picture("data:4,model:2", "[2{data}8, 4{model}8]", "[8, 2{data}8]"));
  // Control: the picture of another problem is another one.
  EXPECT_NE(drawn, picture("data:4,model:2", "[2{data}8, 4{model}8]", "[4{model}8, 2{data}8]"));
}

}  // namespace
}  // namespace retile::documents_test
