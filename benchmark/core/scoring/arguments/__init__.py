"""Comparers of arguments, named and versioned: a stored score says which one decided it."""

from benchmark.core.scoring.arguments.similarity import NoScoringLibraries, require_libraries

#: Name → version. A change that can change a score gets the next version.
COMPARERS = {"published-c3": 1, "published-wild": 1, "strict": 1}
