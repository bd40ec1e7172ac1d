"""Reads the flights table with DuckDB and PyIceberg through the REST catalog and compares it with its source.

Record i of the source is partition i % P, offset i // P. Prints what was compared; exits 1 at the first difference.
"""

import argparse
import datetime
import json
import os
import random
import sys
import sysconfig

NUMBERS = [
    "year", "month", "day", "dep_time", "sched_dep_time", "dep_delay", "arr_time", "sched_arr_time", "arr_delay", "flight",
    "air_time", "distance", "hour", "minute",
]
TEXTS = ["carrier", "tailnum", "origin", "dest", "time_hour"]


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--uri", required=True, help="base address of the REST catalog")
    p.add_argument("--table", required=True, help="namespace.table")
    p.add_argument("--source", required=True)
    p.add_argument("--partitions", type=int, required=True)
    p.add_argument("--s3-endpoint")
    p.add_argument("--s3-key")
    p.add_argument("--s3-secret")
    return p.parse_args()


def fail(what):
    print("DIFFERENT: " + what)
    sys.exit(1)


def compare(reader, what, got, want):
    if got != want:
        fail(f"{reader}: {what} is {got!r} in the table and {want!r} in the source")


def source_facts(rows):
    facts = {"rows": len(rows)}
    for c in NUMBERS:
        facts["sum(" + c + ")"] = sum(r[c] for r in rows if r[c] is not None)
        facts["count(" + c + ")"] = sum(1 for r in rows if r[c] is not None)
    for c in TEXTS:
        facts["count(" + c + ")"] = sum(1 for r in rows if r[c] is not None)
        facts["distinct(" + c + ")"] = len({r[c] for r in rows if r[c] is not None})
    return facts


def duckdb_connection(args):
    import duckdb

    con = duckdb.connect()
    base = sysconfig.get_paths()["purelib"]
    version = "v" + duckdb.__version__
    for name in ("avro", "httpfs", "iceberg"):
        con.execute(f"LOAD '{base}/duckdb_extension_{name}/extensions/{version}/{name}.duckdb_extension'")
    if args.s3_endpoint:
        host = args.s3_endpoint.split("://", 1)[1]
        con.execute(
            f"CREATE SECRET (TYPE s3, KEY_ID '{args.s3_key}', SECRET '{args.s3_secret}', ENDPOINT '{host}', "
            "URL_STYLE 'path', USE_SSL false, REGION 'us-east-1')"
        )
    con.execute(f"ATTACH '' AS lake (TYPE iceberg, ENDPOINT '{args.uri}', AUTHORIZATION_TYPE 'none', ACCESS_DELEGATION_MODE 'none')")
    con.execute("SET TimeZone = 'UTC'")
    return con


def check_duckdb(args, rows, want, sample):
    con = duckdb_connection(args)
    table = "lake." + args.table
    parts = ["count(*)"]
    for c in NUMBERS:
        parts += [f"sum({c})::BIGINT", f"count({c})"]
    for c in TEXTS:
        parts += [f"count({c})", f"count(DISTINCT {c})"]
    got = con.execute(f"SELECT {', '.join(parts)} FROM {table}").fetchone()
    for what, g, w in zip(want, got, want.values()):
        compare("DuckDB", what, g, w)
    pairs = con.execute(f"SELECT count(DISTINCT (_kafka_partition, _kafka_offset)) FROM {table}").fetchone()[0]
    compare("DuckDB", "distinct (partition, offset)", pairs, len(rows))
    for i in sample:
        r = con.execute(
            f"SELECT * EXCLUDE (_kafka_partition, _kafka_offset, _kafka_timestamp, _kafka_timestamp_type, _kafka_leader_epoch, "
            f"_kafka_key, _kafka_headers, _unmapped) REPLACE (strftime(time_hour, '%Y-%m-%dT%H:%M:%SZ') AS time_hour) FROM {table} WHERE _kafka_partition = {i % args.partitions} "
            f"AND _kafka_offset = {i // args.partitions}"
        )
        names = [d[0] for d in r.description]
        compare_row("DuckDB", i, dict(zip(names, r.fetchone())), rows[i])
    query = (
        f"SELECT carrier, count(*) AS flights, round(avg(dep_delay), 1) AS mean_delay FROM {table} "
        "GROUP BY carrier ORDER BY flights DESC LIMIT 5"
    )
    print("DuckDB: %d rows, %d aggregates and %d sampled rows equal" % (len(rows), len(want), len(sample)))
    print("QUERY " + query.replace(table, args.table))
    for line in con.execute(query).fetchall():
        print("ANSWER %-3s %7d %6.1f" % line)


def compare_row(reader, i, got, want):
    got = dict(got)
    if isinstance(got.get("time_hour"), datetime.datetime):
        got["time_hour"] = got["time_hour"].astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    compare(reader, f"record {i}", got, want)


def check_pyiceberg(args, rows, want, sample):
    from pyiceberg.catalog import load_catalog
    from pyiceberg.expressions import And, EqualTo
    import pyarrow.compute as pc

    options = {"type": "rest", "uri": args.uri}
    if args.s3_endpoint:
        options |= {
            "s3.endpoint": args.s3_endpoint, "s3.access-key-id": args.s3_key, "s3.secret-access-key": args.s3_secret,
            "s3.region": "us-east-1", "s3.force-virtual-addressing": "false",
        }
    table = load_catalog("tidemark", **options).load_table(args.table)
    data = table.scan(selected_fields=tuple(NUMBERS + TEXTS + ["_kafka_partition", "_kafka_offset"])).to_arrow()
    got = {"rows": data.num_rows}
    for c in NUMBERS:
        got["sum(" + c + ")"] = pc.sum(data[c]).as_py()
        got["count(" + c + ")"] = data.num_rows - data[c].null_count
    for c in TEXTS:
        got["count(" + c + ")"] = data.num_rows - data[c].null_count
        got["distinct(" + c + ")"] = len(pc.unique(data[c].drop_null()))
    for what, w in want.items():
        compare("PyIceberg", what, got[what], w)
    for i in sample[:5]:
        where = And(EqualTo("_kafka_partition", i % args.partitions), EqualTo("_kafka_offset", i // args.partitions))
        found = table.scan(row_filter=where, selected_fields=tuple(rows[i])).to_arrow().to_pylist()
        compare("PyIceberg", f"rows for record {i}", len(found), 1)
        compare_row("PyIceberg", i, found[0], rows[i])
    print("PyIceberg: %d rows, %d aggregates and %d sampled rows equal; snapshot %d" % (
        data.num_rows, len(want), min(5, len(sample)), table.current_snapshot().snapshot_id))


def main():
    args = arguments()
    os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")
    with open(args.source, encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    want = source_facts(rows)
    sample = random.Random(405).sample(range(len(rows)), min(25, len(rows)))
    check_duckdb(args, rows, want, sample)
    check_pyiceberg(args, rows, want, sample)


main()
