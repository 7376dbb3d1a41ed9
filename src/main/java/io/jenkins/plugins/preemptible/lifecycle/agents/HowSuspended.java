package io.jenkins.plugins.preemptible.lifecycle.agents;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;

/**
 * How stages are suspended on an agent, as it said last: when a stage began there, or was frozen.
 *
 * <ol>
 *   <li>Nobody asks an agent for it alone: before its first stage nothing is known.
 *   <li>After a restart of the controller, the stages that are on the agent tell it.
 * </ol>
 *
 * @param whyNot for people; null unless no stage can be suspended
 * @param throughSudo whether the agent's process is a user's, and the privileged part of its host does it
 */
public record HowSuspended(Way way, @CheckForNull String whyNot, boolean throughSudo) {

    /** In capitals for programs. */
    public enum Way {
        /** No stage has begun there yet. */
        UNKNOWN,
        /** By images, which outlive a restart of the host. */
        CHECKPOINTS,
        /** Frozen in the agent's memory for as long as they are suspended. */
        MEMORY_ONLY,
        /** Not at all. */
        NOT
    }

    static final HowSuspended UNKNOWN = new HowSuspended(Way.UNKNOWN, null, false);

    /** Notes what the agent said when a stage began. */
    public static void opened(
            String node, boolean memoryOnly, @CheckForNull EnterCommand enter, @CheckForNull String refusal) {
        Measured.of(node).how(refusal == null ? of(memoryOnly, enter) : new HowSuspended(Way.NOT, refusal, false));
    }

    static HowSuspended of(boolean memoryOnly, @CheckForNull EnterCommand enter) {
        return new HowSuspended(
                memoryOnly ? Way.MEMORY_ONLY : Way.CHECKPOINTS, null, enter instanceof EnterCommand.BySudo);
    }

    /** @param node the name of an agent, empty for the built-in node */
    public static HowSuspended on(String node) {
        HowSuspended said = Measured.of(node).how();
        if (said.way != Way.UNKNOWN) {
            return said;
        }
        return StageRegistry.get().all().stream()
                .filter(stage -> stage.node().equals(node) && stage.hasSandbox())
                .findFirst()
                .map(stage -> of(stage.onMemoryOnlyAgent(), stage.enterCommand()))
                .orElse(UNKNOWN);
    }

    /** Whether nothing can be suspended there now, since it would have to stay in memory that is not free. */
    public static boolean lacksMemory(String node) {
        long free = Measured.of(node).freeBytes();
        return on(node).way == Way.MEMORY_ONLY
                && free >= 0
                && free < PreemptibleConfiguration.get().memoryFloorBytes();
    }
}
