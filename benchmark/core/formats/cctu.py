"""CCTU records: a query with constraints, one object a line, and beside it the files that check the constraints.

A line has ``id``, ``messages`` (system prompt and query), ``tools``, ``codes`` and ``unsolved_set`` as JSON *texts*,
``constraints_list`` ([[dimension, category, text] …]), ``data_source`` and ``answer``. The file
``check_code/<id>/check_constraint_<i>.json`` holds the parameters of constraint i, ``.py`` its validator. Whoever reads
an archive puts these files' texts into the record, under ``check_code`` (``check_files``); a record that lacks them is
read too. What the format has no place for (trajectory, spans, variants, examples) stands under ``assay``.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from annotator.core.constraints.code import function_for, outline
from annotator.core.constraints.native import write_case_constraint
from annotator.core.constraints.reading_case import constraints_of
from annotator.core.constraints.taxonomy import find_category, labelled
from annotator.core.schema import Problem, SchemaProblem, read_document
from annotator.core.schema.canonical import canonical, normalise
from annotator.core.schema.constrained import MAX_CODE, MAX_CONSTRAINTS
from annotator.core.validators import FORMS
from benchmark.core.formats.cctu_beyond import BEYOND, put_beyond, take_beyond
from benchmark.core.formats.check_files import CHECK_CODE, is_file_name, is_folder, mark, paths_of, unmark
from benchmark.core.formats.guessing import refuse_other_format
from benchmark.core.formats.interface import (
    CANARY,
    DialogueLike,
    Faults,
    FormatDefaults,
    ReadDialogue,
    check_id,
    describe,
    guess_language,
    quote,
    read_json_text,
)
from benchmark.core.formats.labels import listed
from benchmark.core.formats.residue import NATIVE, compare, native, note, restore, unknown

_SCENARIOS = {
    "Single-Hop": "single_hop",
    "Parallel Single-Hop": "parallel_single_hop",
    "Multi-Hop": "multi_hop",
    "Parallel Multi-Hop": "parallel_multi_hop",
}
_SCENARIO_WORDS = {scenario: word for word, scenario in _SCENARIOS.items()}
_FIELDS = ("id", "messages", "tools", "codes", "data_source", "answer", "unsolved_set")
_KNOWN = frozenset((*_FIELDS, "constraints_list", CHECK_CODE, BEYOND, CANARY))
#: In the plain form a constraint's entry and files stand under keys of their own, named by its id.
_ENTRY, _FILE = "constraint:", "file:"
_KINDS = ("json", "py")
#: The note that holds files of no constraint.
LOOSE = "loose"
#: The note of a record that says itself that it has no files: how.
_NO_FILES = "no_files"
_SYSTEM = ("system", "developer")


class CctuFormat(FormatDefaults):
    name: ClassVar[str] = "cctu"
    kinds: ClassVar[frozenset[str]] = frozenset({"constrained"})
    holds_all: ClassVar[bool] = False
    file_name: ClassVar[str] = "input_data.jsonl"

    def read(self, record: Any) -> list[ReadDialogue]:
        """See ``interface.Reader``. A constraint that cannot be understood is kept, with a warning that names it."""
        if type(record) is not dict:
            raise SchemaProblem([Problem("", f"A record must be an object, not {describe(record)}.")])
        if "constraints_list" not in record:
            refuse_other_format(record, self.name)
            raise SchemaProblem([Problem("/constraints_list", "The record has no constraints_list.")])
        return [_Reading(record).run()]

    def write(self, items: Sequence[DialogueLike], *, full: bool = False, canary: str | None = None) -> dict[str, Any]:
        """See ``interface.Writer``. A record holds one dialogue of one language, the texts of its files included."""
        if len(items) != 1:
            raise ValueError("A cctu record holds one dialogue; write language variants one by one.")
        (item,) = items
        if item.document["kind"] not in self.kinds:
            raise ValueError("It holds constrained dialogues alone.")
        if not is_folder(item.external_id):
            raise ValueError(f"the id {quote(item.external_id)} cannot name a folder; rename the dialogue.")
        flat = plain_fields(item)
        plain = dict(flat)
        restore(flat, native(item.document))
        for key in [key for key in flat if key.startswith(_FILE) and type(flat[key]) is not str]:
            # Notes may come from anywhere; a file is a text.
            del flat[key]
            flat |= {key: plain[key]} if key in plain else {}
        record, files = _record(flat, item.document)
        if full:
            record |= {key: value for key, value in _ASKED_FOR.items() if key not in record}
        beyond = take_beyond(item.document)
        if beyond:
            record[BEYOND] = beyond
        if canary is not None:
            files = {name: mark(name, text, canary) for name, text in files.items()}
            record[CANARY] = canary
        none = native(item.document).get(_NO_FILES, ...)
        if files:
            record[CHECK_CODE] = files
        elif none in (None, {}) and not full:
            record[CHECK_CODE] = none
        return record | unknown(item.document)

    def take_files(self, record: dict[str, Any]) -> dict[str, bytes]:
        """See ``interface.Writer``: the files that check the constraints, by path."""
        return paths_of(str(record["id"]), record.pop(CHECK_CODE)) if record.get(CHECK_CODE) else {}

    def problems(self, items: Sequence[DialogueLike]) -> list[Problem]:
        """See ``interface.Writer``. The published checker loads one file for each constraint it knows."""
        problems = []
        for item in items:
            for constraint in item.document["constraints"]:
                here = f"/constraints/{constraint['id']}"
                category = find_category(constraint["category"])
                if category is None:
                    problems.append(Problem(f"{here}/category", "Nothing checks a constraint without a category."))
                elif category.needs == "validator" and constraint["validator"] is None:
                    problems.append(Problem(f"{here}/validator", "The constraint has no validator."))
                elif not category.needs and constraint["parameters"] is None:
                    problems.append(Problem(f"{here}/parameters", "The constraint has no parameters."))
                if constraint["variants"]:
                    message = "The published checker knows no variants; it applies the parameters."
                    problems.append(Problem(f"{here}/variants", message))
        return problems


class _Reading:
    """One record on its way to a document."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record
        self.faults = Faults()
        self.warnings: list[Problem] = []
        canary = record.get(CANARY)
        files = record.get(CHECK_CODE)
        files = {} if files is None else files
        if type(files) is not dict or any(type(text) is not str for text in files.values()):
            self.faults.add(f"/{CHECK_CODE}", "The check_code must be an object of file names and their texts.")
            files = {}
        for name in files:
            if not is_file_name(name):
                self.faults.add(f"/{CHECK_CODE}", f"No file can be named {quote(name)}; it stands in a folder.")
        self.files = {name: unmark(name, text, canary) for name, text in files.items()}

    def run(self) -> ReadDialogue:
        record, faults = self.record, self.faults
        external_id = check_id(record.get("id"), faults)
        if NATIVE in record:
            faults.add(f"/{NATIVE}", f"The field name {NATIVE} is Assay's own; rename it.")
        system_prompt, query = self._messages()
        tools = self._tools()
        constraints = self._constraints()
        faults.raise_if_any()
        document: dict[str, Any] = {
            "kind": "constrained",
            "language": guess_language([query]) or None,
            "system_prompt": system_prompt,
            "user_query": query,
            "scenario": self._scenario(),
            "constraints": constraints,
            "answer": self._answer(),
            "unsolved_set": self._json_text("unsolved_set", _is_unsolved_set),
            "reference_trajectory": None,
            "tool_codes": self._json_text("codes", _is_codes) or {},
            "extra": {key: record[key] for key in record.keys() - _KNOWN},
        }
        for key in ("codes", "unsolved_set"):
            order = _order_of(record.get(key))
            if order:
                note(document, orders=native(document).get("orders", {}) | {key: order})
        if CHECK_CODE in record and not self.files:
            note(document, **{_NO_FILES: record[CHECK_CODE]})
        loose = self.files.keys() - numbered(len(constraints))
        if loose:
            note(document, **{LOOSE: {name: self.files[name] for name in loose}})
            self._warn(f"/{CHECK_CODE}", f"No constraint belongs to {listed(sorted(loose))}; kept as it is.")
        document = normalise(document)
        put_beyond(document, record.get(BEYOND), faults)
        faults.raise_if_any()
        document = read_document(document)
        dialogue = ReadDialogue(external_id, document["language"] or "", "", document, tools, self.warnings)
        self._note_residue(dialogue)
        dialogue.text = canonical(document)
        return dialogue

    def _note_residue(self, dialogue: ReadDialogue) -> None:
        """Keep what the plain form would not give back, place by place: an edit gives up its own alone."""
        raw = {key: self.record[key] for key in _FIELDS if key in self.record}
        for n, (constraint, entry) in enumerate(
            zip(dialogue.document["constraints"], self.record["constraints_list"], strict=True)
        ):
            raw[_ENTRY + constraint["id"]] = entry
            for kind in _KINDS:
                name = f"check_constraint_{n}.{kind}"
                if name in self.files:
                    raw[f"{_FILE}{constraint['id']}.{kind}"] = self.files[name]
        residue = compare(raw, plain_fields(dialogue))
        if residue:
            note(dialogue.document, **residue)

    # --- fields

    def _messages(self) -> tuple[str | None, Any]:
        messages = self.record.get("messages")
        if type(messages) is not list or not all(type(one) is dict for one in messages):
            self.faults.add("/messages", f"The messages must be a list of messages, not {describe(messages)}.")
            return None, ""
        for n, one in enumerate(messages):
            if type(one.get("content")) is not str:
                self.faults.add(
                    f"/messages/{n}/content", f"The content must be a text, not {describe(one.get('content'))}."
                )
        systems = [one for one in messages if one.get("role") in _SYSTEM]
        users = [one for one in messages if one.get("role") == "user"]
        if not users:
            self.faults.add("/messages", "No message is the user's, so there is no query.")
            return None, ""
        if len(systems) > 1 or len(users) > 1 or len(systems) + len(users) < len(messages):
            self._warn(
                "/messages", "Only the first system message and the last of the user are read; the others are kept."
            )
        # One without a content has its fault already.
        return (systems[0].get("content") if systems else None), users[-1].get("content")

    def _tools(self) -> list[Any]:
        tools = self.record.get("tools")
        if tools is None:
            self._warn("/tools", "The record has no tools, so every call is to an unknown tool.")
            return []
        if type(tools) is str:
            before = len(self.faults.found)
            tools = read_json_text(tools, "/tools", self.faults)
            if len(self.faults.found) > before:
                return []
        if type(tools) is not list or not all(type(tool) is dict for tool in tools):
            self.faults.add("/tools", "The tools must be a list of functions, as JSON text.")
            return []
        return tools

    def _scenario(self) -> str | None:
        word = self.record.get("data_source")
        scenario = _SCENARIOS.get(word) if type(word) is str else None
        if word is not None and scenario is None:
            self._warn(
                "/data_source", f"The data_source {quote(word)} is not known; it is one of {listed(_SCENARIOS)}."
            )
        return scenario

    def _answer(self) -> str | None:
        answer = self.record.get("answer")
        return answer if answer is None or type(answer) is str else json.dumps(answer, ensure_ascii=False)

    def _json_text(self, key: str, fits: Any) -> Any:
        """A field that holds JSON as text; None, with a warning, where it cannot be used. It is kept all the same."""
        value = self.record.get(key)
        if value is None:
            return None
        if type(value) is str:
            value = read_json_text(value, f"/{key}", self.faults)
            if type(value) is str:
                self._warn(f"/{key}", f"The {key} cannot be read as JSON; kept as it is.")
                return None
        if not fits(value):
            self._warn(f"/{key}", f"The {key} is not {_FORMS_OF[key]}; kept as it is.")
            return None
        return value

    def _constraints(self) -> list[dict[str, Any]]:
        entries = self.record["constraints_list"]
        if type(entries) is not list:
            self.faults.add("/constraints_list", f"The constraints_list must be a list, not {describe(entries)}.")
            return []
        if len(entries) > MAX_CONSTRAINTS:
            message = f"There are {len(entries)} constraints; at most {MAX_CONSTRAINTS} can be stored."
            self.faults.add("/constraints_list", message)
            return []
        return [self._constraint(n, entry) for n, entry in enumerate(entries)]

    def _constraint(self, number: int, entry: Any) -> dict[str, Any]:
        here = f"/constraints_list/{number}"
        is_read = type(entry) is list and len(entry) >= 3
        first, second, text = entry[:3] if is_read else (None, None, None)
        category = labelled(first, second)
        constraint: dict[str, Any] = {
            "id": f"c{number}",
            "dimension": category.dimension.value if category else _word(first),
            "category": category.id if category else None,
            "text": text if type(text) is str else None,
            "parameters": self._parameters(number),
            "variants": [],
            "anchor": None,
            "validator": self._validator(number, second, category.id if category else None),
            "extra": {},
        }
        if [first, second] != [constraint["dimension"], constraint["category"]]:
            note(constraint, label=[first, second])
        if is_read and len(entry) > 3:
            note(constraint, more=entry[3:])
            self._warn(here, "The constraint has more than its dimension, category and text; the rest is kept.")
        if not is_read:
            self._warn(here, "The constraint is not a list of its dimension, category and text; kept as it is.")
        elif category is None:
            label = " / ".join(str(word) for word in (first, second) if word is not None)
            which = f"Its label “{label[:80]}” is not known" if label else "It has no label"
            self._warn(here, f"The constraint cannot be judged. {which}; say what category it is of.")
        elif category.needs == "validator" and constraint["validator"] is None:
            self._warn(
                here, f"No check_constraint_{number}.py is beside the record: the constraint lacks its validator."
            )
        elif not category.needs and constraint["parameters"] is None:
            self._warn(
                here, f"No check_constraint_{number}.json is beside the record: the constraint lacks its parameters."
            )
        return constraint

    def _parameters(self, number: int) -> dict[str, Any] | None:
        name = f"check_constraint_{number}.json"
        if name not in self.files:
            return None
        value = read_json_text(self.files[name], f"/{CHECK_CODE}/{name}", self.faults)
        if type(value) is dict and _can_be_kept(value):
            return value
        self._warn(f"/{CHECK_CODE}/{name}", "The parameters are no JSON object; the file is kept as it is.")
        return None

    def _validator(self, number: int, label: Any, category: str | None) -> dict[str, Any] | None:
        name = f"check_constraint_{number}.py"
        if name not in self.files:
            return None
        code = self.files[name]
        if len(code) > MAX_CODE:
            self.faults.add(
                f"/{CHECK_CODE}/{name}", f"The code has {len(code):,} characters; at most {MAX_CODE:,} are read."
            )
            return None
        function = function_for((label if type(label) is str else None, category), outline(code))
        return {"code": code, "function": function, "form": None, "parameters": None, "good": [], "bad": []}

    def _warn(self, pointer: str, message: str) -> None:
        if len(self.warnings) < Faults.LIMIT:
            self.warnings.append(Problem(pointer, message))


_FORMS_OF = {
    "codes": "an object of tools and their sources",
    "unsolved_set": "an object of tools and lists of what they must yield",
}


def _is_codes(value: Any) -> bool:
    return type(value) is dict and all(type(code) is str and len(code) <= MAX_CODE for code in value.values())


def _is_unsolved_set(value: Any) -> bool:
    return type(value) is dict and all(type(texts) is list for texts in value.values())


def _can_be_kept(value: Any) -> bool:
    try:
        normalise(value)
    except SchemaProblem:
        return False
    return True


def _word(value: Any) -> str | None:
    word = value.strip().lower() if type(value) is str else ""
    return word if 0 < len(word) <= 200 else None


def _order_of(text: Any) -> list[str]:
    """The keys of an object in JSON text, where they are not in order: documents are stored sorted."""
    try:
        value = json.loads(text) if type(text) is str else None
    except (ValueError, RecursionError):
        return []
    keys = list(value) if type(value) is dict else []
    return [] if keys == sorted(keys) else keys


#: What the published code asks of every record.
_ASKED_FOR = {"codes": "{}", "unsolved_set": "{}", "data_source": "", "answer": ""}


def plain_fields(item: DialogueLike) -> dict[str, Any]:
    """The record as it is written where nothing is known of an original, flat: see ``_ENTRY`` and ``_FILE``."""
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
        flat[_ENTRY + constraint["id"]] = _entry_of(constraint)
        if constraint["parameters"] is not None:
            flat[f"{_FILE}{constraint['id']}.json"] = json.dumps(constraint["parameters"], sort_keys=True)
        if constraint["validator"] is not None:
            flat[f"{_FILE}{constraint['id']}.py"] = _code_of(constraint, constraint["validator"])
    return flat


def numbered(constraints: int) -> set[str]:
    """The names of the files of so many constraints."""
    return {f"check_constraint_{n}.{kind}" for n in range(constraints) for kind in _KINDS}


def with_prompt_and_query(
    raws: Any, plain: list[dict[str, Any]], speaks: Callable[[Any], bool]
) -> list[dict[str, Any]] | None:
    """The messages of a record with the prompt and the query as ``plain`` has them, and without whatever ``speaks`` of
    what was corrected. None for what are no messages of a case: notes may come from anywhere.
    """
    if type(raws) is not list or not all(type(one) is dict for one in raws):
        return None
    said = {message["role"]: message for message in plain}
    systems = [n for n, one in enumerate(raws) if one.get("role") in _SYSTEM]
    users = [n for n, one in enumerate(raws) if one.get("role") == "user"]
    if not users:
        return None
    read = {users[-1]: said.get("user"), **({systems[0]: said.get("system")} if systems else {})}
    out = [] if systems or "system" not in said else [said["system"]]
    for n, raw in enumerate(raws):
        if n not in read:
            out += [] if speaks(raw) else [raw]
        elif (now := read[n]) is not None:
            beside = {key: value for key, value in raw.items() if not speaks(value)}
            out.append(beside | {"role": raw["role"], "content": now["content"]})
    return out


def _record(flat: dict[str, Any], document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The record, and its files by name, of the constraints that the document has."""
    record = {key: flat[key] for key in _FIELDS if key in flat}
    record["constraints_list"] = [flat[_ENTRY + one["id"]] for one in document["constraints"]]
    loose = native(document).get(LOOSE, {})
    files: dict[str, str] = {}
    if type(loose) is dict:
        # One that stood beside no constraint must not come to be that of a constraint added since.
        taken = numbered(len(document["constraints"]))
        files = {
            name: text for name, text in loose.items() if name not in taken and is_file_name(name) and type(text) is str
        }
    for n, constraint in enumerate(document["constraints"]):
        for kind in _KINDS:
            key = f"{_FILE}{constraint['id']}.{kind}"
            if key in flat:
                files[f"check_constraint_{n}.{kind}"] = flat[key]
    return record, files


def _text_of(value: dict[str, Any], order: Any) -> str:
    order = [key for key in order if type(key) is str and key in value] if type(order) is list else []
    return json.dumps({key: value[key] for key in (*order, *sorted(value.keys() - set(order)))})


def _entry_of(constraint: dict[str, Any]) -> list[Any]:
    label, more = native(constraint).get("label"), native(constraint).get("more")
    (read,) = constraints_of({"constraints": [constraint]})
    if type(label) is list and len(label) == 2:
        read = read.model_copy(update={"extra": {"_label": label}})
    return [*write_case_constraint(read)[0], *(more if type(more) is list else ())]


def _code_of(constraint: dict[str, Any], validator: dict[str, Any]) -> str:
    """The code of a validator; of a ready form the code that does the same."""
    if validator["code"] is not None:
        return str(validator["code"])
    form = FORMS.get(validator["form"])
    if form is None:
        raise ValueError(f"there is no ready form “{validator['form']}”.")
    try:
        parameters = form.read(validator["parameters"] or {})
    except SchemaProblem as problem:
        raise ValueError(f"the validator of constraint {constraint['id']} cannot be written: {problem}") from None
    return form.source(parameters, function=f"validate_{constraint['category'] or 'response'}")
