// Files that numpy writes, and numpy reading ours. A test of its own, so that it can be skipped.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "exec/npy/files.h"
#include "retile/exec/npy/npy.h"

namespace retile {
namespace {

std::string python = "python3";  // set by main

bool run_python(const std::string& code, const char* messages = ">&2") {
  const test::TemporaryDirectory directory;
  test::write_file(directory.file("script.py"), code);
  return std::system((python + " " + directory.file("script.py") + " " + messages).c_str()) == 0;
}

class WithNumpy : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system((python + " -c 'import numpy' 2>/dev/null").c_str()) != 0)
      GTEST_SKIP() << "no numpy";
  }
};

TEST_F(WithNumpy, what_numpy_writes_is_read) {
  const test::TemporaryDirectory directory;
  ASSERT_TRUE(run_python(R"(
import numpy as np
d = ')" + directory.path().string() +
                         R"(/'
for name, dtype in [('i1','i1'),('u1','u1'),('b1','?'),('i2','>i2'),('f2','f2'),('i4','<i4'),('f4','>f4'),('i8','i8'),('f8','f8'),('c8','c8'),('c16','c16'),('M8','M8[ns]')]:
    np.save(d + name + '.npy', np.arange(24).astype(dtype).reshape(2, 3, 4))
np.save(d + 'scalar.npy', np.float32(1))
np.save(d + 'vector.npy', np.arange(5, dtype='f4'))
for version in [(1, 0), (2, 0), (3, 0)]:
    with open(d + 'version%d.npy' % version[0], 'wb') as f:
        np.lib.format.write_array(f, np.arange(6, dtype='<f4').reshape(2, 3), version=version)
np.save(d + 'fortran.npy', np.asfortranarray(np.arange(6).reshape(2, 3)))
np.save(d + 'object.npy', np.array([None, 1], dtype=object))
np.save(d + 'structured.npy', np.zeros(3, dtype=[('x', 'f4'), ('y', 'i4')]))
np.save(d + 'empty.npy', np.zeros((0, 3)))
np.save(d + 'string.npy', np.array(['abc']))
np.save(d + 'void.npy', np.zeros(3, dtype='V8'))
)"));
  for (const std::string name :
       {"i1", "u1", "b1", "i2", "f2", "i4", "f4", "i8", "f8", "c8", "c16", "M8"}) {
    const auto file = NpyFile::open(directory.file(name + ".npy"));
    ASSERT_TRUE(file) << render(file.error());
    EXPECT_EQ(file->header().type.bytes, std::stoll(name.substr(1)));
    EXPECT_EQ(file->header().shape, (Shape{2, 3, 4}));
  }
  EXPECT_EQ(NpyFile::open(directory.file("i2.npy"))->header().descr, ">i2");
  EXPECT_EQ(NpyFile::open(directory.file("scalar.npy"))->header().shape, Shape{});
  EXPECT_EQ(NpyFile::open(directory.file("vector.npy"))->header().shape, Shape{5});
  for (const char* name : {"version1.npy", "version2.npy", "version3.npy"}) {
    EXPECT_TRUE(NpyFile::open(directory.file(name))) << name;
  }
  for (const char* name :
       {"fortran.npy", "object.npy", "structured.npy", "empty.npy", "string.npy", "void.npy"}) {
    const auto file = NpyFile::open(directory.file(name));
    ASSERT_FALSE(file) << name;
    EXPECT_EQ(file.error().code, Code::bad_file);
  }
}

TEST_F(WithNumpy, what_we_write_numpy_reads) {
  const test::TemporaryDirectory directory;
  for (const char* descr : {"<i4", ">i4"}) {
    auto output = NpyOutput::create(directory.file("b.npy"), test::header_of(descr, {2, 3}));
    ASSERT_TRUE(output);
    std::vector<std::byte> data(24);
    for (std::size_t i = 0; i < 6; ++i)
      data[4 * i + (descr[0] == '<' ? 0 : 3)] = static_cast<std::byte>(i);
    TileRuns runs({2, 3}, {2, 3}, {0, 0});
    ASSERT_TRUE(output->write(runs, data));
    ASSERT_TRUE(output->commit());
    EXPECT_TRUE(run_python("import numpy as np\na = np.load('" + directory.file("b.npy") +
                           "')\nassert a.dtype.str == '" + descr +
                           "', a.dtype.str\nassert (a == np.arange(6).reshape(2, 3)).all(), a\n"));
    EXPECT_FALSE(
        run_python("import numpy as np\na = np.load('" + directory.file("b.npy") +
                       "')\nassert (a == np.arange(1, 7).reshape(2, 3)).all(), 'meant to fail'\n",
                   "2>/dev/null"));
  }
}

}  // namespace
}  // namespace retile

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--python=", 0) == 0) retile::python = argument.substr(9);
  }
  const int status = RUN_ALL_TESTS();
  const auto& tests = *testing::UnitTest::GetInstance();
  return status == 0 && tests.skipped_test_count() == tests.test_to_run_count() ? 77 : status;
}
