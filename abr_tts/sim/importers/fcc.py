"""
Raw files of the FCC's Measuring Broadband America: `curr_webget`, `curr_httpgetmt` and their like.

A row is one download of one household: `unit_id,dtime,target,…,bytes_sec,…`. As Pensieve does, the
rows of one household and one target make one network, five seconds a row, in the order of time.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping

from ..scenario import Scenario
from .text import MOST_KBPS, MOST_ROWS, Source, scenario

ROW_S = 5.0
"""Seconds that a row stands for: the interval of `curr_httpgetmt`, and what Pensieve takes of the others."""

LEAST_ROWS = 24
"""Rows of a network, at least: two minutes. One with fewer tells of a household, not of a link."""

MOST_NETWORKS = 500
"""Networks of one file; of a file with more, a part must be cut out first."""

NEEDED = ("unit_id", "dtime", "target", "bytes_sec")
"""Columns without which a row says nothing."""

INTERVAL = "bytes_sec_interval"
"""Of `curr_httpgetmt`: the rate of this interval alone, where `bytes_sec` is of the test so far."""


def is_head(line: str) -> bool:
    """Whether a line is the head of such a file."""
    return line.split(",", 1)[0].strip().strip('"') == "unit_id"


def read(source: Source) -> tuple[Scenario, ...]:
    """
    The scenarios of a file, one for each household and target with at least `LEAST_ROWS` rows.

    Raises:
        ConfigError: a column is missing, a rate is no number, or there is no such network.
    """
    networks: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for line, row in _rows(source):
        if row.get("successes", "1") == "0":
            continue  # the download failed: that is of the target's server as often as of the link
        rate = row.get(INTERVAL) or row["bytes_sec"]
        kbps = source.number(line, "the rate", rate, MOST_KBPS * 125) / 125
        network = networks.setdefault((row["unit_id"], row["target"]), [])
        network.append((f"{row['dtime']} {row.get('sequence', ''):>6}", kbps))
    kept = {key: rows for key, rows in networks.items() if len(rows) >= LEAST_ROWS}
    if not kept:
        raise source.fault(1, f"no household has {LEAST_ROWS} rows for one target")
    if len(kept) > MOST_NETWORKS:
        raise source.fault(1, f"holds {len(kept)} networks; at most {MOST_NETWORKS} are read, so cut it")
    return tuple(_network(source, key, rows) for key, rows in kept.items())


def _network(source: Source, key: tuple[str, str], rows: list[tuple[str, float]]) -> Scenario:
    rows.sort(key=lambda row: row[0])
    steps = [(index * ROW_S, kbps) for index, (_, kbps) in enumerate(rows)]
    target = key[1].split("://")[-1].strip("/").replace("/", "-") or "target"
    name = f"{source.name}#{key[0]}_{target}"
    return scenario(source, steps, len(rows) * ROW_S, source.rtt(), name=name)


def _rows(source: Source) -> Iterator[tuple[int, Mapping[str, str]]]:
    """(line, cells by column) of every row."""
    reader = csv.reader(io.StringIO(source.text))
    head: list[str] = []
    count = 0
    try:
        for cells in reader:
            line = reader.line_num
            if not head:
                head = [cell.strip() for cell in cells]
                missing = [name for name in NEEDED if name not in head]
                if head and missing:
                    raise source.fault(line, f"the head lacks {', '.join(missing)}")
                continue
            if not cells:
                continue
            count += 1
            if count > MOST_ROWS:
                raise source.fault(line, f"is row {count}; at most {MOST_ROWS} are read")
            if len(cells) < len(head):
                raise source.fault(line, f"has {len(cells)} cells, the head {len(head)}")
            yield line, dict(zip(head, cells, strict=False))
    except csv.Error as error:
        raise source.fault(reader.line_num, f"not CSV: {error}") from None
