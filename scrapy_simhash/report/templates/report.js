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
  const { sites, actions, fields, runs, block, command } = packed;
  const originals = packed.originals.map(([claim, url, first, title]) => ({ claim, url, first, title }));
  const NAMES = "url title original similarity about met action run detail fields id site distance";
  const rows = packed.rows.map((values) => {
    const row = {};
    NAMES.split(" ").forEach((name, place) => (row[name] = values[place]));
    row.original = originals[row.original];
    return row;
  });

  const time = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
  const number = (value) => value.toLocaleString("en");
  const similarity = (row) => `${row.about}${row.similarity.toFixed(2)}`;
  const differing = (row) => row.fields.map((place) => fields[place]).join(", ");

  // The filters and the order

  const columns = {
    title: (row) => row.title || row.url,
    original: (row) => row.original.url,
    similarity: (row) => row.similarity,
    fields: differing,
    met: (row) => row.met,
    action: (row) => actions[row.action],
  };
  const state = { column: "similarity", direction: 1, group: null, start: 0 };
  let found = rows;

  const choices = {
    action: [actions, (row) => [row.action]],
    site: [sites, (row) => [row.site]],
    field: [fields, (row) => row.fields],
    run: [runs.map((run) => run.name), null],
  };
  const places = new Map(runs.map((run, place) => [run.id, place]));
  choices.run[1] = (row) => (places.has(row.run) ? [places.get(row.run)] : []);
  for (const [id, [names, of]] of Object.entries(choices)) {
    const counts = new Map();
    for (const row of rows) for (const one of of(row)) counts.set(one, (counts.get(one) ?? 0) + 1);
    const ordered = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 500);
    const label = ([place, count]) =>
      make("option", `${names[place]} (${number(count)})`, { value: String(place) });
    byId(id).replaceChildren(make("option", "all", { value: "" }), ...ordered.map(label));
    byId(id).parentElement.hidden = counts.size < 2 && id !== "field" ? true : !counts.size;
  }

  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const choose = () => {
    const query = byId("query").value.trim().toLowerCase();
    const least = Number(byId("least").value || 0);
    const most = Number(byId("most").value || 1);
    const wanted = Object.entries(choices)
      .filter(([id]) => byId(id).value)
      .map(([id, [, of]]) => [Number(byId(id).value), of]);
    const has = (text) => text.toLowerCase().includes(query);
    found = rows.filter(
      (row) =>
        (state.group === null || row.original === state.group) &&
        row.similarity >= least &&
        row.similarity <= most &&
        wanted.every(([place, of]) => of(row).includes(place)) &&
        (!query || has(row.url) || has(row.title) || has(row.original.url)),
    );
    const value = columns[state.column];
    found.sort((a, b) => state.direction * compare(value(a), value(b)) || a.met - b.met);
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

  // A row, and what is shown of it

  const link = (url) => {
    const text = make("bdi", url);
    // Only what is a page, and was neither cut nor has characters that are shown as their escapes.
    if (!/^https?:\/\/[^\\]+$/i.test(url) || url.endsWith("…")) return text;
    return make("a", text, { href: url, rel: "noreferrer noopener" });
  };

  const titled = (title, url) => {
    const both = document.createDocumentFragment();
    if (title) both.append(make("bdi", title, { className: "title" }), document.createElement("br"));
    both.append(link(url));
    return both;
  };

  // What is the same in both is folded where it is long: the changes are what to look at.
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
      side("Stored", row.original.url, before),
      side(actions[row.action] === "kept" ? "Kept beside it" : "Met", row.url, after),
    );
    return pair;
  };

  const MARKS = {
    same: "the same",
    differs: "another value",
    missing: "no such field",
    "": "compared as text, or not at all",
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
  const fieldsTable = (said) => {
    const differs = ([, , mark]) => mark === "differs" || mark === "missing";
    return table(
      ["field", "what was met says", "what is stored says"],
      [...said.filter(differs), ...said.filter((one) => !differs(one))].map(([name, value, mark]) => {
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
    const line = make("p", "To have it back: ", { className: "restore" });
    line.append(code, " ", button("Copy", copy), " ", copied);
    return line;
  };

  const blocks = new Map();
  const open = async (row, cell) => {
    const facts = [`similarity ${similarity(row)}`];
    if (row.distance !== null) facts.push(`${row.distance} ${row.distance === 1 ? "bit" : "bits"} apart`);
    facts.push(`run ${row.run}`, `met ${time(row.met)} UTC`);
    if (row.original.first !== null) facts.push(`stored ${time(row.original.first)} UTC`);
    cell.append(make("p", `${facts.join(", ")}. `));
    if (row.detail < 0) {
      cell.append(make("p", "Neither its texts nor its fields are in this file."));
    } else {
      const id = `block${Math.floor(row.detail / block)}`;
      if (!blocks.has(id)) blocks.set(id, unpack(id));
      const { texts, details } = await blocks.get(id);
      const [claim, steps, said] = details[row.detail];
      if (said.length) cell.append(fieldsTable(said));
      if (steps === null) cell.append(make("p", "The texts are kept no longer, or there are none."));
      else if (steps.length === 1 && !steps[0][1] && !steps[0][2])
        cell.append(make("p", "The texts are equal."));
      if (steps !== null) cell.append(difference(row, texts[claim], steps));
    }
    if (command && row.id) cell.append(restore(row));
    const group = rows.filter((one) => one.original === row.original).length;
    if (group > 1)
      cell.append(button(`Show all ${number(group)} near it`, () => show({ group: row.original })));
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
    opener.setAttribute("aria-label", `Compare ${name} with what it is near`);
    const cell = (head, content, className = "") => {
      const made = make("td", content, { className });
      made.dataset.name = head;
      return made;
    };
    line.append(
      make("td", opener),
      cell("Met", titled(row.title, row.url), "url"),
      cell("Near", titled(row.original.title, row.original.url), "url"),
      cell("Similarity", similarity(row)),
      cell("Differs in", make("bdi", differing(row))),
      cell("At", time(row.met)),
      cell("Done", actions[row.action]),
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
    const near = state.group === null ? "" : `, those near ${state.group.url}`;
    status.textContent = found.length === rows.length ? all : `${number(found.length)} of ${all}${near}`;
    byId("back").disabled = state.start === 0;
    byId("next").disabled = end >= found.length;
  };

  // What is shown, as a file

  const HEADS = "url title original similarity exact distance differs met run site done id";
  const exported = () =>
    found.map((row) => ({
      url: row.url,
      title: row.title,
      original: row.original.url,
      similarity: row.similarity,
      exact: row.about === "",
      distance: row.distance,
      differs: row.fields.map((place) => fields[place]),
      met: `${time(row.met).replace(" ", "T")}Z`,
      run: row.run,
      site: sites[row.site],
      done: actions[row.action],
      id: row.id,
    }));
  const quoted = (value) => {
    const text = Array.isArray(value) ? value.join(" ") : String(value ?? "");
    // A spreadsheet would take some of what was crawled for formulas.
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

  // Two runs

  const only = (run, another) => {
    const seen = (id) =>
      new Map(rows.filter((row) => row.run === id && actions[row.action] !== "kept").map((row) => [row.url, row]));
    const others = seen(another.id);
    return [...seen(run.id)].filter(([url]) => !others.has(url)).map(([, row]) => row);
  };
  const onlyIn = (run, another) => {
    const found = only(run, another);
    const made = make("div", make("h3", `Left out in run ${run.id} only: ${number(found.length)}`));
    const list = make("ul");
    list.append(...found.slice(0, 10).map((row) => make("li", titled(row.title, row.url))));
    made.append(list);
    return made;
  };
  const compareRuns = () => {
    const [one, other] = ["earlier", "later"].map((id) => runs[Number(byId(id).value)]);
    byId("one").textContent = `run ${one.id}`;
    byId("other").textContent = `run ${other.id}`;
    const names = Object.keys(one.counts).filter((name) => one.counts[name] || other.counts[name]);
    byId("runs").replaceChildren(
      ...names.map((name) => {
        const [before, after] = [one.counts[name], other.counts[name]];
        const line = make("tr", make("th", name, { scope: "row" }));
        const change = `${after > before ? "+" : ""}${number(after - before)}`;
        line.append(...[number(before), number(after), change].map((text) => make("td", text)));
        return line;
      }),
    );
    byId("only").replaceChildren(onlyIn(one, other), onlyIn(other, one));
  };
  if (runs.length > 1) {
    // The newest run, and the one of its spider before it.
    const before = runs.findIndex((run, place) => place && run.spider === runs[0].spider);
    for (const [id, chosen] of [["earlier", before > 0 ? before : 1], ["later", 0]]) {
      const option = (run, place) => make("option", run.name, { value: String(place) });
      byId(id).replaceChildren(...runs.map(option));
      byId(id).value = String(chosen);
      byId(id).addEventListener("change", compareRuns);
    }
    byId("two").hidden = false;
    compareRuns();
  }

  // What is pressed

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
    const group = originals.find((original) => original.claim === opener.value);
    opener.disabled = group === undefined;
    opener.addEventListener("click", () => show({ group }));
  }
  for (const opener of document.querySelectorAll("button.field")) {
    opener.addEventListener("click", () => {
      show({});
      byId("field").value = String(fields.indexOf(opener.value));
      choose();
    });
  }
  choose();
})();
