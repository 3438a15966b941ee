"""How passes meet a module: reading, ordering, running, jit, compiling, checking."""
