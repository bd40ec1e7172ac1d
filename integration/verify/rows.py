"""Reads tables through the REST catalog with DuckDB and prints what is needed to compare them with a log, as JSON.

Prints {"rows": [[partition, offset, value-or-null], ...], "quarantined": [[partition, offset, reason], ...]}.
"""

import argparse
import json
import sysconfig

import duckdb


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--uri", required=True)
    p.add_argument("--table", required=True, help="namespace.table")
    p.add_argument("--value", default="NULL", help="SQL expression of what to print beside partition and offset")
    p.add_argument("--s3-endpoint")
    p.add_argument("--s3-key")
    p.add_argument("--s3-secret")
    args = p.parse_args()
    con = duckdb.connect()
    base = sysconfig.get_paths()["purelib"]
    for name in ("avro", "httpfs", "iceberg"):
        con.execute(f"LOAD '{base}/duckdb_extension_{name}/extensions/v{duckdb.__version__}/{name}.duckdb_extension'")
    if args.s3_endpoint:
        host = args.s3_endpoint.split("://", 1)[1]
        con.execute(
            f"CREATE SECRET (TYPE s3, KEY_ID '{args.s3_key}', SECRET '{args.s3_secret}', ENDPOINT '{host}', "
            "URL_STYLE 'path', USE_SSL false, REGION 'us-east-1')"
        )
    con.execute("SET TimeZone = 'UTC'")
    con.execute(f"ATTACH '' AS lake (TYPE iceberg, ENDPOINT '{args.uri}', AUTHORIZATION_TYPE 'none', ACCESS_DELEGATION_MODE 'none')")
    table = "lake." + args.table
    rows = con.execute(f"SELECT _kafka_partition, _kafka_offset, CAST({args.value} AS VARCHAR) FROM {table} ORDER BY 1, 2").fetchall()
    bad = con.execute(f"SELECT _kafka_partition, _kafka_offset, reason FROM {table}__quarantine ORDER BY 1, 2").fetchall()
    print(json.dumps({"rows": rows, "quarantined": bad}))


main()
