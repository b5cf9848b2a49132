"""Operations of an OpenAPI 3.x document as functions.

https://spec.openapis.org/oas/latest.html: each operation becomes one function. Its parameters (path, query, header,
cookie) and the properties of its JSON body become the function's parameters; the JSON of its first good answer becomes
its response. References into ``components`` stay references, to definitions that each of the two carries (``$defs``),
so that recursive schemas need no unfolding here.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from annotator.core.schema.canonical import unescape
from annotator.core.schema.toolsets import MAX_NAME, MAX_TOOLS, count_characters, count_values
from annotator.core.text import Message, message
from annotator.core.text import gettext_noop as _
from annotator.core.tools.sources.model import Note, ReadTools, SourceProblem, function

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
#: Definitions that the parameters or the response of one function may carry; objects and lists in one of them, and in
#: all of a document.
MAX_DEFINITIONS, MAX_NODES, MAX_TOTAL = 500, 20_000, 400_000
MAX_DEPTH = 60
#: Characters of a text that count like one object.
_TEXT = 50
#: References from one to the next until something else comes.
_MAX_CHAIN = 20
#: Media types of JSON; ``*/*`` is what some frameworks write for it.
_JSON = re.compile(r"json|^\*/\*$", re.IGNORECASE)
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
#: Keywords of OpenAPI that describe no value.
_DROPPED = ("xml", "externalDocs", "discriminator", "example", "examples", "deprecated", "readOnly", "writeOnly")
#: Keywords whose value is data, and those whose value maps names to schemas.
_DATA, _MAPS = ("enum", "const", "default"), ("properties", "patternProperties", "dependentSchemas", "$defs")


def read_openapi(document: Any) -> ReadTools:
    """Read a document that has been parsed. Raises SourceProblem with a pointer into it."""
    if not isinstance(document, Mapping) or not isinstance(document.get("openapi"), str):
        if isinstance(document, Mapping) and "swagger" in document:
            raise SourceProblem(message(_("This is OpenAPI 2 (Swagger). Convert it to OpenAPI 3, then import it.")))
        raise SourceProblem(message(_("This is not an OpenAPI 3 document: it has no text “openapi”.")))
    if not document["openapi"].startswith("3."):
        version = document["openapi"][:20]
        raise SourceProblem(message(_("OpenAPI %(version)s can’t be read, only 3.x."), version=version), "/openapi")
    operations = list(_operations(document))
    if not operations:
        raise SourceProblem(message(_("The document has no operations in “paths”.")), "/paths")
    if len(operations) > MAX_TOOLS:
        words = message(
            _("The document has %(count)s operations. A toolset takes at most %(limit)s. Import a part of it."),
            count=f"{len(operations):,}",
            limit=MAX_TOOLS,
        )
        raise SourceProblem(words, "/paths")
    reader = _Reader(document)
    tools = [reader.read(path, method, shared, operation) for path, method, shared, operation in operations]
    # Afterwards: large responses leave the parameters of later operations whole.
    for tool, (_path, _method, _shared, operation) in zip(tools, operations, strict=True):
        reader.add_response(tool["function"], operation.get("responses"))
    info = document.get("info")
    title = info.get("title") if isinstance(info, Mapping) else None
    return ReadTools(tools, reader.notes, title if isinstance(title, str) else "")


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, list[Any], Mapping[str, Any]]]:
    """Return (path, method, parameters of all its methods, operation) of each operation, in their order."""
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, Mapping) else ():
        item = resolve(document, item)
        if not isinstance(item, Mapping):
            continue
        shared = item.get("parameters")
        for method in METHODS:
            if isinstance(item.get(method), Mapping):
                yield str(path), method, shared if isinstance(shared, list) else [], item[method]


class _Reader:
    """Reads the operations of one document. ``notes``: what was left out."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.notes: list[Note] = []
        self._names: dict[str, int] = {}
        self._noted: set[tuple[str, str]] = set()
        #: Objects and lists that may still be copied.
        self.left = MAX_TOTAL

    def read(self, path: str, method: str, shared: list[Any], operation: Mapping[str, Any]) -> dict[str, Any]:
        """Return the function of one operation."""
        name = self._name(path, method, operation)
        too_large = _("The parameters are too large. What did not fit accepts any value.")
        definitions = _Definitions(self, name, too_large, "readOnly")
        properties: dict[str, Any] = {}
        required: list[str] = []
        for given in self._parameters(shared, operation.get("parameters")):
            self._add(properties, required, name, definitions, given)
        self._add_body(properties, required, name, definitions, operation.get("requestBody"))
        self.left -= definitions.copied
        parameters: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            parameters["required"] = required
        if definitions.found:
            parameters["$defs"] = definitions.found
        return function(name, _description(operation), parameters)

    def add_response(self, tool: dict[str, Any], responses: Any) -> None:
        """Add the schema of the first 2xx answer, or else of the default one, to a function, if it is JSON."""
        answers = {str(code): answer for code, answer in responses.items()} if isinstance(responses, Mapping) else {}
        first = next((code for code in answers if code.startswith("2")), "default")
        answer = self._resolve(answers.get(first))
        content = answer.get("content") if isinstance(answer, Mapping) else None
        media = content if isinstance(content, Mapping) else {}
        part = next((part for key, part in media.items() if _JSON.search(str(key))), None)
        if not isinstance(part, Mapping) or not isinstance(part.get("schema"), Mapping):
            return
        too_large = _("The response is too large. What did not fit is described as any value.")
        definitions = _Definitions(self, tool["name"], too_large, "writeOnly")
        schema = definitions.read(part["schema"])
        self.left -= definitions.copied
        if schema:
            tool["response"] = schema | ({"$defs": definitions.found} if definitions.found else {})

    def note(self, tool: str, key: str, words: Message) -> None:
        """Note something about a tool, once for each ``key``."""
        if (tool, key) not in self._noted:
            self._noted.add((tool, key))
            self.notes.append(Note(tool, words))

    def _name(self, path: str, method: str, operation: Mapping[str, Any]) -> str:
        given = operation.get("operationId")
        wanted = given if isinstance(given, str) and given.strip() else f"{method}_{path}"
        name = (_NO_NAME.sub("_", wanted).strip("_") or method)[: MAX_NAME - 8]
        name = _free(name, self._names)
        if name != wanted:
            words = message(_("%(wanted)s is named %(name)s here."), wanted=wanted[:100], name=name)
            self.notes.append(Note(name, words))
        return name

    def _parameters(self, shared: list[Any], own: Any) -> list[Mapping[str, Any]]:
        """Return the parameters of an operation; its own replace those of its path with the same name and place."""
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        for one in [*shared, *(own if isinstance(own, list) else ())]:
            target = self._resolve(one)
            if isinstance(target, Mapping) and isinstance(target.get("name"), str):
                found[target["name"], str(target.get("in"))] = target
        return list(found.values())

    def _add(
        self,
        properties: dict[str, Any],
        required: list[str],
        name: str,
        definitions: "_Definitions",
        given: Mapping[str, Any],
    ) -> None:
        schema = given.get("schema")
        if schema is None and isinstance(given.get("content"), Mapping):
            schema = next((part.get("schema") for part in given["content"].values() if isinstance(part, Mapping)), None)
        read = definitions.read(schema) if schema is not None else {}
        key = given["name"]
        if key in properties:
            key = _free(f"{key}_{given.get('in')}", dict.fromkeys(properties, 1))
            words = message(_("Two parameters are named %(name)s. One is %(key)s here."), name=given["name"], key=key)
            self.notes.append(Note(name, words))
        properties[key] = _described(read, given.get("description"))
        if given.get("required") is True:
            required.append(key)

    def _add_body(
        self, properties: dict[str, Any], required: list[str], name: str, definitions: "_Definitions", body: Any
    ) -> None:
        body = self._resolve(body)
        content = body.get("content") if isinstance(body, Mapping) else None
        if not isinstance(content, Mapping) or not content:
            return
        media = next((one for one in content if _JSON.search(str(one))), next(iter(content)))
        if not _JSON.search(str(media)):
            self.notes.append(Note(name, message(_("The body is %(media)s, not JSON."), media=str(media)[:100])))
        given = content[media].get("schema") if isinstance(content[media], Mapping) else None
        target = self._resolve(given)
        inner = target.get("properties") if isinstance(target, Mapping) else None
        plain = isinstance(inner, Mapping) and not target.keys() & {"allOf", "anyOf", "oneOf", "additionalProperties"}
        if isinstance(inner, Mapping) and plain and not inner.keys() & properties.keys():
            sent = definitions.read({"properties": inner, "required": target.get("required")})
            # Nothing is read of what does not fit.
            properties |= sent.get("properties", {})
            needed = sent.get("required")
            if body.get("required") is True and isinstance(needed, list):
                required += [one for one in needed if isinstance(one, str)]
            return
        if given is None:
            return
        key = "body" if "body" not in properties else "request_body"
        properties[key] = _described(definitions.read(given), body.get("description"))
        if body.get("required") is True:
            required.append(key)

    def _resolve(self, value: Any) -> Any:
        return resolve(self.document, value)


def resolve(document: Mapping[str, Any], value: Any) -> Any:
    """Return what a reference leads to; the value itself if it is none; None if it leads nowhere."""
    for _step in range(_MAX_CHAIN):
        if not isinstance(value, Mapping) or not isinstance(value.get("$ref"), str):
            return value
        value = _target(document, value["$ref"])
    return None


def _target(document: Any, reference: str) -> Any:
    if not reference.startswith("#"):
        return None
    for part in unquote(reference[1:]).split("/")[1:]:
        step = unescape(part)
        if isinstance(document, list) and step.isascii() and step.isdigit() and int(step) < len(document):
            document = document[int(step)]
        elif isinstance(document, Mapping) and step in document:
            document = document[step]
        else:
            return None
    return document


class _Definitions:
    """The definitions that the parameters or the response of one function need. ``found``: name → schema."""

    def __init__(self, reader: _Reader, tool: str, too_large: str, unsent: str) -> None:
        """``unsent``: the keyword of properties that only the other direction has, readOnly or writeOnly."""
        self.reader, self.tool, self.too_large, self.unsent = reader, tool, too_large, unsent
        self.most = min(reader.left, MAX_NODES)
        self.copied = 0
        self.found: dict[str, Any] = {}
        self._names: dict[str, str] = {}
        self._taken: dict[str, int] = {}

    def read(self, schema: Any) -> Any:
        """Return a schema of the document for the function, and keep the definitions that it needs."""
        read = self._copy(schema, 0)
        while waiting := [one for one, name in self._names.items() if name not in self.found]:
            for reference in waiting:
                self.found[self._names[reference]] = self._copy(_target(self.reader.document, reference), 0)
        return read

    def _copy(self, node: Any, depth: int, *, names: bool = False) -> Any:
        """Return a copy of a schema, or of a map from ``names`` to schemas."""
        # Long texts count like objects.
        if not isinstance(node, Mapping | list):
            self.copied += len(node) // _TEXT if isinstance(node, str) else 0
            return node
        self.copied += 1
        if self.copied > self.most or depth > MAX_DEPTH:
            self.reader.note(self.tool, self.too_large, message(self.too_large))
            return {}
        if isinstance(node, list):
            return [self._copy(part, depth + 1) for part in node]
        if isinstance(node.get("$ref"), str) and not names:
            return self._reference(node["$ref"], node)
        copy: dict[str, Any] = {}
        for key, part in self._sent(node).items():
            if names:
                copy[str(key)] = self._copy(part, depth + 1)
            elif key in _DATA:
                # Without an enum that is too large, any value is accepted.
                if self._has_room(part):
                    copy[str(key)] = part
            elif key not in _DROPPED and not str(key).startswith("x-"):
                copy[str(key)] = self._copy(part, depth + 1, names=key in _MAPS)
        return copy

    def _has_room(self, data: Any) -> bool:
        """Return whether values of an enum and the like are not too large."""
        self.copied += count_values(data) + count_characters(data) // _TEXT
        if self.copied > self.most:
            self.reader.note(self.tool, self.too_large, message(self.too_large))
        return self.copied <= self.most

    def _sent(self, node: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """Return a schema without the properties that are not sent in this direction."""
        properties, required = node.get("properties"), node.get("required")
        if not isinstance(properties, Mapping):
            return node
        left = {key for key, part in properties.items() if self._is_unsent(part)}
        if not left:
            return node
        words = message(_("Left out, because it is not sent: %(keys)s."), keys=", ".join(sorted(map(str, left)))[:200])
        self.reader.note(self.tool, f"{self.unsent} {words.text}", words)
        kept: dict[Any, Any] = {key: part for key, part in properties.items() if key not in left}
        needed = [one for one in required if one not in left] if isinstance(required, list) else required
        return {**node, "properties": kept} | ({} if required is None else {"required": needed})

    def _is_unsent(self, schema: Any) -> bool:
        target = resolve(self.reader.document, schema)
        return isinstance(target, Mapping) and target.get(self.unsent) is True

    def _reference(self, reference: str, node: Mapping[str, Any]) -> Any:
        if _target(self.reader.document, reference) is None:
            words = message(
                _("The reference %(reference)s leads nowhere, so any value is accepted."), reference=reference[:200]
            )
            self.reader.note(self.tool, reference, words)
            return {}
        if reference not in self._names:
            if len(self._names) >= MAX_DEFINITIONS:
                self.reader.note(self.tool, self.too_large, message(self.too_large))
                return {}
            wanted = _NO_NAME.sub("_", unescape(reference.rpartition("/")[2])) or "part"
            self._names[reference] = _free(wanted, self._taken)
        text = node.get("description")
        return {"$ref": f"#/$defs/{self._names[reference]}"} | ({"description": text} if isinstance(text, str) else {})


def _free(wanted: str, taken: dict[str, int]) -> str:
    """Return a name that is not taken yet, with a number if it has to be, and take it. ``taken``: name → how often."""
    name = wanted
    while name in taken:
        taken[wanted] += 1
        name = f"{wanted}_{taken[wanted]}"
    taken[name] = 1
    return name


def _described(schema: Any, description: Any) -> Any:
    if not isinstance(schema, Mapping) or not isinstance(description, str) or not description.strip():
        return schema
    return {**schema, "description": description}


def _description(operation: Mapping[str, Any]) -> str:
    parts = [operation.get(key) for key in ("summary", "description")]
    texts = [part.strip() for part in parts if isinstance(part, str) and part.strip()]
    if len(texts) == 2 and texts[1].startswith(texts[0].rstrip(".")):
        texts = texts[1:]
    return "\n\n".join(texts)
