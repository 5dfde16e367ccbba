import Testing

/// What puts load on a ``Plant``: one after the other, else the simulators fall behind and answers come too late.
@Suite(.serialized) enum PlantTests {}
