package io.jenkins.plugins.preemptible.engine.zdtm;

import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Verdict;
import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Way;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The results as a section of docs/compatibility.md: how many of each class, and every test that is not a pass.
 *
 * <p>Pure: the order of the results does not show.
 */
record ZdtmTable(Collection<ZdtmResult> results) {

    List<String> markdown() {
        Map<String, Map<Way, ZdtmResult>> tests = new TreeMap<>();
        results.forEach(r -> tests.computeIfAbsent(r.test(), t -> new TreeMap<>()).put(r.way(), r));
        List<String> lines = new ArrayList<>(List.of(
                "## CRIU's own tests (ZDTM): " + counts(Way.LOCAL),
                "",
                "Written by `./preempt compat --zdtm`. Each test is a stage as root, in a network namespace without a way"
                        + " out; it is suspended,",
                "resumed, and looks then whether all is as it was. *Plain criu* is the same machine without the engine, with"
                        + " the options that",
                "the suite asks for. Tests that pass everywhere are only counted."));
        for (Way way : List.of(Way.ARCHIVE, Way.TWICE)) {
            if (results.stream().anyMatch(r -> r.way() == way)) {
                lines.add((way == Way.ARCHIVE ? "Of those that pass, from the sealed archive: " : "Suspended twice in a row: ")
                        + counts(way) + ".");
            }
        }
        lines.addAll(List.of("", "| test | class | reason | not suspended | plain criu |", "| --- | --- | --- | --- | --- |"));
        tests.forEach((test, ways) -> ways.values().stream()
                .filter(r -> r.way() != Way.UNDISTURBED && r.way() != Way.PLAIN && r.verdict() != Verdict.PASS)
                .findFirst()
                .ifPresent(bad -> lines.add(row(test, bad, ways))));
        return lines;
    }

    private static String row(String test, ZdtmResult bad, Map<Way, ZdtmResult> ways) {
        String title = bad.verdict().title + (bad.way() == Way.LOCAL ? "" : ", " + bad.way().title);
        return "| " + String.join(" | ", test, title, cell(bad.reason()), outcome(ways.get(Way.UNDISTURBED)),
                outcome(ways.get(Way.PLAIN))) + " |";
    }

    private static String outcome(ZdtmResult result) {
        return Optional.ofNullable(result)
                .map(r -> r.verdict() == Verdict.PASS ? "PASS" : r.verdict().title + ": " + cell(r.reason()))
                .orElse("");
    }

    private static String cell(String text) {
        return text.replace("|", "\\|").replace("<", "&lt;");
    }

    /** Such as {@code 391 tests: 340 PASS, 27 REFUSED}. */
    String counts(Way way) {
        List<ZdtmResult> own = results.stream().filter(r -> r.way() == way).toList();
        return own.size() + " tests: " + Arrays.stream(Verdict.values())
                .filter(v -> own.stream().anyMatch(r -> r.verdict() == v))
                .map(v -> own.stream().filter(r -> r.verdict() == v).count() + " " + v.title)
                .collect(Collectors.joining(", "));
    }
}
