// What Benchmarks/EncryptionSpeed is compared with: the same messages for a browser (RFC 8291), over OpenSSL alone.
//
// Its argument: how many. It prints the same line of JSON.
#define _POSIX_C_SOURCE 200809L

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/param_build.h>
#include <openssl/rand.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POINT = 65, SALT = 16, TAG = 16, HEAD = SALT + 4 + 1 + POINT, SIZE = 200 };

static const char BROWSER[] = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
static const char SECRET[] = "BTBZMqHH6r4Tts7J_aSIgg";

// Fetched once: a lookup by name costs as much as a key.
static EVP_KDF_CTX *hkdf;
static EVP_CIPHER *gcm;

static void check(int is_right, const char *what) {
    if (!is_right) {
        fprintf(stderr, "webpush: %s\n", what);
        exit(1);
    }
}

static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Of base64url.
static size_t decode(const char *text, uint8_t *bytes) {
    size_t count = 0;
    uint32_t bits = 0;
    for (size_t i = 0; text[i]; i++) {
        bits = bits << 6 | (uint32_t)(strchr(DIGITS, text[i]) - DIGITS);
        if (i % 4 != 0) bytes[count++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    return count;
}

static void print_encoded(const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i += 3) {
        uint32_t bits = (uint32_t)bytes[i] << 16;
        if (i + 1 < count) bits |= (uint32_t)bytes[i + 1] << 8;
        if (i + 2 < count) bits |= bytes[i + 2];
        for (size_t j = 0; j < 4 && i + j <= count; j++) putchar(DIGITS[bits >> (18 - 6 * j) & 63]);
    }
}

static EVP_PKEY *from_point(const uint8_t *point, const uint8_t *scalar) {
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    BIGNUM *number = scalar ? BN_bin2bn(scalar, 32, NULL) : NULL;
    OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
    OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, POINT);
    if (number) OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_PRIV_KEY, number);
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    EVP_PKEY *key = NULL;
    check(EVP_PKEY_fromdata_init(context) == 1 &&
              EVP_PKEY_fromdata(context, &key, number ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, params) == 1,
          "a key is not taken");
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(build);
    BN_free(number);
    return key;
}

static void derive(const uint8_t *key, size_t key_size, const uint8_t *salt, const uint8_t *info, size_t info_size,
                   uint8_t *out, size_t size) {
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, "SHA256", 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)key, key_size),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)salt, SALT),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_size),
        OSSL_PARAM_construct_end(),
    };
    check(EVP_KDF_derive(hkdf, out, size, params) == 1, "HKDF failed");
}

// One record: salt, size, the sender's key, the message with its delimiter, the tag.
static size_t encrypt(const uint8_t *message, size_t size, const uint8_t *browser, const uint8_t *secret, EVP_PKEY *sender,
                      const uint8_t *salt, uint8_t *body) {
    size_t point_size = 0;
    memcpy(body, salt, SALT);
    memcpy(body + SALT, "\0\0\x10\0\x41", 5);
    uint8_t *point = body + SALT + 5;
    check(EVP_PKEY_get_octet_string_param(sender, OSSL_PKEY_PARAM_PUB_KEY, point, POINT, &point_size) == 1 && point_size == POINT,
          "a key has no point");

    EVP_PKEY *receiver = from_point(browser, NULL);
    EVP_PKEY_CTX *agreement = EVP_PKEY_CTX_new_from_pkey(NULL, sender, NULL);
    uint8_t shared[32];
    size_t shared_size = sizeof shared;
    check(EVP_PKEY_derive_init(agreement) == 1 && EVP_PKEY_derive_set_peer(agreement, receiver) == 1 &&
              EVP_PKEY_derive(agreement, shared, &shared_size) == 1,
          "no key is agreed on");
    EVP_PKEY_CTX_free(agreement);
    EVP_PKEY_free(receiver);

    uint8_t info[14 + 2 * POINT] = "WebPush: info";
    memcpy(info + 14, browser, POINT);
    memcpy(info + 14 + POINT, point, POINT);
    uint8_t material[32], key[16], nonce[12];
    derive(shared, shared_size, secret, info, sizeof info, material, sizeof material);
    derive(material, sizeof material, salt, (const uint8_t *)"Content-Encoding: aes128gcm", 28, key, sizeof key);
    derive(material, sizeof material, salt, (const uint8_t *)"Content-Encoding: nonce", 24, nonce, sizeof nonce);

    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    int first = 0, second = 0, last = 0;
    const uint8_t delimiter = 2;
    check(EVP_EncryptInit_ex2(cipher, gcm, key, nonce, NULL) == 1 &&
              EVP_EncryptUpdate(cipher, body + HEAD, &first, message, (int)size) == 1 &&
              EVP_EncryptUpdate(cipher, body + HEAD + first, &second, &delimiter, 1) == 1 &&
              EVP_EncryptFinal_ex(cipher, body + HEAD + first + second, &last) == 1 &&
              EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, TAG, body + HEAD + first + second + last) == 1,
          "AES-GCM failed");
    EVP_CIPHER_CTX_free(cipher);
    return HEAD + size + 1 + TAG;
}

int main(int count, char **arguments) {
    long messages = count == 2 ? atol(arguments[1]) : 0;
    if (messages <= 0) {
        fprintf(stderr, "usage: webpush MESSAGES\n");
        return 2;
    }
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    hkdf = EVP_KDF_CTX_new(kdf);
    gcm = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
    check(hkdf && gcm, "OpenSSL has no HKDF or AES-GCM");

    uint8_t browser[POINT + 3], secret[SALT + 3], salt[SALT + 3], scalar[32 + 3], point[POINT + 3], body[HEAD + SIZE + 1 + TAG];
    check(decode(BROWSER, browser) == POINT && decode(SECRET, secret) == SALT, "a constant is no base64url");
    decode("DGv6ra1nlYgDCS1FRnbzlw", salt);
    decode("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw", scalar);
    decode("BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8", point);
    static const char EXAMPLE[] = "When I grow up, I want to be a watermelon";
    EVP_PKEY *known = from_point(point, scalar);
    size_t size = encrypt((const uint8_t *)EXAMPLE, sizeof EXAMPLE - 1, browser, secret, known, salt, body);
    EVP_PKEY_free(known);
    printf("{\"example\": \"");
    print_encoded(body, size);

    uint8_t message[SIZE];
    memset(message, 'x', SIZE);
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < messages; i++) {
        EVP_PKEY *sender = EVP_EC_gen("prime256v1");
        check(sender && RAND_bytes(salt, SALT) == 1, "no key is made");
        encrypt(message, SIZE, browser, secret, sender, salt, body);
        EVP_PKEY_free(sender);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    printf("\", \"per_s\": %.0f}\n", (double)messages / seconds);
    EVP_CIPHER_free(gcm);
    EVP_KDF_CTX_free(hkdf);
    EVP_KDF_free(kdf);
    return 0;
}
