"""What XLA will really do with a module's collectives, proven by compiling it for a target that need not be there."""
