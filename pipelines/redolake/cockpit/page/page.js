// Theme of the surrounding Airflow, refresh, details of windows, and the dialog that starts a DAG through Airflow's own API.
(() => {
  "use strict";
  const airflow = document.body.dataset.airflow;
  const REFRESH_SECONDS = 10;
  const framed = window.parent !== window;

  const shown = () => document.dispatchEvent(new Event("redolake:shown"));

  // --- theme: Airflow's, when the page is shown inside it
  function followTheme() {
    const outer = window.parent.document.documentElement;
    const set = () => {
      const name = outer.classList.contains("dark") || outer.dataset.theme === "dark" ? "dark" : "light";
      if (document.documentElement.dataset.theme === name) return;
      document.documentElement.dataset.theme = name;
      shown();
    };
    set();
    new MutationObserver(set).observe(outer, { attributes: true, attributeFilter: ["class", "data-theme"] });
  }
  if (framed) followTheme();

  // --- links to Airflow's pages: its router opens them around this frame
  function open(url) {
    if (!framed) {
      window.location.assign(url);
      return;
    }
    window.parent.history.pushState({}, "", url);
    window.parent.dispatchEvent(new PopStateEvent("popstate", { state: {} }));
  }

  // --- details of windows
  const opened = new Set();
  function show(button, is_open) {
    button.setAttribute("aria-expanded", String(is_open));
    document.getElementById(button.getAttribute("aria-controls")).hidden = !is_open;
  }
  function toggle(button) {
    const id = button.getAttribute("aria-controls");
    const is_open = !opened.has(id);
    if (is_open) opened.add(id); else opened.delete(id);
    show(button, is_open);
  }
  function restore() {
    for (const button of document.querySelectorAll("button.row")) {
      if (opened.has(button.getAttribute("aria-controls"))) show(button, true);
    }
  }

  // --- refresh: the same page, its main part exchanged
  const busy = () => document.getElementById("start").open || document.hidden || document.activeElement.matches("input");
  async function refresh() {
    const clock = document.querySelector(".clock");
    if (busy()) return;
    try {
      const answer = await fetch(window.location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok) throw new Error(String(answer.status));
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (busy()) return;
      const focused = document.activeElement;
      const place = focused && focused.matches("main *") ? [...document.querySelectorAll("main button, main a")].indexOf(focused) : -1;
      const scrolled = [...document.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
      document.getElementById("main").replaceWith(document.importNode(fresh.getElementById("main"), true));
      clock.replaceWith(document.importNode(fresh.querySelector(".clock"), true));
      restore();
      shown();
      document.querySelectorAll(".scroll").forEach((one, number) => { one.scrollLeft = scrolled[number] || 0; });
      if (place >= 0) document.querySelectorAll("main button, main a")[place]?.focus({ preventScroll: true });
    } catch {
      clock.classList.add("stale");
    }
  }
  document.querySelector(".top [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  window.setInterval(refresh, REFRESH_SECONDS * 1000);

  // --- the dialog
  const dialog = document.getElementById("start");
  const part = (name) => dialog.querySelector(name);
  let chosen = null;

  function field(found) {
    const label = document.createElement("label");
    const help = document.createElement("small");
    help.textContent = found.help || "";
    let input;
    if (found.options) {
      input = document.createElement("select");
      input.multiple = Array.isArray(found.value);
      for (const option of found.options) {
        const selected = input.multiple ? found.value.includes(option) : found.value === option;
        input.add(new Option(option, option, selected, selected));
      }
      if (input.multiple) input.size = Math.min(8, Math.max(3, found.options.length));
    } else {
      input = document.createElement("input");
      input.type = typeof found.value === "boolean" ? "checkbox" : found.kind || "text";
      if (input.type === "checkbox") input.checked = found.value;
      else input.value = found.value ?? "";
      input.required = Boolean(found.required);
    }
    input.name = found.name;
    if (input.type === "checkbox") {
      label.className = "check";
      label.append(input, found.label);
    } else {
      label.append(found.label, input);
    }
    label.append(help);
    return label;
  }

  function ask(found) {
    chosen = found;
    part("h2").textContent = found.label;
    const tables = [found.conf.tables ?? []].flat();
    part(".dag").textContent = `Starts the DAG ${found.dag}${tables.length ? ` for ${tables.join(", ")}` : ""}.`;
    part(".costs").textContent = found.costs || "";
    part(".answer").textContent = "";
    part(".fields").replaceChildren(...found.fields.map(field));
    dialog.showModal();
  }

  function conf() {
    const made = { ...chosen.conf };
    for (const found of chosen.fields) {
      const input = dialog.querySelector(`[name="${found.name}"]`);
      if (input.multiple) made[found.name] = [...input.selectedOptions].map((option) => option.value);
      else if (input.type === "checkbox") made[found.name] = input.checked;
      else if (input.type === "number") made[found.name] = input.value === "" ? null : Number(input.value);
      else made[found.name] = input.value === "" ? null : input.value;
    }
    return made;
  }

  function reason(status, body) {
    if (status === 403) return "You may not start this DAG.";
    const detail = body && body.detail;
    return typeof detail === "string" ? detail : JSON.stringify(detail || body || status);
  }

  async function start(event) {
    event.preventDefault();
    const button = part("button.primary");
    button.disabled = true;
    part(".answer").textContent = "";
    try {
      const answer = await fetch(`${airflow}/api/v2/dags/${chosen.dag}/dagRuns`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ logical_date: null, conf: conf() }),
      });
      const body = await answer.json().catch(() => null);
      if (!answer.ok) {
        part(".answer").textContent = reason(answer.status, body);
        return;
      }
      dialog.close();
      open(`${airflow}/dags/${chosen.dag}/runs/${encodeURIComponent(body.dag_run_id)}`);
    } catch (error) {
      part(".answer").textContent = `Airflow does not answer: ${error.message}`;
    } finally {
      button.disabled = false;
    }
  }

  dialog.querySelector("form").addEventListener("submit", start);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button, a[data-out]");
    if (!button) return;
    if (button.matches("button.row")) toggle(button);
    else if (button.dataset.start) ask(JSON.parse(button.dataset.start));
    else if (button.matches("[data-close]")) dialog.close();
    else if (button.matches("a[data-out]") && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      open(button.getAttribute("href"));
    }
  });
})();
