// UniqueFd closes a file descriptor.
//
//   const UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
//   if (file.get() < 0) return Error(errno);

#ifndef EBB_BASE_UNIQUE_FD_H_
#define EBB_BASE_UNIQUE_FD_H_

#include <utility>

namespace ebb {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}  // Negative: no descriptor is held.
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd();

  [[nodiscard]] int get() const { return fd_; }
  // The caller closes it.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

}  // namespace ebb

#endif  // EBB_BASE_UNIQUE_FD_H_
