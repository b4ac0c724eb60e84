"""Write docs/results/fuzz.md from the reports of fuzz runs.

ROTOR_FUZZ_INPUTS=100000 ROTOR_FUZZ_REPORT=my/fuzz.json ./rotor test tests/fuzz tests/offline/fuzz
./rotor python docs/scripts/make_fuzz_report.py my/fuzz.json ...
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
BORDERS = {
    "yaml": "scenarios: mutated shipped files and nasty texts; what loads is built and flown for some periods",
    "urdf": "robot descriptions: entities, paths, numbers, structure",
    "studies": "studies and tasks of optimization: mutated shipped files, places and distributions that are not there",
    "meshes": "meshes (STL, OBJ, PLY) and height fields of obstacles, cut off and with changed bits",
    "autopilots": "datagrams and streams of PX4 (MAVLink), ArduPilot and Betaflight over real sockets",
    "libraries": "shared libraries of controllers: damaged, crashing, hanging, answering anything",
    "browser": "requests, WebSocket handshakes and messages of pages to the viewer",
    "command_line": "arguments of all commands; nothing may be written outside the folder given",
    "recordings": "bags, CSV, TUM and NPZ files, cut off and with changed bits",
    "messages": "topics of running nodes: numbers, sizes, frames, stamps, epochs, raw bytes, floods",
    "services": "services and actions of running nodes in every state and order",
}


def main() -> None:
    """Add up and write."""
    totals = {
        name: dict.fromkeys(("inputs", "accepted", "refused", "failed"), 0) for name in BORDERS
    }
    for name in sys.argv[1:]:
        for suite, told in json.loads(Path(name).read_text()).items():
            for key in ("inputs", "accepted", "refused"):
                totals[suite][key] += told[key]
            totals[suite]["failed"] += len(told["failures"])
    rows = "\n".join(
        f"| {name} | {what} | {t['inputs']} | {t['accepted']} | {t['refused']} | {t['failed']} |"
        for (name, what), t in zip(BORDERS.items(), totals.values(), strict=True)
    )
    whole = sum(t["inputs"] for t in totals.values())
    text = f"""# Fuzz

Inputs thrown at every border, and the verdict on each: accepted (and flown on), refused in one clear line, or failed: a
traceback, a hang, a state that is not finite, a write outside the folder, a line nobody can read. `./rotor test` throws
2,000 each time. These are {whole}; the long mode throws 100,000 and takes about an hour on two cores:

    ROTOR_FUZZ_INPUTS=100000 ROTOR_FUZZ_REPORT=my/fuzz.json ./rotor test tests/fuzz tests/offline/fuzz
    ./rotor python docs/scripts/make_fuzz_report.py my/fuzz.json

| border | what | inputs | accepted | refused | failed |
|---|---|---|---|---|---|
{rows}

An input is known by its seed, border and number:
`ROTOR_FUZZ_SEED=0 ROTOR_FUZZ_ONLY=yaml:17 ./rotor test tests/offline/fuzz`
throws it again (bursts of messages and sequences of services: the seed and the number of inputs).
"""
    (DOCS / "results" / "fuzz.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
