"""A report as one HTML file, from its Markdown and the pictures beside it."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import jinja2
import markdown as markdown_library

STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: 1em 0; font-size: 13px; }
th, td { border-bottom: 1px solid #ddd; padding: 0.25em 0.7em; text-align: left; }
th { border-bottom: 2px solid #888; }
img { max-width: 100%; }
"""


PAGE = jinja2.Template(
    """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{ title }}</title><style>{{ style }}</style></head>
<body>
{{ body | safe }}
</body></html>
""",
    autoescape=True,
)


def html_page(title: str, text: str, folder: Path) -> str:
    """One page that needs no other file, from Markdown; ``folder`` holds the pictures that the text names."""
    body = markdown_library.markdown(text, extensions=["tables"])

    def embedded(match: re.Match) -> str:
        data = base64.b64encode((folder / match.group(1)).read_bytes()).decode()
        return f'src="data:image/png;base64,{data}"'

    body = re.sub(r'src="([^"]+\.png)"', embedded, body)
    return PAGE.render(title=title, style=STYLE, body=body)
