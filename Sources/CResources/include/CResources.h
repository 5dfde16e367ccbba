#ifndef CRESOURCES_H
#define CRESOURCES_H

#include <stddef.h>
#include <stdint.h>

/// A file that is part of the program: its bytes live as long as the program.
struct embedded_file {
    const uint8_t *bytes;
    size_t count;
};

/// The API's own description.
struct embedded_file openapi_file(void);

/// A file of a page: its name below the page's path (`/app/`, `/console/`), and its media type.
struct page_file {
    const char *name;
    const char *type;
    struct embedded_file file;
};

/// The number of files of the app's page.
size_t page_file_count(void);

/// One of them, from 0.
struct page_file page_file_at(size_t index);

/// The number of files of the console.
size_t console_file_count(void);

/// One of them, from 0.
struct page_file console_file_at(size_t index);

#endif
