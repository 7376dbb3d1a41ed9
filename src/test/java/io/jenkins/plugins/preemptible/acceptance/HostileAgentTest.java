package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.EnvVars;
import hudson.FilePath;
import hudson.model.Executor;
import hudson.slaves.DumbSlave;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.DurableTasks;
import io.jenkins.plugins.preemptible.agent.HostileAnswers;
import io.jenkins.plugins.preemptible.agent.PresentStages;
import io.jenkins.plugins.preemptible.agent.StageOrigin;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.suspend.Suspension;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Stream;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.jvnet.hudson.test.TestExtension;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/**
 * Two agents, one of which answers whatever it likes: the other one's stages run as if there were no such agent.
 *
 * <p>The seed is printed; {@code -Dhostile.seed=…} takes the same answers again.
 */
@WithJenkins
@Tag("acceptance")
@Tag("soak")
class HostileAgentTest extends OneAgent {

    @RegisterExtension
    static final Periods PERIODS = new Periods()
            .with("lifecycle.Resumption.retryMillis", 100)
            .with("lifecycle.Resumption.outageMillis", 100)
            .with("lifecycle.Sealing.retryMillis", 100);

    private static final int ANSWERS = 10_000;
    private static final long SEED = Long.getLong("hostile.seed", System.nanoTime());

    /** What was logged by others than us and has us in its trace. */
    private final List<String> escaped = new CopyOnWriteArrayList<>();

    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord record) {
            String logger = String.valueOf(record.getLoggerName());
            if (record.getLevel().intValue() >= Level.WARNING.intValue()
                    && record.getThrown() != null
                    && !logger.startsWith("io.jenkins.plugins.preemptible")
                    && Arrays.toString(record.getThrown().getStackTrace())
                            .contains("io.jenkins.plugins.preemptible.")) {
                escaped.add(logger + ": " + record.getMessage() + " " + record.getThrown());
            }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    };

    /** Extensions of tests have to be nested in them. */
    @TestExtension
    public static final class Wrapper extends HostileAnswers.Factory {}

    private DumbSlave evil;

    @BeforeEach
    void hostileAgent() throws Exception {
        System.out.println("hostile.seed=" + SEED);
        evil = (DumbSlave) j.jenkins.getNode("evil");
        if (evil == null) {
            evil = AgentJvm.add(j, "evil", "evil", new EnvVars(HostileAnswers.VARIABLE, "yes"));
            evil.setNumExecutors(1);
            j.waitOnline(evil);
        }
        PreemptibleConfiguration.get().setImageLimitMegabytes(64);
        Logger.getLogger("").addHandler(handler);
    }

    @AfterEach
    void honestAgain() throws Exception {
        HostileAnswers.end();
        Logger.getLogger("").removeHandler(handler);
        PreemptibleConfiguration.get().setImageLimitMegabytes(0);
        PreemptibleConfiguration.get().setDiskFloorMegabytes(0);
    }

    @FunctionalInterface
    private interface Verb {
        Object call() throws Exception;
    }

    @Test
    void everyAnswerIsCheckedBeforeItIsUsed() throws Exception {
        AgentStage stage = AgentStage.on(evil, "fuzz-0123abcd");
        FilePath workspace = evil.getRootPath();
        List<Verb> verbs = List.of(
                () -> stage.open(workspace, "fuzz", false, new StageOrigin("fuzz", "fuzz#1", 0), null, List.of()),
                () -> AgentStage.rehearse(evil, true),
                () -> PresentStages.on(evil),
                stage::look,
                () -> stage.freeze(List.of(), 0),
                () -> stage.dump("key", true, false).get(),
                stage::commit,
                () -> {
                    stage.thaw();
                    return null;
                },
                stage::hold,
                () -> stage.resumeHere(LastResort.NONE),
                () -> stage.restore("key"),
                () -> stage.restoreUnstored("key"),
                () -> stage.askImage(0, 1000).get(),
                () -> {
                    stage.remove();
                    return null;
                },
                () -> {
                    DurableTasks.keepAlive(workspace, List.of());
                    return null;
                });
        HostileAnswers.begin(SEED, 0);
        long before = HostileAnswers.count();
        int values = 0;
        for (int i = 0; i < ANSWERS; i++) {
            try {
                Object answer = verbs.get(i % verbs.size()).call();
                checked(answer);
                values += answer == null ? 0 : 1;
            } catch (IOException | RuntimeException x) {
                boolean ours = x.getClass() == IOException.class
                        || x.getClass().getName().matches(".*\\.Limited\\$Verb(Failed|IO)Exception");
                assertTrue(ours, () -> "thrown at answer: " + x);
                assertTrue(PlainText.is(x.getMessage()) && x.getMessage().length() <= PlainText.LONGEST, x::getMessage);
            }
            assertFalse(Thread.currentThread().isInterrupted());
            assertTrue(HostileAnswers.count() - before > i, "the answers are replaced");
        }
        assertTrue(HostileAnswers.count() - before >= ANSWERS);
        assertTrue(values > ANSWERS / 10, "only " + values + " answers were of the right type");
    }

    private static void checked(Object answer) throws Exception {
        if (answer instanceof String text) {
            assertTrue(PlainText.is(text) && text.length() <= PlainText.LONGEST, text);
        } else if (answer instanceof List<?> list) {
            assertTrue(list.size() <= 1000);
            for (Object one : list) {
                checked(one);
            }
        } else if (answer instanceof byte[] bytes) {
            assertTrue(bytes.length <= 1000);
        } else if (answer instanceof Number number) {
            assertTrue(number.longValue() >= -1 && number.longValue() <= 1L << 50, answer.toString());
        } else if (answer instanceof EnterCommand enter) {
            assertEquals("fuzz-0123abcd", enter.stageId());
        } else if (answer instanceof Record) {
            for (RecordComponent component : answer.getClass().getRecordComponents()) {
                component.getAccessor().setAccessible(true);
                checked(component.getAccessor().invoke(answer));
            }
        }
    }

    @Test
    void otherStagesGoOn() throws Exception {
        WorkflowJob lying = rig.pipeline(
                "lying", 5, "preemptible(label: 'evil') { sh 'set +x; while :; do echo tick; sleep 0.2; done' }");
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        WorkflowJob high = rig.pipeline("high", 1, Rig.preemptor());
        WorkflowRun victim = Rig.start(low);
        Rig.awaitCounting(victim);
        Set<String> ids = ConcurrentHashMap.newKeySet();
        AtomicBoolean enough = new AtomicBoolean();
        HostileAnswers.begin(SEED, 60);
        CompletableFuture<Integer> lies = CompletableFuture.supplyAsync(() -> lieUntil(enough, lying, ids));
        for (int cycle = 1; cycle <= 3; cycle++) {
            WorkflowRun preemptor = Rig.start(high);
            j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
            Rig.awaitLog(victim, "Resumed on worker", cycle);
            Rig.awaitCounting(victim);
        }
        long before = HostileAnswers.count();
        await("more lies").atMost(Duration.ofMinutes(3)).until(() -> HostileAnswers.count() > before + 300);
        enough.set(true);
        assertTrue(lies.get() > 5, "attempts to suspend a stage of the hostile agent");
        HostileAnswers.end();
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 6);
        for (WorkflowRun run : lying.getBuilds()) {
            for (String line : Rig.log(run).lines().toList()) {
                assertFalse(line.contains("\u001b") || line.contains("\u0000"), line);
                assertFalse(line.startsWith("[preemptible] Resumed on worker"), "a forged line: " + line);
            }
        }
        await("the lying builds' end").atMost(Rig.PATIENCE).untilAsserted(() -> {
            for (WorkflowRun run : lying.getBuilds()) {
                if (run.isBuilding() && run.getExecutor() != null) {
                    run.getExecutor().interrupt();
                }
                assertFalse(run.isBuilding());
            }
        });
        for (String id : ids) {
            AgentStage.on(evil, id).remove();
        }
        Rig.assertNothingLeft(agent, low);
        assertEquals(List.of(), escaped);
        assertEquals(List.of(), strayBytes(lying));
        System.out.println(HostileAnswers.count() + " answers, "
                + lying.getBuilds().size() + " builds, " + ids.size() + " stages, " + lies.get() + " attempts");
    }

    @Test
    void anImageThatIsLargerThanAnnouncedIsRemovedAndTold() throws Exception {
        WorkflowJob low =
                rig.pipeline("low", 5, "preemptible(label: 'evil') { sh '''set +x\n" + Rig.endless() + "\n''' }");
        WorkflowJob high = rig.pipeline("high", 1, "node('evil') { sh 'sleep 8' }");
        WorkflowRun victim = Rig.start(low);
        Rig.awaitCounting(victim);
        HostileAnswers.understate();
        WorkflowRun preemptor = Rig.start(high);
        Rig.awaitLog(victim, "The image could not be archived: the agent's image has more than the ");
        assertEquals(List.of(), List.copyOf(victim.getArtifacts()), "nothing of it is kept");
        HostileAnswers.end();
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        Rig.awaitLog(victim, "Resumed on evil");
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 3);
        Rig.assertNothingLeft(evil, low);
    }

    @Test
    void anImageThatIsSaidToBeHugeIsToldAsTooLargeAndNotAsAFullDisk() throws Exception {
        // Some room is to be kept, and there is more.
        PreemptibleConfiguration.get().setDiskFloorMegabytes(1);
        WorkflowJob low =
                rig.pipeline("low", 5, "preemptible(label: 'evil') { sh '''set +x\n" + Rig.endless() + "\n''' }");
        WorkflowJob high = rig.pipeline("high", 1, "node('evil') { sh 'sleep 8' }");
        WorkflowRun victim = Rig.start(low);
        Rig.awaitCounting(victim);
        HostileAnswers.overstate();
        WorkflowRun preemptor = Rig.start(high);
        Rig.awaitLog(victim, "No image is stored. Its image has 1125899");
        assertFalse(Rig.log(victim).contains("The controller's disk has"), "it has room");
        HostileAnswers.end();
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        Rig.awaitLog(victim, "Resumed on evil");
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.assertNothingLeft(evil, low);
    }

    /** @return how often it was tried to suspend a stage of the hostile agent */
    private int lieUntil(AtomicBoolean enough, WorkflowJob lying, Set<String> ids) {
        Random random = new Random(SEED);
        int attempts = 0;
        try {
            while (!enough.get()) {
                if (lying.getLastBuild() == null || !lying.getLastBuild().isBuilding()) {
                    lying.scheduleBuild2(0).waitForStart();
                }
                for (StageRecord stage : StageRegistry.get().all()) {
                    if (stage.node().equals("evil") && LiveStage.find(stage.id()) != null) {
                        ids.add(stage.id());
                        Executor run = lying.getLastBuild().getExecutor();
                        if (stage.whyNotResumed() != null && run != null) {
                            // It would wait for a decision of people.
                            run.interrupt();
                        }
                        Pretended.hurry(stage.id());
                        Pretended.look(stage.id());
                        if (stage.state() == StageState.RUNNING) {
                            attempts++;
                            Suspension.run(
                                    stage.id(),
                                    new Suspension.Request(
                                            "a test",
                                            null,
                                            Reason.SUSPENDED_BY_HAND,
                                            () -> random.nextInt(10) > 0,
                                            () -> {}));
                        }
                    }
                }
                Thread.sleep(20);
            }
            return attempts;
        } catch (Exception x) {
            throw new IllegalStateException(x);
        }
    }

    /** Files below the controller's home with bytes of the hostile agent that are no image of its own builds. */
    private static List<Path> strayBytes(WorkflowJob lying) throws IOException {
        Path own = lying.getBuildDir().toPath();
        byte[] mark = HostileAnswers.MARK.getBytes(StandardCharsets.US_ASCII);
        List<Path> stray = new ArrayList<>();
        try (Stream<Path> files = Files.walk(j.jenkins.getRootDir().toPath())) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                boolean image = file.startsWith(own) && file.toString().contains("/archive/preemptible/");
                try (var in = Files.newInputStream(file)) {
                    if (!image && Arrays.equals(in.readNBytes(mark.length), mark)) {
                        stray.add(file);
                    }
                }
            }
        }
        return stray;
    }
}
