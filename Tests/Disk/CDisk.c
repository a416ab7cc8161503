#define _GNU_SOURCE
#include "CDisk.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

// MARK: The recording

#define DESCRIPTORS 4096

struct name {
  char *path;
  int node;
  int is_directory;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int is_recording, is_refusing;
static char record_root[PATH_MAX], refused_root[PATH_MAX];
static int refused_code;
// What is called how now, and which descriptor is which of it.
static struct name *names;
static int name_count, name_room, node_count, first_count;
static char **first_names;
static int descriptor_node[DESCRIPTORS];  // 0: none of ours
static struct disk_change *changes;
static int change_count, change_room;

static atomic_long calls, kill_at;

static void *checked(void *memory) {
  if (memory == NULL) abort();
  return memory;
}

static struct name *find(const char *path) {
  for (int i = 0; i < name_count; i++) {
    if (strcmp(names[i].path, path) == 0) return &names[i];
  }
  return NULL;
}

static struct name *add_name(const char *path, int node, int is_directory) {
  if (name_count == name_room) {
    name_room = name_room ? 2 * name_room : 64;
    names = checked(realloc(names, (size_t)name_room * sizeof *names));
  }
  names[name_count] = (struct name){checked(strdup(path)), node, is_directory};
  return &names[name_count++];
}

static void drop_name(const char *path) {
  struct name *name = find(path);
  if (name == NULL) return;
  free(name->path);
  *name = names[--name_count];
}

static struct disk_change *add_change(enum disk_kind kind, int node, const char *name) {
  if (change_count == change_room) {
    change_room = change_room ? 2 * change_room : 256;
    changes = checked(realloc(changes, (size_t)change_room * sizeof *changes));
  }
  struct disk_change *change = &changes[change_count++];
  *change = (struct disk_change){.kind = kind, .node = node};
  change->name = checked(strdup(name ? name : ""));
  return change;
}

// The path below a root, or NULL. Paths are taken as they are written: tests use them without links.
static const char *below(const char *root, const char *path) {
  size_t length = strlen(root);
  if (length == 0 || strncmp(path, root, length) != 0) return NULL;
  if (path[length] == 0) return path + length;
  return path[length] == '/' ? path + length + 1 : NULL;
}

// What a descriptor was opened by. NULL: no file, or not any more.
static const char *path_of(int descriptor, char *buffer) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = descriptor < 0 ? -1 : readlink(link, buffer, PATH_MAX - 1);
  if (length <= 0) return NULL;
  buffer[length] = 0;
  return buffer;
}

// The whole path of a name that is relative to a directory's descriptor.
static const char *whole(int directory, const char *name, char *buffer) {
  if (name == NULL || name[0] == '/') return name;
  if (path_of(directory, buffer) == NULL) return NULL;
  if (strcmp(name, ".") == 0) return buffer;
  size_t length = strlen(buffer);
  snprintf(buffer + length, PATH_MAX - length, "/%s", name);
  return buffer;
}

// What SQLite keeps in shared memory is no part of what a disk keeps.
static int is_followed(const char *name) {
  size_t length = strlen(name);
  return length < 4 || strcmp(name + length - 4, "-shm") != 0;
}

// Before every call: counts it, and ends the process where that was asked for.
static void count_call(void) {
  long number = atomic_fetch_add(&calls, 1) + 1;
  long limit = atomic_load(&kill_at);
  if (limit != 0 && number >= limit) kill(getpid(), SIGKILL);
}

static int is_refused_path(int directory, const char *name) {
  if (!atomic_load(&is_refusing)) return 0;
  int before = errno;
  char buffer[PATH_MAX];
  pthread_mutex_lock(&lock);
  const char *path = whole(directory, name, buffer);
  int is_refused = path != NULL && below(refused_root, path) != NULL && is_followed(path);
  pthread_mutex_unlock(&lock);
  errno = is_refused ? refused_code : before;
  return is_refused;
}

static int is_refused_descriptor(int descriptor) {
  if (!atomic_load(&is_refusing)) return 0;
  int before = errno;
  char buffer[PATH_MAX];
  const char *path = path_of(descriptor, buffer);
  int is_refused = path != NULL && below(refused_root, path) != NULL && is_followed(path);
  // A call that succeeds leaves it as it was: SQLite looks at it much later.
  errno = is_refused ? refused_code : before;
  return is_refused;
}

static void opened(int descriptor, int directory, const char *name, int flags) {
  if (descriptor < 0 || descriptor >= DESCRIPTORS || !atomic_load(&is_recording)) return;
  int before = errno;
  char buffer[PATH_MAX];
  pthread_mutex_lock(&lock);
  descriptor_node[descriptor] = 0;
  const char *path = whole(directory, name, buffer);
  const char *relative = path ? below(record_root, path) : NULL;
  struct stat status;
  if (relative != NULL && is_followed(relative) && fstat(descriptor, &status) == 0 &&
      S_ISREG(status.st_mode)) {
    struct name *known = find(relative);
    if (known == NULL) {
      known = add_name(relative, node_count++, 0);
      add_change(DISK_CREATE, known->node, relative)->mode = status.st_mode & 07777;
    } else if (flags & O_TRUNC) {
      add_change(DISK_TRUNCATE, known->node, relative);
    }
    descriptor_node[descriptor] = known->node + 1;
  }
  pthread_mutex_unlock(&lock);
  errno = before;
}

static void closing(int descriptor) {
  if (descriptor >= 0 && descriptor < DESCRIPTORS) descriptor_node[descriptor] = 0;
}

static int node_of(int descriptor) {
  if (!atomic_load(&is_recording) || descriptor < 0 || descriptor >= DESCRIPTORS) return -1;
  return descriptor_node[descriptor] - 1;
}

static void wrote(int descriptor, const void *bytes, ssize_t count, off_t offset) {
  int node = node_of(descriptor);
  if (node < 0 || count <= 0) return;
  pthread_mutex_lock(&lock);
  struct disk_change *change = add_change(DISK_WRITE, node, NULL);
  unsigned char *copy = checked(malloc((size_t)count));
  memcpy(copy, bytes, (size_t)count);
  change->bytes = copy;
  change->count = (size_t)count;
  change->offset = offset;
  pthread_mutex_unlock(&lock);
}

static void truncated(int descriptor, off_t size) {
  int node = node_of(descriptor);
  if (node < 0) return;
  pthread_mutex_lock(&lock);
  add_change(DISK_TRUNCATE, node, NULL)->offset = size;
  pthread_mutex_unlock(&lock);
}

static void synced(int descriptor) {
  if (!atomic_load(&is_recording)) return;
  int node = node_of(descriptor);
  char buffer[PATH_MAX];
  pthread_mutex_lock(&lock);
  if (node >= 0) {
    add_change(DISK_SYNC, node, NULL);
  } else {
    const char *path = path_of(descriptor, buffer);
    const char *relative = path ? below(record_root, path) : NULL;
    if (relative != NULL) add_change(DISK_SYNC_DIRECTORY, -1, relative);
  }
  pthread_mutex_unlock(&lock);
}

static void removed(int directory, const char *name) {
  if (!atomic_load(&is_recording)) return;
  char buffer[PATH_MAX];
  pthread_mutex_lock(&lock);
  const char *path = whole(directory, name, buffer);
  const char *relative = path ? below(record_root, path) : NULL;
  if (relative != NULL && find(relative) != NULL) {
    add_change(DISK_REMOVE, find(relative)->node, relative);
    drop_name(relative);
  }
  pthread_mutex_unlock(&lock);
}

static void renamed(int directory, const char *from, int other, const char *to) {
  if (!atomic_load(&is_recording)) return;
  char first[PATH_MAX], second[PATH_MAX];
  pthread_mutex_lock(&lock);
  const char *old = whole(directory, from, first);
  const char *new = whole(other, to, second);
  old = old ? below(record_root, old) : NULL;
  new = new ? below(record_root, new) : NULL;
  if (old != NULL && new != NULL && find(old) != NULL) {
    struct name name = *find(old);
    struct disk_change *change = add_change(DISK_RENAME, name.node, old);
    change->new_name = checked(strdup(new));
    drop_name(new);
    drop_name(change->name);
    add_name(new, name.node, name.is_directory);
  }
  pthread_mutex_unlock(&lock);
}

static void made_directory(int directory, const char *name) {
  if (!atomic_load(&is_recording)) return;
  char buffer[PATH_MAX];
  pthread_mutex_lock(&lock);
  const char *path = whole(directory, name, buffer);
  const char *relative = path ? below(record_root, path) : NULL;
  if (relative != NULL && relative[0] != 0 && find(relative) == NULL) {
    add_name(relative, node_count++, 1);
    add_change(DISK_MAKE_DIRECTORY, node_count - 1, relative);
  }
  pthread_mutex_unlock(&lock);
}

// MARK: For the tests

static void list(const char *directory) {
  DIR *stream = opendir(directory);
  if (stream == NULL) return;
  for (struct dirent *entry; (entry = readdir(stream));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
    const char *relative = below(record_root, path);
    if (relative == NULL || !is_followed(relative)) continue;
    struct stat status;
    int is_directory = lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
    first_names = checked(realloc(first_names, (size_t)(node_count + 1) * sizeof *first_names));
    first_names[node_count] = checked(strdup(relative));
    add_name(relative, node_count++, is_directory);
    if (is_directory) list(path);
  }
  closedir(stream);
}

void disk_record(const char *root) {
  pthread_mutex_lock(&lock);
  atomic_store(&is_recording, 0);
  if (root != NULL) {
    while (name_count > 0) free(names[--name_count].path);
    for (int i = 0; i < first_count; i++) free(first_names[i]);
    for (int i = 0; i < change_count; i++) {
      free((void *)changes[i].bytes);
      free((void *)changes[i].name);
      free((void *)changes[i].new_name);
    }
    change_count = node_count = 0;
    memset(descriptor_node, 0, sizeof descriptor_node);
    snprintf(record_root, sizeof record_root, "%s", root);
    list(root);
    first_count = node_count;
    atomic_store(&is_recording, 1);
  }
  pthread_mutex_unlock(&lock);
}

int disk_first_count(void) { return first_count; }
const char *disk_first_name(int node) { return first_names[node]; }
int disk_change_count(void) {
  pthread_mutex_lock(&lock);
  int count = change_count;
  pthread_mutex_unlock(&lock);
  return count;
}
const struct disk_change *disk_change_at(int index) { return &changes[index]; }

void disk_refuse(const char *root, int code) {
  pthread_mutex_lock(&lock);
  refused_code = code;
  snprintf(refused_root, sizeof refused_root, "%s", root ? root : "");
  atomic_store(&is_refusing, root != NULL);
  pthread_mutex_unlock(&lock);
}

long disk_calls(void) { return atomic_load(&calls); }
void disk_kill_at(long n) { atomic_store(&kill_at, n > 0 ? atomic_load(&calls) + n : 0); }

static void *obey(void *argument) {
  int descriptor = (int)(long)argument;
  long order;
  // Past the calls below, which would count these.
  while (syscall(SYS_read, descriptor, &order, sizeof order) == (long)sizeof order) {
    long number = disk_calls();
    disk_kill_at(order);
    if (syscall(SYS_write, descriptor, &number, sizeof number) != (long)sizeof number) break;
  }
  return NULL;
}

int disk_obey(int descriptor) {
  sigset_t all, before;
  sigfillset(&all);
  // No signal of the program's is for this thread.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  int result = pthread_create(&thread, NULL, obey, (void *)(long)descriptor);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return result;
}

// MARK: The calls

#ifdef SANITIZED
int disk_is_interposed(void) { return 0; }
#else
int disk_is_interposed(void) { return 1; }

// The C library's own, looked up once.
#define REAL(type, name, ...)                                                         \
  static type (*real)(__VA_ARGS__);                                                   \
  if (real == NULL) real = (type(*)(__VA_ARGS__))checked(dlsym(RTLD_NEXT, #name))

// Changing calls: counted, and refused where that was asked for.
#define MODE_ARGUMENT(last)                  \
  mode_t mode = 0;                           \
  if (flags & (O_CREAT | O_TMPFILE)) {       \
    va_list arguments;                       \
    va_start(arguments, last);               \
    mode = (mode_t)va_arg(arguments, int);   \
    va_end(arguments);                       \
  }

static int open_changes(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
}

#define OPEN(name)                                                         \
  int name(const char *path, int flags, ...) {                             \
    REAL(int, name, const char *, int, ...);                               \
    MODE_ARGUMENT(flags)                                                   \
    count_call();                                                          \
    if (open_changes(flags) && is_refused_path(-1, path)) return -1;       \
    int result = real(path, flags, mode);                                  \
    opened(result, -1, path, flags);                                       \
    return result;                                                         \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                       \
  int name(int directory, const char *path, int flags, ...) {              \
    REAL(int, name, int, const char *, int, ...);                          \
    MODE_ARGUMENT(flags)                                                   \
    count_call();                                                          \
    if (open_changes(flags) && is_refused_path(directory, path)) return -1; \
    int result = real(directory, path, flags, mode);                       \
    opened(result, directory, path, flags);                                \
    return result;                                                         \
  }
OPENAT(openat)
OPENAT(openat64)

int close(int descriptor) {
  REAL(int, close, int);
  count_call();
  closing(descriptor);
  return real(descriptor);
}

ssize_t read(int descriptor, void *bytes, size_t count) {
  REAL(ssize_t, read, int, void *, size_t);
  count_call();
  return real(descriptor, bytes, count);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  REAL(ssize_t, write, int, const void *, size_t);
  count_call();
  if (is_refused_descriptor(descriptor)) return -1;
  off_t offset = 0;
  if (node_of(descriptor) >= 0) {
    int flags = fcntl(descriptor, F_GETFL);
    offset = lseek(descriptor, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR);
  }
  ssize_t result = real(descriptor, bytes, count);
  wrote(descriptor, bytes, result, offset);
  return result;
}

#define PWRITE(name, offset_type)                                                       \
  ssize_t name(int descriptor, const void *bytes, size_t count, offset_type offset) {   \
    REAL(ssize_t, name, int, const void *, size_t, offset_type);                        \
    count_call();                                                                       \
    if (is_refused_descriptor(descriptor)) return -1;                                   \
    ssize_t result = real(descriptor, bytes, count, offset);                            \
    wrote(descriptor, bytes, result, offset);                                           \
    return result;                                                                      \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define FTRUNCATE(name, offset_type)                     \
  int name(int descriptor, offset_type size) {           \
    REAL(int, name, int, offset_type);                   \
    count_call();                                        \
    if (is_refused_descriptor(descriptor)) return -1;    \
    int result = real(descriptor, size);                 \
    if (result == 0) truncated(descriptor, size);        \
    return result;                                       \
  }
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

#define FSYNC(name)                                      \
  int name(int descriptor) {                             \
    REAL(int, name, int);                                \
    count_call();                                        \
    int result = real(descriptor);                       \
    if (result == 0) synced(descriptor);                 \
    return result;                                       \
  }
FSYNC(fsync)
FSYNC(fdatasync)

int unlink(const char *path) {
  REAL(int, unlink, const char *);
  count_call();
  if (is_refused_path(-1, path)) return -1;
  int result = real(path);
  if (result == 0) removed(-1, path);
  return result;
}

int unlinkat(int directory, const char *path, int flags) {
  REAL(int, unlinkat, int, const char *, int);
  count_call();
  if (is_refused_path(directory, path)) return -1;
  int result = real(directory, path, flags);
  if (result == 0) removed(directory, path);
  return result;
}

int rename(const char *from, const char *to) {
  REAL(int, rename, const char *, const char *);
  count_call();
  if (is_refused_path(-1, from) || is_refused_path(-1, to)) return -1;
  int result = real(from, to);
  if (result == 0) renamed(-1, from, -1, to);
  return result;
}

int renameat(int directory, const char *from, int other, const char *to) {
  REAL(int, renameat, int, const char *, int, const char *);
  count_call();
  if (is_refused_path(directory, from) || is_refused_path(other, to)) return -1;
  int result = real(directory, from, other, to);
  if (result == 0) renamed(directory, from, other, to);
  return result;
}

int mkdir(const char *path, mode_t mode) {
  REAL(int, mkdir, const char *, mode_t);
  count_call();
  if (is_refused_path(-1, path)) return -1;
  int result = real(path, mode);
  if (result == 0) made_directory(-1, path);
  return result;
}

// Sockets change no disk; a crash can come between any two of these as well.
ssize_t send(int descriptor, const void *bytes, size_t count, int flags) {
  REAL(ssize_t, send, int, const void *, size_t, int);
  count_call();
  return real(descriptor, bytes, count, flags);
}

ssize_t recv(int descriptor, void *bytes, size_t count, int flags) {
  REAL(ssize_t, recv, int, void *, size_t, int);
  count_call();
  return real(descriptor, bytes, count, flags);
}

int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
  REAL(int, connect, int, const struct sockaddr *, socklen_t);
  count_call();
  return real(descriptor, address, length);
}
#endif
