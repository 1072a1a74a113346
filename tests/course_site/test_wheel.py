"""Wheels of the site, without a browser: a browser keeps an old wheel if the name is the same."""

import zipfile

from course_site.site import _find_dependencies, _write_wheel, make_index_page


def write_wheel(folder, files):
    folder.mkdir()
    _write_wheel(folder, "attention-labs", files, ["numpy"])
    (path,) = folder.iterdir()
    return path


def test_another_content_gets_another_name_and_the_same_content_the_same(tmp_path):
    first = write_wheel(tmp_path / "a", {"lab/__init__.py": b"SIDE = 3\n"})
    same = write_wheel(tmp_path / "b", {"lab/__init__.py": b"SIDE = 3\n"})
    changed = write_wheel(tmp_path / "c", {"lab/__init__.py": b"SIDE = 4\n"})
    renamed = write_wheel(tmp_path / "d", {"lab/other.py": b"SIDE = 3\n"})
    assert first.name == same.name
    assert len({first.name, changed.name, renamed.name}) == 3
    assert first.name.startswith("attention_labs-") and first.name.endswith("-py3-none-any.whl")


def test_a_wheel_holds_its_files_and_says_what_it_needs(tmp_path):
    path = write_wheel(tmp_path / "a", {"lab/__init__.py": b"SIDE = 3\n"})
    with zipfile.ZipFile(path) as wheel:
        assert wheel.read("lab/__init__.py") == b"SIDE = 3\n"
        (metadata,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
        assert b"Requires-Dist: numpy\n" in wheel.read(metadata)


def test_a_courses_title_is_text_on_the_first_page():
    page = make_index_page("Sets <script>alert(1)</script> & maps")
    assert "<title>Sets &lt;script&gt;alert(1)&lt;/script&gt; &amp; maps</title>" in page
    assert "alert(1)</script>" not in page


def test_a_dependency_is_found_under_any_spelling_of_its_name():
    packages = {
        "ipython": {"depends": ["prompt_toolkit", "Jinja2"]},
        "prompt-toolkit": {"depends": []},
        "jinja2": {"depends": []},
    }
    assert sorted(_find_dependencies(packages, ["ipython"])) == [
        "ipython",
        "jinja2",
        "prompt-toolkit",
    ]
