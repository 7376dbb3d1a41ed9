// Fetches the page anew every few seconds and puts in what has changed: without it, the page is as it was when it was
// loaded. Nothing is replaced while somebody has the keyboard's focus in it.
(function () {
  const PERIOD_MILLIS = 5000;
  const selector = "[data-preemptible-live]";

  async function update() {
    const shown = document.querySelectorAll(selector);
    if (document.hidden || shown.length === 0) {
      return;
    }
    const response = await fetch(window.location.href, { headers: { Accept: "text/html" } });
    if (!response.ok) {
      return;
    }
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    shown.forEach((part) => {
      const name = part.getAttribute("data-preemptible-live");
      const next = fresh.querySelector(`[data-preemptible-live="${CSS.escape(name)}"]`);
      if (next && next.innerHTML !== part.innerHTML && !part.contains(document.activeElement)) {
        part.replaceChildren(...next.childNodes);
      }
    });
  }

  function again() {
    update()
      .catch(() => {
        // The controller restarts, or the network is away: the next attempt tells.
      })
      .finally(() => setTimeout(again, PERIOD_MILLIS));
  }

  setTimeout(again, PERIOD_MILLIS);
})();
