"""Reads what collector.py kept by OpenTelemetry's own messages, and draws a trace as text.

    draw.py FOLDER TRACES CALLER WHAT SPANS...

TRACES has commas between them: the first of them that has all SPANS is drawn. WHAT is the first line; each of SPANS is the beginning of a
span's name, with "N*" before it where it must be there so often, and "~" before the name where it must be linked to spans of other traces,
which were collected too: then one of those is drawn as well, whose spans at push services must be linked to the first. Ends with 1 while
something is missing, or a span that another is under, and with 2 where something is not as it must be.
"""

import base64
import json
import pathlib
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

FOLDER, TRACES, CALLER, WHAT = pathlib.Path(sys.argv[1]), sys.argv[2].split(","), sys.argv[3], sys.argv[4]
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


def place(of):
    """Of a span, or what is linked."""
    return of.trace_id.hex(), of.span_id.hex()


# By trace and id, with the service that each is of.
collected = {}
for file in sorted(FOLDER.glob("*.json"), key=lambda file: int(file.stem)):
    # Members that the messages do not have are faults.
    export = json_format.ParseDict(in_base64(json.loads(file.read_bytes())), ExportTraceServiceRequest())
    for process in export.resource_spans:
        resource = {attribute.key: attribute.value.string_value for attribute in process.resource.attributes}
        for scope in process.scope_spans:
            for span in scope.spans:
                collected[place(span)] = (resource["service.name"], span)


def spans_of(trace):
    return [(service, span) for (of, _), (service, span) in collected.items() if of == trace]


def is_linked(span):
    return bool(span.links) and all(place(link) in collected for link in span.links)


def has(trace, wanted):
    count, _, name = wanted.rpartition("*")
    found = [span for _, span in spans_of(trace) if span.name.startswith(name.removeprefix("~"))]
    return sum(not name.startswith("~") or is_linked(span) for span in found) >= int(count or 1)


def milliseconds(nanoseconds):
    return f"{nanoseconds / 1e6:.1f}"


def line(service, span, start, name, inner):
    devices = [
        f"{attribute.value.int_value} {attribute.key.rpartition('.')[2]}"
        for attribute in span.attributes
        if attribute.key.startswith("pushline.devices.") and attribute.value.int_value
    ]
    kind = Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower()
    print(
        f"{milliseconds(span.start_time_unix_nano - start):>7} ms {milliseconds(span.end_time_unix_nano - span.start_time_unix_nano):>7} ms"
        f"  {name:<62}{service.removeprefix('pushline-')}, {kind}{': ' + ', '.join(devices) if devices else ''}"
    )
    for link in span.links[:1]:
        _, linked = collected.get(place(link), (None, None))
        others = f", and {len(span.links) - 1} more" if len(span.links) > 1 else ""
        print(f"{'':23}{inner}⇢ linked to {linked.name if linked else 'a span'} of trace {link.trace_id.hex()}{others}")


def draw(trace, what):
    spans = spans_of(trace)
    start = min(span.start_time_unix_nano for _, span in spans)
    print(f"{what}, trace {trace}: {len(spans)} spans")

    def below(parent, indent):
        """How many are drawn."""
        children = sorted((span.start_time_unix_nano, number) for number, (_, span) in enumerate(spans) if span.parent_span_id.hex() == parent)
        drawn = len(children)
        for _, number in children:
            service, span = spans[number]
            mark, inner = ("└ ", indent + "  ") if number == children[-1][1] else ("├ ", indent + "│ ")
            line(service, span, start, indent + mark + span.name, inner)
            drawn += below(span.span_id.hex(), inner)
        return drawn

    missing = len(spans) - below(CALLER, "")
    if missing:
        # Each program exports for itself: what they are under may still come.
        print(f"{missing} spans are under none that is there", file=sys.stderr)
        sys.exit(1)


found = next((trace for trace in TRACES if all(has(trace, wanted) for wanted in sys.argv[5:])), None)
if not found:
    sys.exit(1)
draw(found, WHAT)
if any("~" in wanted for wanted in sys.argv[5:]):
    others = sorted({link.trace_id.hex() for _, span in spans_of(found) for link in span.links})
    # Those of the requests that were served together: each with its own end, which leads to the work that they shared.
    whole = [
        trace
        for trace in others
        if trace in TRACES and any({link.trace_id.hex() for link in span.links} == {found} for _, span in spans_of(trace) if span.name.startswith("push "))
    ]
    if not whole:
        sys.exit(1)
    print()
    draw(whole[0], "Another of them")
