"""Write a table as the official file of a data set is written, so that it can be read back."""

from __future__ import annotations

import csv
import gzip
import zipfile

import numpy as np
import pytest

from hartley.datasets.meters import SPELLINGS


def _rows(table):
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


def _lines(table, missing, join=",", form=str):
    return [
        join.join(missing if value is None else form(value) for value in row)
        for row in _rows(table)
    ]


def write_hungarian(table, folder):
    lines = _lines(table, "?")
    (folder / "processed.hungarian.data").write_text("\n".join(lines) + "\n")


def write_cleveland(table, folder):
    lines = _lines(table, "?", form=lambda value: f"{value:.1f}")
    (folder / "processed.cleveland.data").write_text("\n".join(lines) + "\n")


def write_young_people(table, folder):
    with (folder / "responses.csv").open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(table.column_names)
        writer.writerows(["" if v is None else v for v in row] for row in _rows(table))


def write_solar_homes(table, folder):
    """The yearly file: a remark above the header, days like 1-Jul-12, in a zip."""
    lines = [
        ",".join([*map(str, row[:4]), f"{row[4].day}-{row[4]:%b-%y}", *map(str, row[5:]), ""])
        for row in _rows(table)
    ]
    header = ",".join([*table.column_names, "Row Quality"])
    text = "\n".join(["Half hour readings,,,,", header, *lines]) + "\n"
    name = "Solar-home-half-hour-data---1-July-2012-to-30-June-2013.zip"
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("notes.txt", "See the page.")
        archive.writestr("2012-2013 Solar home electricity data v2.csv", text)


def write_redd(table, folder):
    """One channel a file; the mains in two halves."""
    house = folder / "low_freq" / "house_1"
    house.mkdir(parents=True)
    wrong = {right: name for name, right in SPELLINGS.items()}
    labels = ["1 mains", "2 mains"]
    seconds = table.column("time").to_numpy().astype("datetime64[s]").astype(np.int64)
    mains = table.column("mains").to_numpy()
    columns = {1: mains - 50, 2: np.full(mains.size, 50.0)}
    for name in table.column_names[2:]:
        label, channel = name.rsplit("_", 1)
        labels.append(f"{channel} {wrong.get(label, label)}")
        columns[int(channel)] = table.column(name).to_numpy()
    for channel, values in columns.items():
        lines = [f"{t} {v:.2f}" for t, v in zip(seconds, values, strict=True) if not np.isnan(v)]
        (house / f"channel_{channel}.dat").write_text("\n".join(lines) + "\n")
    (house / "labels.dat").write_text("\n".join(labels) + "\n")


def write_taxi(table, folder):
    """As the TLC wrote 2014: blanks in the header, further columns."""
    lines = ["vendor_id, " + ", ".join(table.column_names) + ", passenger_count", ""]
    lines += [f"CMT,{line},1" for line in _lines(table, "")]
    (folder / "yellow_tripdata_2014-01.csv.gz").write_bytes(
        gzip.compress("\n".join(lines).encode())
    )


def write_adult(table, folder):
    lines = _lines(table, "?", join=", ")
    (folder / "adult.data").write_text("\n".join(lines) + "\n\n")


def write_census(table, folder):
    lines = [",".join(table.column_names), *_lines(table, "")]
    (folder / "CASCrefmicrodata.csv").write_text("\n".join(lines) + "\n")


def write_tarragona(table, folder):
    """With semicolons and blanks in names, as spreadsheets export it."""
    names = [name.replace(".", " ") for name in table.column_names]
    lines = [";".join(names), *_lines(table, "", join=";")]
    (folder / "Tarragona.csv").write_text("\n".join(lines) + "\n")


WRITERS = {
    name.removeprefix("write_"): function
    for name, function in globals().items()
    if name.startswith("write_")
}


@pytest.fixture(scope="session")
def write_official():
    """Give a function that writes a table as the official file of the named data set."""
    return lambda name, table, folder: WRITERS[name](table, folder)
