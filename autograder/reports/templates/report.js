// Sorting and searching the students' table. Without this script all of the page is there.
"use strict";
(() => {
  const table = document.getElementById("students-table")?.closest("table");
  if (!table) return;
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const text = (row, at) => row.cells[at].innerText.trim();
  const number = (row, at) => {
    const found = parseFloat(text(row, at).replace("−", "-"));
    return Number.isNaN(found) ? -1 : found;
  };
  const rows = [...body.rows];  // as they came: by last name
  const place = new Map(rows.map((row, i) => [row, i]));

  let by = 0, down = false;
  const sort = (at) => {
    const figures = heads[at].classList.contains("n");
    down = at === by ? !down : figures;  // the best first, and names from A
    by = at;
    const compare = (a, b) =>
      at === 0 ? place.get(a) - place.get(b)
      : figures ? number(a, at) - number(b, at)
      : text(a, at).localeCompare(text(b, at));
    body.append(...rows.toSorted((a, b) => (down ? -1 : 1) * compare(a, b) || place.get(a) - place.get(b)));
    heads.forEach((head, i) => {
      if (i === at) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  };
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort by this column";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(at));
    head.append(button);
  });
  heads[0].setAttribute("aria-sort", "ascending");

  const tools = document.createElement("div");
  tools.className = "tools";
  const tool = (label, element) => {
    const around = document.createElement("label");
    around.append(label, element);
    tools.append(around);
    element.addEventListener("input", show);
    return element;
  };
  const said = document.createElement("span");
  said.setAttribute("role", "status");
  const words = tool("Find a student", document.createElement("input"));
  words.type = "search";
  const at = heads.findIndex((head) => head.innerText.trim() === "Section");
  let section;
  if (at > 0) {
    section = tool("Section", document.createElement("select"));
    section.append(new Option("all", ""));
    for (const name of new Set(rows.map((row) => text(row, at)))) if (name) section.append(new Option(name));
  }
  function show() {
    const wanted = plain(words.value).split(/\s+/);
    let shown = 0;
    for (const row of rows) {
      const name = plain(row.cells[0].innerText);
      row.hidden = !wanted.every((word) => name.includes(word))
        || Boolean(section && section.value && text(row, at) !== section.value);
      shown += !row.hidden;
    }
    said.textContent = shown === rows.length ? "" : `${shown} of ${rows.length} students`;
  }
  tools.append(said);
  document.getElementById("students-box").before(tools);
})();
