package import Broker

/// What every driver of ``MessageBroker`` must do; a driver's tests call ``run(_:_:)`` for each case.
///
/// Each case works on queues of its own, so that cases can run beside each other on one broker.
package enum BrokerContract: String, CaseIterable, Sendable {
    case publishedArrives
    case propertiesSurvive
    case unroutableIsReturned
    case hintsNeedNoQueue
    case resultsKeepTheirOrder
    case bigBodyArrives
    case emptyBodyArrives
    case manyPublishersAtOnce
    case endedConsumerGivesBack
    case prefetchBounds
    case stopGivesBack
    case acknowledgingOutOfOrder
    case doubleAcknowledgementIsHarmless
    case deliveriesOfOtherConnectionsAreVoid
    case declaringTwice
    case otherArgumentsMismatch
    case missingQueueIsRefused
    case eventsReachExclusiveQueues
    case reportsReachAllQueuesOfAKey
    case consumersShareAQueue
    case cancellationEndsNext
    case missingExchangeIsAFault
    case depthIsTold

    /// Something that a driver did not do.
    package struct Violation: Error, CustomStringConvertible {
        package let description: String
    }

    /// Runs one case.
    ///
    /// - Parameters:
    ///   - broker: A driver that is connected.
    ///   - name: A name for the case's queues that nobody else uses.
    /// - Throws: ``Violation``, or what the driver threw.
    package func run(_ broker: any MessageBroker, _ name: String) async throws {
        let bench = Bench(broker: broker, name: name)
        switch self {
        case .publishedArrives: try await bench.publishedArrives()
        case .propertiesSurvive: try await bench.propertiesSurvive()
        case .unroutableIsReturned: try await bench.unroutableIsReturned()
        case .hintsNeedNoQueue: try await bench.hintsNeedNoQueue()
        case .resultsKeepTheirOrder: try await bench.resultsKeepTheirOrder()
        case .bigBodyArrives: try await bench.bodyArrives(size: 300_000)
        case .emptyBodyArrives: try await bench.bodyArrives(size: 0)
        case .manyPublishersAtOnce: try await bench.manyPublishersAtOnce()
        case .endedConsumerGivesBack: try await bench.endedConsumerGivesBack()
        case .prefetchBounds: try await bench.prefetchBounds()
        case .stopGivesBack: try await bench.stopGivesBack()
        case .acknowledgingOutOfOrder: try await bench.acknowledgingOutOfOrder()
        case .doubleAcknowledgementIsHarmless: try await bench.doubleAcknowledgementIsHarmless()
        case .deliveriesOfOtherConnectionsAreVoid: try await bench.deliveriesOfOtherConnectionsAreVoid()
        case .declaringTwice: try await bench.declaringTwice()
        case .otherArgumentsMismatch: try await bench.otherArgumentsMismatch()
        case .missingQueueIsRefused: try await bench.missingQueueIsRefused()
        case .eventsReachExclusiveQueues: try await bench.eventsReachExclusiveQueues()
        case .reportsReachAllQueuesOfAKey: try await bench.reportsReachAllQueuesOfAKey()
        case .consumersShareAQueue: try await bench.consumersShareAQueue()
        case .cancellationEndsNext: try await bench.cancellationEndsNext()
        case .missingExchangeIsAFault: try await bench.missingExchangeIsAFault()
        case .depthIsTold: try await bench.depthIsTold()
        }
    }
}
