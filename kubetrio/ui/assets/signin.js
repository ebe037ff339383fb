"use strict";
(() => {
  const KEY = "kubetrio.token", FROM = /^(import|export)\s+(?:[^"']*?\sfrom\s+)?"\.\/([\w.-]+)";?$/gm;
  const $ = (id) => document.getElementById(id);
  const door = document.body.dataset.door, main = document.querySelector("main");
  const asked = (name, token, options) => fetch(name, { ...options, cache: "no-cache", credentials: "omit", redirect: "error",
    headers: { ...(options && options.headers), ...(token && { Authorization: "Bearer " + token }) } });

  // Modules have no headers: they are fetched with the token, and named by what they are here.
  const urls = new Map();
  function module(name, token) {
    if (!urls.has(name)) urls.set(name, load(name, token));
    return urls.get(name);
  }
  async function load(name, token) {
    const text = await (await asked(name, token)).text();
    const needs = [...new Set([...text.matchAll(FROM)].map((found) => found[2]))];
    const made = new Map(await Promise.all(needs.map(async (one) => [one, await module(one, token)])));
    const whole = text.replace(FROM, (line, _, one) => line.replace("./" + one, made.get(one)));
    return URL.createObjectURL(new Blob([whole], { type: "text/javascript" }));
  }
  async function open(token) {
    const [style, code] = await Promise.all([asked("style.css", token).then((answer) => answer.text()), module("main.js", token)]);
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    const { start } = await import(code);
    document.adoptedStyleSheets = [sheet];
    document.querySelector("style").remove();
    start();
  }
  const SAID = { 401: "The server does not know this token.", 403: "This user may not open the pages: they need get on /ui/*." };
  async function enter(token) {
    const answer = await asked("about", token);
    if (!answer.ok) throw new Error(SAID[answer.status] || "The server answered " + answer.status + ".");
    sessionStorage.setItem(KEY, token);
    await open(token);
  }
  async function exchange(code) {
    const answer = await asked("once", "", { method: "POST", body: code, headers: { "Content-Type": "text/plain" } });
    if (!answer.ok) throw new Error("This link was used before, or is too old. Run kubetrio ui again.");
    return (await answer.json()).token;
  }
  function show(error) {
    main.hidden = false;
    if (door === "once") {
      $("how").textContent = "Open the link that kubetrio ui printed, or type the code at its end.";
      $("what").textContent = "Code";
    } else $("how").textContent = "Type a bearer token, such as kubetrio token create prints.";
    $("trouble").textContent = error ? error.message : "";
    $("token").focus();
  }
  document.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const typed = $("token").value.trim();
    try { await enter(door === "once" ? await exchange(typed) : typed); } catch (error) { show(error); }
  });
  (async () => {
    const code = (/^#once=([\w-]+)$/.exec(location.hash) || [])[1];
    if (code) history.replaceState(null, "", location.pathname);  // out of the address bar and the history
    try {
      if (code) await enter(await exchange(code));
      else if (sessionStorage.getItem(KEY)) await enter(sessionStorage.getItem(KEY));
      else show(null);
    } catch (error) { sessionStorage.removeItem(KEY); show(error); }
  })();
})();
