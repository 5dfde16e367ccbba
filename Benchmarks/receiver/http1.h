/* Requests over HTTP/1.1, as a push service of browsers gets them from us: heads with Content-Length, and bodies that nobody reads. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Where a connection stands; all zeros at its beginning. */
struct http1 {
    /* The line of the head that is being read: its beginning, in lower case, and its length. */
    char line[64];
    size_t line_length;
    /* What the head said, and what is still to come of the body. */
    size_t content_length, body_left;
};

/* As the push services answer a message that they keep for the browser. */
static const char HTTP1_ANSWER[] =
    "HTTP/1.1 201 Created\r\nLocation: https://127.0.0.1/m/aaaaaaaaaaaaaaaa\r\nTTL: 60\r\nContent-Length: 0\r\n\r\n";

/* Reads on; returns how many requests have ended. */
size_t http1_take(struct http1 *state, const uint8_t *bytes, size_t count);
