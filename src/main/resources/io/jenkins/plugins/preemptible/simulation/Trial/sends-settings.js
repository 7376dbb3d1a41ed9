// Jenkins' button for validation sends single fields only. Before it does, this puts the whole section of the page, as it
// would be saved, into one of them.
Behaviour.specify(".preemptible-trial", "preemptible-trial", 0, function (trial) {
  const settings = trial.querySelector("input[name='_.settings']");

  trial.addEventListener(
    "click",
    function (event) {
      if (!event.target.closest("button.validate-button")) {
        return;
      }
      const form = trial.closest("form");
      const json = form.elements["json"];
      const before = json.value;
      buildFormTree(form);
      const section = JSON.parse(json.value)[trial.dataset.section];
      json.value = before;
      settings.value = JSON.stringify(section);
    },
    // On the way down to the button, whose own listener sends it.
    true,
  );

  trial.addEventListener("click", function () {
    // Sent by now; it is no part of what is saved.
    settings.value = "";
  });
});
