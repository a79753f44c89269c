"""Arrow files of one table as pyarrow writes them, and the same table as CSV: `python make_arrow_files.py` (pyarrow 26, polars 2.1)."""

import decimal
import pathlib

import polars
import pyarrow as pa

HERE = pathlib.Path(__file__).parent
ROWS = 40


def columns():
    """Every type that is read as a number, one of each kind of text, and types that are refused."""
    n = range(ROWS)
    single = [i / 8 - 2 for i in n]
    kinds = ["red", "green", "a longer name than twelve bytes"]
    return {
        "double": pa.array([None if i == 7 else (i * 7919 % 1009) / 7 for i in n], pa.float64()),
        "single": pa.array(single, pa.float32()),
        "half": pa.array(single, pa.float32()).cast(pa.float16()),
        "i8": pa.array([i * 6 % 256 - 128 for i in n], pa.int8()),
        "u16": pa.array([i * 1600 for i in n], pa.uint16()),
        "i64": pa.array([None if i == 21 else i**9 - 10**12 for i in n], pa.int64()),
        "flag": pa.array([i % 3 == 0 for i in n]),
        "money": pa.array([decimal.Decimal(i * i - 300) / 4 for i in n], pa.decimal128(9, 2)),
        "level": pa.array([[5, -1, 8][i % 3] for i in n], pa.int32()).dictionary_encode(),
        "lists": pa.array([None if i == 30 else [i, i / 2] for i in n], pa.list_(pa.float32())),
        "fixed": pa.array([[i, None if i == 3 else -i, 0.1 * i] for i in n], pa.list_(pa.float64(), 3)),
        "when": pa.array([i for i in n], pa.timestamp("s")),
        "nested": pa.array([{"a": i, "b": str(i)} for i in n]),
        "text": pa.array([kinds[i % 3] for i in n]),
        "large": pa.array([kinds[i % 3] for i in n], pa.large_string()),
        "view": pa.array([kinds[i % 3] for i in n], pa.string_view()),
        "category": pa.array([kinds[i % 3] for i in n]).dictionary_encode(),
    }


def main():
    table = pa.table(columns())
    for name in ["uncompressed", "lz4", "zstd"]:
        options = pa.ipc.IpcWriteOptions(compression=None if name == "uncompressed" else name)
        with pa.ipc.new_file(HERE / f"{name}.arrow", table.schema, options=options) as file:
            file.write_table(table, max_chunksize=16)
    # No column is refused, and no cell is missing.
    numbers = pa.table({name: table[name].slice(4, 3) for name in ["single", "half", "i8", "flag", "money", "level", "lists", "fixed", "category"]})
    for name in ["lz4", "zstd"]:
        with pa.ipc.new_file(HERE / f"numbers-{name}.arrow", numbers.schema, options=pa.ipc.IpcWriteOptions(compression=name)) as file:
            file.write_table(numbers)
    # Polars puts its first message where only the index leads, and text into views.
    kinds = ["red", "green", "a longer name than twelve bytes"]
    frame = polars.DataFrame({"x": [1.5, None, -2.0, 4.0], "n": [1, 2, 3, 4], "y": [kinds[i % 3] for i in range(4)]})
    frame.write_ipc(HERE / "polars.arrow", compression="zstd")
    # Each batch with a dictionary of its own: later ones follow the first, or replace it.
    for name, deltas in [("deltas", True), ("replaced", False)]:
        values = [["red"], ["red", "green"], ["red", "green", "a longer name than twelve bytes"]]
        if not deltas:
            values = [["red"], ["green"], ["a longer name than twelve bytes", "red"]]
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)
        batches = [
            pa.record_batch({"x": pa.array([1.0 * i, 2.0, 3.0]), "y": pa.DictionaryArray.from_arrays([0, len(v) - 1, 0], v)})
            for i, v in enumerate(values)
        ]
        with pa.ipc.new_stream(HERE / f"{name}.arrows", batches[0].schema, options=options) as stream:
            for batch in batches:
                stream.write_batch(batch)
    write_csv(table)


def write_csv(table):
    """The columns that are read, lists as columns; every number with the digits that give it back."""
    read = [name for name in table.column_names if name not in ("when", "nested", "large", "view", "category")]
    header, rows = [], [[] for _ in range(ROWS)]
    for name in read:
        values = table[name].to_pylist()
        width = {"lists": 2, "fixed": 3}.get(name)
        header += [name] if width is None else [f"{name}.{j}" for j in range(width)]
        for row, value in zip(rows, values, strict=True):
            row += [value] if width is None else (value or [None] * width)
    cell = lambda value: "" if value is None else str(value)
    lines = [",".join(header), *(",".join(map(cell, row)) for row in rows)]
    (HERE / "table.csv").write_text("\n".join(lines) + "\n")


main()
