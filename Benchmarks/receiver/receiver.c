/* Stands in for APNs and FCM in measurements: HTTP/2 over TLS, and every request is answered 200 when it has ended, unless it is
 * told otherwise. Over HTTP/1.1, as our sender for browsers speaks, it is a push service of theirs (http1.c).
 *
 * It must cost less than any sender, so that what is measured is the sender: one thread, one epoll, libnghttp2 and
 * OpenSSL. It judges nothing; `pushline-simulator` is the one that does.
 *
 *   receiver PORT CERTIFICATE KEY        port 0 = any free one
 *
 * It is spoken to over standard input, a word a line, and answers with a JSON line:
 *   counts   what was received since the last reset, and when (nanoseconds of CLOCK_MONOTONIC)
 *   sample   headers and body of the first request since the last reset
 *   reset    begins to count anew
 *   fcm 200, fcm 503, fcm 400, fcm silent   how FCM's requests are answered from now on, or that they are not
 * A request to an APNs token that begins with TRACE says so by itself: {"arrived": number, "at": nanoseconds}, where
 * the number is the 16 hexadecimal digits behind TRACE. It ends with the end of its input, or by a signal. */
#define _GNU_SOURCE
#include "counters.h"
#include "http1.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static const char TRACE[] = "bbbbbbbb";
enum {
    TRACE_LENGTH = sizeof TRACE - 1,
    MAXIMUM_STREAMS = 1000,
    READ_SIZE = 256 * 1024,
    WRITE_SIZE = 64 * 1024,
    RECORDS_A_WRITE = 8
};

/* ---- Streams: taken from a list, and put back ---- */

struct stream {
    struct stream *next;
    uint8_t id[64];
    size_t id_length;
    bool is_fcm, is_traced, is_sample;
    uint64_t number;
};

struct connection {
    int descriptor;
    SSL *tls;
    /* NULL: it speaks HTTP/1.1. */
    nghttp2_session *session;
    struct http1 http1;
    bool is_shaken;
    /* The last round in which it brought a request. */
    uint64_t round_number;
    size_t length, offset;
    uint8_t output[WRITE_SIZE];
};

static struct stream *free_streams;

static struct stream *take_stream(void) {
    struct stream *stream = free_streams;
    if (stream) free_streams = stream->next;
    else if (!(stream = malloc(sizeof *stream))) abort();
    stream->next = NULL;
    stream->id_length = 0;
    stream->is_fcm = stream->is_traced = false;
    stream->number = 0;
    return stream;
}

static void give_stream(struct stream *stream) {
    stream->next = free_streams;
    free_streams = stream;
}

/* ---- What nghttp2 tells ---- */

static int on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    (void)user;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    struct stream *stream = take_stream();
    stream->is_sample = sample_wanted();
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream);
    return 0;
}

static int digit(uint8_t c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
                     const uint8_t *value, size_t value_length, uint8_t flags, void *user) {
    (void)flags;
    (void)user;
    struct stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!stream) return 0;
    if (stream->is_sample) sample_header(name, name_length, value, value_length);
    if (name_length == 7 && !memcmp(name, "apns-id", 7) && value_length <= sizeof stream->id) {
        memcpy(stream->id, value, value_length);
        stream->id_length = value_length;
    } else if (name_length == 5 && !memcmp(name, ":path", 5)) {
        static const char device[] = "/3/device/";
        const size_t start = sizeof device - 1;
        if (value_length >= 4 && !memcmp(value, "/v1/", 4)) {
            stream->is_fcm = true;
        } else if (value_length >= start + TRACE_LENGTH + 16 && !memcmp(value + start, TRACE, TRACE_LENGTH)) {
            stream->is_traced = true;
            const uint8_t *digits = value + start + TRACE_LENGTH;
            for (size_t i = 0; i < 16; i++) stream->number = stream->number << 4 | (uint64_t)digit(digits[i]);
        }
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t length,
                   void *user) {
    (void)flags;
    (void)user;
    counts.body_bytes += length;
    /* The sample is the first request. */
    if (received() > 0) return 0;
    const struct stream *stream = nghttp2_session_get_stream_user_data(session, id);
    if (stream && stream->is_sample) sample_body(data, length);
    return 0;
}

/* How each mode answers; one that is silent has no line. */
static const struct {
    const char *status, *body;
} FCM_ANSWERS[] = {
    [FCM_ACCEPTS] = {"200", "{\"name\":\"projects/benchmark/messages/0:1700000000000000%aaaaaaaaaaaaaaaa\"}"},
    [FCM_UNAVAILABLE] =
        {"503",
         "{\"error\":{\"code\":503,\"message\":\"The service is currently unavailable.\",\"status\":\"UNAVAILABLE\",\"details\":"
         "[{\"@type\":\"type.googleapis.com/google.firebase.fcm.v1.FcmError\",\"errorCode\":\"UNAVAILABLE\"}]}}"},
    [FCM_REFUSES] =
        {"400",
         "{\"error\":{\"code\":400,\"message\":\"Request contains an invalid argument.\",\"status\":\"INVALID_ARGUMENT\",\"details\":"
         "[{\"@type\":\"type.googleapis.com/google.firebase.fcm.v1.FcmError\",\"errorCode\":\"INVALID_ARGUMENT\"}]}}"},
};

static ssize_t read_answer(nghttp2_session *session, int32_t id, uint8_t *buffer, size_t length, uint32_t *flags,
                           nghttp2_data_source *source, void *user) {
    (void)session, (void)id, (void)user;
    const char *answer = source->ptr;
    const size_t count = strlen(answer);
    if (length < count) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    memcpy(buffer, answer, count);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)count;
}

#define FIELD(NAME, VALUE, LENGTH, FLAGS) \
    { (uint8_t *)(NAME), (uint8_t *)(VALUE), sizeof(NAME) - 1, (LENGTH), NGHTTP2_NV_FLAG_NO_COPY_NAME | (FLAGS) }

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    (void)user;
    if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
    if (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) return 0;
    struct stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!stream) return 0;
    if (stream->is_fcm) {
        counts.fcm++;
        if (fcm_mode == FCM_SILENT) return 0;
        const nghttp2_nv answer[] = {
            FIELD(":status", FCM_ANSWERS[fcm_mode].status, 3, NGHTTP2_NV_FLAG_NO_COPY_VALUE),
            FIELD("content-type", "application/json; charset=UTF-8", 31, NGHTTP2_NV_FLAG_NO_COPY_VALUE),
        };
        nghttp2_data_provider body = {
            .source.ptr = (void *)FCM_ANSWERS[fcm_mode].body, .read_callback = read_answer};
        return nghttp2_submit_response(session, frame->hd.stream_id, answer, 2, &body);
    }
    const nghttp2_nv answer[] = {
        FIELD(":status", "200", 3, NGHTTP2_NV_FLAG_NO_COPY_VALUE),
        FIELD("apns-id", stream->id, stream->id_length, NGHTTP2_NV_FLAG_NO_INDEX),
    };
    counts.apns++;
    if (stream->is_traced) printf("{\"arrived\": %" PRIu64 ", \"at\": %" PRId64 "}\n", stream->number, now_ns());
    return nghttp2_submit_response(session, frame->hd.stream_id, answer, stream->id_length ? 2 : 1, NULL);
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t code, void *user) {
    (void)code;
    (void)user;
    struct stream *stream = nghttp2_session_get_stream_user_data(session, id);
    if (stream) give_stream(stream);
    return 0;
}

/* ---- Connections ---- */

static nghttp2_session_callbacks *callbacks;
static nghttp2_option *options;

static void drop(struct connection *connection) {
    nghttp2_session_del(connection->session);
    SSL_free(connection->tls);
    close(connection->descriptor);
    free(connection);
}

/* Gathers what the session has to say and writes it; false when the connection is of no use any more. */
static bool flush_output(struct connection *connection) {
    for (;;) {
        if (connection->offset == connection->length) connection->offset = connection->length = 0;
        while (connection->session && connection->length + 17 * 1024 <= WRITE_SIZE) {
            const uint8_t *bytes;
            ssize_t count = nghttp2_session_mem_send(connection->session, &bytes);
            if (count < 0) return false;
            if (count == 0) break;
            memcpy(connection->output + connection->length, bytes, (size_t)count);
            connection->length += (size_t)count;
        }
        if (connection->offset == connection->length) return true;
        const size_t rest = connection->length - connection->offset;
        int written = SSL_write(connection->tls, connection->output + connection->offset, (int)rest);
        if (written <= 0) {
            int error = SSL_get_error(connection->tls, written);
            return error == SSL_ERROR_WANT_WRITE || error == SSL_ERROR_WANT_READ;
        }
        connection->offset += (size_t)written;
    }
}

static bool shake_hands(struct connection *connection) {
    int result = SSL_do_handshake(connection->tls);
    if (result != 1) {
        int error = SSL_get_error(connection->tls, result);
        return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
    }
    connection->is_shaken = true;
    snprintf(cipher, sizeof cipher, "%s", SSL_get_cipher_name(connection->tls));
    const unsigned char *protocol;
    unsigned int length;
    SSL_get0_alpn_selected(connection->tls, &protocol, &length);
    if (length != NGHTTP2_PROTO_VERSION_ID_LEN) return true;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, MAXIMUM_STREAMS}, {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
    return nghttp2_session_server_new2(&connection->session, callbacks, connection, options) == 0
        && nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings, 2) == 0
        && nghttp2_session_set_local_window_size(connection->session, NGHTTP2_FLAG_NONE, 0, 1 << 30) == 0;
}

/* Takes what came, and has the answers ready; false when it cannot. */
static bool take(struct connection *connection, const uint8_t *bytes, size_t count) {
    if (connection->session) return nghttp2_session_mem_recv(connection->session, bytes, count) >= 0;
    for (size_t requests = http1_take(&connection->http1, bytes, count); requests > 0; requests--) {
        if (connection->length + sizeof HTTP1_ANSWER > WRITE_SIZE) return false;
        memcpy(connection->output + connection->length, HTTP1_ANSWER, sizeof HTTP1_ANSWER - 1);
        connection->length += sizeof HTTP1_ANSWER - 1;
        counts.web++;
    }
    return true;
}

/* Reads all there is, and answers; false when the connection is of no use any more. */
static bool serve(struct connection *connection) {
    static uint8_t input[READ_SIZE];
    if (!connection->is_shaken && !shake_hands(connection)) return false;
    if (!connection->is_shaken) return true;
    for (int records = 1;; records++) {
        int count = SSL_read(connection->tls, input, sizeof input);
        if (count <= 0) {
            int error = SSL_get_error(connection->tls, count);
            if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return false;
            return flush_output(connection);
        }
        uint64_t before = received();
        if (!take(connection, input, (size_t)count)) return false;
        if (received() != before) {
            counts.last = now_ns();
            if (before == 0) counts.first = counts.last;
            if (connection->round_number != round_number) counts.connections++;
            connection->round_number = round_number;
        }
        if (records % RECORDS_A_WRITE == 0 && !flush_output(connection)) return false;
    }
}

static int choose_protocol(SSL *tls, const unsigned char **out, unsigned char *out_length, const unsigned char *in,
                           unsigned int in_length, void *user) {
    (void)tls;
    (void)user;
    /* 1: HTTP/2, 0: HTTP/1.1. */
    const bool is_known = nghttp2_select_next_protocol((unsigned char **)out, out_length, in, in_length) >= 0;
    return is_known ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void accept_all(int listener, int epoll, SSL_CTX *tls) {
    int descriptor;
    const int one = 1;
    while ((descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct connection *connection = calloc(1, sizeof *connection);
        if (!connection || !(connection->tls = SSL_new(tls))) abort();
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        connection->descriptor = descriptor;
        SSL_set_fd(connection->tls, descriptor);
        SSL_set_accept_state(connection->tls);
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = connection};
        epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
    }
}

/* ---- The process ---- */

static void fail(const char *what) {
    fprintf(stderr, "receiver: %s: %s\n", what, errno ? strerror(errno) : "");
    ERR_print_errors_fp(stderr);
    exit(1);
}

static SSL_CTX *make_tls(const char *certificate, const char *key) {
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    if (!tls || SSL_CTX_use_certificate_chain_file(tls, certificate) != 1
        || SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1)
        fail("certificate and key");
    SSL_CTX_set_alpn_select_cb(tls, choose_protocol, NULL);
    /* The same cipher for whoever comes, so that senders compare. */
    SSL_CTX_set_ciphersuites(tls, "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set_min_proto_version(tls, TLS1_3_VERSION);
    SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(tls, 1);
    SSL_CTX_set_default_read_buffer_len(tls, READ_SIZE);
    return tls;
}

static int make_listener(const char *port) {
    const int one = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, 512)
        || getsockname(listener, (struct sockaddr *)&address, &length))
        fail("port");
    printf("{\"port\": %d}\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static void make_session_parts(void) {
    if (nghttp2_session_callbacks_new(&callbacks) || nghttp2_option_new(&options)) fail("memory");
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_option_set_no_closed_streams(options, 1);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: receiver PORT CERTIFICATE KEY\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    SSL_CTX *tls = make_tls(argv[2], argv[3]);
    make_session_parts();
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    int listener = make_listener(argv[1]);
    /* Addresses that no connection can have. */
    static char is_listener, is_input;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &is_listener};
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    event.data.ptr = &is_input;
    epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event);
    for (;;) {
        struct epoll_event events[64];
        int count = epoll_wait(epoll, events, 64, -1);
        if (count < 0 && errno != EINTR) fail("epoll");
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == &is_listener) accept_all(listener, epoll, tls);
            else if (events[i].data.ptr == &is_input) {
                if (!read_commands()) return 0;
            } else if (!serve(events[i].data.ptr)) drop(events[i].data.ptr);
        }
        fflush(stdout);
    }
}
