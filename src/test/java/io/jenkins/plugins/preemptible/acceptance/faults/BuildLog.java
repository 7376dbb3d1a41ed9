package io.jenkins.plugins.preemptible.acceptance.faults;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/** The log of a build whose stage counts, as it lies on the controller's disk. */
record BuildLog(Path file) {

    private static final Pattern COUNT = Pattern.compile("^(?:\\[\\w+] )?count-(\\d+)$", Pattern.MULTILINE);
    /** Lines of the plugin's in the middle of one of the step's: Pipeline writes down what it reads, which may end anywhere. */
    private static final Pattern AMID = Pattern.compile("(?<=[^\n])(?:\\[preemptible\\] [^\n]*\n)+");
    /** Jenkins' own notes, which are no text. */
    private static final Pattern NOTE = Pattern.compile("\u001b\\[8mha:.*?\u001b\\[0m");

    static BuildLog of(Path jenkinsHome, String job, int number) {
        return new BuildLog(jenkinsHome
                .resolve("jobs")
                .resolve(job)
                .resolve("builds")
                .resolve(Integer.toString(number))
                .resolve("log"));
    }

    /** Empty as long as there is none. */
    String text() throws IOException {
        return Files.exists(file)
                ? NOTE.matcher(Files.readString(file, StandardCharsets.UTF_8)).replaceAll("")
                : "";
    }

    /** The numbers in it, in their order. */
    List<Integer> counts() throws IOException {
        return counts(text());
    }

    static List<Integer> counts(String text) {
        return COUNT.matcher(AMID.matcher(text).replaceAll(""))
                .results()
                .map(line -> Integer.valueOf(line.group(1)))
                .toList();
    }
}
