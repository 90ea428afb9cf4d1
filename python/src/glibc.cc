// Names of the C library that the module defines itself.
//
// __libc_single_threaded (glibc 2.32): libstdc++ reads it to leave out atomic operations in a process with
// one thread.  Python's processes have several, and older C libraries lack it.  0: there may be threads.

extern "C" {
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
}
