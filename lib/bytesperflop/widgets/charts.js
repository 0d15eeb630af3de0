// Pictures as SVG text, in CSS pixels of the width there is, so that labels never shrink.

const text = (x, y, words, anchor = "middle", kind = "") =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" class="${kind}">${words}</text>`;
const line = (x1, y1, x2, y2, kind) =>
  `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" class="${kind}"/>`;
const rect = (x, y, width, height, kind, more = "") =>
  `<rect x="${x.toFixed(2)}" y="${y.toFixed(2)}" width="${Math.max(0, width).toFixed(2)}" height="${height.toFixed(2)}" class="${kind}"${more}/>`;
const svg = (width, height, label, inside) =>
  `<svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">${inside}</svg>`;

const scale = (low, high, from, to, log) => {
  const f = log ? Math.log : (x) => x;
  const slope = (to - from) / (f(high) - f(low));
  return (x) => from + (f(x) - f(low)) * slope;
};

// Where an axis has marks: decades, or steps of 1, 2 or 5.
const marks = (low, high, log, most) => {
  if (log) {
    const [a, b] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
    const every = Math.max(1, Math.ceil((b - a + 1) / most));
    const list = [];
    for (let i = a; i <= b; i += every) list.push(10 ** i);
    if (list.length > 2) return list;
    const fine = [1, 2, 5, 10, 20, 50, 100].map((x) => x * 10 ** (a - 1));
    return fine.filter((x) => x >= low * 0.999 && x <= high * 1.001);
  }
  const rough = (high - low) / most;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((x) => x * size).find((x) => x >= rough);
  const list = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); i++) list.push(i * step);
  return list;
};

const axisWord = (value, percent) => {
  const x = percent ? value * 100 : value;
  const exponent = Math.log10(Math.abs(x));
  const far = exponent > 4.5 || exponent < -3;
  const word = far && Number.isInteger(Math.round(exponent * 1e9) / 1e9) ? power(Math.round(exponent)) : digits(x);
  return percent ? `${word} %` : word;
};

// Formulas over one control, on axes whose limits do not jump while a slider moves.
const curve = (picture, spec, engine, state, width) => {
  const over = spec.controls.find((x) => x.name === (state.values[picture.choice] ?? picture.over));
  const height = Math.round(Math.min(320, Math.max(220, width * 0.48)));
  const [left, right, top, bottom] = [66, width - 24, 14, height - 44];
  const logX = over.scale !== "linear";
  const n = Math.min(160, Math.round(width / 3));
  const xs = Array.from({ length: n + 1 }, (_, i) => logX
    ? over.low * (over.high / over.low) ** (i / n) : over.low + ((over.high - over.low) * i) / n);
  const value = (name, x) => engine.at(name, { ...state.values, [over.name]: x }, state.dropped);
  const lines = picture.lines.map((one) => ({ ...one, ys: xs.map((x) => value(one.formula, x)) }));
  const heights = lines.flatMap((one) => one.ys).filter((y) => Number.isFinite(y) && y > 0);
  let high = heights.length ? 10 ** Math.ceil(Math.log10(Math.max(...heights)) - 1e-9) : 1;
  let low = heights.length ? 10 ** Math.floor(Math.log10(Math.min(...heights)) + 1e-9) : 0.01;
  low = Math.max(low, high / 1e6);
  if (low >= high) [low, high] = [low / 10, high];
  const px = scale(over.low, over.high, left, right, logX);
  const py = scale(low, high, bottom, top, true);
  const up = (y) => py(Math.min(high, Math.max(low, y)));
  const percent = picture.style === "percent";
  let out = "";
  for (const y of marks(low, high, true, 8))
    out += line(left, py(y), right, py(y), "grid") + text(left - 6, py(y) + 4, axisWord(y, percent), "end");
  for (const x of marks(over.low / over.per, over.high / over.per, logX, width < 480 ? 4 : 8))
    out += line(px(x * over.per), bottom, px(x * over.per), bottom + 4, "axis")
      + text(px(x * over.per), bottom + 18, axisWord(x, false));
  out += line(left, bottom, right, bottom, "axis");
  const unit = over.unit && over.unit !== over.meaning ? `, ${over.unit}` : "";
  out += text((left + right) / 2, height - 6, `${over.meaning}${unit}`);
  for (const mark of picture.marks) {
    if (mark.dropped && !state.dropped.includes(mark.dropped)) continue;
    if (mark.over !== over.name) continue;
    const x = engine.at(mark.formula, state.values, state.dropped);
    if (x > over.low && x < over.high)
      out += line(px(x), top, px(x), bottom, "mark")
        + text(px(x), top + 2, mark.label, px(x) > right - 90 ? "end" : "start", "halo");
  }
  lines.forEach((one, i) => {
    const path = one.ys.map((y, j) => `${j ? "L" : "M"}${px(xs[j]).toFixed(1)} ${up(y).toFixed(1)}`);
    out += `<path d="${path.join("")}" class="line c${i}${one.dashed ? " dashed" : ""}"/>`;
  });
  const here = state.values[over.name];
  out += line(px(here), top, px(here), bottom, "here");
  lines.forEach((one, i) => {
    out += `<circle cx="${px(here).toFixed(1)}" cy="${up(value(one.formula, here)).toFixed(1)}" r="5" class="dot c${i}"/>`;
  });
  return { picture: svg(width, height, picture.alt, out), keys: lines };
};

// Items of one or more totals, each a share of its own: a row an item, a bar a series.
const bars = (picture, spec, engine, state, width) => {
  const [left, right] = [0, width - 128];
  const numbers = picture.items.map((item) =>
    item.formulas.map((name) => (name ? engine.at(name, state.values, state.dropped) : 0)));
  const totals = picture.series.map((_, i) => numbers.reduce((sum, row) => sum + row[i], 0));
  const most = Math.max(...numbers.flatMap((row) => row.map((x, i) => x / totals[i])));
  let [out, y] = ["", 14];
  picture.items.forEach((item, row) => {
    out += text(left, y, item.label, "start", "strong");
    y += 6;
    numbers[row].forEach((x, i) => {
      const share = x / totals[i];
      out += rect(left, y, Math.max(share > 0 ? 1 : 0, (share / most) * (right - left)), 11, `bar c${i}`);
      const words = x > 0 ? `${count(x)}, ${STYLES.percent(share)}` : "none";
      out += text(left + Math.max(0, (share / most) * (right - left)) + 6, y + 10, words, "start");
      y += 15;
    });
    y += 16;
  });
  const keys = picture.series.map((label) => ({ label, look: "bar" }));
  return { picture: svg(width, y - 10, picture.alt, out), keys };
};
