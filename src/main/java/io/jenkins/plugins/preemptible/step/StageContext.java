package io.jenkins.plugins.preemptible.step;

import hudson.Extension;
import hudson.FilePath;
import hudson.model.Computer;
import hudson.model.Executor;
import hudson.model.Node;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.move.MovedDirs;
import java.io.IOException;
import java.io.Serializable;
import java.util.Set;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.workflow.FilePathUtils;
import org.jenkinsci.plugins.workflow.cps.nodes.StepNode;
import org.jenkinsci.plugins.workflow.cps.nodes.StepStartNode;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.DynamicContext;
import org.jenkinsci.plugins.workflow.steps.StepDescriptor;

/**
 * Where the steps inside an own-executor stage run: what {@code node} provides, looked up anew at every get.
 *
 * <ol>
 *   <li>The serializable part names node, workspace and block; it lies in the body's context and survives restarts.
 *   <li>One {@link DynamicContext} a type turns it into the live object. Executor and lease change with every
 *       suspension, so nothing of them is kept here.
 *   <li>All of them stand before those of {@code node} (ordinal 0), which would otherwise serve an outer node's
 *       objects; each first makes sure that no block between ours and the step provides the type itself.
 * </ol>
 */
final class StageContext implements Serializable {

    private static final long serialVersionUID = 1L;

    static final Set<Class<?>> PROVIDED =
            Set.of(FilePath.class, Computer.class, Node.class, Executor.class, WorkspaceList.Lease.class);

    private final String stageId;
    private final String blockNodeId;
    private final String node;
    private final String workspace;

    /** Of the agent that the stage is on now; it may have moved since it began. */
    private String node() {
        StageRecord stage = StageRegistry.get().find(stageId);
        return stage == null ? node : stage.node();
    }

    StageContext(String stageId, String blockNodeId, String node, String workspace) {
        this.stageId = stageId;
        this.blockNodeId = blockNodeId;
        this.node = node;
        this.workspace = workspace;
    }

    /** Before everything in Pipeline's own plugins; see the class comment. */
    private static final double FIRST = 110;

    private abstract static class Served<T> extends DynamicContext.Typed<T> {

        @Override
        protected T get(DelegatedContext context) throws IOException, InterruptedException {
            StageContext stage = context.get(StageContext.class);
            FlowNode current = context.get(FlowNode.class);
            if (stage == null || !innermost(stage, current)) {
                return stage == null ? null : inside(stage, current);
            }
            return live(stage);
        }

        /** Where another block inside of ours provides the type; null leaves it to that. */
        T inside(StageContext stage, FlowNode current) throws IOException, InterruptedException {
            return null;
        }

        abstract T live(StageContext stage) throws IOException, InterruptedException;

        private boolean innermost(StageContext stage, FlowNode current) {
            if (current == null || current.getId().equals(stage.blockNodeId)) {
                return true;
            }
            for (FlowNode around : current.iterateEnclosingBlocks()) {
                if (around.getId().equals(stage.blockNodeId)) {
                    return true;
                }
                if (around instanceof StepStartNode && ((StepStartNode) around).isBody()) {
                    // The body of a block is a node of its own below the block's, with the same descriptor.
                    continue;
                }
                StepDescriptor kind = around instanceof StepNode ? ((StepNode) around).getDescriptor() : null;
                if (kind != null && kind.getProvidedContext().contains(type())) {
                    return false;
                }
            }
            return true;
        }
    }

    @Extension(ordinal = FIRST)
    public static final class Workspace extends Served<FilePath> {
        @Override
        protected Class<FilePath> type() {
            return FilePath.class;
        }

        @Override
        FilePath live(StageContext stage) throws IOException {
            FilePath found = FilePathUtils.find(stage.node(), stage.workspace);
            if (found == null) {
                throw new IOException(
                        "The agent '" + stage.node() + "' of this preemptible stage is offline or removed");
            }
            return found;
        }

        @Override
        FilePath inside(StageContext stage, FlowNode current) throws IOException {
            StageRecord record = StageRegistry.get().find(stage.stageId);
            return record == null || record.moves() == 0 ? null : MovedDirs.of(live(stage), stage.blockNodeId, current);
        }
    }

    @Extension(ordinal = FIRST)
    public static final class OfNode extends Served<Node> {
        @Override
        protected Class<Node> type() {
            return Node.class;
        }

        @Override
        Node live(StageContext stage) {
            return Nodes.named(stage.node());
        }
    }

    @Extension(ordinal = FIRST)
    public static final class OfComputer extends Served<Computer> {
        @Override
        protected Class<Computer> type() {
            return Computer.class;
        }

        @Override
        Computer live(StageContext stage) {
            return Jenkins.get().getComputer(stage.node());
        }
    }

    @Extension(ordinal = FIRST)
    public static final class OfExecutor extends Served<Executor> {
        @Override
        protected Class<Executor> type() {
            return Executor.class;
        }

        @Override
        Executor live(StageContext stage) {
            LiveStage live = LiveStage.find(stage.stageId);
            StageRecord record = StageRegistry.get().find(stage.stageId);
            return live == null || record == null ? null : live.hold().executor(record);
        }
    }

    @Extension(ordinal = FIRST)
    public static final class OfLease extends Served<WorkspaceList.Lease> {
        @Override
        protected Class<WorkspaceList.Lease> type() {
            return WorkspaceList.Lease.class;
        }

        @Override
        WorkspaceList.Lease live(StageContext stage) {
            LiveStage live = LiveStage.find(stage.stageId);
            return live == null ? null : live.lease();
        }
    }
}
