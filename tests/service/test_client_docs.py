"""The examples of docs/client.md and the files that docs/deploy.md quotes."""

import doctest
from pathlib import Path

import pytest

from tests.service.fake_server import FakeService, make_app, serving

ROOT = Path(__file__).parent.parent.parent
HERE = 'url = "http://127.0.0.1:8080"'


def test_the_examples_of_the_client_print_what_they_show():
    text = (ROOT / "docs" / "client.md").read_text()
    assert HERE in text
    with serving(make_app(FakeService())) as url:
        page = doctest.DocTestParser().get_doctest(
            text.replace(HERE, f'url = "{url}"'), {}, "client.md", None, 0
        )
        results = doctest.DocTestRunner().run(page)
    assert results.attempted > 10
    assert results.failed == 0


@pytest.mark.parametrize("name", ["Containerfile", "nginx.conf", "thrifty.service"])
def test_the_page_about_deployment_quotes_the_files(name):
    page = (ROOT / "docs" / "deploy.md").read_text()
    text = (ROOT / "deploy" / name).read_text()
    assert f"\n{text}```\n" in page, "docs/deploy.md quotes another text: copy it again"
