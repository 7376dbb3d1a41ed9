package io.jenkins.plugins.preemptible.engine.compat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How the classes of the engine's tests ended in one guest, by the lines that stock-counts prints.
 *
 * <ol>
 *   <li>The guest names all classes, before the first runs; the last such list holds.
 *   <li>Tests that did not pass come before the line of their class. A class that ran again replaces what it said before.
 *   <li>A class without a line of its own has not run.
 * </ol>
 */
final class StockClasses {

    private static final Pattern LIST = Pattern.compile("classes (.+)");
    private static final Pattern CLASS =
            Pattern.compile("class (\\S+): (\\d+) passed, (\\d+) failed, (\\d+) skipped, (all|cut off) in (\\d+) s");
    private static final Pattern TEST = Pattern.compile("(failed|skipped|cut off) (\\S+) > (.*?): (.*)");

    static final String NOT_RUN = "not run";

    /** A test that did not pass. */
    record Test(String owner, String name, String outcome, String reason) {}

    private record Counts(int passed, int failed, int skipped, boolean isWhole, List<Test> others) {

        String words() {
            List<String> words = new ArrayList<>();
            if (failed > 0) {
                words.add("**" + failed + " failed**");
            }
            if (passed > 0) {
                words.add(passed + " passed");
            }
            if (skipped > 0) {
                words.add(skipped + " skipped");
            }
            if (!isWhole) {
                words.add("cut off");
            }
            return words.isEmpty() ? "no test" : String.join(", ", words);
        }
    }

    private final Map<String, Counts> classes = new LinkedHashMap<>();
    private final List<Test> pending = new ArrayList<>();

    /** Takes one line of the guest, without what each begins with. */
    void read(String said) {
        Matcher list = LIST.matcher(said);
        Matcher test = TEST.matcher(said);
        Matcher counts = CLASS.matcher(said);
        if (list.matches()) {
            pending.clear();
            Map<String, Counts> before = new HashMap<>(classes);
            classes.clear();
            for (String name : list.group(1).split(" +")) {
                classes.put(name, before.get(name));
            }
        } else if (counts.matches()) {
            classes.put(
                    counts.group(1),
                    new Counts(
                            Integer.parseInt(counts.group(2)),
                            Integer.parseInt(counts.group(3)),
                            Integer.parseInt(counts.group(4)),
                            counts.group(5).equals("all"),
                            List.copyOf(pending)));
            pending.clear();
        } else if (test.matches()) {
            pending.add(new Test(test.group(2), test.group(3), test.group(1), test.group(4)));
        }
    }

    /** Whether any class has run. */
    boolean hasRun() {
        return classes.values().stream().anyMatch(counts -> counts != null);
    }

    /** Each class, in the order in which they are to run, with its counts in words. */
    Map<String, String> cells() {
        Map<String, String> cells = new LinkedHashMap<>();
        classes.forEach((name, counts) -> cells.put(name, counts == null ? NOT_RUN : counts.words()));
        return cells;
    }

    /** The tests that did not pass. */
    List<Test> others() {
        List<Test> all = new ArrayList<>();
        for (Counts counts : classes.values()) {
            if (counts != null) {
                all.addAll(counts.others());
            }
        }
        return all;
    }
}
