"""The checks whose findings depend on running something, or on other dialogues, not only on the content."""

#: These only report that something has not run yet.
UNTRIED = frozenset(("validator.untried", "execution.not_run"))
OF_RUNS = UNTRIED | {
    *("validator.matrix", "validator.doubt"),
    *("execution.failed", "execution.error_result", "execution.nondeterministic", "execution.state"),
    *("execution.first_call_unused", "execution.order_free", "execution.ambiguous"),
    *("composite.missing_task", "composite.outdated", "composite.differs"),
}
