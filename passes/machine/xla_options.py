"""Names XLA's options: what each does, and which of those asked for may be added to a compile.

Those called ``xla_gpu_…`` are XLA:GPU's. Where no version is said, jaxlib 0.10.2 has the option already.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping

CompileOption = int | bool | str

OVERLAP_LIMIT = "xla_gpu_experimental_parallel_collective_overlap_limit"
"""How many collectives the scheduler lets be in flight at once, 1 by default: of more it serializes them, or makes one
synchronous."""

PERMUTE_MODE = "xla_gpu_collective_permute_mode"
"""How every permute of the module is done: `PEER_MEMORY`, or by NCCL, which is the default."""

PEER_MEMORY = "COLLECTIVES_PEER_MEMORY"
"""The value of `PERMUTE_MODE` for copies from device to device, which XLA makes inside one process."""

COMBINE_THRESHOLD = "xla_gpu_collective_permute_combine_threshold_bytes"
"""Up to how many bytes XLA joins permutes with equal pairs into one launch; 0 keeps all apart."""

COMBINE_THRESHOLD_DEFAULT = 30 * 1024 * 1024
"""The default of `COMBINE_THRESHOLD`."""

DOT_MERGER = "xla_gpu_dot_merger_threshold_mb"
"""Up to how many megabytes XLA merges matmuls that share an operand, 32 by default; 0 keeps all apart."""

MULTI_STREAMING = "xla_gpu_experimental_enable_collective_multi_streaming"
"""Whether XLA gives collectives several streams by itself."""

DISABLED_PASSES = "xla_disable_hlo_passes"
"""The names, by commas, of XLA's passes that are not to run."""

EXCESS_PRECISION = "xla_allow_excess_precision"
"""Whether XLA may keep more bits between ops than their type has."""

COST_STATISTICS = "xla_gpu_collect_cost_model_stats"
"""Whether XLA writes beside each kernel of its dump how long that takes at least."""

DUMP_TO = "xla_dump_to"
"""The folder in which XLA leaves what it made of a module."""

DUMP_HLO_AS_TEXT = "xla_dump_hlo_as_text"
"""Whether it leaves HLO text there."""

GROUPS_AS_AXES = "xla_enable_rgv3_materialization"
"""Whether the partitioner writes replica groups as axes of a mesh. From HLO with a mesh whose devices are in another
order than that of their ids, the conversion to StableHLO of jaxlib 0.10.2 makes groups of other devices."""

DUMP_HLO_AS_PROTO = "xla_dump_hlo_as_proto"
"""Whether it leaves serialized HLO there."""

DUMP_AFTER_PASSES = "xla_dump_hlo_pass_re"
"""A regular expression of the names of XLA's passes, before and after which it leaves the module there too."""

# What jax calls a backend whose XLA knows the options that passes ask for.
GPU_PLATFORMS = ("gpu", "cuda", "rocm")


def to_add(platform: str, asked: Mapping[str, CompileOption], given: Collection[str]) -> dict[str, CompileOption]:
    """Gives the options of `asked` that neither `given` (names the user set for this compile) nor XLA_FLAGS names.

    It gives none where `platform` is no GPU: XLA refuses options that a backend does not have.
    """
    if platform not in GPU_PLATFORMS:
        return {}
    taken = {*given, *in_environment()}
    return {name: value for name, value in asked.items() if name not in taken}


def in_environment() -> set[str]:
    """Lists the names of the options in XLA_FLAGS, which holds flags or the path of a file with flags."""
    text = os.environ.get("XLA_FLAGS", "")
    if text and not text.lstrip().startswith("-"):
        try:
            with open(text.strip(), encoding="utf-8") as file:
                text = file.read()
        except OSError:
            return set()  # XLA itself complains
    return set(re.findall(r"--?(xla_\w+)", text))
