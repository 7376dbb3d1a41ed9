package io.jenkins.plugins.preemptible.engine.zdtm;

import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Verdict;
import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Way;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
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
        results.forEach(
                r -> tests.computeIfAbsent(r.test(), t -> new TreeMap<>()).put(r.way(), r));
        List<String> lines = new ArrayList<>(List.of(
                "## CRIU's own tests (ZDTM): " + counts(Way.LOCAL),
                "",
                "Written by `./preempt compat --zdtm`. Each test is a stage as root, in a network namespace without a way"
                        + " out; it is suspended,",
                "resumed, and looks then whether all is as it was. *REFUSED*: before anything was stopped; *when frozen*: by"
                        + " CRIU, or by the trial",
                "of the image; either way it ran on and passed. What fails is run again, without a suspension and by *plain"
                        + " criu*: the same",
                "machine without the engine, with the options that the suite asks for. Tests that pass everywhere are only"
                        + " counted."));
        for (Way way : List.of(Way.ARCHIVE, Way.TWICE)) {
            if (results.stream().anyMatch(r -> r.way() == way)) {
                lines.add((way == Way.ARCHIVE
                                ? "Of those that pass, from the sealed archive: "
                                : "Suspended twice in a row: ")
                        + counts(way) + ".");
            }
        }
        lines.addAll(List.of(
                "", "| test | class | reason | not suspended | plain criu |", "| --- | --- | --- | --- | --- |"));
        tests.forEach((test, ways) -> ways.values().stream()
                .filter(r -> isStage(r.way())
                        && !(r.verdict() == Verdict.PASS && r.reason().isEmpty()))
                .findFirst()
                .ifPresent(told -> lines.add(row(test, told, ways))));
        return lines;
    }

    private static boolean isStage(Way way) {
        return way != Way.UNDISTURBED && way != Way.PLAIN;
    }

    private String row(String test, ZdtmResult told, Map<Way, ZdtmResult> ways) {
        String title = classOf(told) + (told.way() == Way.LOCAL ? "" : ", " + told.way().title);
        return "| "
                + String.join(
                        " | ",
                        test,
                        title,
                        cell(told.reason()),
                        outcome(ways.get(Way.UNDISTURBED)),
                        outcome(ways.get(Way.PLAIN)))
                + " |";
    }

    /** The verdict; of a failure also whose fault it is. */
    private String classOf(ZdtmResult result) {
        if (result.verdict() != Verdict.FAIL) {
            return result.verdict().title;
        }
        if (isVerdict(result.test(), Way.UNDISTURBED, Verdict.FAIL, Verdict.NOT_STARTED)) {
            return "FAIL without a suspension, too";
        }
        return isVerdict(result.test(), Way.PLAIN, Verdict.FAIL) ? "FAIL with plain criu, too" : Verdict.FAIL.title;
    }

    private boolean isVerdict(String test, Way way, Verdict... verdicts) {
        return results.stream()
                .anyMatch(r -> r.test().equals(test)
                        && r.way() == way
                        && List.of(verdicts).contains(r.verdict()));
    }

    /** Whether nothing was lost, and nothing failed that passes by plain criu and without a suspension. */
    boolean asItShouldBe() {
        return results.stream()
                .filter(r -> isStage(r.way()))
                .noneMatch(r -> r.verdict() == Verdict.ERROR || classOf(r).equals(Verdict.FAIL.title));
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
        Map<String, Long> classes = new LinkedHashMap<>();
        own.stream()
                .sorted(Comparator.comparing(ZdtmResult::verdict).thenComparing(this::classOf))
                .forEach(r -> classes.merge(classOf(r), 1L, Long::sum));
        return own.size() + " tests: "
                + classes.entrySet().stream()
                        .map(e -> e.getValue() + " " + e.getKey())
                        .collect(Collectors.joining(", "));
    }
}
