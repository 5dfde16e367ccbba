#include <sqlite3.h>

// Swift cannot call a function whose number of arguments varies.
static inline int pushline_sqlite_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
