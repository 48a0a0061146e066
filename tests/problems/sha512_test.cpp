#include "retile/problems/sha512.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace sha512_test {
namespace {

std::string digest(std::string_view text) {
  std::string out;
  for (const auto byte : retile::problems::sha512(text)) out += fmt::format("{:02x}", byte);
  return out;
}

TEST(Sha512, digests_of_the_standard) {
  EXPECT_EQ(digest("abc"),
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
  EXPECT_EQ(digest("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                   "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018"
            "501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909");
}

TEST(Sha512, the_length_goes_into_the_last_block_or_into_one_more) {
  EXPECT_EQ(digest(""),
            "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
            "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e");
  EXPECT_EQ(digest(std::string(111, 'a')),
            "fa9121c7b32b9e01733d034cfc78cbf67f926c7ed83e82200ef86818196921760"
            "b4beff48404df811b953828274461673c68d04e297b0eb7b2b4d60fc6b566a2");
  EXPECT_EQ(digest(std::string(112, 'a')),
            "c01d080efd492776a1c43bd23dd99d0a2e626d481e16782e75d54c2503b5dc32"
            "bd05f0f1ba33e568b88fd2d970929b719ecbb152f58f130a407c8830604b70ca");
  EXPECT_EQ(digest(std::string(128, 'a')),
            "b73d1929aa615934e61a871596b3f3b33359f42b8175602e89f7e06e5f658a24"
            "3667807ed300314b95cacdd579f3e33abdfbe351909519a846d465c59582f321");
}

}  // namespace
}  // namespace sha512_test
