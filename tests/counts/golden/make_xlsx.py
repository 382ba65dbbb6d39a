"""Writes the spreadsheets in the folder xlsx with XlsxWriter and openpyxl, and beside them what pandas reads from them:
python make_xlsx.py (pandas 3.1, openpyxl 3.1, xlsxwriter 3.2)."""

import datetime as dt
import json
import zipfile
from pathlib import Path

import openpyxl
import pandas as pd
import xlsxwriter

HERE = Path(__file__).parent / "xlsx"
HERE.mkdir(exist_ok=True)
DAY, MOMENT = dt.date(2024, 2, 29), dt.datetime(1811, 4, 25, 8, 30)
DAYS = [DAY, dt.date(1999, 12, 31), dt.date(1904, 1, 2), None]
MOMENTS = [dt.datetime(2024, 2, 29, 8, 30, 15), dt.datetime(1999, 12, 31), None, dt.datetime(2026, 1, 1, 23, 59, 59, 250_000)]


def without_theme(path):
    """A spreadsheet needs neither a theme nor the names of its author."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            if "theme" not in name and "docProps" not in name:
                archive.writestr(name, content)


def kinds(name, **options):
    """A column of each kind, below two empty rows and beside an empty column."""
    book = xlsxwriter.Workbook(HERE / name, options)
    sheet = book.add_worksheet("Letters")
    day, moment = book.add_format({"num_format": "dd.mm.yyyy"}), book.add_format({"num_format": 'd mmm yyyy h:mm:ss"h"'})
    columns = {
        "whole": [3, -1, None, 2**53 - 1],
        " fraction ": [0.5, 2, None, 1e-9],
        "day": DAYS,
        "moment": MOMENTS,
        "flag": [True, None, False, True],
        "code": ["007", "01067", None, "12"],
        "text": ["Dear Cassandra", "a & b < c\nd", "_x0041_", "naïve 中文"],
        "missing": [1, "NA", "-", 4],
        "mixed": [1, "sea", 2.5, None],
        "empty": [None] * 4,
        "as text": ["1", "2.5", None, "3"],
    }
    for at, (head, values) in enumerate(columns.items(), 1):
        sheet.write(2, at, head)
        for row, value in enumerate(values, 3):
            if isinstance(value, str):
                sheet.write_string(row, at, value)
            elif isinstance(value, dt.datetime):
                sheet.write_datetime(row, at, value, moment)
            elif isinstance(value, dt.date):
                sheet.write_datetime(row, at, value, day)
            elif value is not None:
                sheet.write(row, at, value)
    sheet.write(2, 12, "formula")
    for row, value in enumerate([7, 2.25, "#DIV/0!", 0], 3):
        sheet.write_formula(row, 12, "=B4*2", None, value)
    # A column without a name, and cells that have a format alone.
    sheet.write(4, 13, "stray")
    sheet.write_blank(2, 14, None, day)
    book.close()
    without_theme(HERE / name)


def sheets():
    """Three sheets: without a value, counts as triplets, a table of terms with merged cells."""
    book = openpyxl.Workbook()
    book.active.title = "Read me"
    counts = book.create_sheet("Counts")
    for row in [["doc", "term", "count"], [0, 0, 3], [0, 2, 1], [2, 1, 4.0]]:
        counts.append(row)
    wide = book.create_sheet("Terms & more")
    for row in [["doc", "place", "sea", "ship"], ["Emma", "Bath", 1, 2], ["Persuasion", None, 3, 0]]:
        wide.append(row)
    wide.merge_cells("B2:B3")
    book.save(HERE / "sheets.xlsx")
    without_theme(HERE / "sheets.xlsx")


def shown(value):
    """As a table shows the value in a column of texts."""
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return None
    if str(value) in ["True", "False"]:
        return str(value).lower()
    if isinstance(value, dt.datetime):
        whole = "%Y-%m-%d" if value.time() == dt.time() else "%Y-%m-%d %H:%M:%S"
        return value.strftime(whole) + (f".{value.microsecond // 1000:03}" if value.microsecond else "")
    return repr(int(value)) if value == int(value) else repr(value)


def read(name, sheet):
    # pandas makes numbers of 007, and of flags where one is missing; - is a word for a missing number here; the first two rows of `kinds` are empty.
    skipped = 2 if name.startswith("kinds") else 0
    types = {"code": str, "flag": "boolean"}
    table = pd.read_excel(HERE / name, sheet_name=sheet, skiprows=skipped, dtype=types, na_values=["-"])
    columns = {str(column).strip(): [shown(value) for value in table[column]] for column in table}
    unnamed = [column for column in columns if column.startswith("Unnamed: ")]
    for column in unnamed:
        values = columns.pop(column)
        if any(value is not None for value in values):
            columns[""] = values
    return columns


kinds("kinds.xlsx")
kinds("kinds-1904.xlsm", date_1904=True)
sheets()
expected = {f"{name} {sheet}": read(name, sheet - 1) for name, sheet in
            [("kinds.xlsx", 1), ("kinds-1904.xlsm", 1), ("sheets.xlsx", 2), ("sheets.xlsx", 3)]}
(HERE / "pandas.json").write_text(json.dumps(expected, ensure_ascii=False, indent=0) + "\n")
