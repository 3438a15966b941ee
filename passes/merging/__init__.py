"""How merge-cross-host-transfers decides what is merged, and in which way."""
