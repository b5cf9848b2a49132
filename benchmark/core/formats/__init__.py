"""Read and write the records of the published benchmarks, Assay's own, and traces. Pure: no Django here."""

from benchmark.core.formats.c3 import C3Format, MmtbFormat
from benchmark.core.formats.cctu import CctuFormat
from benchmark.core.formats.format_guess import guess_format
from benchmark.core.formats.interface import CANARY, DialogueLike, ReadDialogue, Reader, Writer
from benchmark.core.formats.neutral import NeutralFormat
from benchmark.core.formats.openai import OpenAIFormat
from benchmark.core.formats.wild import WildFormat

_FORMATS = (WildFormat(), C3Format(), MmtbFormat(), CctuFormat(), NeutralFormat(), OpenAIFormat())

READERS: dict[str, Reader] = {form.name: form for form in _FORMATS}
WRITERS: dict[str, Writer] = {form.name: form for form in _FORMATS}

__all__ = [
    "CANARY",
    "READERS",
    "WRITERS",
    "DialogueLike",
    "ReadDialogue",
    "Reader",
    "Writer",
    "guess_format",
]
