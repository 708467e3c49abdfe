"""`assay context --pr --format comment`: a short summary, safe to post, below the size limit of the forge."""

from __future__ import annotations

import pytest

from assay.pack.render.readable import MARKER
from assay.text.tokens import count
from support.command import Done, assay
from support.comments import Comment
from support.repository import Repository

BLOB = "https://forge.example/shop/shop/blob/0123abcd"
TAKEN = 65_536  # characters that GitHub takes
PRICES = "def with_tax(amount):\n    return amount * 1.2\n"
SHOP = '''\
from prices import with_tax


def total(goods):
    """Thanks to @alice, fixes #12.

    ````
    </details> <script>alert(1)</script> https://forge.example/shop/shop/issues/12
    ````
    """
    return with_tax(sum(goods))
'''
POINT = """\
class Point
  def <=>(other)
    size <=> other.size
  end

  def bigger?(other)
    self <=> other
  end
end
"""


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.write("prices.py", PRICES)
    repository.write("shop.py", SHOP)
    repository.write("packages/@acme/issue#7 (old).py", "from prices import with_tax\n\nwith_tax(1)\n")
    repository.write("lib/point.rb", POINT)
    repository.commit()
    repository.git("branch", "release-@team-#9")
    repository.git("checkout", "-q", "-b", "feature")
    return repository


def commented(shop: Repository, *arguments: str, code: int = 0) -> str:
    done: Done = assay(shop.root, "context", "--pr", *arguments, "--format", "comment")
    assert done.code == code, done.err
    return done.out


def test_at_first_sight_it_says_how_much_there_is_of_each(shop: Repository) -> None:
    shop.write("prices.py", PRICES.replace("1.2", "1.3"))
    shop.commit()
    shop.index()
    sight = [line for line in Comment(commented(shop)).first_sight.split("\n") if line]
    assert sight[0].startswith("1 file changed since main (merge base ")
    assert "Touched: 1 in 1 file" in sight
    assert "Callers: 2" in sight
    assert len(sight) <= 8


def test_lines_of_callers_are_folded_and_those_of_the_diff_are_not_repeated(shop: Repository) -> None:
    shop.write("prices.py", PRICES.replace("1.2", "1.3"))
    shop.index()
    read = Comment(commented(shop))
    assert "    return with_tax(sum(goods))\n" in "".join(read.code)
    assert "return amount" not in "".join(read.code)
    assert "with_tax(sum" not in read.first_sight


def test_what_is_missing_from_the_change_is_read_at_first_sight(shop: Repository) -> None:
    for number in range(4):
        shop.write("prices.py", PRICES.replace("1.2", f"1.{number}"))
        shop.write("shop.py", f"{SHOP}# {number}\n")
        shop.commit()
    shop.git("branch", "base")
    shop.write("prices.py", PRICES.replace("1.2", "1.9"))
    shop.index()
    sight = Comment(commented(shop, "base")).first_sight
    assert "Usually changed together, missing here: 1" in sight
    assert "shop.py:1" in sight


def test_nobody_is_mentioned_and_no_markup_comes_from_the_code(shop: Repository) -> None:
    shop.write("prices.py", PRICES.replace("1.2", "1.3"))
    shop.write("lib/point.rb", POINT.replace("size <=>", "length <=>"))
    shop.git("mv", "packages/@acme/issue#7 (old).py", "packages/@acme/issue#8 <b>.py")
    shop.index()
    read = Comment(commented(shop, "release-@team-#9"))  # reading it checks both
    assert "release-@\u200bteam-#\u200b9" in read.loud
    assert "moved from packages/@\u200bacme/issue#\u200b7" in read.loud
    assert "Point.<=>" in read.code
    assert any("fixes #12" in text and "</details> <script>" in text for text in read.code)


def test_every_place_that_is_still_there_is_linked(shop: Repository) -> None:
    shop.write("prices.py", PRICES.replace("with_tax", "taxed"))
    shop.write("packages/@acme/issue#7 (old).py", "from prices import with_tax\n\nwith_tax(2)\n")
    shop.index()
    read = Comment(commented(shop, "--links", f"{BLOB}/"))
    assert f"{BLOB}/shop.py#L4" in read.links
    assert f"{BLOB}/packages/%40acme/issue%237%20%28old%29.py#L1" in read.links
    assert all(link.startswith(f"{BLOB}/") for link in read.links)
    items = assay(shop.root, "context", "--pr", "--links", BLOB, "--format", "json").json["items"]
    assert [one.get("link", "") for one in items if one["why"] == "deleted"] == [""]


@pytest.mark.parametrize("address", ["javascript:alert(1)", "https://forge/a)b", "https://forge/ b", "forge/owner"])
def test_an_address_that_would_break_out_of_a_link_is_refused(shop: Repository, address: str) -> None:
    shop.index()
    done = assay(shop.root, "context", "--pr", "--format", "comment", "--links", address)
    assert (done.code, done.out) == (2, "")
    assert "must be a URL like https://" in done.err


def test_links_without_a_pull_request_are_refused(shop: Repository) -> None:
    shop.index()
    assert "--links requires --pr" in assay(shop.root, "context", "tax", "--links", BLOB).err


def test_what_there_is_nothing_of_takes_one_line(shop: Repository) -> None:
    shop.write("NOTES.md", "nothing calls a note\n")
    shop.commit()
    shop.index()
    written = commented(shop)
    line = next(line for line in written.split("\n") if line.startswith("**Callers**"))
    assert "nothing outside the diff calls what it touches" in line
    assert "**Tests that reach it**" in line
    assert "**Neighbourhood**" in line
    assert written.count("<details") == 1


def test_nothing_changed_is_one_line_below_the_marker(shop: Repository) -> None:
    shop.index()
    marker, said = commented(shop, code=1).strip().split("\n")
    assert marker == MARKER
    assert said.startswith("### nothing changed since main (merge base ")


def test_a_comment_is_never_longer_than_a_forge_takes_and_says_what_it_left_out(shop: Repository) -> None:
    for number in range(30):
        lines = "\n".join(f"    with_tax({line})  # {'x' * 60}" for line in range(120))
        shop.write(f"module{number}.py", f"from prices import with_tax\n\n\ndef use{number}():\n{lines}\n")
    shop.commit()
    shop.git("branch", "-f", "main")
    shop.write("prices.py", PRICES.replace("1.2", "1.3"))
    shop.index()
    written = commented(shop, "--budget", "1000000")
    assert 40_000 < len(written) <= TAKEN
    read = Comment(written)
    assert {f"use{number}" for number in range(30)} <= set(read.code), "names before lines"
    small = commented(shop, "--budget", "600")
    assert count(small) <= 600
    assert "Left out for length: " in Comment(small).loud
