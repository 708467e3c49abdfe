"""Take screenshots of `assay serve` for the documentation: this repository, measured at some of its commits.

python scripts/screenshots.py [docs/images]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

HERE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE / "tests"), str(HERE / "src")]

from support.browser import Browser, Page  # noqa: E402
from support.command import assay  # noqa: E402
from support.web_server import Server, run_server  # noqa: E402

TASK = "how does a review find files that usually change together"
QUESTION = "what does the pack cache keep"
COMMITS = (60, 40, 20, 0)  # back from the newest
SIZE, SMALL = (1120, 720), (1000, 600)  # code is most of a picture's bytes
PHONE = (390, 720)
_LARGEST = 150_000  # bytes of a picture


def measured(folder: Path) -> Path:
    """A clone of this repository with an index, runs at several of its commits, and a sweep."""
    root = folder / "assay"
    subprocess.run(["git", "clone", "-q", str(HERE), str(root)], check=True)
    (folder / "queries.yaml").write_bytes((HERE / "eval" / "queries.yaml").read_bytes())  # the same for all commits
    newest = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True).stdout
    for back in COMMITS:
        subprocess.run(["git", "checkout", "-q", f"{newest.strip()}~{back}"], cwd=root, check=True)
        assay(root, "index")
        for system in ("assay", "search"):
            assay(
                root,
                "eval",
                "run",
                "--golden",
                "../queries.yaml",
                "--system",
                system,
                "--label",
                f"{system} {back} back",
            )
    sweep = ("--system", "assay:default", "--set", "walk=0,0.5,1,1.7", "--set", "documents=0,0.3,0.6")
    assay(root, "eval", "sweep", "--golden", "../queries.yaml", *sweep)
    return root


def taken(page: Page, path: Path) -> None:
    page.wait("document.fonts.status === 'loaded'")
    page.screenshot(path)
    if path.stat().st_size > _LARGEST:
        print(f"{path}: {path.stat().st_size:,} bytes are more than {_LARGEST:,}", file=sys.stderr)


def searched(page: Page, server: Server, task: str = TASK, view: str = "code") -> None:
    page.go(f"{server.address}/?{urlencode({'task': task, 'view': view})}")


def opened(page: Page, server: Server) -> None:
    searched(page, server)
    page.click(".results summary")
    page.wait("document.querySelector('.results .detail') !== null")
    page.run("document.querySelector('.results').scrollIntoView()")


def take(server: Server, folder: Path) -> None:
    runs = [one["run_id"] for one in server.get("/api/runs").json["runs"] if one["system"] == "assay"]
    sweep = server.get("/api/sweeps").json["sweeps"][0]["sweep_id"]
    places = {
        "runs": "/runs",
        "compare": f"/compare?{urlencode({'a': runs[0], 'b': runs[-1]})}",
        "sweep": f"/sweep?{urlencode({'sweep': sweep})}#configurations",
        "index": "/index",
    }
    with Browser() as browser:
        for dark in (False, True):
            suffix = "-dark" if dark else ""
            with browser.page(*SMALL, dark=dark) as page:
                opened(page, server)
                taken(page, folder / f"serve-result{suffix}.png")
            with browser.page(*SIZE, dark=dark) as page:
                for _ in range(2):  # the first opens what the second finds open
                    searched(page, server)
                taken(page, folder / f"serve-search{suffix}.png")
                for view in ("passages", "answer"):
                    for _ in range(2):
                        searched(page, server, QUESTION, view)
                    taken(page, folder / f"serve-{view}{suffix}.png")
                for name, path in places.items():
                    page.go(server.address + path)
                    page.run(
                        "document.querySelector('.figures-of-index')?.scrollIntoView()"
                    )  # past a path of this machine
                    taken(page, folder / f"serve-{name}{suffix}.png")
        with browser.page(*PHONE, phone=True) as page:
            for view, task in {"code": TASK, "passages": QUESTION, "answer": QUESTION}.items():
                searched(page, server, task, view)
                taken(page, folder / f"serve-{'search' if view == 'code' else view}-phone.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=HERE / "docs" / "images")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, run_server(measured(Path(place))) as server:
        take(server, folder)
    print(json.dumps({path.name: path.stat().st_size for path in sorted(folder.glob("serve-*.png"))}, indent=2))


if __name__ == "__main__":
    main()
