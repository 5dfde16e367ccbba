#include <libpq-fe.h>

struct ssl_st;
int SSL_pending(const struct ssl_st *connection);

/// How many bytes TLS has read and decrypted that libpq has not taken yet; the socket says nothing of them.
static inline int pushline_postgresql_pending(PGconn *connection) {
    struct ssl_st *tls = (struct ssl_st *)PQsslStruct(connection, "OpenSSL");
    return tls ? SSL_pending(tls) : 0;
}
