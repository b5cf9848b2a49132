"""Which calls are interchangeable: states that differ only in them have the same future."""

from collections.abc import Iterable, Sequence

from annotator.core.graph.dag import Graph, connected, inverted, positions

_Spelled = tuple[tuple[int, ...], ...]
#: A number for the shape of a part, and each open call's role in it.
_Look = tuple[int, dict[int, tuple[int, int]]]


class Interchange:
    """Merges states of one graph. ``kinds`` has equal numbers for calls with equal tools and arguments.

    A state is a pair of bitsets: the calls done, and the calls that could run when the current batch began.
    """

    def __init__(self, graph: Graph, kinds: Sequence[int]) -> None:
        self._needs = graph.reduced.needs
        self._order = graph.order
        self._over = inverted(self._needs)
        self._near = [need | over for need, over in zip(self._needs, self._over, strict=True)]
        self._kinds = kinds
        self._repeats = len(set(kinds)) < len(kinds)
        self._parts = connected((1 << len(kinds)) - 1, self._near)
        self._looks: dict[tuple[int, int, int], _Look] = {}
        #: The same by shape, so that equal parts are examined once. A call is then its position in its part, in
        #: document order.
        self._by_shape: dict[tuple[object, ...], tuple[int, tuple[tuple[int, int], ...]]] = {}
        self._numbers: dict[object, int] = {}

    def first_of_each(self, mask: int, done: int, ready: int) -> list[int]:
        """Return the positions of ``mask``, and of interchangeable ones only the first."""
        if not self._repeats or not mask & (mask - 1):
            return list(positions(mask))
        first: dict[tuple[int, int], int] = {}
        for part in self._parts:
            if mask & part:
                _, roles = self._look(part, done & part, ready & part)
                for i in positions(mask & part):
                    first.setdefault(roles[i], i)
        return list(first.values())

    def merged(self, states: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
        """Return one state of each set of states with the same open calls (tools, arguments and dependencies)."""
        if not self._repeats:
            return set(states)
        alike = {}
        for done, ready in sorted(states, reverse=True):
            look = sorted(self._look(part, done & part, ready & part)[0] for part in self._parts)
            alike[tuple(look)] = (done, ready)
        return set(alike.values())

    def _look(self, part: int, done: int, ready: int) -> _Look:
        """Return a number for the shape of a part's open calls, equal if they look alike, and each call's role in it.

        A shape describes the open calls, piece by piece, with new numbers: equal shapes are the same graph. Calls are
        numbered by their own properties and those of their neighbours. If that cannot tell two calls apart, document
        order decides: then two equal shapes may look different, which costs time but not correctness.
        """
        key = (part, done, ready)
        if key not in self._looks:
            left = part & ~done
            calls = list(positions(left))
            shape = self._spelled(calls, left, ready)
            if shape not in self._by_shape:
                self._by_shape[shape] = self._looked_at(calls, left, ready)
            number, roles = self._by_shape[shape]
            self._looks[key] = (number, dict(zip(calls, roles, strict=True)))
        return self._looks[key]

    def _looked_at(self, calls: Sequence[int], left: int, ready: int) -> tuple[int, tuple[tuple[int, int], ...]]:
        colours = self._colours(left, ready)
        numbers: list[int] = []
        roles: dict[int, tuple[int, int]] = {}
        for piece in connected(left, self._near):
            renumbered = sorted(positions(piece), key=lambda i: (colours[i], i))
            number = self._number(self._spelled(renumbered, piece, ready))
            numbers.append(number)
            roles |= {i: (number, place) for place, i in enumerate(renumbered)}
        return self._number(("part", *sorted(numbers))), tuple(roles[i] for i in calls)

    def _number(self, thing: object) -> int:
        return self._numbers.setdefault(thing, len(self._numbers))

    def _colours(self, left: int, ready: int) -> dict[int, int]:
        """Return the properties of each open call: its kind, whether it could run, and the same for all below and above
        it.
        """
        order = [i for i in self._order if left >> i & 1]
        under: dict[int, int] = {}
        for i in order:
            below = sorted(under[j] for j in positions(self._needs[i] & left))
            under[i] = hash((self._kinds[i], ready >> i & 1, *below))
        colours: dict[int, int] = {}
        for i in reversed(order):
            above = sorted(colours[j] for j in positions(self._over[i] & left))
            colours[i] = hash((under[i], *above))
        return colours

    def _spelled(self, calls: Sequence[int], piece: int, ready: int) -> _Spelled:
        place = {i: 1 << number for number, i in enumerate(calls)}
        return (
            tuple(self._kinds[i] for i in calls),
            tuple(ready >> i & 1 for i in calls),
            tuple(sum(place[j] for j in positions(self._needs[i] & piece)) for i in calls),
        )
