"""Assay's own documents, one envelope per line.

{"assay": 1, "id": "…", "language": "en", "variant_group": "", "document": {…}, "tools": […], "canary": "…"}

``assay`` is the version of the envelope, ``document`` the revision's content exactly as it is hashed, ``tools`` the
toolset's functions as they were read, ``implementation`` the code of stateful tools. All but ``id`` and ``document``
are optional on import. ``canary`` is in released files and not part of the dialogue; other fields are kept with the
document. This is the only format that represents everything, including kinds of dependencies, inferable arguments and
candidate messages.
"""

from collections.abc import Sequence
from typing import Any

from annotator.core.schema import Problem, SchemaProblem, canonical, read_document
from annotator.core.schema.canonical import normalise
from annotator.core.schema.toolsets import read_implementation
from benchmark.core.formats.format_guess import refuse_other_format
from benchmark.core.formats.interface import (
    CANARY,
    MAX_ID,
    Format,
    Problems,
    ReadDialogue,
    check_id,
    describe,
    number_of_cell,
    only_one,
    read_functions,
    require_object,
)
from benchmark.core.formats.native_remainder import native, note

VERSION = 1
_KNOWN = frozenset(("assay", "id", "language", "variant_group", "document", "tools", "implementation", CANARY))


class NeutralFormat(Format):
    name = "neutral"
    kinds = frozenset({"multi_turn", "single_task", "composite", "constrained", "toolset"})

    def read(self, record: Any) -> list[ReadDialogue]:
        """See ``interface.Format``."""
        require_object(record)
        if "document" not in record:
            refuse_other_format(record, self.name)
            raise SchemaProblem([Problem("/document", "The record has no document.")])
        problems = Problems()
        version = number_of_cell(record.get("assay", VERSION))
        if type(version) is not int or version != VERSION:
            problems.add(
                "/assay", f"This version of Assay reads version {VERSION} of the envelope, not {describe(version)}."
            )
        external_id = check_id(record.get("id"), problems)
        group = record.get("variant_group") or ""
        if type(group) is not str or len(group) > MAX_ID:
            problems.add("/variant_group", f"The variant_group must be text of at most {MAX_ID} characters.")
        elif "\0" in group:
            problems.add(
                "/variant_group", "The variant_group contains a NUL character, which cannot be stored. Remove it."
            )
        warnings: list[Problem] = []
        tools = read_functions(record, problems, warnings)
        implementation = None
        try:
            implementation = read_implementation(record.get("implementation"))
        except SchemaProblem as problem:
            problems.extend(problem.problems)
        try:
            document = read_document(record["document"])
        except SchemaProblem as problem:
            problems.extend(Problem(f"/document{p.pointer}", p.message) for p in problem.problems)
            problems.raise_if_any()
            raise
        language = document.get("language") or ""
        if record.get("language") not in (None, "", language):
            problems.add("/language", f"The language differs from the document's, which is {language or 'not set'}.")
        problems.raise_if_any()
        beside = {key: value for key, value in record.items() if key not in _KNOWN}
        if beside:
            note(document, envelope=normalise(beside))
        text = canonical(document)
        return [ReadDialogue(external_id, language, group, document, tools, warnings, text, implementation)]

    def write(self, items: Sequence[ReadDialogue], *, full: bool = False, canary: str | None = None) -> dict[str, Any]:
        """See ``interface.Format``. A neutral record has one dialogue of one language."""
        item = only_one(items, self.name)
        record = {
            "assay": VERSION,
            "id": item.external_id,
            "language": item.document.get("language") or "",
            "variant_group": item.variant_group,
            "document": item.document,
            "tools": item.tools,
        }
        if item.implementation is not None:
            record["implementation"] = item.implementation
        beside = native(item.document).get("envelope")
        for key, value in beside.items() if type(beside) is dict else ():
            if key not in _KNOWN:
                record[key] = value
        if canary is not None:
            record[CANARY] = canary
        return record

    def problems(self, items: Sequence[ReadDialogue]) -> list[Problem]:
        """See ``interface.Format``. Nothing is lost in this format."""
        return []
