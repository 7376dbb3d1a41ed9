package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.cli.CLICommandInvoker;
import hudson.model.Executor;
import hudson.model.FreeStyleBuild;
import hudson.model.Result;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.HeldStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.queue.Preemption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.htmlunit.html.HtmlAnchor;
import org.htmlunit.html.HtmlForm;
import org.htmlunit.html.HtmlPage;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** The archive of artifacts, the agent's answer or the executor fail a stage: nothing of it is lost, nothing leaks. */
@WithJenkins
@Tag("acceptance")
class OutageTest extends OneHeldArchive {

    @RegisterExtension
    static final Periods PERIODS = new Periods()
            .with("lifecycle.Resumption.outageMillis", 10)
            .with("lifecycle.Resumption.retryMillis", 100)
            .with("lifecycle.Sealing.retryMillis", 500);

    private static final String OUTAGE = "Resume postponed: the agent or the artifact store is unavailable";

    private FreeStyleBuild preempted(String script) throws Exception {
        start(script);
        return preempt("high");
    }

    @Override
    void endsWell() throws Exception {
        super.endsWell();
        await("the executor is idle")
                .atMost(Rig.PATIENCE)
                .until(() -> agent.toComputer().countIdle() == 1);
    }

    /** The stage's own image on the agent is put out of the way: its archive is needed. */
    private Path withoutLocalImage(StageRecord stage) throws Exception {
        Rig.awaitSealed(victim, 1);
        Path images = Path.of(agent.getRemoteFS(), "preemptible", "stages", stage.id(), "images");
        await().atMost(Rig.PATIENCE)
                .until(() -> HostProcesses.controlGroups(stage.id()).isEmpty());
        return Files.move(images, images.resolveSibling("images-aside"));
    }

    /** Longer than any number of failures that would end the stage. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Tag("slow")
    void archiveThatIsAwayIsWaitedFor(boolean nested) throws Exception {
        FreeStyleBuild preemptor = preempted(nested ? Rig.nested(Rig.endless(), "sh 'true'") : Rig.own(Rig.endless()));
        withoutLocalImage(Rig.awaitState(StageState.SUSPENDED));
        HeldArtifacts.broken();
        ends(preemptor);
        Rig.awaitLog(victim, OUTAGE, 4);
        assertThat(Rig.log(victim), containsString("the store of this test is away"));
        HeldArtifacts.open();
        Rig.awaitLog(victim, FROM_ARCHIVE);
        endsWell();
    }

    /** A library of the archive fails in a way that nobody expects: that counts, and is said, as any other failure. */
    @Test
    void archiveThatBreaksDownIsSaidAndCounted() throws Exception {
        HeldArtifacts.broken();
        FreeStyleBuild preemptor = preempted(Rig.own(Rig.endless()));
        Rig.awaitLog(victim, "The image could not be archived: the store of this test is away", 2);
        assertTrue(Rig.awaitState(StageState.SUSPENDED).frozen());
        ends(preemptor);
        Rig.awaitLog(victim, "from the processes that were still frozen");
        HeldArtifacts.open();
        endsWell();
    }

    /** The image that has to come first cannot be archived, and what was archived not be removed: the stage runs on. */
    @Test
    void stageRunsOnWhenTheArchiveBreaksDown() throws Exception {
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(1_048_576);
        HeldArtifacts.broken();
        low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        var waiting = rig.freestyle("high", 1, "true").scheduleBuild2(0);
        Rig.awaitLog(victim, "Not suspended, the image could not be archived: the store of this test is away");
        Rig.awaitState(StageState.RUNNING);
        HeldArtifacts.open();
        Rig.awaitCounting(victim);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        j.assertBuildStatusSuccess(waiting);
        Rig.assertNothingLeft(agent, low);
    }

    /** The agent has resumed the stage, but its answer was lost: without an executor it must not run. */
    @Test
    void stageThatRunsUnheardIsFrozenAgain() throws Exception {
        FreeStyleBuild preemptor = preempted(Rig.own(Rig.endless()));
        StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
        Path aside = withoutLocalImage(stage);
        HeldArtifacts.shut();
        ends(preemptor);
        await().atMost(Rig.PATIENCE).until(() -> HeldArtifacts.waiting() == 1);
        Files.move(aside, aside.resolveSibling("images"));
        Engine engine = Engine.open(Path.of(agent.getRemoteFS(), "preemptible"));
        engine.resumeHere(StageId.parse(stage.id())).orElseThrow();
        assertEquals(State.RUNNING, engine.status(StageId.parse(stage.id())).state());
        agent.toComputer().setTemporarilyOffline(true);
        HeldArtifacts.broken();
        HeldArtifacts.letIn();
        Rig.awaitLog(victim, OUTAGE);
        await("the stage is held")
                .atMost(Rig.PATIENCE)
                .until(() -> engine.status(StageId.parse(stage.id())).state() != State.RUNNING);
        HeldArtifacts.open();
        agent.toComputer().setTemporarilyOffline(false);
        endsWell();
    }

    private StageRecord notResumed(String script) throws Exception {
        FreeStyleBuild preemptor = preempted(script);
        StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
        withoutLocalImage(stage);
        Path image = image(stage);
        Files.move(image, image.resolveSibling("aside"));
        Files.write(image, "no image".getBytes());
        ends(preemptor);
        Rig.awaitLog(victim, "This was tried 3 times: the stage stays suspended");
        await("the executor is free")
                .atMost(Rig.PATIENCE)
                .until(() -> agent.toComputer().countIdle() == 1);
        return stage;
    }

    private Path image(StageRecord stage) {
        return victim.getArtifactsDir().toPath().resolve("preemptible/" + stage.id() + "/suspended-stage.preempt");
    }

    private static CLICommandInvoker.Result command(String name, String... arguments) {
        return new CLICommandInvoker(j, name).invokeWithArgs(arguments);
    }

    /** What the engine refuses three times waits for a decision, and the build's page says what can be done. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void stageIsTriedAgainWhenAUserSaysSo(boolean nested) throws Exception {
        StageRecord stage = notResumed(nested ? Rig.nested(Rig.endless(), "sh 'true'") : Rig.own(Rig.endless()));
        Preemption.soon(0);
        TimeUnit.SECONDS.sleep(1);
        assertEquals(StageState.SUSPENDED, Rig.awaitState(StageState.SUSPENDED).state());
        JenkinsRule.WebClient browser = j.createWebClient();
        browser.getOptions().setJavaScriptEnabled(false);
        HtmlPage page = browser.getPage(victim);
        String text = page.asNormalizedText();
        assertThat(text, containsString("could not be resumed three times, and waits for your decision"));
        HtmlAnchor download = page.getAnchorByText("Download the image of stage “preemptible”");
        assertEquals("no image", download.click().getWebResponse().getContentAsString());
        List<String> buttons =
                page.getForms().stream().map(HtmlForm::getActionAttribute).toList();
        assertTrue(buttons.stream().anyMatch(action -> action.endsWith("/preemptible/again")), buttons::toString);
        assertTrue(buttons.stream().anyMatch(action -> action.endsWith("/preemptible/give-up")), buttons::toString);
        CLICommandInvoker.Result resume = command("preemptible-resume", "low", "1");
        assertEquals(4, resume.returnCode());
        assertThat(resume.stderr(), containsString("preemptible-resume --again"));
        Path image = image(stage);
        Files.move(image.resolveSibling("aside"), image, StandardCopyOption.REPLACE_EXISTING);
        assertEquals(0, command("preemptible-resume", "low", "1", "--again").returnCode());
        Rig.awaitLog(victim, FROM_ARCHIVE);
        assertEquals(4, command("preemptible-resume", "low", "1", "--again").returnCode());
        endsWell();
    }

    /** What nobody can resume fails the stage, and what follows it in its node block has the executor. */
    @Test
    void imageThatCannotBeRestoredIsKept() throws Exception {
        StageRecord stage = notResumed("node('linux') { catchError { preemptible { sh '''set +x\n" + Rig.endless()
                + "\n''' } }\nsh 'echo it follows; while [ ! -e enough ]; do sleep 0.1; done' }");
        Path image = image(stage);
        assertEquals(0, command("preemptible-give-up", "low", "1").returnCode());
        Rig.awaitLog(victim, "it follows\n");
        assertThat(Rig.log(victim), containsString("Given up: the stage fails. Its sealed image stays"));
        await("what follows runs on the block's executor")
                .atMost(Rig.PATIENCE)
                .until(() -> agent.toComputer().countBusy() == 1);
        await().atMost(Rig.PATIENCE).until(() -> StageRegistry.get().all().isEmpty());
        assertTrue(Files.exists(image));
        assertNotNull(StageRegistry.get().keptKey(stage.id()));
        agent.getRootPath().child("workspace/low/enough").touch(System.currentTimeMillis());
        j.assertBuildStatus(Result.FAILURE, j.waitForCompletion(victim));
        victim.delete();
        assertNull(StageRegistry.get().keptKey(stage.id()));
    }

    /** The stop button of the executor on which a stage is just being restored. */
    @Test
    void restoreIsStopped() throws Exception {
        FreeStyleBuild preemptor = preempted(Rig.own(Rig.endless()));
        StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
        withoutLocalImage(stage);
        HeldArtifacts.shut();
        ends(preemptor);
        await().atMost(Rig.PATIENCE).until(() -> HeldArtifacts.waiting() == 1);
        for (Executor executor : agent.toComputer().getExecutors()) {
            executor.interrupt();
        }
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
        HeldArtifacts.open();
        Rig.assertNothingLeft(agent, low);
    }

    /** A stage that has got its executor and waits for another thread that is still busy with it does not ask for another one. */
    @Test
    void stageTakesOneExecutor() throws Exception {
        agent.setNumExecutors(2);
        j.jenkins.setNodes(j.jenkins.getNodes());
        try {
            FreeStyleBuild other = rig.freestyle("other", 1, Rig.untilEnough())
                    .scheduleBuild2(0)
                    .waitForStart();
            FreeStyleBuild preemptor = preempted(Rig.own(Rig.endless()));
            StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
            Rig.awaitSealed(victim, 1);
            try (HeldStage held = new HeldStage(stage.id())) {
                ends(preemptor);
                await().atMost(Rig.PATIENCE)
                        .until(() -> LiveStage.find(stage.id()).hold().executor(stage) != null);
                ends(other);
                for (int i = 0; i < 10; i++) {
                    Preemption.soon(0);
                    TimeUnit.MILLISECONDS.sleep(100);
                    assertTrue(agent.toComputer().countBusy() <= 1, "the stage has two executors");
                }
            }
            Rig.awaitLog(victim, "Resumed on worker");
            Rig.awaitCounting(victim);
            Rig.enough(victim);
            j.assertBuildStatusSuccess(j.waitForCompletion(victim));
            await("both executors are idle")
                    .atMost(Rig.PATIENCE)
                    .until(() -> agent.toComputer().countIdle() == 2);
        } finally {
            agent.setNumExecutors(1);
            j.jenkins.setNodes(j.jenkins.getNodes());
        }
    }

    /** The engine fails in a way that nobody expects: that is said once, and sealing is tried until it succeeds. */
    @Test
    @Tag("slow")
    void engineThatFailsWhileSealingIsSaid() throws Exception {
        HeldArtifacts.broken();
        FreeStyleBuild preemptor = preempted(Rig.own(Rig.endless()));
        StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
        Path record = Path.of(agent.getRemoteFS(), "preemptible", "stages", stage.id(), "stage.json");
        Rig.awaitLog(victim, "The image could not be archived: the store of this test is away");
        byte[] kept = Files.readAllBytes(record);
        Files.write(record, "{".getBytes());
        try {
            HeldArtifacts.open();
            Rig.awaitLog(victim, "The image is stored, and the agent could not end the frozen processes yet: ");
        } finally {
            Files.write(record, kept);
        }
        Rig.awaitSealed(victim, 1);
        assertEquals(1, Rig.log(victim).split("could not end the frozen processes", -1).length - 1);
        ends(preemptor);
        Rig.awaitLog(victim, "Resumed on worker");
        assertTrue(LiveStage.find(stage.id()).retryAfterMillis() <= System.currentTimeMillis());
        endsWell();
    }
}
