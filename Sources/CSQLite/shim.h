#pragma once
#include <sqlite3.h>
// What Swift cannot call: variadic functions and destructors that are casts of numbers.

// SQLite copies the bytes before the call returns.
static inline int brewlog_sqlite_bind_blob(sqlite3_stmt *statement, int index, const void *bytes,
                                           int count) {
  return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

static inline int brewlog_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *bytes,
                                           int count) {
  return sqlite3_bind_text(statement, index, bytes, count, SQLITE_TRANSIENT);
}

static inline int brewlog_sqlite_configure(sqlite3 *database, int option, int value) {
  return sqlite3_db_config(database, option, value, (int *)0);
}

// The main file's bytes, read through SQLite's own descriptor. Opening the file once more and
// closing it would drop the process's POSIX locks on it, and with them the database's safety.
static inline long long brewlog_sqlite_file_size(sqlite3 *database) {
  sqlite3_file *file = 0;
  sqlite3_int64 size = 0;
  if (sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) {
    return -1;
  }
  if (file == 0 || file->pMethods == 0) return -1;
  return file->pMethods->xFileSize(file, &size) == SQLITE_OK ? size : -1;
}

static inline int brewlog_sqlite_file_read(sqlite3 *database, void *bytes, int count,
                                           long long offset) {
  sqlite3_file *file = 0;
  int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  if (code != SQLITE_OK) return code;
  if (file == 0 || file->pMethods == 0) return SQLITE_MISUSE;
  return file->pMethods->xRead(file, bytes, count, offset);
}

// The kernel's error behind a connection's last failure. SQLite tells errno as it is by then, after
// whatever was tried since; each file remembers the error of its own last failed call: first the log
// (or the journal), then the main file.
static inline int brewlog_sqlite_system_error(sqlite3 *database) {
  const int files[] = {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER};
  for (int i = 0; i < 2; i++) {
    sqlite3_file *file = 0;
    int error = 0;
    if (sqlite3_file_control(database, "main", files[i], &file) != SQLITE_OK) continue;
    if (file == 0 || file->pMethods == 0) continue;
    if (file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error) != SQLITE_OK) continue;
    if (error != 0) return error;
  }
  return sqlite3_system_errno(database);
}
