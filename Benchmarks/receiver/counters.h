/* What the receiver counts, and how it is asked for it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Since the last reset; connections are those that brought a request, times are nanoseconds of CLOCK_MONOTONIC. */
struct counts {
    uint64_t apns, fcm, web, body_bytes, connections;
    int64_t first, last;
};

extern struct counts counts;
/* How often it was begun anew. */
extern uint64_t round_number;
/* What the last connection agreed on. */
extern char cipher[64];

int64_t now_ns(void);
/* Requests of all services. */
uint64_t received(void);

/* How FCM's requests are answered. */
enum fcm_mode { FCM_ACCEPTS, FCM_UNAVAILABLE, FCM_REFUSES, FCM_SILENT };
extern enum fcm_mode fcm_mode;

/* The first request since the last reset is kept: whoever begins a request asks whether it is the one. */
bool sample_wanted(void);
void sample_header(const uint8_t *name, size_t name_length, const uint8_t *value, size_t value_length);
void sample_body(const uint8_t *bytes, size_t length);

/* Carries out what standard input says; false at its end. */
bool read_commands(void);
