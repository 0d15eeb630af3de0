// A spec made in Python, as functions of a point. No formula stands in these files.

const run = (source) => new Function(`"use strict"; return ${source};`)();

const compile = (spec) => {
  const place = new Map(spec.arguments.map((name, i) => [name, i]));
  const functions = {};
  for (const [name, source] of Object.entries(spec.functions)) functions[name] = run(source);
  const slots = spec.switches.map((s) => ({
    name: s.name, place: place.get(s.symbol), ideal: run(s.ideal), actual: run(s.actual),
  }));
  const defined = spec.defined.map((x) => ({ place: place.get(x.symbol), value: run(x.source) }));
  const varied = Object.entries(spec.varied)
    .map(([name, from]) => ({ name, place: place.get(name), from: place.get(from) }));
  // The functions' arguments: each symbol that an assumption freezes has one of its two values.
  const point = (values, dropped) => {
    const list = spec.arguments.map((name) => values[name] ?? 0);
    for (const one of defined) list[one.place] = one.value(...list);
    for (const one of varied) list[one.place] = values[one.name] ?? list[one.from];
    for (const slot of slots)
      list[slot.place] = (dropped.includes(slot.name) ? slot.actual : slot.ideal)(...list);
    return list;
  };
  const at = (name, values, dropped) => functions[name](...point(values, dropped));
  return { at, point, functions };
};

// Numbers as they are written.

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const power = (exponent) =>
  "10" + [...String(exponent)].map((x) => (x === "-" ? "⁻" : SUPERSCRIPTS[x])).join("");

const digits = (value, significant = 3) => {
  if (!Number.isFinite(value)) return "—";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size < -4 || size > 14) {
    const [front, back] = value.toExponential(significant - 1).split("e");
    return `${Number(front)}·${power(Number(back))}`;
  }
  const decimals = Math.max(0, significant - 1 - size);
  const written = Number(value.toFixed(Math.min(decimals, 12)));
  return written.toLocaleString("en", { maximumFractionDigits: 12 }).replace("-", "−");
};

const LARGE = [[1e12, "trillion"], [1e9, "billion"], [1e6, "million"]];
const count = (value) => {
  for (const [size, word] of LARGE)
    if (Math.abs(value) >= size && Math.abs(value) < size * 1e4) return `${digits(value / size)} ${word}`;
  return digits(value, Math.abs(value) < 1e6 ? 6 : 3);
};

const STYLES = {
  percent: (value) => `${digits(100 * value)} %`,
  signed: (value) => `${value > 0 ? "+" : ""}${digits(100 * value)} %`,
  points: (value) => `${value >= 0 ? "+" : ""}${digits(100 * value)} points`,
  times: (value) => `${digits(value)} times`,
  number: (value) => digits(value),
  whole: (value) => digits(Math.round(value), 15),
  count,
};

// A control's value with its unit, in words for a screen reader and in the text.
const shown = (control, value) => {
  const number = value / control.per;
  const text = control.whole && number >= 1e6 ? count(number) : digits(number, control.whole ? 6 : 4);
  return control.unit ? `${text} ${control.unit}` : text;
};

// A sentence's {name:style} filled with a formula's number, {name} with a control's value.
const fill = (text, spec, number, values) =>
  text.replace(/\{(\w+)(?::(\w+))?\}/g, (_, name, style) => {
    if (style) return STYLES[style](number(name));
    const control = spec.controls.find((x) => x.name === name);
    return control ? shown(control, values[name]) : String(values[name]);
  });
