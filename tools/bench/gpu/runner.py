"""Runs one case at a time: compiled in every variant, checked against plain jit, timed in turn, traced."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import pathlib
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax

from hloverlap.passes.machine import targets
from hloverlap.passes.machine.topology import Topology
from hloverlap.passes.mlir.modules import bytecode
from hloverlap.passes.remark import Remark
from hloverlap.pipeline.jax_jit import aot
from hloverlap.tools.bench.gpu import measuring, overlap, predicting
from hloverlap.tools.bench.gpu.cases import Case
from hloverlap.tools.bench.gpu.journal import Journal, Order
from hloverlap.tools.bench.gpu.variants import AUTO, BY_NAME, PLAIN, WITHIN, Variant

_TRACED_RUNS = 3
_PARALLEL = 8


@dataclasses.dataclass
class Built:
    """A variant of the case at hand."""

    call: Callable[..., Any] | None
    """The executable, None where there is none."""
    told: dict[str, Any]
    """What the report gets."""
    key: str = ""


class Runner:
    """Runs cases on some devices; see `Order`."""

    def __init__(self, order: Order, journal: Journal, devices: Sequence[jax.Device], folder: pathlib.Path) -> None:
        self._order = order
        self._journal = journal
        self._devices = devices
        self._target = targets.of_device(devices[0].platform, devices[0].device_kind)
        self._folder = folder

    def run(self, case: Case) -> bool:
        """Measures a case; False after a fault, when this process is not to be trusted any more."""
        started = time.time()
        self._at(case, "", "lower")
        try:
            program = case.build(self._devices)
            lowered = program.lower()
        except ValueError as error:
            self._journal.write("skipped", case=case.name, reason=str(error))
            return True
        built = self._compile_all(case, lowered)
        runs = self._order.mode == "measure" and built[PLAIN].call is not None
        if runs:
            self._at(case, "", "inputs")
            args = measuring.inputs(program.args)
            if not self._check(case, built, args):
                return False
            self._tell(case, built, started, last=False)
            if not self._time(case, built, args):
                return False
        self._tell(case, built, started, last=True)
        return not (runs and case.profiled) or self._profile(case, built, args)

    def _tell(self, case: Case, built: Mapping[str, Built], started: float, last: bool) -> None:
        """Writes what is known so far. last: all that is asked for, but for traces."""
        result = {
            "name": case.name,
            "family": case.family,
            "bytes": case.bytes,
            "sent": case.sent,
            "steps": case.steps,
            "took": time.time() - started,
            "variants": {name: each.told for name, each in built.items()},
        }
        self._journal.write("result", case=case.name, last=last, result=result)

    def _at(self, case: Case, variant: str, phase: str) -> None:
        self._journal.write("at", case=case.name, variant=variant, phase=phase)

    # --- compiling ----------------------------------------------------------------------------------------------------

    def _compile_all(self, case: Case, lowered: jax.stages.Lowered) -> dict[str, Built]:
        """Compiles plain first.

        XLA keeps the matmul algorithms that it picked, so that all variants compute with the same.
        """
        faults = {**self._order.faults.get("*", {}), **self._order.faults.get(case.name, {})}
        built = {name: Built(None, {"status": faults[name]}) for name in case.variants if name in faults}
        wanted = [name for name in case.variants if name not in faults]
        careful = case.name in self._order.careful
        workers = 1 if careful else max(1, min(_PARALLEL, (os.cpu_count() or 1) // 2))
        for group in (wanted[:1], wanted[1:]):
            if workers > 1 and len(group) > 1:
                self._at(case, "*", "compile")
                with ThreadPoolExecutor(workers) as pool:
                    made = list(pool.map(functools.partial(self._compile, case, lowered, False), group))
            else:
                made = [self._compile(case, lowered, True, name) for name in group]
            built |= dict(zip(group, made, strict=True))
        self._join_equal(built)
        return {name: built[name] for name in case.variants}

    def _compile(self, case: Case, lowered: jax.stages.Lowered, alone: bool, name: str) -> Built:
        if alone:
            self._at(case, name, "compile")
        variant = BY_NAME[name]
        dump = self._folder / "dumps" / f"{case.name.replace('/', '-')}-{name}"
        started = time.time()
        try:
            return self._built(lowered, variant, dump)
        except Exception as error:  # whatever XLA says is this variant's result
            text = " ".join(str(error).split())[:300]
            missing = "No such compile option" in text
            return Built(None, {"status": f"not available: {text}" if missing else f"failed to compile: {text}"})
        finally:
            shutil.rmtree(dump, ignore_errors=True)
            if not alone:
                self._journal.write("compiled", case=case.name, variant=name, took=time.time() - started)

    def _built(self, lowered: jax.stages.Lowered, variant: Variant, dump: pathlib.Path) -> Built:
        options = {**variant.options, **predicting.dump_options(dump)}
        module = ""
        remarks: tuple[Remark, ...] = ()
        if variant.pipeline:
            rewritten = aot.compile(lowered, variant.pipeline, compiler_options=options)
            call: Any = rewritten.compiled
            options = dict(rewritten.compiler_options)
            remarks = rewritten.result.remarks
            if rewritten.result.changed:
                module = hashlib.sha256(bytecode(rewritten.result.module)).hexdigest()
        else:
            call = lowered.compile(compiler_options=options)  # type: ignore[arg-type]  # 0.10.2 takes integers, too
        told = {name: value for name, value in sorted(options.items()) if name not in predicting.DUMP_OPTIONS}
        prediction = predicting.predict(dump, options, self._target, Topology.regular(1, 1, len(self._devices)))
        return Built(
            call,
            {
                "status": "compiled",
                "options": told,
                "remarks": sorted({f"{remark.code} {remark.message}" for remark in remarks})[:8],
                "predicted": dataclasses.asdict(prediction) if prediction else None,
            },
            f"{module} {told}",
        )

    def _join_equal(self, built: Mapping[str, Built]) -> None:
        """Joins variants that are the same module with the same options: they are measured once."""
        first: dict[str, str] = {}
        for name, each in built.items():
            if each.call is not None and first.setdefault(each.key, name) != name:
                each.call = None
                each.told["same_as"] = first[each.key]

    # --- running ------------------------------------------------------------------------------------------------------

    def _guarded(self, case: Case, name: str, phase: str, work: Callable[[], Any]) -> tuple[bool, Any]:
        self._at(case, name, phase)
        try:
            return True, work()
        except Exception as error:  # whatever the runtime says is this variant's result
            text = " ".join(str(error).split())[:300]
            self._journal.write("fault", case=case.name, variant=name, message=f"failed to run: {text}")
            return False, None

    def _check(self, case: Case, built: Mapping[str, Built], args: tuple[Any, ...]) -> bool:
        """Runs each variant once and compares what it gives with what plain jit gave."""
        expected: Any = None

        def work(each: Built) -> None:
            nonlocal expected
            assert each.call is not None
            result = jax.block_until_ready(each.call(*args))
            if expected is None:
                expected = result
                each.told["status"] = "ran"
                each.told["magnitude"] = measuring.magnitude(result)
            else:
                each.told["status"] = "ran"
                each.told["equal"], each.told["difference"] = measuring.compare(expected, result)

        runnable = {name: each for name, each in built.items() if each.call is not None}
        return all(
            self._guarded(case, name, "run", functools.partial(work, each))[0] for name, each in runnable.items()
        )

    def _time(self, case: Case, built: Mapping[str, Built], args: tuple[Any, ...]) -> bool:
        calls = {name: functools.partial(each.call, *args) for name, each in built.items() if each.call is not None}
        queue = self._devices[0].platform != "cpu"
        seconds = min(self._order.case_seconds, max(1.0, self._order.deadline - time.time() - 5))
        beat = functools.partial(self._at, case, "*", "time")
        auto = built[AUTO].told.get("same_as", AUTO) if AUTO in built else PLAIN

        def enough(samples: measuring.Samples) -> bool:
            ratios = (measuring.Ratio.of(samples[auto], each) for each in samples.values())
            return auto not in samples or all(ratio.decides(1 + WITHIN) for ratio in ratios)

        good, times = self._guarded(case, "*", "time", lambda: measuring.in_turn(calls, seconds, queue, beat, enough))
        if not good:
            return False
        plain: measuring.Times = times[PLAIN]
        for name, taken in times.items():
            ratios = measuring.Times.of([a / b for a, b in zip(plain.samples, taken.samples, strict=True)])
            built[name].told |= {
                "status": "measured",
                "seconds": taken.median,
                "quartiles": [taken.low, taken.high],
                "rounds": len(taken.samples),
                "speedup": ratios.median,
                "speedup_quartiles": [ratios.low, ratios.high],
            }
            if auto in times:
                ratio = measuring.Ratio.of(times[auto].samples, taken.samples)
                built[name].told["auto_over_this"] = [ratio.median, ratio.low, ratio.high]
            if case.sent:
                built[name].told["bytes_per_second"] = case.sent / taken.median
        return True

    def _profile(self, case: Case, built: Mapping[str, Built], args: tuple[Any, ...]) -> bool:
        """Traces a few runs of each variant; what was timed is in the journal already."""
        for name, each in built.items():
            if each.call is None:
                continue
            folder = self._folder / "traces" / f"{case.name.replace('/', '-')}@{name}"

            def work(call: Callable[..., Any] = each.call, folder: pathlib.Path = folder) -> None:
                with jax.profiler.trace(str(folder)):
                    for _ in range(_TRACED_RUNS):
                        jax.block_until_ready(call(*args))

            if not self._guarded(case, name, "profile", work)[0]:
                return False
            traced = overlap.read_trace(folder)
            found = {device: dataclasses.asdict(overlap.measure(intervals)) for device, intervals in traced.items()}
            together = overlap.share_together(traced.values())
            self._journal.write("profile", case=case.name, variant=name, devices=found, together=together)
        return True
