// The checksum of zip archives: CRC-32 as zlib computes it.
#pragma once
#include <cstdint>

namespace facula {

// The checksum of what `crc` is the checksum of, followed by the given bytes; 0 to begin with.
uint32_t crc32(uint32_t crc, const void* data, int64_t nbytes);

// The checksum of two pieces one after the other, from those of each.
uint32_t crc32_combine(uint32_t first, uint32_t second, int64_t nbytes_of_second);

}  // namespace facula
