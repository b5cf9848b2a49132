"""The files of a release of Assay that have records."""

from collections.abc import Callable
from zipfile import ZipFile, ZipInfo

import orjson

from benchmark.core.files.json_files import read_up_to
from benchmark.core.files.limits import Budget, Limits, SourceError
from benchmark.core.files.record_lines import has_too_many_values
from benchmark.core.files.zips import open_member, refusal

#: Manifests in an archive that are read, those nearest to its root: a release has one.
_MANIFESTS = 3


def release_files(
    archive: ZipFile, infos: list[ZipInfo], limits: Limits, format_name: str
) -> Callable[[str], str | None]:
    """Return why a member of a release of Assay is skipped. Other archives have no such members."""
    formats: dict[str, str] = {}
    root = None
    manifests = [info for info in infos if info.filename.rpartition("/")[2] == "manifest.json" and not refusal(info)]
    for info in sorted(manifests, key=lambda one: one.filename.count("/"))[:_MANIFESTS]:
        try:
            with open_member(archive, info, Budget(limits)) as member:
                content = read_up_to(member, limits.whole)
                manifest = None if has_too_many_values(content) else orjson.loads(content)
        except (SourceError, orjson.JSONDecodeError):
            continue
        files = manifest.get("files") if type(manifest) is dict and "assay_release" in manifest else None
        if type(files) is list:
            root = info.filename.rpartition("/")[0]
            formats = {str(file.get("path")): str(file.get("format") or "") for file in files if type(file) is dict}
    if root is None:
        return lambda name: None
    prefix = f"{root}/" if root else ""

    def reason(name: str) -> str | None:
        kind = formats.get(name.removeprefix(prefix), "")
        if not kind:
            return "It belongs to a release of Assay, but has no dialogues."
        if format_name and kind != format_name:
            return f"It has the same dialogues in the format {kind}."
        return None

    return reason
