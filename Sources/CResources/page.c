#include "CResources.h"

// The app's page: a file has an array here, and a line in the table below.

static const uint8_t index_html[] = {
#embed "app/index.html"
};
static const uint8_t app_js[] = {
#embed "app/app.js"
};
static const uint8_t api_js[] = {
#embed "app/api.js"
};
static const uint8_t push_js[] = {
#embed "app/push.js"
};
static const uint8_t results_js[] = {
#embed "app/results.js"
};
static const uint8_t texts_js[] = {
#embed "app/texts.js"
};
static const uint8_t viewer_js[] = {
#embed "app/viewer.js"
};
static const uint8_t app_css[] = {
#embed "app/app.css"
};
static const uint8_t sw_js[] = {
#embed "app/sw.js"
};
static const uint8_t manifest[] = {
#embed "app/manifest.webmanifest"
};
static const uint8_t icon_svg[] = {
#embed "app/icon.svg"
};
static const uint8_t icon_192[] = {
#embed "app/icon-192.png"
};
static const uint8_t icon_512[] = {
#embed "app/icon-512.png"
};
static const uint8_t texts_en[] = {
#embed "app/texts-en.json"
};
static const uint8_t texts_es[] = {
#embed "app/texts-es.json"
};
static const uint8_t texts_fr[] = {
#embed "app/texts-fr.json"
};
static const uint8_t texts_hans[] = {
#embed "app/texts-zh-Hans.json"
};
static const uint8_t texts_hant[] = {
#embed "app/texts-zh-Hant.json"
};

#define BYTES(array) {array, sizeof array}
#define SCRIPT "text/javascript; charset=utf-8"

// The first is the page itself, served at the folder's path.
static const struct page_file files[] = {
    {"index.html", "text/html; charset=utf-8", BYTES(index_html)},
    {"app.js", SCRIPT, BYTES(app_js)},
    {"api.js", SCRIPT, BYTES(api_js)},
    {"push.js", SCRIPT, BYTES(push_js)},
    {"results.js", SCRIPT, BYTES(results_js)},
    {"texts.js", SCRIPT, BYTES(texts_js)},
    {"viewer.js", SCRIPT, BYTES(viewer_js)},
    {"app.css", "text/css; charset=utf-8", BYTES(app_css)},
    {"sw.js", SCRIPT, BYTES(sw_js)},
    {"manifest.webmanifest", "application/manifest+json", BYTES(manifest)},
    {"icon.svg", "image/svg+xml", BYTES(icon_svg)},
    {"icon-192.png", "image/png", BYTES(icon_192)},
    {"icon-512.png", "image/png", BYTES(icon_512)},
    {"texts-en.json", "application/json", BYTES(texts_en)},
    {"texts-es.json", "application/json", BYTES(texts_es)},
    {"texts-fr.json", "application/json", BYTES(texts_fr)},
    {"texts-zh-Hans.json", "application/json", BYTES(texts_hans)},
    {"texts-zh-Hant.json", "application/json", BYTES(texts_hant)},
};

size_t page_file_count(void) { return sizeof files / sizeof files[0]; }

struct page_file page_file_at(size_t index) { return files[index]; }
