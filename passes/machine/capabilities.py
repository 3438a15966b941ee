"""Knows what the XLA that compiles a module can do, by its version."""

from __future__ import annotations

import dataclasses
import functools
import re


@dataclasses.dataclass(frozen=True)
class Capabilities:
    """Says what differs between versions of XLA:GPU, as far as a pass has to care. The defaults are jaxlib 0.12's."""

    group_overlaps_compute: bool = True
    """Whether a ``_collectives_group`` runs beside compute; in 0.10.2 XLA waits for it at once."""

    keeps_groups: bool = True
    """Whether a group in a loop stays whole; 0.10.2 compiles one only if it may take it apart."""

    reserved_streams: frozenset[int] = frozenset({0, 1, 2, 3})
    """The communication streams that XLA uses by itself, so that an annotation with one of these numbers shares it.

    0 is that of every collective without an annotation, 1 and 2 are those of pipelined sends and receives, and 3, from
    0.11.2 on, is that of the scale-up domain.
    """

    has_scale_up_domain: bool = True
    """Whether XLA knows the frontend attribute ``collective_communication_domain``, which is so from 0.11.2 on."""

    annotates_compute: bool = True
    """Whether XLA reads a stream annotation on compute that is no call, and makes it asynchronous; 0.10.2 does not."""

    keeps_joined_streams: bool = False
    """Whether permutes that the combiner joins stay on the stream that they name; on 0.10.2, if it is one."""

    knows_async_pairs: bool = True
    """Whether XLA knows the custom calls by which a program starts and ends a collective itself; 0.10.2 does not."""

    @property
    def first_stream(self) -> int:
        """Gives the first communication stream from which on none is reserved."""
        return 1 + max(self.reserved_streams)


def of_version(version: str) -> Capabilities:
    """Says what the XLA in the jaxlib of this version can do, such as ``0.12.0.1``."""
    found = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    has_domain = found >= (0, 11, 2)
    return Capabilities(
        group_overlaps_compute=found >= (0, 12),
        keeps_groups=found >= (0, 11),
        reserved_streams=frozenset(range(4 if has_domain else 3)),
        has_scale_up_domain=has_domain,
        annotates_compute=found >= (0, 11),
        keeps_joined_streams=found < (0, 11),
        knows_async_pairs=found >= (0, 12),  # nothing between 0.10.2 and 0.12.0 was tried
    )


@functools.cache
def capabilities() -> Capabilities:
    """Says what the XLA of the jaxlib that is installed can do."""
    from jaxlib import version

    return of_version(version.__version__)
