import io
import re

import pytest
from rich.console import Console

from hartley.attacks.finding import AttackEstimate
from hartley.attacks.homogeneity import Homogeneity
from hartley.report import Chart, Panel, Series
from hartley.reports import plot, write_html
from hartley.reports.pages.attack import (
    certainty,
    print_finding,
    render_finding,
)
from hartley.text import few_digits


class Made:
    """A finding of no attack in particular."""

    headline = "Eve <wins> 3 of 4 games."
    sentences = ("She saw [bold] & bright readings, 50 % of them.",)
    number = AttackEstimate(0.5, 0.12345, 0.98765, 0.95)
    synthetic = True

    def chart(self):
        line = Series("won", (1.0, 2.0), (0.5, 0.25))
        return Chart("A game", (Panel("people", "advantage", (line,)),), synthetic=self.synthetic)

    def to_dict(self):
        return {"headline": self.headline}


def test_a_page_shows_the_sentence_the_number_the_picture_and_its_numbers():
    page = render_finding(Made())
    assert "Eve &lt;wins&gt; 3 of 4 games." in page
    assert "between 0.1234 and 0.9877 with 95 % confidence" in page
    assert page.count("<svg") == 2  # wide and narrow
    assert ">0.25</td>" in page
    assert "synthetic data" in page
    assert not re.search(r"(src|href)=.http", page)  # it needs no other file


def test_a_page_of_real_data_does_not_say_synthetic():
    real = Made()
    real.synthetic = False
    assert "synthetic" not in render_finding(real)


@pytest.mark.slow
def test_any_finding_can_be_written_and_drawn_by_the_front_doors(tmp_path):
    finding = Homogeneity(["age"], ["ill"]).attack({"age": [1, 1, 2], "ill": ["a", "a", "b"]})
    path = write_html(finding, tmp_path / "page.html")
    assert finding.headline.replace("'", "&#39;") in path.read_text()
    assert plot(finding).axes[0].get_ylabel() == "share of people"


@pytest.mark.parametrize("width", [40, 110])
def test_a_terminal_shows_the_same_in_lines_that_fit(width):
    out = io.StringIO()
    print_finding(Made(), Console(file=out, width=width))
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert "A game (synthetic data)" in text
    assert "[bold] & bright" in " ".join(text.split())
    assert "0.5, between 0.1234 and 0.9877" in " ".join(text.split())


def test_numbers_are_shown_in_few_digits_and_intervals_outward():
    assert [few_digits(n) for n in (0.0, 1.0, 123456.7, 1 / 3, -1e-9)] == [
        "0", "1", "123,457", "0.3333", "-1e-09",
    ]  # fmt: skip
    assert certainty(AttackEstimate(2.0, 1.99999, 2.00001)) == "between 1.999 and 2.001 for certain"
    assert certainty(AttackEstimate(0.0, 0.0, 1.0)) == "between 0 and 1 for certain"
