package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;

/** Two instances of AFL++ that fuzz one program, each until it has run that so many times. */
final class Fuzzers {

    private static final Pattern PROGRESS =
            Pattern.compile("^progress one=(\\d+) two=(\\d+) alive=(\\d+)$", Pattern.MULTILINE);
    private static final Pattern END = Pattern.compile("^at the end (\\w+)=(\\d+) of (\\d+)$", Pattern.MULTILINE);
    /** As in fuzz.sh. */
    private static final long EXECUTIONS = 2_500;

    private Fuzzers() {}

    /** Skips the test where they are not installed. */
    static void assumeInstalled() {
        Rig.assumeInstalled("afl-fuzz", "afl++");
        Rig.assumeInstalled("afl-cc", "afl++");
    }

    /** Steps that fuzz until the limit of executions, and say once a second how far they are. */
    static String steps() throws IOException {
        String script = resource("fuzz.sh");
        return "writeFile file: 'target.c', text: '''" + resource("target.c").replace("\\", "\\\\") + "'''\n"
                + "writeFile file: 'fuzz.sh', text: '''" + script.replace("\\", "\\\\") + "'''\n"
                + "sh 'sh ./fuzz.sh'\n";
    }

    private static String resource(String name) throws IOException {
        try (var in = Fuzzers.class.getResourceAsStream(name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** Waits until both instances live and have gone further than that. */
    static void awaitProgress(WorkflowRun run, long[] beyond) {
        await("both instances beyond " + beyond[0] + " and " + beyond[1])
                .atMost(Duration.ofMinutes(3))
                .pollInterval(Duration.ofMillis(200))
                .until(() -> progress(run).stream().anyMatch(p -> p[0] > beyond[0] && p[1] > beyond[1] && p[2] == 2));
    }

    /** How far they were when they last said so. */
    static long[] last(WorkflowRun run) throws IOException {
        List<long[]> said = progress(run);
        return said.get(said.size() - 1);
    }

    private static List<long[]> progress(WorkflowRun run) throws IOException {
        List<long[]> lines = new ArrayList<>();
        Matcher line = PROGRESS.matcher(Rig.log(run));
        while (line.find()) {
            lines.add(new long[] {
                Long.parseLong(line.group(1)), Long.parseLong(line.group(2)), Long.parseLong(line.group(3))
            });
        }
        return lines;
    }

    /** A fuzzer that was started anew would have counted fewer executions than its target. */
    static void assertCountedOn(WorkflowRun run) throws IOException {
        Matcher end = END.matcher(Rig.log(run));
        int instances = 0;
        while (end.find()) {
            instances++;
            long own = Long.parseLong(end.group(2));
            long target = Long.parseLong(end.group(3));
            assertTrue(own >= EXECUTIONS, end.group());
            // A run for the target's map size and the like is not counted by the fuzzer.
            assertTrue(Math.abs(target - own) <= 10, end.group());
        }
        assertEquals(2, instances);
    }
}
