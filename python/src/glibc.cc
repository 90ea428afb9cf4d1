// What the module needs of the C library and glibc 2.28 lacks, or has under other versions of its
// names.
//
// The module is linked on a newer distribution, whose linker takes the newest version of each name.
// With this file, libebb.a and the static libstdc++ and libgcc refer to versions that glibc 2.28
// has, or to the functions below, which no other object sees.  auditwheel checks the result.

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// The version of the names that the first glibc for the processor had, and how to jump to another
// function.
#if defined(__x86_64__)
#define EBB_FIRST_GLIBC "GLIBC_2.2.5"
#define EBB_JUMP(name) "jmp " name "@PLT"
#elif defined(__aarch64__)
#define EBB_FIRST_GLIBC "GLIBC_2.17"
#define EBB_JUMP(name) "b " name
#else
#error "the names and versions below are those of x86-64 and arm64"
#endif

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#define EBB_LOCAL __attribute__((visibility("hidden")))

extern "C" {

// libstdc++ reads it to leave out atomic operations in a process with one thread.  Python's
// processes have several.  0: there may be threads.  (glibc 2.32)
EBB_LOCAL char __libc_single_threaded = 0;

// For std::random_device.  (glibc 2.36)
EBB_LOCAL uint32_t arc4random() {
  uint32_t number = 0;
  size_t filled = 0;
  while (filled < sizeof number) {
    const ssize_t got =
        getrandom(reinterpret_cast<char*>(&number) + filled, sizeof number - filled, 0);
    if (got > 0) {
      filled += static_cast<size_t>(got);
    } else if (errno != EINTR) {
      abort();
    }
  }
  return number;
}

// The linker's --wrap (CMakeLists.txt) leads each of the references below to __wrap_NAME.
//
// Functions since glibc 2.33, inline before that.  The kernel's struct is that of the C library.
EBB_LOCAL int __wrap_stat(const char* path, struct stat* to) {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, to, 0));
}
EBB_LOCAL int __wrap_lstat(const char* path, struct stat* to) {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, to, AT_SYMLINK_NOFOLLOW));
}
EBB_LOCAL int __wrap_fstat(int file, struct stat* to) {
  return static_cast<int>(syscall(SYS_fstat, file, to));
}
EBB_LOCAL int __wrap_stat64(const char* path, struct stat* to) { return __wrap_stat(path, to); }
EBB_LOCAL int __wrap_lstat64(const char* path, struct stat* to) { return __wrap_lstat(path, to); }
EBB_LOCAL int __wrap_fstat64(int file, struct stat* to) { return __wrap_fstat(file, to); }

// Functions that newer libraries offer under newer versions too, mostly since libpthread and libdl
// became parts of libc.
#define EBB_FIRST_VERSION(name)                                                       \
  asm(".symver ebb_first_" #name ", " #name "@" EBB_FIRST_GLIBC                       \
      "\n"                                                                            \
      ".text\n.globl __wrap_" #name "\n.hidden __wrap_" #name "\n.type __wrap_" #name \
      ", @function\n__wrap_" #name ": " EBB_JUMP("ebb_first_" #name) "\n")
// CMakeLists.txt reads the names from these lines.
EBB_FIRST_VERSION(__pthread_key_create);
EBB_FIRST_VERSION(dlclose);
EBB_FIRST_VERSION(dlerror);
EBB_FIRST_VERSION(dlopen);
EBB_FIRST_VERSION(dlsym);
EBB_FIRST_VERSION(exp);
EBB_FIRST_VERSION(log);
EBB_FIRST_VERSION(log2);
EBB_FIRST_VERSION(pow);
EBB_FIRST_VERSION(pthread_create);
EBB_FIRST_VERSION(pthread_getspecific);
EBB_FIRST_VERSION(pthread_join);
EBB_FIRST_VERSION(pthread_key_create);
EBB_FIRST_VERSION(pthread_mutex_trylock);
EBB_FIRST_VERSION(pthread_mutexattr_destroy);
EBB_FIRST_VERSION(pthread_mutexattr_init);
EBB_FIRST_VERSION(pthread_mutexattr_settype);
EBB_FIRST_VERSION(pthread_once);
EBB_FIRST_VERSION(pthread_rwlock_destroy);
EBB_FIRST_VERSION(pthread_rwlock_init);
EBB_FIRST_VERSION(pthread_rwlock_rdlock);
EBB_FIRST_VERSION(pthread_rwlock_unlock);
EBB_FIRST_VERSION(pthread_rwlock_wrlock);
EBB_FIRST_VERSION(pthread_setspecific);
EBB_FIRST_VERSION(pthread_sigmask);

// How the unwinder of libgcc finds the tables of exceptions that belong to an address. (glibc 2.35)
struct EbbWanted {
  uintptr_t address;
  struct dl_find_object* found;
};

static int EbbVisit(struct dl_phdr_info* object, size_t, void* data) {
  const EbbWanted& wanted = *static_cast<EbbWanted*>(data);
  uintptr_t begin = UINTPTR_MAX;
  uintptr_t end = 0;
  uintptr_t frames = 0;
  bool is_in = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const uintptr_t at = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) {
      begin = at < begin ? at : begin;
      end = at + part.p_memsz > end ? at + part.p_memsz : end;
      is_in = is_in || (wanted.address >= at && wanted.address < at + part.p_memsz);
    } else if (part.p_type == PT_GNU_EH_FRAME) {
      frames = at;
    }
  }
  if (!is_in || frames == 0) return 0;
  *wanted.found = {};
  wanted.found->dlfo_map_start = reinterpret_cast<void*>(begin);
  wanted.found->dlfo_map_end = reinterpret_cast<void*>(end);
  wanted.found->dlfo_eh_frame = reinterpret_cast<void*>(frames);
  return 1;
}

EBB_LOCAL int _dl_find_object(void* address, struct dl_find_object* found) noexcept {
  EbbWanted wanted{reinterpret_cast<uintptr_t>(address), found};
  return dl_iterate_phdr(EbbVisit, &wanted) == 1 ? 0 : -1;
}

}  // extern "C"
