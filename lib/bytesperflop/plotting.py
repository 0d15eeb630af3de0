"""The house style of the figures; formulas stay in the other modules."""

from typing import Any

# Okabe and Ito's palette, told apart by colour-blind readers too
BLUE, ORANGE, GREEN, RED, SKY, PURPLE = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#b2182b",
    "#56b4e9",
    "#aa4499",
)
GREY = "#666666"
AXIS_COLOURS = {"data": BLUE, "tensor": ORANGE, "pipeline": GREEN}


def use_style() -> None:
    """Set matplotlib to the book's style: SVG, light panel, thin axes, no frame.

    Example:
        >>> use_style()
    """
    import matplotlib as mpl
    from cycler import cycler

    mpl.rcParams.update(
        {
            "figure.figsize": (6.4, 3.6),
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "font.size": 11,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.prop_cycle": cycler(color=[BLUE, ORANGE, GREEN, PURPLE, SKY, RED]),
            "axes.axisbelow": True,
            "grid.color": "#e4e4e4",
            "grid.linewidth": 0.8,
            "legend.frameon": False,
            "lines.linewidth": 2,
            "svg.fonttype": "none",
            "svg.hashsalt": "bytes per flop",
        }
    )
    try:
        from matplotlib_inline.backend_inline import set_matplotlib_formats
    except ModuleNotFoundError:
        return
    set_matplotlib_formats("svg", metadata={"Date": None})


def axes(xlabel: str, ylabel: str, **kwargs: Any) -> Any:
    """New axes with labelled units; ``kwargs`` go to ``Axes.set`` (scales, limits, title)."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    ax.set(xlabel=xlabel, ylabel=ylabel, **kwargs)
    return ax


def label_line(ax: Any, x: float, y: float, text: str, colour: str, **kwargs: Any) -> None:
    """Write a line's name beside it, in its colour, in place of a legend."""
    place = {"xytext": (4, 4), "textcoords": "offset points"} | kwargs
    ax.annotate(text, (x, y), color=colour, **place)


def draw_cut(ax: Any, kind: str, devices: int = 4, layers: int = 4) -> None:
    """Draw one of the three cuts: a box is a layer's weights, a colour is a device."""
    shades = [BLUE, ORANGE, GREEN, PURPLE][:devices]
    batches = devices if kind == "data" else 1
    for batch in range(batches):
        for layer in range(layers):
            parts = devices if kind == "tensor" else 1
            for part in range(parts):
                owner = {"data": batch, "tensor": part, "pipeline": layer * devices // layers}[kind]
                left, width = batch * 1.25 + part / parts, 1 / parts
                ax.barh(layer, width, 0.8, left, color=shades[owner], ec="white", lw=1.5)
        slice_ = f"1/{devices} of the batch" if kind == "data" else "the batch"
        ax.annotate(
            slice_ if batch == 0 else "",
            (batch * 1.25 + 0.5, -0.5),
            xytext=(batch * 1.25 + 0.5, -1.15),
            ha="center",
            fontsize=8,
            arrowprops={"arrowstyle": "->", "color": GREY},
        )
    ax.set(ylim=(-1.4, layers - 0.4), yticks=range(layers), title=kind)
    ax.set_yticklabels([f"layer {layer + 1}" for layer in range(layers)], fontsize=8)
    ax.set_xticks([])
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


KIND_COLOURS = {"F": SKY, "B": BLUE, "I": BLUE, "W": GREEN}


def gantt(ax: Any, timeline: Any) -> None:
    """Draw a timeline, device by device; idle time is left blank.

    Forwards are light, backwards and input gradients dark, weight gradients green; a
    device's second chunk of the model is paler than its first. Numbers are microbatches.
    """
    for device, order in enumerate(timeline.orders):
        chunks = sorted({operation.stage for operation in order})
        for kind, stage, j in order:
            start = float(timeline.start[kind, stage][j])
            width = float(timeline.finish[kind, stage][j]) - start
            later = stage != chunks[0]
            shade = {"color": KIND_COLOURS[kind], "alpha": 0.45 if later else 1}
            ax.barh(device, width, 0.86, start, ec="white", lw=1, **shade)
            ink = "black" if later or kind == "F" else "white"
            middle = {"ha": "center", "va": "center", "fontsize": 8}
            ax.text(start + width / 2, device, str(j), color=ink, **middle)
    stages = len(timeline.orders)
    ax.set(yticks=range(stages), ylim=(stages - 0.5, -0.5), xlabel="time, units of a forward pass")
    ax.set_ylabel("stage" if len(timeline.placement) == stages else "device")
    ax.grid(False, axis="y")
