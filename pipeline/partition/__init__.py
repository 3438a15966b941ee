"""XLA's partitioner run first: a sharded program becomes one of devices, whose transfers are ops that passes see."""
