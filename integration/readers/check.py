"""Reads the table of readers_test.go in one engine and compares it with what was written. Usage: check.py ENGINE REST-URL"""

import datetime
import decimal
import glob
import os
import sys
import uuid

DAY = 20_000
S3 = {name.removeprefix("CHECK_S3_"): value for name, value in os.environ.items() if name.startswith("CHECK_S3_")}
UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)


def micros(n):
    return datetime.timedelta(microseconds=n)


def expected(partition, n, at):
    """The row as a dict of Python values."""
    names = ["_kafka_timestamp", "_kafka_timestamp_type", "_kafka_leader_epoch", "_kafka_key", "_kafka_headers", "flag", "i32",
             "i64", "f32", "f64", "d9", "d18", "d38", "day", "local", "at", "text", "raw", "fix", "id", "nest"]
    row = {"_kafka_partition": partition, "_kafka_offset": n, **dict.fromkeys(names)}
    if n % 3 == 2:
        return row
    D = decimal.Decimal
    row.update({
        "_kafka_timestamp": EPOCH + micros(at + n), "_kafka_timestamp_type": 0, "_kafka_leader_epoch": 7, "_kafka_key": b"",
        "_kafka_headers": [{"key": f"h{i}", "value": None if i == 1 else bytes([0, i])} for i in range(n % 4)],
        "flag": n % 2 == 0, "i32": -n, "i64": n << 33, "f32": n / 4, "f64": -n / 8,
        "d9": D(n * 100 + 5).scaleb(-2), "d18": D(-(n * 10000 + 1)).scaleb(-4), "d38": D(-(n + 1)).scaleb(-10),
        "day": (EPOCH + datetime.timedelta(days=n)).date(), "local": (EPOCH + micros(n * 1_000_001)).replace(tzinfo=None),
        "at": EPOCH + micros(at + n), "text": f"rów {n}", "raw": bytes([0xFF, n % 256]), "fix": bytes([1, 2, 3, n % 256]),
        "id": uuid.UUID(int=n % 256),
        "nest": None if n % 4 == 3 else {"a": n, "tags": None if n % 4 == 1 else ["x", None]},
    })
    return row


def normal(value):
    """Values as both engines may give them, in one form."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, dict):
        return {k: normal(v) for k, v in value.items()}
    if isinstance(value, list):
        return [normal(v) for v in value]
    return value


def want():
    day = 24 * 3600 * 1_000_000
    return [expected(0, n, DAY * day) for n in range(300)] + [expected(1, n, (DAY + 1) * day) for n in range(30)]


def fail(message):
    print(message)
    sys.exit(1)


def compare(rows, adapt=lambda value: value):
    """Fails unless the rows are those written; adapt takes away a difference that an engine cannot show."""
    rows = sorted(rows, key=lambda r: (r["_kafka_partition"], r["_kafka_offset"]))
    if len(rows) != len(want()):
        fail(f"{len(rows)} rows, want {len(want())}")
    for got, expect in zip(rows, want()):
        for name, value in expect.items():
            found = normal(got[name])
            if name == "id" and isinstance(found, (bytes, str)):
                found = uuid.UUID(bytes=found) if isinstance(found, bytes) else uuid.UUID(found)
            found, value = adapt(found), adapt(value)
            if found != value:
                fail(f"partition {expect['_kafka_partition']}, offset {expect['_kafka_offset']}: {name} is {found!r}, want {value!r}")


def duck(url):
    import duckdb
    import importlib.util

    con = duckdb.connect(config={"allow_unsigned_extensions": "false"})
    for name in ("avro", "httpfs", "iceberg"):
        package = os.path.dirname(importlib.util.find_spec("duckdb_extension_" + name).origin)
        [path] = glob.glob(package + f"/extensions/*/{name}.duckdb_extension")
        con.execute(f"LOAD '{path}'")
    con.execute("SET TimeZone='UTC'")
    if S3:
        con.execute(
            f"CREATE SECRET (TYPE s3, KEY_ID '{S3['KEY']}', SECRET '{S3['SECRET']}', ENDPOINT '{S3['ENDPOINT'].split('//')[1]}',"
            f" URL_STYLE 'path', USE_SSL false, REGION '{S3['REGION']}')")
    con.execute(f"ATTACH '' AS r (TYPE iceberg, ENDPOINT '{url}', AUTHORIZATION_TYPE 'none', ACCESS_DELEGATION_MODE 'none')")
    names = sorted(row[0] for row in con.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'r'").fetchall())
    if names != ["all_types", "all_types__quarantine"]:
        fail(f"tables {names}")
    compare(con.execute("SELECT * FROM r.kafka.all_types").to_arrow_table().to_pylist())
    queries = {
        "SELECT count(*) FROM r.kafka.all_types WHERE _kafka_timestamp >= TIMESTAMPTZ '2024-10-05 00:00:00+00'": 20,
        "SELECT count(*) FROM r.kafka.all_types WHERE _kafka_timestamp < TIMESTAMPTZ '2024-10-05 00:00:00+00'": 200,
        "SELECT count(*) FROM r.kafka.all_types WHERE _kafka_timestamp IS NULL": 110,
        "SELECT count(*) FROM r.kafka.all_types WHERE _kafka_partition = 1 AND _kafka_offset >= 10": 20,
        "SELECT count(*) FROM r.kafka.all_types WHERE text = 'rów 7'": 2,
        "SELECT count(*) FROM r.kafka.all_types__quarantine": 0,
    }
    for query, count in queries.items():
        [(found,)] = con.execute(query).fetchall()
        if found != count:
            fail(f"{query}: {found}, want {count}")
    print(f"DuckDB {duckdb.__version__}: {len(want())} rows equal, {len(queries)} filters right")


def lists_not_null(value):
    """PyIceberg builds lists anew without their validity: a null list comes out empty (pyarrow reads the same file right)."""
    if isinstance(value, dict):
        return {k: [] if k == "tags" and v is None else lists_not_null(v) for k, v in value.items()}
    return value


def client_side():
    """What a reader must bring itself: the catalog never serves credentials."""
    return {"s3.access-key-id": S3["KEY"], "s3.secret-access-key": S3["SECRET"]} if S3 else {}


def pyiceberg(url):
    import pyiceberg
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    catalog = load_catalog("r", **{"type": "rest", "uri": url}, **client_side())
    if catalog.list_namespaces() != [("kafka",)] or catalog.list_tables("kafka") != [("kafka", "all_types"), ("kafka", "all_types__quarantine")]:
        fail(f"namespaces {catalog.list_namespaces()}, tables {catalog.list_tables('kafka')}")
    if not catalog.table_exists("kafka.all_types") or catalog.table_exists("kafka.none") or not catalog.namespace_exists("kafka"):
        fail("existence is wrong")
    for call, error in ((lambda: catalog.load_table("kafka.none"), NoSuchTableError), (lambda: catalog.list_tables("none"), NoSuchNamespaceError)):
        try:
            call()
            fail(f"no {error.__name__}")
        except error:
            pass
    table = catalog.load_table("kafka.all_types")
    rows = table.scan().to_arrow().to_pylist()
    for row in rows:
        if row["_kafka_headers"] == [] and row["_kafka_timestamp"] is None:
            row["_kafka_headers"] = None
    compare(rows, lists_not_null)
    for condition, count in (
        ("_kafka_timestamp >= '2024-10-05T00:00:00+00:00'", 20), ("_kafka_timestamp IS NULL", 110),
        ("_kafka_partition = 1 AND _kafka_offset >= 10", 20), ("text = 'rów 7'", 2),
    ):
        found = table.scan(row_filter=condition).to_arrow().num_rows
        if found != count:
            fail(f"{condition}: {found}, want {count}")
    files = len(list(table.scan().plan_files()))
    tag = table.metadata.refs["tidemark.progress"]
    if files != 4 or tag.snapshot_id != table.metadata.current_snapshot_id or tag.max_ref_age_ms != 2**63 - 1:
        fail(f"{files} files, tag {tag}")
    if int(table.current_snapshot().summary["total-records"]) != len(want()):
        fail(f"summary {table.current_snapshot().summary}")
    if catalog.load_table("kafka.all_types__quarantine").scan().to_arrow().num_rows != 0:
        fail("the quarantine table has rows")
    print(f"PyIceberg {pyiceberg.__version__}: {len(want())} rows equal")


if __name__ == "__main__":
    {"duckdb": duck, "pyiceberg": pyiceberg}[sys.argv[1]](sys.argv[2])
