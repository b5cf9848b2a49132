"""Read a description of tools, whichever it is: OpenAI functions, ``tools/list`` of MCP, OpenAPI 3 or Python code."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from annotator.core.schema.errors import SchemaProblem
from annotator.core.schema.exact_json import loads
from annotator.core.schema.toolsets import read_tools
from annotator.core.text import gettext_noop as _
from annotator.core.text import message
from annotator.core.tools.sources.mcp import read_mcp, tools_in
from annotator.core.tools.sources.model import ReadTools, SourceProblem
from annotator.core.tools.sources.openapi import read_openapi
from annotator.core.tools.sources.python_code import read_python
from annotator.core.tools.sources.yaml_text import load_yaml

#: Bytes of a source.
MAX_BYTES = 10 << 20
#: A line that begins Python code; no JSON or YAML of tools has one.
_CODE = re.compile(r"^(?:async def|def|class) [A-Za-z_]", re.MULTILINE)


class SourceKind(StrEnum):
    """The kinds of sources."""

    OPENAI = "openai"
    MCP = "mcp"
    OPENAPI = "openapi"
    PYTHON = "python"


def read_source(text: str, kind: SourceKind | None = None) -> tuple[SourceKind, ReadTools]:
    """Return the tools of a source and what kind it is. Without ``kind``, that is recognised.

    Raises SourceProblem with a sentence and, where there is one, the place.
    """
    if len(text) > MAX_BYTES or len(text.encode(errors="replace")) > MAX_BYTES:
        sentence = _("The file is larger than %(limit)s MB. Import a part of it.")
        raise SourceProblem(message(sentence, limit=MAX_BYTES >> 20))
    if not text.strip():
        raise SourceProblem(message(_("The file is empty.")))
    if kind is SourceKind.PYTHON or (kind is None and _CODE.search(text)):
        return SourceKind.PYTHON, read_python(text)
    data = _parsed(text)
    kind = kind or recognise(data)
    if kind is SourceKind.OPENAPI:
        return kind, read_openapi(data)
    if kind is SourceKind.MCP:
        return kind, read_mcp(data)
    try:
        return SourceKind.OPENAI, ReadTools(read_tools(data))
    except SchemaProblem as error:
        first = error.problems[0]
        raise SourceProblem(message(_("%(problem)s"), problem=first.message), first.pointer) from None


def recognise(data: Any) -> SourceKind:
    """Return the kind of a value; what nothing else claims is read as OpenAI functions."""
    if isinstance(data, Mapping) and ("openapi" in data or "swagger" in data):
        return SourceKind.OPENAPI
    return SourceKind.MCP if tools_in(data) is not None else SourceKind.OPENAI


def _parsed(text: str) -> Any:
    """Return the value of JSON or YAML. Raises SourceProblem."""
    text = text.lstrip("\ufeff")
    try:
        data = loads(text) if text.lstrip().startswith(("{", "[")) else load_yaml(text)
    except ValueError as error:
        reason = str(error).rstrip(".")
        raise SourceProblem(message(_("The file cannot be read: %(reason)s."), reason=reason)) from None
    if not isinstance(data, Mapping | list):
        raise SourceProblem(message(_("The file is neither JSON nor YAML nor Python code with functions.")))
    return data
