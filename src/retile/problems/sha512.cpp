#include "retile/problems/sha512.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace retile::problems {
namespace {

using Word = std::uint64_t;
constexpr std::size_t block_bytes = 128;
constexpr std::size_t rounds = 80;

/// The first 64 bits behind the point of the square roots of the first eight primes.
constexpr std::array<Word, 8> start = {
    0x6a09e667f3bcc908U, 0xbb67ae8584caa73bU, 0x3c6ef372fe94f82bU, 0xa54ff53a5f1d36f1U,
    0x510e527fade682d1U, 0x9b05688c2b3e6c1fU, 0x1f83d9abfb41bd6bU, 0x5be0cd19137e2179U};

/// Likewise of the cube roots of the first 80 primes.
constexpr std::array<Word, rounds> constants = {
    0x428a2f98d728ae22U, 0x7137449123ef65cdU, 0xb5c0fbcfec4d3b2fU, 0xe9b5dba58189dbbcU,
    0x3956c25bf348b538U, 0x59f111f1b605d019U, 0x923f82a4af194f9bU, 0xab1c5ed5da6d8118U,
    0xd807aa98a3030242U, 0x12835b0145706fbeU, 0x243185be4ee4b28cU, 0x550c7dc3d5ffb4e2U,
    0x72be5d74f27b896fU, 0x80deb1fe3b1696b1U, 0x9bdc06a725c71235U, 0xc19bf174cf692694U,
    0xe49b69c19ef14ad2U, 0xefbe4786384f25e3U, 0x0fc19dc68b8cd5b5U, 0x240ca1cc77ac9c65U,
    0x2de92c6f592b0275U, 0x4a7484aa6ea6e483U, 0x5cb0a9dcbd41fbd4U, 0x76f988da831153b5U,
    0x983e5152ee66dfabU, 0xa831c66d2db43210U, 0xb00327c898fb213fU, 0xbf597fc7beef0ee4U,
    0xc6e00bf33da88fc2U, 0xd5a79147930aa725U, 0x06ca6351e003826fU, 0x142929670a0e6e70U,
    0x27b70a8546d22ffcU, 0x2e1b21385c26c926U, 0x4d2c6dfc5ac42aedU, 0x53380d139d95b3dfU,
    0x650a73548baf63deU, 0x766a0abb3c77b2a8U, 0x81c2c92e47edaee6U, 0x92722c851482353bU,
    0xa2bfe8a14cf10364U, 0xa81a664bbc423001U, 0xc24b8b70d0f89791U, 0xc76c51a30654be30U,
    0xd192e819d6ef5218U, 0xd69906245565a910U, 0xf40e35855771202aU, 0x106aa07032bbd1b8U,
    0x19a4c116b8d2d0c8U, 0x1e376c085141ab53U, 0x2748774cdf8eeb99U, 0x34b0bcb5e19b48a8U,
    0x391c0cb3c5c95a63U, 0x4ed8aa4ae3418acbU, 0x5b9cca4f7763e373U, 0x682e6ff3d6b2b8a3U,
    0x748f82ee5defb2fcU, 0x78a5636f43172f60U, 0x84c87814a1f0ab72U, 0x8cc702081a6439ecU,
    0x90befffa23631e28U, 0xa4506cebde82bde9U, 0xbef9a3f7b2c67915U, 0xc67178f2e372532bU,
    0xca273eceea26619cU, 0xd186b8c721c0c207U, 0xeada7dd6cde0eb1eU, 0xf57d4f7fee6ed178U,
    0x06f067aa72176fbaU, 0x0a637dc5a2c898a6U, 0x113f9804bef90daeU, 0x1b710b35131c471bU,
    0x28db77f523047d84U, 0x32caab7b40c72493U, 0x3c9ebe0a15c9bebcU, 0x431d67c49c100d4cU,
    0x4cc5d4becb3e42b6U, 0x597f299cfc657e2aU, 0x5fcb6fab3ad6faecU, 0x6c44198c4a475817U};

/// The text, a bit that is 1, zeros, and the number of its bits in two words, in whole blocks.
std::vector<std::uint8_t> padded(std::string_view text) {
  std::vector<std::uint8_t> out(text.begin(), text.end());
  out.push_back(0x80);
  while ((out.size() + 2 * sizeof(Word)) % block_bytes != 0) out.push_back(0);
  out.insert(out.end(), sizeof(Word), 0);
  const Word bits = Word{text.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) {
    out.push_back(static_cast<std::uint8_t>(bits >> shift));
  }
  return out;
}

Word word_at(const std::uint8_t* bytes) {
  Word out = 0;
  for (std::size_t k = 0; k < sizeof(Word); ++k) out = out << 8 | bytes[k];
  return out;
}

/// The words that the rounds of a block take.
std::array<Word, rounds> schedule(const std::uint8_t* block) {
  std::array<Word, rounds> out{};
  for (std::size_t t = 0; t < 16; ++t) out[t] = word_at(block + t * sizeof(Word));
  for (std::size_t t = 16; t < rounds; ++t) {
    const Word near = out[t - 2];
    const Word far = out[t - 15];
    out[t] = (std::rotr(near, 19) ^ std::rotr(near, 61) ^ near >> 6) + out[t - 7] +
             (std::rotr(far, 1) ^ std::rotr(far, 8) ^ far >> 7) + out[t - 16];
  }
  return out;
}

void mix(std::array<Word, 8>& state, const std::uint8_t* block) {
  const auto words = schedule(block);
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < rounds; ++t) {
    const Word one = h + (std::rotr(e, 14) ^ std::rotr(e, 18) ^ std::rotr(e, 41)) +
                     ((e & f) ^ (~e & g)) + constants[t] + words[t];
    const Word two =
        (std::rotr(a, 28) ^ std::rotr(a, 34) ^ std::rotr(a, 39)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + one;
    d = c;
    c = b;
    b = a;
    a = one + two;
  }
  const std::array<Word, 8> added = {a, b, c, d, e, f, g, h};
  for (std::size_t k = 0; k < state.size(); ++k) state[k] += added[k];
}

}  // namespace

std::array<std::uint8_t, 64> sha512(std::string_view text) {
  const auto bytes = padded(text);
  auto state = start;
  for (std::size_t at = 0; at < bytes.size(); at += block_bytes) mix(state, bytes.data() + at);
  std::array<std::uint8_t, 64> out{};
  for (std::size_t k = 0; k < out.size(); ++k) {
    out[k] = static_cast<std::uint8_t>(state[k / 8] >> (56 - 8 * (k % 8)));
  }
  return out;
}

}  // namespace retile::problems
