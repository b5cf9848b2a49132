"""The client against a played server."""

import hashlib
import json
import zipfile

import httpx
import pytest

import assay


def client(handler, **options):
    return assay.Client("https://a.example", "secret", transport=httpx.MockTransport(handler), **options)


def test_pages_are_read_to_the_last_and_never_from_another_host():
    def handler(request):
        if "cursor" in request.url.params:
            return httpx.Response(200, json={"next": "https://evil.example/x", "results": [{"n": 2}]})
        return httpx.Response(200, json={"next": "http://a.example/api/x/?cursor=c", "results": [{"n": 1}]})

    rows = client(handler).project("p").dialogues()
    assert [next(rows), next(rows)] == [{"n": 1}, {"n": 2}]
    with pytest.raises(assay.ApiError, match="another host"):
        next(rows)


def test_an_upload_is_sent_whole_again_and_errors_keep_the_sentence(monkeypatch, tmp_path):
    pauses, bodies = [], []
    monkeypatch.setattr("time.sleep", pauses.append)
    path = tmp_path / "a.jsonl"
    path.write_text("{}\n")

    def handler(request):
        bodies.append(b"{}\n" in request.read())
        if len(bodies) == 1:
            return httpx.Response(503, headers={"Retry-After": "7"})
        return httpx.Response(409, json={"error": "conflict", "sentence": "It is too late.", "details": {"a": 1}})

    with pytest.raises(assay.Conflict, match=r"It is too late\.") as caught:
        client(handler).project("p").import_file(path)
    assert (pauses, bodies, caught.value.details) == ([7.0], [True, True], {"a": 1})
    assert "secret" not in repr(client(handler))


def test_a_job_is_followed_to_its_failure(monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _seconds: None)

    def handler(request):
        state = "queued" if request.method == "POST" else "failed"
        return httpx.Response(200, json={"public_id": "r", "job": {"state": state, "error": "Nothing is verified."}})

    with pytest.raises(assay.JobFailed, match=r"Nothing is verified\."):
        client(handler).project("p").freeze("1.0", "wild").wait()


def test_plain_http_is_for_this_machine_only():
    with pytest.raises(ValueError, match="https"):
        assay.Client("http://a.example", "secret")
    assay.Client("http://localhost:8000", "secret").close()


def test_a_download_is_compared_and_a_release_is_read(tmp_path):
    line = json.dumps({"id": "d1", "tools": [{"name": "f"}]}).encode() + b"\n"
    files = [{"path": "dialogues.jsonl", "sha256": hashlib.sha256(line).hexdigest()}]
    with zipfile.ZipFile(tmp_path / "made.zip", "w") as archive:
        archive.writestr("x/manifest.json", json.dumps({"files": files}))
        archive.writestr("x/dialogues.jsonl", line)
    content = (tmp_path / "made.zip").read_bytes()
    sums = [hashlib.sha256(content).hexdigest(), "0" * 64]

    def handler(request):
        if request.url.path.endswith("archive/"):
            return httpx.Response(200, content=content)
        rows = [{"public_id": f"r{n}", "version": f"{n}.0", "sha256": one} for n, one in enumerate(sums, 1)]
        return httpx.Response(200, json={"next": None, "results": rows})

    project = client(handler).project("p")
    release = assay.load_release(project.release("1.0").download(tmp_path / "one.zip"))
    assert (release.verify(), release.tools) == (1, {"d1": [{"name": "f"}]})
    with pytest.raises(assay.ReleaseError, match="SHA-256"):
        project.release("2.0").download(tmp_path / "two.zip")
    assert not (tmp_path / "two.zip").exists()
