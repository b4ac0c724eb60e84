"""Headless Chromium for tests of pages; they skip where there is none."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator

import numpy as np
import pytest

ARGUMENTS = (
    "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip

PATIENCE_MS = 120_000
"""For a picture: software draws it, and beside other tests slowly, ms."""


@contextlib.contextmanager
def open_page(address: str) -> Iterator[tuple[object, list[str]]]:
    """A page of 900 x 600 at an address, and the addresses of all requests that it makes."""
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("needs chromium (apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        try:
            page = browser.new_page(viewport={"width": 900, "height": 600})
            requests: list[str] = []
            page.on("request", lambda request: requests.append(request.url))
            page.goto(address)
            yield page, requests
        finally:
            browser.close()


def pixels(page: object) -> np.ndarray:
    """Pixels of the page, (height, width, 3)."""
    import io

    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(page.screenshot(timeout=PATIENCE_MS))).convert("RGB"))  # type: ignore[attr-defined]


def outside(requests: list[str]) -> list[str]:
    """Requests that leave the machine."""
    here = ("http://127.0.0.1", "ws://127.0.0.1", "file:", "data:", "blob:")
    return [url for url in requests if not url.startswith(here)]
