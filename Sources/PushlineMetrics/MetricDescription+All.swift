// The table of docs/operations.md is made of this one: `MetricTableTests` compares them.
extension MetricDescription {
    /// Every metric, in the order of the documentation.
    package static let all: [MetricDescription] =
        [
            buildInfo, brokerConnected, brokerBlocked, brokerPublished, brokerPublishDuration, brokerDelivered,
            brokerAcknowledged, brokerConnectionsFailed, brokerChannelsReplaced, brokerRefused, traceSpans,
        ] + [
            httpRequestDuration, httpRequestsInFlight, httpConnectionsEnded, signInFailures, signInTurnedAway,
            signInWaiting, publishDropped, jobWatchers, jobWatchReads, overviewReads,
        ] + [
            jobsAccepted, jobsFinished, unfinishedJobs, queueJobs, queueOldest, queuePauses, deadLetters,
            parkingMessages, registerJobs, sweeperPublished, retentionRemoved,
        ] + [
            deliveries, deliveryDelay, pushRequests, pushRequestDuration, pushBatchDuration, pushConnections,
            exchangesStopped, breakersOpen, breakersOpened, credentialExpiry,
        ] + [
            storeCommitDuration, storeCommitChanges, storeUnansweredCommits, storeLostCommits, storeBytes,
            storeLogBytes, storeFreeBytes, backupTime,
        ] + [
            processCPU, processMemory, processVirtualMemory, processOpenFiles, processMaximumFiles, processStart,
            processThreads,
        ]

    /// Bounds for durations, from half a millisecond to a minute.
    private static let seconds = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ]
    /// Bounds for times of up to days.
    private static let longSeconds = [
        0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 21_600, 86_400,
    ]
    /// Bounds for sizes and counts.
    private static let counts = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000, 1_000_000].map(Double.init)

    // MARK: Each process

    package static let buildInfo = MetricDescription(
        "pushline_build_info",
        .gauge,
        by: [.version, .role],
        "1, with the program's version and its `role`: `api`, `register-worker`, `send-worker` or `delivery-worker`"
    )
    package static let brokerConnected = MetricDescription(
        "pushline_broker_connected",
        .gauge,
        "1 while the process has its connections to RabbitMQ"
    )
    package static let brokerBlocked = MetricDescription(
        "pushline_broker_blocked",
        .gauge,
        "1 while a RabbitMQ alarm blocks publishing; known once the process publishes"
    )
    package static let brokerPublished = MetricDescription(
        "pushline_broker_published_total",
        .counter,
        by: [.result],
        "messages that were to be published, by `result`: `confirmed`, or `failed` (the sweeper publishes them again)"
    )
    package static let brokerPublishDuration = MetricDescription(
        "pushline_broker_publish_duration_seconds",
        .histogram,
        bounds: seconds,
        "from handing messages over until RabbitMQ has confirmed them all, once for all that are published together"
    )
    package static let brokerDelivered = MetricDescription(
        "pushline_broker_delivered_total",
        .counter,
        "messages that came from RabbitMQ, redelivered ones included"
    )
    package static let brokerAcknowledged = MetricDescription(
        "pushline_broker_acknowledged_total",
        .counter,
        "messages that were acknowledged to RabbitMQ"
    )
    package static let brokerConnectionsFailed = MetricDescription(
        "pushline_broker_connections_failed_total",
        .counter,
        by: [.connection],
        "connections to RabbitMQ that were lost or could not be made, by `connection`: `publisher`, `consumer` or `events`"
    )
    package static let brokerChannelsReplaced = MetricDescription(
        "pushline_broker_channels_replaced_total",
        .counter,
        "channels that were replaced because RabbitMQ refused a message on them: what was in flight there is published again"
    )
    package static let brokerRefused = MetricDescription(
        "pushline_broker_refused_total",
        .counter,
        by: [.queue],
        "messages that RabbitMQ refused for a queue, or would have: a full one, or one without a majority; they are deferred"
    )

    // MARK: The API

    package static let httpRequestDuration = MetricDescription(
        "http_server_request_duration_seconds",
        .histogram,
        in: [.api],
        by: [.httpMethod, .httpRoute, .httpStatus],
        bounds: seconds,
        "requests by method, route and status, in OpenTelemetry's names; without a valid sign-in the route is `unauthenticated`"
    )
    package static let httpRequestsInFlight = MetricDescription(
        "pushline_http_requests_in_flight",
        .gauge,
        in: [.api],
        "requests that have come and are not answered yet"
    )
    package static let httpConnectionsEnded = MetricDescription(
        "pushline_http_connections_ended_total",
        .counter,
        by: [.reason],
        "connections that the server closed, by `reason`: `silent` (no request in time), `stalled` (the client did not read its "
            + "response), `evicted` (closed to make room), `peer` (too many from one address), `full` (all others were busy)"
    )
    package static let signInFailures = MetricDescription(
        "pushline_signin_failures_total",
        .counter,
        in: [.api],
        by: [.app, .reason],
        "failed sign-ins, by `reason`: `password` (wrong name or password), `key` (no such key, or revoked), `token` (a token of the app's "
            + "own that is not valid, or names nobody who may sign in)"
    )
    package static let signInTurnedAway = MetricDescription(
        "pushline_signin_turned_away_total",
        .counter,
        in: [.api],
        by: [.app],
        "sign-ins that were answered 503 because others went first"
    )
    package static let signInWaiting = MetricDescription(
        "pushline_signin_waiting",
        .gauge,
        in: [.api],
        "password checks that wait for a thread"
    )
    package static let publishDropped = MetricDescription(
        "pushline_api_publish_dropped_total",
        .counter,
        in: [.api],
        "messages that found no room in the API's publish queue (4,096 messages) because the broker is slow or away; nothing is lost, "
            + "the sweeper publishes them a second later"
    )
    package static let jobWatchers = MetricDescription(
        "pushline_job_watchers",
        .gauge,
        in: [.api],
        "answers under way that tell of a job's changes (`GET /api/jobs/{id}/events`)"
    )
    package static let jobWatchReads = MetricDescription(
        "pushline_job_watch_reads_total",
        .counter,
        in: [.api],
        "reads of the store for those who watch jobs; one reads up to 200 jobs"
    )
    package static let overviewReads = MetricDescription(
        "pushline_overview_reads_total",
        .counter,
        in: [.api],
        "reads of the store for overviews (`GET /api/overview`): two every other second while anybody looks"
    )

    // MARK: Jobs and queues

    package static let jobsAccepted = MetricDescription(
        "pushline_jobs_accepted_total",
        .counter,
        in: [.api],
        by: [.kind],
        "jobs that this API has accepted, by `kind`: `register` or `send`; repeated requests do not count"
    )
    package static let jobsFinished = MetricDescription(
        "pushline_jobs_finished_total",
        .counter,
        by: [.state],
        "jobs that this process has brought to their end, by the final state; one that is replayed counts again"
    )
    package static let unfinishedJobs = MetricDescription(
        "pushline_unfinished_jobs",
        .gauge,
        in: [.api],
        "accepted jobs that are not final, of all apps; in the API's metrics alone, each API exports the same value"
    )
    package static let queueJobs = MetricDescription(
        "pushline_queue_jobs",
        .gauge,
        in: [.api],
        by: [.queue],
        "jobs (`deliver` queues: batches) waiting, in progress or to be retried; counts at most 10,000 messages a queue, refreshed "
            + "every 10 s; in the API's metrics alone, each API exports the same value"
    )
    package static let queueOldest = MetricDescription(
        "pushline_queue_oldest_seconds",
        .gauge,
        in: [.api],
        by: [.queue],
        "age of the oldest waiting job, since acceptance or scheduled start; retries excluded; 0 = empty; in the API's metrics alone, "
            + "each API exports the same value"
    )
    package static let queuePauses = MetricDescription(
        "pushline_queue_pauses",
        .gauge,
        in: [.registerWorker, .sendWorker, .deliveryWorker],
        by: [.queue],
        "how many pauses of a queue the worker knows of"
    )
    package static let deadLetters = MetricDescription(
        "pushline_dead_letters",
        .gauge,
        in: [.api],
        "dead letters not replayed or discarded, counted up to 10,000; in the API's metrics alone, each API exports the same value"
    )
    package static let parkingMessages = MetricDescription(
        "pushline_parking_messages",
        .gauge,
        in: [.sendWorker],
        "messages in the parking queue; in the send worker's metrics, read every 10 seconds"
    )
    package static let registerJobs = MetricDescription(
        "pushline_register_jobs_total",
        .counter,
        in: [.registerWorker],
        by: [.outcome],
        "registrations by `outcome`: `issued`, `done`, `superseded`, `gone`, `not-found`, `refused`, `unknown`"
    )
    package static let sweeperPublished = MetricDescription(
        "pushline_sweeper_published_total",
        .counter,
        in: [.api, .sendWorker],
        by: [.kind],
        "messages that had to be published again, retries and what a crash left, by `kind`: `register`, `send` or `deliver`"
    )
    package static let retentionRemoved = MetricDescription(
        "pushline_retention_removed_total",
        .counter,
        in: [.api, .sendWorker],
        "rows removed because their retention time had passed"
    )

    // MARK: Deliveries

    package static let deliveries = MetricDescription(
        "pushline_deliveries_total",
        .counter,
        in: [.deliveryWorker],
        by: [.service, .app, .outcome],
        "devices by `outcome`: `accepted`, `failed`, `expired` and `cancelled` are for good; `retried` will be tried again"
    )
    package static let deliveryDelay = MetricDescription(
        "pushline_delivery_delay_seconds",
        .histogram,
        in: [.deliveryWorker],
        by: [.service, .priority],
        bounds: longSeconds,
        "from a job's acceptance, or the start that was asked for, until the push service had accepted devices of a batch; one "
            + "observation for each batch, whatever its size, and each of its attempts in which a device was accepted"
    )
    package static let pushRequests = MetricDescription(
        "pushline_push_requests_total",
        .counter,
        in: [.deliveryWorker],
        by: [.service, .answerClass],
        "requests to a push service, one for each device of a batch, however often it is repeated within a send; `class` says how the "
            + "answer was taken (below), and `unsent` that there was none"
    )
    package static let pushRequestDuration = MetricDescription(
        "pushline_push_request_duration_seconds",
        .histogram,
        in: [.deliveryWorker],
        by: [.service],
        bounds: seconds,
        "time from request to response of a push service, sampled: one of 64 on a connection"
    )
    package static let pushBatchDuration = MetricDescription(
        "pushline_push_batch_duration_seconds",
        .histogram,
        in: [.deliveryWorker],
        by: [.service],
        bounds: seconds,
        "from a batch's first request to its last answer, repeats and waiting for a connection included"
    )
    package static let pushConnections = MetricDescription(
        "pushline_push_connections",
        .gauge,
        in: [.deliveryWorker],
        by: [.service],
        "HTTP/2 connections to APNs and FCM, of all apps; those to WNS and browsers' push services are not counted"
    )
    package static let exchangesStopped = MetricDescription(
        "pushline_exchanges_stopped_total",
        .counter,
        by: [.peer, .stage],
        "requests to others that came to their deadline, by `peer`: `apns`, `fcm`, `wns`, `web`, `token` (the token services of FCM and "
            + "WNS), `keys` (of apps' own issuers), `hub` (Azure's), `channels` (Apple's), `collector` (of spans), and by the `stage` in "
            + "which they stopped: "
            + "`connect` (nothing was sent), `head`, `body` (its end included), `sender` (the sender did not come back)"
    )
    package static let breakersOpen = MetricDescription(
        "pushline_breakers_open",
        .gauge,
        in: [.deliveryWorker],
        by: [.service, .app],
        "how many of an app's credentials at a push service are held back; there is none before it happens for the first time"
    )
    package static let breakersOpened = MetricDescription(
        "pushline_breakers_opened_total",
        .counter,
        in: [.deliveryWorker],
        by: [.service, .app, .cause],
        "how often an app's messages began to be held back, by `cause`: `service`, `credentials` or `tokens`"
    )
    package static let credentialExpiry = MetricDescription(
        "pushline_credential_expiry_timestamp_seconds",
        .gauge,
        in: [.api, .deliveryWorker],
        by: [.app, .credential],
        "when a certificate or secret ends, since 1970, by app (empty: the process's own) and setting; for the apps that the "
            + "worker sends for"
    )

    // MARK: The store

    package static let storeCommitDuration = MetricDescription(
        "pushline_store_commit_duration_seconds",
        .histogram,
        bounds: seconds,
        "a commit of the store by this process, waiting for other processes included"
    )
    package static let storeCommitChanges = MetricDescription(
        "pushline_store_commit_changes",
        .histogram,
        bounds: counts,
        "how many changes a commit of the store held"
    )
    package static let storeUnansweredCommits = MetricDescription(
        "pushline_store_unanswered_commits_total",
        .counter,
        by: [.outcome],
        "commits to PostgreSQL whose answer was lost, by what became of them: `committed`, `repeated`, `unknown`"
    )
    package static let storeLostCommits = MetricDescription(
        "pushline_store_lost_commits_total",
        .counter,
        "commits that PostgreSQL had acknowledged and has no more: it was restored, or a standby without them took over"
    )
    package static let storeBytes = MetricDescription(
        "pushline_store_bytes",
        .gauge,
        in: [.api],
        "the store's file; in the API's metrics alone, each API exports the same value"
    )
    package static let storeLogBytes = MetricDescription(
        "pushline_store_wal_bytes",
        .gauge,
        in: [.api],
        "the store's write-ahead log, likewise"
    )
    package static let storeFreeBytes = MetricDescription(
        "pushline_store_free_bytes",
        .gauge,
        in: [.api],
        "what the file system of the store has left, likewise"
    )
    package static let backupTime = MetricDescription(
        "pushline_backup_timestamp_seconds",
        .gauge,
        in: [.api],
        "when pushline store backup last made one; without one there is no series"
    )
}
