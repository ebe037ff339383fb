"use strict";
(() => {
  const KEY = "kubetrio.token";
  const $ = (id) => document.getElementById(id);
  const door = document.body.dataset.door, main = document.querySelector("main");
  const asked = (name, token, options) => fetch(name, { ...options, cache: "no-cache", credentials: "omit", redirect: "error",
    headers: { ...(options && options.headers), ...(token && { Authorization: "Bearer " + token }) } });

  // Modules have no headers: style and script are fetched with the token, and the script is named by what it is here.
  async function open(files) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(files["style.css"]);
    document.adoptedStyleSheets = [sheet];
    document.querySelector("style").remove();
    for (const one of document.body.children) one.hidden = true;  // in the other style it would stand elsewhere
    await import(URL.createObjectURL(new Blob([files["all.js"]], { type: "text/javascript" })));
  }
  const SAID = { 401: "The server does not know this token.", 403: "This user may not open the pages: they need get on /ui/*." };
  async function enter(token) {
    const answer = await asked("all.json", token);
    if (!answer.ok) throw new Error(SAID[answer.status] || "The server answered " + answer.status + ".");
    sessionStorage.setItem(KEY, token);
    await open(await answer.json());
  }
  async function exchange(code) {
    const answer = await asked("once", "", { method: "POST", body: code, headers: { "Content-Type": "text/plain" } });
    if (!answer.ok) throw new Error("This link was used before, or is too old. Run kubetrio ui again.");
    return (await answer.json()).token;
  }
  function show(error) {
    main.hidden = false;
    $("opening").hidden = true;
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
    $("opening").hidden = !code && !sessionStorage.getItem(KEY);
    try {
      if (code) await enter(await exchange(code));
      else if (sessionStorage.getItem(KEY)) await enter(sessionStorage.getItem(KEY));
      else show(null);
    } catch (error) { sessionStorage.removeItem(KEY); show(error); }
  })();
})();
