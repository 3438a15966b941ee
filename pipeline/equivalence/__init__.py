"""Says whether two modules compute the same bits, by running both or by comparing what they send."""
