// One-key review on the page that compares two builds. Without this script the buttons of each
// question work as an ordinary form.
"use strict";
(() => {
  const flips = [...document.querySelectorAll("article.flip")];
  if (!flips.length) return;
  const current = () => Math.max(0, flips.indexOf(document.activeElement && document.activeElement.closest("article.flip")));
  const chosen = () => document.activeElement && document.activeElement.closest("article.flip");
  const go = (i) => {
    const f = flips[Math.min(flips.length - 1, Math.max(0, i))];
    f.focus({ preventScroll: true });
    f.scrollIntoView({ block: "start" });
  };
  const progress = document.getElementById("progress");
  const count = () => {
    if (!progress) return;
    const n = document.querySelectorAll(".state.is-decided").length;
    progress.textContent = n + " of " + progress.dataset.total + " decided";
  };
  const save = async (flip, form, decision) => {
    const state = flip.querySelector(".state");
    const body = new URLSearchParams(new FormData(form));
    body.set("decision", decision);
    state.textContent = "Saving…";
    try {
      const r = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" } });
      const text = (await r.text()).trim();
      if (!r.ok) throw new Error(text);
      state.textContent = text;
      state.classList.add("is-decided");
      form.querySelectorAll("details").forEach((d) => { d.open = false; });
      count();
      return true;
    } catch (e) {
      state.classList.remove("is-decided");
      state.textContent = "Not saved: " + e.message;
      return false;
    }
  };
  for (const flip of flips) {
    const form = flip.querySelector("form.decide");
    if (!form) continue;
    form.addEventListener("submit", (e) => {
      if (!e.submitter || !e.submitter.value) return;
      e.preventDefault();
      save(flip, form, e.submitter.value).then((ok) => { if (ok) flip.focus({ preventScroll: true }); });
    });
  }
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing) return;
    const t = e.target;
    if (t instanceof HTMLElement && t.closest("input, select, textarea")) {
      if (e.key === "Escape") { const f = t.closest("article.flip"); if (f) f.focus(); }
      return;
    }
    if (e.key === "j" || e.key === "k") {
      e.preventDefault();
      go(chosen() ? current() + (e.key === "j" ? 1 : -1) : 0);
      return;
    }
    const flip = chosen();
    const form = flip && flip.querySelector("form.decide");
    if (!form) return;
    const control = form.querySelector('[data-key="' + CSS.escape(e.key) + '"]');
    if (!control) return;
    e.preventDefault();
    if (control.tagName === "DETAILS") {
      control.open = true;
      control.querySelector("select, input").focus();
    } else {
      save(flip, form, control.value);
    }
  });
})();
