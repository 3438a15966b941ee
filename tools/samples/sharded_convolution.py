"""A convolution of images that are divided by rows, by automatic sharding: the partitioner exchanges the halos."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from hloverlap.tools.samples.program import Program, divide


def build(
    devices: Sequence[jax.Device], *, batch: int = 2, height: int = 64, width: int = 32, channels: int = 4
) -> Program:
    """f32[batch, height, width, channels] divided by rows, f32[3, 3, channels, channels] -> the convolved images."""
    divide(height, len(devices), "height")
    mesh = Mesh(np.array(devices), ("rows",))
    split = NamedSharding(mesh, P(None, "rows"))

    def convolve(images: jax.Array, kernel: jax.Array) -> jax.Array:
        result = jax.lax.conv_general_dilated(
            images, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return jax.lax.with_sharding_constraint(result, split)

    def reference(images: np.ndarray, kernel: np.ndarray) -> np.ndarray:
        padded = np.pad(images, [(0, 0), (1, 1), (1, 1), (0, 0)])
        result = np.zeros_like(images)
        for row in range(3):
            for column in range(3):
                result += padded[:, row : row + height, column : column + width] @ kernel[row, column]
        return result

    return Program(
        convolve,
        (
            jax.ShapeDtypeStruct((batch, height, width, channels), jnp.float32, sharding=split),
            jax.ShapeDtypeStruct((3, 3, channels, channels), jnp.float32, sharding=NamedSharding(mesh, P())),
        ),
        reference,
        tolerance=1e-4,
    )
