// What a slider can stop at, what a field accepts, and what the address bar can hold.

const STOPS = 400;

// Rising values, no two alike, so that one press of an arrow key always moves.
const stops = (control) => {
  const { low, high, per, scale, whole } = control;
  const all = new Set([low]);
  if (scale === "doubling") for (let x = low; x < high; x *= 2) all.add(x);
  else {
    const n = scale === "linear" && whole ? Math.min(STOPS, high - low) : STOPS;
    for (let i = 1; i < n; i++) {
      const raw = scale === "log" ? low * (high / low) ** (i / n) : low + ((high - low) * i) / n;
      const nice = Number((raw / per).toPrecision(3)) * per;
      all.add(whole ? Math.round(nice) : nice);
    }
  }
  all.add(high);
  return [...all].filter((x) => x >= low && x <= high).sort((a, b) => a - b);
};

const nearest = (list, value) => {
  let best = 0;
  for (let i = 1; i < list.length; i++)
    if (Math.abs(list[i] - value) < Math.abs(list[best] - value)) best = i;
  return best;
};

const range = (control) => {
  const [low, high] = [control.low, control.high].map((x) => digits(x / control.per, 6));
  return `from ${low} to ${high}${control.unit ? ` ${control.unit}` : ""}`;
};

// The number that a value is, or the reason why it is none.
const admit = (control, value) => {
  const kind = control.whole ? "a whole number" : "a number";
  const must = `must be ${kind} ${range(control)}`;
  if (typeof value !== "number" || Number.isNaN(value)) return { error: must };
  if (value < control.low || value > control.high) return { error: must };
  if (control.whole && !Number.isInteger(value)) return { error: must };
  return { value };
};

// The same for what was typed, in the control's unit.
const parse = (control, text) => {
  const bare = text.trim().replace(/[,\s_]/g, "").replace("−", "-");
  const read = admit(control, bare === "" ? NaN : snap(control, Number(bare) * control.per));
  return read.error ? { error: `“${text.trim().slice(0, 24)}”: ${read.error}` } : read;
};

// 0.0034·1e-3 and the end of a range may differ in the last bit: the end is meant.
const snap = (control, value) => {
  for (const end of [control.low, control.high])
    if (Math.abs(value - end) <= 1e-12 * Math.abs(end)) return end;
  return value;
};

const slug = (name) => name.replace(/[^A-Za-z0-9]+/g, "-");

// #data-ratio:T=4096,without=bandwidth-bound;tensor-ratio:t=8
const writeFragment = (spec, values, dropped) => {
  const parts = [];
  for (const { name, start } of spec.controls)
    if (values[name] !== start) parts.push(`${name}=${values[name]}`);
  for (const { name, options } of spec.choices)
    if (values[name] !== options[0]) parts.push(`${name}=${encodeURIComponent(values[name])}`);
  if (dropped.length) parts.push(`without=${dropped.map(slug).join("+")}`);
  return parts.length ? `${spec.id}:${parts.join(",")}` : "";
};

// What the fragment asks of this widget: null if nothing, else values, dropped and complaints.
const readFragment = (spec, hash) => {
  const own = hash.replace(/^#/, "").split(";").find((x) => x.startsWith(`${spec.id}:`));
  if (own === undefined) return null;
  const found = { values: {}, dropped: [], errors: [] };
  for (const part of own.slice(spec.id.length + 1).split(",").filter(Boolean)) {
    const [name, raw = ""] = part.split("=");
    const control = spec.controls.find((x) => x.name === name);
    const choice = spec.choices.find((x) => x.name === name);
    if (control) {
      const read = admit(control, raw === "" ? NaN : Number(raw));
      if (read.error) found.errors.push(`${name} = ${raw}: ${read.error}`);
      else found.values[name] = read.value;
    } else if (choice) {
      const option = choice.options.find((x) => encodeURIComponent(x) === raw);
      if (option) found.values[name] = option;
      else found.errors.push(`${name} = ${raw}: must be one of ${choice.options.join(", ")}`);
    } else if (name === "without") {
      for (const one of raw.split("+")) {
        const known = spec.switches.find((x) => slug(x.name) === one);
        if (known) found.dropped.push(known.name);
        else found.errors.push(`without = ${one}: no such assumption`);
      }
    } else found.errors.push(`${name}: no such control`);
  }
  return found;
};

// The address's fragment with this widget's part replaced; other widgets' parts stay.
const mergeFragment = (spec, hash, own) => {
  const others = hash.replace(/^#/, "").split(";")
    .filter((x) => /^[\w-]+:/.test(x) && !x.startsWith(`${spec.id}:`));
  return [...others, own].filter(Boolean).join(";");
};
