"""Write docs/results/pappalardo.md and its picture: `./rotor python docs/make_pappalardo_results.py`."""

import tempfile
from pathlib import Path

from rotor_lab.reproduce.report import reproduce

DOCS = Path(__file__).parent


def main() -> None:
    """Run the reproduction, and keep report and picture."""
    with tempfile.TemporaryDirectory() as folder:
        agrees = reproduce("pappalardo", Path(folder))
        text = (Path(folder) / "report.md").read_text()
        picture = (Path(folder) / "delivery.png").read_bytes()
    (DOCS / "images" / "delivery.png").write_bytes(picture)
    text = text.replace("(delivery.png)", "(../images/delivery.png)")
    (DOCS / "results" / "pappalardo.md").write_text(text)
    print("all figures agree" if agrees else "some figures differ")


if __name__ == "__main__":
    main()
