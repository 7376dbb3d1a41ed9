// A field that is refused must be seen: a browser cannot show its bubble in a folded group, nor Jenkins its sentence.
Behaviour.specify(
  "details.preemptible-group .validation-error-area .error",
  "preemptible-refused",
  0,
  function (error) {
    // Jenkins checks the fields of a part that is switched off, too.
    if (!error.closest(".form-container--hidden")) {
      error.closest("details.preemptible-group").open = true;
    }
  },
);

Behaviour.specify("details.preemptible-group", "preemptible-group", 0, function (group) {
  // It does not bubble.
  group.addEventListener(
    "invalid",
    function () {
      group.open = true;
    },
    true,
  );
});
