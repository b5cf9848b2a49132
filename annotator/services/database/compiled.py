"""ORM queries that are compiled once, for the few paths that hold locks other people wait for.

A query is a function that returns a QuerySet. It is called once, with placeholders instead of values, and the ORM's
result is cached; on PostgreSQL it is a prepared statement. Compiling a query takes the ORM several times as long as the
database takes to answer it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, models
from django.db.models import Expression, QuerySet
from django.db.models.base import ModelState
from django.db.models.query import FlatValuesListIterable, ValuesListIterable, get_related_populators
from django.db.models.sql import UpdateQuery
from django.db.models.sql.compiler import SQLCompiler

from annotator.services.database import statements

Given = ParamSpec("Given")
Row = TypeVar("Row")
#: Rows, and the new values of their fields.
Change = tuple[QuerySet[Any, Any], Mapping[str, Any]]


class _Mark(Expression):
    """A placeholder for a value of each call."""

    def __init__(self, place: int) -> None:
        super().__init__()
        self.place = place

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> Any:
        return "%s", [self]


@dataclass(frozen=True)
class _Plan:
    """A statement, its values and placeholders, and the function that converts its rows to instances or tuples."""

    statement: str
    values: tuple[Any, ...]
    read: Callable[[Iterable[statements.Row]], Iterable[Any]] = iter

    def filled(self, given: tuple[Any, ...]) -> list[Any]:
        return [given[value.place] if isinstance(value, _Mark) else value for value in self.values]


class compiled(Generic[Given, Row]):
    """Turns a function that returns a QuerySet into one that returns its rows.

    All its parameters are positional, and it must not look at their values. ``function`` is the original function.
    """

    def __init__(self, function: Callable[Given, QuerySet[Any, Row]]) -> None:
        self.function = function
        self._plans: dict[str, _Plan] = {}

    def __call__(self, *given: Given.args, **named: Given.kwargs) -> list[Row]:
        plan = self._plans.get(connection.vendor) or self._compile()
        return list(plan.read(statements.rows(plan.statement, plan.filled(given))))

    def _compile(self) -> _Plan:
        queryset = _with_marks(self.function)
        compiler = queryset.query.get_compiler(using=DEFAULT_DB_ALIAS)
        statement, values = compiler.as_sql()
        plan = self._plans[connection.vendor] = _Plan(statement, tuple(values), _reader(queryset, compiler))
        return plan


class compiled_update(Generic[Given]):
    """Turns a function that returns a QuerySet and new values of fields into one that updates these rows.

    Like ``update``, it returns the number of rows.
    """

    def __init__(self, function: Callable[Given, Change]) -> None:
        self.function = function
        self._plans: dict[str, _Plan] = {}

    def __call__(self, *given: Given.args, **named: Given.kwargs) -> int:
        plan = self._plans.get(connection.vendor) or self._compile()
        return statements.write(plan.statement, plan.filled(given))

    def _compile(self) -> _Plan:
        queryset, changes = _with_marks(self.function)
        query: Any = queryset.query.chain(UpdateQuery)
        query.add_update_values(changes)
        statement, values = query.get_compiler(using=DEFAULT_DB_ALIAS).as_sql()
        plan = self._plans[connection.vendor] = _Plan(statement, tuple(values))
        return plan


def _with_marks(function: Callable[..., Any]) -> Any:
    return function(*map(_Mark, range(function.__code__.co_argcount)))


def _reader(queryset: Any, compiler: Any) -> Callable[[Iterable[statements.Row]], Iterable[Any]]:
    """Return a function that converts rows as the ORM does (``ModelIterable``)."""
    columns = compiler.select
    converters = compiler.get_converters([column for column, *_ in columns])
    steps = [(place, step, column) for place, (found, column) in converters.items() for step in found]

    def converted(found: Iterable[statements.Row]) -> Iterable[Sequence[Any]]:
        # Not with the compiler's connection, which belongs to the thread that compiled the query.
        for row in map(list, found):
            for place, step, column in steps:
                row[place] = step(row[place], column, connection)
            yield row

    if issubclass(queryset._iterable_class, FlatValuesListIterable):
        return lambda found: (value for value, *_ in converted(found))
    if issubclass(queryset._iterable_class, ValuesListIterable):
        return lambda found: map(tuple, converted(found))
    info = compiler.klass_info
    model: type[models.Model] = info["model"]
    begin, end = info["select_fields"][0], info["select_fields"][-1] + 1
    names = [column.target.attname for column, *_ in columns[begin:end]]
    make = _Maker(model).from_db
    related: Any = get_related_populators(info, columns, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]
    _let_makers_make(related)
    annotations = list(compiler.annotation_col_map.items())

    def instances(found: Iterable[statements.Row]) -> Iterable[Any]:
        for row in converted(found):
            instance = make(DEFAULT_DB_ALIAS, names, row[begin:end])
            for populator in related:
                populator.populate(row, instance)
            for name, place in annotations:
                setattr(instance, name, row[place])
            yield instance

    return instances


class _Maker:
    """Makes instances of stored values. ``Model()`` takes longer: it sends signals and looks for defaults."""

    def __init__(self, model: type[models.Model]) -> None:
        self.model = model

    def from_db(self, alias: str, names: Iterable[str], values: Iterable[Any]) -> models.Model:
        instance = self.model.__new__(self.model)
        instance._state = state = ModelState()
        state.db, state.adding = alias, False
        vars(instance).update(zip(names, values, strict=True))
        return instance


def _let_makers_make(related: Iterable[Any]) -> None:
    for populator in related:
        populator.model_cls = _Maker(populator.model_cls)
        _let_makers_make(populator.related_populators)
