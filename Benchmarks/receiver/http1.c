#include "http1.h"

#include <stdlib.h>
#include <string.h>

static const char LENGTH[] = "content-length:";

/* A line of the head has ended; returns whether it was the last one. */
static int end_line(struct http1 *state) {
    state->line[state->line_length < sizeof state->line ? state->line_length : sizeof state->line - 1] = 0;
    const size_t length = state->line_length;
    state->line_length = 0;
    if (!strncmp(state->line, LENGTH, sizeof LENGTH - 1)) {
        state->content_length = strtoul(state->line + sizeof LENGTH - 1, NULL, 10);
    }
    return length == 0;
}

size_t http1_take(struct http1 *state, const uint8_t *bytes, size_t count) {
    size_t ended = 0;
    for (size_t i = 0; i < count; i++) {
        if (state->body_left > 0) {
            const size_t part = state->body_left < count - i ? state->body_left : count - i;
            state->body_left -= part;
            i += part - 1;
            if (state->body_left == 0) ended++;
            continue;
        }
        const char c = (char)bytes[i];
        if (c == '\r') continue;
        if (c != '\n') {
            if (state->line_length < sizeof state->line) {
                state->line[state->line_length] = (char)(c >= 'A' && c <= 'Z' ? c | 32 : c);
            }
            state->line_length++;
        } else if (end_line(state)) {
            state->body_left = state->content_length;
            state->content_length = 0;
            if (state->body_left == 0) ended++;
        }
    }
    return ended;
}
