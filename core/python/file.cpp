// Files of tensors: checksums, and reads that compute them on the way.
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <vector>

#include "base/crc32.h"
#include "base/integers.h"
#include "base/parallel.h"
#include "bind/bind.h"

namespace facula {
namespace {

// Half of a second-level cache: bytes are summed up where they were just written.
constexpr int64_t kPiece = int64_t{1} << 19;

// The bytes of an object with the buffer protocol, while this lives.
class Bytes {
 public:
  Bytes(nb::handle object, int flags) {
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
  }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  char* data() const { return static_cast<char*>(view_.buf); }
  int64_t size() const { return view_.len; }

 private:
  Py_buffer view_;
};

// Calls checked(data, size) for each piece, which returns its checksum, and joins the sums.
template <class Checked>
uint32_t sum_pieces(uint32_t crc, int64_t nbytes, const Checked& checked) {
  std::vector<uint32_t> sums(static_cast<size_t>(ceil_div(nbytes, kPiece)));
  parallel_for(nbytes, kPiece, [&](int64_t begin, int64_t end) {
    sums[static_cast<size_t>(begin / kPiece)] = checked(begin, end - begin);
  });
  for (size_t i = 0; i < sums.size(); ++i)
    crc = crc32_combine(crc, sums[i], std::min(kPiece, nbytes - static_cast<int64_t>(i) * kPiece));
  return crc;
}

uint32_t crc32_of(nb::handle object, uint32_t crc) {
  Bytes bytes(object, PyBUF_SIMPLE);
  return sum_pieces(crc, bytes.size(), [&](int64_t begin, int64_t size) {
    return crc32(0, bytes.data() + begin, size);
  });
}

// Fills the buffer from the file and returns the checksum of what it has; None where the file is
// too short.
nb::object read_checked(int fd, int64_t offset, nb::handle buffer) {
  Bytes bytes(buffer, PyBUF_WRITABLE);
  std::atomic<int> error{0};
  std::atomic<bool> is_short{false};
  uint32_t crc = sum_pieces(0, bytes.size(), [&](int64_t begin, int64_t size) {
    char* to = bytes.data() + begin;
    for (int64_t done = 0; done < size;) {
      ssize_t n = pread(fd, to + done, static_cast<size_t>(size - done), offset + begin + done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) error = errno;
      if (n == 0) is_short = true;
      if (n <= 0) return uint32_t{0};
      done += n;
    }
    return crc32(0, to, size);
  });
  if (int number = error; number != 0) {
    errno = number;
    PyErr_SetFromErrno(PyExc_OSError);
    throw nb::python_error();
  }
  return is_short ? nb::object(nb::none()) : nb::cast(crc);
}

}  // namespace

FACULA_BINDINGS {
  m.def("_crc32", &crc32_of, "data"_a, "value"_a = 0);
  m.def("_read_checked", &read_checked, "fd"_a, "offset"_a, "buffer"_a);
}

}  // namespace facula
