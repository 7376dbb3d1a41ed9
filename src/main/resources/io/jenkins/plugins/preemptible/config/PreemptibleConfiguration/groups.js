// A field that is refused must be seen: a browser cannot show its bubble in a folded group, nor Jenkins its sentence.
Behaviour.specify("details.preemptible-group", "preemptible-group", 0, function (group) {
  function open() {
    group.open = true;
  }

  new MutationObserver(function () {
    if (group.querySelector(".validation-error-area .error")) {
      open();
    }
  }).observe(group, { childList: true, subtree: true });
  // It does not bubble.
  group.addEventListener("invalid", open, true);
});
