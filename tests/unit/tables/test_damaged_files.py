"""Damaged files: whatever is wrong with them, a reader sees a sentence of Hartley."""

import gzip
import io
import random
import re
import zipfile

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from hartley.engines.table import run
from hartley.errors import HartleyError, TableError
from hartley.tables.opening import open_table
from hartley.tables.reading import ReadingOptions

TABLE = {"age": list(range(300)), "sex": ["F", "M", "F"] * 100}
CSV = "age,sex\n" + "".join(f"{a},{s}\n" for a, s in zip(*TABLE.values(), strict=True))
FOREIGN = re.compile(r"(?i)\w+(Error|Exception)\b|pyarrow|ibis|openpyxl|pyreadstat|zipfile")


def parquet():
    out = io.BytesIO()
    pq.write_table(pa.table(TABLE), out)
    return out.getvalue()


def excel():
    book = openpyxl.Workbook()
    for row in zip(*TABLE.values(), strict=True):
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def statistics(writer, path):
    getattr(pyreadstat, writer)(pd.DataFrame(TABLE), str(path))
    return path.read_bytes()


def noise(length):
    return random.Random(length).randbytes(length)  # noqa: S311 - no secret


def zipped(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return out.getvalue()


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged")
    whole, sheet, text = parquet(), excel(), CSV.encode()
    sav, dta = (statistics(f"write_{end}", folder / f"whole.{end}") for end in ("sav", "dta"))
    middle = len(whole) // 3
    files = {
        "cut.parquet": whole[:-20],
        "half.parquet": whole[: len(whole) // 2],
        "magic.parquet": b"PAR1",
        "noise.parquet": b"PAR1" + noise(500) + b"PAR1",
        "flipped.parquet": whole[:middle] + noise(80) + whole[middle + 80 :],
        "text.parquet": text,
        "cut.xlsx": sheet[: len(sheet) // 2],
        "noise.xlsx": noise(900),
        "other.xlsx": zipped(readme="no workbook"),
        "wrong.xlsx": zipped(**{"[Content_Types].xml": "<a>", "xl/workbook.xml": "<b>"}),
        "text.xlsx": text,
        "flipped.xlsx": sheet[:600] + noise(60) + sheet[660:],
        "cut.sav": sav[:200],
        "half.sav": sav[: len(sav) // 2],
        "noise.sav": noise(700),
        "cut.dta": dta[:150],
        "noise.dta": noise(700),
        "noise.sas7bdat": noise(2000),
        "noise.xpt": noise(2000),
        "noise.por": noise(400),
        "noise.csv": noise(3000),
        "nul.csv": text[:500] + bytes(200) + text[500:],
        "quote.csv": text[:100] + b'"' + text[100:],
        "uneven.csv": text[:700] + b",,,,\n" + text[700:],
        "blank.csv": b"\n\n\n\n",
        "spaces.csv": b"   ",
        "names.csv": b"a,a,a\n1,2,3\n",
        "marks.csv": b"\xef\xbb\xbf",
        "half.csv": text.decode().encode("utf-16")[:-1],
        "latin.csv": text + "30,ü\n".encode("latin-1"),
        "cut.csv.gz": gzip.compress(text)[:-30],
        "noise.csv.gz": noise(400),
        "twice.csv.gz": gzip.compress(gzip.compress(text)),
        "noise.csv.zst": noise(400),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder, [*files]


def test_there_are_30_files(damaged):
    assert len(damaged[1]) >= 30


@pytest.mark.parametrize("reading", [{}, {"footer": 1}, {"header": 2}, {"encoding": "utf-16"}])
def test_a_damaged_file_is_refused_in_words_of_hartley(damaged, reading):
    folder, names = damaged
    refused = []
    for name in names:
        try:
            table = open_table(folder / name, reading=ReadingOptions(**reading))
            run(table, lambda table=table: table.expression.to_pyarrow())
        except HartleyError as error:
            refused.append(str(error))
    assert len(refused) >= 25, refused
    for sentence in refused:
        assert not FOREIGN.search(sentence)
        assert "; hint: " in sentence
        assert "\n" not in sentence


def test_what_is_no_text_is_told_apart(tmp_path):
    (tmp_path / "t.csv").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "t.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd" + noise(60))
    for name, said in {
        "t.csv": r"The file t\.csv is no text: it holds zero bytes; hint: give it the ending",
        "t.csv.zst": r"compressed by zstd, which is not read; hint: unpack it first",
    }.items():
        with pytest.raises(TableError, match=said):
            open_table(tmp_path / name)
