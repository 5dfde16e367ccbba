#include <zlib.h>

// Swift cannot call macros. 16 is added to the window's bits to have gzip, and nothing else.
static inline int pushline_inflate_gzip(z_streamp stream) { return inflateInit2(stream, MAX_WBITS + 16); }

static inline int pushline_deflate_gzip(z_streamp stream) {
    return deflateInit2(stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
}
