"use strict";
(async () => {
  const byId = (id) => document.getElementById(id);
  const status = byId("status");
  const SIZE = matchMedia("(max-width: 45rem)").matches ? 10 : 20;

  // Crawled text goes into the page as text, never as markup.
  const make = (name, content, properties = {}) => {
    const element = Object.assign(document.createElement(name), properties);
    if (content !== undefined) element.append(content);
    return element;
  };
  const button = (label, act, properties = {}) => {
    const made = make("button", label, { type: "button", ...properties });
    made.addEventListener("click", act);
    return made;
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
  const packed = await unpack("rows");
  const { runs, block, command } = packed;
  const originals = packed.originals.map(([item, url, first, title]) => ({ item, url, first, title }));
  const NAMES = "url title original similarity about seen action run detail fields id site distance";
  const rows = packed.rows.map((values) => {
    const row = {};
    NAMES.split(" ").forEach((name, place) => (row[name] = values[place]));
    row.original = originals[row.original];
    return row;
  });

  const time = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
  const number = (value) => value.toLocaleString("en");
  const similarity = (row) => `${row.about}${row.similarity.toFixed(2)}`;
  const differing = (row) => row.fields.join(", ");

  // The filters and the order

  const columns = {
    title: (row) => row.title || row.url,
    original: (row) => row.original.url,
    similarity: (row) => row.similarity,
    fields: differing,
    seen: (row) => row.seen,
    action: (row) => row.action,
  };
  const state = { column: "similarity", direction: 1, group: null, start: 0 };
  let found = rows;

  const names = new Map(runs);
  const choices = {
    action: (row) => [row.action],
    site: (row) => [row.site],
    field: (row) => row.fields,
    run: (row) => (names.has(row.run) ? [names.get(row.run)] : []),
  };
  for (const [id, of] of Object.entries(choices)) {
    const counts = new Map();
    for (const row of rows) for (const one of of(row)) counts.set(one, (counts.get(one) ?? 0) + 1);
    const ordered = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 500);
    const option = ([value, count]) => make("option", `${value} (${number(count)})`, { value });
    byId(id).replaceChildren(make("option", "all", { value: "" }), ...ordered.map(option));
    byId(id).parentElement.hidden = counts.size < (id === "field" ? 1 : 2);
  }

  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const choose = () => {
    const query = byId("query").value.trim().toLowerCase();
    const least = Number(byId("least").value || 0);
    const most = Number(byId("most").value || 1);
    const wanted = Object.entries(choices)
      .filter(([id]) => byId(id).value)
      .map(([id, of]) => [byId(id).value, of]);
    const has = (text) => text.toLowerCase().includes(query);
    found = rows.filter(
      (row) =>
        (state.group === null || row.original === state.group) &&
        row.similarity >= least &&
        row.similarity <= most &&
        wanted.every(([value, of]) => of(row).includes(value)) &&
        (!query || has(row.url) || has(row.title) || has(row.original.url)),
    );
    const value = columns[state.column];
    found.sort((a, b) => state.direction * compare(value(a), value(b)) || a.seen - b.seen);
    state.start = 0;
    draw();
  };

  const show = (changes) => {
    byId("all").click();
    Object.assign(state, changes);
    choose();
    byId("decisions").scrollIntoView();
    byId("decisions").focus();
  };

  // A row and its details

  const link = (url) => {
    const text = make("bdi", url);
    // Only web pages, and only URLs that are shown in full, without escapes.
    if (!/^https?:\/\/[^\\]+$/i.test(url) || url.endsWith("…")) return text;
    return make("a", text, { href: url, rel: "noreferrer noopener" });
  };

  const titled = (title, url) => {
    const both = document.createDocumentFragment();
    if (title) both.append(make("bdi", title, { className: "title" }), document.createElement("br"));
    both.append(link(url));
    return both;
  };

  // Long text that is the same on both sides is folded.
  const unchanged = (text, ...sides) => {
    const head = text.slice(0, 200).replace(/\S{0,40}$/u, "");
    const tail = text.slice(-200).replace(/^\S{0,40}/u, "");
    if (text.length <= 600) {
      for (const side of sides) side.append(text);
      return;
    }
    const rest = text.slice(head.length, text.length - tail.length);
    const folds = sides.map((side) => {
      const open = () => folds.forEach((one) => one.replaceWith(rest));
      const fold = button(`${number(rest.length)} characters the same`, open, { className: "fold" });
      side.append(head, fold, tail);
      return fold;
    });
  };

  const side = (title, url, text) => {
    const heading = make("h4", `${title}: `);
    heading.append(make("bdi", url));
    text.setAttribute("role", "region");
    text.setAttribute("aria-label", title);
    const made = make("div", heading);
    made.append(text);
    return made;
  };

  const difference = (row, original, steps) => {
    // Python counts characters, JavaScript units of UTF-16.
    const first = Array.from(original);
    const part = (from, length) => first.slice(from, from + length).join("");
    const before = make("div", undefined, { className: "text", tabIndex: 0 });
    const after = make("div", undefined, { className: "text", tabIndex: 0 });
    let at = 0;
    for (const [copied, removed, added] of steps) {
      unchanged(part(at, copied), before, after);
      at += copied;
      if (removed) before.append(make("del", part(at, removed)));
      if (added) after.append(make("ins", added));
      at += removed;
    }
    const pair = make("div", undefined, { className: "texts" });
    pair.append(
      side("Stored item", row.original.url, before),
      side("This item", row.url, after),
    );
    return pair;
  };

  const MARKS = {
    same: "the same",
    differs: "another value",
    missing: "no such field",
    "": "not compared as a field",
  };
  const table = (heads, lines) => {
    const head = make("tr");
    head.append(...heads.map((name) => make("th", name, { scope: "col" })));
    const body = make("tbody");
    body.append(...lines);
    const made = make("table", make("thead", head));
    made.append(body);
    return made;
  };
  const fieldsTable = (values) => {
    const differs = ([, , mark]) => mark === "differs" || mark === "missing";
    return table(
      ["field", "this item", "stored item"],
      [...values.filter(differs), ...values.filter((one) => !differs(one))].map(([name, value, mark]) => {
        const line = make("tr", make("th", make("bdi", name), { scope: "row" }));
        const shown = value.length > 120 ? `${value.slice(0, 120).replace(/\S{0,40}$/u, "")}…` : value;
        const words = differs([name, value, mark]) ? make("ins", MARKS[mark]) : MARKS[mark];
        line.append(make("td", make("bdi", shown)), make("td", words));
        return line;
      }),
    );
  };

  const restore = (row) => {
    const text = `${command}${row.id} -o back.jsonl`;
    const code = make("code", text);
    const copied = make("span", "", { role: "status" });
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(text);
        copied.textContent = "copied";
      } catch {
        getSelection().selectAllChildren(code);
        copied.textContent = "selected";
      }
    };
    const line = make("p", "To restore it: ", { className: "restore" });
    line.append(code, " ", button("Copy", copy), " ", copied);
    return line;
  };

  const blocks = new Map();
  const open = async (row, cell) => {
    const facts = [`similarity ${similarity(row)}`];
    if (row.distance !== null) facts.push(`${row.distance} ${row.distance === 1 ? "bit" : "bits"} apart`);
    facts.push(`run ${row.run}`, `seen ${time(row.seen)} UTC`);
    if (row.original.first !== null) facts.push(`original stored ${time(row.original.first)} UTC`);
    cell.append(make("p", `${facts.join(", ")}. `));
    if (row.detail < 0) {
      cell.append(make("p", "This file has no comparison of this item."));
    } else {
      const id = `block${Math.floor(row.detail / block)}`;
      if (!blocks.has(id)) blocks.set(id, unpack(id));
      const { texts, details } = await blocks.get(id);
      const [item, steps, values] = details[row.detail];
      if (values.length) cell.append(fieldsTable(values));
      if (steps === null) cell.append(make("p", "The index has no texts of both."));
      else if (steps.length === 1 && !steps[0][1] && !steps[0][2])
        cell.append(make("p", "The texts are equal."));
      if (steps !== null) cell.append(difference(row, texts[item], steps));
    }
    if (command && row.id) cell.append(restore(row));
    const group = rows.filter((one) => one.original === row.original).length;
    if (group > 1)
      cell.append(button(`Show all ${number(group)} similar to it`, () => show({ group: row.original })));
  };

  const toggle = async (opener, row, line) => {
    const isOpen = opener.getAttribute("aria-expanded") === "true";
    opener.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) {
      line.nextSibling.remove();
      return;
    }
    const cell = make("td", undefined, { colSpan: 7, className: "wide-cell" });
    line.after(make("tr", cell));
    await open(row, cell);
  };

  const drawn = (row) => {
    const line = make("tr");
    const opener = button("Compare", () => toggle(opener, row, line));
    opener.setAttribute("aria-expanded", "false");
    const name = (row.title || row.url).slice(0, 200);
    opener.setAttribute("aria-label", `Compare ${name} with the stored item`);
    const cell = (head, content, className = "") => {
      const made = make("td", content, { className });
      made.dataset.name = head;
      return made;
    };
    line.append(
      make("td", opener),
      cell("Item", titled(row.title, row.url), "url"),
      cell("Similar to", titled(row.original.title, row.original.url), "url"),
      cell("Similarity", similarity(row)),
      cell("Differs in", make("bdi", differing(row))),
      cell("Seen", time(row.seen)),
      cell("Outcome", row.action),
    );
    return line;
  };

  const draw = () => {
    for (const header of document.querySelectorAll("#table th[data-column]")) {
      if (header.dataset.column !== state.column) header.removeAttribute("aria-sort");
      else header.setAttribute("aria-sort", state.direction > 0 ? "ascending" : "descending");
    }
    byId("body").replaceChildren(...found.slice(state.start, state.start + SIZE).map(drawn));
    const end = Math.min(state.start + SIZE, found.length);
    byId("place").textContent = found.length ? `${number(state.start + 1)} to ${number(end)}` : "";
    const all = `${number(rows.length)} ${rows.length === 1 ? "decision" : "decisions"}`;
    const group = state.group === null ? "" : `, similar to ${state.group.url}`;
    status.textContent = found.length === rows.length ? all : `${number(found.length)} of ${all}${group}`;
    byId("back").disabled = state.start === 0;
    byId("next").disabled = end >= found.length;
  };

  // The shown rows as a file

  const HEADS = "url title original similarity exact distance differs seen run site outcome id";
  const exported = () =>
    found.map((row) => ({
      url: row.url,
      title: row.title,
      original: row.original.url,
      similarity: row.similarity,
      exact: row.about === "",
      distance: row.distance,
      differs: row.fields,
      seen: `${time(row.seen).replace(" ", "T")}Z`,
      run: row.run,
      site: row.site,
      outcome: row.action,
      id: row.id,
    }));
  const quoted = (value) => {
    const text = Array.isArray(value) ? value.join(" ") : String(value ?? "");
    // Spreadsheets would run some crawled texts as formulas.
    return `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  };
  const csv = () => {
    const names = HEADS.split(" ");
    const lines = exported().map((row) => names.map((name) => quoted(row[name])).join(","));
    return `\ufeff${[names.join(","), ...lines].join("\r\n")}\r\n`;
  };
  const save = (name, type, text) => {
    const href = URL.createObjectURL(new Blob([text], { type }));
    make("a", undefined, { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  };
  byId("csv").addEventListener("click", () => save("decisions.csv", "text/csv", csv()));
  byId("json").addEventListener("click", () =>
    save("decisions.json", "application/json", JSON.stringify(exported(), null, 1)),
  );

  // Buttons

  const turn = (step) => {
    state.start += step;
    draw();
    byId("decisions").scrollIntoView();
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
  byId("filters").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(choose, 150);
  });
  byId("all").addEventListener("click", () => {
    for (const input of document.querySelectorAll("#filters input, #filters select")) input.value = "";
    state.group = null;
    choose();
  });
  for (const opener of document.querySelectorAll("button.group")) {
    const group = originals.find((original) => original.item === opener.value);
    opener.disabled = group === undefined;
    opener.addEventListener("click", () => show({ group }));
  }
  for (const opener of document.querySelectorAll("button.field")) {
    opener.addEventListener("click", () => {
      show({});
      byId("field").value = opener.value;
      choose();
    });
  }
  choose();
})();
