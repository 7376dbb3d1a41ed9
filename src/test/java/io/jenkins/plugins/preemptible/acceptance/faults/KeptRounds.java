package io.jenkins.plugins.preemptible.acceptance.faults;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * A file of rounds below docs, a line of JSON each: appended, so that a run that is cut off counts.
 *
 * @param <L> a record
 * @param ended when a round was over, in milliseconds since 1970: by this they are sorted
 */
record KeptRounds<L>(Path file, Class<L> type, ToLongFunction<L> ended) {

    private static final ObjectMapper JSON = new ObjectMapper();

    /** What is tried: the commit's name. */
    static String commit() {
        HostTool.Answer described = HostTool.run(10, List.of("git", "rev-parse", "--short", "HEAD"));
        return described.ok() ? described.text().strip() : "unknown";
    }

    void add(L line) throws IOException {
        Files.writeString(
                file, JSON.writeValueAsString(line) + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    /** All that are kept, by the time they ended. */
    List<L> read() throws IOException {
        List<L> lines = new ArrayList<>();
        for (String text : Files.readAllLines(file)) {
            lines.add(JSON.readValue(text, type));
        }
        lines.sort(Comparator.comparingLong(ended));
        return lines;
    }
}
