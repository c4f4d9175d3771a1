"""Draw a report of benchmarks/dense.py: the median of each contender against what a filter keeps.

A hollow point found less than .95 of the true ten best.

Run: python benchmarks/dense_plot.py REPORT.json OUT.svg
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from dense_data import SHARES

COLOURS = (
    *("#c02020", "#606060", "#2060c0", "#208040", "#8040a0"),
    *("#c07000", "#109090", "#a06040", "#405060", "#b0408f"),
)
LOW, HIGH = 0.1, 200.0
FOUND = 0.95


def x(place: int) -> float:
    return 90 + 140 * place


def y(ms: float) -> float:
    part = (math.log(ms) - math.log(LOW)) / (math.log(HIGH) - math.log(LOW))
    return 340 - 310 * part


def plot(report: dict[str, Any]) -> str:
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 390" font-family="sans-serif"'
    lines = [f'{head} font-size="12"><rect width="700" height="390" fill="#fff"/>']
    for ms in (0.1, 1, 10, 100):
        lines.append(f'<path d="M70 {y(ms):.1f}H530" stroke="#ddd"/>')
        lines.append(f'<text x="62" y="{y(ms) + 4:.1f}" text-anchor="end">{ms:g} ms</text>')
    for place, share in enumerate(SHARES):
        label = "all" if share == 1.0 else f"{100 * share:g} %"
        lines.append(f'<text x="{x(place)}" y="360" text-anchor="middle">{label}</text>')
    names = list(report[f"kept {SHARES[0]:g}"])
    heights = sorted(
        (report[f"kept {_last(report, name):g}"][name]["p50_ms"], name) for name in names
    )
    labels = {name: 325 - 24 * place for place, (_, name) in enumerate(heights)}
    for name, colour in zip(names, COLOURS, strict=False):
        found = [
            (x(place), y(each["p50_ms"]), each["recall"])
            for place, share in enumerate(SHARES)
            if (each := report[f"kept {share:g}"].get(name))
        ]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b, _ in found)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for a, b, recall in found:
            fill = colour if recall >= FOUND else "#fff"
            lines.append(
                f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="{fill}" stroke="{colour}"/>'
            )
        a, b, _ = found[-1]
        lines.append(f'<path d="M{a + 6:.1f} {b:.1f}L555 {labels[name] - 4}" stroke="#ccc"/>')
        lines.append(f'<text x="560" y="{labels[name]}" fill="{colour}">{name}</text>')
    lines.append('<text x="300" y="380" text-anchor="middle">kept by the filter</text></svg>')
    return "\n".join(lines) + "\n"


def _last(report: dict[str, Any], name: str) -> float:
    """The most selective filter that a contender was asked with."""
    return [share for share in SHARES if name in report[f"kept {share:g}"]][-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("report", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    report = json.loads(options.report.read_text(encoding="utf-8"))
    options.out.write_text(plot(report), encoding="utf-8")


if __name__ == "__main__":
    main()
