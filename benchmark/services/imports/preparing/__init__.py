"""From records of a file to what an import writes: read, validated, checked, described.

Pure, and the costly half of an import; ``Preparers`` runs it on several cores. Everything that passes between
processes is JSON.
"""

from benchmark.services.imports.preparing.processes import Preparers
from benchmark.services.imports.preparing.records import Preparer, Setup

__all__ = ["Preparer", "Preparers", "Setup"]
