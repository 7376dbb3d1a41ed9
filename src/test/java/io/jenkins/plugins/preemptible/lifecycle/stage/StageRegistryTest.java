package io.jenkins.plugins.preemptible.lifecycle.stage;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.ExtensionList;
import hudson.Util;
import hudson.XmlFile;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.LogRecorder;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** What is kept of stages on the controller's disk. */
@WithJenkins
class StageRegistryTest {

    private static final String A = "first-0123abcd";
    private static final String B = "second-0123abcd";
    private static final EnterCommand ENTER =
            new EnterCommand.Direct(A, 4711, "", "/usr/bin/nsenter", "/usr/bin/setsid");

    private static JenkinsRule j;
    private static WorkflowRun run;
    private static Path home;
    private static Path folder;
    private StageRegistry registry;

    /** One for all tests: most of their time is its start. */
    @BeforeAll
    static void start(JenkinsRule rule) throws Exception {
        j = rule;
        home = j.jenkins.getRootDir().toPath();
        folder = home.resolve("preemptible-stages");
        WorkflowJob job = j.createProject(WorkflowJob.class, "job");
        // Every ten seconds, stages of builds that do not run are dropped.
        job.setDefinition(new CpsFlowDefinition("sleep 3600", true));
        run = job.scheduleBuild2(0).waitForStart();
        j.waitForMessage("Sleeping for", run);
    }

    @AfterAll
    static void stop() throws Exception {
        withoutStages();
        run.doStop();
        j.waitForCompletion(run);
        j.after();
    }

    @BeforeEach
    void noStages() throws Exception {
        withoutStages();
        registry = StageRegistry.get();
    }

    /** As on a controller that never had one. */
    private static void withoutStages() throws Exception {
        Util.deleteRecursive(folder.toFile());
        Files.deleteIfExists(home.resolve("preemptible-stages.xml"));
        Files.deleteIfExists(home.resolve("preemptible-stages.xml.taken-over"));
        ExtensionList<StageRegistry> registries = ExtensionList.lookup(StageRegistry.class);
        registries.remove(0);
        registries.add(new StageRegistry());
    }

    private static StageRecord stage(String id) {
        return StageRecord.running(id, StageRecord.Form.OWN, "job#1", "stage", "agent", "/w", null, 3, 0);
    }

    private Set<String> files() throws Exception {
        Set<String> names = new TreeSet<>();
        if (Files.isDirectory(folder)) {
            try (Stream<Path> entries = Files.list(folder)) {
                entries.forEach(file -> names.add(file.getFileName().toString()));
            }
        }
        return names;
    }

    @Test
    void whatTheDiskDidNotTakeIsSavedLater() throws Exception {
        registry.add(stage(A));
        Path aside = home.resolve("aside");
        Files.move(folder, aside);
        Files.createFile(folder);
        registry.settle(A, stage -> stage.suspensions = 4711);
        assertEquals(4711, registry.find(A).suspensions);
        Files.delete(folder);
        Files.move(aside, folder);
        Path file = folder.resolve(A + ".xml");
        assertFalse(Files.readString(file).contains("<suspensions>4711<"));
        new UnsavedStages().doRun();
        assertTrue(Files.readString(file).contains("<suspensions>4711<"));
    }

    @Test
    void whatCannotBeWrittenConcernsItsStageAlone() throws Exception {
        registry.add(stage(A));
        for (String odd : List.of("a\u0000b", "a\ufffeb", "a\uffffb", "a\ud800b")) {
            StageRecord unwritable = stage(B);
            unwritable.workspace = odd;
            assertThrows(UncheckedIOException.class, () -> registry.add(unwritable));
            assertNull(registry.find(B), "what cannot be written is not known");
            assertThrows(UncheckedIOException.class, () -> registry.update(A, s -> s.workspace = odd));
            assertEquals("/w", registry.find(A).workspace(), "and what cannot be written is as it was");
            registry.update(A, s -> s.suspensions++);
        }
        registry.add(stage(B));
        assertEquals(4, new StageRegistry().find(A).suspensions());
        assertNotNull(new StageRegistry().find(B));
    }

    /** By what was saved another host is compared, and the workspace opened; the key is nowhere in clear. */
    @Test
    void aSealedWorkspaceIsReadAgain() throws Exception {
        HostTraits host = new HostTraits(
                "/root <&>",
                "a-token",
                true,
                "cpu",
                List.of("sse2", "avx"),
                "6.1",
                "x86_64",
                "4.0",
                List.of("/"),
                1L << 40,
                2,
                Map.of("/bin/sh", "id"));
        StageRecord stage = stage(A);
        stage.luggage = SealedLuggage.of("workspace", Secret.fromString("its own key"), 5_000, 9_000, host)
                .withTreeEnded(true);
        registry.add(stage);
        registry.update(A, LuggageChanges.treeEnded(true));
        SealedLuggage read = new StageRegistry().find(A).luggage();
        assertEquals(host, read.host());
        assertEquals("its own key", read.key().getPlainText());
        assertEquals(5_000, read.archiveBytes());
        assertEquals(9_000, read.contentBytes());
        assertTrue(read.treeEnded());
        assertFalse(Files.readString(folder.resolve(A + ".xml")).contains("its own key"));
        registry.ended(A);
        assertNull(registry.leftovers().iterator().next().luggage());
    }

    @Test
    void textsAreCleanedBeforeTheyAreKept() {
        StageRecord first = stage(A);
        first.name = "a\u0000b\nc" + "x".repeat(1000);
        registry.add(first);
        Consumer<StageRecord> odd = s -> {
            s.leak = "process 7 sh\u001b[2J\ufffe";
            s.reason = "\ud800";
            s.preemptor = "a\nb";
            s.preemptorJob = "j\u0000";
            s.resumedFrom = "\u0001";
            s.hostRefusal = "\u0002";
            s.byHandUser = "\u0003";
        };
        registry.update(A, odd);
        registry.settle(A, odd);
        for (StageRecord seen : List.of(registry.find(A), new StageRegistry().find(A))) {
            assertEquals("process 7 sh [2J?", seen.leak());
            assertEquals("?", seen.reason());
            assertEquals("a b", seen.preemptor());
            assertTrue(seen.name().startsWith("a b cxxx") && seen.name().length() == 500, seen.name());
        }
    }

    @Test
    void aFileThatCannotBeReadConcernsItsStageAlone() throws Exception {
        registry.add(stage(A));
        registry.add(stage(B));
        List<String> broken = List.of("", "<x", "<java.util.ArrayList/>", "\u0000", "<no.such.Type/>");
        for (String text : broken) {
            Files.writeString(folder.resolve("third-00000000.xml"), text);
            LogRecorder log =
                    new LogRecorder().record(StageFiles.class, Level.SEVERE).capture(10);
            StageRegistry again = new StageRegistry();
            assertNotNull(again.find(A));
            assertNotNull(again.find(B));
            assertEquals(2, again.all().size(), text);
            assertThat(log.getMessages().toString(), containsString("third-00000000.xml"));
            again.update(A, s -> s.suspensions++);
        }
        assertEquals(2 + broken.size(), files().size(), "put aside, not lost: " + files());
        Path misnamed = folder.resolve("fourth-00000000.xml");
        Files.writeString(misnamed, Files.readString(folder.resolve(A + ".xml")).replace("/w<", "/other<"));
        assertEquals("/w", new StageRegistry().find(A).workspace(), "a file under another's name is none");
        assertFalse(Files.exists(misnamed), "it is put aside");
    }

    @Test
    void aRecordThatIsNotCompleteIsNone() throws Exception {
        registry.add(stage(A));
        registry.add(stage(B));
        Path file = folder.resolve(A + ".xml");
        String whole = Files.readString(file);
        for (String element : List.of("id", "form", "runId", "node", "workspace", "state")) {
            Files.writeString(file, whole.replaceFirst("<" + element + ">[^<]*</" + element + ">", ""));
            assertEquals(
                    List.of(B),
                    new StageRegistry().all().stream().map(StageRecord::id).toList(),
                    element);
        }
    }

    @Test
    void keptKeysAndLeftoversAreReadAgainAndTheirFilesGoWithThem() throws Exception {
        Pretended.endedUnrestored(A, "job#1");
        StageRecord second = stage(B);
        registry.add(second);
        registry.ended(B);
        assertEquals(Set.of(A + ".xml", B + ".xml"), files());
        StageRegistry again = new StageRegistry();
        assertEquals(List.of(), List.copyOf(again.all()));
        assertEquals("a key", again.keptKey(A).getPlainText());
        assertEquals(List.of(B), again.leftovers().stream().map(StageRecord::id).toList());
        again.cleaned(B);
        assertEquals(Set.of(A + ".xml"), files());
        again.jobMoved("job", "folder/job");
        assertEquals("a key", new StageRegistry().keptKey(A).getPlainText());
        assertThat(Files.readString(folder.resolve(A + ".xml")), containsString("<runId>folder/job#1</runId>"));
    }

    @Test
    void stagesFollowAnAgentThatIsRenamed() throws Exception {
        registry.add(stage(A));
        registry.add(stage(B));
        String before = registry.find(A).node();
        registry.update(A, LeftAgents.holds(before, List.of("/w@tmp")));
        registry.update(
                B,
                LeftAgents.holds(before, List.of("/w@tmp"))
                        .andThen(stage -> stage.node = "other")
                        .andThen(StageChanges.restoringOn(before))
                        .andThen(StageChanges.moveTo(before)));
        registry.agentRenamed(before, "new");
        registry = new StageRegistry();
        assertEquals("new", registry.find(A).node());
        assertEquals(Set.of("new"), registry.find(A).left.keySet());
        assertEquals("other", registry.find(B).node());
        assertEquals("new", registry.find(B).restoringOn());
        assertEquals("new", registry.find(B).moveTo());
        assertEquals(Map.of("new", List.of("/w@tmp")), registry.find(B).left);
        assertTrue(registry.firstTurnsOn("new"));
        registry.agentRenamed("new", "newer");
        assertFalse(registry.firstTurnsOn("new"));
        assertTrue(registry.firstTurnsOn("newer"));
        registry.firstTurnDone(A);
        assertFalse(registry.firstTurnsOn("newer"));
    }

    @Test
    void theFileOfAllStagesIsTakenOverOnce() throws Exception {
        StageFiles.Stored stored = new StageFiles.Stored();
        StageRecord running = stage(A);
        running.enterCommand = new ArrayList<>(ENTER.words());
        running.enterCommand.set(2, "touch /tmp/owned");
        running.leak = "as it was written";
        StageRecord suspended = stage(B);
        suspended.state = StageState.SUSPENDED;
        suspended.imageKey = Secret.fromString("the key");
        suspended.enterCommand = new ArrayList<>(List.of("touch", "/tmp/owned"));
        StageRecord left = stage("left-0123abcd");
        StageRecord kept = stage("kept-0123abcd");
        kept.imageKey = Secret.fromString("a kept key");
        stored.stages = new StageRecord[] {running, suspended};
        stored.leftovers = new StageRecord[] {left};
        stored.kept = new StageRecord[] {kept};
        Path old = home.resolve("preemptible-stages.xml");
        new XmlFile(StageFiles.XSTREAM, old.toFile()).write(stored);
        String text = Files.readString(old);
        String was = text.replace("StageFiles_-Stored", "StageRegistry_-Stored")
                .replace("StageFiles$Stored", "StageRegistry$Stored");
        assertFalse(was.equals(text), text);
        Files.writeString(old, was);
        for (int load = 0; load < 2; load++) {
            StageRegistry now = new StageRegistry();
            assertEquals(2, now.all().size());
            assertEquals(ENTER, now.find(A).enterCommand(), "the facts of the agent's words, our own scripts");
            assertNull(now.find(B).enterCommand(), "what is not understood is not run");
            assertEquals("the key", now.find(B).imageKey.getPlainText());
            assertTrue(now.awaitsFirstTurn(B) && now.firstTurnsOn("agent"));
            assertEquals("a kept key", now.keptKey("kept-0123abcd").getPlainText());
            assertEquals(1, now.leftovers().size());
            assertFalse(Files.exists(old));
            assertTrue(Files.exists(home.resolve("preemptible-stages.xml.taken-over")));
            assertEquals(4, files().size());
        }
    }

    /** So that the version before can read what this one has written. */
    @Test
    void filesNameClassesAsEveryVersionDid() throws Exception {
        registry.add(stage(A));
        assertThat(
                Files.readString(folder.resolve(A + ".xml")),
                containsString("<io.jenkins.plugins.preemptible.lifecycle.StageFiles_-Kept"));
    }

    /** The file's text is that of the version before there were files for each stage. */
    @Test
    void aFileThatAnEarlierVersionWroteIsTakenOver() throws Exception {
        LogRecorder log =
                new LogRecorder().record(StageFiles.class, Level.SEVERE).capture(10);
        try (InputStream text = StageRegistryTest.class.getResourceAsStream("earlier-stages.xml")) {
            Files.copy(text, home.resolve("preemptible-stages.xml"));
        }
        for (int load = 0; load < 2; load++) {
            StageRegistry now = new StageRegistry();
            StageRecord sealed = now.find("sealed-0123abcd");
            assertEquals(StageState.SUSPENDED, sealed.state());
            assertEquals("the key", sealed.imageKey.getPlainText());
            assertEquals("preemptible/sealed-0123abcd/image.preempt", sealed.imagePath());
            assertEquals(List.of("/home/agent/workspace/job@tmp/durable-1"), sealed.controlFolders());
            EnterCommand.Direct enter = (EnterCommand.Direct) sealed.enterCommand();
            assertEquals(4711, enter.initPid(), "its facts, and not its scripts");
            assertTrue(sealed.byHand() && sealed.byHandUser() == null, "nobody had been asked who wanted that");
            assertFalse(sealed.memoryOnly() || sealed.notRestorable || sealed.unsealed());
            StageRecord frozen = now.find("frozen-0123abcd");
            assertTrue(frozen.frozen()
                    && frozen.controlFolders().isEmpty()
                    && frozen.owner().isEmpty());
            assertEquals(
                    Set.of("sealed-0123abcd", "frozen-0123abcd"),
                    now.all().stream().map(StageRecord::id).collect(Collectors.toSet()));
        }
        assertThat(
                log.getMessages().toString(),
                containsString("is not understood, its build will wait for ever; abort it"));
        assertEquals(1, log.getMessages().size(), "told once: the file is renamed");
    }

    @Test
    void anyIdHasAFileOfItsOwn() {
        assertEquals("stage-0123abcd.xml", StageFiles.fileName("stage-0123abcd"));
        List<String> odd =
                List.of("../../config", "con", "a/b", "", "ÄÖ", "A", "a", "x".repeat(10_000), "a.xml", "\u0000");
        Set<String> names = new TreeSet<>();
        for (String id : odd) {
            String name = StageFiles.fileName(id);
            assertTrue(name.matches("[a-z0-9-]{1,80}\\.xml"), name);
            names.add(name);
        }
        assertEquals(odd.size(), names.size());
    }
}
