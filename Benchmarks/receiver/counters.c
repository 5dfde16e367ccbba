#define _GNU_SOURCE
#include "counters.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLE_SIZE = 16 * 1024 };

struct counts counts;
uint64_t round_number = 1;
char cipher[64] = "";
enum fcm_mode fcm_mode = FCM_ACCEPTS;

/* "name: value" lines, and the body. */
static struct {
    bool is_taken;
    char headers[SAMPLE_SIZE], body[SAMPLE_SIZE];
    size_t headers_length, body_length;
} sample;

int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

uint64_t received(void) { return counts.apns + counts.fcm + counts.web; }

bool sample_wanted(void) {
    const bool is_wanted = !sample.is_taken;
    sample.is_taken = true;
    return is_wanted;
}

static void keep(char *buffer, size_t *length, const void *bytes, size_t count) {
    if (*length + count > SAMPLE_SIZE) return;
    memcpy(buffer + *length, bytes, count);
    *length += count;
}

void sample_header(const uint8_t *name, size_t name_length, const uint8_t *value, size_t value_length) {
    keep(sample.headers, &sample.headers_length, name, name_length);
    keep(sample.headers, &sample.headers_length, ": ", 2);
    keep(sample.headers, &sample.headers_length, value, value_length);
    keep(sample.headers, &sample.headers_length, "\n", 1);
}

void sample_body(const uint8_t *bytes, size_t length) { keep(sample.body, &sample.body_length, bytes, length); }

static void print_text(const char *bytes, size_t length) {
    putchar('"');
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)bytes[i];
        if (c == '"' || c == '\\') printf("\\%c", c);
        else if (c < 0x20) printf("\\u%04x", c);
        else putchar(c);
    }
    putchar('"');
}

static void print_counts(void) {
    printf("{\"apns\": %" PRIu64 ", \"fcm\": %" PRIu64 ", \"web\": %" PRIu64, counts.apns, counts.fcm, counts.web);
    printf(", \"body_bytes\": %" PRIu64 ", \"connections\": %" PRIu64, counts.body_bytes, counts.connections);
    printf(", \"first\": %" PRId64 ", \"last\": %" PRId64 ", \"cipher\": \"%s\"}\n", counts.first, counts.last, cipher);
}

static void print_sample(void) {
    printf("{\"headers\": ");
    print_text(sample.headers, sample.headers_length);
    printf(", \"body\": ");
    print_text(sample.body, sample.body_length);
    printf("}\n");
}

static bool set_fcm_mode(const char *word) {
    static const char *const words[] = {
        [FCM_ACCEPTS] = "fcm 200", [FCM_UNAVAILABLE] = "fcm 503", [FCM_REFUSES] = "fcm 400", [FCM_SILENT] = "fcm silent"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i])) continue;
        fcm_mode = (enum fcm_mode)i;
        return true;
    }
    return false;
}

static void command(const char *word) {
    if (!strcmp(word, "counts")) {
        print_counts();
    } else if (!strcmp(word, "sample")) {
        print_sample();
    } else if (!strcmp(word, "reset")) {
        memset(&counts, 0, sizeof counts);
        memset(&sample, 0, sizeof sample);
        round_number++;
        printf("{}\n");
    } else if (set_fcm_mode(word)) {
        printf("{}\n");
    } else {
        printf("{\"error\": \"unknown word\"}\n");
    }
    fflush(stdout);
}

bool read_commands(void) {
    static char line[256];
    static size_t length;
    const ssize_t count = read(STDIN_FILENO, line + length, sizeof line - 1 - length);
    if (count <= 0) return false;
    length += (size_t)count;
    char *end;
    while ((end = memchr(line, '\n', length))) {
        *end = 0;
        command(line);
        length -= (size_t)(end + 1 - line);
        memmove(line, end + 1, length);
    }
    if (length == sizeof line - 1) length = 0;
    return true;
}
