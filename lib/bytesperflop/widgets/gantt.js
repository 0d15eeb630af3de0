// A pipeline schedule, placed by its dependencies alone. Kinds, orders and needs come as data.

// "4F28(BF)4B" is FFFF, 28 times BF, BBBB; the n-th of a kind is its n-th microbatch.
const expanded = new Map();
const expand = (order) => {
  if (!expanded.has(order)) expanded.set(order, expandAnew(order));
  return expanded.get(order);
};
const expandAnew = (order) => {
  const kinds = [];
  for (const [, times, group, one] of order.matchAll(/(\d+)(?:\(([^)]+)\)|([A-Za-z]))/g))
    for (let i = 0; i < Number(times); i++) kinds.push(...(group ?? one));
  const seen = {};
  return kinds.map((kind) => [kind, (seen[kind] = (seen[kind] ?? -1) + 1)]);
};

// An operation starts when its stage is free and what it needs has arrived.
const place = (orders, needs, duration, delay) => {
  const finish = {};
  for (const row of Object.keys(needs)) finish[row] = [];
  const at = orders.map(() => ({ next: 0, now: 0 }));
  const waits = {};
  for (const [row, list] of Object.entries(needs))
    waits[row] = list.map(([kind, from]) => [finish[`${kind},${from}`], from]);
  const cells = [];
  for (let moved = true; moved; ) {
    moved = false;
    orders.forEach((order, stage) => {
      const own = at[stage];
      while (own.next < order.length) {
        const [kind, j] = order[own.next];
        let start = own.now;
        let ready = true;
        const row = `${kind},${stage}`;
        for (const [done, from] of waits[row]) {
          const arrival = done[j];
          if (arrival === undefined) ready = false;
          else start = Math.max(start, arrival + (from === stage ? 0 : delay));
        }
        if (!ready) break;
        own.now = start + duration(kind, stage);
        finish[row][j] = own.now;
        cells.push({ kind, stage, j, start, end: own.now });
        own.next += 1;
        moved = true;
      }
    });
  }
  return at.every((own, stage) => own.next === orders[stage].length) ? cells : null;
};

// Microbatches that a stage holds: from the start of the first of their kinds to the end of the last.
const heldBy = (cells) => {
  const spans = new Map();
  for (const { j, start, end } of cells) {
    const old = spans.get(j) ?? [start, end];
    spans.set(j, [Math.min(old[0], start), Math.max(old[1], end)]);
  }
  const events = [...spans.values()].flatMap(([a, b]) => [[a, 1], [b, -1]]);
  events.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let held = 0;
  return events.map(([time, change]) => [time, (held += change)]);
};

const simulate = (picture, engine, state) => {
  const { values, dropped } = state;
  const [p, m] = [values[picture.stages], values[picture.microbatches]];
  const name = values[picture.choice];
  const rows = picture.orders[name][p - 1][m - 1];
  if (typeof rows === "string") return { error: rows };
  const orders = rows.map((i) => expand(picture.strings[i]));
  const slow = engine.at(picture.slowest, values, dropped);
  const times = {};
  for (const [kind, formula] of Object.entries(picture.durations))
    times[kind] = engine.at(formula, values, dropped);
  const duration = (kind, stage) => times[kind] * (stage === p - 1 ? slow : 1);
  const cells = place(orders, picture.needs[p - 1], duration, engine.at(picture.delay, values, dropped));
  if (!cells) return { error: `${name}: deadlock` };
  const makespan = Math.max(...cells.map((x) => x.end));
  const busy = cells.reduce((sum, x) => sum + x.end - x.start, 0);
  const byStage = orders.map((_, stage) => cells.filter((x) => x.stage === stage));
  const held = byStage.map(heldBy);
  const peaks = held.map((steps) => Math.max(...steps.map(([, n]) => n)));
  return { cells, byStage, held, peaks, makespan, idle: 1 - busy / (makespan * p) };
};

const gantt = (picture, spec, engine, state, width) => {
  const run = simulate(picture, engine, state);
  if (run.error) return { error: run.error };
  const p = run.byStage.length;
  const [left, right, rowHeight] = [30, width - 44, p > 8 ? 26 : 40];
  const height = p * rowHeight + 46;
  const x = scale(0, run.makespan, left, right, false);
  const most = Math.max(...run.peaks);
  const bar = rowHeight * 0.55;
  const kinds = Object.keys(picture.durations);
  let out = text(right + 6, 12, "peak", "start");
  run.byStage.forEach((cells, stage) => {
    const y = 18 + stage * rowHeight;
    out += text(left - 8, y + bar / 2 + 4, stage, "end");
    out += rect(left, y, right - left, bar, "idle");
    // One path a kind; the cell under the pointer is found by its place.
    kinds.forEach((kind, k) => {
      const own = cells.filter((cell) => cell.kind === kind);
      const boxes = own.map((cell) => `M${x(cell.start).toFixed(1)} ${y}H${x(cell.end).toFixed(1)}v${bar}H${x(cell.start).toFixed(1)}z`);
      if (own.length) out += `<path d="${boxes.join("")}" class="cell k${k}"/>`;
      for (const cell of own) {
        const [a, b] = [x(cell.start), x(cell.end)];
        if (b - a > 14) out += text((a + b) / 2, y + bar / 2 + 4, cell.j, "middle", `in k${k}`);
      }
    });
    const [floor, unit] = [y + rowHeight - 4, (rowHeight - bar - 6) / most];
    let path = `M${left} ${floor}`;
    let level = floor;
    for (const [time, n] of run.held[stage].filter(([at], i, all) => at !== all[i + 1]?.[0])) {
      path += `H${x(time).toFixed(1)}V${(level = floor - n * unit).toFixed(1)}`;
    }
    out += `<path d="${path}H${right}V${floor}Z" class="held"/>`;
    out += text(right + 6, floor, run.peaks[stage], "start", "strong");
  });
  for (const t of marks(0, run.makespan, false, width < 480 ? 4 : 8))
    out += line(x(t), height - 26, x(t), height - 22, "axis") + text(x(t), height - 9, digits(t));
  const keys = kinds.filter((kind) => run.cells.some((c) => c.kind === kind))
    .map((kind) => ({ label: picture.kinds[kind] ?? kind, look: "cell", cell: `cell k${kinds.indexOf(kind)}` }));
  keys.push({ label: "idle", look: "cell", cell: "idle" }, { label: "microbatches held", look: "cell", cell: "held" });
  const words = `Simulated: ${digits(run.makespan)} units of time, <b>${STYLES.percent(run.idle)}</b> of it idle; `
    + `at most ${run.peaks[0]} microbatches held by the first stage, ${run.peaks[p - 1]} by the last.`;
  const find = (across, down) => {
    const [stage, time] = [Math.floor((down - 18) / rowHeight), ((across - left) / (right - left)) * run.makespan];
    const cell = run.byStage[stage]?.find((c) => c.start <= time && time < c.end);
    return cell ? cellWords(picture, cell) : "";
  };
  return { picture: svg(width, height, picture.alt, out), keys, words, find };
};

const cellWords = (picture, { kind, stage, j, start, end }) =>
  `${picture.kinds[kind] ?? kind} of microbatch ${j} on stage ${stage}, from ${digits(start, 4)} to ${digits(end, 4)}`;
