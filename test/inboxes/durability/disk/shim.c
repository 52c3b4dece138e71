// Stands between SQLite and the C library, for the files below SHIM_ROOT. In each folder the file "control" says how
// syncs and writes go ("hold", or: milliseconds, errno of a sync, errno of a write), and the file "trace" is told of all.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { WRITE = 1, SYNC_BEGINS, SYNCED, SYNC_FAILED, TRUNCATE, UNLINK };
enum { OTHER = 0, DATABASE, LOG, FOLDER };

struct record {
  uint32_t type, file;
  uint64_t offset, length;
};

struct target {
  uint32_t file;
  char folder[1024];
};

#define REAL(result, name, ...)                         \
  static result (*real)(__VA_ARGS__);                   \
  if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int ends(const char *path, const char *with) {
  size_t length = strlen(path), tail = strlen(with);
  return length >= tail && strcmp(path + length - tail, with) == 0;
}

static int find_path(const char *path, struct target *target) {
  const char *root = getenv("SHIM_ROOT");
  if (!root || strncmp(path, root, strlen(root)) != 0) return 0;
  struct stat about;
  int is_folder = stat(path, &about) == 0 && S_ISDIR(about.st_mode);
  target->file = is_folder ? FOLDER : ends(path, ".db-wal") ? LOG : ends(path, ".db") ? DATABASE : OTHER;
  snprintf(target->folder, sizeof target->folder, "%s", path);
  if (!is_folder) dirname(target->folder);
  return target->file != OTHER;
}

static int find(int fd, struct target *target) {
  char link[64], path[1024];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return find_path(path, target);
}

static void tell(const struct target *target, uint32_t type, uint64_t offset, const void *data, uint64_t length) {
  char path[1100];
  snprintf(path, sizeof path, "%s/trace", target->folder);
  int trace = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (trace < 0) return;
  struct record record = {type, target->file, offset, length};
  struct iovec parts[2] = {{&record, sizeof record}, {(void *)data, data ? length : 0}};
  ssize_t written = writev(trace, parts, 2);
  close(trace);
  if (written < 0) abort();
}

struct orders {
  int hold, milliseconds, sync_errno, write_errno;
};

static struct orders read_orders(const struct target *target) {
  struct orders orders = {0, 0, 0, 0};
  char path[1100], text[64];
  snprintf(path, sizeof path, "%s/control", target->folder);
  int control = open(path, O_RDONLY | O_CLOEXEC);
  if (control < 0) return orders;
  ssize_t length = read(control, text, sizeof text - 1);
  close(control);
  text[length < 0 ? 0 : length] = 0;
  orders.hold = strncmp(text, "hold", 4) == 0;
  if (!orders.hold) sscanf(text, "%d %d %d", &orders.milliseconds, &orders.sync_errno, &orders.write_errno);
  return orders;
}

static void sleep_for(int milliseconds) {
  struct timespec time = {milliseconds / 1000, (milliseconds % 1000) * 1000000L};
  nanosleep(&time, NULL);
}

static int sync_with(int (*real)(int), int fd) {
  struct target target;
  if (!find(fd, &target)) return real(fd);
  tell(&target, SYNC_BEGINS, 0, NULL, 0);
  struct orders orders = read_orders(&target);
  while (orders.hold) {
    sleep_for(5);
    orders = read_orders(&target);
  }
  sleep_for(orders.milliseconds);
  int result = orders.sync_errno ? -1 : real(fd);
  int reason = orders.sync_errno ? orders.sync_errno : errno;
  tell(&target, result == 0 ? SYNCED : SYNC_FAILED, 0, NULL, 0);
  errno = reason;
  return result;
}

int fsync(int fd) {
  REAL(int, "fsync", int);
  return sync_with(real, fd);
}

int fdatasync(int fd) {
  REAL(int, "fdatasync", int);
  return sync_with(real, fd);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
  REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
  struct target target;
  if (!find(fd, &target)) return real(fd, data, length, offset);
  int fails_with = read_orders(&target).write_errno;
  if (fails_with) {
    errno = fails_with;
    return -1;
  }
  ssize_t written = real(fd, data, length, offset);
  int reason = errno;
  if (written > 0) tell(&target, WRITE, offset, data, written);
  errno = reason;
  return written;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
  return pwrite64(fd, data, length, offset);
}

int ftruncate64(int fd, off64_t length) {
  REAL(int, "ftruncate64", int, off64_t);
  struct target target;
  int result = real(fd, length);
  int reason = errno;
  if (result == 0 && find(fd, &target)) tell(&target, TRUNCATE, length, NULL, 0);
  errno = reason;
  return result;
}

int ftruncate(int fd, off_t length) {
  return ftruncate64(fd, length);
}

int unlink(const char *path) {
  REAL(int, "unlink", const char *);
  struct target target;
  int known = find_path(path, &target);
  int result = real(path);
  int reason = errno;
  if (result == 0 && known) tell(&target, UNLINK, 0, NULL, 0);
  errno = reason;
  return result;
}
