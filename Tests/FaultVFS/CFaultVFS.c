#include "CFaultVFS.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A change that no sync has covered yet. `bytes` NULL: a truncation to `offset`.
struct change {
  struct change *next;
  unsigned char *bytes;
  int count;
  sqlite3_int64 offset;
};

// A file as the medium has it, and what is on its way there.
struct medium {
  struct medium *next;
  char *path;
  unsigned char *bytes;
  sqlite3_int64 size;
  struct change *first, **last;
  int deleted;
};

struct file {
  sqlite3_file base;
  sqlite3_file *real;
  struct medium *medium;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sqlite3_vfs *real_vfs;
static sqlite3_vfs vfs;
static struct medium *media;
static enum fault_kind armed_kind;
static int armed_at, armed_sticky, armed_seen, calls, syncs;
static void (*observer)(void *);
static void *observer_context;

// MARK: The medium

static void apply(struct medium *m, const struct change *c, int count) {
  sqlite3_int64 end = c->bytes ? c->offset + count : c->offset;
  if (c->bytes == NULL) {
    if (end < m->size) m->size = end;
    return;
  }
  if (end > m->size) {
    unsigned char *grown = realloc(m->bytes, (size_t)end);
    if (grown == NULL) abort();
    memset(grown + m->size, 0, (size_t)(end - m->size));
    m->bytes = grown;
    m->size = end;
  }
  memcpy(m->bytes + c->offset, c->bytes, (size_t)count);
}

static void drop_changes(struct medium *m) {
  while (m->first) {
    struct change *c = m->first;
    m->first = c->next;
    free(c->bytes);
    free(c);
  }
  m->last = &m->first;
}

static void synced(struct medium *m) {
  for (struct change *c = m->first; c; c = c->next) apply(m, c, c->count);
  drop_changes(m);
}

static void add_change(struct medium *m, const void *bytes, int count, sqlite3_int64 offset) {
  struct change *c = calloc(1, sizeof *c);
  if (c == NULL) abort();
  if (bytes) {
    c->bytes = malloc((size_t)count + 1);
    if (c->bytes == NULL) abort();
    memcpy(c->bytes, bytes, (size_t)count);
  }
  c->count = count;
  c->offset = offset;
  *m->last = c;
  m->last = &c->next;
}

// The medium of a path; a file that was there before is taken as synced.
static struct medium *medium_for(const char *path, sqlite3_file *real) {
  for (struct medium *m = media; m; m = m->next) {
    if (strcmp(m->path, path) == 0) {
      if (m->deleted) {
        m->deleted = 0;
        m->size = 0;
        drop_changes(m);
      }
      return m;
    }
  }
  struct medium *m = calloc(1, sizeof *m);
  if (m == NULL) abort();
  m->path = strdup(path);
  m->last = &m->first;
  sqlite3_int64 size = 0;
  if (real->pMethods->xFileSize(real, &size) == SQLITE_OK && size > 0) {
    m->bytes = malloc((size_t)size);
    if (m->bytes == NULL) abort();
    if (real->pMethods->xRead(real, m->bytes, (int)size, 0) == SQLITE_OK) m->size = size;
  }
  m->next = media;
  media = m;
  return m;
}

// MARK: Faults

enum call { CALL_WRITE, CALL_TRUNCATE, CALL_SYNC, CALL_DELETE };

static int applies(enum fault_kind kind, enum call call) {
  switch (kind) {
    case FAULT_FULL:
    case FAULT_SHORT_WRITE: return call == CALL_WRITE;
    case FAULT_IO: return 1;
    case FAULT_SYNC: return call == CALL_SYNC;
    default: return 0;
  }
}

// Whether this call is to fail.
static int failing(enum call call) {
  if (observer) observer(observer_context);
  pthread_mutex_lock(&lock);
  calls++;
  if (call == CALL_SYNC) syncs++;
  int fails = 0;
  if (applies(armed_kind, call)) {
    armed_seen++;
    fails = armed_at > 0 && (armed_sticky ? armed_seen >= armed_at : armed_seen == armed_at);
  }
  pthread_mutex_unlock(&lock);
  return fails;
}

// MARK: Files

#define REAL(f) (((struct file *)(f))->real)

static int f_close(sqlite3_file *f) {
  int code = REAL(f)->pMethods->xClose(REAL(f));
  sqlite3_free(REAL(f));
  return code;
}

static int f_read(sqlite3_file *f, void *bytes, int count, sqlite3_int64 offset) {
  return REAL(f)->pMethods->xRead(REAL(f), bytes, count, offset);
}

static int f_write(sqlite3_file *f, const void *bytes, int count, sqlite3_int64 offset) {
  int fails = failing(CALL_WRITE);
  int result = SQLITE_OK;
  if (fails) {
    result = armed_kind == FAULT_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    if (armed_kind != FAULT_SHORT_WRITE) return result;
    count /= 2;
  }
  int code = REAL(f)->pMethods->xWrite(REAL(f), bytes, count, offset);
  if (code == SQLITE_OK) {
    pthread_mutex_lock(&lock);
    add_change(((struct file *)f)->medium, bytes, count, offset);
    pthread_mutex_unlock(&lock);
  }
  return result != SQLITE_OK ? result : code;
}

static int f_truncate(sqlite3_file *f, sqlite3_int64 size) {
  if (failing(CALL_TRUNCATE)) return SQLITE_IOERR_TRUNCATE;
  int code = REAL(f)->pMethods->xTruncate(REAL(f), size);
  if (code == SQLITE_OK) {
    pthread_mutex_lock(&lock);
    add_change(((struct file *)f)->medium, NULL, 0, size);
    pthread_mutex_unlock(&lock);
  }
  return code;
}

static int f_sync(sqlite3_file *f, int flags) {
  if (failing(CALL_SYNC)) return SQLITE_IOERR_FSYNC;
  int code = REAL(f)->pMethods->xSync(REAL(f), flags);
  if (code == SQLITE_OK) {
    pthread_mutex_lock(&lock);
    synced(((struct file *)f)->medium);
    pthread_mutex_unlock(&lock);
  }
  return code;
}

static int f_size(sqlite3_file *f, sqlite3_int64 *size) {
  return REAL(f)->pMethods->xFileSize(REAL(f), size);
}
static int f_lock(sqlite3_file *f, int level) { return REAL(f)->pMethods->xLock(REAL(f), level); }
static int f_unlock(sqlite3_file *f, int level) {
  return REAL(f)->pMethods->xUnlock(REAL(f), level);
}
static int f_reserved(sqlite3_file *f, int *result) {
  return REAL(f)->pMethods->xCheckReservedLock(REAL(f), result);
}
static int f_control(sqlite3_file *f, int operation, void *argument) {
  return REAL(f)->pMethods->xFileControl(REAL(f), operation, argument);
}
static int f_sector(sqlite3_file *f) { return REAL(f)->pMethods->xSectorSize(REAL(f)); }
static int f_device(sqlite3_file *f) {
  // No promise that the medium does not keep: neither atomic writes nor safe appends.
  (void)f;
  return 0;
}
static int f_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **memory) {
  return REAL(f)->pMethods->xShmMap(REAL(f), page, size, extend, memory);
}
static int f_shm_lock(sqlite3_file *f, int offset, int count, int flags) {
  return REAL(f)->pMethods->xShmLock(REAL(f), offset, count, flags);
}
static void f_shm_barrier(sqlite3_file *f) { REAL(f)->pMethods->xShmBarrier(REAL(f)); }
static int f_shm_unmap(sqlite3_file *f, int erase) {
  return REAL(f)->pMethods->xShmUnmap(REAL(f), erase);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = f_close,
    .xRead = f_read,
    .xWrite = f_write,
    .xTruncate = f_truncate,
    .xSync = f_sync,
    .xFileSize = f_size,
    .xLock = f_lock,
    .xUnlock = f_unlock,
    .xCheckReservedLock = f_reserved,
    .xFileControl = f_control,
    .xSectorSize = f_sector,
    .xDeviceCharacteristics = f_device,
    .xShmMap = f_shm_map,
    .xShmLock = f_shm_lock,
    .xShmBarrier = f_shm_barrier,
    .xShmUnmap = f_shm_unmap,
};

static int v_open(sqlite3_vfs *v, const char *path, sqlite3_file *f, int flags, int *out) {
  (void)v;
  struct file *file = (struct file *)f;
  memset(file, 0, sizeof *file);
  file->real = sqlite3_malloc(real_vfs->szOsFile);
  if (file->real == NULL) return SQLITE_NOMEM;
  memset(file->real, 0, (size_t)real_vfs->szOsFile);
  int code = real_vfs->xOpen(real_vfs, path, file->real, flags, out);
  if (code != SQLITE_OK) {
    sqlite3_free(file->real);
    file->real = NULL;
    return code;
  }
  pthread_mutex_lock(&lock);
  file->medium = medium_for(path ? path : "", file->real);
  pthread_mutex_unlock(&lock);
  file->base.pMethods = &methods;
  return SQLITE_OK;
}

static int v_delete(sqlite3_vfs *v, const char *path, int sync_directory) {
  (void)v;
  if (failing(CALL_DELETE)) return SQLITE_IOERR_DELETE;
  int code = real_vfs->xDelete(real_vfs, path, sync_directory);
  if (code == SQLITE_OK) {
    pthread_mutex_lock(&lock);
    for (struct medium *m = media; m; m = m->next) {
      if (strcmp(m->path, path) == 0) m->deleted = 1;
    }
    pthread_mutex_unlock(&lock);
  }
  return code;
}

// MARK: For the tests

int fault_vfs_reset(void) {
  pthread_mutex_lock(&lock);
  while (media) {
    struct medium *m = media;
    media = m->next;
    drop_changes(m);
    free(m->bytes);
    free(m->path);
    free(m);
  }
  armed_kind = FAULT_NONE;
  armed_at = armed_sticky = armed_seen = calls = syncs = 0;
  observer = NULL;
  pthread_mutex_unlock(&lock);
  if (real_vfs) return SQLITE_OK;
  real_vfs = sqlite3_vfs_find(NULL);
  if (real_vfs == NULL) return SQLITE_ERROR;
  vfs = *real_vfs;
  vfs.zName = "brewlog-fault";
  vfs.szOsFile = sizeof(struct file);
  vfs.pNext = NULL;
  vfs.xOpen = v_open;
  vfs.xDelete = v_delete;
  return sqlite3_vfs_register(&vfs, 0);
}

void fault_vfs_arm(enum fault_kind kind, int n, int sticky) {
  pthread_mutex_lock(&lock);
  armed_kind = kind;
  armed_at = n;
  armed_sticky = sticky;
  armed_seen = calls = syncs = 0;
  pthread_mutex_unlock(&lock);
}

int fault_vfs_calls(void) {
  pthread_mutex_lock(&lock);
  int count = calls;
  pthread_mutex_unlock(&lock);
  return count;
}

int fault_vfs_syncs(void) {
  pthread_mutex_lock(&lock);
  int count = syncs;
  pthread_mutex_unlock(&lock);
  return count;
}

void fault_vfs_observe(void (*o)(void *), void *context) {
  observer_context = context;
  observer = o;
}

static uint32_t draw(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

int fault_vfs_cut(const char *directory, enum fault_survival survival, uint32_t seed) {
  int result = 0;
  pthread_mutex_lock(&lock);
  for (struct medium *m = media; m && result == 0; m = m->next) {
    if (m->deleted || m->path[0] == 0) continue;
    // A copy, to which what survives is applied.
    struct medium after = {.size = m->size};
    after.bytes = malloc((size_t)m->size + 1);
    if (after.bytes == NULL) abort();
    if (m->size > 0) memcpy(after.bytes, m->bytes, (size_t)m->size);
    for (struct change *c = m->first; c && survival != SURVIVES_SYNCED; c = c->next) {
      int count = c->count;
      if (survival == SURVIVES_SOME) {
        uint32_t luck = draw(&seed) % 3;
        if (luck == 0) continue;
        // Torn at a sector.
        if (luck == 1 && c->bytes) count = count / 512 / 2 * 512;
      }
      apply(&after, c, count);
    }
    const char *name = strrchr(m->path, '/');
    char target[4096];
    snprintf(target, sizeof target, "%s/%s", directory, name ? name + 1 : m->path);
    FILE *out = fopen(target, "wb");
    if (out == NULL) {
      result = -1;
    } else {
      if (after.size > 0) fwrite(after.bytes, 1, (size_t)after.size, out);
      if (fclose(out) != 0) result = -1;
    }
    free(after.bytes);
  }
  pthread_mutex_unlock(&lock);
  return result;
}
