"use strict";
(async () => {
  const byId = (id) => document.getElementById(id);
  const NARROW = matchMedia("(max-width: 45rem)");

  // Rows that are printed: more would take a browser minutes.
  const PRINTED = 1000;

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
  // `this` is code.
  const coded = (text) => {
    const made = make("bdi");
    text.split("`").forEach((part, place) => made.append(place % 2 ? make("code", part) : part));
    return made;
  };

  const copy = async (code, told) => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      told.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(code);
      told.textContent = "selected";
    }
  };
  for (const one of document.querySelectorAll("button.copy"))
    one.addEventListener("click", () => copy(one.parentElement.querySelector("code"), one.nextElementSibling));

  const unpack = async (id) => {
    const bytes = Uint8Array.from(atob(byId(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  };

  const { block, command, rows } = await unpack("rows");

  const time = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
  const number = (value) => value.toLocaleString("en");
  // Rounded down, so that only equal texts have 1.00.
  const similarity = (row) =>
    row.similarity === null ? "" : `${row.about}${(Math.floor(row.similarity * 100 + 1e-6) / 100).toFixed(2)}`;

  // The state is the fragment of the address: filters, order, page and the opened row

  let state = new URLSearchParams();
  const remember = (name, value) => {
    if (value === "" || value === null) state.delete(name);
    else state.set(name, value);
    history.replaceState(null, "", String(state) ? `#${state}` : location.pathname);
  };

  // Cells

  const link = (url) => {
    const text = make("bdi", url);
    // Only web pages, and only URLs that are shown in full, without escapes.
    if (!/^https?:\/\/[^\\]+$/i.test(url) || url.endsWith("…")) return text;
    return make("a", text, { href: url, rel: "noreferrer noopener" });
  };
  // Below it what it was compared with, if that is elsewhere.
  const item = (row) => {
    const made = document.createDocumentFragment();
    const add = (...parts) => {
      made.append(make("div"));
      made.lastChild.append(...parts);
    };
    const { title, url } = row.original;
    const titled = (text) => make("bdi", text, { className: "title" });
    if (row.title) add(titled(row.title));
    add(link(row.url));
    if (!row.change && url !== row.url)
      add(make("span", "like ", { className: "muted" }), ...(title && title !== row.title ? [titled(title), " "] : []), link(url));
    return made;
  };
  const cut = (value) => (value.length > 120 ? `${value.slice(0, 120).replace(/\S{0,40}$/u, "")}…` : value);
  const values = (row) => {
    const made = document.createDocumentFragment();
    for (const [name, stored, own] of row.fields.slice(0, 4)) {
      const line = make("div", make("bdi", name));
      if (stored !== null || own !== null) {
        line.append(": ", make("del", make("bdi", stored ?? "none")), " → ");
        line.append(make("ins", make("bdi", own ?? "none")));
      }
      made.append(line);
    }
    if (row.fields.length > 4) made.append(`and ${row.fields.length - 4} more`);
    return made;
  };
  const status = (row) => {
    const made = make("div", row.status);
    if (row.how) made.append(document.createElement("br"), make("small", coded(row.how)));
    return made;
  };

  // The comparison of a row

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
      const fold = button(`${number(rest.length)} equal characters`, open, { className: "fold" });
      side.append(head, fold, tail);
      return fold;
    });
  };
  const side = (title, url, text) => {
    const heading = make("h3", `${title}: `);
    heading.append(make("bdi", url));
    text.setAttribute("role", "region");
    text.setAttribute("aria-label", `${title}: ${url}`);
    const made = make("div", heading);
    made.append(text);
    return made;
  };
  const difference = (row, original, steps, names) => {
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
    pair.append(side(names[0], row.original.url, before), side(names[1], row.url, after));
    return pair;
  };

  const fieldsTable = (fields, names) => {
    const differs = ([, own, stored]) => own !== stored;
    const head = make("tr");
    head.append(...["field", ...names].map((name) => make("th", name, { scope: "col" })));
    const body = make("tbody");
    for (const field of [...fields.filter(differs), ...fields.filter((one) => !differs(one))]) {
      const line = make("tr", make("th", make("bdi", field[0]), { scope: "row" }));
      const [mine, known] = field.slice(1).map((value) =>
        value === null ? make("span", "none", { className: "muted" }) : make("bdi", cut(value)),
      );
      const cells = differs(field) ? [make("del", known), make("ins", mine)] : [known, mine];
      line.append(...cells.map((content) => make("td", content)));
      body.append(line);
    }
    const made = make("table", make("thead", head));
    made.append(body);
    return made;
  };

  const blocks = new Map();
  const compared = async (row, cell, names) => {
    const facts = row.similarity === null ? [] : [`similarity ${similarity(row)}`];
    if (row.distance !== null) facts.push(`${row.distance} ${row.distance === 1 ? "bit" : "bits"} apart`);
    facts.push(`run ${row.run}`, `seen ${time(row.created)} UTC`);
    if (row.original.first !== null) facts.push(`original stored ${time(row.original.first)} UTC`);
    cell.append(make("p", `${facts.join(", ")}. `));
    if (row.detail < 0) {
      cell.append(make("p", "This file has no comparison of this item."));
    } else {
      const id = `block${Math.floor(row.detail / block)}`;
      if (!blocks.has(id)) blocks.set(id, unpack(id));
      const [text, steps, fields] = (await blocks.get(id))[row.detail];
      if (fields.length) cell.append(fieldsTable(fields, names));
      if (steps === null) cell.append(make("p", "The index does not have both texts."));
      else if (steps.length === 1 && !steps[0][1] && !steps[0][2])
        cell.append(make("p", "The texts are equal."));
      if (steps !== null) cell.append(difference(row, text, steps, names));
    }
  };
  const restore = (row) => {
    const code = make("code", `${command}${row.key} -o back.jsonl`);
    const told = make("span", "", { role: "status" });
    const line = make("p", "To restore it: ", { className: "restore" });
    line.append(code, " ", button("Copy", () => copy(code, told)), " ", told);
    return line;
  };

  // The table of all rows, with filters, order and pages

  const SIZE = 20;
  const isText = (text, query) => text.toLowerCase().includes(query);
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const order = {
    title: (row) => row.title || row.url,
    similarity: (row) => row.similarity ?? 2,
    fields: (row) => row.fields.map(([name]) => name).join(", "),
    created: (row) => row.created,
    status: (row) => row.status,
  };
  const choices = {
    status: (row) => [row.status],
    how: (row) => (row.how && !row.change ? [row.how] : []),
    site: (row) => [row.site],
    field: (row) => row.fields.map(([name]) => name),
  };
  const cells = (row) => [
    ["Status", status(row), "status"],
    ["Item", item(row), "url"],
    ["Similarity", similarity(row)],
    ["Differs in", values(row), "values"],
    ["Seen", time(row.created)],
  ];
  const namesOf = (row) => (row.change ? ["Before", "Now"] : ["Stored item", "This item"]);

  const makeTable = () => {
    const headers = [...byId("table").querySelectorAll("th[data-column]")];
    const inputs = [...byId("filters").querySelectorAll("input, select")];
    const get = (name) => state.get(name) ?? "";
    let found = rows;

    // The choices of a filter.
    const fill = () => {
      for (const [id, of] of Object.entries(choices)) {
        const counts = new Map();
        for (const row of rows) for (const one of of(row)) counts.set(one, (counts.get(one) ?? 0) + 1);
        const ordered = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 500);
        const label = (value) => value.replaceAll("`", "");
        const option = ([value, count]) => make("option", `${label(value)} (${number(count)})`, { value });
        byId(id).replaceChildren(make("option", "all", { value: "" }), ...ordered.map(option));
        byId(id).parentElement.hidden = counts.size < (id === "field" ? 1 : 2);
      }
      for (const input of inputs) input.value = get(input.id);
    };

    const choose = () => {
      const query = get("q").trim().toLowerCase();
      const least = Number(get("least") || 0);
      const most = Number(get("most") || 1);
      const group = get("group");
      const wanted = Object.entries(choices)
        .filter(([id]) => get(id))
        .map(([id, of]) => [get(id), of]);
      found = rows.filter(
        (row) =>
          (!group || (row.original.item === group && !row.change)) &&
          (row.similarity ?? 0) >= least &&
          (row.similarity ?? 0) <= most &&
          wanted.every(([value, of]) => of(row).includes(value)) &&
          (!query || [row.url, row.title, row.original.url].some((text) => isText(text, query))),
      );
      const sort = get("sort") || "similarity";
      const [column, direction] = [sort.replace("-", ""), sort[0] === "-" ? -1 : 1];
      const value = Object.hasOwn(order, column) ? order[column] : order.similarity;
      found.sort((a, b) => direction * compare(value(a), value(b)) || a.created - b.created);
      for (const header of headers) {
        if (header.dataset.column !== column) header.removeAttribute("aria-sort");
        else header.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      }
    };

    const open = async (opener, row, line) => {
      opener.setAttribute("aria-expanded", "true");
      const cell = make("td", undefined, { colSpan: headers.length + 1, className: "wide-cell" });
      line.after(make("tr", cell));
      await compared(row, cell, namesOf(row));
      if (command && row.restorable) cell.append(restore(row));
      if (row.change) return;
      const group = rows.filter((one) => one.original.item === row.original.item && !one.change).length;
      const all = () => go(`#group=${row.original.item}`);
      if (group > 1) cell.append(button(`Show all ${number(group)} similar to it`, all));
    };
    const toggle = async (opener, row, line) => {
      const isOpen = opener.getAttribute("aria-expanded") === "true";
      remember("open", isOpen ? "" : row.key);
      if (!isOpen) return open(opener, row, line);
      opener.setAttribute("aria-expanded", "false");
      line.nextSibling.remove();
    };
    const drawn = (row) => {
      const line = make("tr");
      const first = make("td", undefined, { className: "opener" });
      if (!row.change || row.detail >= 0) {
        const opener = button("Compare", () => toggle(opener, row, line));
        opener.setAttribute("aria-expanded", "false");
        const name = (row.title || row.url).slice(0, 200);
        opener.setAttribute("aria-label", `Compare ${name} with the stored item`);
        first.append(opener);
      }
      line.append(first);
      for (const [head, content, className = ""] of cells(row)) {
        const made = make("td", content, { className });
        made.dataset.name = head;
        line.append(made);
      }
      return line;
    };

    const draw = (shown = SIZE) => {
      const opened = found.findIndex((row) => row.key === get("open"));
      const asked = (Number(get("page")) || 1) - 1;
      const last = Math.max(0, Math.ceil(found.length / shown) - 1);
      const page = Math.min(last, Math.max(0, asked));
      const start = page * shown;
      const part = found.slice(start, start + shown);
      byId("body").replaceChildren(...part.map(drawn));
      if (opened >= start && opened < start + part.length) {
        const line = byId("body").children[opened - start];
        const opener = line.querySelector("button");
        if (opener) open(opener, found[opened], line);
      }
      byId("place").textContent = found.length ? `${number(start + 1)} to ${number(start + part.length)}` : "";
      const all = `${number(rows.length)} row${rows.length === 1 ? "" : "s"}`;
      const group = get("group") && found.length ? `, similar to ${found[0].original.url}` : "";
      const some = `${number(found.length)} of ${all}${group}`;
      const printed = shown > SIZE && part.length < found.length ? `, of which ${number(part.length)} are printed` : "";
      byId("shown").textContent = `${found.length === rows.length ? all : some}${printed}`;
      byId("back").disabled = page === 0;
      byId("next").disabled = page === last;
    };
    const show = () => {
      for (const name of ["page", "open"]) remember(name, "");
      choose();
      draw();
    };

    const turn = (step) => {
      const page = Math.max(1, (Number(get("page")) || 1) + step);
      remember("page", page > 1 ? String(page) : "");
      remember("open", "");
      draw();
      byId("table").scrollIntoView();
    };
    byId("back").addEventListener("click", () => turn(-1));
    byId("next").addEventListener("click", () => turn(1));
    for (const header of headers) {
      header.firstElementChild.addEventListener("click", () => {
        const { column } = header.dataset;
        const next = (get("sort") || "similarity") === column ? `-${column}` : column;
        remember("sort", next === "similarity" ? "" : next);
        show();
      });
    }
    let waiting = 0;
    byId("filters").addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        for (const input of inputs) remember(input.id, input.value);
        show();
      }, 150);
    });
    byId("all").addEventListener("click", () => {
      for (const name of [...inputs.map((input) => input.id), "group", "page", "open"]) remember(name, "");
      load();
    });
    addEventListener("beforeprint", () => draw(Math.max(SIZE, Math.min(PRINTED, found.length))));
    addEventListener("afterprint", () => draw());
    return () => {
      fill();
      choose();
      // A link to a row leads to its page.
      const opened = found.findIndex((row) => row.key === get("open"));
      if (opened >= 0 && !get("page")) remember("page", String(Math.floor(opened / SIZE) + 1));
      draw();
    };
  };
  const loadTable = byId("table") && makeTable();

  const load = () => {
    if (location.hash === "" || location.hash.includes("=")) state = new URLSearchParams(location.hash.slice(1));
    loadTable?.();
  };
  const go = (fragment) => {
    history.pushState(null, "", fragment);
    load();
    byId("items").scrollIntoView();
    byId("items").focus();
  };
  for (const one of document.querySelectorAll("a.show[href*='=']"))
    one.addEventListener("click", (event) => {
      event.preventDefault();
      go(one.getAttribute("href"));
    });
  for (const one of document.querySelectorAll("rect[data-rows]"))
    one.addEventListener("click", () => go(one.dataset.rows));
  addEventListener("popstate", load);
  if (NARROW.matches) for (const one of document.querySelectorAll("details.filters")) one.open = false;
  load();
})();
