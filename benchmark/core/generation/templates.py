"""Prompt templates: a small part of Jinja2, with bounds on time, memory and length.

A template has text, values, conditions, loops, ``range`` and a few filters and tests. It can neither define anything
nor join texts, so that nothing grows beyond what the values contain; loops and filters are charged to a budget. There
is no loader, and no name that begins with an underscore can be read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from types import TracebackType
from typing import Any

import orjson
from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from annotator.core.schema.canonical import content_hash
from annotator.core.schema.exact_json import dumps
from annotator.core.text import Message, message
from benchmark.core.generation.purposes import SAMPLES, Purpose

#: Characters of a template and of what it renders; loops in loops; numbers of a range; characters of a separator.
MAX_SOURCE, MAX_RENDERED, MAX_LOOPS, MAX_RANGE, MAX_SEPARATOR = 20_000, 200_000, 4, 1_000, 20
#: Parts of the template that loops repeat and characters that filters write, in one rendering.
MAX_WORK = 500_000
#: The name of the budget in a context; no template can write it.
_BUDGET = " budget"
_ALLOWED = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem),
    *(nodes.Slice, nodes.For, nodes.If, nodes.CondExpr, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not),
    *(nodes.Filter, nodes.Test, nodes.Call),
)
_TESTS = ("defined", "none", "string", "number", "mapping", "sequence", "even", "odd", "in", "equalto")
_OF_LOOPS = ("index", "index0", "first", "last")


class TemplateProblem(ValueError):
    """A template that can't be used. ``message`` is a sentence; ``line`` is counted from 1, 0 for the whole."""

    def __init__(self, text: Message, line: int = 0) -> None:
        self.message = message("Line %(line)s: %(problem)s", line=line, problem=text) if line else text
        self.line = line
        super().__init__(self.message.render(lambda one, plural, count: one))


class _Refused(Exception):
    """Raised while rendering, with a sentence."""

    def __init__(self, text: Message) -> None:
        self.text = text
        super().__init__(text.text)


class _Budget:
    def __init__(self) -> None:
        self.left = MAX_WORK

    def charge(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise _Refused(message("The template repeats too much. Use shorter loops."))


@pass_context
def _charged(context: Context, values: Iterable[Any], work: int) -> Iterator[Any]:
    """Yield what a loop goes through; each round costs as much ``work`` as its body has parts."""
    budget = context[_BUDGET]
    for value in values:
        budget.charge(work)
        yield value


def _filter(function: Callable[..., Any]) -> Callable[..., Any]:
    @pass_context
    def apply(context: Context, value: Any, *given: Any) -> Any:
        found = function(value, *given)
        context[_BUDGET].charge(1 + (len(found) if isinstance(found, str) else 0))
        return found

    return apply


def _range(*bounds: int) -> range:
    found = range(*bounds)
    if len(found) > MAX_RANGE:
        raise _Refused(message("“range” counts up to %(most)s.", most=f"{MAX_RANGE:,}"))
    return found


_FILTERS: dict[str, Callable[..., Any]] = {
    # Sorted, so that a toolset has the same prompt before and after it is stored.
    "tojson": _filter(lambda value: dumps(value, option=orjson.OPT_SORT_KEYS).decode()),
    "join": _filter(lambda values, separator="": separator.join(map(str, values))),
    "length": _filter(len),
    "lower": _filter(lambda value: str(value).lower()),
    "upper": _filter(lambda value: str(value).upper()),
    "trim": _filter(lambda value: str(value).strip()),
    "first": _filter(lambda values: next(iter(values))),
    "last": _filter(lambda values: values[-1]),
}


class _Environment(ImmutableSandboxedEnvironment):
    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
        self.globals = {"range": _range}
        self.filters = {**_FILTERS, _BUDGET: _charged}
        self.tests = {name: self.tests[name] for name in _TESTS}

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a value of an object, or where a loop is; never an attribute of Python."""
        if isinstance(obj, LoopContext) and attribute in _OF_LOOPS:
            return getattr(obj, attribute)
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return a value of an object or a list."""
        try:
            return obj[argument] if isinstance(obj, dict | list | str) else self.undefined(obj=obj, name=argument)
        except (LookupError, TypeError):
            return self.undefined(obj=obj, name=argument)


_ENVIRONMENT = _Environment()


def template_hash(source: str) -> str:
    """Return the SHA-256 of a template, which identifies its content."""
    return content_hash(source)


def check_template(purpose: Purpose, source: str) -> None:
    """Raise TemplateProblem for a template that can't be used for a purpose, before it is saved."""
    render(purpose, source, SAMPLES[purpose])


def render(purpose: Purpose, source: str, values: Mapping[str, Any]) -> str:
    """Return the prompt of a template. ``values``: those that ``SAMPLES`` names. Raises TemplateProblem."""
    template = _compiled(purpose, source)
    pieces, length = [], 0
    try:
        for piece in template.generate({**values, _BUDGET: _Budget()}):
            pieces.append(piece)
            length += len(piece)
            if length > MAX_RENDERED:
                raise _Refused(message("The prompt has more than %(most)s characters.", most=f"{MAX_RENDERED:,}"))
    except _Refused as refused:
        raise TemplateProblem(refused.text, _line_of(refused.__traceback__)) from None
    except SecurityError as error:
        raise TemplateProblem(_forbidden(str(error)), _line_of(error.__traceback__)) from None
    except Exception as error:
        # A template can combine the values in any wrong way.
        text = message("This can’t be filled in: %(reason)s", reason=str(error)[:200])
        raise TemplateProblem(text, _line_of(error.__traceback__)) from None
    prompt = "".join(pieces).strip()
    if not prompt:
        raise TemplateProblem(message("The template is empty. Write the prompt."))
    return prompt


@lru_cache(maxsize=256)
def _compiled(purpose: Purpose, source: str) -> Any:
    if len(source) > MAX_SOURCE:
        raise TemplateProblem(message("A template has at most %(most)s characters.", most=f"{MAX_SOURCE:,}"))
    try:
        tree = _ENVIRONMENT.parse(source)
        _check(tree, frozenset(SAMPLES[purpose]), frozenset(), 0)
        return _ENVIRONMENT.from_string(tree)
    except TemplateSyntaxError as error:
        text = message("This is not a valid template: %(reason)s", reason=(error.message or "")[:200])
        raise TemplateProblem(text, error.lineno) from None
    except TemplateProblem:
        raise
    except (ValueError, OverflowError) as error:
        # Such as a number with too many digits.
        text = message("This is not a valid template: %(reason)s", reason=str(error)[:200])
        raise TemplateProblem(text) from None
    except (RecursionError, SyntaxError, TemplateError):
        raise TemplateProblem(message("The template has too many levels. Simplify it.")) from None


def _check(node: nodes.Node, known: frozenset[str], own: frozenset[str], loops: int) -> None:
    """Refuse what a template may not have, and charge its loops. ``own``: names that loops around it define."""
    if not isinstance(node, _ALLOWED):
        raise TemplateProblem(_forbidden(type(node).__name__.lower()), node.lineno)
    if isinstance(node, nodes.Name):
        _require_known(node.name, known | own, node.lineno)
    elif isinstance(node, nodes.Getattr):
        _require_public(node.attr, node.lineno)
    elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        _require_public(node.arg.value, node.lineno)
    elif isinstance(node, nodes.Call):
        _check_range(node)
        for argument in node.args:
            _check(argument, known, own, loops)
        return
    elif isinstance(node, nodes.Filter | nodes.Test):
        _check_filter(node)
    elif isinstance(node, nodes.For):
        _check_loop(node, known, own, loops)
        return
    for child in node.iter_child_nodes():
        _check(child, known, own, loops)


def _check_loop(node: nodes.For, known: frozenset[str], own: frozenset[str], loops: int) -> None:
    if loops >= MAX_LOOPS or node.recursive:
        raise TemplateProblem(message("At most %(most)s loops can be in each other.", most=MAX_LOOPS), node.lineno)
    if not isinstance(node.target, nodes.Name):
        raise TemplateProblem(message("Name one variable after “for”."), node.lineno)
    _check(node.iter, known, own, loops)
    inside = own | {node.target.name, "loop"}
    for child in (*node.body, *([node.test] if node.test else [])):
        _check(child, known, inside, loops + 1)
    for child in node.else_:
        _check(child, known, own, loops)
    work = nodes.Const(1 + sum(1 for _ in node.find_all(nodes.Node)))
    node.iter = nodes.Filter(node.iter, _BUDGET, [work], [], None, None, lineno=node.lineno)


def _check_range(node: nodes.Call) -> None:
    if not isinstance(node.node, nodes.Name) or node.node.name != "range" or node.kwargs or node.dyn_args:
        raise TemplateProblem(message("Only “range” can be called here."), node.lineno)


def _check_filter(node: nodes.Filter | nodes.Test) -> None:
    kinds = _FILTERS if isinstance(node, nodes.Filter) else _TESTS
    if node.name not in kinds:
        text = message("“%(name)s” is not available. Use one of: %(names)s.", name=node.name, names=", ".join(kinds))
        raise TemplateProblem(text, node.lineno)
    if node.node is None or node.kwargs or node.dyn_args or node.dyn_kwargs:
        raise TemplateProblem(_forbidden(node.name), node.lineno)
    for argument in node.args if isinstance(node, nodes.Filter) else ():
        value = argument.value if isinstance(argument, nodes.Const) else None
        if not isinstance(value, str) or len(value) > MAX_SEPARATOR:
            text = message("A separator is a text of at most %(most)s characters.", most=MAX_SEPARATOR)
            raise TemplateProblem(text, node.lineno)


def _require_known(name: str, known: Iterable[str], line: int) -> None:
    if name not in known:
        text = message(
            "There is no value “%(name)s”. Use one of: %(names)s.", name=name, names=", ".join(sorted(known))
        )
        raise TemplateProblem(text, line)


def _require_public(name: Any, line: int) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise TemplateProblem(message("Names that begin with “_” can’t be read (“%(name)s”).", name=name[:80]), line)


def _forbidden(what: str) -> Message:
    return message("A template can’t have this (%(what)s). Use values, conditions and loops.", what=what[:200])


def _line_of(traceback: TracebackType | None) -> int:
    """Return the line of the template at which rendering stopped; 0 if it is not known."""
    line = 0
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename in ("<template>", "<unknown>"):
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line
