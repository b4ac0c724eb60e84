"""Write docs/images/viewer_*.png: pages of the viewer in headless Chromium (apt-get install chromium)."""

import shutil
import sys
import threading
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from rotor_viewer.browser.app import Viewer
from rotor_viewer.browser.serve import open_source, serve

IMAGES = Path(__file__).resolve().parents[1] / "images"
ARGUMENTS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
]
SHOWN = {
    "slalom": 9.0,
    "helicopter_slung_load": 6.0,
}
"""Scenario, and the time at which it is shown, s."""


def main() -> None:
    """Fly, look, write."""
    chromium = shutil.which("chromium") or sys.exit("needs chromium: apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for name, at in SHOWN.items():
            source = open_source(name)
            server = serve(source, "127.0.0.1", 8200)
            viewer = Viewer(server, source, open_source)
            viewer._playing = False
            over = threading.Event()
            page = browser.new_page(viewport={"width": 1200, "height": 700})
            page.goto(f"http://127.0.0.1:{server.get_port()}")
            thread = threading.Thread(target=viewer.run, args=(over.is_set,), daemon=True)
            viewer._playing = True
            thread.start()
            while source.picture().time < at:
                time.sleep(0.1)
            viewer._playing = False
            time.sleep(6.0)  # software WebGL draws behind
            page.evaluate(
                "document.querySelectorAll('.mantine-Notification-root').forEach(n => n.remove())"
            )
            page.screenshot(path=IMAGES / f"viewer_{name}.png")
            over.set()
            thread.join()
            page.close()
            server.stop()
        browser.close()


if __name__ == "__main__":
    main()
