"""Tables: columns in memory that every library of Arrow reads without a copy."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from ebb import _native


class Table:
    """Columns of an answer or of a cluster (docs/tables.md).

    pyarrow.table(t), polars.DataFrame(t), pandas.DataFrame.from_arrow(t) and DuckDB (by the name of
    the variable) read it.  It needs none of these packages.  The schema's metadata has ebb.table
    (the name) and ebb.schema (the version of the schemas); a column's metadata may have its unit.
    """

    __slots__ = ("_columns", "name")

    def __init__(self, name: str, columns: _native.Table) -> None:
        self.name = name
        self._columns = columns

    @property
    def num_rows(self) -> int:
        return self._columns.rows

    @property
    def column_names(self) -> list[str]:
        return self._columns.names

    def __len__(self) -> int:
        return self._columns.rows

    def __repr__(self) -> str:
        return f"<ebb.Table {self.name}: {self.num_rows} rows, {len(self.column_names)} columns>"

    def to_pydict(self) -> dict[str, list[Any]]:
        """The columns as lists.  Times are datetimes."""
        columns: dict[str, list[Any]] = {}
        for index, name in enumerate(self.column_names):
            values: list[Any] = list(self._columns.values(index))
            if self._columns.format(index).startswith("ts"):
                values = [None if v is None else datetime.fromtimestamp(v, timezone.utc) for v in values]
            columns[name] = values
        return columns

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        columns = self.to_pydict()
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    def __arrow_c_schema__(self) -> object:
        return self._columns.schema()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Another schema may be requested; as the protocol allows, the table keeps its own."""
        return self._columns.stream()
