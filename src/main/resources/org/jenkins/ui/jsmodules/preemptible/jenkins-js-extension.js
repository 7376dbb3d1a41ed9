// The badges of suspended stages in Blue Ocean 1.27. Blue Ocean loads this file at the first use of one of its extension
// points; without Blue Ocean nobody asks for it. It is written for the browser as it is: no bundler, no npm, no network.
//
// 1. One timer for all badges of a page asks preemptible/api/json what is suspended, as far as the user may see it.
// 2. A badge in the run's header and one in each row of the activity list say which stages of that run are suspended.
// 3. Below the graph there is a line for each of them, and on the graph a pause mark beside its name.
(function () {
  "use strict";

  const ID = "preemptible";
  const MODULE = "jenkins-js-extension";
  const PERIOD_MILLIS = 5000;
  const MOST = 2000;
  const FIELDS = "id,stage,job,build,sinceMillis,reason,preemptor,preemptorUrl,frozen,memoryOnly,thawByMillis,imageBytes,decision[sentence]";
  const SUSPENDED = "io.jenkins.plugins.preemptible.view.SuspendedStageAction";

  const spaces = window.jenkinsCIGlobal.plugins;

  function shared(name) {
    const module = (spaces[name] || {})[`${name}@any`];
    if (!module) {
      throw new Error(`Blue Ocean offers no ${name}`);
    }
    return module.exports;
  }

  // Blue Ocean waits for this, and blocks the extension point if it never comes.
  function loaded() {
    const space = (spaces[ID] = spaces[ID] || { globalNS: false });
    space[MODULE] = { exports: {} };
    const loading = (space.loadingModules || {})[MODULE] || {};
    loading.loaded = true;
    (loading.waitList || []).forEach((waiting) => {
      clearTimeout(waiting.timeoutObj);
      waiting.resolve(space[MODULE].exports);
    });
  }

  function register() {
    const React = shared("react");
    const store = shared("jenkins-cd-js-extensions").store;
    const element = React.createElement;
    const root = document.getElementsByTagName("head")[0].getAttribute("data-rooturl") || "";

    const watchers = new Set();
    let known = [];
    let timer = null;

    function ask() {
      timer = null;
      const asked = document.hidden
        ? Promise.resolve()
        : fetch(`${root}/preemptible/api/json?tree=suspended[${FIELDS}]&count=${MOST}`, { credentials: "same-origin" })
            .then((response) => (response.ok ? response.json() : { suspended: [] }))
            .then((state) => {
              known = state.suspended || [];
              watchers.forEach((watcher) => watcher(known));
            });
      asked
        .catch(() => {
          // The controller restarts, or the network is away: the next attempt tells.
        })
        .then(() => {
          if (watchers.size > 0 && timer === null) {
            timer = setTimeout(ask, PERIOD_MILLIS);
          }
        });
    }

    function watch(watcher) {
      watchers.add(watcher);
      watcher(known);
      if (timer === null) {
        timer = setTimeout(ask, 0);
      }
      return () => watchers.delete(watcher);
    }

    function span(sinceMillis) {
      const seconds = Math.max(0, Math.round((Date.now() - sinceMillis) / 1000));
      if (seconds < 60) {
        return `${seconds} s`;
      }
      const minutes = Math.floor(seconds / 60);
      return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
    }

    function size(bytes) {
      return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${Math.round(bytes / 1e6)} MB`;
    }

    function kept(stage) {
      if (stage.thawByMillis > 0) {
        return `It cannot be dumped: it is frozen in memory only, at most until ${new Date(stage.thawByMillis).toLocaleTimeString()}.`;
      }
      if (stage.memoryOnly) {
        return "It stays in the agent\u2019s memory.";
      }
      return stage.frozen ? "It is in the agent\u2019s memory until its image is sealed." : `Its image has ${size(stage.imageBytes)}.`;
    }

    function short(stage) {
      return `Suspended ${span(stage.sinceMillis)}${stage.preemptor ? `, for ${stage.preemptor}` : ""}`;
    }

    function long(stage) {
      const expected = stage.decision ? ` ${stage.decision.sentence}` : "";
      const since = new Date(stage.sinceMillis).toLocaleTimeString();
      return `Stage \u201c${stage.stage}\u201d, suspended since ${since}: ${stage.reason} ${kept(stage)}${expected}`;
    }

    function pill(stage) {
      const content = { key: stage.id, className: "preemptible-badge", title: long(stage) };
      const text = short(stage);
      return stage.preemptorUrl
        ? element("a", Object.assign({ href: `${root}/${stage.preemptorUrl}` }, content), text)
        : element("span", content, text);
    }

    // Full name of the job and number of the run: its address in the REST data has both, encoded.
    function runId(run) {
      const parts = run._links.self.href.split("/").filter(Boolean);
      const names = [];
      for (let i = 0; i < parts.length - 1; i++) {
        if (parts[i] === "pipelines" || parts[i] === "branches") {
          names.push(decodeURIComponent(parts[i + 1]));
        }
      }
      return `${names.join("/")} #${run.id}`;
    }

    // A component that shows the suspended stages of one run, which `id` finds once it is on the page.
    function badges(id, render, after) {
      return React.createClass({
        getInitialState() {
          return { stages: [] };
        },
        componentDidMount() {
          const run = id(this);
          this.unwatch = watch((all) => this.setState({ stages: all.filter((stage) => stage.build === run) }));
        },
        componentDidUpdate() {
          if (after) {
            after(this);
          }
        },
        componentWillUnmount() {
          this.unwatch();
        },
        render() {
          return render(this);
        },
      });
    }

    const RunBadge = badges(
      (badge) => runId(badge.props.run),
      (badge) => element("span", { className: "preemptible-run", role: "status" }, badge.state.stages.map(pill)),
    );

    // The extension point gives nothing: the row that the badge stands in has a link to the run.
    function runOfRow(badge) {
      let row = badge.place;
      while (row && !(row.getAttribute && row.getAttribute("data-runid"))) {
        row = row.parentNode;
      }
      const link = row && row.querySelector('a[href*="/detail/"]');
      if (!link) {
        return "";
      }
      const path = link.getAttribute("href").split("/organizations/")[1].split("/");
      const name = decodeURIComponent(path[1]);
      const branch = row.hasAttribute("data-branch") ? `/${decodeURIComponent(path[3])}` : "";
      return `${name}${branch} #${row.getAttribute("data-runid")}`;
    }

    const ActivityBadge = badges(runOfRow, (badge) =>
      element(
        "span",
        {
          className: "preemptible-activity",
          role: "status",
          ref: (place) => {
            badge.place = place || badge.place;
          },
        },
        badge.state.stages.map((stage) =>
          // The cell has room for a sign only.
          element(
            "span",
            { key: stage.id, className: "preemptible-badge", role: "img", title: `${short(stage)}. ${long(stage)}`, "aria-label": short(stage) },
          ),
        ),
      ),
    );

    // Lays a mark over the graph, beside the name of each stage that the nodes' data tells to be suspended.
    function mark(component) {
      const graph = document.querySelector(".PWGx-PipelineGraph-container");
      if (!graph) {
        return;
      }
      graph.querySelectorAll(".preemptible-mark").forEach((old) => old.remove());
      if (component.state.stages.length === 0) {
        return;
      }
      fetch(`${root}${component.props.run._links.self.href}nodes/?limit=10000`, { credentials: "same-origin" })
        .then((response) => (response.ok ? response.json() : []))
        .then((nodes) => {
          graph.querySelectorAll(".preemptible-mark").forEach((old) => old.remove());
          const names = nodes
            .filter((node) => (node.actions || []).some((action) => action._class === SUSPENDED))
            .map((node) => node.displayName);
          // The labels' own parent is centered later than it is drawn: marks in it move along.
          const drawing = graph.querySelector(".PWGx-PipelineGraph") || graph;
          const frame = drawing.getBoundingClientRect();
          graph.querySelectorAll(".TruncatingLabel").forEach((label) => {
            if (!names.includes(label.textContent)) {
              return;
            }
            // The label is wider than its text, and a long name has several lines.
            const text = document.createRange();
            text.selectNodeContents(label);
            const place = Array.from(text.getClientRects()).pop();
            const sign = document.createElement("span");
            sign.className = "preemptible-mark";
            sign.title = component.state.stages.map(long).join("\n");
            sign.setAttribute("role", "img");
            sign.setAttribute("aria-label", sign.title);
            sign.style.left = `${place.right - frame.left + drawing.scrollLeft}px`;
            sign.style.top = `${place.top - frame.top}px`;
            drawing.classList.add("preemptible-graph");
            drawing.appendChild(sign);
          });
        })
        .catch(() => {
          // The lines below the graph tell the same.
        });
    }

    const StageBadges = badges(
      (component) => runId(component.props.run),
      (component) =>
        element(
          "div",
          { className: "preemptible-stages", role: "status" },
          component.state.stages.map((stage) =>
            element("div", { key: stage.id }, pill(stage), ` ${long(stage)}`),
          ),
        ),
      mark,
    );

    const components = {
      RunBadge: ["jenkins.blueocean.rundetails.top.widgets", RunBadge],
      StageBadges: ["jenkins.pipeline.run.result", StageBadges],
      ActivityBadge: ["jenkins.pipeline.activity.list.action", ActivityBadge],
    };
    Object.keys(components).forEach((name) => {
      store._registerComponentInstance(components[name][0], ID, name, components[name][1]);
    });
    store._onPluginComponentRegistrationComplete(ID);
  }

  try {
    register();
  } catch (x) {
    console.warn("Suspended stages are not shown in Blue Ocean.", x);
  } finally {
    loaded();
  }
})();
