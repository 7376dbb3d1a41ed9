package io.jenkins.plugins.preemptible.engine.compat;

/** The parts of docs/compatibility.md, in their order. */
public enum Part {
    PROGRAMS("Programs"),
    KERNEL_RESOURCES("Kernel resources");

    final String title;

    Part(String title) {
        this.title = title;
    }
}
