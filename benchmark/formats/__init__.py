"""Reading and writing the records of the published benchmarks, Assay's own, and traces. Pure: no Django here."""

from benchmark.formats.c3 import C3Format, MmtbFormat
from benchmark.formats.cctu import CctuFormat
from benchmark.formats.guessing import guess_format
from benchmark.formats.interface import CANARY, DialogueLike, ReadDialogue, Reader, Writer
from benchmark.formats.neutral import NeutralFormat
from benchmark.formats.openai import OpenAIFormat
from benchmark.formats.wild import WildFormat

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
