// Fetches the page anew every few seconds and puts in what has changed: without it, the page is as it was when it was
// loaded. Nothing is replaced while somebody has the keyboard's focus in it.
(function () {
  const PERIOD_MILLIS = 5000;

  function update() {
    const shown = document.querySelectorAll("[data-preemptible-live]");
    if (document.hidden || shown.length === 0) {
      return Promise.resolve();
    }
    return fetch(window.location.href, { headers: { Accept: "text/html" } })
      .then(function (response) {
        return response.ok ? response.text() : "";
      })
      .then(function (text) {
        const fresh = new DOMParser().parseFromString(text, "text/html");
        shown.forEach(function (part) {
          const name = part.getAttribute("data-preemptible-live");
          const next = fresh.querySelector('[data-preemptible-live="' + name + '"]');
          if (next && next.innerHTML !== part.innerHTML && !part.contains(document.activeElement)) {
            part.replaceWith(next);
          }
        });
      });
  }

  function again() {
    update()
      .catch(function () {
        // The controller restarts, or the network is away: the next attempt tells.
      })
      .then(function () {
        setTimeout(again, PERIOD_MILLIS);
      });
  }

  setTimeout(again, PERIOD_MILLIS);
})();
