package io.jenkins.plugins.preemptible.engine.bench;

import java.util.List;

/**
 * What one benchmark found.
 *
 * @param question in one sentence, with what is compared
 * @param notes what a reader has to know besides, each a sentence; why something was not measured
 */
public record Result(String name, String question, List<Row> rows, List<Plot> plots, List<String> notes) {

    public Result {
        rows = List.copyOf(rows);
        plots = List.copyOf(plots);
        notes = List.copyOf(notes);
    }
}
