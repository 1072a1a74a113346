"""A browser, and pages that notice when something acts that should not."""

import importlib.util

import pytest

from e2e import driving


def pytest_collection_modifyitems(items):
    """A browser takes its time."""
    for item in items:
        if "e2e" in item.path.parts:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def browser():
    if not driving.CHROMIUM or not importlib.util.find_spec("playwright"):
        pytest.skip("No browser here: Debian's package `chromium` and PyPI's `playwright` run these tests.")
    with driving.chromium() as browser:
        yield browser


@pytest.fixture
def page(browser):
    """A page of a fresh profile; by the end it must not have asked elsewhere, popped up or misbehaved."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(driving.PATIENCE * 1000)
    page = context.new_page()
    page.seen = driving.Watch(page)
    yield page
    seen = page.seen.everything()
    context.close()
    assert seen == []
