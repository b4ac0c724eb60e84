"""Libraries of controllers that are damaged or do anything: a flight that goes on, or one line; this process lives."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from fuzz import budget, damage, nasty
from fuzz.verdicts import ACCEPTED, REFUSED, UnclearError, check_line, judge

from rotor_adapters.library.interface import HEADER
from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError
from rotor_flight.loop import ClosedLoop

ROOT = Path(__file__).parents[3]
SOURCES = [ROOT / "examples" / "library" / "cascaded_pid.c", ROOT / "tests" / "data" / "library" / "odd.c"]  # fmt: skip
PERIODS = 120
"""Long enough for what odd.c does from half a second on."""

SCENARIO = """\
schema: 1
model: {{vehicles: [{{use: dragonfly}}]}}
controller: {{type: library, path: fuzz.so, isolated: true, patience_s: 0.3, latency_s: {latency}, parameters: {parameters}}}
time: {{control_s: 0.005, step_s: 0.005}}
"""


@pytest.mark.timeout(budget.TIME_LIMIT)
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_whatever_a_library_does_the_flight_goes_on_or_it_is_refused(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    files = []
    for source in SOURCES:
        out = tmp_path / f"{source.stem}.so"
        command = ["cc", "-O1", "-shared", "-fPIC", "-I", str(HEADER.parent), str(source), "-lm"]
        subprocess.run([*command, "-o", str(out)], check=True)
        files.append(out.read_bytes())

    def attempt(rng, number):
        data = nasty.pick(rng, files)
        kind = rng.random()
        if kind < 0.1:
            data = nasty.pick(rng, [b"", b"\x7fELF", b"not a library", data[:64], data[: len(data) // 2]])  # fmt: skip
        elif kind < 0.7:
            data = damage.damaged(rng, data, most=4)
        (tmp_path / "fuzz.so").write_bytes(data)
        parameters = nasty.pick(rng, ["{}", f"{{mode: {int(rng.integers(10))}}}", "{mode: 1e300, x: 1}", "{'': 0}"])  # fmt: skip
        (tmp_path / "s.yaml").write_text(SCENARIO.format(parameters=parameters, latency=nasty.pick(rng, ["0.0", "0.012", "1e9"])))  # fmt: skip
        try:
            loop = ClosedLoop(load_scenario(str(tmp_path / "s.yaml")))
        except ConfigError as error:
            if "fuzz.so" not in str(error) and "s.yaml:" not in str(error):
                raise UnclearError(f"does not name the library: {error}") from error
            raise
        law = loop.controller.laws[0]
        try:
            with np.errstate(all="ignore"):
                for _ in range(PERIODS):
                    loop.period()
            assert np.isfinite(loop.simulation.motion).all(), "a state is not finite"
            for text in law.faults.values():
                check_line(text)
            return REFUSED if law.faults else ACCEPTED
        finally:
            law.close()
            capfd.readouterr()

    judge("libraries", attempt)
