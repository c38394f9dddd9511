(() => {
  const MOST = 200;
  const data = window.podiumSearch;
  const facets = Object.keys(data.facets);
  const [chipsAt, scoreAt] = ["chips", "score"].map((name) => facets.length + data.numbers.indexOf(name));
  const hidden = ["system", "unit", "span"];
  const choosable = facets.filter((name) => !hidden.includes(name));
  // The searchable words of each result
  const texts = data.results.map((row) => facets.map((name, at) => data.facets[name][row[at]]).join(" ").toLowerCase());
  const names = data.pages.map(([name, , kind]) => `${name} ${kind}`.toLowerCase());
  const form = document.getElementById("search");
  const count = document.getElementById("count");
  const pages = document.getElementById("pages");
  const found = document.getElementById("found");

  const label = document.createElement("label");
  const input = document.createElement("input");
  input.type = "search";
  input.autocomplete = "off";
  label.className = "filter";
  label.append("Words ", input);
  form.append(label);

  const anchor = (text, file) => {
    const made = document.createElement("a");
    made.href = `${file}.html`;
    made.textContent = text;
    return made;
  };
  const cell = (content, tag = "td") => {
    const made = document.createElement(tag);
    made.append(content);
    return made;
  };
  const table = (rows) => {
    const made = document.createElement("table");
    made.className = "stack";
    const names = ["result", "suite", "round", "benchmark", "submitter", "division", "category", "chips", "chip", "minutes †"];
    const head = made.createTHead().insertRow();
    for (const name of names) {
      const each = cell(name, "th");
      each.scope = "col";
      head.append(each);
    }
    const body = made.createTBody();
    for (const row of rows) {
      const [suite, round, model, division, category, chip, submitter, system] = facets.map((name, at) => data.facets[name][row[at]] || "–");
      const [chips, score, file] = [row[chipsAt], row[scoreAt], row.at(-1)];
      const line = body.insertRow();
      line.append(cell(anchor(system, file)));
      for (const text of [suite, round, model, submitter, division, category, chips ?? "–", chip, score ?? "–"]) line.append(cell(String(text)));
      [...line.cells].forEach((each, at) => { if (at) each.dataset.label = names[at]; });
    }
    return made;
  };

  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = choices.filter(({ select }) => select.value);
    const wanted = chosen.map(({ name, select }) => [facets.indexOf(name), data.facets[name].indexOf(select.value)]);
    const rows = data.results.filter((row, at) => wanted.every(([place, value]) => row[place] === value) && words.every((word) => texts[at].includes(word)));
    const hits = words.length && !chosen.length ? data.pages.filter((_, at) => words.every((word) => names[at].includes(word))) : [];
    count.textContent = `${rows.length} of ${data.results.length} results${rows.length > MOST ? `, the first ${MOST} are shown` : ""}`;
    pages.replaceChildren(...hits.slice(0, MOST).map(([name, file, kind]) => {
      const item = document.createElement("li");
      item.append(`${kind} `, anchor(name, file));
      return item;
    }));
    found.replaceChildren(table(rows.slice(0, MOST)));
  };
  const changed = () => {
    link.keep({ q: input.value, ...Object.fromEntries(choices.map(({ name, select }) => [name, select.value])) });
    show();
  };
  const choices = choosable.map((name) => {
    const values = data.facets[name].filter(Boolean).sort(inOrder);
    const [choice, select] = chooser(name === "model" ? "benchmark" : name, values, changed);
    choice.className = "choice";
    form.append(choice);
    return { name, select };
  });
  const follow = () => {
    const state = link.read();
    input.value = state.get("q") ?? "";
    for (const { name, select } of choices) choose(select, state.get(name) ?? "");
    show();
  };
  input.addEventListener("input", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", follow);
  follow();
})();
