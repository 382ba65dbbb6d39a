"""Writes random tables as Python's csv, pandas and R's write.csv, write.csv2 and write.table do, and what csv and pandas read
from each file, for the ignored test `tables_of_the_writers_come_back` of tests/counts/dialects.rs. R itself is not needed: its
rules are its documentation's (quotes doubled or escaped are those of qmethod = "double").
Usage: python fuzz_tables.py FOLDER TABLES [SEED], with pandas installed."""

import csv
import gzip
import io
import json
import random
import re
import sys
import zipfile
from pathlib import Path

import pandas as pd

WORDS = ["sea", "ship", "3\" nail", "say \"no\"", "a, b", "a;b", "tab\there", "two\nlines", "x\r\ny", "Grün", "été", "  space ", "'s",
         "007", "1e5", "12/3", "28.1.1813", "-", "NA", "", "true", "0x1F", "\"", "\"\"", "=1+1", "#", "a|b", "ship ", "1,234",
         "1.234.567,8", "1'000", "Infinity", "inf", "nan", "None", "é\u0301", "海", "𝄞", "1_000", "+5", ".5", "5.", "1e400"]
KINDS = ["whole", "fraction", "words", "missing", "thousands", "codes"]


def column(random, kind, rows, comma):
    """The texts of a column, and the numbers that they are."""
    mark, group = (",", ".") if comma else (".", ",")
    numbers = []
    for _ in range(rows):
        if kind == "missing" and random.random() < 0.3:
            numbers.append(None)
        elif kind in ("whole", "missing", "codes"):
            numbers.append(random.choice([0, 1, 7, 12, 345, 99999, -3]))
        else:
            numbers.append(random.choice([0.5, 1.25, 1234.5, 0.0625, 1234567.75, -2.5, 1.125, 3.0]))
    if kind == "words":
        texts = [random.choice(WORDS) for _ in range(rows)]
        # Numbers alone would say which decimal mark the table has.
        texts[0] = random.choice(["sea", "ship", "Grün"])
        return texts, None
    if kind == "codes":
        return [f"{abs(number):05}x" for number in numbers], None
    texts = []
    for number in numbers:
        if number is None:
            texts.append(random.choice(["NA", "", "NaN", "N/A", "NULL"]))
        elif kind == "thousands":
            texts.append(f"{number:,.2f}".translate(str.maketrans(",.", group + mark)))
        else:
            texts.append(str(number).replace(".", mark))
    if kind == "thousands":
        numbers = [round(number, 2) for number in numbers]
    return texts, numbers


def by_csv(random, names, rows, separator):
    out = io.StringIO()
    quoting = random.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    writer = csv.writer(out, delimiter=separator, quoting=quoting, lineterminator=random.choice(["\n", "\r\n"]))
    writer.writerows([names, *rows])
    return out.getvalue(), False


def by_pandas(random, names, rows, separator):
    frame = pd.DataFrame(rows, columns=names)
    index = random.random() < 0.3
    return frame.to_csv(sep=separator, index=index, lineterminator=random.choice(["\n", "\r\n"])), index


def by_r(random, names, rows, separator):
    """write.csv, write.csv2 (row names, and a name for them) and write.table (none)."""
    quoted = lambda text: "\"" + text.replace("\"", "\"\"") + "\""
    is_number = lambda text: re.fullmatch(r"-?\d+([.,]\d+)?", text) and separator not in text
    value = lambda text: text if text == "NA" or is_number(text) else quoted(text)
    has_name = random.random() < 0.5 or len(names) == 1
    head = ([quoted("")] if has_name else []) + [quoted(name) for name in names]
    lines = [head] + [[quoted(str(at + 1))] + [value(text) for text in row] for at, row in enumerate(rows)]
    return "".join(separator.join(line) + "\n" for line in lines), True


def packed(random, text):
    """The bytes of a file: an encoding, and perhaps a compression."""
    encoding = random.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"])
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError:
        data = text.encode("utf-8")
    if encoding == "cp1252" and any(byte in data for byte in (0x8A, 0x8E, 0x9A, 0x9E)):
        data = text.encode("utf-8")
    kind = random.choice(["", "", "", ".gz", ".zip"])
    if kind == ".gz":
        data = gzip.compress(data, mtime=0)
    if kind == ".zip":
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("table.csv", data)
        data = out.getvalue()
    return data, kind


def main(folder, tables, seed):
    folder.mkdir(parents=True, exist_ok=True)
    expected = (folder / "expected.jsonl").open("w")
    for number in range(tables):
        chance = random.Random(f"{seed}-{number}")
        separator = chance.choice(",,;;\t|")
        width, height = chance.randint(1, 5), chance.randint(1, 8)
        writer = chance.choice([by_csv, by_pandas, by_r])
        if width == 1 and writer != by_r:
            # A file of one column has no separator, and a comma in it is one.
            separator = ","
        comma = separator in ";\t" and chance.random() < 0.5
        kinds = [chance.choice(KINDS) for _ in range(width)]
        names = chance.sample(["sea", "ship", "tea", "a b", "x\"y", "n.1", "Größe", "p, q", "year"], width)
        columns = [column(chance, kind, height, comma) for kind in kinds]
        rows = [list(row) for row in zip(*(texts for texts, _ in columns))]
        text, has_index = writer(chance, names, rows, separator)
        if chance.random() < 0.1 and "\n" not in text.split("\n")[0]:
            text = f"sep={separator}\n{text}"
        data, kind = packed(chance, text)
        name = f"{number:06}.csv{kind}"
        (folder / name).write_bytes(data)
        # What csv reads, as a check that the file is what was meant; its cells and numbers are compared.
        body = text.split("\n", 1)[1] if text.startswith("sep=") else text
        read = list(csv.reader(io.StringIO(body, newline=""), delimiter=separator))
        cells = [row[-width:] for row in read[1:] if row]
        try:
            frame = pd.read_csv(io.StringIO(body), sep=separator, dtype=str, keep_default_na=False,
                                index_col=0 if has_index else False)
            by_pd = [list(row) for row in frame.itertuples(index=False, name=None)]
        except pd.errors.ParserError:
            by_pd = None
        same = cells == by_pd
        row = {"file": name, "separator": separator, "writer": writer.__name__, "names": names, "cells": cells,
               "numbers": [numbers for _, numbers in columns], "kinds": kinds, "index": has_index, "peers_agree": same}
        expected.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
