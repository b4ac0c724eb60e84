"""Write docs/results/fuzz.md from the reports of fuzz runs.

ROTOR_FUZZ_INPUTS=100000 ROTOR_FUZZ_REPORT=my/fuzz.json ./rotor test tests/fuzz tests/offline/fuzz
./rotor python docs/scripts/make_fuzz_report.py my/fuzz.json ...
"""

from __future__ import annotations

import argparse
import json
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


KEYS = ("inputs", "accepted", "refused", "failed")


def totals(files: list[Path]) -> dict[str, dict[str, int]]:
    """Counts by border, added up over reports; a later one of the same border and seed replaces a former."""
    told: dict[tuple[str, int], dict] = {}
    for file in files:
        for suite, one in json.loads(file.read_text()).items():
            told[suite, one["seed"]] = one | {"failed": len(one["failures"])}
    out = {name: dict.fromkeys(KEYS, 0) for name in BORDERS}
    for (suite, _), one in told.items():
        for key in KEYS:
            out[suite][key] += one[key]
    return out


def main() -> None:
    """Add up and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="+", type=Path, help="of a run")
    parser.add_argument("--again", nargs="*", type=Path, default=[], help="of the same run later")
    options = parser.parse_args()
    first, again = totals(options.reports), totals(options.again)
    rows = "\n".join(
        f"| {name} | {what} | {t['inputs']} | {t['accepted']} | {t['refused']} | {t['failed']} | "
        + (f"{a['inputs']} | {a['failed']} |" if a["inputs"] else "not run | |")
        for (name, what), t, a in zip(BORDERS.items(), first.values(), again.values(), strict=True)
    )
    whole, more = (sum(t["inputs"] for t in found.values()) for found in (first, again))
    text = f"""# Fuzz

Inputs thrown at every border, and the verdict on each: accepted (and flown on), refused in one clear line, or failed: a
traceback, a hang, a state that is not finite, a write outside the folder, a line nobody can read. `./rotor test` throws
some 1,000 each time. These are {whole}, and {more} of them again after what the first run found was mended. The long
mode takes 25 minutes on two cores:

    ROTOR_FUZZ_INPUTS=100000 ROTOR_FUZZ_REPORT=my/fuzz.json ./rotor test tests/fuzz tests/offline/fuzz
    ./rotor python docs/scripts/make_fuzz_report.py my/fuzz.json --again my/later.json

| border | what | inputs | accepted | refused | failed | again | failed |
|---|---|---|---|---|---|---|---|
{rows}

Where the first run stopped at a failure (messages, services) it had thrown fewer. What it found, all of it mended:

- a goal that is not finite, or out of reach, kept its planner busy for ever;
- PX4 ended a flight by asking for a message at an interval that is not a number;
- a page ended the viewer by a choice, a camera or a goal that is none, or by choosing plots while they are drawn;
- a goal of a page that came while another scene was opened was a trace in the viewer's log;
- a scene of another world ended the thread of the visualizer that draws, in silence;
- wakes in a world without vehicles, and names too long for files, were stack traces;
- characters that end lines or steer terminals came from files, shells and loaders of libraries into messages.

An input is known by its seed, border and number:
`ROTOR_FUZZ_SEED=0 ROTOR_FUZZ_ONLY=yaml:17 ./rotor test tests/offline/fuzz`
throws it again (bursts of messages and sequences of services: the seed and the number of inputs).

## Guided by coverage

Blind changes seldom pass two mistakes in one place. `tests/fuzz/guided.py` follows with Atheris which lines of our
readers an input reaches, and changes further what reaches new ones. On 2026-11-26 it took seconds to find in readers
of recordings what 100,000 blind inputs had not:

- a Vicon CSV that names more subjects than it has columns was a stack trace;
- so were an NPZ whose header of an array is cut off inside a bracket, and an MCAP file with a broken letter in its
  metadata;
- so were logs of Crazyflies whose arrays do not fit each other;
- two messages about damaged NPZ files were not for people: one of 140,000 characters, one with the address of an
  object in it.

All are mended and have tests. Then half a minute each over scenarios (YAML), robot descriptions (94,200 inputs),
CSV, TUM, NPZ and MCAP files found nothing. Archives with checksums (NPZ) are hardly reached by it: nearly all changes
end at the checksum.

    ./rotor python -m pip install atheris
    ./rotor python tests/fuzz/guided.py csv my/inputs --seconds 600
"""
    (DOCS / "results" / "fuzz.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
