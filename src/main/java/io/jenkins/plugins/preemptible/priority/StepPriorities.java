package io.jenkins.plugins.preemptible.priority;

import hudson.Extension;
import hudson.model.Queue;
import hudson.model.Run;

/**
 * Priorities without Priority Sorter: those of the preemptible steps themselves.
 *
 * <ol>
 *   <li>From 1 to 5 with 3 in the middle, Priority Sorter's own defaults.
 *   <li>Whatever is no preemptible stage has the middle one.
 *   <li>A step that asks for none has the lowest: who says preemptible means to give way.
 * </ol>
 */
@Extension(ordinal = -100)
public final class StepPriorities extends Priorities {

    static final int LOWEST = 5;
    static final int MIDDLE = 3;

    @Override
    public int lowest() {
        return LOWEST;
    }

    @Override
    public int ordinary() {
        return MIDDLE;
    }

    @Override
    public int ofBuild(Run<?, ?> run) {
        return MIDDLE;
    }

    @Override
    public int ofStageByDefault(Run<?, ?> run) {
        return LOWEST;
    }

    @Override
    public int ofItem(Queue.Item item) {
        return item.task instanceof OwnPriority ? ((OwnPriority) item.task).priority() : MIDDLE;
    }
}
