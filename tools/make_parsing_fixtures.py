"""Write the PDF files of the parsing tests; needs reportlab and the DejaVu fonts.

Run: python tools/make_parsing_fixtures.py [FOLDER]   (default: tests/fixtures/parsing)
"""

from __future__ import annotations

import sys
from pathlib import Path

from reportlab.lib import pdfencrypt
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import simpleSplit
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

WIDTH, HEIGHT = A4
DEJAVU = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"

LEFT = (
    "The harbour of Marlow was rebuilt after the flood of 1962, when the old quay had been "
    "carried away in a single night. Engineers measured the new basin twice and found that the "
    "depth at low tide was sufficient for vessels of moderate draught. The council recorded the "
    "result in its ledger and ordered a granite slipway from the quarry at Penhale."
)
RIGHT = (
    "Trade returned slowly. In the first summer only fishing boats used the basin, and the "
    "customs house stayed shut. Two years later a ferry began to cross the strait on weekdays, "
    "and merchants from the northern islands opened stores along the promenade. The harbour "
    "master kept a diary that is still consulted by historians of the coast."
)
CARGO = (
    ("Year", "Cargo", "Tonnes"),
    ("1963", "Granite", "1,240"),
    ("1964", "Herring", "860"),
    ("1965", "Timber", "2,015"),
)


def canvas(path: Path, **options: object) -> Canvas:
    """A canvas whose bytes do not depend on the time."""
    made = Canvas(str(path), pagesize=A4, invariant=1, **options)
    made.setAuthor("Pincite")
    return made


def column(c: Canvas, text: str, x: float, y: float, width: float, size: float = 10) -> float:
    """Write wrapped text from ``y`` down; returns the height below it."""
    c.setFont("Helvetica", size)
    for line in simpleSplit(text, "Helvetica", size, width):
        c.drawString(x, y, line)
        y -= 1.2 * size
    return y


def ruled_table(c: Canvas, rows: tuple[tuple[str, ...], ...], x: float, y: float) -> None:
    """A grid with 90-point columns and 18-point rows."""
    for i in range(len(rows) + 1):
        c.line(x, y - 18 * i, x + 90 * len(rows[0]), y - 18 * i)
    for j in range(len(rows[0]) + 1):
        c.line(x + 90 * j, y, x + 90 * j, y - 18 * len(rows))
    c.setFont("Helvetica", 10)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            c.drawString(x + 90 * j + 5, y - 18 * i - 13, cell)


def two_columns(folder: Path) -> None:
    """A heading, two columns of prose with a hyphen at a line's end, and a ruled table."""
    c = canvas(folder / "two_columns.pdf")
    c.setTitle("The Harbour of Marlow")
    c.setFont("Helvetica-Bold", 20)
    c.drawCentredString(WIDTH / 2, HEIGHT - 80, "The Harbour of Marlow")
    c.setFont("Helvetica-Bold", 13)
    c.drawString(60, HEIGHT - 120, "1 History")
    column(c, LEFT, 60, HEIGHT - 140, 225)
    column(c, "The basin was dred-", 60, HEIGHT - 280, 225)
    column(c, "ged again in the spring.", 60, HEIGHT - 292, 225)
    c.setFont("Helvetica-Bold", 13)
    c.drawString(310, HEIGHT - 120, "2 Commerce")
    column(c, RIGHT, 310, HEIGHT - 140, 225)
    c.setFont("Helvetica", 10)
    c.drawString(
        60, HEIGHT - 340, "Table 1: Cargo landed at Marlow, with a cell that says A|B below it"
    )
    ruled_table(c, (*CARGO, ("1966", "A|B", "7")), 60, HEIGHT - 350)
    c.showPage()
    c.save()


def running(folder: Path) -> None:
    """Four pages with a header, a footer and page numbers; the third page is blank."""
    c = canvas(folder / "running.pdf")
    for number in range(1, 5):
        if number != 3:
            c.setFont("Helvetica", 9)
            c.drawString(60, HEIGHT - 40, "Annual Report of the Harbour Board")
            c.drawCentredString(WIDTH / 2, 30, f"Page {number} of 4")
            c.setFont("Helvetica-Bold", 16)
            c.drawString(60, HEIGHT - 90, f"Chapter {number}")
            column(c, f"Page {number} speaks. " + LEFT, 60, HEIGHT - 120, 470, 11)
        c.showPage()
    c.save()


def rotated(folder: Path) -> None:
    """Page 1 upright, 2 rotated by 90, 3 by 180, 4 by 270 degrees, 5 with upright side text."""
    c = canvas(folder / "rotated.pdf")
    for turn in (0, 90, 180, 270):
        c.setPageRotation(turn)
        c.setPageSize((HEIGHT, WIDTH) if turn in (90, 270) else A4)  # reportlab swaps them again
        column(c, f"Turned by {turn} degrees. {LEFT}", 60, HEIGHT - 100, 400)
        c.showPage()
    c.setPageRotation(0)
    c.setPageSize(A4)
    column(c, RIGHT, 100, HEIGHT - 100, 400)
    c.saveState()
    c.translate(40, 200)
    c.rotate(90)
    c.drawString(0, 0, "Written along the margin")
    c.restoreState()
    c.showPage()
    c.save()


def encrypted(folder: Path) -> None:
    """The user password is "sesame"."""
    lock = pdfencrypt.StandardEncryption("sesame", ownerPassword="owner", strength=128)
    c = canvas(folder / "encrypted.pdf", encrypt=lock)
    column(c, "The vault holds seven silver spoons.", 60, HEIGHT - 100, 400)
    c.showPage()
    c.save()


def outline(folder: Path) -> None:
    """Bookmarks decide the levels of headings that are set in the body's font."""
    c = canvas(folder / "outline.pdf")
    y = HEIGHT - 80
    for title, level in (("Instruments", 0), ("Barometers", 1), ("Clocks", 1), ("Archives", 0)):
        c.bookmarkHorizontal(title, 0, y)
        c.addOutlineEntry(title, title, level)
        c.setFont("Helvetica", 10)
        c.drawString(60, y, title)
        y = column(c, LEFT, 60, y - 30, 470) - 30
    c.showPage()
    c.save()


def lists_and_code(folder: Path) -> None:
    """Bullets with a wrapped item and a nested one, numbers, and a listing."""
    c = canvas(folder / "lists.pdf")
    c.setFont("Helvetica", 10)
    y = HEIGHT - 80
    column(c, LEFT, 60, y, 470)
    y -= 80
    for x, text in (
        (60, "•  Ropes of hemp are kept in the dry store, and they are inspected by the mate"),
        (71, "at the beginning of every month."),
        (60, "•  Lanterns hang by the door."),
        (80, "•  Spare wicks lie beside them."),
    ):
        c.drawString(x, y, text)
        y -= 12
    y -= 12
    for i, text in enumerate(("Open the sluice.", "Wait for the bell.", "Close the sluice."), 1):
        c.drawString(60, y, f"{i}. {text}")
        y -= 12
    y -= 12
    c.setFont("Courier", 10)
    for line in ("for boat in boats:", "    boat.sail()", "    boat.moor()"):
        c.drawString(60, y, line)
        y -= 12
    y -= 12
    column(c, RIGHT, 60, y, 470)
    c.showPage()
    c.save()


def unruled(folder: Path) -> None:
    """A table without any rule and with empty cells, between paragraphs."""
    c = canvas(folder / "unruled.pdf")
    y = column(c, LEFT, 60, HEIGHT - 80, 470) - 20
    rows = (
        ("Code", "Berth", "Depth", "State"),
        ("MR-01", "North", "4.2", "open"),
        ("MR-02", "South", "", "closed"),
        ("MR-03", "", "3.9", "open"),
        ("MR-04", "East", "5.0", ""),
    )
    for row in rows:
        for j, cell in enumerate(row):
            c.drawString(60 + 100 * j, y, cell)
        y -= 16
    column(c, RIGHT, 60, y - 20, 470)
    c.showPage()
    c.save()


def grid(folder: Path) -> None:
    """A ruled table with headers written upwards and two numbers in one ruled column."""
    c = canvas(folder / "grid.pdf")
    y = column(c, LEFT, 60, HEIGHT - 80, 470) - 20
    xs, ys = (60, 180, 270, 400), (y, y - 70, y - 88, y - 106, y - 124)
    for level in ys:
        c.line(xs[0], level, xs[-1], level)
    for x in xs:
        c.line(x, ys[0], x, ys[-1])
    c.setFont("Helvetica", 10)
    for x, title in ((210, "Reading right"), (320, "Tide gauges")):
        c.saveState()
        c.translate(x, ys[1] + 4)
        c.rotate(90)
        c.drawString(0, 0, title)
        c.restoreState()
    for i, row in enumerate(
        (("Quay", "yes", "4", "8"), ("Pier", "no", "15", "16"), ("Mole", "yes", "23", "42"))
    ):
        for x, cell in zip((65, 185, 275, 350), row, strict=True):
            c.drawString(x, ys[i + 1] - 13, cell)
    column(c, RIGHT, 60, ys[-1] - 30, 470)
    c.showPage()
    c.save()


def arabic(folder: Path) -> None:
    """Letters placed from right to left, in visual order, with a Latin word among them."""
    pdfmetrics.registerFont(TTFont("DejaVu", DEJAVU))
    c = canvas(folder / "arabic.pdf")
    c.setFont("DejaVu", 14)
    for k, line in enumerate(("مرحبا بكم في Marlow اليوم", "ميناء قديم على الساحل")):
        x, y = 500.0, HEIGHT - 100 - 24 * k
        for word in line.split():
            shown = word if word.isascii() else word[::-1]
            x -= pdfmetrics.stringWidth(shown, "DejaVu", 14)
            c.drawString(x, y, shown)
            x -= pdfmetrics.stringWidth(" ", "DejaVu", 14)
    c.showPage()
    c.save()


def hidden_and_empty(folder: Path) -> None:
    """Page 1: text in render mode 3; page 2: only a drawing."""
    c = canvas(folder / "hidden.pdf")
    text = c.beginText(60, HEIGHT - 100)
    text.setFont("Helvetica", 10)
    text.setTextRenderMode(3)
    text.textLine("An invisible layer of recognised text lies over the scanned page of the ledger.")
    c.drawText(text)
    c.showPage()
    c.rect(100, 100, 300, 300, fill=1)
    c.showPage()
    c.save()


def main() -> int:
    """Write every file."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "tests/fixtures/parsing")
    folder.mkdir(parents=True, exist_ok=True)
    for make in (
        two_columns,
        running,
        rotated,
        encrypted,
        outline,
        lists_and_code,
        unruled,
        grid,
        arabic,
        hidden_and_empty,
    ):
        make(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
