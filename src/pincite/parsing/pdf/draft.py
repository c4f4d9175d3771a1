"""A block before it becomes Markdown."""

from __future__ import annotations

from dataclasses import dataclass, field

from pincite.model.geometry import BlockKind
from pincite.parsing.pdf.lines import Line
from pincite.parsing.pdf.page import Box
from pincite.parsing.pdf.tables import Table

__all__ = ["Draft"]


@dataclass(slots=True)
class Draft:
    """Lines, or a table, of one page that form one block.

    ``marker`` counts the words of a list item's marker; ``depth`` is its nesting from 0;
    ``continues`` says that the paragraph before goes on here, in another column or page.
    """

    kind: BlockKind
    page: int
    box: Box
    lines: list[Line] = field(default_factory=list)
    table: Table | None = None
    level: int = 0
    marker: str = ""
    depth: int = 0
    continues: bool = False

    @property
    def text(self) -> str:
        """The lines, joined by spaces."""
        return " ".join(line.text for line in self.lines)

    @property
    def size(self) -> float:
        """The font size of the first line."""
        return self.lines[0].size if self.lines else 0.0

    @property
    def bold(self) -> bool:
        """Whether every line is bold."""
        return bool(self.lines) and all(line.bold for line in self.lines)
