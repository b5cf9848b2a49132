"""Write a constrained document as a record of cctu: see ``cctu``."""

import json
from typing import Any

from annotator.core.constraints.taxonomy import labelled
from annotator.core.schema import SchemaProblem
from annotator.core.schema.canonical import normalise
from annotator.core.validators import FORMS
from benchmark.core.files.cctu_check_files import is_file_name
from benchmark.core.formats.interface import ReadDialogue
from benchmark.core.formats.native_remainder import native

SCENARIOS = {
    "Single-Hop": "single_hop",
    "Parallel Single-Hop": "parallel_single_hop",
    "Multi-Hop": "multi_hop",
    "Parallel Multi-Hop": "parallel_multi_hop",
}
_SCENARIO_WORDS = {scenario: word for word, scenario in SCENARIOS.items()}
FIELDS = ("id", "messages", "tools", "codes", "data_source", "answer", "unsolved_set")
#: In the plain form, a constraint's entry and files have their own keys, named by its id.
ENTRY, FILE = "constraint:", "file:"
KINDS = ("json", "py")
#: The note with files that belong to no constraint.
LOOSE = "loose"
#: The note of a record that states that it has no files, with the way it states that.
NO_FILES = "no_files"


def plain_fields(item: ReadDialogue) -> dict[str, Any]:
    """Return the record as written without an original, flat: see ``ENTRY`` and ``FILE``."""
    document = item.document
    orders = native(document).get("orders")
    orders = orders if type(orders) is dict else {}
    messages = [("system", document["system_prompt"]), ("user", document["user_query"])]
    flat: dict[str, Any] = {
        "id": item.external_id,
        "messages": [{"role": role, "content": text} for role, text in messages if text is not None],
        "tools": json.dumps(normalise(item.tools), sort_keys=True),
    }
    if document["tool_codes"]:
        flat["codes"] = _text_of(document["tool_codes"], orders.get("codes"))
    if document["scenario"] is not None:
        flat["data_source"] = _SCENARIO_WORDS[document["scenario"]]
    if document["answer"] is not None:
        flat["answer"] = document["answer"]
    if document["unsolved_set"] is not None:
        flat["unsolved_set"] = _text_of(document["unsolved_set"], orders.get("unsolved_set"))
    for constraint in document["constraints"]:
        flat[ENTRY + constraint["id"]] = _entry_of(constraint)
        if constraint["parameters"] is not None:
            flat[f"{FILE}{constraint['id']}.json"] = json.dumps(constraint["parameters"], sort_keys=True)
        if constraint["validator"] is not None:
            flat[f"{FILE}{constraint['id']}.py"] = _code_of(constraint, constraint["validator"])
    return flat


def numbered(constraints: int) -> set[str]:
    """Return the names of the files of this many constraints."""
    return {f"check_constraint_{n}.{kind}" for n in range(constraints) for kind in KINDS}


def write_record(flat: dict[str, Any], document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the record, and its files by name, of the constraints that the document has."""
    record = {key: flat[key] for key in FIELDS if key in flat}
    record["constraints_list"] = [flat[ENTRY + one["id"]] for one in document["constraints"]]
    loose = native(document).get(LOOSE, {})
    files: dict[str, str] = {}
    if type(loose) is dict:
        # A file without a constraint must not become that of a constraint added later.
        taken = numbered(len(document["constraints"]))
        files = {
            name: text for name, text in loose.items() if name not in taken and is_file_name(name) and type(text) is str
        }
    for n, constraint in enumerate(document["constraints"]):
        for kind in KINDS:
            key = f"{FILE}{constraint['id']}.{kind}"
            if key in flat:
                files[f"check_constraint_{n}.{kind}"] = flat[key]
    return record, files


def _text_of(value: dict[str, Any], order: Any) -> str:
    order = [key for key in order if type(key) is str and key in value] if type(order) is list else []
    return json.dumps({key: value[key] for key in (*order, *sorted(value.keys() - set(order)))})


def _entry_of(constraint: dict[str, Any]) -> list[Any]:
    """Return the entry of ``constraints_list``; it keeps the original words if they still name its category."""
    label, more = native(constraint).get("label"), native(constraint).get("more")
    words: list[Any] = label if type(label) is list and len(label) == 2 else []
    category = labelled(*words) if words else None
    if not words or (category.id if category else None) != constraint["category"]:
        words = [constraint["dimension"], constraint["category"]]
    return [*words, constraint["text"], *(more if type(more) is list else ())]


def _code_of(constraint: dict[str, Any], validator: dict[str, Any]) -> str:
    """Return the code of a validator; for a built-in validator, equivalent code."""
    if validator["code"] is not None:
        return str(validator["code"])
    form = FORMS.get(validator["form"])
    if form is None:
        raise ValueError(f"the built-in validator “{validator['form']}” does not exist.")
    try:
        parameters = form.read(validator["parameters"] or {})
    except SchemaProblem as problem:
        raise ValueError(f"the validator of constraint {constraint['id']} cannot be written: {problem}") from None
    return form.source(parameters, function=f"validate_{constraint['category'] or 'response'}")
