"""Live widgets on a page without a kernel; a view that such a page cannot show fails the build."""

import json

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

SCRIPT = "scripts/static_widgets.js"
STILL = 'class="bpf-w-static"'
VIEW = '<script type="application/vnd.jupyter.widget-view+json">'

logger = logging.getLogger(__name__)


def configure(app: Sphinx, config) -> None:
    """Our script in place of ipywidgets' own; a widget's HTML goes before its bare view."""
    config.nb_ipywidgets_js = {SCRIPT: {"async": "async"}}
    config.nb_mime_priority_overrides = [["html", "text/html", 5]]


def models(app: Sphinx, docname: str) -> dict[str, dict]:
    """The state of each widget that the page's notebook left behind."""
    files = app.env.nb_metadata.get(docname, {}).get("js_files", {})
    _, embedded = files.get("ipywidgets_state", (None, {"body": '{"state": {}}'}))
    return json.loads(embedded["body"])["state"]


def refuse(model: dict | None, text: str) -> str:
    """Why a view would not show: only a widget that brings its own script can run here."""
    if model is None:
        return "its state is not on the page"
    if model["model_module"] != "anywidget" or not model["state"].get("_esm"):
        return f"{model['model_name']} of {model['model_module']} needs a kernel"
    return "" if STILL in text else f"{model['model_name']} has no picture beside it"


def check(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Look at every view that the page embeds."""
    for raw in doctree.findall(nodes.raw):
        text = raw.astext()
        for after in text.split(VIEW)[1:]:
            identity = json.loads(after.partition("</script>")[0])["model_id"]
            if reason := refuse(models(app, docname).get(identity), text):
                logger.warning("%s: a widget would not show: %s", docname, reason)


def setup(app: Sphinx) -> dict:
    app.connect("config-inited", configure, priority=100)
    app.connect("doctree-resolved", check)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
