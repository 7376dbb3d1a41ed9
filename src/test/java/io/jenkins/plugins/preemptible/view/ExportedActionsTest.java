package io.jenkins.plugins.preemptible.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.FreeStyleBuild;
import hudson.model.TopLevelItem;
import java.io.StringWriter;
import java.util.stream.StreamSupport;
import net.sf.json.JSONArray;
import net.sf.json.JSONObject;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.flow.FlowExecution;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;
import org.kohsuke.stapler.export.ExportConfig;
import org.kohsuke.stapler.export.Flavor;
import org.kohsuke.stapler.export.ModelBuilder;

@WithJenkins
class ExportedActionsTest {

    private static final String REASON = "An item of higher priority waits, and no fitting executor is idle.";

    private static JenkinsRule jenkins;

    /** One for all tests: most of their time is its start. */
    @BeforeAll
    static void start(JenkinsRule rule) {
        jenkins = rule;
    }

    @AfterAll
    static void stop() throws Exception {
        jenkins.after();
    }

    @AfterEach
    void removeJobs() throws Exception {
        for (TopLevelItem job : jenkins.jenkins.getItems()) {
            job.delete();
        }
    }

    @Test
    void aSuspendedStageIsTellingItsNode() throws Exception {
        WorkflowRun build = sleepingBuild();
        FlowNode node = build.getExecution().getCurrentHeads().get(0);
        node.addOrReplaceAction(
                new SuspendedStageAction("fuzz", "SUSPENDED", 1_000, "deploy #12", REASON, false, 55_000_000));

        JSONObject exported = stageAction(node);

        assertEquals("fuzz", exported.getString("stage"));
        assertEquals("SUSPENDED", exported.getString("state"));
        assertEquals("1970-01-01T00:00:01Z", exported.getString("since"));
        assertEquals(1_000, exported.getLong("sinceMillis"));
        assertEquals("deploy #12", exported.getString("preemptor"));
        assertEquals(REASON, exported.getString("reason"));
        assertEquals(55_000_000, exported.getLong("size"));

        node.addOrReplaceAction(new SuspendedStageAction("fuzz", "RESUMING", 2_000, null, null, true, 0));
        assertEquals("RESUMING", stageAction(node).getString("state"));
        assertTrue(stageAction(node).getBoolean("frozen"));
        assertFalse(stageAction(node).getBoolean("memoryOnly"));
        assertFalse(stageAction(node).getBoolean("byHand"));
        assertEquals("null", stageAction(node).getString("byHandUser"));

        node.addOrReplaceAction(
                new SuspendedStageAction("fuzz", "SUSPENDED", 2_000, null, null, REASON, true, true, 0, true, "ada"));
        assertTrue(stageAction(node).getBoolean("memoryOnly"));
        assertTrue(stageAction(node).getBoolean("byHand"));
        assertEquals("ada", stageAction(node).getString("byHandUser"));
        end(build);
    }

    @Test
    void aSuspendedStageIsSavedWithItsNode() throws Exception {
        WorkflowRun build = sleepingBuild();
        FlowNode node = build.getExecution().getCurrentHeads().get(0);
        // On a running Pipeline: nothing can be added to the nodes of one that ended.
        node.addOrReplaceAction(
                new SuspendedStageAction("fuzz", "SUSPENDED", 1_000, null, null, REASON, false, false, 5, true, "ada"));
        node.save();
        end(build);

        jenkins.jenkins.reload();
        FlowExecution loaded = jenkins.jenkins
                .getItemByFullName("fuzzing", WorkflowJob.class)
                .getBuildByNumber(1)
                .getExecution();
        SuspendedStageAction action = loaded.getNode(node.getId()).getPersistentAction(SuspendedStageAction.class);

        assertEquals("fuzz", action.getStage());
        assertEquals("SUSPENDED", action.getState());
        assertEquals(1_000, action.getSinceMillis());
        assertNull(action.getPreemptor());
        assertEquals(REASON, action.getReason());
        assertEquals(5, action.getSize());
        assertTrue(action.isByHand());
        assertEquals("ada", action.getByHandUser());
    }

    @Test
    void timeAndSizeAreNeverNegative() {
        assertThrows(
                IllegalArgumentException.class,
                () -> new SuspendedStageAction("fuzz", "SUSPENDED", -1, null, null, false, 0));
        assertThrows(
                IllegalArgumentException.class,
                () -> new SuspendedStageAction("fuzz", "SUSPENDED", 0, null, null, false, -1));
    }

    @Test
    void aPreemptorTellsItsStoryAsItGoesOn() throws Exception {
        PreemptorAction action = new PreemptorAction("fuzzing #3", "fuzz", "agent-1", REASON, 10_000);
        assertEquals("Preempts stage \u201cfuzz\u201d of fuzzing #3 on agent-1. " + REASON, action.getSentence());
        action.suspended(11_500);
        assertEquals(
                "Preempts stage \u201cfuzz\u201d of fuzzing #3 on agent-1, which was suspended in 1.5 sec. " + REASON,
                action.getSentence());
        action.started(12_000);
        String whole = "Preempted stage \u201cfuzz\u201d of fuzzing #3 on agent-1, which was suspended in 1.5 sec;"
                + " started 2 sec after the request. " + REASON;
        assertTrue(action.getSentence().startsWith("Preempted stage"), action.getSentence());

        FreeStyleBuild build = jenkins.buildAndAssertSuccess(jenkins.createFreeStyleProject("deploy"));
        build.addAction(action);
        build.save();

        assertEquals(whole, action.getSentence());
        assertTrue(jenkins.createWebClient().getPage(build).asNormalizedText().contains(whole));
        JSONArray actions =
                jenkins.getJSON(build.getUrl() + "api/json").getJSONObject().getJSONArray("actions");
        JSONObject exported = only(actions, PreemptorAction.class);
        assertEquals("fuzzing #3", exported.getString("victim"));
        assertEquals("fuzz", exported.getString("stage"));
        assertEquals("agent-1", exported.getString("agent"));
        assertEquals(REASON, exported.getString("reason"));
        assertEquals(10_000, exported.getLong("requestedMillis"));
        assertEquals(11_500, exported.getLong("suspendedMillis"));
        assertEquals(12_000, exported.getLong("startedMillis"));
        assertEquals(whole, exported.getString("sentence"));
    }

    @Test
    void aPreemptorIsSavedWithItsBuild() throws Exception {
        FreeStyleBuild build = jenkins.buildAndAssertSuccess(jenkins.createFreeStyleProject("deploy"));
        PreemptorAction action = new PreemptorAction("fuzzing #3", "fuzz", "agent-1", REASON, 10_000);
        action.suspended(11_000);
        action.started(11_200);
        build.addAction(action);
        build.save();

        build.reload();

        PreemptorAction loaded = build.getAction(PreemptorAction.class);
        assertEquals(action.getSentence(), loaded.getSentence());
        assertEquals(11_200, loaded.getStartedMillis());
    }

    private static WorkflowRun sleepingBuild() throws Exception {
        WorkflowJob job = jenkins.createProject(WorkflowJob.class, "fuzzing");
        job.setDefinition(new CpsFlowDefinition("sleep 600", true));
        WorkflowRun build = job.scheduleBuild2(0).waitForStart();
        jenkins.waitForMessage("Sleeping for", build);
        return build;
    }

    private static void end(WorkflowRun build) throws Exception {
        build.doStop();
        jenkins.waitForCompletion(build);
    }

    /** As the REST pages write it: a node's own model, its actions one level down. */
    private static JSONObject stageAction(FlowNode node) throws Exception {
        StringWriter out = new StringWriter();
        new ModelBuilder()
                .get(FlowNode.class)
                .writeTo(node, 1, Flavor.JSON.createDataWriter(node, out, new ExportConfig()));
        return only(JSONObject.fromObject(out.toString()).getJSONArray("actions"), SuspendedStageAction.class);
    }

    private static JSONObject only(JSONArray actions, Class<?> type) {
        return StreamSupport.stream(((Iterable<?>) actions).spliterator(), false)
                .map(JSONObject.class::cast)
                .filter(action -> type.getName().equals(action.optString("_class")))
                .reduce((one, other) -> {
                    throw new AssertionError("more than one " + type + ": " + actions);
                })
                .orElseThrow(() -> new AssertionError("no " + type + ": " + actions));
    }
}
