// The picture of docs/explanation/layouts.md colours every element by the device that holds it.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "retile/notation/paper/problem.h"

namespace retile::layout_picture_test {
namespace {

/// The devices of 32 elements in row-major order, as a type over `d:4` says it.
std::vector<Size> holders(const std::string& type) {
  const Layout layout = parse_problem("d:4", type, type).value().from;
  const Shape& shape = layout.global();
  std::vector<Size> out(32, -1);
  for (Size device = 0; device < layout.devices(); ++device) {
    const Box box = layout.box(device);
    for (std::size_t element = 0; element < out.size(); ++element) {
      Size rest = static_cast<Size>(element);
      bool inside = true;
      for (std::size_t i = shape.size(); i-- > 0; rest /= shape[i]) {
        const Size at = rest % shape[i] - box.at[i];
        inside = inside && at >= 0 && at < box.extent[i];
      }
      if (inside) out[element] = device;
    }
  }
  return out;
}

struct Strip {
  std::string type;
  std::vector<Size> devices;
};

/// The rows of the picture: a type, and the class of every cell behind it.
std::vector<Strip> strips(const std::string& name) {
  std::ifstream in(name);
  std::vector<Strip> out;
  for (std::string line; std::getline(in, line);) {
    const std::size_t note = line.find("class='note'");
    if (note != std::string::npos) {
      const std::size_t begin = line.find('[', note);
      out.push_back({line.substr(begin, line.rfind(']') + 1 - begin), {}});
    } else if (line.rfind("<rect class='d", 0) == 0) {
      const std::string number = ">" + std::to_string(out.back().devices.size()) + "</text>";
      EXPECT_NE(line.find(number), std::string::npos) << line;
      out.back().devices.push_back(line[14] - '0');
    }
  }
  return out;
}

TEST(LayoutPicture, colours_each_element_by_its_device) {
  const std::vector<Strip> drawn =
      strips(std::string(RETILE_DOCUMENTS) + "/docs/pictures/cyclic.svg");
  ASSERT_EQ(drawn.size(), 3U);
  for (const Strip& strip : drawn) EXPECT_EQ(strip.devices, holders(strip.type)) << strip.type;
  // Control: another layout colours them otherwise.
  EXPECT_NE(drawn[1].devices, holders(drawn[2].type));
}

TEST(LayoutPicture, is_of_cyclic_layouts) {
  const std::vector<Size> cyclic = holders("[8, 1{d}4]"), block_cyclic = holders("[4, 1{d}4, 2]");
  for (Size i = 0; i < 32; ++i) {
    EXPECT_EQ(cyclic[static_cast<std::size_t>(i)], i % 4);
    EXPECT_EQ(block_cyclic[static_cast<std::size_t>(i)], i / 2 % 4);
  }
}

}  // namespace
}  // namespace retile::layout_picture_test
