package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hudson.EnvVars;
import hudson.model.Result;
import hudson.slaves.DumbSlave;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.jenkinsci.plugins.workflow.steps.Step;
import org.jenkinsci.plugins.workflow.steps.StepContext;
import org.jenkinsci.plugins.workflow.steps.StepDescriptor;
import org.jenkinsci.plugins.workflow.steps.StepExecution;
import org.jenkinsci.plugins.workflow.steps.StepExecutions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jvnet.hudson.test.TestExtension;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;
import org.kohsuke.stapler.DataBoundConstructor;

/** What cannot be done is refused in one sentence with the remedy, and nothing is left of the attempt. */
@WithJenkins
@Tag("acceptance")
class BadInputTest extends OneAgent {

    private Path mounted;

    /** Most of it is refused on any machine. */
    @Override
    void assumptions() {}

    @AfterEach
    void unmount() throws Exception {
        if (mounted != null) {
            run("umount", "--lazy", mounted.toString());
        }
    }

    @Test
    void unknownLabel() throws Exception {
        refused(
                "preemptible(label: 'nowhere') { echo 'not reached' }",
                "There is no agent with the label 'nowhere'",
                "Correct the label",
                "Did you mean");
    }

    @Test
    void priorityOutsideOfTheRange() throws Exception {
        for (int priority : new int[] {-1, 0, 6}) {
            refused(
                    "preemptible(label: 'linux', priority: " + priority + ") { echo 'not reached' }",
                    "priority is " + priority,
                    "1 (highest) to 5 (lowest)",
                    "Correct it");
        }
    }

    @Test
    void timeSliceOutsideOfTheRange() throws Exception {
        for (int minutes : new int[] {-1, 0, 10_081}) {
            refused(
                    "preemptible(label: 'linux', timeSliceMinutes: " + minutes + ") { echo 'not reached' }",
                    "timeSliceMinutes is " + minutes,
                    "1 to 10080",
                    "leave it out");
        }
    }

    @Test
    void unknownTreatmentOfConnections() throws Exception {
        for (String tcp : new String[] {"keep", "CLOSE", "; reboot"}) {
            refused(
                    "preemptible(label: 'linux', tcp: '" + tcp + "') { echo 'not reached' }",
                    "tcp is '" + tcp + "'",
                    "'refuse' or 'close'",
                    "leave it out");
        }
    }

    @Test
    void parallelSiblingInTheSameNode() throws Exception {
        refused(
                "node('linux') { parallel a: { preemptible { echo 'not reached' } }, b: { echo 'sibling' } }",
                "parallel branch of the same node",
                "into each branch instead");
    }

    @Test
    void preemptibleInsidePreemptible() throws Exception {
        refused(
                "preemptible(label: 'linux') { preemptible { echo 'not reached' } }",
                "preemptible { } inside preemptible { }",
                "Remove the inner or the outer one");
        refused(
                "preemptible(label: 'linux') { preemptible(label: 'linux') { echo 'not reached' } }",
                "preemptible { } inside preemptible { }",
                "Remove the inner or the outer one");
        refused(
                "node('linux') { preemptible { preemptible { echo 'not reached' } } }",
                "preemptible { } inside preemptible { }",
                "Remove the inner or the outer one");
    }

    /** It would free an executor that nobody waits for, and keep the one of the node block. */
    @Test
    void aroundNode() throws Exception {
        refused(
                "preemptible { node('linux') { echo 'not reached' } }",
                "node { } inside preemptible { }",
                "preemptible(label: …) { } in place of node");
        refused(
                "pipeline { agent { preemptible { priority 4 } }\n stages { stage('s') { agent { label 'linux' }\n"
                        + " steps { echo 'not reached' } } } }",
                "node { } inside preemptible { }",
                "in a Declarative Pipeline give agent { preemptible { } } a label");
    }

    @Test
    void insideContainer() throws Exception {
        refused(
                "container { preemptible(label: 'linux') { echo 'not reached' } }",
                "inside container { }",
                "Use it outside of any container block");
        refused(
                "node('linux') { container { preemptible { echo 'not reached' } } }",
                "inside container { }",
                "Use it outside of any container block");
    }

    /** It runs, and is no victim: its agent does not reach such a container. */
    @Test
    void aroundContainer() throws Exception {
        WorkflowJob low = rig.pipeline(
                "low", 5, "node('linux') { preemptible { container { sh '''set +x\n" + Rig.endless() + "\n''' } } }");
        WorkflowRun running = Rig.start(low);
        Rig.awaitLog(running, "count-3\n");
        WorkflowRun waiting = Rig.start(rig.pipeline("high", 1, Rig.preemptor()));
        Rig.awaitLog(running, "A step runs in a container ('container') that its agent does not reach.");
        Rig.awaitAnotherLook();
        assertThat(Rig.log(running), not(containsString("is free after")));
        Rig.enough(running);
        j.assertBuildStatusSuccess(j.waitForCompletion(running));
        j.assertBuildStatusSuccess(j.waitForCompletion(waiting));
    }

    private void refused(String script, String... decisiveWords) throws Exception {
        WorkflowJob job = rig.pipeline("bad" + j.jenkins.getItems().size(), 3, script);
        WorkflowRun run = j.assertBuildStatus(Result.FAILURE, j.waitForCompletion(Rig.start(job)));
        List<String> said =
                Rig.log(run).lines().filter(line -> line.startsWith("ERROR: ")).toList();
        assertEquals(1, said.size(), "one sentence: " + Rig.log(run));
        for (String words : decisiveWords) {
            assertThat(said.get(0), containsString(words));
        }
        assertThat(Rig.log(run), not(containsString("not reached")));
        assertThat("no stack trace", Rig.log(run), not(containsString("\tat ")));
        await("nothing left of " + run).atMost(Rig.PATIENCE).untilAsserted(() -> {
            assertEquals(List.of(), StageRegistry.get().all().stream().toList());
            assertEquals(List.of(), LiveStage.all().stream().toList());
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void criuMissingOnTheAgent(boolean nested) throws Exception {
        j.jenkins.removeNode(agent);
        DumbSlave agent = rig.agent(new EnvVars("PREEMPTIBLE_CRIU", "/nonexistent/criu"));
        String counter = Rig.counter(30);
        WorkflowJob low = rig.pipeline("low", 5, nested ? Rig.nested(counter, "") : Rig.own(counter));
        WorkflowJob high = rig.pipeline("high", 1, Rig.preemptor());
        WorkflowRun running = Rig.start(low);
        Rig.awaitLog(running, "count-5\n");
        WorkflowRun waiting = Rig.start(high);
        j.assertBuildStatusSuccess(j.waitForCompletion(running));
        j.assertBuildStatusSuccess(j.waitForCompletion(waiting));
        assertThat(Rig.log(running), containsString("cannot be suspended on worker: criu: not found (remedy: "));
        assertThat(Rig.log(running), not(containsString("Suspending this stage")));
        Rig.counted(running, 30);
        Rig.assertNothingLeft(agent, low);
    }

    @Test
    void diskFullDuringTheDump() throws Exception {
        Rig.assumeSuspendable();
        Path home = Files.createDirectories(Path.of(agent.getRemoteFS(), "preemptible"));
        assumeTrue(
                run("mount", "-t", "tmpfs", "-o", "size=512k,mode=0700", "tmpfs", home.toString()) == 0,
                "a small file system cannot be mounted here (root is needed)");
        mounted = home;
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        WorkflowJob high = rig.pipeline("high", 1, Rig.preemptor());
        WorkflowRun running = Rig.start(low);
        Rig.awaitLog(running, "count-5\n");
        WorkflowRun waiting = Rig.start(high);
        Rig.awaitLog(running, "Not suspended.");
        Rig.awaitCounting(running);
        Rig.enough(running);
        j.assertBuildStatusSuccess(j.waitForCompletion(running));
        j.assertBuildStatusSuccess(j.waitForCompletion(waiting));
        assertThat(Rig.log(running), containsString("There is no space left where the image has to go"));
        assertThat(Rig.log(running), containsString("Free some space"));
        assertThat(Rig.log(running), containsString("The stage keeps running, part of high #1 waits"));
        Rig.countedAtLeast(running, 6);
        await("nothing left in " + home).atMost(Rig.PATIENCE).untilAsserted(() -> {
            try (var files = Files.walk(home)) {
                assertEquals(List.of(), files.filter(Files::isRegularFile).toList());
            }
        });
    }

    private static int run(String... command) throws IOException, InterruptedException {
        return new ProcessBuilder(command).inheritIO().start().waitFor();
    }

    /** Stands for the Kubernetes plugin's step of that name. */
    public static final class ContainerStep extends Step {

        @DataBoundConstructor
        public ContainerStep() {}

        @Override
        public StepExecution start(StepContext context) {
            return StepExecutions.block(context, (given, invoker) -> {});
        }

        @TestExtension
        public static final class DescriptorImpl extends StepDescriptor {

            @Override
            public String getFunctionName() {
                return "container";
            }

            @Override
            public boolean takesImplicitBlockArgument() {
                return true;
            }

            @Override
            public Set<? extends Class<?>> getRequiredContext() {
                return Set.of();
            }
        }
    }
}
