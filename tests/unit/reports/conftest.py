from html.parser import HTMLParser

import pytest

VOID = {"meta", "br", "img", "input", "link", "hr", "path", "use", "image", "stop"}


class Outline(HTMLParser):
    """Collect what a page links to and shows, and check that its tags are nested."""

    def __init__(self):
        super().__init__()
        self.open, self.links, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href") and value]

    def handle_startendtag(self, _tag, attrs):
        self.links += [value for name, value in attrs if name in ("src", "href") and value]

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
