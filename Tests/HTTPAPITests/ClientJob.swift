import PushlineClient

/// The client library's job: its module has a type of the module's name, so that nobody can say whose `Job` is meant where both are known.
typealias ClientJob = Job
