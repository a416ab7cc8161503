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
