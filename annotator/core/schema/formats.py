"""Values of ``format`` in schemas of our own: what a type does not say of how a value is typed."""

#: A list of texts, typed one a line.
LINES = "lines"
#: A share, typed in per cent.
PERCENT = "percent"
