"""The widget itself: one class, one script, any :class:`~bytesperflop.widgets.spec.Spec`."""

from functools import cache
from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from .spec import Spec
from .static import figure, picture

SCRIPTS = ("engine", "controls", "charts", "gantt", "triangle", "widget")


@cache
def _read(*names: str) -> str:
    here = files(__package__)
    return "\n".join(here.joinpath(name).read_text(encoding="utf-8") for name in names)


class Explorer(anywidget.AnyWidget):
    """A spec that the reader can move; ``values`` and ``dropped`` stay equal on both sides.

    Without a browser that runs scripts it is the picture of its start.
    """

    _esm = _read(*(f"{name}.js" for name in SCRIPTS))
    _css = _read("widget.css")
    spec = traitlets.Dict().tag(sync=True)
    values = traitlets.Dict().tag(sync=True)
    dropped = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, made_from: Spec, **kwargs: Any) -> None:
        self.made_from = made_from
        super().__init__(spec=made_from.data(), values=made_from.start, **kwargs)

    @traitlets.validate("values")
    def _check_values(self, proposal: Any) -> dict[str, Any]:
        values = self.made_from.start | self.values | proposal["value"]
        self.made_from.refuse(values, self.dropped)
        return values

    @traitlets.validate("dropped")
    def _check_dropped(self, proposal: Any) -> list[str]:
        self.made_from.refuse(self.made_from.start | self.values, proposal["value"])
        return proposal["value"]

    @property
    def results(self) -> dict[str, float]:
        """Every formula's number where the widget stands now."""
        return self.made_from.at(self.values, self.dropped)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict, dict]:
        """The live view, and beside it the picture for where nothing is live."""
        bundle, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        drawn = picture(self.made_from, self.values, self.dropped)
        bundle["image/png"] = drawn.png
        bundle["text/html"] = figure(self.made_from, drawn.svg, self.model_id)
        return bundle, metadata
