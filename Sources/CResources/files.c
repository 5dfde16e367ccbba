#include "CResources.h"

// The compiler takes the file as it is: as an array in Swift, its 120,000 bytes would be type-checked one by one.
static const uint8_t openapi[] = {
#embed "openapi.yaml"
};

struct embedded_file openapi_file(void) { return (struct embedded_file){openapi, sizeof openapi}; }
