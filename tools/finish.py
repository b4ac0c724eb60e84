"""Make a virtual environment with the ROS wheels a usable ROS prefix, and smaller.

Run once with the environment's own Python after the packages are installed; running it again changes nothing. It mends
two things: exported CMake files name include folders of the machine that built the wheels, and a prefix needs setup
files. The test suites of large packages go, and so do symbols that only debuggers read. Of libraries that several
wheels bring one copy stays, with several names.
"""

import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy

PREFIX = Path(sys.prefix)
INCLUDES = re.compile(r'(INTERFACE_INCLUDE_DIRECTORIES )"([^"]*)"')

SETUP = """_p="{prefix}"
_l="$_p/lib"
for _d in "$_p"/lib/python*/site-packages/ros_*.libs; do [ -d "$_d" ] && _l="$_l:$_d"; done
case ":$AMENT_PREFIX_PATH:" in
  *":$_p:"*) ;;
  *) export AMENT_PREFIX_PATH="$_p${{AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}}"
     export CMAKE_PREFIX_PATH="$_p${{CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}}"
     export LD_LIBRARY_PATH="$_l${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
     export PATH="$_p/bin:$PATH" ;;
esac
export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1 ROS_VERSION=2 ROS_PYTHON_VERSION=3 ROS_DISTRO=jazzy
unset _p _l _d
"""


def corrected(match: re.Match) -> str:
    """The include list with this environment's NumPy and Python headers in place of folders that do not exist here."""
    folders = []
    for folder in match.group(2).split(";"):
        if os.path.isabs(folder) and not os.path.isdir(folder):
            if folder.endswith("core/include"):
                folder = numpy.get_include()
            elif os.path.basename(folder).startswith("python3"):
                folder = sysconfig.get_paths()["include"]
        folders.append(folder)
    return match.group(1) + '"' + ";".join(folders) + '"'


LARGE = ("llvmlite", "matplotlib", "numba", "numpy", "scipy")
"""Packages whose own tests are installed with them: a tenth of the environment."""


def leave_out_tests() -> None:
    """Remove the folders ``tests`` of large packages, which nothing imports."""
    for name in LARGE:
        for folder in (Path(sysconfig.get_paths()["purelib"]) / name).rglob("tests"):
            shutil.rmtree(folder, ignore_errors=True)


SMALL = 20_000
"""Bytes of files that are not worth looking at."""


def libraries() -> list[Path]:
    """Shared libraries of the environment that are large enough to matter."""
    return [
        path
        for path in sorted(PREFIX.rglob("*.so*"))
        if not path.is_symlink() and path.is_file() and path.stat().st_size >= SMALL
    ]


def loaded(path: Path) -> list[tuple[tuple[int, ...], bytes]]:
    """What the loader reads of a 64-bit ELF library: its program headers and the bytes that they name.

    The ELF header is left out: it holds the place of the section headers, which the loader does not read.
    """
    data = bytearray(path.read_bytes())
    (first,), (size, count) = (
        struct.unpack_from("<Q", data, 32),
        struct.unpack_from("<HH", data, 54),
    )
    data[:64] = bytes(64)
    headers = [struct.unpack_from("<IIQQQQQQ", data, first + i * size) for i in range(count)]
    return [(header, bytes(data[header[2] : header[2] + header[5]])) for header in headers]


def strip_symbols() -> None:
    """Remove the symbols that only debuggers read: a seventh of the environment.

    Libraries that were patched after they were linked may not survive this, so a stripped one is taken only if
    everything that is loaded is the same to the bit.
    """
    if not shutil.which("strip"):
        return
    for path in libraries():
        spare = path.with_name(f".{path.name}.new")
        done = subprocess.run(
            ["strip", "--strip-unneeded", "-o", spare, path], capture_output=True, check=False
        )
        if (
            done.returncode == 0
            and spare.stat().st_size < path.stat().st_size
            and loaded(spare) == loaded(path)
        ):
            shutil.copymode(path, spare)
            spare.replace(path)
        spare.unlink(missing_ok=True)


def link_copies() -> None:
    """Give equal files one place on the disk: wheels bring the same libraries again and again."""
    seen: dict[tuple[int, str], Path] = {}
    for path in libraries():
        key = path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest()
        first = seen.setdefault(key, path)
        if first is not path:
            spare = path.with_name(f".{path.name}.new")
            os.link(first, spare)
            spare.replace(path)


def main() -> None:
    """Correct the CMake exports and write the setup files."""
    count = 0
    for path in PREFIX.glob("share/*/cmake/*rosidl_generator_py*Export.cmake"):
        old = path.read_text()
        new = INCLUDES.sub(corrected, old)
        if new != old:
            path.unlink()  # installers hard-link from their cache: never write in place
            path.write_text(new)
            count += 1
    leave_out_tests()
    strip_symbols()
    link_copies()
    for name in ("setup.sh", "setup.bash", "local_setup.sh", "local_setup.bash"):
        (PREFIX / name).write_text(SETUP.format(prefix=PREFIX))
    print(f"{count} CMake files corrected; setup files written")


if __name__ == "__main__":
    main()
