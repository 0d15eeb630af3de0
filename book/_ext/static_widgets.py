"""Live widgets on a page without a kernel; a view that such a page cannot show fails the build."""

import json
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

SCRIPT = Path(__file__).with_suffix(".js")
STILL = 'class="bpf-w-static"'
VIEW = '<script type="application/vnd.jupyter.widget-view+json">'

logger = logging.getLogger(__name__)


def configure(app: Sphinx, config) -> None:
    """No script of ipywidgets' own; a widget's HTML goes before its bare view."""
    config.nb_ipywidgets_js = {}
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


def embed(app: Sphinx, pagename: str, template: str, context: dict, doctree) -> None:
    """Put state and script after the text: neither keeps a reader on a slow line waiting for it."""
    files = app.env.nb_metadata.get(pagename, {}).get("js_files", {})
    if doctree is None or "ipywidgets_state" not in files:
        return
    _, embedded = files.pop("ipywidgets_state")
    body = json.dumps(once(json.loads(embedded["body"])["state"])).replace("</", "<\\/")
    context["body"] += f'<script type="{embedded["type"]}">{body}</script>'
    context["body"] += f"<script>{SCRIPT.read_text()}</script>"


def once(models: dict[str, dict]) -> dict:
    """The widgets' state, the scripts and styles that they share told once, by number."""
    sources: list[str] = []
    state = {}
    for identity, model in models.items():
        if "_esm" not in model["state"]:
            continue
        own = dict(model["state"])
        for name in ("_esm", "_css"):
            if own[name] not in sources:
                sources.append(own[name])
            own[name] = sources.index(own[name])
        state[identity] = own
    return {"sources": sources, "state": state}


def setup(app: Sphinx) -> dict:
    app.connect("config-inited", configure, priority=100)
    app.connect("doctree-resolved", check)
    app.connect("html-page-context", embed, priority=400)  # before myst_nb puts it in the head
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
