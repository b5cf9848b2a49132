"""CCTU records: a query with constraints, one object per line, and separate files that check the constraints.

A line has ``id``, ``messages`` (system prompt and query), ``tools``, ``codes`` and ``unsolved_set`` as JSON *texts*,
``constraints_list`` ([[dimension, category, text] …]), ``data_source`` and ``answer``. The file
``check_code/<id>/check_constraint_<i>.json`` has the parameters of constraint i, ``.py`` its validator. When an archive
is read, the texts of these files are put into the record, under ``check_code`` (``cctu_check_files``); a record without
them can be read too. What the format cannot represent (trajectory, spans, variants, examples) is under ``assay``.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from annotator.core.constraints.taxonomy import find_category
from annotator.core.schema import Problem, SchemaProblem
from benchmark.core.files.cctu_check_files import CHECK_CODE, is_folder, mark, paths_of
from benchmark.core.formats.cctu_reading import RecordReader
from benchmark.core.formats.cctu_remainder import BEYOND, take_beyond
from benchmark.core.formats.cctu_writing import FILE, NO_FILES, plain_fields, write_record
from benchmark.core.formats.format_guess import refuse_other_format
from benchmark.core.formats.interface import (
    CANARY,
    Format,
    ReadDialogue,
    only_one,
    quote,
    require_object,
)
from benchmark.core.formats.native_remainder import native, restore, unknown

#: Fields that the published code requires in every record.
_ASKED_FOR = {"codes": "{}", "unsolved_set": "{}", "data_source": "", "answer": ""}


class CctuFormat(Format):
    name: ClassVar[str] = "cctu"
    kinds: ClassVar[frozenset[str]] = frozenset({"constrained"})
    holds_all: ClassVar[bool] = False
    file_name: ClassVar[str] = "input_data.jsonl"

    def read(self, record: Any) -> list[ReadDialogue]:
        """See ``interface.Format``. A constraint that cannot be understood is kept, with a warning that names it."""
        require_object(record)
        if "constraints_list" not in record:
            refuse_other_format(record, self.name)
            raise SchemaProblem([Problem("/constraints_list", "The record has no constraints_list.")])
        return [RecordReader(record).read()]

    def write(self, items: Sequence[ReadDialogue], *, full: bool = False, canary: str | None = None) -> dict[str, Any]:
        """See ``interface.Format``. A record has one dialogue of one language, including the texts of its files."""
        item = only_one(items, self.name)
        if item.document["kind"] not in self.kinds:
            raise ValueError("cctu can only represent constrained dialogues.")
        if not is_folder(item.external_id):
            raise ValueError(f"the id {quote(item.external_id)} cannot be a folder name. Rename the dialogue.")
        flat = plain_fields(item)
        plain = dict(flat)
        restore(flat, native(item.document))
        for key in [key for key in flat if key.startswith(FILE) and type(flat[key]) is not str]:
            # Notes may come from anywhere; a file must be text.
            del flat[key]
            flat |= {key: plain[key]} if key in plain else {}
        record, files = write_record(flat, item.document)
        if full:
            record |= {key: value for key, value in _ASKED_FOR.items() if key not in record}
        beyond = take_beyond(item.document)
        if beyond:
            record[BEYOND] = beyond
        if canary is not None:
            files = {name: mark(name, text, canary) for name, text in files.items()}
            record[CANARY] = canary
        none = native(item.document).get(NO_FILES, ...)
        if files:
            record[CHECK_CODE] = files
        elif none in (None, {}) and not full:
            record[CHECK_CODE] = none
        return record | unknown(item.document)

    def take_files(self, record: dict[str, Any]) -> dict[str, bytes]:
        """See ``interface.Format``: the files that check the constraints, by path."""
        return paths_of(str(record["id"]), record.pop(CHECK_CODE)) if record.get(CHECK_CODE) else {}

    def problems(self, items: Sequence[ReadDialogue]) -> list[Problem]:
        """See ``interface.Format``. The published checker loads one file for each constraint it knows."""
        problems = []
        for item in items:
            for constraint in item.document["constraints"]:
                here = f"/constraints/{constraint['id']}"
                category = find_category(constraint["category"])
                if category is None:
                    problems.append(Problem(f"{here}/category", "A constraint without a category is not checked."))
                elif category.needs == "validator" and constraint["validator"] is None:
                    problems.append(Problem(f"{here}/validator", "The constraint has no validator."))
                elif not category.needs and constraint["parameters"] is None:
                    problems.append(Problem(f"{here}/parameters", "The constraint has no parameters."))
                if constraint["variants"]:
                    message = "The published checker does not support variants; it applies the parameters."
                    problems.append(Problem(f"{here}/variants", message))
        return problems
