package io.jenkins.plugins.preemptible.engine.demo;

import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The long stage's work, and how much of it was lost.
 *
 * <ol>
 *   <li>Three processes count in memory and write every number down; a fourth holds megabytes that it checks at the
 *       end.
 *   <li>A number that is missing, repeated or out of order is work that was lost or done twice.
 *   <li>So is every number between the last one and the end.
 * </ol>
 */
final class CountedWork {

    static final int COUNTERS = 3;
    private static final int STEPS = 150;
    /** Longer on a slow host: there a suspension takes longer than all steps would. */
    private static final Duration STEP = TimeLimits.of(Duration.ofMillis(40));

    private final Path folder;

    CountedWork(Path folder) {
        this.folder = folder;
    }

    List<String> longCommand() throws IOException {
        return List.of("/bin/sh", script("long-stage.sh"), folder.toString(), Integer.toString(STEPS), secondsAStep());
    }

    private static String secondsAStep() {
        return String.format(Locale.ROOT, "%.2f", STEP.toMillis() / 1000.0);
    }

    List<String> shortCommand(String seconds) throws IOException {
        return List.of("/bin/sh", script("short-stage.sh"), folder.toString(), seconds);
    }

    private String script(String name) throws IOException {
        Path script = folder.resolve(name);
        try (InputStream resource = CountedWork.class.getResourceAsStream(name)) {
            Files.copy(resource, script, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
        }
        return script.toString();
    }

    int stepsInAll() {
        return COUNTERS * STEPS;
    }

    /** Steps written down so far. */
    int stepsDone() throws IOException {
        int done = 0;
        for (int counter = 1; counter <= COUNTERS; counter++) {
            done += numbers(counter).size();
        }
        return done;
    }

    /** The megabytes are in memory and every counter has begun. */
    boolean isInMidWork() throws IOException {
        for (int counter = 1; counter <= COUNTERS; counter++) {
            if (numbers(counter).isEmpty()) {
                return false;
            }
        }
        return Files.exists(folder.resolve("held"));
    }

    /** The bytes in memory were the same at the end as at the beginning. */
    boolean isMemoryTheSame() throws IOException {
        Path verdict = folder.resolve("memory");
        return Files.exists(verdict) && Files.readString(verdict).strip().equals("same");
    }

    /** Steps that were lost or done twice, over all counters. */
    int workLost() throws IOException {
        int lost = 0;
        for (int counter = 1; counter <= COUNTERS; counter++) {
            lost += discontinuity(numbers(counter), STEPS);
        }
        return lost;
    }

    /** How far numbers are from 1, 2, … last, each once. */
    static int discontinuity(List<Integer> numbers, int last) {
        int lost = 0;
        int before = 0;
        for (int number : numbers) {
            lost += Math.abs(number - before - 1);
            before = number;
        }
        return lost + Math.abs(last - before);
    }

    private List<Integer> numbers(int counter) throws IOException {
        Path file = folder.resolve("counter-" + counter);
        List<Integer> numbers = new ArrayList<>();
        if (Files.exists(file)) {
            for (String line : Files.readAllLines(file)) {
                numbers.add(Integer.parseInt(line.strip()));
            }
        }
        return numbers;
    }
}
