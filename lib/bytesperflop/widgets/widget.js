// One widget: its controls, switches, pictures and words, drawn anew whenever its model changes.

const PICTURES = { curve, bars, gantt, triangle };

// Why a picture cannot be drawn, where that can be.
const obstacle = (picture, engine, state) =>
  picture.kind === "gantt" ? simulate(picture, engine, state).error : undefined;

const make = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "html") node.innerHTML = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  // JupyterLab would take a slider's arrow keys for its own.
  if (["input", "select", "button"].includes(tag)) node.dataset.lmSuppressShortcuts = "true";
  node.append(...children);
  return node;
};

let serial = 0;

// A slider in its label, a field for the exact number, and room for a complaint.
const controlRow = (control, state, change) => {
  const list = stops(control);
  const id = `bpf-w-${(serial += 1)}`;
  const slider = make("input", { type: "range", min: 0, max: list.length - 1, step: 1 });
  const field = make("input", {
    type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false",
    "aria-label": `${control.meaning}, exact${control.unit ? `, in ${control.unit}` : ""}`, "aria-describedby": id,
  });
  const complaint = make("p", { id, class: "complaint", role: "alert" });
  const idle = make("span", { class: "nothing" });
  const name = make("span", { class: "name", html: `${control.html} ${control.meaning} ` }, idle);
  const row = make("div", { class: "control", "data-name": control.name },
    make("label", {}, name, slider),
    make("span", { class: "exact" }, field, make("span", { class: "unit" }, control.unit)), complaint);
  const complain = (message) => {
    complaint.textContent = message ?? "";
    field.toggleAttribute("aria-invalid", Boolean(message));
    if (message) field.setAttribute("aria-invalid", "true");
  };
  const offer = (read) => complain(read.error ?? change({ [control.name]: read.value }));
  slider.addEventListener("input", () => offer({ value: list[slider.value] }));
  slider.addEventListener("change", () => show());
  field.addEventListener("change", () => offer(parse(control, field.value)));
  let last;
  const show = () => {
    const value = state().values[control.name];
    const spot = nearest(list, value);
    if (Number(slider.value) !== spot) slider.value = spot;
    slider.setAttribute("aria-valuetext", shown(control, value));
    if (value !== last) {
      const plain = String(Number((value / control.per).toPrecision(12)));
      if (document.activeElement !== field || parse(control, field.value).value !== value) field.value = plain;
      complain();
    }
    last = value;
  };
  const matters = (does) => { idle.textContent = does ? "" : "· no effect now"; };
  return { row, show, matters };
};

const switchRow = (one, state, flip) => {
  const box = make("input", { type: "checkbox" });
  const says = make("span", { class: "says" });
  const row = make("div", { class: "switch", "data-name": one.name }, make("label", {}, box, make("b", { html: one.html })), says);
  box.addEventListener("change", () => flip(one.name, box.checked));
  const show = (size) => {
    const held = !state().dropped.includes(one.name);
    box.checked = held;
    row.classList.toggle("off", !held);
    if (held) { says.innerHTML = one.says; return; }
    const back = one.returns.map(symbolHtml).join(", ");
    says.innerHTML = `${one.otherwise}. <b>${back ? `Back: ${back}` : "No symbol comes back"}; ${size}.</b>`;
  };
  return { row, show };
};

const symbolHtml = (name) => {
  const greek = { alpha: "α", tau: "τ", delta: "δ" };
  const [head, index] = name.split("_");
  return `<i>${greek[head] ?? head}</i>${index ? `<sub>${index}</sub>` : ""}`;
};

// The guess, judged against the formula and against the formulas of known slips.
const verdict = (question, guess, engine, start) => {
  const write = STYLES[question.style];
  const number = (name) => engine.at(name, start.values, start.dropped);
  const right = number(question.answer);
  const near = (x) => Math.abs(guess - x) <= question.tolerance * Math.abs(x);
  const said = `You said ${write(guess)}; it is ${write(right)}.`;
  if (near(right)) return `${said} Right. ${question.because}`;
  const slip = question.slips.find((x) => near(number(x.formula)));
  const factor = guess > right ? guess / right : right / guess;
  const off = guess > 0 && right > 0
    ? `Too ${guess > right ? "high" : "low"} by a factor of ${digits(factor, 2)}.` : "";
  return `${said} ${slip ? slip.says : off} ${question.because}`;
};

const questionForm = (spec, engine, start, reveal) => {
  const { question } = spec;
  const id = `bpf-w-${(serial += 1)}`;
  const field = make("input", { type: "text", inputmode: "decimal", autocomplete: "off", "aria-describedby": id });
  const complaint = make("p", { id, class: "complaint", role: "alert" });
  const form = make("form", { class: "question" },
    make("p", { html: fill(question.text, spec, (name) => engine.at(name, start.values, start.dropped), start.values) }),
    make("span", { class: "answer" }, make("label", {}, "Your guess ", field, ` ${question.unit} `),
      make("button", { type: "submit" }, "Check"), make("button", { type: "button", class: "skip" }, "Just show me")), complaint);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const guess = field.value.trim() === "" ? NaN : Number(field.value.trim().replace(/[,%\s]/g, ""));
    if (!Number.isFinite(guess)) { complaint.textContent = `“${field.value.trim().slice(0, 24)}” is no number.`; return; }
    reveal(verdict(question, guess * question.per, engine, start));
  });
  form.querySelector(".skip").addEventListener("click", () => reveal(""));
  return form;
};

const render = ({ model, el, page }) => {
  const spec = model.get("spec");
  const engine = compile(spec);
  const start = {
    values: Object.fromEntries([...spec.controls.map((x) => [x.name, x.start]), ...spec.choices.map((x) => [x.name, x.options[0]])]),
    dropped: [],
  };
  const state = () => ({ values: model.get("values"), dropped: model.get("dropped") });

  // Give the model a new state, unless a limit forbids it: then say why.
  const move = (values, dropped) => {
    const next = { ...state().values, ...values };
    const off = dropped ?? state().dropped;
    for (const limit of spec.limits)
      if (!(engine.at(limit.slack, next, off) >= 0)) return limit.says;
    for (const picture of spec.pictures) {
      const error = obstacle(picture, engine, { values: next, dropped: off });
      if (error) return error;
    }
    model.set("values", next);
    if (dropped) model.set("dropped", off);
    model.save_changes();
    return undefined;
  };
  const flip = (name, held) => {
    const others = state().dropped.filter((x) => x !== name);
    complain(move({}, held ? others : [...others, name]));
    draw();
  };

  const controls = spec.controls.map((x) => controlRow(x, state, move));
  const switches = spec.switches.map((x) => switchRow(x, state, flip));
  const complaint = make("p", { class: "complaint", role: "alert" });
  const complain = (message) => { complaint.textContent = message ?? ""; };
  const choices = spec.choices.map((choice) => {
    const list = make("select", {}, ...choice.options.map((x) => make("option", { value: x }, x)));
    list.addEventListener("change", () => { complain(move({ [choice.name]: list.value })); draw(); });
    return { name: choice.name, list, row: make("label", { class: "choice" }, `${choice.meaning} `, list) };
  });
  const presets = spec.presets.map((preset) => {
    const list = make("select", {}, make("option", { value: "" }, "choose …"), ...Object.keys(preset.points).map((x) => make("option", { value: x }, x)));
    const alike = (point) => Object.entries(point).every(([name, value]) => {
      const now = state();
      return typeof value === "boolean" ? now.dropped.includes(name) !== value : now.values[name] === value;
    });
    list.addEventListener("change", () => {
      const point = preset.points[list.value];
      if (!point) return;
      const values = {};
      let { dropped } = state();
      for (const [name, value] of Object.entries(point)) {
        if (typeof value !== "boolean") { values[name] = value; continue; }
        dropped = dropped.filter((x) => x !== name);
        if (!value) dropped.push(name);
      }
      complain(move(values, dropped));
      draw();
    });
    const show = () => {
      const found = Object.keys(preset.points);
      if (!(list.value && alike(preset.points[list.value])))
        list.value = found.find((x) => alike(preset.points[x])) ?? "";
    };
    return { row: make("label", { class: "choice" }, `${preset.meaning} `, list), show };
  });

  const reset = make("button", { type: "button", class: "reset" }, "Reset");
  reset.addEventListener("click", () => { complain(move(start.values, [])); draw(true); });
  const boards = spec.pictures.map((picture) => {
    const keys = make("p", { class: "keys" });
    const board = make("div", { class: `board ${picture.kind}` });
    const caption = make("p", { class: "caption" });
    const one = { picture, keys, board, caption };
    board.addEventListener("pointermove", (event) => {
      const box = board.getBoundingClientRect();
      caption.textContent = one.find?.(event.clientX - box.left, event.clientY - box.top) ?? "";
    });
    return one;
  });
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const said = make("p", { class: "verdict", "aria-live": "polite" });
  const folded = controls.filter((_, i) => spec.controls[i].folded).map((x) => x.row);
  const rows = controls.filter((_, i) => !spec.controls[i].folded).map((x) => x.row);
  const fieldset = make("fieldset", { class: "switches" },
    make("legend", {}, "Assumptions that hold"), ...switches.map((x) => x.row));
  const live = make("div", { class: "live" },
    make("div", { class: "presets" }, ...choices.map((x) => x.row), ...presets.map((x) => x.row), reset),
    ...boards.flatMap((x) => (x.picture.kind === "gantt" ? [x.keys, x.board, x.caption] : [x.keys, x.board])),
    readout, complaint, make("div", { class: "controls" }, ...rows),
    ...(folded.length ? [make("details", {}, make("summary", {}, "More to set"), make("div", { class: "controls" }, ...folded))] : []),
    ...(switches.length ? [fieldset] : []));
  const root = make("section", { class: "bpf-w", "data-widget": spec.id, "aria-label": spec.title },
    make("p", { class: "title" }, spec.title), said, live);

  let asking = Boolean(spec.question);
  const reveal = (words, focus) => {
    asking = false;
    root.querySelector("form.question")?.remove();
    live.hidden = false;
    said.innerHTML = words;
    draw(true);
    if (focus) root.querySelector("input[type=range]")?.focus();
  };
  if (asking) {
    live.hidden = true;
    said.before(questionForm(spec, engine, start, (words) => reveal(words, true)));
  }

  const draw = (force) => {
    if (asking && !force) return;
    const now = state();
    const number = (name) => engine.at(name, now.values, now.dropped);
    const width = Math.max(260, Math.floor(live.clientWidth || el.clientWidth || 600));
    const extra = [];
    for (const one of boards) {
      const drawn = PICTURES[one.picture.kind](one.picture, spec, engine, now, width);
      if (drawn.error) { extra.push(drawn.error); continue; }
      one.board.innerHTML = drawn.picture;
      one.find = drawn.find;
      one.keys.innerHTML = drawn.keys.map(keyHtml).join("");
      if (drawn.words) extra.push(drawn.words);
    }
    const sentences = spec.readout.filter((x) =>
      !(x.dropped && !now.dropped.includes(x.dropped)) && !x.held.some((name) => now.dropped.includes(name))
      && !(x.positive && !(number(x.positive) > 0)));
    readout.innerHTML = [...sentences.map((x) => fill(x.text, spec, number, now.values)), ...extra].join(" ");
    controls.forEach((x) => x.show());
    const off = spec.switches.filter((x) => now.dropped.includes(x.name));
    const used = new Set([...spec.uses, ...off.flatMap((x) => x.uses)]);
    controls.forEach((x, i) => x.matters(used.has(spec.controls[i].name)));
    spec.switches.forEach((one, i) => {
      if (!now.dropped.includes(one.name)) { switches[i].show(""); return; }
      const without = engine.at(one.measure, now.values, now.dropped.filter((x) => x !== one.name));
      switches[i].show(sizeWords(spec, number(one.measure), without));
    });
    presets.forEach((x) => x.show());
    choices.forEach((x) => { x.list.value = now.values[x.name]; });
  };

  const fromFragment = () => {
    const asked = readFragment(spec, location.hash);
    if (!asked) return;
    const refused = move({ ...start.values, ...asked.values }, asked.dropped);
    if (asking) reveal("");
    complain([...asked.errors, ...(refused ? [refused] : [])].join("; "));
    draw();
    root.scrollIntoView({ block: "nearest" });
  };
  const toFragment = () => {
    const now = state();
    const hash = mergeFragment(spec, location.hash, writeFragment(spec, now.values, now.dropped));
    if (hash !== location.hash.slice(1)) history.replaceState(history.state, "", hash ? `#${hash}` : location.pathname + location.search);
  };

  el.append(root);
  draw();
  const redraw = () => draw();
  model.on("change:values", redraw);
  model.on("change:dropped", redraw);
  const watch = new ResizeObserver(redraw);
  watch.observe(el);
  if (page) {
    root.addEventListener("change", () => toFragment());
    root.addEventListener("click", (event) => { if (event.target === reset) toFragment(); });
    addEventListener("hashchange", fromFragment);
    fromFragment();
  }
  return () => {
    model.off("change:values", redraw);
    model.off("change:dropped", redraw);
    watch.disconnect();
    removeEventListener("hashchange", fromFragment);
  };
};

// A line's, a mark's or a cell's look, and its name.
const keyHtml = (key, i) => {
  const series = `c${key.series ?? i}`;
  const look = {
    dot: `<circle cx="9" cy="5" r="4" class="dot ${series}"/>`,
    best: `<rect x="5" y="1" width="8" height="8" class="best ${series}"/>`,
    cell: `<rect width="18" height="10" class="${key.cell}"/>`,
    bar: `<rect width="18" height="10" class="bar ${series}"/>`,
    line: `<line x1="0" y1="5" x2="18" y2="5" class="line ${series}${key.dashed ? " dashed" : ""}"/>`,
  }[key.look ?? "line"];
  return `<span><svg width="18" height="10" aria-hidden="true">${look}</svg> ${key.label}</span>`;
};

const sizeWords = (spec, now, before) => {
  if (now === before) return "here it changes nothing";
  if (spec.style === "percent") return `${STYLES.points(now - before)} here`;
  return `${STYLES[spec.style](before)} becomes ${STYLES[spec.style](now)} here`;
};

export default { render };
export { compile, simulate, stops, parse, readFragment };
