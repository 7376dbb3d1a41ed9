package io.jenkins.plugins.preemptible.acceptance;

import hudson.model.Descriptor;
import hudson.model.TaskListener;
import hudson.slaves.AbstractCloudComputer;
import hudson.slaves.AbstractCloudSlave;
import hudson.slaves.ComputerLauncher;
import hudson.slaves.RetentionStrategy;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** An agent as clouds make them: Jenkins' own class, one executor, and a note in place of the machine that is given back. */
class CloudAgent extends AbstractCloudSlave {

    private static final long serialVersionUID = 1L;
    /** Names of the agents whose machine was given back. */
    static final Set<String> GIVEN_BACK = ConcurrentHashMap.newKeySet();

    CloudAgent(String name, String root, ComputerLauncher launcher, RetentionStrategy<?> retention)
            throws IOException, Descriptor.FormException {
        super(name, root, launcher);
        setLabelString(Rig.LABEL);
        setNumExecutors(1);
        setRetentionStrategy(retention);
    }

    @Override
    public AbstractCloudComputer<CloudAgent> createComputer() {
        return new AbstractCloudComputer<>(this);
    }

    @Override
    protected void _terminate(TaskListener listener) {
        GIVEN_BACK.add(getNodeName());
    }
}
