// Many lines: those of a part that is seen are elements, the other parts are one text each.
// Lines are not wrapped, so that a part has its height before it is drawn; the search of the browser finds all.

import { add, h } from "./dom.js";

const AT_ONCE = 1000, PART = 250, LINE_PX = 12.5 * 1.55, MARGIN = "800px";

const waiting = new WeakMap();  // what draws a part, until it was seen
const seen = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    waiting.get(target)();
  }
}, { rootMargin: MARGIN });

// element(one): draws one of a list.  text(one): its text alone.
export function drawLines(box, list, element, text) {
  if (list.length <= AT_ONCE) return add(box, list.map(element));
  for (let i = 0; i < list.length; i += PART) {
    const some = list.slice(i, i + PART), part = h("div", { class: "part plain" }, some.map(text).join("\n"));
    part.style.containIntrinsicBlockSize = "auto " + some.length * LINE_PX + "px";
    waiting.set(part, () => {
      part.className = "part";
      part.replaceChildren();
      add(part, some.map(element));
    });
    seen.observe(part);
    box.append(part);
  }
  return box;
}
