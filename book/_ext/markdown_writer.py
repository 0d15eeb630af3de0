"""A resolved page as plain Markdown: what MyST knows becomes words, TeX and links to the site."""

import base64
import mimetypes
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import toctree
from sphinx.util import logging

logger = logging.getLogger(__name__)
# Admonitions, by the name of their node: the word that opens them.
WORDS = dict.fromkeys(("note", "tip", "hint", "important", "warning", "caution", "attention"))
WORDS |= {"danger": None, "error": None, "seealso": "See also"}
# Nodes that say nothing in a notebook.
SILENT = (nodes.comment, nodes.transition, nodes.meta, nodes.target, toctree)


class Cell(str):
    """The source of a code cell, among the Markdown blocks around it."""

    index: int


def one_line(tex: str) -> str:
    """TeX on one line: Jupyter would take a block quote's signs between the lines for TeX."""
    return " ".join(tex.split())


def escape(text: str) -> str:
    """Text in which Markdown sees no markup."""
    text = re.sub(r"([\\`*$<\[\]])", r"\\\1", text.replace("\n", " "))
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)


class MarkdownWriter:
    """Blocks of Markdown, and code cells between them, from one page's doctree.

    ``link`` turns a reference into an address; ``number`` gives a numbered node's number.
    """

    def __init__(self, link: Callable, number: Callable, source: Path) -> None:
        self.link, self.number, self.source = link, number, source
        self.level = 0

    # -- inline ------------------------------------------------------------------------------

    def inline(self, node: nodes.Node) -> str:
        """The children of a node, as running text."""
        return "".join(self.span(child) for child in node.children)

    def span(self, node: nodes.Node) -> str:
        if isinstance(node, nodes.Text):
            return escape(node.astext())
        if isinstance(node, nodes.math):
            return f"${one_line(node.astext())}$"
        if isinstance(node, nodes.literal):
            fence = "``" if "`" in node.astext() else "`"
            return f"{fence}{node.astext()}{fence}"
        if isinstance(node, nodes.emphasis):
            return f"*{self.inline(node)}*"
        if isinstance(node, nodes.strong):
            return f"**{self.inline(node)}**"
        if isinstance(node, nodes.footnote_reference):
            return f"<sup>{node.astext()}</sup>"
        if isinstance(node, nodes.image):
            return self.image(node)
        if isinstance(node, (*SILENT, nodes.raw)):
            return ""
        if isinstance(node, nodes.reference) or node.tagname == "number_reference":
            return self.reference(node)
        return self.inline(node)

    def reference(self, node: nodes.Element) -> str:
        text, before = self.inline(node), ""
        if text.startswith(" "):
            text, before = text.lstrip(), " "
        return f"{before}[{text}]({self.link(node)})"

    def image(self, node: nodes.Element) -> str:
        """The picture itself, inside the notebook."""
        path = self.source / next(iter(node.get("candidates", {}).values()), node["uri"])
        kind = mimetypes.guess_type(path.name)[0]
        data = base64.b64encode(path.read_bytes()).decode()
        return f"![{node.get('alt', '')}](data:{kind};base64,{data})"

    # -- blocks ------------------------------------------------------------------------------

    def blocks(self, node: nodes.Node) -> Iterator[str]:
        """Every block below a node, in order."""
        for child in node.children:
            yield from self.block(child)

    def block(self, node: nodes.Node) -> Iterator[str]:
        if isinstance(node, SILENT):
            return
        if realtype := node.get("realtype"):
            yield from self.numbered(node, realtype.title())
        elif node.tagname in WORDS:
            word = WORDS[node.tagname] or node.tagname.title()
            yield from self.quote([f"**{word}**", *self.blocks(node)])
        elif handler := getattr(self, f"block_{node.tagname}", None):
            yield from handler(node)
        else:
            logger.warning("no Markdown for a %s", node.tagname, location=node)

    def quote(self, blocks: list[str]) -> Iterator[str]:
        """A block quote; code cells, which it cannot hold, end it."""
        held: list[str] = []
        for block in [*blocks, None]:
            if held and (block is None or isinstance(block, Cell)):
                yield "\n".join(f"> {line}".rstrip() for line in "\n\n".join(held).split("\n"))
                held = []
            if isinstance(block, Cell):
                yield block
            elif block is not None:
                held.append(block)

    def folded(self, title: str, blocks: list[str]) -> Iterator[str]:
        """A closed <details>; with code cells in it, which it cannot hold, an open heading."""
        if any(isinstance(block, Cell) for block in blocks):
            yield f"**{title}**"
            yield from blocks
        else:
            body = "\n\n".join(blocks)
            yield f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"

    def numbered(self, node: nodes.Element, word: str) -> Iterator[str]:
        """A proposition, an exercise and their like: word, number and link, then the title."""
        number = self.number(node)
        name = f"**[{word}{number and ' ' + number}]({self.link(node)})**"
        title, *rest = node.children
        text = self.inline(title).strip()
        body = [block for part in rest for block in self.block(part)]
        yield from self.quote([f"{name} {text}".rstrip(), *body])

    def block_section(self, node: nodes.Element) -> Iterator[str]:
        self.level += isinstance(node.children[0], nodes.title)
        yield from self.blocks(node)
        self.level -= isinstance(node.children[0], nodes.title)

    def block_title(self, node: nodes.Element) -> Iterator[str]:
        yield f"{'#' * self.level} {self.inline(node)}"

    def block_paragraph(self, node: nodes.Element) -> Iterator[str]:
        yield self.inline(node).strip()

    def block_rubric(self, node: nodes.Element) -> Iterator[str]:
        yield f"**{self.inline(node)}**"

    def block_raw(self, node: nodes.Element) -> Iterator[str]:
        yield node.astext()

    def block_math_block(self, node: nodes.Element) -> Iterator[str]:
        tex = one_line(node.astext())
        if r"\\" in tex and r"\begin" not in tex:
            tex = rf"\begin{{split}}{tex}\end{{split}}"
        number = self.number(node)
        tag = rf"\tag{{{number}}}" if number else ""
        if node.get("nowrap"):
            yield re.sub(r"(?=\\end\{\w+\*?\}$)", lambda _: tag, tex)
        else:
            yield f"$$ {tex}{' ' + tag if tag else ''} $$"

    def block_literal_block(self, node: nodes.Element) -> Iterator[str]:
        language = node.get("language", "").removeprefix("default").removeprefix("none")
        yield f"```{language}\n{node.astext()}\n```"

    def block_bullet_list(self, node: nodes.Element) -> Iterator[str]:
        yield from self.items(node, lambda _: "- ")

    def block_enumerated_list(self, node: nodes.Element) -> Iterator[str]:
        start = node.get("start", 1)
        yield from self.items(node, lambda place: f"{start + place}. ")

    def items(self, node: nodes.Element, mark: Callable[[int], str]) -> Iterator[str]:
        lines = []
        for place, item in enumerate(node.children):
            sign = mark(place)
            body = "\n\n".join(self.blocks(item)).replace("\n\n- ", "\n- ")
            lines.append(sign + body.replace("\n", "\n" + " " * len(sign)))
        loose = any(len(item.children) > 1 for item in node.children)
        yield ("\n\n" if loose else "\n").join(lines)

    def block_definition_list(self, node: nodes.Element) -> Iterator[str]:
        for item in node.children:
            terms = [self.inline(part) for part in item.children if part.tagname == "term"]
            body = [b for part in item.children if part.tagname == "definition"
                    for b in self.blocks(part)]  # fmt: skip
            yield f"**{', '.join(terms)}:** " + "\n\n".join(body)

    def block_block_quote(self, node: nodes.Element) -> Iterator[str]:
        yield from self.quote(list(self.blocks(node)))

    def block_table(self, node: nodes.Element) -> Iterator[str]:
        if isinstance(node.children[0], nodes.title):
            yield self.caption(node, "Table", node.children[0])
        rows = [
            ["<br>".join(self.blocks(entry)).replace("|", r"\vert ") for entry in row.children]
            for row in node.findall(nodes.row)
        ]
        heads = len(list(next(iter(node.findall(nodes.thead)), nodes.row()).children))
        if not heads:
            rows.insert(0, [""] * len(rows[0]))
        rows.insert(1, ["---"] * len(rows[0]))
        yield "\n".join("| " + " | ".join(row) + " |" for row in rows)

    def caption(self, node: nodes.Element, word: str, text: nodes.Element) -> str:
        number = self.number(node)
        return f"**{word}{number and ' ' + number}.** {self.inline(text)}"

    def block_figure(self, node: nodes.Element) -> Iterator[str]:
        """The picture, then its caption; a code cell's figure is drawn by its cell."""
        for child in node.children:
            if isinstance(child, nodes.caption):
                yield self.caption(node, "Figure", child)
            elif isinstance(child, nodes.legend):
                yield from self.blocks(child)
            else:
                yield self.span(child)

    def block_image(self, node: nodes.Element) -> Iterator[str]:
        yield self.image(node)

    def block_admonition(self, node: nodes.Element) -> Iterator[str]:
        title, *rest = node.children
        if not isinstance(title, nodes.title):
            yield from self.blocks(node)  # a proof, which opens with its own word
            return
        body = [block for part in rest for block in self.block(part)]
        text = f"**{self.inline(title)}**"
        if "dropdown" in node["classes"]:
            yield from self.folded(self.inline(title), body)
        else:
            yield from self.quote([text, *body])

    def block_proof_node(self, node: nodes.Element) -> Iterator[str]:
        yield from self.blocks(node)

    def block_exercise_node(self, node: nodes.Element) -> Iterator[str]:
        yield from self.numbered(node, "Exercise")

    block_exercise_enumerable_node = block_exercise_node

    def block_solution_node(self, node: nodes.Element) -> Iterator[str]:
        title, *rest = node.children
        body = [block for part in rest for block in self.block(part)]
        words = [text for text in title.findall(nodes.Text) if text.parent.tagname != "raw"]
        yield from self.folded(" ".join("".join(words).split()), body)

    block_dropdown_main = block_solution_node

    def block_container(self, node: nodes.Element) -> Iterator[str]:
        if node.get("nb_element") == "cell_code":
            yield from self.cell(node)
        else:
            yield from self.blocks(node)

    block_compound = block_container

    def cell(self, node: nodes.Element) -> Iterator[str]:
        """A code cell, and the caption of the figure that it draws; other outputs are re-run."""
        cell = Cell("")
        cell.index = node["cell_index"]
        yield cell
        for figure in node.findall(nodes.figure):
            for text in figure.findall(nodes.caption):
                yield self.caption(figure, "Figure", text)

    def block_citation(self, node: nodes.Element) -> Iterator[str]:
        _, *rest = node.children
        yield "- " + " ".join(block for part in rest for block in self.block(part))

    def block_footnote(self, node: nodes.Element) -> Iterator[str]:
        label, *rest = node.children
        body = " ".join(block for part in rest for block in self.block(part))
        yield f"<sup>{label.astext()}</sup> {body}"
