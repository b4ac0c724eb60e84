"""Numbered equations of the theory pages as MathML, with anchors.

The pages hold equations as text that reads well anywhere: ``**(L.1)** `R(q) = I + 2 w [u]ₓ` ``. For the site that
text becomes LaTeX, sign by sign and in the same order, and the extension l2m4m makes MathML of it.
"""

from __future__ import annotations

import posixpath
import re

TAG = re.compile(r"^\*\*\(([A-Z]+\.\d+[a-z]?)\)\*\*", re.MULTILINE)
MENTION = re.compile(r"(?<![*\w\[(])\(([A-Z]+\.\d+[a-z]?)\)(?!\*)")
GREEK = {
    "alpha", "beta", "gamma", "delta", "zeta", "theta", "lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "phi",
    "psi", "omega", "Omega", "Pi",
}  # fmt: skip
FUNCTIONS = {"sin", "cos", "tan", "cot", "exp", "max", "min", "tanh"}
SIGNS = {
    "·": r"\cdot ", "×": r"\times ", "≤": r"\leq ", "≥": r"\geq ", "↦": r"\mapsto ", "∫": r"\int ", "Σ": r"\sum ",
    "½": r"\frac{1}{2}", "¼": r"\frac{1}{4}", "{": r"\lbrace ", "}": r"\rbrace ", "λ": r"\lambda ", "σ": r"\sigma ",
    "*": r"^{*}", "->": r"\to ", "|": "|",
}  # fmt: skip
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵀⁿ", "0123456789+-Tn")
LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉ₓ", "0123456789×")
PARTS = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵀⁿ]+)"
    r"|(?P<lowered>[₀₁₂₃₄₅₆₇₈₉ₓ]+)"
    r"|\^(?:\{(?P<group>[^}]*)\}|(?P<power>-?[\d.]+|[A-Za-z]))"
    r"|(?P<name>[A-Za-z]+\d*(?:_[A-Za-z0-9]+(?:\.\d)?)*(?:,[xyz]\b)?)"
    r"|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<sign>->|.)"
)


def tags_of(page: str, text: str) -> list[str]:
    """Numbers of the equations on a page of theory."""
    return TAG.findall(text) if page.startswith("docs/theory/") else []


def anchor_equations(text: str, page: str, tags: dict[str, str]) -> str:
    """The text of a page with anchors at its equations, MathML in them, and links where they are mentioned."""
    if page.startswith("docs/theory/"):
        text = "\n\n".join(_equation(block) for block in text.split("\n\n"))

    def link(match: re.Match[str]) -> str:
        there = tags.get(match[1])
        if there is None:
            return match[0]
        way = "" if there == page else posixpath.relpath(there, posixpath.dirname(page) or ".")
        return f"[({match[1]})]({way}#{match[1]})"

    if not page.startswith("docs/") or "```" in text:
        return text
    pieces = re.split(r"(`[^`]*`|\$[^$]*\$)", text)
    return "".join(p if p[:1] in ("`", "$") else MENTION.sub(link, p) for p in pieces)


def _equation(block: str) -> str:
    if not TAG.match(block):
        return block
    block = TAG.sub(r"**(\1)**{ #\1 }", block)
    return re.sub(r"`([^`]+)`", lambda m: latex(m[1]), block)


def latex(text: str) -> str:
    """``$...$`` with the same signs in the same order; words and settings stay code."""
    names = re.findall(r"[A-Za-z_]+", text)
    if re.search(r"\w:", text) or (len(names) == 1 and names[0] == text and _is_word(text)):
        return f"`{text}`"
    out, open_word = "", False
    for part in PARTS.finditer(text):
        kind, value = part.lastgroup or "sign", part[part.lastgroup or "sign"]
        if kind == "space":
            out += r"\, " if open_word and re.match(r"[\w(\[½¼|]", text[part.end() :]) else " "
            continue
        if kind == "raised":
            value = value.translate(RAISED)
            out += f"^{{{value}}}"
        elif kind == "lowered":
            out += "_{" + value.translate(LOWERED).replace("×", r"\times ") + "}"
        elif kind == "power":
            out += f"^{{{value}}}"
        elif kind == "group":
            out += f"^{{{latex(value).strip('$`')}}}"
        elif kind == "name":
            out += _name(value)
        else:
            out += SIGNS.get(value, value)
        open_word = kind != "sign" or value in ")]|*'½¼"
    tidy = re.sub(r" +", " ", re.sub(r" +(?=[\^_])", "", out))
    return f"${tidy.strip()}$"


def _is_word(name: str) -> bool:
    first = name.split("_")[0]
    return len(first) > 2 and first not in GREEK | FUNCTIONS


def _symbol(name: str) -> str:
    if name in GREEK:
        return f"\\{name} "
    if name in FUNCTIONS:
        return f"\\{name} "
    return name if len(name) == 1 or name.isdigit() else f"\\mathrm{{{name}}}"


def _name(name: str) -> str:
    """``theta_dot_j`` with its dot above and its index below."""
    name, comma, axis = name.partition(",")
    base, *rest = name.split("_")
    digits = re.fullmatch(r"([A-Za-z])(\d+)", base)
    if digits:
        base, rest = digits[1], [digits[2], *rest]
    out = _symbol(base).strip()
    for mark in ("dot", "ddot"):
        if mark in rest:
            rest.remove(mark)
            out = f"\\{mark}{{{out}}}"
    below = [_symbol(r).strip() for r in rest] + ([axis] if comma else [])
    return out + ("_{" + ",".join(below) + "} " if below else " ")
