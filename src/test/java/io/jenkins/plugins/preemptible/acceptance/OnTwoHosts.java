package io.jenkins.plugins.preemptible.acceptance;

import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.time.Duration;
import java.util.List;
import org.htmlunit.html.HtmlForm;
import org.htmlunit.html.HtmlOption;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/**
 * Tests on a controller that moves stages, with agents as if on hosts of their own.
 *
 * <ol>
 *   <li>All tests of a class share the controller: its start takes about as long as a test.
 *   <li>Each test has hosts of its own, and the settings that the first one had.
 *   <li>After each test its builds are ended, and its jobs, agents and hosts are removed.
 * </ol>
 */
@WithJenkins
abstract class OnTwoHosts {

    static final Duration LONG = Duration.ofMinutes(5);

    static JenkinsRule j;
    static Rig rig;
    TwoHosts hosts;

    @BeforeAll
    static void startController(JenkinsRule jenkins) {
        j = jenkins;
        rig = new Rig(j);
    }

    @AfterAll
    static void stopController() throws Exception {
        j.after();
    }

    @BeforeEach
    void settings() throws Exception {
        Rig.assumeSuspendable();
        rig.prepare();
        PreemptibleConfiguration given = new PreemptibleConfiguration();
        PreemptibleConfiguration configuration = PreemptibleConfiguration.get();
        configuration.setStoredWorkspaceMegabytes(given.getStoredWorkspaceMegabytes());
        configuration.setMemoryFloorMegabytes(given.getMemoryFloorMegabytes());
        configuration.setMoveExcludes(given.getMoveExcludes());
        configuration.setMoveStages(true);
        hosts = new TwoHosts(j);
    }

    @AfterEach
    void tell() throws Exception {
        rig.tell();
        rig.clear();
        if (hosts != null) {
            hosts.close();
        }
        // They are on hosts that are gone, whose agents' names the next test uses again.
        List.copyOf(StageRegistry.get().leftovers())
                .forEach(stage -> StageRegistry.get().cleaned(stage.id()));
    }

    /** The form of the build's page; null when it has none. */
    HtmlForm moveForm(WorkflowRun stage) throws Exception {
        // Not closed: the form is submitted by it.
        return j.createWebClient().getPage(stage).getForms().stream()
                .filter(form -> form.getActionAttribute().endsWith("/preemptible/move"))
                .findFirst()
                .orElse(null);
    }

    /** Agents that can be chosen in it. */
    List<String> offered(WorkflowRun stage) throws Exception {
        HtmlForm form = moveForm(stage);
        return form == null
                ? List.of()
                : form.getSelectByName("to").getOptions().stream()
                        .filter(option -> !option.isDisabled())
                        .map(HtmlOption::getValueAttribute)
                        .toList();
    }
}
