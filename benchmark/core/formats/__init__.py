"""Read and write the records of the published benchmarks, Assay's own, and traces. Pure: no Django here."""

from benchmark.core.formats.anthropic import AnthropicFormat
from benchmark.core.formats.argilla import ArgillaFormat
from benchmark.core.formats.bfcl import BfclFormat, BfclSingleFormat
from benchmark.core.formats.c3 import C3Format, MmtbFormat
from benchmark.core.formats.cctu import CctuFormat
from benchmark.core.formats.format_guess import guess_format
from benchmark.core.formats.inspect import InspectFormat
from benchmark.core.formats.interface import CANARY, Format, ReadDialogue
from benchmark.core.formats.labelstudio import LabelStudioFormat
from benchmark.core.formats.nestful import NestfulFormat
from benchmark.core.formats.neutral import NeutralFormat
from benchmark.core.formats.openai import OpenAIFormat
from benchmark.core.formats.otlp import OtlpFormat
from benchmark.core.formats.responses import ResponsesFormat
from benchmark.core.formats.sharegpt import ShareGptFormat
from benchmark.core.formats.single import SingleFormat
from benchmark.core.formats.wild import WildFormat

FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        WildFormat(),
        C3Format(),
        MmtbFormat(),
        CctuFormat(),
        SingleFormat(),
        BfclFormat(),
        BfclSingleFormat(),
        NestfulFormat(),
        NeutralFormat(),
        OpenAIFormat(),
        ShareGptFormat(),
        AnthropicFormat(),
        ResponsesFormat(),
        ArgillaFormat(),
        LabelStudioFormat(),
        OtlpFormat(),
        InspectFormat(),
    )
}
#: The names of the formats that an import reads, and of those that a release, or a conversion, can be written in.
READ = tuple(FORMATS)
WRITTEN = tuple(name for name, one in FORMATS.items() if one.writes)

__all__ = ["CANARY", "FORMATS", "READ", "WRITTEN", "Format", "ReadDialogue", "guess_format"]
