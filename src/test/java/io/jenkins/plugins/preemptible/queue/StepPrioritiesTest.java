package io.jenkins.plugins.preemptible.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.model.FreeStyleBuild;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** What a step gets where Priority Sorter is not installed. */
@WithJenkins
class StepPrioritiesTest {

    @Test
    void aStepGetsLessThanOrdinaryItemsAndMoreUpToTheLimit(JenkinsRule j) throws Exception {
        FreeStyleBuild run = j.buildAndAssertSuccess(j.createFreeStyleProject());
        StepPriorities priorities = new StepPriorities();
        assertEquals(5, priorities.ofStage(run, null));
        assertEquals(5, priorities.ofStage(run, 5));
        assertEquals(4, priorities.ofStage(run, 4));
        assertEquals(3, priorities.ofStage(run, 3));
        assertEquals(3, priorities.ofStage(run, 1));
        PreemptibleConfiguration.get().setBestPriority(2);
        assertEquals(2, priorities.ofStage(run, 1));
        assertEquals(2, priorities.ofStage(run, 2));
        PreemptibleConfiguration.get().setBestPriority(5);
        assertEquals(3, priorities.ofStage(run, 1));
        assertEquals(3, priorities.ofStage(run, 3));
        assertEquals(5, priorities.ofStage(run, null));
    }
}
