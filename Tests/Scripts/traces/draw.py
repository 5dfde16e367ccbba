"""Reads what collector.py kept by OpenTelemetry's own messages, and draws a trace as text.

    draw.py FOLDER TRACE CALLER WHAT SPANS...

WHAT is the first line; each of SPANS is the beginning of a span's name that the trace must have, with "N*" before it where it must be
there so often. Ends with 1 while one of them is missing, or one that another is under, and with 2 where something is not as it must be.
"""

import base64
import json
import pathlib
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

FOLDER, TRACE, CALLER, WHAT = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


def refuse(what):
    print(what, file=sys.stderr)
    sys.exit(2)


def in_base64(value):
    """OTLP has ids in hexadecimal digits, where protobuf's own JSON has base64."""
    if isinstance(value, list):
        return [in_base64(element) for element in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for name, inner in value.items():
        if name in IDS:
            octets = bytes.fromhex(inner)
            if len(octets) != IDS[name] or inner != inner.lower():
                refuse(f"{name} is {inner}")
            found[name] = base64.b64encode(octets).decode()
        else:
            found[name] = in_base64(inner)
    return found


spans = []
for file in sorted(FOLDER.glob("*.json"), key=lambda file: int(file.stem)):
    # Members that the messages do not have are faults.
    export = json_format.ParseDict(in_base64(json.loads(file.read_bytes())), ExportTraceServiceRequest())
    for process in export.resource_spans:
        resource = {attribute.key: attribute.value.string_value for attribute in process.resource.attributes}
        for scope in process.scope_spans:
            spans += [(resource["service.name"], span) for span in scope.spans if span.trace_id.hex() == TRACE]

for wanted in sys.argv[5:]:
    count, _, name = wanted.rpartition("*")
    if sum(span.name.startswith(name) for _, span in spans) < int(count or 1):
        sys.exit(1)

start = min(span.start_time_unix_nano for _, span in spans)
drawn = []


def milliseconds(nanoseconds):
    return f"{nanoseconds / 1e6:.1f}"


def draw(parent, indent):
    children = sorted((span.start_time_unix_nano, number) for number, (_, span) in enumerate(spans) if span.parent_span_id.hex() == parent)
    for place, (_, number) in enumerate(children):
        service, span = spans[number]
        is_last = place == len(children) - 1
        devices = [
            f"{attribute.value.int_value} {attribute.key.rpartition('.')[2]}"
            for attribute in span.attributes
            if attribute.key.startswith("pushline.devices.") and attribute.value.int_value
        ]
        kind = Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower()
        links = f", {len(span.links)} links" if span.links else ""
        name = f"{indent}{'└ ' if is_last else '├ '}{span.name}"
        drawn.append(span)
        print(
            f"{milliseconds(span.start_time_unix_nano - start):>7} ms {milliseconds(span.end_time_unix_nano - span.start_time_unix_nano):>7} ms"
            f"  {name:<62}{service.removeprefix('pushline-')}, {kind}{links}{': ' + ', '.join(devices) if devices else ''}"
        )
        draw(span.span_id.hex(), indent + ("  " if is_last else "│ "))


print(f"{WHAT}, trace {TRACE}: {len(spans)} spans")
draw(CALLER, "")
if len(drawn) != len(spans):
    # Each program exports for itself: what they are under may still come.
    print(f"{len(spans) - len(drawn)} spans are under none that is there", file=sys.stderr)
    sys.exit(1)
