"use strict";
(async () => {
  const SIZE = 50;
  const byId = (id) => document.getElementById(id);
  const status = byId("status");

  // Crawled text goes into the page as text, never as markup.
  const make = (name, text, properties = {}) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    return Object.assign(element, properties);
  };

  const unpack = async (id) => {
    const bytes = Uint8Array.from(atob(byId(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  };

  if (typeof DecompressionStream === "undefined") {
    status.textContent = "This browser is too old to unpack the table.";
    return;
  }
  const { rows, originals, block } = await unpack("rows");

  const time = (seconds) =>
    seconds === null ? "" : new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
  const number = (value) => value.toLocaleString("en");

  const columns = {
    url: (row) => row[0],
    original: (row) => originals[row[1]][0],
    similarity: (row) => row[7],
    distance: (row) => row[2],
    first: (row) => originals[row[1]][1] ?? 0,
    met: (row) => row[3],
    action: (row) => row[4],
  };
  const state = { column: "similarity", direction: 1, query: "", start: 0 };
  let found = rows;

  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const choose = () => {
    const query = state.query.toLowerCase();
    found = rows.filter(
      (row) =>
        !query ||
        row[0].toLowerCase().includes(query) ||
        originals[row[1]][0].toLowerCase().includes(query),
    );
    const value = columns[state.column];
    found.sort((a, b) => state.direction * compare(value(a), value(b)) || a[3] - b[3]);
    state.start = 0;
    draw();
  };

  const link = (url) => {
    const text = make("bdi", url);
    // Only what is a page, and was neither cut nor has characters that are shown as their escapes.
    if (!/^https?:\/\/[^\\]+$/i.test(url) || url.endsWith("…")) return text;
    const anchor = make("a", undefined, { href: url, rel: "noreferrer noopener" });
    anchor.append(text);
    return anchor;
  };

  // What is the same in both is folded where it is long: the changes are what to look at.
  const unchanged = (letters, ...sides) => {
    if (letters.length <= 600) {
      for (const side of sides) side.append(letters.join(""));
      return;
    }
    const rest = letters.slice(200, -200).join("");
    const folds = sides.map((side) => {
      const label = `${number(letters.length - 400)} characters the same`;
      const fold = make("button", label, { type: "button", className: "fold" });
      side.append(letters.slice(0, 200).join(""), fold, letters.slice(-200).join(""));
      return fold;
    });
    for (const fold of folds) {
      fold.addEventListener("click", () => folds.forEach((one) => one.replaceWith(rest)));
    }
  };

  const blocks = new Map();
  const texts = async (place) => {
    const id = `block${Math.floor(place / block)}`;
    if (!blocks.has(id)) blocks.set(id, unpack(id));
    const { originals: known, changes } = await blocks.get(id);
    const [claim, steps] = changes[place];
    // Python counts characters, JavaScript units of UTF-16.
    const first = Array.from(known[claim]);
    const before = make("div", undefined, { className: "text", tabIndex: 0 });
    const after = make("div", undefined, { className: "text", tabIndex: 0 });
    let at = 0;
    for (const [copied, removed, added] of steps) {
      unchanged(first.slice(at, at + copied), before, after);
      at += copied;
      if (removed) before.append(make("del", first.slice(at, at + removed).join("")));
      if (added) after.append(make("ins", added));
      at += removed;
    }
    return [before, after];
  };

  const open = async (row, cell) => {
    if (row[6] < 0) {
      cell.append(make("p", "The texts of this one are not in this file."));
      return;
    }
    const pair = make("div", undefined, { className: "texts" });
    const [before, after] = await texts(row[6]);
    for (const [title, url, text] of [
      ["Original", originals[row[1]][0], before],
      ["Near-duplicate", row[0], after],
    ]) {
      const side = make("div");
      const heading = make("h4", `${title}: `);
      heading.append(make("bdi", url));
      text.setAttribute("role", "region");
      text.setAttribute("aria-label", title);
      side.append(heading, text);
      pair.append(side);
    }
    cell.append(pair);
  };

  const toggle = async (button, row, line) => {
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) {
      line.nextSibling.remove();
      return;
    }
    const detail = make("tr");
    const cell = make("td", undefined, { colSpan: 8, className: "wide-cell" });
    detail.append(cell);
    line.after(detail);
    await open(row, cell);
  };

  const drawn = (row) => {
    const line = make("tr");
    const button = make("button", "Compare", { type: "button" });
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", `Compare ${row[0].slice(0, 200)} with its original`);
    button.addEventListener("click", () => toggle(button, row, line));
    const cell = (name, content, className = "") => {
      const made = make("td", undefined, { className });
      made.dataset.name = name;
      made.append(content);
      return made;
    };
    const opener = make("td");
    opener.append(button);
    line.append(
      opener,
      cell("URL", link(row[0]), "url"),
      cell("Original", link(originals[row[1]][0]), "url"),
      cell("Similarity", `${row[8] ? "about " : ""}${row[7].toFixed(2)}`),
      cell("Distance", String(row[2])),
      cell("First seen", time(originals[row[1]][1])),
      cell("Met", time(row[3])),
      cell("Action", row[4]),
    );
    return line;
  };

  const draw = () => {
    for (const header of document.querySelectorAll("#table th[data-column]")) {
      if (header.dataset.column !== state.column) header.removeAttribute("aria-sort");
      else
        header.setAttribute("aria-sort", state.direction > 0 ? "ascending" : "descending");
    }
    byId("body").replaceChildren(...found.slice(state.start, state.start + SIZE).map(drawn));
    const end = Math.min(state.start + SIZE, found.length);
    byId("place").textContent = found.length ? `${number(state.start + 1)} to ${number(end)}` : "";
    status.textContent =
      found.length === rows.length
        ? `${number(rows.length)} near-duplicates`
        : `${number(found.length)} of ${number(rows.length)} near-duplicates`;
    byId("back").disabled = state.start === 0;
    byId("next").disabled = end >= found.length;
  };

  const turn = (step) => {
    state.start += step;
    draw();
    byId("drops").scrollIntoView();
  };
  byId("back").addEventListener("click", () => turn(-SIZE));
  byId("next").addEventListener("click", () => turn(SIZE));
  for (const header of document.querySelectorAll("#table th[data-column]")) {
    header.firstElementChild.addEventListener("click", () => {
      const { column } = header.dataset;
      state.direction = state.column === column ? -state.direction : 1;
      state.column = column;
      choose();
    });
  }
  let waiting = 0;
  const search = () => {
    state.query = byId("query").value.trim();
    choose();
  };
  byId("query").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 150);
  });
  for (const button of document.querySelectorAll("button.search")) {
    button.addEventListener("click", () => {
      byId("query").value = button.value;
      search();
      byId("drops").scrollIntoView();
      byId("query").focus();
    });
  }
  choose();
})();
