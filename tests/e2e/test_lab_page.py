"""The page that `make lab` opens: the labs in the order of the course, and nothing that is an instructor's."""

import shutil

import pytest

from autograder.core.course import find_course
from e2e.driving import BIN, ROOT, SERVER_OPTIONS, Notebook, environment, jupyterlab, serving

LABS = find_course(ROOT).labs


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("lab-page")


@pytest.fixture(scope="module")
def env(home):
    """A person's environment, without the settings by which the other tests keep pop-ups away."""
    variables = environment(home)
    shutil.rmtree(home / "jupyter" / "labconfig")
    return variables


@pytest.fixture(scope="module")
def server(browser, home, env):
    options = f"JUPYTER_OPTIONS={' '.join(SERVER_OPTIONS)}"
    command = [
        "make",
        "-s",
        "-o",
        ".venv/ready-lab",
        "lab",
        f"BIN={BIN}",
        f"WORK={home / 'work'}",
        options,
    ]
    with serving(command, home, env, ROOT) as server:
        yield server


def menus(page, address):
    page.goto(address)
    page.wait_for_selector(".lm-MenuBar-itemLabel >> text=Help")
    page.wait_for_function("window.jupyterapp?.restored")
    page.wait_for_timeout(1000)  # menus of extensions come after the others
    return page.locator(".lm-MenuBar-itemLabel").all_inner_texts()


def listing(page):
    return page.locator(".jp-DirListing-itemText").all_inner_texts()


def test_the_address_stands_alone_where_no_browser_opens(server, home):
    log_lines = (home / "server.log").read_text().splitlines()
    assert log_lines == [
        f"The labs are at {server.address}lab/tree/README.ipynb?token={server.token}",
        "Ctrl+C here ends JupyterLab.",
    ]


def test_a_student_sees_the_labs_in_order_and_nothing_of_an_instructors(page, server):
    page.seen.allowed += [server.address, server.address.replace("http", "ws")]
    menu_entries = menus(page, server.url("lab/tree/README.ipynb"))
    assert menu_entries == ["File", "Edit", "View", "Run", "Kernel", "Tabs", "Settings", "Help"]
    page.wait_for_selector(".jp-NotebookPanel .jp-RenderedHTMLCommon h1")
    assert page.locator(".Toastify__toast").count() == 0
    assert page.get_by_text("Create Assignment").count() == 0
    assert page.locator(".jp-NotebookPanel-toolbar").get_by_text("Validate").count() == 0
    assert listing(page) == [
        *(f"{i} {lab}" for i, lab in enumerate(LABS, 1)),
        "README.ipynb",
        "words.ipynb",
    ]


def test_a_notebook_needs_no_saving_before_it_is_edited(page, server):
    """When the kernel starts, JupyterLab writes the kernel's description into the notebook."""
    page.seen.allowed += [server.address, server.address.replace("http", "ws")]
    Notebook.at(page, server, "README.ipynb")
    model = "window.jupyterapp.shell.currentWidget.context.model"
    page.wait_for_function(f"{model}.getMetadata('language_info').version")
    assert page.evaluate(f"{model}.dirty") is False
    page.evaluate(f"{model}.cells.get(0).sharedModel.setSource('edited')")
    assert page.evaluate(f"{model}.dirty") is True


def test_a_folder_that_is_shown_with_a_number_opens_and_has_its_own_name(page, server, home):
    page.seen.allowed += [server.address, server.address.replace("http", "ws")]
    menus(page, server.url("lab/tree/README.ipynb"))
    page.locator(".jp-DirListing-item", has_text=LABS[1]).dblclick()
    page.locator(".jp-DirListing-item", has_text=f"{LABS[1]}.ipynb").dblclick()
    page.wait_for_function(
        "path => window.jupyterapp.shell.currentWidget?.context?.path === path",
        arg=f"{LABS[1]}/{LABS[1]}.ipynb",
    )
    assert (home / "work" / LABS[1] / f"{LABS[1]}.ipynb").is_file()


@pytest.fixture
def screen(browser, server):
    """Opens a lab in a window of this width, on a system that is light or dark."""
    pages = []

    def open_folder(width, scheme):
        pages.append(
            browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme),
        )
        return Notebook.at(pages[-1], server, f"{LABS[4]}/{LABS[4]}.ipynb")

    yield open_folder
    for page in pages:
        page.close()


def test_a_narrow_window_is_the_labs_and_where_the_system_is_dark_so_is_jupyterlab(screen):
    phone = screen(390, "dark")
    phone.page.wait_for_function("jupyterapp.shell.leftCollapsed")
    assert phone.page.evaluate("document.body.dataset.jpThemeName") == "JupyterLab Dark"
    assert phone.panel.bounding_box()["width"] > 300
    text = phone.panel.locator(".jp-RenderedMarkdown").first.bounding_box()
    assert text["width"] > 260
    prose = phone.panel.locator(".jp-RenderedMarkdown")
    assert not any(prose.evaluate_all("all => all.map(e => e.scrollWidth > e.clientWidth + 1)"))
    phone.page.wait_for_function(
        """selector => {
            const wide = [...document.querySelectorAll(selector)].filter(e => e.scrollWidth > e.clientWidth + 1);
            return wide.length && wide.every(e => e.tabIndex >= 0);
        }""",
        arg=".jp-RenderedHTMLCommon, .jp-RenderedHTMLCommon :is(table, mjx-container)",
    )
    phone.page.set_viewport_size({"width": 1280, "height": 900})
    phone.page.wait_for_function("!jupyterapp.shell.leftCollapsed")

    half = screen(700, "light")
    half.page.wait_for_function("jupyterapp.shell.leftCollapsed")
    assert half.page.evaluate("document.body.dataset.jpThemeName") == "JupyterLab Light"
    assert half.panel.bounding_box()["width"] > 600
    assert half.too_wide() == []


def test_an_instructors_menu_would_be_noticed(page, tmp_path, env):
    own = {**env, "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}
    with jupyterlab(tmp_path, tmp_path, own) as plain:
        page.seen.allowed += [plain.address, plain.address.replace("http", "ws")]
        assert "Nbgrader" in menus(page, plain.url("lab"))
