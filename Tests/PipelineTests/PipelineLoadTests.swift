import Testing

/// What puts load on a ``PipelineHarness``: one after the other, else the simulators fall behind and answers come too late.
@Suite(.serialized) enum PipelineLoadTests {}
