"""PostgreSQL with pgvector as a store; it needs the extra ``[postgres]``."""

from __future__ import annotations

from importlib.util import find_spec

from pincite.errors import MissingExtra

if find_spec("psycopg") is None or find_spec("psycopg_pool") is None:
    raise MissingExtra(
        "PostgreSQL stores come with the extra [postgres], which is not installed:"
        " pip install 'pincite[postgres]'."
    )
