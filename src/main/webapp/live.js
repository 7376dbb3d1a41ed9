// Fetches the page anew every few seconds and puts in what has changed: without it, the page is as it was when it was
// loaded. Nothing is replaced while somebody has the keyboard's focus in it or has selected some of its text.
(function () {
  const PERIOD_MILLIS = 5000;
  const GONE = 404;

  function read(part, selector, property) {
    return Array.from(part.querySelectorAll(selector), function (element) {
      return element[property];
    });
  }

  function write(part, selector, property, values) {
    part.querySelectorAll(selector).forEach(function (element, i) {
      if (i < values.length) {
        element[property] = values[i];
      }
    });
  }

  function inUse(part) {
    const selection = window.getSelection();
    return (
      part.contains(document.activeElement) ||
      (selection !== null && !selection.isCollapsed && selection.containsNode(part, true))
    );
  }

  function replace(part, fresh) {
    const name = part.getAttribute("data-preemptible-live");
    const next = fresh.querySelector('[data-preemptible-live="' + name + '"]');
    if (!next || inUse(part)) {
      return;
    }
    // What the reader has unfolded and scrolled stays so.
    write(next, "details", "open", read(part, "details", "open"));
    if (next.innerHTML === part.innerHTML) {
      return;
    }
    // Only what is on the page can be scrolled.
    const scrolled = read(part, ".preemptible-scrolls", "scrollLeft");
    part.replaceWith(next);
    write(next, ".preemptible-scrolls", "scrollLeft", scrolled);
  }

  function tellGone(part) {
    const told = document.createElement("p");
    told.setAttribute("role", "alert");
    told.textContent = part.getAttribute("data-preemptible-gone");
    part.before(told);
  }

  // Whether there is anything to come.
  function update() {
    const shown = document.querySelectorAll("[data-preemptible-live]");
    if (document.hidden || shown.length === 0) {
      return Promise.resolve(shown.length > 0);
    }
    return fetch(window.location.href, { headers: { Accept: "text/html", "X-Preemptible-Anew": "1" } }).then(function (response) {
      if (response.status === GONE && shown[0].hasAttribute("data-preemptible-gone")) {
        tellGone(shown[0]);
        return false;
      }
      if (!response.ok) {
        return true;
      }
      return response.text().then(function (text) {
        const fresh = new DOMParser().parseFromString(text, "text/html");
        shown.forEach(function (part) {
          replace(part, fresh);
        });
        return true;
      });
    });
  }

  function again() {
    update()
      .catch(function () {
        // The controller restarts, or the network is away: the next attempt tells.
        return true;
      })
      .then(function (more) {
        if (more) {
          setTimeout(again, PERIOD_MILLIS);
        }
      });
  }

  setTimeout(again, PERIOD_MILLIS);
})();
