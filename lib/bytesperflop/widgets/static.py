"""The widget where no script runs: its picture at one point, from the same formulas."""

import json
from collections.abc import Mapping
from html import escape
from io import BytesIO
from re import sub
from typing import Any, NamedTuple
from urllib.parse import quote

from .numbers import readout
from .spec import Spec

_VIEW = "application/vnd.jupyter.widget-view+json"


class Drawn(NamedTuple):
    """One picture in two formats."""

    svg: str
    png: bytes


def picture(spec: Spec, values: Mapping[str, Any], dropped: list[str]) -> Drawn:
    """All pictures of a widget at one point, one above the other."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from .. import plotting

    with mpl.rc_context():
        plotting.use_style()
        count = len(spec.pictures)
        drawing = Figure(figsize=(6.4, 3.4 * count), layout="constrained")
        for ax, one in zip(
            drawing.subplots(count, squeeze=False)[:, 0], spec.pictures, strict=True
        ):
            one.draw(ax, spec, values, dropped)
        svg, png = BytesIO(), BytesIO()
        drawing.savefig(svg, format="svg", metadata={"Date": None})
        drawing.savefig(png, format="png", dpi=110)
    return Drawn(svg.getvalue().decode(), png.getvalue())


def figure(spec: Spec, svg: str, model_id: str) -> str:
    """HTML: the picture with its words, and what a page needs to put the live widget there."""
    words = readout(spec, spec.start, [])
    alt = f"{spec.alt} {sub(r'<[^>]+>', '', words)}"
    slim = sub(r"\s+", " ", svg[svg.index("<svg") :])
    view = json.dumps({"version_major": 2, "version_minor": 0, "model_id": model_id})
    return (
        f'<figure class="bpf-w-static"><img alt="{escape(alt)}" '
        f'src="data:image/svg+xml,{quote(slim, safe=" =:/;,()")}">'
        f"<figcaption>{escape(spec.title)}. {words}</figcaption></figure>"
        f'<script type="{_VIEW}">{view}</script>'
    )
