#include "CFaultVFS.h"

#include <pthread.h>
#include <sqlite3.h>
#include <string.h>

struct file {
  sqlite3_file base;
  sqlite3_file *real;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sqlite3_vfs *real_vfs;
static sqlite3_vfs vfs;
static enum fault_kind armed_kind;
static int armed_at, armed_sticky, armed_seen, calls, syncs;

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

// Reads are not counted: nothing is lost by them.
static int failing_read(void) {
  pthread_mutex_lock(&lock);
  int fails = armed_kind == FAULT_READ;
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
  if (failing_read()) return SQLITE_IOERR_READ;
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
  return result != SQLITE_OK ? result : code;
}

static int f_truncate(sqlite3_file *f, sqlite3_int64 size) {
  if (failing(CALL_TRUNCATE)) return SQLITE_IOERR_TRUNCATE;
  return REAL(f)->pMethods->xTruncate(REAL(f), size);
}

static int f_sync(sqlite3_file *f, int flags) {
  if (failing(CALL_SYNC)) return SQLITE_IOERR_FSYNC;
  return REAL(f)->pMethods->xSync(REAL(f), flags);
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
  file->base.pMethods = &methods;
  return SQLITE_OK;
}

static int v_delete(sqlite3_vfs *v, const char *path, int sync_directory) {
  (void)v;
  if (failing(CALL_DELETE)) return SQLITE_IOERR_DELETE;
  return real_vfs->xDelete(real_vfs, path, sync_directory);
}

// MARK: For the tests

int fault_vfs_reset(void) {
  pthread_mutex_lock(&lock);
  armed_kind = FAULT_NONE;
  armed_at = armed_sticky = armed_seen = calls = syncs = 0;
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
