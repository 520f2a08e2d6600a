"""People's own tables: a table of nodes and a table of edges become a graph that knows its columns."""

from se_gnn.optional import require

require("pyarrow", extra="tables", feature="tables")

from se_gnn.datasets.tables.importing import Imported, import_tables, load_import  # noqa: E402
from se_gnn.datasets.tables.kinds import EdgesOfType, ImportedKinds, import_kinds  # noqa: E402
from se_gnn.datasets.tables.settings import ImportSettings  # noqa: E402
from se_gnn.datasets.tables.summary import Summary  # noqa: E402

__all__ = [
    "EdgesOfType",
    "ImportSettings",
    "Imported",
    "ImportedKinds",
    "Summary",
    "import_kinds",
    "import_tables",
    "load_import",
]
