"""What Schemathesis must be told of a media type that it does not know."""

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """One JSON value a line; a text stands for itself."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
