"""Says what XLA will really do with a module's collectives, by compiling it for a target that need not be there."""
