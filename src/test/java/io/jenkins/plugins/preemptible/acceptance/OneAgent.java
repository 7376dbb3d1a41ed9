package io.jenkins.plugins.preemptible.acceptance;

import hudson.EnvVars;
import hudson.model.Node;
import hudson.slaves.DumbSlave;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.jvnet.hudson.test.JenkinsRule;

/**
 * Tests on a real controller with one real agent of one executor, skipped where nothing can be suspended.
 *
 * <ol>
 *   <li>All tests of a class share the controller and, unless one removed it, the agent: starting them takes longer
 *       than most tests.
 *   <li>After each test its builds are ended and its jobs and workspaces are removed.
 *   <li>Classes share a JVM: {@link Periods} are put back, and Jenkins is stopped.
 * </ol>
 */
abstract class OneAgent {

    static JenkinsRule j;
    static Rig rig;
    static DumbSlave agent;

    @BeforeAll
    static void controller(JenkinsRule jenkins) {
        j = jenkins;
        rig = new Rig(j);
    }

    @AfterAll
    static void stop() throws Exception {
        agent = null;
        j.after();
    }

    @BeforeEach
    void agent() throws Exception {
        assumptions();
        Node known = j.jenkins.getNode("worker");
        if (known == null || known != agent) {
            if (known != null) {
                j.jenkins.removeNode(known);
            }
            agent = agentToTest();
        }
    }

    /** Makes the agent "worker", online. */
    DumbSlave agentToTest() throws Exception {
        return rig.agent(agentEnvironment());
    }

    /** What has to be on this machine. */
    void assumptions() throws Exception {
        Rig.assumeSuspendable();
    }

    /** Added to the agent's environment; null for nothing. */
    EnvVars agentEnvironment() {
        return null;
    }

    @AfterEach
    void tell() throws Exception {
        rig.tell();
        rig.clear();
    }
}
