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

#endif
