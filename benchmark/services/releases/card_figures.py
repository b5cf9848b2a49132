"""The sections of a release's card on agreement, accuracy, residual errors and revisions, from its frozen figures."""

from typing import Any

from benchmark.core.archives.quoting import markdown_text


def figure_sections(figures: dict[str, Any]) -> list[str]:
    """Return the sections as paragraphs of Markdown; without those that have nothing to tell."""
    return [*_agreement(figures), *_accuracy(figures), *_audits(figures), *_revisions(figures)]


def _agreement(figures: dict[str, Any]) -> list[str]:
    """Return the agreement between independent reviewers, if there is any."""
    found = [(one, figure) for one in figures["agreement"] for figure in one["figures"] if _is_listed(figure)]
    if not found:
        return []
    rows = [
        f"| {_cell(one['stage'])} | {_cell(one['label'])} | {_cell(figure['name'].replace('_', ' '))} | "
        f"{figure['n']:,} | {_number(figure)} |"
        for one, figure in found
    ]
    cautions: dict[str, list[str]] = {}
    for one, figure in found:
        if sentence := figure.get("caution"):
            cautions.setdefault(sentence, []).append(f"{one['stage']}, {one['label']}, {figure['name']}")
    said = [f"{sentence} This concerns: {markdown_text('; '.join(named))}." for sentence, named in cautions.items()]
    table = "\n".join(
        [
            "| stage | label | figure | units (dialogues or tasks) | value (95 % interval) |",
            "|---|---|---|---|---|",
            *rows,
        ]
    )
    return ["### Agreement", f"{figures['notes']['agreement']} {figures['notes']['f1']}", table, *said]


def _is_listed(figure: dict[str, Any]) -> bool:
    """Whether a figure has a value, or units and a reason why it has none.

    Cards of figures of an earlier version, which have no caution, stay as they were: only those with a value.
    """
    return figure["value"] is not None or bool(figure["n"] and "caution" in figure)


def _number(figure: dict[str, Any]) -> str:
    """Return a value with its interval, or why there is no value."""
    if figure["value"] is None:
        return _cell(figure["undefined"])
    if figure["low"] is None or figure["high"] is None:
        return f"{figure['value']:.3f}"
    return f"{figure['value']:.3f} ({figure['low']:.3f} to {figure['high']:.3f})"


def _accuracy(figures: dict[str, Any]) -> list[str]:
    """Return the accuracy curve, if there is one."""
    points = figures["accuracy"]["by_stage"]
    if not any(point["of"] for point in points):
        return []
    # Figures of an earlier version do not count missing labels apart.
    unlabelled = any(point.get("without_missing_labels", point["accuracy"]) != point["accuracy"] for point in points)
    rows = [
        f"| {_cell(point['title'])} | {point['right']:,} of {point['of']:,} | {_share(point['accuracy'])} |"
        + (f" {_share(point['without_missing_labels'])} |" if unlabelled else "")
        for point in points
    ]
    head, line = "| after | correct | accuracy (95 % interval) |", "|---|---|---|"
    if unlabelled:
        head, line = f"{head} ignoring messages and missing labels |", f"{line}---|"
    table = "\n".join([head, line, *rows])
    return ["### Accuracy by stage", figures["notes"]["accuracy"], table]


def _audits(figures: dict[str, Any]) -> list[str]:
    """Return the residual errors that audits estimate, if there were any."""
    audits = [one for one in figures["accuracy"]["audits"] if _is_listed(one["residual"] | {"n": one["population"]})]
    if not audits:
        return []
    rows = [
        f"| {_cell(one['stage'])} | {one['population']:,} | {one['audited']:,} | {one['errors']:,} "
        f"| {_share(one['residual'])} |"
        for one in audits
    ]
    heads = "| stage | population | audited | with errors | residual errors (95 % bounds) |"
    # Cards of releases from before these notes are not written again.
    warnings = dict.fromkeys(sentence for one in audits for sentence in one.get("warnings", ()))
    notes = " ".join([figures["notes"].get("audits", ""), *warnings]).strip()
    return ["### Residual errors", *([notes] if notes else []), "\n".join([heads, "|---|---|---|---|---|", *rows])]


def _revisions(figures: dict[str, Any]) -> list[str]:
    """Return revised items by the rounds they needed, if the protocol had stages that repeat after a change."""
    stages = [one for one in figures["revision_rounds"] if one["items"]]
    if not stages:
        return []
    rounds = range(1, max(2, *(int(number) for one in stages for number in ("1", *one["revised"]))) + 1)
    pools = any(one["not_drawn"] for one in stages)
    rows = [
        f"| {_cell(one['title'])} | {one['items']:,} | "
        + (f"{one['not_drawn']:,} | " if pools else "")
        + "".join(f"{one['revised'].get(str(number), 0):,} | " for number in rounds)
        + f"{sum(one['revised'].values()):,} | {_share(one['rate'])} |"
        for one in stages
    ]
    heads = "".join(f"{number} round{'s' if number > 1 else ''} | " for number in rounds)
    table = "\n".join(
        [
            f"| stage | items | {'not drawn | ' if pools else ''}{heads}revised | revision rate (95 % interval) |",
            "|" + "---|" * (len(rounds) + 4 + pools),
            *rows,
        ]
    )
    return ["### Revisions by stage", figures["notes"]["revision_rounds"], table]


def _share(figure: dict[str, Any]) -> str:
    """Return a share with its interval, or why there is none."""
    if figure["value"] is None:
        return _cell(figure["undefined"])
    if figure["low"] is None or figure["high"] is None:
        return f"{100 * figure['value']:.1f} %"
    value, low, high = (100 * figure[name] for name in ("value", "low", "high"))
    return f"{value:.1f} % ({low:.1f} to {high:.1f})"


def _cell(text: str) -> str:
    return markdown_text(text) or "–"
