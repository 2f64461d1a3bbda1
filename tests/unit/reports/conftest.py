import io
from html.parser import HTMLParser

import pytest
from rich.console import Console

from hartley.reports.render import print_report

VOID = {"meta", "br", "img", "input", "link", "hr", "path", "use", "image", "stop"}
LINKS = "src", "href", "xlink:href"


class Outline(HTMLParser):
    """Collect where else a page links to and what it shows, and check that its tags are nested."""

    def __init__(self):
        super().__init__()
        self.open, self.links, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, _tag, attrs):
        links = [value for name, value in attrs if name in LINKS and value]
        self.links += [link for link in links if not link.startswith("#")]

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


@pytest.fixture(scope="session")
def outline_of():
    def read(page):
        outline = Outline()
        outline.feed(page)
        return outline

    return read


@pytest.fixture(scope="session")
def printed():
    """Return what a terminal of some width shows of a report."""

    def in_terminal(report, width=110, **console):
        out = io.StringIO()
        print_report(report, Console(file=out, width=width, **console))
        return out.getvalue()

    return in_terminal
