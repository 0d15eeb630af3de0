"""Live widgets: the expression that was proven, moved by the reader.

In JupyterLab they are ipywidgets and sync with the kernel; on the book's pages they compute
by themselves. Each function makes one.
"""

from typing import Any


def counting() -> Any:
    """Where a model's parameters and FLOPs are, and how far 12Ld² and 6N are off."""
    from .counts import counting_rule
    from .explorer import Explorer

    return Explorer(counting_rule())


def data_ratio() -> Any:
    """What a gradient all-reduce costs, and where the model's size comes back."""
    from . import data
    from .explorer import Explorer

    return Explorer(data.data_ratio())


def tensor_ratio() -> Any:
    """What a tensor group's all-reduces cost, as stated and by the clock."""
    from . import tensor
    from .explorer import Explorer

    return Explorer(tensor.tensor_ratio())


def pipeline_timeline() -> Any:
    """A pipeline's timeline under each schedule that the book has."""
    from . import pipeline
    from .explorer import Explorer

    return Explorer(pipeline.pipeline_timeline())


def budget() -> Any:
    """The overhead of every split of P devices, and the cheapest."""
    from . import split_budget
    from .explorer import Explorer

    return Explorer(split_budget.budget())
