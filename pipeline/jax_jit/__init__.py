"""Runs the pipeline inside `jax.jit`'s own compile. The public names are in `hloverlap`."""
