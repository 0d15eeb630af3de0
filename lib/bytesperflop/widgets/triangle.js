// Splits of P devices by their logarithms: a corner is one axis alone, the middle all three.

const CORNER_HEIGHT = Math.sqrt(3) / 2;
const LEVELS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

// Every triple of whole degrees whose product is P.
const wholeSplits = (P) => {
  const divisors = (n) => {
    const found = [];
    for (let i = 1; i * i <= n; i++) if (n % i === 0) found.push(i, ...(i * i === n ? [] : [n / i]));
    return found;
  };
  return divisors(P).flatMap((a) => divisors(P / a).map((b) => [a, b, P / a / b]));
};

const triangle = (picture, spec, engine, state, width) => {
  const { values, dropped } = state;
  const P = values[picture.total];
  // Assumptions may build on the degrees, so each split is a point of its own.
  const cost = (split) => {
    const own = { ...values };
    picture.degrees.forEach((name, i) => { own[name] = split[i]; });
    return engine.at(picture.cost, own, dropped);
  };
  const side = Math.min(width - 80, 420);
  const [x0, y0] = [(width - side) / 2, 26 + side * CORNER_HEIGHT];
  const where = (split) => {
    const [data, , pipeline] = split.map((n) => (P > 1 ? Math.log(n) / Math.log(P) : 0));
    return [x0 + (pipeline + data / 2) * side, y0 - data * CORNER_HEIGHT * side];
  };
  const n = 36;
  const grid = [];
  for (let i = 0; i <= n; i++) {
    const row = [];
    for (let j = 0; j <= n - i; j++) {
      const split = [P ** (i / n), P ** ((n - i - j) / n), P ** (j / n)];
      row.push([...where(split), cost(split)]);
    }
    grid.push(row);
  }
  const flat = grid.flat().map((x) => x[2]);
  const [least, most] = [Math.min(...flat), Math.max(...flat)];
  const levels = LEVELS.filter((x) => x > least && x < most).slice(0, 7);
  const paths = levels.map(() => "");
  const labels = levels.map(() => null);
  const cut = (a, b, c) => {
    levels.forEach((level, k) => {
      const ends = [];
      for (const [u, v] of [[a, b], [b, c], [c, a]])
        if (u[2] < level !== v[2] < level) {
          const share = (level - u[2]) / (v[2] - u[2]);
          ends.push([u[0] + share * (v[0] - u[0]), u[1] + share * (v[1] - u[1])]);
        }
      if (ends.length === 2) {
        paths[k] += `M${ends[0].map((z) => z.toFixed(1))}L${ends[1].map((z) => z.toFixed(1))}`;
        if (!labels[k] || ends[0][1] < labels[k][1]) labels[k] = ends[0];
      }
    });
  };
  for (let i = 0; i < n; i++)
    for (let j = 0; j < n - i; j++) {
      cut(grid[i][j], grid[i][j + 1], grid[i + 1][j]);
      if (j < n - i - 1) cut(grid[i][j + 1], grid[i + 1][j + 1], grid[i + 1][j]);
    }
  const corner = (split, words, dy) => {
    const [x, y] = where(split);
    return text(x, y + dy, words, "middle", "strong");
  };
  let out = `<path d="M${where([P, 1, 1])}L${where([1, P, 1])}L${where([1, 1, P])}Z" class="outline"/>`;
  levels.forEach((level, k) => { out += `<path d="${paths[k]}" class="contour"/>`; });
  out += corner([P, 1, 1], picture.names[0], -10) + corner([1, P, 1], picture.names[1], 20) + corner([1, 1, P], picture.names[2], 20);
  levels.forEach((level, k) => { out += text(labels[k][0] + 2, labels[k][1] + 4, STYLES.percent(level), "middle", "halo small"); });
  const caps = picture.caps.map((name) => values[name] ?? Infinity);
  const allowed = wholeSplits(P).filter((split) => split.every((x, i) => x <= caps[i]));
  for (const split of wholeSplits(P)) {
    const [x, y] = where(split);
    const open = split.every((z, i) => z <= caps[i]);
    out += `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="2" class="${open ? "split" : "split out"}"/>`;
  }
  let words = "No whole split respects the caps.";
  const keys = [];
  if (allowed.length) {
    const best = allowed.reduce((a, b) => (cost(b) < cost(a) ? b : a));
    const [x, y] = where(best);
    out += `<rect x="${(x - 5).toFixed(1)}" y="${(y - 5).toFixed(1)}" width="10" height="10" class="best c1"/>`;
    words = `Cheapest whole split: <b>${best.join(" × ")}</b> (data × tensor × pipeline), ${STYLES.percent(cost(best))}.`;
    keys.push({ label: "cheapest whole split", look: "best", series: 1 });
  }
  if (picture.held.every((name) => !dropped.includes(name))) {
    const [x, y] = where(picture.optimum.map((name) => engine.at(name, values, dropped)));
    out += `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="6" class="dot c0"/>`;
    keys.unshift({ label: "optimum of the relaxation", look: "dot", series: 0 });
  }
  return { picture: svg(width, Math.round(y0 + 30), picture.alt, out), keys, words };
};
