package io.jenkins.plugins.preemptible.overview;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.node_monitors.AbstractNodeMonitorDescriptor;
import hudson.node_monitors.NodeMonitor;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import org.jenkinsci.Symbol;
import org.kohsuke.stapler.DataBoundConstructor;

/**
 * A column of the table of agents: who drains an agent, and how many stages are suspended there.
 *
 * <p>Asks no agent, and marks none offline: what it shows is in the controller's memory.
 */
public final class PreemptibleNodeMonitor extends NodeMonitor {

    @DataBoundConstructor
    public PreemptibleNodeMonitor() {
        // Nothing to be set.
    }

    @Override
    public Object data(Computer computer) {
        return text(computer);
    }

    @CheckForNull
    private static String text(Computer computer) {
        Node node = computer.getNode();
        if (node == null) {
            return null;
        }
        String name = node.getNodeName();
        long suspended = StageRegistry.get().all().stream()
                .filter(StageRecord::suspended)
                .filter(stage -> stage.node().equals(name))
                .count();
        DrainedAgents.Drain drain = DrainedAgents.get().of(name);
        if (drain != null) {
            return Messages.PreemptibleNodeMonitor_Drained(drain.by(), suspended);
        }
        return suspended == 0 ? "" : Messages.PreemptibleNodeMonitor_Suspended(suspended);
    }

    /** Has no thread of its own: every look at the table reads memory. */
    @Extension
    @Symbol("preemptibleStages")
    public static final class DescriptorImpl extends AbstractNodeMonitorDescriptor<String> {

        @Override
        public String getDisplayName() {
            return Messages.PreemptibleRootAction_DisplayName();
        }

        @Override
        protected String monitor(Computer computer) {
            return text(computer);
        }

        @Override
        public NodeMonitor newInstance(
                @CheckForNull org.kohsuke.stapler.StaplerRequest2 request, net.sf.json.JSONObject form) {
            return new PreemptibleNodeMonitor();
        }
    }
}
