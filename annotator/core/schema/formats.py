"""Values of ``format`` in our own schemas: how a value is entered, if its type does not say so."""

#: A list of texts, entered one per line.
LINES = "lines"
#: A share, entered in per cent.
PERCENT = "percent"
