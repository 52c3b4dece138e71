/* Preloaded by the benchmark of group commits: every fsync and fdatasync takes SLOW_FSYNC_US microseconds more. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wait_a_little(void) {
  const char *us = getenv("SLOW_FSYNC_US");
  if (us != NULL) usleep((useconds_t)atoi(us));
}

int fsync(int fd) {
  wait_a_little();
  return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
  wait_a_little();
  return (int)syscall(SYS_fdatasync, fd);
}
