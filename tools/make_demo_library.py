"""Write the sample library of ``pincite demo``: the papers of an invented ferry company.

Every name, number and rule in it is made up, and the files agree with each other. Run with
reportlab, python-docx, openpyxl and python-pptx installed:

    python tools/make_demo_library.py [FOLDER]

The same versions of those packages write the same bytes: dates are fixed and archives repacked.
"""

from __future__ import annotations

import io
import re
import sys
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from docx import Document
from openpyxl import Workbook
from openpyxl.styles import Font
from pptx import Presentation
from pptx.util import Inches
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    ListFlowable,
    PageTemplate,
    Paragraph,
    Table,
    TableStyle,
)

FOLDER = Path(__file__).resolve().parent.parent / "src" / "pincite" / "demo" / "library"
COMPANY = "Marram Sound Ferries"
DAY = datetime(2024, 3, 1, 9, 0, 0)
MARGIN, GAP = 50, 22

BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=11, leading=15, spaceAfter=8)
HEADING = ParagraphStyle(
    "heading",
    fontName="Helvetica-Bold",
    fontSize=13.5,
    leading=17,
    spaceBefore=10,
    spaceAfter=5,
    keepWithNext=1,
)
TITLE = ParagraphStyle("title", fontName="Helvetica-Bold", fontSize=22, leading=27, spaceAfter=8)
CAPTION = ParagraphStyle(
    "caption", fontName="Helvetica-Oblique", fontSize=8.5, leading=11, keepWithNext=1
)
CELL = ParagraphStyle("cell", fontName="Times-Roman", fontSize=9.5, leading=11.5)
HEAD_CELL = ParagraphStyle("head", fontName="Times-Bold", fontSize=9.5, leading=11.5)

HANDBOOK = """
# Operations Handbook

This handbook tells masters, mates and shore staff of Marram Sound Ferries how the service is
run. It replaces the edition of 2021. Where it is silent the master decides, and writes the
decision into the deck log before the end of the watch.

## 1. The service

The company sails three routes from its base at Kelder Quay. Route A crosses to Orrest in
thirty-five minutes, route B to Hallin in fifty-five minutes, and route C links Orrest with
Little Skarn in twenty minutes. All three run every day of the year except the first of January.

Guillemot keeps route A, Sanderling keeps route B, and Petrel keeps route C. When one vessel is
away for her yearly docking the timetable of the other two is thinned, and the change is posted
at every landing stage fourteen days ahead.

## 2. The fleet

Sanderling is the only hybrid vessel. Her batteries hold 1,140 kilowatt-hours, enough to enter
and leave both harbours without running a diesel engine. They are charged at Kelder Quay
overnight and topped up for eleven minutes at each call.

: Table 1. The vessels of the company

| Vessel | Built | Length | People | Cars |
| Guillemot | 1998 | 42.6 m | 180 | 24 |
| Petrel | 2011 | 31.2 m | 96 | 8 |
| Sanderling | 2019 | 54.8 m | 260 | 40 |

The passenger figures are those of the certificate and include children of every age. They are
not to be passed for any reason, not even for an evacuation drill. Car figures count a car as
4.75 metres of lane; a van with a trailer takes three places.

## 3. Command

The master has command from the moment the gangway is taken in. The duty manager ashore may
cancel a sailing but can never order one. A master who thinks a departure unsafe says so once,
on the recorded line, and the departure does not happen.

Every sailing carries a mate who holds a certificate for the same vessel. On Petrel the mate
also works the ramp; on the other two vessels a deckhand does. Nobody works a ramp alone in the
hours of darkness.

## 4. Boarding

Cars board first, foot passengers after them, and bicycles last. The ramp is closed three
minutes before departure. Late passengers are booked on the next sailing without a charge, once
on each ticket.

1. Count passengers at the gangway with the hand counter.
2. Call the count to the bridge before the lines are let go.
3. Enter both numbers in the deck log, even when they agree.

## 5. Weather

The limits in the table below are absolute. A vessel that lies alongside when any one of them is
passed stays in port, and a vessel at sea makes for the nearest sheltered berth. Wave height is
the significant height read at the Marram buoy, wind is the mean of ten minutes at the Kelder
mast, and visibility is judged from the bridge.

: Table 2. Weather limits: above these a vessel stays in port

| Vessel | Wave height | Mean wind | Visibility |
| Guillemot | 2.4 m | 38 knots | 400 m |
| Petrel | 1.6 m | 30 knots | 600 m |
| Sanderling | 3.1 m | 44 knots | 300 m |

The limits of Petrel are the strictest because her ramp lies low over the water and because the
sound off Little Skarn is open to the north-west. In a swell from that quarter her master may
halve the limit without asking.

A forecast is no reason to cancel. The duty manager looks at the buoy ninety minutes before the
first sailing of the day, then every hour, and tells the landing stages by radio on channel 72.

## 6. Fog

In fog the vessel goes at no more than six knots inside the harbour moles and posts a lookout on
the fore deck with a hand radio. The fog signal is tested every Sunday at noon. If the radar
fails in fog the vessel anchors where the depth allows it and waits.

## 7. Cancelled sailings

When a sailing is cancelled the passengers choose between the next sailing with room and their
money back. Tickets are refunded in full within five working days, also when the weather was to
blame. The company does not pay for lodging, taxis or missed trains.

Residents of the islands who carry a blue card go first on the next sailing, then people with an
appointment at the hospital, then everybody else in the order of booking.

## 8. Freight and livestock

Gas bottles travel upright on the open deck, never more than six of them, and never together
with livestock. Sheep and cattle cross on the first sailing of the day on route A only. The
farmer brings the movement papers to the freight window by six in the evening before.

Petrol in cans is not carried. A tractor counts as two cars, and a combine harvester is carried
on Sanderling alone, by arrangement, at slack water.

## 9. Hours of work and rest

A master or mate rests at least eleven hours between two duties, and a deckhand at least ten. No
duty is longer than twelve hours, the time for opening and closing the vessel included. After
six days of duty in a row two full days are free.

Rest that was broken by an emergency call is made up within three days. The crew planner keeps
the sheet, and any member of the crew may look at it without giving a reason.

## 10. Man overboard

Whoever sees a person fall throws the nearest lifebuoy and keeps pointing. The helmsman turns
towards the side of the fall, the mate launches the rescue boat, and the master calls the
coastguard on channel 16. The rescue boat of every vessel is to be in the water within four
minutes; the drill is timed each month.

## 11. Fire

The engine room is flooded with carbon dioxide only after two officers have counted the crew. On
Sanderling the battery room has its own water mist, released from the bridge; carbon dioxide is
useless there and must not be used.

## 12. Training

A new deckhand sails for ten days beside an experienced one before standing a watch alone.
Masters who change to another vessel make twelve landings at each of her piers under the eye of
her regular master, four of them in the dark.

The simulator at the nautical school of Hallin is booked for the third week of November. Each
master and mate spends one day there every second year and meets a black-out, a jammed rudder
and a crossing tanker.

## 13. Water and waste

Nothing goes over the side. Bilge water is pumped ashore at Kelder Quay on Mondays, and the
receipt is kept for three years. A slick of oil, however small, is reported to the harbour
office and to the coastguard at once.

Hulls are painted with a silicone coating that holds no copper. Divers wipe it twice a year, in
April and in August, with the engines locked off and the key in the pocket of the diver in
charge.

## 14. Changes to this handbook

Proposals go to the safety meeting, held on the second Tuesday of each month at Kelder Quay.
Accepted changes bear the initials of two masters. This edition holds from 1 March 2024.
"""


def cell_rows(rows: list[list[str]]) -> list[list[Paragraph]]:
    styles = [HEAD_CELL] + [CELL] * (len(rows) - 1)
    return [
        [Paragraph(text, style) for text in row] for row, style in zip(rows, styles, strict=True)
    ]


def ruled_table(rows: list[list[str]], width: float) -> Table:
    first = 62.0
    rest = (width - first) / (len(rows[0]) - 1)
    style = [
        ("GRID", (0, 0), (-1, -1), 0.6, colors.black),
        ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
        ("LEFTPADDING", (0, 0), (-1, -1), 3),
        ("RIGHTPADDING", (0, 0), (-1, -1), 3),
    ]
    widths = [first] + [rest] * (len(rows[0]) - 1)
    return Table(
        cell_rows(rows), colWidths=widths, style=TableStyle(style), spaceBefore=4, spaceAfter=10
    )


def parts(text: str) -> Iterator[tuple[str, list[str]]]:
    """The blocks of a text between blank lines: what kind each is and its lines."""
    marks = {"# ": "title", "## ": "heading", ": ": "caption", "| ": "table", "1. ": "list"}
    for block in text.strip().split("\n\n"):
        mark, kind = next(((m, k) for m, k in marks.items() if block.startswith(m)), ("", "body"))
        lines = block.split("\n")
        yield kind, [" ".join(lines)[len(mark) :]] if kind not in {"table", "list"} else lines


def table_rows(lines: list[str]) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]


def flowables(text: str, width: float) -> Iterator[Flowable]:
    styles = {"title": TITLE, "heading": HEADING, "body": BODY, "caption": CAPTION}
    for kind, lines in parts(text):
        if kind == "table":
            yield ruled_table(table_rows(lines), width)
        elif kind == "list":
            items = [Paragraph(line.split(". ", 1)[1], BODY) for line in lines]
            yield ListFlowable(
                items, bulletType="1", bulletFormat="%s.", bulletFontName="Times-Roman"
            )
        else:
            yield Paragraph(lines[0], styles[kind])


def running_lines(canvas: Canvas, template: BaseDocTemplate) -> None:
    canvas.setFont("Helvetica", 8)
    canvas.drawString(MARGIN, A4[1] - 30, f"{COMPANY} - Operations Handbook")
    canvas.drawRightString(A4[0] - MARGIN, 26, f"Page {template.page}")


def make_pdf(path: Path) -> None:
    width = (A4[0] - 2 * MARGIN - GAP) / 2
    height = A4[1] - 2 * MARGIN
    frames = [Frame(x, MARGIN, width, height, 0, 0, 0, 0) for x in (MARGIN, MARGIN + width + GAP)]
    template = BaseDocTemplate(
        str(path), pagesize=A4, title="Operations Handbook", author=COMPANY, invariant=1
    )
    template.addPageTemplates([PageTemplate("two", frames, onPage=running_lines)])
    template.build(list(flowables(HANDBOOK, width)))


def repack(data: bytes, path: Path) -> None:
    """Write an Office archive with fixed dates, so that equal content gives equal bytes."""
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(path, "w") as new:
        for name in sorted(old.namelist(), key=lambda n: (n != "[Content_Types].xml", n)):
            body = old.read(name)
            if name == "docProps/core.xml":
                body = re.sub(rb"(<dcterms:\w+[^>]*>)[^<]*", rb"\g<1>2024-03-01T09:00:00Z", body)
            info = zipfile.ZipInfo(name, date_time=(2024, 3, 1, 9, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(info, body)


MANUAL = """
# Crew Safety Manual

## Life-saving equipment

Lifejackets are stowed in the lockers under the benches of the saloon. Sixty of those on
Guillemot and twenty-five of those on Petrel are for children. A lifejacket is taken out of
service when its light has been lit once or when it is ten years old.

Liferafts are sent to the workshop at Kelder Quay every twelve months. The hydrostatic release
is replaced every second year and the date is painted on the cradle.

## Drills

Drills are held with the passengers ashore, except the abandon ship drill of the first Monday in
May, which is held with passengers who have agreed to it.

| Drill | How often | Who leads |
| Abandon ship | every two weeks | Master |
| Fire in the engine room | every month | Chief engineer |
| Man overboard | every month | Mate |
| Steering failure | every three months | Master |
| Security search | every six months | Duty manager |

## First aid

Each vessel carries a defibrillator beside the purser's desk. Its battery is checked on Fridays:
a green light means ready. Two members of every crew hold a first aid certificate not older than
three years.

## Reporting

A near miss is reported on the yellow form before the end of the duty. Nobody is blamed for a
report. The safety officer answers each form in writing within ten days.
"""


def make_docx(path: Path) -> None:
    document = Document()
    document.core_properties.title = "Crew Safety Manual"
    document.core_properties.author = COMPANY
    document.core_properties.created = document.core_properties.modified = DAY
    for kind, lines in parts(MANUAL):
        if kind == "table":
            table = document.add_table(rows=0, cols=3, style="Table Grid")
            for row in table_rows(lines):
                for cell, value in zip(table.add_row().cells, row, strict=True):
                    cell.text = value
        elif kind == "body":
            document.add_paragraph(lines[0])
        else:
            document.add_heading(lines[0], level=1 if kind == "title" else 2)
    buffer = io.BytesIO()
    document.save(buffer)
    repack(buffer.getvalue(), path)


TIMES = [
    ("Route", "From", "To", "First sailing", "Last sailing", "Sailings a day", "Minutes"),
    ("A", "Kelder Quay", "Orrest", "06:40", "21:10", 12, 35),
    ("A", "Orrest", "Kelder Quay", "07:25", "21:55", 12, 35),
    ("B", "Kelder Quay", "Hallin", "07:05", "19:30", 6, 55),
    ("B", "Hallin", "Kelder Quay", "08:15", "20:40", 6, 55),
    ("C", "Orrest", "Little Skarn", "08:00", "18:20", 8, 20),
    ("C", "Little Skarn", "Orrest", "08:30", "18:50", 8, 20),
]
FARES = [
    ("Ticket", "Route A", "Route B", "Route C"),
    ("Adult, single", 7.40, 11.80, 4.20),
    ("Child 5 to 15, single", 3.70, 5.90, 2.10),
    ("Child under 5", 0, 0, 0),
    ("Bicycle", 2.50, 2.50, 1.50),
    ("Dog", 3.00, 3.00, 3.00),
    ("Car with driver", 24.00, 38.50, 16.00),
    ("Ten-trip card, adult", 59.00, 94.00, 33.50),
]


def make_xlsx(path: Path) -> None:
    book = Workbook()
    sheets = [(book.active, "Timetable", TIMES), (book.create_sheet(), "Fares in euro", FARES)]
    for sheet, title, rows in sheets:
        sheet.title = title
        for row in rows:
            sheet.append(row)
        for cell in sheet[1]:
            cell.font = Font(bold=True)
    book.properties.title = "Timetable and fares"
    book.properties.creator = COMPANY
    buffer = io.BytesIO()
    book.save(buffer)
    repack(buffer.getvalue(), path)


SLIDES = [
    (
        "Season briefing 2024",
        ["For masters, mates and shore staff", "Kelder Quay, 1 March 2024"],
    ),
    (
        "What is new",
        [
            "Sanderling takes over all sailings of route B",
            "Blue card holders book by text message to 5512",
            "The cafe on Guillemot closes at six in the evening",
        ],
    ),
    (
        "Works in the harbours",
        [
            "Hallin: the east berth is closed from 8 to 26 April for new fenders",
            "Little Skarn: dredging to 3.8 metres, nights only, in September",
            "Orrest: the waiting room gets a heated floor",
        ],
    ),
    (
        "Goals",
        [
            "97 in 100 sailings leave within five minutes of the timetable",
            "Fuel for each crossing down by a tenth against 2023",
            "No accident that costs a day of work",
        ],
    ),
]


def make_pptx(path: Path) -> None:
    show = Presentation()
    show.slide_width, show.slide_height = Inches(10), Inches(7.5)
    for title, lines in SLIDES:
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "\n".join(lines)
    show.core_properties.title = "Season briefing 2024"
    show.core_properties.author = COMPANY
    buffer = io.BytesIO()
    show.save(buffer)
    repack(buffer.getvalue(), path)


FAQ = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Questions passengers ask</title>
</head>
<body>
<h1>Questions passengers ask</h1>
<h2>Animals</h2>
<p>Your dog travels with you on the open deck or in the rear saloon, on a lead, for 3 euro a
crossing. Guide dogs go everywhere and cost nothing. Cats stay in their basket.</p>
<h2>Bicycles</h2>
<p>Bring your bicycle to the ramp ten minutes before departure. There is room for fourteen on
Guillemot and twenty on Sanderling, first come, first served. Petrel has six hooks, which can be
booked by telephone.</p>
<h2>Lost things</h2>
<p>What the crew finds is brought to the desk at Kelder Quay the same evening. It is kept there for
sixty days.</p>
<h2>Payment</h2>
<ul>
<li>Cash and cards are taken at every landing stage.</li>
<li>On board you can pay by card alone.</li>
<li>A ten-trip card holds for two years.</li>
</ul>
</body>
</html>
"""

ENGINES = """---
title: Engine log of Guillemot
vessel: Guillemot
year: 2023
tags: [maintenance, engines]
---

# Engine log of Guillemot

## January

The port engine lost oil pressure off Orrest on the ninth. The cause was a cracked pipe at the
filter, part `GF-2207`. It was replaced alongside in forty minutes, and the 14:10 sailing left a
quarter of an hour late.

## May

Yearly docking at Kelder Quay, from the second to the sixteenth. Both propellers were polished, the
anodes renewed, and the starboard gearbox opened: error `E-4417` on the panel had been a loose
sensor, not a worn gear.

## October

| Date       | Engine    | Running hours | Oil used |
|------------|-----------|---------------|----------|
| 2 October  | port      | 31,904        | 6 litres |
| 2 October  | starboard | 31,870        | 9 litres |
| 30 October | port      | 32,377        | 5 litres |
| 30 October | starboard | 32,341        | 8 litres |
"""

RADIO = """# Radio and signals

Bridge and landing stages speak on channel 72. Channel 16 is watched at all times and is used for
distress alone.

## Short blasts

1. One short blast: I am turning to starboard.
2. Two short blasts: I am turning to port.
3. Five short blasts: I doubt what you are doing.

## Phone numbers

- Duty manager: extension 301, day and night
- Workshop at Kelder Quay: extension 318
- Harbour office Hallin: extension 340, from eight to four
"""

MONTHS = """month,route,sailings planned,sailings made,passengers,cancelled for
2023-01,A,360,331,21480,wind
2023-01,B,180,158,9312,waves
2023-01,C,240,201,5120,waves
2023-04,A,360,357,30215,engine
2023-04,B,180,180,15840,
2023-04,C,240,236,8930,fog
2023-07,A,372,372,52110,
2023-07,B,186,186,31402,
2023-07,C,248,247,17655,fog
2023-10,A,372,360,33870,wind
2023-10,B,186,177,16230,waves
2023-10,C,248,226,9744,waves
"""


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    make_pdf(folder / "operations-handbook.pdf")
    make_docx(folder / "crew-safety-manual.docx")
    make_xlsx(folder / "timetable-and-fares.xlsx")
    make_pptx(folder / "season-briefing.pptx")
    texts = {
        "passenger-questions.html": FAQ,
        "engine-log.md": ENGINES,
        "radio.md": RADIO,
        "sailings-2023.csv": MONTHS,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
