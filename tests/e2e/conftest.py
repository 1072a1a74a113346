"""Fixtures: a browser, and pages that fail a test if hostile code runs."""

import pytest

from e2e import driving


def pytest_collection_modifyitems(items):
    """Mark all browser tests as long."""
    for item in items:
        if "e2e" in item.path.parts:
            item.add_marker(pytest.mark.long)


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
