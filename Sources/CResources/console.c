#include "CResources.h"

// The console: a file has an array here, and a line in the table below. What it shares with the app's page lies there.

static const uint8_t index_html[] = {
#embed "console/index.html"
};
static const uint8_t console_js[] = {
#embed "console/console.js"
};
static const uint8_t audience_js[] = {
#embed "console/audience.js"
};
static const uint8_t audit_js[] = {
#embed "console/audit.js"
};
static const uint8_t charts_js[] = {
#embed "console/charts.js"
};
static const uint8_t compose_js[] = {
#embed "console/compose.js"
};
static const uint8_t counting_js[] = {
#embed "console/counting.js"
};
static const uint8_t dead_js[] = {
#embed "console/dead.js"
};
static const uint8_t devices_js[] = {
#embed "console/devices.js"
};
static const uint8_t dom_js[] = {
#embed "console/dom.js"
};
static const uint8_t failures_js[] = {
#embed "console/failures.js"
};
static const uint8_t format_js[] = {
#embed "console/format.js"
};
static const uint8_t listing_js[] = {
#embed "console/listing.js"
};
static const uint8_t message_js[] = {
#embed "console/message.js"
};
static const uint8_t overview_js[] = {
#embed "console/overview.js"
};
static const uint8_t page_js[] = {
#embed "console/page.js"
};
static const uint8_t people_js[] = {
#embed "console/people.js"
};
static const uint8_t queues_js[] = {
#embed "console/queues.js"
};
static const uint8_t send_js[] = {
#embed "console/send.js"
};
static const uint8_t sends_js[] = {
#embed "console/sends.js"
};
static const uint8_t setup_js[] = {
#embed "console/setup.js"
};
static const uint8_t stopping_js[] = {
#embed "console/stopping.js"
};
static const uint8_t table_js[] = {
#embed "console/table.js"
};
static const uint8_t trouble_js[] = {
#embed "console/trouble.js"
};
static const uint8_t console_css[] = {
#embed "console/console.css"
};
static const uint8_t api_js[] = {
#embed "app/api.js"
};
static const uint8_t icon_svg[] = {
#embed "app/icon.svg"
};

#define BYTES(array) {array, sizeof array}
#define SCRIPT "text/javascript; charset=utf-8"

// The first is the page itself, served at the folder's path.
static const struct page_file files[] = {
    {"index.html", "text/html; charset=utf-8", BYTES(index_html)},
    {"console.js", SCRIPT, BYTES(console_js)},
    {"audience.js", SCRIPT, BYTES(audience_js)},
    {"audit.js", SCRIPT, BYTES(audit_js)},
    {"charts.js", SCRIPT, BYTES(charts_js)},
    {"compose.js", SCRIPT, BYTES(compose_js)},
    {"counting.js", SCRIPT, BYTES(counting_js)},
    {"dead.js", SCRIPT, BYTES(dead_js)},
    {"devices.js", SCRIPT, BYTES(devices_js)},
    {"dom.js", SCRIPT, BYTES(dom_js)},
    {"failures.js", SCRIPT, BYTES(failures_js)},
    {"format.js", SCRIPT, BYTES(format_js)},
    {"listing.js", SCRIPT, BYTES(listing_js)},
    {"message.js", SCRIPT, BYTES(message_js)},
    {"overview.js", SCRIPT, BYTES(overview_js)},
    {"page.js", SCRIPT, BYTES(page_js)},
    {"people.js", SCRIPT, BYTES(people_js)},
    {"queues.js", SCRIPT, BYTES(queues_js)},
    {"send.js", SCRIPT, BYTES(send_js)},
    {"sends.js", SCRIPT, BYTES(sends_js)},
    {"setup.js", SCRIPT, BYTES(setup_js)},
    {"stopping.js", SCRIPT, BYTES(stopping_js)},
    {"table.js", SCRIPT, BYTES(table_js)},
    {"trouble.js", SCRIPT, BYTES(trouble_js)},
    {"console.css", "text/css; charset=utf-8", BYTES(console_css)},
    {"api.js", SCRIPT, BYTES(api_js)},
    {"icon.svg", "image/svg+xml", BYTES(icon_svg)},
};

size_t console_file_count(void) { return sizeof files / sizeof files[0]; }

struct page_file console_file_at(size_t index) { return files[index]; }
