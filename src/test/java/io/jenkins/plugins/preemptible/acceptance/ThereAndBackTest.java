package io.jenkins.plugins.preemptible.acceptance;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.greaterThan;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Stages that go from agent A to B and back: all forms of {@code sh}, fuzzers, and a JVM. */
@Tag("acceptance")
@Tag("soak")
class ThereAndBackTest extends MovedStages {

    @RegisterExtension
    static final Periods PERIODS = new Periods().with("move.LeftAgent.delayMillis", 500);

    /** From the one to the other, when the stage has got on there. */
    @FunctionalInterface
    private interface GotOn {
        void await() throws Exception;
    }

    private int moves;

    private void thereAndBack(WorkflowRun stage, GotOn there, GotOn back) throws Exception {
        to(stage, "A", "B", there);
        to(stage, "B", "A", back);
    }

    private void to(WorkflowRun stage, String from, String to, GotOn gotOn) throws Exception {
        moves++;
        suspend(stage, moves);
        if (j.jenkins.getNode(to) == null) {
            hosts.connect(to);
        }
        move(to);
        Rig.awaitLog(stage, "Moved from " + from + " to " + to + " in ", (moves + 1) / 2);
        assertEquals(to, Rig.awaitState(StageState.RUNNING).node());
        gotOn.await();
        awaitClean(from);
    }

    private void touch(String agent, String name) throws IOException {
        Files.createFile(hosts.workspace(agent, "low").resolve(name));
    }

    /** A step whose output is a value, in bash, then one whose exit code is. */
    @Test
    void stepsReturnWhatTheyHaveCounted() throws Exception {
        String bash = "#!/bin/bash\nset -u\ndeclare -A seen\ni=0\nwhile [ ! -e enough-1 ]; do i=$((i+1)); seen[$i]=x;"
                + " echo count-$i >&2; sleep 0.1; done\necho \"${#seen[@]} of $i\"";
        String shell = "set +x; while [ ! -e enough-2 ]; do i=$((${i:-0}+1)); echo further-$i; sleep 0.1; done; exit 7";
        WorkflowRun stage = begin("def said = sh(script: '''" + bash + "''', returnStdout: true)\n"
                + "echo \"it said ${said.trim()}\"\n"
                + "def code = sh(script: '''" + shell + "''', returnStatus: true)\n"
                + "echo \"its exit code is $code\"\n"
                + "sh 'echo \"later on $NODE_NAME\"'");
        thereAndBack(stage, () -> Rig.awaitCounting(stage), () -> Rig.awaitCounting(stage));
        touch("A", "enough-1");
        Rig.awaitLog(stage, "\nfurther-3\n");
        thereAndBack(
                stage,
                () -> Rig.awaitLog(stage, "\nfurther-" + (last(stage) + 2) + "\n"),
                () -> Rig.awaitLog(stage, "\nfurther-" + (last(stage) + 2) + "\n"));
        touch("A", "enough-2");
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
        Rig.countedAtLeast(stage, 4);
        int counted = Rig.counts(stage).size();
        String log = Rig.log(stage);
        assertThat(log, containsString("\nit said " + counted + " of " + counted + "\n"));
        assertThat(log, containsString("\nits exit code is 7\n"));
        assertThat(log, containsString("\nlater on A\n"));
        for (int i = 1; i <= last(stage); i++) {
            assertEquals(2, log.split("\nfurther-" + i + "\n", -1).length, "further-" + i);
        }
    }

    private static int last(WorkflowRun stage) throws IOException {
        String log = Rig.log(stage);
        String from = log.substring(log.lastIndexOf("\nfurther-") + "\nfurther-".length());
        return Integer.parseInt(from.substring(0, from.indexOf('\n')));
    }

    @Test
    void fuzzersFuzzOn() throws Exception {
        Fuzzers.assumeInstalled();
        hosts.connect("A");
        WorkflowRun stage =
                Rig.start(rig.pipeline("low", 5, "preemptible(label: '" + Rig.LABEL + "') {" + Fuzzers.steps() + "}"));
        Fuzzers.awaitProgress(stage, new long[] {0, 0});
        thereAndBack(
                stage,
                () -> Fuzzers.awaitProgress(stage, Fuzzers.last(stage)),
                () -> Fuzzers.awaitProgress(stage, Fuzzers.last(stage)));
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
        assertThat(Rig.log(stage), containsString("exit codes 0 0"));
        Fuzzers.assertCountedOn(stage);
    }

    /** Its heap and its threads, one of which collects garbage all the time. */
    @Test
    void aJvmCountsOn() throws Exception {
        String java = Path.of(System.getProperty("java.home"), "bin/java").toString();
        WorkflowRun stage = begin("writeFile file: 'Counter.java', text: '''" + COUNTER + "'''\n" + "sh 'set +x; exec "
                + java + " -Xmx64m Counter.java'");
        thereAndBack(stage, () -> Rig.awaitCounting(stage), () -> Rig.awaitCounting(stage));
        touch("A", "enough");
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
        Rig.countedAtLeast(stage, 4);
        assertThat(
                Rig.log(stage),
                containsString("the heap has all " + Rig.counts(stage).size()));
        assertThat(collections(stage), greaterThan(1));
    }

    private static int collections(WorkflowRun stage) throws IOException {
        String log = Rig.log(stage);
        String from = log.substring(log.indexOf("collections: ") + "collections: ".length());
        return Integer.parseInt(from.substring(0, from.indexOf('\n')));
    }

    private static final String COUNTER = """
            import java.io.File;
            import java.lang.management.ManagementFactory;
            import java.util.concurrent.ConcurrentHashMap;

            public class Counter {
                public static void main(String[] words) throws Exception {
                    ConcurrentHashMap<Integer, byte[]> heap = new ConcurrentHashMap<>();
                    Thread garbage = new Thread(() -> {
                        while (true) {
                            byte[] none = new byte[200_000];
                            none[1] = 1;
                            try { Thread.sleep(1); } catch (InterruptedException e) { return; }
                        }
                    });
                    garbage.setDaemon(true);
                    garbage.start();
                    int i = 0;
                    while (!new File("enough").exists()) {
                        i++;
                        heap.put(i, new byte[] {(byte) i});
                        System.out.println("count-" + i);
                        Thread.sleep(100);
                    }
                    for (int each = 1; each <= i; each++) {
                        if (heap.get(each)[0] != (byte) each) {
                            throw new IllegalStateException("wrong: " + each);
                        }
                    }
                    System.out.println("the heap has all " + heap.size());
                    System.out.println("collections: " + ManagementFactory.getGarbageCollectorMXBeans().stream()
                            .mapToLong(each -> each.getCollectionCount()).sum());
                }
            }
            """;
}
