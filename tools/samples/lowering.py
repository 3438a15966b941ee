"""Lowers a sample to the text of its module, the same on every machine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from hloverlap.tools.samples import Sample

# Source locations: the innermost line of the program only, and its file as named from the repository's root.
_SETTINGS: Mapping[str, Any] = {
    "jax_include_full_tracebacks_in_locations": False,
    "jax_hlo_source_file_canonicalization_regex": r"^.*[/\\](?=tools[/\\]samples[/\\])",
}


def use_cpu_devices(count: int) -> None:
    """Gives this process ``count`` virtual CPU devices and no others. Raises RuntimeError once JAX has started."""
    import jax

    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_num_cpu_devices", count)


@contextlib.contextmanager
def _settings() -> Iterator[None]:
    import jax

    before = {name: getattr(jax.config, name) for name in _SETTINGS}
    try:
        for name, value in _SETTINGS.items():
            jax.config.update(name, value)
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


def module_text(sample: Sample, devices: int | None = None, **sizes: Any) -> str:
    """Writes the sample's StableHLO with source locations, for ``devices`` devices or the sample's own number."""
    import jax

    # A function of JAX such as jnp.roll is traced once a process and keeps the line that first called it.
    jax.clear_caches()
    with _settings():
        return sample.build(jax.devices()[: devices or sample.devices], **sizes).lower().as_text(debug_info=True)
