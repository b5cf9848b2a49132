"""Values of ``format`` in our own schemas: how a value is typed, which its type does not tell."""

#: A list of texts, typed one a line.
LINES = "lines"
#: A share, typed in per cent.
PERCENT = "percent"
