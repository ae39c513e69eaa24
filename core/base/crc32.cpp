#include "base/crc32.h"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace facula {
namespace {

// Polynomials over GF(2) modulo the one of CRC-32, the highest power in the lowest bit.
constexpr uint32_t kPolynomial = 0xEDB88320;

constexpr uint32_t times_x(uint32_t p) { return (p >> 1) ^ ((p & 1) ? kPolynomial : 0); }

constexpr uint32_t power_of_x(int n) {
  uint32_t p = 0x80000000;
  for (int i = 0; i < n; ++i) p = times_x(p);
  return p;
}

uint32_t multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (; b != 0; b <<= 1, a = times_x(a))
    if (b & 0x80000000) product ^= a;
  return product;
}

// tables[k][b]: the checksum of the byte b with k zero bytes after it.
constexpr int kSlices = 8;
using Tables = std::array<std::array<uint32_t, 256>, kSlices>;

constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = times_x(crc);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < kSlices; ++k)
    for (size_t byte = 0; byte < 256; ++byte) {
      uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  return tables;
}
constexpr Tables kTables = make_tables();

// The functions below work on the register, which is the complement of the checksum.
uint32_t crc_by_tables(uint32_t crc, const unsigned char* data, int64_t nbytes) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  for (; nbytes >= kSlices; data += kSlices, nbytes -= kSlices) {
    uint64_t word;
    std::memcpy(&word, data, sizeof(word));
    word ^= crc;
    crc = 0;
    for (size_t k = 0; k < kSlices; ++k) crc ^= kTables[kSlices - 1 - k][(word >> (8 * k)) & 0xFF];
  }
#endif
  for (; nbytes > 0; ++data, --nbytes) crc = (crc >> 8) ^ kTables[0][(crc ^ *data) & 0xFF];
  return crc;
}

#if defined(__x86_64__)
// Note [Folding]
// A block of 128 bits that lies D bits before another is, modulo the polynomial, the sum of its two
// halves times x^(D + 64) and x^D, of 96 bits each: the sum of these with the later block stands
// for both (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", 2009).
// Carry-less products of reflected numbers come out one bit low and the remainders are of 32 bits
// in halves of 64: hence the exponents and the shift.
constexpr long long folding(int distance) {
  return static_cast<long long>(uint64_t{power_of_x(distance)} << 1);
}

#define FACULA_CLMUL __attribute__((target("pclmul,sse4.1")))

FACULA_CLMUL inline __m128i fold(__m128i block, __m128i by, __m128i next) {
  __m128i low = _mm_clmulepi64_si128(block, by, 0x00);
  __m128i high = _mm_clmulepi64_si128(block, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

FACULA_CLMUL inline __m128i load(const unsigned char* data) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
}

// The sum of the blocks, of 128 bits each, and of the bytes behind them.
FACULA_CLMUL uint32_t crc_of_blocks(const __m128i* blocks, int n, const unsigned char* data,
                                    int64_t nbytes) {
  const __m128i by_block = _mm_set_epi64x(folding(128 - 32), folding(128 + 32));
  __m128i all = blocks[0];
  for (int i = 1; i < n; ++i) all = fold(all, by_block, blocks[i]);
  for (; nbytes >= 16; data += 16, nbytes -= 16) all = fold(all, by_block, load(data));
  unsigned char rest[16];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(rest), all);
  return crc_by_tables(crc_by_tables(0, rest, 16), data, nbytes);
}

FACULA_CLMUL uint32_t crc_by_folding(uint32_t crc, const unsigned char* data, int64_t nbytes) {
  constexpr int kLanes = 8;
  constexpr int64_t kStride = 16 * kLanes;
  const __m128i by_stride = _mm_set_epi64x(folding(8 * kStride - 32), folding(8 * kStride + 32));
  __m128i lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = load(data + 16 * i);
  lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(static_cast<int>(crc)));
  for (data += kStride, nbytes -= kStride; nbytes >= kStride; data += kStride, nbytes -= kStride)
    for (int i = 0; i < kLanes; ++i) lanes[i] = fold(lanes[i], by_stride, load(data + 16 * i));
  return crc_of_blocks(lanes, kLanes, data, nbytes);
}

// The same with four blocks to a register.
__attribute__((target("vpclmulqdq,avx512f"))) uint32_t crc_by_wide_folding(
    uint32_t crc, const unsigned char* data, int64_t nbytes) {
  constexpr int kLanes = 4;
  constexpr int64_t kStride = 64 * kLanes;
  const __m512i by_stride =
      _mm512_broadcast_i32x4(_mm_set_epi64x(folding(8 * kStride - 32), folding(8 * kStride + 32)));
  __m512i lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = _mm512_loadu_si512(data + 64 * i);
  __m512i start = _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(crc)));
  lanes[0] = _mm512_xor_si512(lanes[0], start);
  for (data += kStride, nbytes -= kStride; nbytes >= kStride; data += kStride, nbytes -= kStride)
    for (int i = 0; i < kLanes; ++i) {
      __m512i low = _mm512_clmulepi64_epi128(lanes[i], by_stride, 0x00);
      __m512i high = _mm512_clmulepi64_epi128(lanes[i], by_stride, 0x11);
      lanes[i] = _mm512_ternarylogic_epi64(low, high, _mm512_loadu_si512(data + 64 * i), 0x96);
    }
  __m128i blocks[4 * kLanes];
  std::memcpy(blocks, lanes, sizeof(lanes));
  return crc_of_blocks(blocks, 4 * kLanes, data, nbytes);
}

bool can_fold() {
  static const bool can =
      __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
  return can;
}
bool can_fold_wide() {
  static const bool can =
      __builtin_cpu_supports("vpclmulqdq") != 0 && __builtin_cpu_supports("avx512f") != 0;
  return can;
}
#endif

}  // namespace

uint32_t crc32(uint32_t crc, const void* data, int64_t nbytes) {
  auto* bytes = static_cast<const unsigned char*>(data);
#if defined(__x86_64__)
  if (nbytes >= 512 && can_fold_wide()) return ~crc_by_wide_folding(~crc, bytes, nbytes);
  if (nbytes >= 256 && can_fold()) return ~crc_by_folding(~crc, bytes, nbytes);
#endif
  return ~crc_by_tables(~crc, bytes, nbytes);
}

uint32_t crc32_combine(uint32_t first, uint32_t second, int64_t nbytes_of_second) {
  uint32_t shift = power_of_x(0);
  uint32_t square = power_of_x(8);
  for (int64_t n = nbytes_of_second; n != 0; n >>= 1) {
    if (n & 1) shift = multiply(shift, square);
    square = multiply(square, square);
  }
  return multiply(first, shift) ^ second;
}

}  // namespace facula
