package io.jenkins.plugins.preemptible.acceptance;

import hudson.model.Label;
import hudson.model.Node;
import hudson.slaves.AbstractCloudImpl;
import hudson.slaves.CloudRetentionStrategy;
import hudson.slaves.NodeProvisioner;
import hudson.slaves.RetentionStrategy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import jenkins.model.Jenkins;

/** A cloud whose machines are folders: it starts agents of one executor with the label of all tests, one more for each need. */
final class FolderCloud extends AbstractCloudImpl {

    /** Names of the agents that it has started, in that order. */
    static final List<String> STARTED = new CopyOnWriteArrayList<>();

    private static TwoHosts hosts;
    /** The agents' root folder. */
    private static String root;

    private static Supplier<RetentionStrategy<?>> retention;

    private FolderCloud() {
        super("folders", "10");
    }

    /** Adds it to the controller. */
    static FolderCloud of(TwoHosts hosts) {
        FolderCloud.hosts = hosts;
        root = hosts.root();
        retention = () -> new CloudRetentionStrategy(60);
        STARTED.clear();
        FolderCloud cloud = new FolderCloud();
        Jenkins.get().clouds.add(cloud);
        return cloud;
    }

    /** From now on its agents have another root folder, and go when they have been idle for a moment. */
    static void bringMisfits(String otherRoot) {
        root = otherRoot;
        retention = () -> new CloudRetentionStrategy(0);
    }

    static void retention(Supplier<RetentionStrategy<?>> of) {
        retention = of;
    }

    @Override
    public boolean canProvision(CloudState state) {
        Label label = state.getLabel();
        return label != null && label.getName().equals(Rig.LABEL);
    }

    @Override
    public Collection<NodeProvisioner.PlannedNode> provision(CloudState state, int excessWorkload) {
        List<NodeProvisioner.PlannedNode> planned = new ArrayList<>();
        for (int i = 0; i < excessWorkload; i++) {
            String name = "cloud-" + (STARTED.size() + 1);
            STARTED.add(name);
            try {
                Node agent = new CloudAgent(name, root, hosts.launcher(name), retention.get());
                planned.add(new NodeProvisioner.PlannedNode(name, CompletableFuture.completedFuture(agent), 1));
            } catch (Exception x) {
                throw new IllegalStateException(x);
            }
        }
        return planned;
    }
}
