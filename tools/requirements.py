"""Print the Python packages that the suite needs, from pyproject.toml: ``requirements.py EXTRA...``."""

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
OWN = re.compile(r"rotor\[([\w,]+)\]\Z")


def requirements(*extras: str) -> list[str]:
    """Requirements of the suite and of some of its extras, each once."""
    found = list(PROJECT["dependencies"])
    for extra in extras:
        for requirement in PROJECT["optional-dependencies"][extra]:
            own = OWN.match(requirement)
            found += requirements(*own[1].split(",")) if own else [requirement]
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    print("\n".join(requirements(*sys.argv[1:])))
