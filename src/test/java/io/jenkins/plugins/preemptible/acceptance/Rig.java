package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hudson.EnvVars;
import hudson.FilePath;
import hudson.model.Executor;
import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Job;
import hudson.model.Label;
import hudson.model.Node;
import hudson.model.Run;
import hudson.model.Slave;
import hudson.model.TopLevelItem;
import hudson.slaves.DumbSlave;
import hudson.tasks.Shell;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import io.jenkins.plugins.preemptible.queue.Preemption;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import jenkins.advancedqueue.JobGroup;
import jenkins.advancedqueue.PriorityConfiguration;
import jenkins.advancedqueue.jobinclusion.strategy.AllJobsJobInclusionStrategy;
import jenkins.advancedqueue.priority.strategy.JobPropertyStrategy;
import jenkins.advancedqueue.priority.strategy.PriorityJobProperty;
import jenkins.model.ModifiableTopLevelItemGroup;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.InboundAgentExtension;
import org.jvnet.hudson.test.junit.jupiter.JenkinsSessionExtension;

/**
 * A real controller with one real agent process of one executor, Priority Sorter installed.
 *
 * <ol>
 *   <li>{@link #agent} starts the agent, {@link #pipeline} and {@link #freestyle} make jobs with priorities.
 *   <li>{@code await…} wait for what a test needs to happen, with a deadline.
 *   <li>{@link #counted} checks that a counter's console lines are 1..N, none lost and none doubled.
 * </ol>
 */
final class Rig {

    static final String LABEL = "linux";
    static final Duration PATIENCE = Duration.ofSeconds(150);

    private static HostReport checked;

    private final JenkinsRule j;

    Rig(JenkinsRule j) {
        this.j = j;
        StagesSeen.watch();
    }

    /** Skips the test, with the reason, where this machine cannot suspend processes. */
    static void assumeSuspendable() throws IOException {
        StagesSeen.forget();
        if (checked == null) {
            Engine engine = Engine.open(Files.createTempDirectory("preemptible-check"));
            // CRIU's own check fails for a moment, too, while something else mounts what it does not understand.
            checked = Stream.generate(engine::check)
                    .limit(5)
                    .filter(HostReport::ok)
                    .findFirst()
                    .orElseGet(engine::check);
        }
        HostReport report = checked;
        assumeTrue(
                report.ok(),
                () -> "this machine cannot suspend stages: "
                        + report.items().stream()
                                .filter(item -> !item.ok())
                                .map(HostReport.Item::toString)
                                .collect(Collectors.joining("; ")));
    }

    DumbSlave agent() throws Exception {
        return agent(null);
    }

    /** @param environment added to the agent process's own; null for nothing */
    DumbSlave agent(EnvVars environment) throws Exception {
        forTests();
        return ready(AgentJvm.add(j, "worker", LABEL, environment));
    }

    /** For what is measured: an agent that compiles as those in use do. */
    DumbSlave agentInUse() throws Exception {
        forTests();
        return ready(j.createSlave("worker", LABEL, null));
    }

    private DumbSlave ready(DumbSlave agent) throws Exception {
        agent.setNumExecutors(1);
        j.waitOnline(agent);
        usePriorities();
        return agent;
    }

    /** The agent "worker" has the label of all tests, any other one its own name. */
    static InboundAgentExtension.Options inbound(String name, String... javaOptions) {
        List<String> options = new ArrayList<>(AgentJvm.OPTIONS);
        options.addAll(List.of(javaOptions));
        return InboundAgentExtension.Options.newBuilder()
                .name(name)
                .label(name.equals("worker") ? LABEL : name)
                .webSocket()
                .javaOptions(options.toArray(String[]::new))
                .build();
    }

    /**
     * Restarts the controller, and the agent's JVM with it; what it has launched lives on.
     *
     * <p>A JVM that lived on would often connect too early, and be heard only after its connection has timed out.
     */
    static void restart(
            JenkinsSessionExtension sessions, InboundAgentExtension agents, JenkinsSessionExtension.Step next)
            throws Throwable {
        agents.stop("worker");
        sessions.then(j -> {
            agents.start(j, inbound("worker"));
            next.run(j);
        });
    }

    /** An agent whose launched processes live on while the controller restarts. */
    Slave inboundAgent(InboundAgentExtension agents) throws Exception {
        return inboundAgent(agents, "worker");
    }

    Slave inboundAgent(InboundAgentExtension agents, String name, String... javaOptions) throws Exception {
        forTests();
        Slave agent = agents.createAgent(j, inbound(name, javaOptions));
        assertEquals(1, agent.getNumExecutors());
        usePriorities();
        return agent;
    }

    /** Settings and priorities for an agent that a test makes itself. */
    void prepare() {
        forTests();
        usePriorities();
    }

    private static void forTests() {
        PreemptibleConfiguration configuration = PreemptibleConfiguration.get();
        // No shortest run: the tests would have to wait it out.
        configuration.setExemptSeconds(0);
        // Nor does it matter how full this machine's disk is.
        configuration.setDiskFloorMegabytes(0);
        configuration.setDiskFloorPercent(0);
    }

    private static void usePriorities() {
        JobGroup group = new JobGroup();
        group.setJobGroupStrategy(new AllJobsJobInclusionStrategy());
        group.setPriority(3);
        group.setUsePriorityStrategies(true);
        List<JobGroup.PriorityStrategyHolder> strategies = new ArrayList<>();
        strategies.add(new JobGroup.PriorityStrategyHolder(0, new JobPropertyStrategy()));
        group.setPriorityStrategies(strategies);
        PriorityConfiguration.get().setJobGroups(new ArrayList<>(List.of(group)));
        PriorityConfiguration.get().save();
    }

    WorkflowJob pipeline(String name, int priority, String script) throws Exception {
        return pipeline(j.jenkins, name, priority, script);
    }

    WorkflowJob pipeline(ModifiableTopLevelItemGroup folder, String name, int priority, String script)
            throws Exception {
        WorkflowJob job = (WorkflowJob)
                folder.createProject(j.jenkins.getDescriptorByType(WorkflowJob.DescriptorImpl.class), name, true);
        job.addProperty(new PriorityJobProperty(true, priority));
        job.setDefinition(new CpsFlowDefinition(script, true));
        return job;
    }

    FreeStyleProject freestyle(String name, int priority, String shell) throws Exception {
        FreeStyleProject job = j.createProject(FreeStyleProject.class, name);
        job.addProperty(new PriorityJobProperty(true, priority));
        job.setAssignedLabel(Label.get(LABEL));
        job.getBuildersList().add(new Shell(shell));
        return job;
    }

    /** A build of the job {@code busy} has the executor of that agent until {@link #untilEnough}. */
    void occupy(String agent) throws Exception {
        FreeStyleProject busy = freestyle("busy", 1, untilEnough());
        busy.setAssignedLabel(Label.get(agent));
        busy.scheduleBuild2(0).waitForStart();
    }

    /** A stage that counts to n in the console, a tenth of a second a step, its count in memory only. */
    static String counter(int n) {
        return "i=0; while [ $i -lt " + n + " ]; do i=$((i+1)); echo count-$i; sleep 0.1; done";
    }

    /** A stage that counts in the console until {@link #enough}. */
    static String endless() {
        return "rm -f enough; i=0; while [ ! -e enough ]; do i=$((i+1)); echo count-$i; sleep 0.1; done";
    }

    /** Ends an {@link #endless} stage. */
    static void enough(WorkflowRun run) throws IOException {
        touch(run, "enough");
    }

    /** Makes a file in the workspace of the build's stage. */
    static void touch(WorkflowRun run, String name) throws IOException {
        Files.createFile(workspace(run).orElseThrow().resolve(name));
    }

    /** Ends a freestyle build that waits for such a file in its workspace. */
    static void enough(FreeStyleBuild run) throws Exception {
        await("a workspace of " + run)
                .atMost(PATIENCE)
                .until(() -> run.getWorkspace() != null && run.getWorkspace().exists());
        run.getWorkspace().child("enough").touch(System.currentTimeMillis());
    }

    /** A script that waits for {@link #enough(FreeStyleBuild)}. */
    static String untilEnough() {
        return "while [ ! -e enough ]; do sleep 0.2; done; rm enough";
    }

    /** Waits for a file in the workspace of the build's stage. */
    static void awaitFile(WorkflowRun run, String name) {
        await(name + " in the workspace of " + run)
                .atMost(PATIENCE)
                .until(() -> workspace(run)
                        .filter(folder -> Files.exists(folder.resolve(name)))
                        .isPresent());
    }

    static Optional<Path> workspace(WorkflowRun run) {
        return StageRegistry.get().all().stream()
                .filter(stage -> stage.runId().equals(run.getExternalizableId()))
                .findFirst()
                .map(stage -> Path.of(stage.workspace()));
    }

    static String own(String shell) {
        return "preemptible(label: '" + LABEL + "') { sh '''set +x\n" + shell + "\n''' }";
    }

    static String nested(String shell, String after) {
        return "node('" + LABEL + "') { preemptible { sh '''set +x\n" + shell + "\n''' }\n" + after + "\n}";
    }

    static String preemptor() {
        return "node('" + LABEL + "') { sh 'sleep 1' }";
    }

    /** Checks that the console has count-1 to count-n, each once and in order. */
    static void counted(Run<?, ?> run, int n) throws IOException {
        assertEquals(IntStream.rangeClosed(1, n).boxed().toList(), counts(run));
    }

    /** Checks that the console has count-1 to some count-n, each once and in order; n is at least that many. */
    static void countedAtLeast(Run<?, ?> run, int least) throws IOException {
        List<Integer> seen = counts(run);
        assertTrue(seen.size() >= least, () -> "only " + seen.size() + " lines");
        counted(run, seen.size());
    }

    static List<Integer> counts(Run<?, ?> run) throws IOException {
        List<Integer> seen = new ArrayList<>();
        Matcher lines = Pattern.compile("^(?:\\[\\w+] )?count-(\\d+)$", Pattern.MULTILINE)
                .matcher(log(run));
        while (lines.find()) {
            seen.add(Integer.parseInt(lines.group(1)));
        }
        return seen;
    }

    /** Shows on the test's own output what the plugin said in the logs of all builds. */
    void tell() throws IOException {
        for (Job<?, ?> job : j.jenkins.getAllItems(Job.class)) {
            for (Run<?, ?> run : job.getBuilds()) {
                log(run).lines()
                        .filter(line -> line.contains(StageLog.MARK))
                        .forEach(line -> System.out.println(run + ": " + line));
            }
        }
    }

    /** Ends what a test left, and removes its jobs and workspaces: the next test has the same controller. */
    void clear() throws Exception {
        j.jenkins.doCancelQuietDown();
        // Most tests have left nothing, so the first look is at once.
        await("no build and no stage left")
                .atMost(PATIENCE)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(200))
                .untilAsserted(() -> {
                    assertEquals(List.of(), interrupted());
                    assertEquals(List.of(), List.copyOf(StageRegistry.get().all()));
                    assertEquals(0, j.jenkins.getQueue().getItems().length);
                });
        for (TopLevelItem item : j.jenkins.getItems()) {
            item.delete();
        }
        for (Node node : j.jenkins.getNodes()) {
            FilePath workspaces = ((Slave) node).getWorkspaceRoot();
            if (workspaces != null) {
                workspaces.deleteContents();
            }
        }
    }

    /** Builds that ran until now. A step may swallow an interrupt, hence again and again. */
    private List<Run<?, ?>> interrupted() {
        List<Run<?, ?>> running = new ArrayList<>();
        for (Job<?, ?> job : j.jenkins.getAllItems(Job.class)) {
            for (Run<?, ?> run : job.getBuilds()) {
                Executor executor = run.getExecutor();
                if (run.isBuilding()) {
                    running.add(run);
                    if (executor != null) {
                        executor.interrupt();
                    }
                }
            }
        }
        return running;
    }

    /** Waits until the queue was looked at and decided upon once more, whatever happens in it. */
    static void awaitAnotherLook() {
        long before = System.currentTimeMillis();
        Preemption.soon(0);
        await("another look at the queue").atMost(PATIENCE).until(() -> {
            Snapshot seen = LastDecision.get().snapshot();
            return seen != null && seen.nowMillis() > before;
        });
    }

    /** Waits until the stage has counted further. */
    static void awaitCounting(Run<?, ?> run) throws IOException {
        int before = counts(run).size();
        await(run + " counts on").atMost(PATIENCE).until(() -> counts(run).size() > before);
    }

    static String log(Run<?, ?> run) throws IOException {
        return JenkinsRule.getLog(run);
    }

    static void awaitLog(Run<?, ?> run, String text) {
        await("'" + text + "' in the log of " + run)
                .atMost(PATIENCE)
                .pollInterval(Duration.ofMillis(50))
                .until(() -> log(run).contains(text));
    }

    static void awaitLog(Run<?, ?> run, String text, int times) {
        await(times + " times '" + text + "' in the log of " + run)
                .atMost(PATIENCE)
                .pollInterval(Duration.ofMillis(50))
                .until(() -> log(run).split(Pattern.quote(text), -1).length - 1 >= times);
    }

    /** Waits until so many images of the build's stages are sealed: at idle priority that takes long on a busy machine. */
    static void awaitSealed(Run<?, ?> run, int times) {
        await(times + " images of " + run)
                .atMost(Duration.ofMinutes(5))
                .pollInterval(Duration.ofMillis(50))
                .until(() -> log(run).split("Image sealed", -1).length - 1 >= times);
    }

    static StageRecord awaitState(StageState state) {
        StageRecord stage = await("a stage that is " + state)
                .atMost(PATIENCE)
                .pollInterval(Duration.ofMillis(20))
                .until(
                        () -> StageRegistry.get().all().stream()
                                .filter(known -> known.state() == state)
                                .findFirst()
                                .orElse(null),
                        found -> found != null);
        return stage;
    }

    /** Skips the test, with the reason, where a program is not installed. */
    static void assumeInstalled(String program, String debianPackage) {
        assumeTrue(
                HostTool.find(program).isPresent(),
                program + " is not installed (Debian package " + debianPackage + ")");
    }

    static WorkflowRun start(WorkflowJob job) throws Exception {
        return job.scheduleBuild2(0).waitForStart();
    }

    /** Nothing of any stage is left on the agent. */
    static void assertNothingLeft(Slave agent, Job<?, ?> job) {
        Path home = Path.of(agent.getRemoteFS(), "preemptible");
        StagesSeen.assertNothingRuns();
        await("nothing left below " + home).atMost(PATIENCE).untilAsserted(() -> {
            assertEquals(List.of(), StageRegistry.get().all().stream().toList());
            assertEquals(List.of(), List.copyOf(StageRegistry.get().leftovers()));
            assertEquals(List.of(), Engine.open(home).list());
            assertEquals("", mounts(home));
            Path exchange = home.resolve("exchange");
            if (Files.isDirectory(exchange)) {
                try (var entries = Files.list(exchange)) {
                    assertEquals(List.of(), entries.toList());
                }
            }
        });
        for (Run<?, ?> run : job.getBuilds()) {
            await("no image among the artifacts of " + run)
                    .atMost(PATIENCE)
                    .untilAsserted(() -> assertEquals(
                            List.of(),
                            run.getArtifacts().stream().map(a -> a.relativePath).toList()));
        }
    }

    static String mounts(Path home) throws IOException {
        return Files.readAllLines(Path.of("/proc/self/mountinfo")).stream()
                .filter(line -> line.contains(home.toString()))
                .collect(Collectors.joining("\n"));
    }
}
