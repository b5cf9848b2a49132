"""The items of a release by the names that entries have."""

from benchmark.models import Release, ReleaseItem


def items_by_name(release: Release, language: str) -> dict[str, int]:
    """Return the key of each item by its external id and its variant group.

    Of the variants of a group, the one in ``language`` counts; English, if it is blank.
    """
    rows = ReleaseItem.objects.filter(release=release).values_list(
        "pk", "dialogue__external_id", "dialogue__variant_group", "dialogue__language"
    )
    wanted = language or "en"
    # Those that count come last.
    found = sorted(rows, key=lambda row: (row[3] == wanted, row[0]))
    return {name: pk for pk, *names, _ in found for name in names if name}
