package io.jenkins.plugins.preemptible.step;

import com.google.common.util.concurrent.ListenableFuture;
import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.model.TaskListener;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageContainers;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.util.concurrent.TimeUnit;
import org.jenkinsci.plugins.workflow.flow.FlowExecutionOwner;
import org.jenkinsci.plugins.workflow.pickles.Pickle;
import org.jenkinsci.plugins.workflow.pickles.PickleFactory;
import org.jenkinsci.plugins.workflow.support.pickles.TryRepeatedly;

/**
 * What stands for a {@link SandboxDecorator} in a saved Pipeline whose stage has an executor of its own and a container.
 *
 * <p>After a restart of the controller the container block asks for a launcher as soon as the Pipeline is read, and fails where
 * the agent is not back. So the Pipeline is read when the agent is there, as with {@code node}: within five minutes, or as
 * it is then. Other stages with executors of their own need not wait.
 */
final class AwaitedSandbox extends Pickle {

    private static final long serialVersionUID = 1L;
    private static final int SECONDS_BETWEEN = 1;
    private static final long MOST_NANOS = TimeUnit.MINUTES.toNanos(5);

    private final String stageId;

    private AwaitedSandbox(String stageId) {
        this.stageId = stageId;
    }

    @Override
    public ListenableFuture<?> rehydrate(FlowExecutionOwner owner) {
        long begun = System.nanoTime();
        return new TryRepeatedly<SandboxDecorator>(SECONDS_BETWEEN) {
            @CheckForNull
            @Override
            protected SandboxDecorator tryResolve() {
                return isBack() || System.nanoTime() - begun > MOST_NANOS ? new SandboxDecorator(stageId) : null;
            }

            @NonNull
            @Override
            protected FlowExecutionOwner getOwner() {
                return owner;
            }

            @Override
            protected void printWaitingMessage(@NonNull TaskListener listener) {
                listener.getLogger().println(this);
            }

            @Override
            public String toString() {
                return "The agent of the preemptible stage " + stageId + " is waited for, since it runs in a container";
            }
        };
    }

    /** Or will never be. */
    private boolean isBack() {
        StageRecord stage = StageRegistry.get().find(stageId);
        return stage == null || Nodes.named(stage.node()) == null || Nodes.rootOf(stage.node()) != null;
    }

    /** Leaves a decorator as it is unless its stage is of that kind. */
    @Extension
    public static final class Factory extends PickleFactory {
        @CheckForNull
        @Override
        public Pickle writeReplace(@NonNull Object object) {
            if (!(object instanceof SandboxDecorator)) {
                return null;
            }
            String id = ((SandboxDecorator) object).stageId();
            StageRecord stage = StageRegistry.get().find(id);
            if (stage == null || stage.form() != StageRecord.Form.OWN) {
                return null;
            }
            StageContainers containers = stage.containers();
            boolean none = containers == null || containers.all().isEmpty();
            return none && stage.contained() == null ? null : new AwaitedSandbox(id);
        }
    }
}
