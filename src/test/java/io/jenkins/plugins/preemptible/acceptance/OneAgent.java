package io.jenkins.plugins.preemptible.acceptance;

import hudson.EnvVars;
import hudson.slaves.DumbSlave;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.jvnet.hudson.test.JenkinsRule;

/** A test on a real controller with one real agent of one executor, skipped where nothing can be suspended. */
abstract class OneAgent {

    JenkinsRule j;
    Rig rig;
    DumbSlave agent;

    @BeforeEach
    void rig(JenkinsRule jenkins) throws Exception {
        assumptions();
        Rig.assumeSuspendable();
        j = jenkins;
        rig = new Rig(j);
        agent = rig.agent(agentEnvironment());
    }

    /** What else has to be on this machine. */
    void assumptions() throws Exception {}

    /** Added to the agent's environment; null for nothing. */
    EnvVars agentEnvironment() {
        return null;
    }

    @AfterEach
    void tell() throws Exception {
        if (rig != null) {
            rig.tell();
        }
    }
}
