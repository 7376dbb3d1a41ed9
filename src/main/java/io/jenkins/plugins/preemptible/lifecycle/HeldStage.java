package io.jenkins.plugins.preemptible.lifecycle;

import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.LuggageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageStore;
import io.jenkins.plugins.preemptible.lifecycle.stage.StrangeHost;
import java.io.IOException;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * In which form an agent holds a suspended stage, where that is not known: after a restart of the controller, or an answer that was
 * lost. What runs although it is to be suspended is frozen; the record says what was found.
 *
 * <p>For one suspension; under the stage's {@code operation} lock.
 */
final class HeldStage {

    private static final Logger LOGGER = Logger.getLogger(Sealing.class.getName());

    private final LiveStage live;
    private final StageStore stages;
    private final SealSide side;
    /** The build log says that its agent has no record of the stage. */
    private boolean strangeTold;

    HeldStage(LiveStage live, StageStore stages, SealSide side) {
        this.live = live;
        this.stages = stages;
        this.side = side;
    }

    /** What {@link #ask} found. */
    enum Found {
        /** It has to be asked again. */
        BUSY,
        /** Nothing of it is there; a stage without an image was told lost, or went back to an earlier state. Or it is not asked. */
        ENDED,
        /** Another host has answered, which knows nothing of the processes whose image has just been stored. */
        STRANGE,
        /** No process, but what was dumped of it. */
        IMAGE,
        /** Frozen processes, of which an image has to be made anew. */
        FROZEN
    }

    /** @param justStored whether its image was stored, and the agent was not asked to resume it since */
    Found ask(StageRecord stage, StageAgent agent, boolean justStored) throws IOException, InterruptedException {
        boolean rolledBack = stage.rolledBack();
        if (rolledBack && stage.restoringOn() != null) {
            // It may run elsewhere by now, or here from its checkpoint: who has asked for that finds out.
            return Found.ENDED;
        }
        if (!stage.frozen() && !rolledBack) {
            // Where that cannot be told, the stored image must not be given up for a new one.
            AgentStage.NotKilled why = agent.commit();
            if (why != null && why.tree() == AgentStage.NotKilled.Tree.BUSY) {
                return Found.BUSY;
            }
            if (why != null) {
                LOGGER.log(Level.FINE, "no kill of {0} was due: {1}", new Object[] {stage, why.why()});
            }
        }
        AgentStage.Held how = agent.hold();
        LOGGER.log(Level.FINE, "{0} is held as {1}", new Object[] {stage, how});
        boolean awaited = StrangeHost.isAwaited(live, stage, how);
        switch (how) {
            case BUSY:
                return Found.BUSY;
            case UNKNOWN:
                if (justStored && !stage.frozen()) {
                    return Found.STRANGE;
                }
                boolean mayBeThere = stage.frozen() ? awaited : wasAsked(stage);
                return mayBeThere ? strange(stage) : ended(stage);
            case GONE:
                return ended(stage);
            case IMAGE:
                treeEnded(stage);
                return Found.IMAGE;
            default:
                frozen(stage, rolledBack);
                return Found.FROZEN;
        }
    }

    /** To resume the sealed stage, or to end its processes, and has not answered. */
    private static boolean wasAsked(StageRecord stage) {
        return stage.luggage() != null && !OutlivesAgent.isTreeEnded(stage);
    }

    private Found strange(StageRecord stage) {
        if (!strangeTold) {
            strangeTold = true;
            side.say(StrangeHost.sentence(stage) + ".");
        }
        return Found.BUSY;
    }

    private Found ended(StageRecord stage) throws IOException, InterruptedException {
        if (stage.frozen()) {
            side.lost();
        } else {
            treeEnded(stage);
        }
        return Found.ENDED;
    }

    private void treeEnded(StageRecord stage) {
        if (stage.luggage() != null) {
            stages.update(stage.id(), LuggageChanges.treeEnded(true));
        }
    }

    private void frozen(StageRecord stage, boolean rolledBack) throws InterruptedException {
        long thawByMillis = rolledBack ? side.thawByMillis(stage) : stage.thawByMillis();
        Secret key = stage.memoryOnly() || thawByMillis > 0 ? null : side.newKey();
        StageRecord held =
                stages.update(stage.id(), StageChanges.heldFrozen(key).andThen(StageChanges.thawBy(thawByMillis)));
        if (rolledBack && held != null) {
            side.kept(held);
        }
    }
}
