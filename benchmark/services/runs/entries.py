"""The items of a release by the names that entries have."""

from benchmark.models import Release, ReleaseItem


def items_by_name(release: Release, family: str, language: str) -> dict[str, int]:
    """Return the key of each item by the name of its entries: its external id or, for dialogues of tasks, its variant
    group if it has one. Of a group, the variant in ``language`` counts; if it is blank, the English one.
    """
    rows = ReleaseItem.objects.filter(release=release).values_list(
        "pk", "dialogue__external_id", "dialogue__variant_group", "dialogue__language"
    )
    by_group = family not in ("cctu", "async")
    wanted = language or "en"
    # Those that count come last.
    found = sorted(rows, key=lambda row: (row[3] == wanted, row[0]))
    return {(group if group and by_group else name): pk for pk, name, group, _ in found}
