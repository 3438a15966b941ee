"""Writes the module of a sample on stdout, ``python -m hloverlap.tools.samples NAME``; without a name, the list."""

from __future__ import annotations

import argparse
import pathlib
import sys

from hloverlap.tools.samples import SAMPLES, Sample, sample
from hloverlap.tools.samples.lowering import module_text, use_cpu_devices


def _size(text: str) -> tuple[str, int]:
    name, found, value = text.partition("=")
    if not found or not value.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=NUMBER, such as rows=4096")
    return name, int(value)


def _write(folder: pathlib.Path) -> None:
    """Lowers every sample to a file in the folder: how the shipped modules are made."""
    use_cpu_devices(max(entry.devices for entry in SAMPLES))
    for entry in SAMPLES:
        (folder / f"{entry.name}.mlir").write_text(module_text(entry))


def _text(entry: Sample, arguments: argparse.Namespace) -> str:
    use_cpu_devices(arguments.devices or entry.devices)
    return module_text(entry, arguments.devices, **dict(arguments.size))


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns 0, or 1 with one line on stderr where the sample or its sizes are wrong."""
    parser = argparse.ArgumentParser(prog="python -m hloverlap.tools.samples", description=__doc__)
    parser.add_argument("name", nargs="?", help="the sample; without it they are listed")
    parser.add_argument("--devices", type=int, help="how many devices to lower for (default: the sample's own number)")
    parser.add_argument("--size", type=_size, action="append", default=[], help="NAME=NUMBER, a parameter of build")
    parser.add_argument("--emit", choices=["mlir"], default="mlir", help="form of the output (default: mlir)")
    parser.add_argument(
        "--write-all", type=pathlib.Path, metavar="FOLDER", help="lower every sample to FOLDER/NAME.mlir"
    )
    arguments = parser.parse_args(argv)
    try:
        if arguments.write_all:
            _write(arguments.write_all)
        elif arguments.name:
            sys.stdout.write(_text(sample(arguments.name), arguments))
        else:
            for entry in SAMPLES:
                print(f"{entry.name:22}{entry.topology:6}{entry.summary}")
    except (ValueError, OSError) as error:
        print(f"samples: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
