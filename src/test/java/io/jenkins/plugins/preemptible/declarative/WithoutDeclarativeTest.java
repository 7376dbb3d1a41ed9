package io.jenkins.plugins.preemptible.declarative;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.Functions;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.jvnet.hudson.test.junit.jupiter.RealJenkinsExtension;

/** A controller without the Declarative plugin starts with this one, says nothing of it, and runs stages. */
class WithoutDeclarativeTest {

    @RegisterExtension
    private final RealJenkinsExtension controller =
            new RealJenkinsExtension().omitPlugins("pipeline-model-definition", "docker-workflow");

    @Test
    void startsCleanAndRunsStages() throws Throwable {
        controller.then(j -> {
            assertNull(j.jenkins.getPluginManager().getPlugin("pipeline-model-definition"));
            assertTrue(j.jenkins.getPluginManager().getPlugin("preemptible").isActive());
            assertEquals(
                    List.of(),
                    j.jenkins.getPluginManager().getFailedPlugins().stream()
                            .map(p -> p.name)
                            .toList());
            WorkflowJob job = j.createProject(WorkflowJob.class, "scripted");
            job.setDefinition(new CpsFlowDefinition("preemptible(label: 'built-in') { echo 'ran' }", true));
            j.assertLogContains("ran", j.buildAndAssertSuccess(job));
            assertEquals(
                    List.of(),
                    Jenkins.logRecords.stream()
                            .filter(record -> record.getLevel().intValue() >= Level.WARNING.intValue())
                            .map(WithoutDeclarativeTest::text)
                            .filter(text -> text.contains("PreemptibleAgent") || text.contains("DeclarativeRefusals"))
                            .toList());
        });
    }

    private static String text(LogRecord record) {
        return record.getMessage() + (record.getThrown() == null ? "" : Functions.printThrowable(record.getThrown()));
    }
}
