package io.jenkins.plugins.preemptible.acceptance;

import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Tests on a controller that moves stages, with agents as if on hosts of their own. */
@WithJenkins
abstract class OnTwoHosts {

    static final Duration LONG = Duration.ofMinutes(5);

    JenkinsRule j;
    Rig rig;
    TwoHosts hosts;

    @BeforeEach
    void controller(JenkinsRule jenkins) throws Exception {
        j = jenkins;
        Rig.assumeSuspendable();
        rig = new Rig(j);
        rig.prepare();
        PreemptibleConfiguration.get().setMoveStages(true);
        hosts = new TwoHosts(j);
    }

    @AfterEach
    void tell() throws Exception {
        if (rig != null) {
            rig.tell();
            rig.clear();
        }
        if (hosts != null) {
            hosts.close();
        }
    }
}
