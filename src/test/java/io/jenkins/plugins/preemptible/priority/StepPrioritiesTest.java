package io.jenkins.plugins.preemptible.priority;

import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.model.FreeStyleBuild;
import io.jenkins.plugins.preemptible.config.BestPriority;
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
        assertEquals(5, BestPriority.ofStage(priorities, run, null));
        assertEquals(5, BestPriority.ofStage(priorities, run, 5));
        assertEquals(4, BestPriority.ofStage(priorities, run, 4));
        assertEquals(3, BestPriority.ofStage(priorities, run, 3));
        assertEquals(3, BestPriority.ofStage(priorities, run, 1));
        PreemptibleConfiguration.get().setBestPriority(2);
        assertEquals(2, BestPriority.ofStage(priorities, run, 1));
        assertEquals(2, BestPriority.ofStage(priorities, run, 2));
        PreemptibleConfiguration.get().setBestPriority(5);
        assertEquals(3, BestPriority.ofStage(priorities, run, 1));
        assertEquals(3, BestPriority.ofStage(priorities, run, 3));
        assertEquals(5, BestPriority.ofStage(priorities, run, null));
    }
}
