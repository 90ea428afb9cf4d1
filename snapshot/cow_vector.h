// CowVector<T> is a vector of pages that copies share until one of them writes to a page.
//
// A copy costs one reference count per page.  The first write to a page that is
// shared copies that page; later writes cost one load and a compare.  The cost of
// reading does not depend on the number of copies.
//
// Threads: each copy is as safe as a std::vector.  Different threads may use different
//          copies at once although the copies share pages, because a shared page is
//          never written.
//
// kPageSize: elements of a page, a power of two.  Small pages make first writes
//            cheap, large pages make copies cheap.

#ifndef EBB_SNAPSHOT_COW_VECTOR_H_
#define EBB_SNAPSHOT_COW_VECTOR_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

namespace ebb {

template <typename T, size_t kPageSize>
class CowVector {
  static_assert(std::has_single_bit(kPageSize));

 public:
  CowVector() = default;
  CowVector(const CowVector& other) : pages_(other.pages_), size_(other.size_) { Share(); }
  CowVector(CowVector&& other) noexcept
      : pages_(std::move(other.pages_)), size_(std::exchange(other.size_, 0)) {
    other.pages_.clear();
  }
  CowVector& operator=(CowVector other) noexcept {
    pages_.swap(other.pages_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~CowVector() { Release(); }

  [[nodiscard]] size_t size() const { return size_; }

  [[nodiscard]] const T& operator[](size_t i) const {
    return pages_[i / kPageSize]->items[i % kPageSize];
  }

  // Elements from `i` to the end of its page, contiguous.
  [[nodiscard]] const T* Run(size_t i) const { return &(*this)[i]; }

  T& Mutable(size_t i) { return Own(i / kPageSize)->items[i % kPageSize]; }

  // New elements are T().  New pages share one blank page until they are written.
  void Resize(size_t size) {
    const size_t pages = (size + kPageSize - 1) / kPageSize;
    if (pages > pages_.size()) {
      const size_t added = pages - pages_.size();
      pages_.reserve(pages);
      Page* const blank = new Page();
      blank->owners.store(static_cast<uint32_t>(added), std::memory_order_relaxed);
      pages_.insert(pages_.end(), added, blank);
    }
    size_ = size;
  }

 private:
  struct Page {
    std::array<T, kPageSize> items{};
    std::atomic<uint32_t> owners{1};
    Page() = default;
    explicit Page(const std::array<T, kPageSize>& from) : items(from) {}
  };

  void Share() {
    // Relaxed: a new owner is made from an existing one, which keeps the page alive
    // meanwhile.  A caller that hands the copy to another thread must synchronize.
    for (Page* page : pages_) page->owners.fetch_add(1, std::memory_order_relaxed);
  }

  static void Drop(Page* page) {
    // Acquire-release: the last owner must see all reads of the others done.
    if (page->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete page;
  }

  void Release() {
    for (Page* page : pages_) Drop(page);
  }

  Page* Own(size_t index) {
    Page* const page = pages_[index];
    // Acquire pairs with Drop: a count of one means that no other owner still reads.
    if (page->owners.load(std::memory_order_acquire) == 1) [[likely]]
      return page;
    return CopyPage(index);
  }

  // Out of line, so that an inlined write stays a few instructions.
  [[gnu::noinline, gnu::cold]] Page* CopyPage(size_t index) {
    Page* const copy = new Page(pages_[index]->items);
    Drop(std::exchange(pages_[index], copy));
    return copy;
  }

  std::vector<Page*> pages_;
  size_t size_ = 0;
};

}  // namespace ebb

#endif  // EBB_SNAPSHOT_COW_VECTOR_H_
