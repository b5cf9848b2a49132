"""Read a record of cctu into a document: see ``cctu``."""

import json
from typing import Any

from annotator.core.constraints.code import function_for, outline
from annotator.core.constraints.taxonomy import labelled
from annotator.core.schema import Problem, SchemaProblem, read_document
from annotator.core.schema.canonical import canonical, normalise
from annotator.core.schema.constrained import MAX_CODE, MAX_CONSTRAINTS
from benchmark.core.files.cctu_check_files import CHECK_CODE, is_file_name, unmark
from benchmark.core.formats.cctu_remainder import BEYOND, put_beyond
from benchmark.core.formats.cctu_writing import (
    ENTRY,
    FIELDS,
    FILE,
    KINDS,
    LOOSE,
    NO_FILES,
    SCENARIOS,
    numbered,
    plain_fields,
)
from benchmark.core.formats.interface import (
    CANARY,
    NO_TOOLS,
    Problems,
    ReadDialogue,
    check_id,
    describe,
    guess_language,
    quote,
    read_json_text,
    refuse_own_field,
)
from benchmark.core.formats.labels import listed
from benchmark.core.formats.native_remainder import compare, native, note

_KNOWN = frozenset((*FIELDS, "constraints_list", CHECK_CODE, BEYOND, CANARY))
SYSTEM = ("system", "developer")


class RecordReader:
    """One reading of one record, with its problems and warnings."""

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record
        self.problems = Problems()
        self.warnings: list[Problem] = []
        canary = record.get(CANARY)
        files = record.get(CHECK_CODE)
        files = {} if files is None else files
        if type(files) is not dict or any(type(text) is not str for text in files.values()):
            self.problems.add(f"/{CHECK_CODE}", "The check_code must be an object of file names and their texts.")
            files = {}
        for name in files:
            if not is_file_name(name):
                self.problems.add(f"/{CHECK_CODE}", f"{quote(name)} is not a valid file name in a folder.")
        self.files = {name: unmark(name, text, canary) for name, text in files.items()}

    def read(self) -> ReadDialogue:
        """Return the dialogue. Raises SchemaProblem, naming every problem found."""
        record, problems = self.record, self.problems
        external_id = check_id(record.get("id"), problems)
        refuse_own_field(record, problems)
        system_prompt, query = self._messages()
        tools = self._tools()
        constraints = self._constraints()
        problems.raise_if_any()
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
            note(document, **{NO_FILES: record[CHECK_CODE]})
        loose = self.files.keys() - numbered(len(constraints))
        if loose:
            note(document, **{LOOSE: {name: self.files[name] for name in loose}})
            self._warn(f"/{CHECK_CODE}", f"No constraint belongs to {listed(sorted(loose))}. They are kept unchanged.")
        document = normalise(document)
        put_beyond(document, record.get(BEYOND), problems)
        problems.raise_if_any()
        document = read_document(document)
        dialogue = ReadDialogue(external_id, document["language"] or "", "", document, tools, self.warnings)
        self._note_residue(dialogue)
        dialogue.text = canonical(document)
        return dialogue

    def _note_residue(self, dialogue: ReadDialogue) -> None:
        """Keep what the plain form would not reproduce, place by place, so that an edit affects only its place."""
        raw = {key: self.record[key] for key in FIELDS if key in self.record}
        for n, (constraint, entry) in enumerate(
            zip(dialogue.document["constraints"], self.record["constraints_list"], strict=True)
        ):
            raw[ENTRY + constraint["id"]] = entry
            for kind in KINDS:
                name = f"check_constraint_{n}.{kind}"
                if name in self.files:
                    raw[f"{FILE}{constraint['id']}.{kind}"] = self.files[name]
        residue = compare(raw, plain_fields(dialogue))
        if residue:
            note(dialogue.document, **residue)

    # --- fields

    def _messages(self) -> tuple[str | None, Any]:
        messages = self.record.get("messages")
        if type(messages) is not list or not all(type(one) is dict for one in messages):
            self.problems.add("/messages", f"The messages must be a list of messages, not {describe(messages)}.")
            return None, ""
        for n, one in enumerate(messages):
            if type(one.get("content")) is not str:
                self.problems.add(
                    f"/messages/{n}/content", f"The content must be text, not {describe(one.get('content'))}."
                )
        systems = [one for one in messages if one.get("role") in SYSTEM]
        users = [one for one in messages if one.get("role") == "user"]
        if not users:
            self.problems.add("/messages", "There is no user message, so there is no query.")
            return None, ""
        if len(systems) > 1 or len(users) > 1 or len(systems) + len(users) < len(messages):
            self._warn(
                "/messages", "Only the first system message and the last user message are read. The others are kept."
            )
        # A message without content has already been reported.
        return (systems[0].get("content") if systems else None), users[-1].get("content")

    def _tools(self) -> list[Any]:
        tools = self.record.get("tools")
        if tools is None:
            self._warn("/tools", NO_TOOLS)
            return []
        if type(tools) is str:
            before = len(self.problems.found)
            tools = read_json_text(tools, "/tools", self.problems)
            if len(self.problems.found) > before:
                return []
        if type(tools) is not list or not all(type(tool) is dict for tool in tools):
            self.problems.add("/tools", "The tools must be a list of functions, as JSON text.")
            return []
        return tools

    def _scenario(self) -> str | None:
        word = self.record.get("data_source")
        scenario = SCENARIOS.get(word) if type(word) is str else None
        if word is not None and scenario is None:
            self._warn("/data_source", f"The data_source {quote(word)} is unknown. Use {listed(SCENARIOS)}.")
        return scenario

    def _answer(self) -> str | None:
        answer = self.record.get("answer")
        return answer if answer is None or type(answer) is str else json.dumps(answer, ensure_ascii=False)

    def _json_text(self, key: str, fits: Any) -> Any:
        """Return the value of a field that has JSON as text; None, with a warning, if it is unusable. It is always
        kept.
        """
        value = self.record.get(key)
        if value is None:
            return None
        if type(value) is str:
            value = read_json_text(value, f"/{key}", self.problems)
            if type(value) is str:
                self._warn(f"/{key}", f"The {key} cannot be read as JSON. It is kept unchanged.")
                return None
        if not fits(value):
            self._warn(f"/{key}", f"The {key} is not {_FORMS_OF[key]}. It is kept unchanged.")
            return None
        return value

    def _constraints(self) -> list[dict[str, Any]]:
        entries = self.record["constraints_list"]
        if type(entries) is not list:
            self.problems.add("/constraints_list", f"The constraints_list must be a list, not {describe(entries)}.")
            return []
        if len(entries) > MAX_CONSTRAINTS:
            message = f"There are {len(entries)} constraints. The limit is {MAX_CONSTRAINTS}."
            self.problems.add("/constraints_list", message)
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
            self._warn(here, "The constraint has more than its dimension, category and text. The rest is kept.")
        if not is_read:
            self._warn(here, "The constraint is not a list of its dimension, category and text. It is kept unchanged.")
        elif category is None:
            label = " / ".join(str(word) for word in (first, second) if word is not None)
            which = f"Its label “{label[:80]}” is unknown" if label else "It has no label"
            self._warn(here, f"The constraint cannot be judged. {which}: choose its category.")
        elif category.needs == "validator" and constraint["validator"] is None:
            self._warn(
                here, f"The record has no file check_constraint_{number}.py, so the constraint has no validator."
            )
        elif not category.needs and constraint["parameters"] is None:
            self._warn(
                here, f"The record has no file check_constraint_{number}.json, so the constraint has no parameters."
            )
        return constraint

    def _parameters(self, number: int) -> dict[str, Any] | None:
        name = f"check_constraint_{number}.json"
        if name not in self.files:
            return None
        value = read_json_text(self.files[name], f"/{CHECK_CODE}/{name}", self.problems)
        if type(value) is dict and _can_be_kept(value):
            return value
        self._warn(f"/{CHECK_CODE}/{name}", "The parameters are not a JSON object. The file is kept unchanged.")
        return None

    def _validator(self, number: int, label: Any, category: str | None) -> dict[str, Any] | None:
        name = f"check_constraint_{number}.py"
        if name not in self.files:
            return None
        code = self.files[name]
        if len(code) > MAX_CODE:
            self.problems.add(
                f"/{CHECK_CODE}/{name}", f"The code has {len(code):,} characters. The limit is {MAX_CODE:,}."
            )
            return None
        function = function_for((label if type(label) is str else None, category), outline(code))
        return {"code": code, "function": function, "form": None, "parameters": None, "good": [], "bad": []}

    def _warn(self, pointer: str, message: str) -> None:
        if len(self.warnings) < Problems.LIMIT:
            self.warnings.append(Problem(pointer, message))


_FORMS_OF = {
    "codes": "an object of tools and their sources",
    "unsolved_set": "an object of tools and the texts that they must return",
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
    """Return the keys of an object in JSON text, if they are not sorted: documents are stored sorted."""
    try:
        value = json.loads(text) if type(text) is str else None
    except (ValueError, RecursionError):
        return []
    keys = list(value) if type(value) is dict else []
    return [] if keys == sorted(keys) else keys
