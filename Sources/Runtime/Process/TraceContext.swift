import Tracing

/// Carries W3C `traceparent` and `tracestate` through the process; no spans are recorded.
struct TraceContextInstrument: Instrument {
    static let headers = ["traceparent", "tracestate"]

    func extract<Carrier, Extract>(
        _ carrier: Carrier,
        into context: inout ServiceContext,
        using extractor: Extract
    ) where Extract: Extractor, Extract.Carrier == Carrier {
        var found: [String: String] = [:]
        for header in Self.headers {
            if let value = extractor.extract(key: header, from: carrier) { found[header] = value }
        }
        if found["traceparent"] != nil { context[TraceHeadersKey.self] = found }
    }

    func inject<Carrier, Inject>(
        _ context: ServiceContext,
        into carrier: inout Carrier,
        using injector: Inject
    ) where Inject: Injector, Inject.Carrier == Carrier {
        for (header, value) in context[TraceHeadersKey.self] ?? [:] {
            injector.inject(value, forKey: header, into: &carrier)
        }
    }
}

private enum TraceHeadersKey: ServiceContextKey {
    typealias Value = [String: String]
}
