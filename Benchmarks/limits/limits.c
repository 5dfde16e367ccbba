/* What the parts that Pushline stands on can do by themselves: the limits that measurements are compared with.
 *
 *   limits publish COUNT WINDOW PAUSE   messages published and confirmed on a durable quorum queue of the node at BROKER_URL
 *   limits commit FILE COUNT PAUSE      rows committed one by one, each on the disk when it returns
 *
 * PAUSE are the milliseconds between one and the next: what comes after a pause finds caches cold and processors asleep, and takes
 * several times as long as in a loop. Both print a JSON line: how many a second, and the median time of one in microseconds. */
#define _GNU_SOURCE
#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE_SIZE = 400, ROW_SIZE = 600 };

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void rest(const char *milliseconds) {
    const long pause = strtol(milliseconds, NULL, 10);
    if (pause > 0) usleep((useconds_t)pause * 1000);
}

static void fail(const char *what, const char *why) {
    fprintf(stderr, "limits: %s: %s\n", what, why);
    exit(1);
}

static int compare(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Prints the result of a measurement that began at `start`; `times` holds how long each took. */
static void report(int64_t start, int64_t *times, size_t count) {
    const double seconds = (double)(now_ns() - start) / 1e9;
    qsort(times, count, sizeof *times, compare);
    printf("{\"per_second\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", (double)count / seconds,
           (double)times[count / 2] / 1e3, (double)times[count * 99 / 100] / 1e3);
}

/* ---- The broker ---- */

static const char QUEUE[] = "bench.limits";

static void check(amqp_rpc_reply_t reply, const char *what) {
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) return;
    fail(what, reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION ? amqp_error_string2(reply.library_error)
                                                                   : "the broker refused");
}

static amqp_connection_state_t open_connection(void) {
    struct amqp_connection_info node;
    /* Its parts point into this text, which parsing changes. */
    char *url = getenv("BROKER_URL");
    if (!url || amqp_parse_url(url, &node) != AMQP_STATUS_OK) fail("broker", "BROKER_URL is no amqp:// address");
    amqp_connection_state_t connection = amqp_new_connection();
    amqp_socket_t *socket = amqp_tcp_socket_new(connection);
    if (!socket || amqp_socket_open(socket, node.host, node.port)) fail("broker", "no connection");
    check(amqp_login(connection, node.vhost, 0, 131072, 0, AMQP_SASL_METHOD_PLAIN, node.user, node.password), "login");
    amqp_channel_open(connection, 1);
    check(amqp_get_rpc_reply(connection), "channel");
    amqp_table_entry_t kind = {.key = amqp_cstring_bytes("x-queue-type"),
                               .value = {.kind = AMQP_FIELD_KIND_UTF8, .value.bytes = amqp_cstring_bytes("quorum")}};
    amqp_table_t arguments = {.num_entries = 1, .entries = &kind};
    amqp_queue_declare(connection, 1, amqp_cstring_bytes(QUEUE), 0, 1, 0, 0, arguments);
    check(amqp_get_rpc_reply(connection), "queue");
    amqp_confirm_select(connection, 1);
    check(amqp_get_rpc_reply(connection), "confirms");
    return connection;
}

/* Waits for the next confirm; returns the highest tag that is confirmed by it. */
static uint64_t await_confirm(amqp_connection_state_t connection) {
    struct timeval timeout = {.tv_sec = 30};
    for (;;) {
        amqp_frame_t frame;
        amqp_maybe_release_buffers(connection);
        int status = amqp_simple_wait_frame_noblock(connection, &frame, &timeout);
        if (status != AMQP_STATUS_OK) fail("confirm", amqp_error_string2(status));
        if (frame.frame_type != AMQP_FRAME_METHOD) continue;
        if (frame.payload.method.id != AMQP_BASIC_ACK_METHOD) fail("confirm", "the broker did not take a message");
        return ((amqp_basic_ack_t *)frame.payload.method.decoded)->delivery_tag;
    }
}

static void publish(char **argv) {
    const size_t count = strtoul(argv[0], NULL, 10), window = strtoul(argv[1], NULL, 10);
    int64_t *times = calloc(count + 1, sizeof *times);
    if (!times || !count || !window) fail("publish", "count and window must be above 0");
    amqp_connection_state_t connection = open_connection();
    static char body[MESSAGE_SIZE];
    memset(body, 'x', sizeof body);
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_DELIVERY_MODE_FLAG, .delivery_mode = 2};
    amqp_bytes_t bytes = {.len = sizeof body, .bytes = body};
    const int64_t start = now_ns();
    /* Confirms come in order on one queue, one for several: what is outstanding are the tags above the last one. */
    size_t sent = 0, confirmed = 0;
    while (confirmed < count) {
        while (sent < count && sent - confirmed < window) {
            rest(argv[2]);
            times[sent++] = now_ns();
            const amqp_bytes_t queue = amqp_cstring_bytes(QUEUE);
            int status = amqp_basic_publish(connection, 1, amqp_empty_bytes, queue, 0, 0, &properties, bytes);
            if (status != AMQP_STATUS_OK) fail("publish", amqp_error_string2(status));
        }
        const uint64_t tag = await_confirm(connection);
        const int64_t now = now_ns();
        for (; confirmed < tag && confirmed < sent; confirmed++) times[confirmed] = now - times[confirmed];
    }
    report(start, times, count);
    amqp_queue_delete(connection, 1, amqp_cstring_bytes(QUEUE), 0, 0);
    check(amqp_get_rpc_reply(connection), "queue");
    check(amqp_connection_close(connection, AMQP_REPLY_SUCCESS), "close");
    amqp_destroy_connection(connection);
    free(times);
}

/* ---- The store ---- */

static void run(sqlite3 *database, const char *sql) {
    char *error = NULL;
    if (sqlite3_exec(database, sql, NULL, NULL, &error) != SQLITE_OK) fail(sql, error);
}

static void commit(char **argv) {
    const size_t count = strtoul(argv[1], NULL, 10);
    int64_t *times = calloc(count + 1, sizeof *times);
    if (!times || !count) fail("commit", "count must be above 0");
    sqlite3 *database;
    sqlite3_stmt *insert;
    if (sqlite3_open(argv[0], &database) != SQLITE_OK) fail(argv[0], sqlite3_errmsg(database));
    run(database, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;");
    run(database, "CREATE TABLE IF NOT EXISTS entry(id INTEGER PRIMARY KEY, content BLOB NOT NULL)");
    if (sqlite3_prepare_v2(database, "INSERT INTO entry(content) VALUES (zeroblob(?))", -1, &insert, NULL) != SQLITE_OK)
        fail("insert", sqlite3_errmsg(database));
    const int64_t start = now_ns();
    for (size_t i = 0; i < count; i++) {
        rest(argv[2]);
        times[i] = now_ns();
        run(database, "BEGIN IMMEDIATE");
        sqlite3_bind_int(insert, 1, ROW_SIZE);
        if (sqlite3_step(insert) != SQLITE_DONE) fail("insert", sqlite3_errmsg(database));
        sqlite3_reset(insert);
        run(database, "COMMIT");
        times[i] = now_ns() - times[i];
    }
    report(start, times, count);
    sqlite3_finalize(insert);
    sqlite3_close(database);
    free(times);
}

int main(int argc, char **argv) {
    if (argc == 5 && !strcmp(argv[1], "publish")) publish(argv + 2);
    else if (argc == 5 && !strcmp(argv[1], "commit")) commit(argv + 2);
    else {
        fprintf(stderr, "usage: limits publish COUNT WINDOW PAUSE\n       limits commit FILE COUNT PAUSE\n");
        return 2;
    }
    return 0;
}
