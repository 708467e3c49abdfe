"""Routes, addresses and flags of hostile files are bounded, and cost only themselves."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import support.property_tests  # noqa: F401  (registers the profiles)
from assay.core.endpoints import match, parse_endpoint
from assay.index.extract import extract
from assay.index.facts import ServiceFact, decode_facts
from assay.index.flag_patterns import MAX_PATTERNS, read_patterns
from assay.languages import by_name

SECONDS = 5.0  # of processor time for one file; ordinary ones of the same size take less than a tenth


def services(language: str, text: str, flags: tuple[str, ...] = ()) -> list[ServiceFact]:
    start = time.process_time()
    facts = decode_facts(extract(text.encode("utf-8", "replace"), by_name()[language], flags).facts)
    assert time.process_time() - start < SECONDS
    return facts.services


DEEP = "x" + ".nest('/a', x" * 300 + ")" * 300
HOSTILE = {
    "an enormous literal": ("python", "import requests\nrequests.get('/" + "a" * 300_000 + "')\n"),
    "three thousand routes": ("python", "".join(f"@app.get('/r{n}')\ndef f{n}(): pass\n" for n in range(3_000))),
    "a variable that is its own value": ("python", "import requests\nurl = url + '/x'\nrequests.get(url)\n"),
    "variables in a circle": (
        "javascript",
        "let a = b + '/x';\nlet b = a + '/y';\nfetch(a);\nfetch(b);\n",
    ),
    "doubling": (
        "javascript",
        "let v0 = '/x';\n" + "".join(f"let v{n} = v{n - 1} + v{n - 1};\n" for n in range(1, 60)) + "fetch(v59);\n",
    ),
    "one name assigned often": (
        "python",
        "import requests\n" + "url = base + '/x'\n" * 3_000 + "requests.get(url)\n" * 300,
    ),
    "a long concatenation": ("javascript", "fetch(" + " + ".join(["'/a'"] * 5_000) + ");\n"),
    "a long chain of routes": ("rust", "fn app() { Router::new()" + '.route("/x", get(h))' * 2_000 + "; } // axum\n"),
    "deep mounts": ("javascript", DEEP.replace("nest", "use") + ";\n"),
    "deep blocks of routes": (
        "ruby",
        "Rails.application.routes.draw do\n" + "namespace :a do\n" * 300 + "get 'x', to: 'y#z'\n" + "end\n" * 301,
    ),
    "unclosed strings": ("python", "import requests\nrequests.get('/x\nrequests.get(f'{/y\n@app.route('\n"),
    "spaces before an assignment": ("python", "import requests\n" + " " * 200_000 + "=\nrequests.get(url)\n"),
    "words before an assignment": (
        "java",
        "a " * 100_000 + "=\nclass A { void b() { template.getForObject(url); } }\n",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_code_is_read_in_bounded_time(name: str) -> None:
    language, text = HOSTILE[name]
    assert all(len(row.name) <= 600 and len(row.handler) <= 3_000 for row in services(language, text))


def test_control_characters_never_reach_the_name_of_an_endpoint() -> None:
    rows = services("python", "import requests\nrequests.get('/a\x1b[31m\x07/b')\n")
    assert [row.name for row in rows] in ([], ["GET /a[31m/b"])


@given(st.sampled_from(["python", "javascript", "go", "rust", "java", "csharp", "ruby"]), st.text(max_size=60))
def test_any_path_is_read_or_left_out(language: str, path: str) -> None:
    quoted = '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
    text = {
        "python": f"import requests\n@app.get({quoted})\ndef f(): requests.get({quoted})\n",
        "javascript": f"app.get({quoted}, (c) => 1); fetch({quoted});\n",
        "go": f'package a\nimport "net/http"\nfunc f() {{ http.HandleFunc({quoted}, f); http.Get({quoted}) }}\n',
        "rust": f"fn f() {{ Router::new().route({quoted}, get(f)); reqwest::get({quoted}); }} // axum\n",
        "java": f"class A {{ @GetMapping({quoted}) void f() {{}} }}\n",
        "csharp": f"class A {{ [HttpGet({quoted})] void f() {{ client.GetAsync({quoted}); }} }}\n",
        "ruby": f"get {quoted} do\nend\nFaraday.get({quoted})\n",
    }[language]
    for row in services(language, text):
        assert "\n" not in row.name
        endpoint = parse_endpoint(row.name)
        assert 0.0 <= match(endpoint, endpoint) <= 1.0


@pytest.mark.parametrize(
    "text",
    [
        "[flags]\npatterns = 3\n",
        "[flags]\npatterns = [1, {}, '(a+)+$', 'x y', '', '../x']\n",
        "flags = 'x'\n",
        "[flags\n",
        "\x00",
        "[flags]\npatterns = ['" + "a" * 100_000 + "']\n",
    ],
)
def test_bad_flag_patterns_are_left_out(tmp_path: Path, text: str) -> None:
    (tmp_path / "assay.toml").write_text(text)
    assert read_patterns(tmp_path) == ()


def test_the_number_of_flag_patterns_is_bounded(tmp_path: Path) -> None:
    names = ", ".join(f"'flags.f{n}'" for n in range(1_000))
    (tmp_path / "assay.toml").write_text(f"[flags]\npatterns = [{names}]\n")
    assert len(read_patterns(tmp_path)) == MAX_PATTERNS


def test_a_link_out_of_the_repository_is_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "outside.toml").write_text("[flags]\npatterns = ['a.b']\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / "assay.toml").symlink_to(tmp_path / "outside.toml")
    try:
        assert read_patterns(root) == ()
    except OSError as error:  # refused by the reader
        pytest.fail(f"raised {error}")
