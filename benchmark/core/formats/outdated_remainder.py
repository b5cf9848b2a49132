"""Drop fields of a native record that concern edited places.

Next to a document there are fields of its record that Assay does not know, and originals that its plain form spells in
another way (``residue``). Both may repeat a value: the text of arguments, an error message of a wrong call, a label in
the record's words. When somebody corrects that value, the copy is wrong and must not be released.
"""

import copy
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

from annotator.core.schema import value_hash
from annotator.core.schema.exact_json import dumps, loads, same, with_kept_decimals
from annotator.core.schema.labels import labelled_parts, take_labels
from benchmark.core.formats import FORMATS
from benchmark.core.formats.bfcl_single_turn import still_acceptable
from benchmark.core.formats.case_copies import forget_copies
from benchmark.core.formats.cctu_reading import SYSTEM
from benchmark.core.formats.cctu_writing import plain_fields as cctu_plain
from benchmark.core.formats.chat import ChatFormat
from benchmark.core.formats.interface import ReadDialogue
from benchmark.core.formats.labels import C3_INFORMATION, WILD_INFORMATION, wild_policy_word
from benchmark.core.formats.native_remainder import NATIVE, laid_out, native
from benchmark.core.formats.openai_remainder import carry_over
from benchmark.core.formats.openai_writing import plain_fields as openai_plain
from benchmark.core.formats.openai_writing import write_messages
from benchmark.core.formats.task_lists import CONTEXTS, TaskListFormat, kept_context

#: Fields of a part that a native copy cannot repeat.
_APART = frozenset({"id", "extra", "steps", "calls", "depends_on", "inferable", "candidate_messages", "chosen"})
#: Keys of a native node, and the fields of a step that they contain.
_NODE = {
    "action": ("type", "name", "arguments", "answer_type"),
    "observation": ("type", "observation", "text", "question"),
    "user_input": ("type", "user_reply"),
    "dependency_list": ("depends_on",),
}
#: Shorter texts appear in many places by chance.
_MIN_LENGTH = 3
_STEPS = 100_000_000


def forget_outdated(document: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Return ``document`` without those parts of its native remainder that concern places edited since ``before``.

    No native record has labels of custom fields, so an edit of these concerns none of its parts.
    """
    if not any("labels" in part for side in (document, before) for _, _, part in labelled_parts(side)):
        return _forget_outdated(document, before)
    bare, bare_before = copy.deepcopy(document), copy.deepcopy(before)
    labels = take_labels(bare)
    take_labels(bare_before)
    result = _forget_outdated(bare, bare_before)
    for anchor, _, part in labelled_parts(result):
        if anchor in labels:
            part["labels"] = labels[anchor]
    return result


def _forget_outdated(document: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    if document["kind"] == "toolset":
        # No field of a record repeats what is in its tools.
        return document
    is_case = document["kind"] == "constrained"
    if document["kind"] != before["kind"] or not (is_case or any(part["extra"] for _, part in _parts(document))):
        return document
    result = copy.deepcopy(document)
    if is_case:
        forget_copies(result, before)
    old = dict(_parts(before))
    for key, part in _parts(result):
        if key in old and key:
            _forget_at(part, old[key])
    gone = _values(before) - _values(result)
    if gone:
        for key, part in _parts(result):
            was = old[key]["extra"] if key in old else {}
            for name in [name for name in part["extra"] if name != NATIVE and same(part["extra"][name], was.get(name))]:
                if gone & set(_leaves(part["extra"][name])):
                    del part["extra"][name]
            acceptable = native(part).get("acceptable")
            if isinstance(acceptable, dict):
                notes = {name: one for name, one in acceptable.items() if not gone & set(_leaves(one))}
                native(part)["acceptable"] = notes
        beside = native(result).get("envelope")
        if isinstance(beside, dict) and beside == native(before).get("envelope"):
            native(result)["envelope"] = {k: value for k, value in beside.items() if not gone & set(_leaves(value))}
    if not same(_own(result), _own(before)):
        if native(result).get("format") == "openai":
            _carry_messages(result, before)
        elif result["kind"] == "constrained":
            _carry_case_messages(result, before)
        else:
            _carry_context(result, before)
        _forget_originals(result)
        source = native(result).get("source")
        spelled = FORMATS.get(str(source.get("format"))) if isinstance(source, dict) else None
        if isinstance(spelled, ChatFormat) and spelled.writes:
            spelled.forget_outdated(result)
    return result


def _parts(document: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield the document and everything in it that has an ``extra``, each under its name."""
    yield (), document
    for name, inner in (("tasks", "steps"), ("constraints", ""), ("reference_trajectory", "calls")):
        for part in document.get(name) or ():
            here = (name, part["id"])
            if "extra" in part:
                yield here, part
            for below in part.get(inner, ()):
                if "extra" in below:
                    yield (*here, below["id"]), below


def _own(part: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key != "extra"}


def _forget_at(part: dict[str, Any], old: dict[str, Any]) -> None:
    """Remove an edited task's, step's, constraint's, round's or call's own original fields."""
    edited = {key for key in part.keys() | old.keys() if not same(part.get(key), old.get(key))} - {"extra"}
    if edited & {"information", "native_information"} and not _means(part["native_information"], part["information"]):
        # The word belongs to a label that somebody corrected, or that was not chosen in a dispute.
        same_label = part["information"] == old.get("information")
        part["native_information"] = old.get("native_information") if same_label else None
    notes = native(part)
    if "label" in notes:
        outdated = bool(edited & {"category", "dimension"})
        if "policy" in part:
            outdated = wild_policy_word(part, notes["label"]) != notes["label"]
        if outdated:
            del notes["label"]
    if edited and "more" in notes:
        gone = set(_leaves(_own(old))) - set(_leaves(_own(part)))
        if _Speaking(gone)(notes["more"]):
            del notes["more"]
    if isinstance(notes.get("acceptable"), dict) and edited & {"name", "arguments"}:
        arguments = part.get("arguments")
        notes["acceptable"] = still_acceptable(notes["acceptable"], arguments if isinstance(arguments, dict) else {})
    for name in ("arguments", "observation"):
        if name in notes and name in edited:
            laid = laid_out(dumps(part.get(name)).decode(), notes[name])
            if isinstance(part.get(name), dict | list) and isinstance(laid, str):
                notes[name] = laid
            else:
                del notes[name]
    if "observation" in edited:
        notes.pop("error", None)
    node = notes.get("node")
    for entries in node.values() if isinstance(node, dict) else ():
        if isinstance(entries, dict):
            for name in [name for name in entries if edited & set(_NODE.get(name, ()))]:
                del entries[name]
    if edited - _APART and "steps" not in part:
        for name in [
            name for name in part["extra"] if name != NATIVE and same(part["extra"][name], old["extra"].get(name))
        ]:
            del part["extra"][name]


def _means(word: str | None, information: str | None) -> bool:
    return word is not None and information in (WILD_INFORMATION.get(word), C3_INFORMATION.get(word.lower()))


def _carry_messages(document: dict[str, Any], before: dict[str, Any]) -> None:
    """Drop the stored fields of a trace's messages only if the content of the message has changed."""
    kept = native(document).get("kept")
    entry = kept.get("messages") if isinstance(kept, dict) else None
    if not isinstance(kept, dict) or not isinstance(entry, list) or len(entry) != 2:
        return
    old, new = list(write_messages(before)), list(write_messages(document))
    if old != new:
        gone = set(_leaves([one.message for one in old])) - set(_leaves([one.message for one in new]))
        carried = carry_over(entry, old, new, _Speaking(gone))
        if carried is not None:
            kept["messages"] = carried


def _carry_context(document: dict[str, Any], before: dict[str, Any]) -> None:
    """Drop the other fields of messages in the imported context only for edited messages."""
    old, new = before["context"], document["context"]
    if same(old, new):
        return
    speaks = _Speaking(set(_leaves(old)) - set(_leaves(new)))
    for key, entry in kept_context(native(document)).items():
        kept = native(document)["kept"]
        del kept[key]
        raws, fingerprint = entry if isinstance(entry, list) and len(entry) == 2 else (None, None)
        if not isinstance(raws, list) or len(raws) != len(old) or value_hash(old) != fingerprint:
            continue
        places: dict[str, deque[int]] = defaultdict(deque)
        for n, message in enumerate(old):
            places[value_hash(message)].append(n)
        out, last = [], -1
        for message in new:
            known = places[value_hash(message)]
            while known and known[0] <= last:
                known.popleft()
            raw = message
            if known:
                last = known.popleft()
                raw = message if speaks(raws[last]) else raws[last]
            out.append(raw)
        kept[key] = [out, value_hash(new)]


def _carry_case_messages(document: dict[str, Any], before: dict[str, Any]) -> None:
    """Keep the other messages of a case's record when its prompt or its query is edited."""
    kept = native(document).get("kept")
    entry = kept.get("messages") if isinstance(kept, dict) else None
    if not isinstance(kept, dict) or not isinstance(entry, list) or len(entry) != 2:
        return
    old, new = (cctu_plain(_alone(one))["messages"] for one in (before, document))
    if same(old, new) or value_hash(old) != entry[1]:
        return
    gone = set(_leaves(old)) - set(_leaves(new))
    carried = _with_prompt_and_query(entry[0], new, _Speaking(gone))
    if carried is not None:
        kept["messages"] = [carried, value_hash(new)]


def _with_prompt_and_query(raws: Any, plain: list[dict[str, Any]], speaks: "_Speaking") -> list[dict[str, Any]] | None:
    """Return the messages of a record with the prompt and the query as in ``plain``, and without whatever ``speaks`` of
    what was corrected. None if they are not messages of a case: notes may come from anywhere.
    """
    if type(raws) is not list or not all(type(one) is dict for one in raws):
        return None
    said = {message["role"]: message for message in plain}
    systems = [n for n, one in enumerate(raws) if one.get("role") in SYSTEM]
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


class _Speaking:
    """Tells whether a value contains one of several texts, even in the middle of a sentence.

    Searching for many texts in many is superlinear: after ``_STEPS`` compared characters, everything counts as a copy.
    """

    def __init__(self, texts: set[str]) -> None:
        self.texts = {text for text in texts if len(text) >= _MIN_LENGTH}
        self.left = _STEPS

    def __call__(self, value: Any) -> bool:
        for leaf in _leaves(value):
            self.left -= len(leaf) * len(self.texts)
            if self.left < 0 or any(text in leaf for text in self.texts):
                return True
        return False


def _forget_originals(document: dict[str, Any]) -> None:
    """Remove fields kept in the record's own spelling that no longer match the document."""
    kept = native(document).get("kept")
    if not isinstance(kept, dict):
        return
    plain = _plain(document)
    for key, entry in list(kept.items()):
        if key == "id" or key in CONTEXTS or key.endswith("tools") or not isinstance(entry, list) or len(entry) != 2:
            continue
        if entry[1] is None or (key in plain and value_hash(plain[key]) == entry[1]):
            continue
        laid = laid_out(plain[key], entry[0]) if key in plain else None
        if isinstance(laid, str) and isinstance(entry[0], str) and laid != plain[key]:
            # The layout of the original is not a copy of its content.
            kept[key] = [laid, value_hash(plain[key])]
        else:
            del kept[key]


def _read(text: str) -> Any:
    """Return the object or list in a JSON text, else None."""
    try:
        return loads(with_kept_decimals(text)) if text[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None


def _plain(document: dict[str, Any]) -> dict[str, Any]:
    item = _alone(document)
    if document["kind"] == "constrained":
        return cctu_plain(item)
    name = native(document).get("format")
    written = FORMATS.get(name) if type(name) is str else None
    if isinstance(written, TaskListFormat):
        return written.plain({document["language"] or "en": item})
    return openai_plain(item)


def _alone(document: dict[str, Any]) -> ReadDialogue:
    """Return a dialogue for a writer, without id and tools, which are not in a document."""
    return ReadDialogue("", document.get("language") or "", "", document, [])


def _values(document: dict[str, Any]) -> set[str]:
    """Return every text and number of the document itself, in the form used to search for copies."""
    found: set[str] = set()
    for _, part in _parts(document):
        found.update(_leaves({key: value for key, value in part.items() if key not in ("id", "extra", "type")}))
    return found


def _leaves(value: Any) -> Iterator[str]:
    """Yield the texts and numbers in a value, including those in JSON texts; case and marks are removed."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += [inner for key, inner in one.items() if key != "extra"]
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str):
            read = _read(one)
            if read is not None:
                waiting.append(read)
            elif len(one) >= _MIN_LENGTH:
                yield one.casefold().replace("_", "").replace("-", "").replace(" ", "")
        elif isinstance(one, int | float) and not isinstance(one, bool) and len(str(one)) >= _MIN_LENGTH:
            yield str(one)
