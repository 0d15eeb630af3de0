// On a page without a kernel: each widget's own script, run on the state that the page holds.
(() => {
  "use strict";

  // What a widget's script expects of its model; values live in the page alone.
  const makeModel = (state) => {
    const listeners = new Map();
    return {
      get: (name) => state[name],
      set: (name, value) => {
        if (state[name] === value) return;
        state[name] = value;
        for (const listener of [...(listeners.get(`change:${name}`) ?? [])]) listener();
      },
      on: (event, listener) => {
        if (!listeners.has(event)) listeners.set(event, new Set());
        listeners.get(event).add(listener);
      },
      off: (event, listener) => listeners.get(event)?.delete(listener),
      save_changes: () => {},
      send: () => {},
    };
  };

  const modules = new Map();
  const load = (source) => {
    if (!modules.has(source)) {
      const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      modules.set(source, import(address));
    }
    return modules.get(source);
  };

  const styles = new Set();
  const style = (source) => {
    if (!source || styles.has(source)) return;
    styles.add(source);
    document.head.append(Object.assign(document.createElement("style"), { textContent: source }));
  };

  const mount = async (view, { sources, state: states }) => {
    const state = states[JSON.parse(view.textContent).model_id];
    style(sources[state._css]);
    const { default: widget } = await load(sources[state._esm]);
    const live = document.createElement("div");
    live.className = "bpf-w-live";
    view.after(live);
    widget.render({ model: makeModel(state), el: live, page: true });
    const still = view.previousElementSibling;
    if (still?.classList.contains("bpf-w-static")) still.classList.add("replaced");
  };

  // This script and the state come after the text: every view is above.
  const found = document.querySelector('script[type="application/vnd.jupyter.widget-state+json"]');
  const views = document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]');
  const embedded = JSON.parse(found.textContent);
  for (const view of views) mount(view, embedded);
})();
