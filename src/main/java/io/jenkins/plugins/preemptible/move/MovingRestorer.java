package io.jenkins.plugins.preemptible.move;

import hudson.FilePath;
import hudson.model.Computer;
import hudson.model.Executor;
import hudson.model.Node;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Delivery;
import io.jenkins.plugins.preemptible.agent.MovingStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.checkpoint.RolledBack;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.lifecycle.Restorer;
import io.jenkins.plugins.preemptible.lifecycle.image.ImageGoneException;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsOnAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.ExactLease;
import io.jenkins.plugins.preemptible.lifecycle.stage.LeftAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.LuggageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.support.actions.WorkspaceActionImpl;

/**
 * Brings a suspended stage to another agent, which has an executor for it.
 *
 * <ol>
 *   <li>The old agent confirms that nothing of the stage runs there, unless it has done so before. The workspace of the same path is leased on the new
 *       one; its image is brought, and compared with the host.
 *   <li>Workspace and temporary folder come from the archive, where they are stored with the image; else the old agent
 *       packs them. The new one unpacks them.
 *   <li>The record names the new agent as the one that may run it; then it is asked to restore. As long as it has not
 *       answered, no other agent may have the stage; nor is another host believed that has its name.
 *   <li>It runs: the record names its agent, then the Pipeline's steps follow, then the old agent is cleaned.
 * </ol>
 *
 * A failure before the third step, or a refusal in it, leaves the stage suspended on its old agent, and the new one is
 * not tried again for a while. For one resume; used under the stage's operation lock.
 */
public final class MovingRestorer implements Restorer {

    private static final Logger LOGGER = Logger.getLogger(MovingRestorer.class.getName());

    /** After a refusal by the host that has the stage's own agent's name now: no other agent takes its place. */
    private static final long OWN_PAUSE_MILLIS = TimeUnit.MINUTES.toMillis(1);

    private WorkspaceList.Lease lease;
    private long beganNanos;
    private long workspaceBytes;
    private boolean foundRunning;

    /** Whether a suspended stage is not simply resumed where it was suspended. */
    public static boolean isNeeded(StageRecord stage, Computer computer) throws InterruptedException {
        return OutlivesAgent.isAwaited(stage)
                || stage.rolledBack()
                || !computer.getName().equals(stage.node())
                || MoveTargets.isAnotherHost(stage, computer.getNode());
    }

    @Override
    public AgentStage.Restore restore(LiveStage live, StageRecord stage, Executor executor)
            throws IOException, InterruptedException {
        beganNanos = System.nanoTime();
        Computer computer = executor.getOwner();
        Node to = computer.getNode();
        if (to == null) {
            throw new IOException("the agent " + computer.getDisplayName() + " was removed from Jenkins");
        }
        AgentStage agent = AgentStage.on(to, stage.id());
        boolean awaited = OutlivesAgent.isAwaited(stage);
        if (awaited && !to.getNodeName().equals(stage.restoringOn())) {
            throw refused(Misfit.of(MoveObstacle.ANSWER_AWAITED));
        }
        if (!awaited && !isOwn(stage, to)) {
            requireNotBack(stage);
        }
        if (!awaited) {
            KeptProcesses.endUnderOtherNames(stage);
        }
        if (!awaited && !to.getNodeName().equals(stage.node()) && FailedMoves.contain(stage, to.getNodeName())) {
            // Taken back while the executor was on its way, for instance.
            notMoved(stage, to, true, false);
            throw refused(Misfit.of(MoveObstacle.REFUSED_THERE));
        }
        boolean done = false;
        boolean another = false;
        try (MoveUnderWay move =
                MoveUnderWay.begin(stage.id(), to.getDisplayName(), line -> StageLog.line(live.context(), line))) {
            boolean itsHost = !awaited && MoveTargets.isItsHost(stage, to);
            boolean there = awaited || itsHost || isOwn(stage, to);
            if (there) {
                // From the beginning: it is no move that can be taken back.
                move.restoring();
            }
            lease(live, computer, to, stage);
            AgentStage.Restore answer = null;
            if (there) {
                if (awaited) {
                    AskedHost.requireNoOther(stage, to);
                } else if (itsHost) {
                    // It is resumed there though the answer may be lost.
                    noteAsked(stage, executor);
                }
                answer = move.restore(() -> agent.resumeHere(LastResort.ARCHIVE));
                if (answer == null && (awaited || itsHost)) {
                    AskedHost.requireNothing(stage, to);
                }
            }
            foundRunning = answer != null;
            if (answer != null && answer.refusal() != null && isOwn(stage, to)) {
                // What is left there may be newer than any checkpoint, and none was tried.
                StageRegistry.get().update(stage.id(), StageChanges.restoringOn(null));
                return answer;
            }
            if (answer == null) {
                if (!isOwn(stage, to)) {
                    move.notRestoring();
                }
                StageRecord known = awaited || itsHost
                        ? StageRegistry.get().update(stage.id(), StageChanges.restoringOn(null))
                        : stage;
                endWhereLeft(stage, to);
                Transfer transfer = new Transfer(live, known == null ? stage : known, to, isOwn(stage, to), move);
                move.bring(transfer::run);
                workspaceBytes = transfer.workspaceBytes();
                if (!isOwn(stage, to)) {
                    // It may have connected meanwhile.
                    requireNotBack(stage);
                }
                move.restoring();
                AgentTraits.learn(to);
                noteAsked(stage, executor);
                String key = StageImages.keyOf(stage).getPlainText();
                answer = move.restore(() -> agent.restore(key));
            }
            if (answer.refusal() != null) {
                AgentStage.Refusal why = answer.refusal();
                StageLog.refusal(live.context(), to.getDisplayName() + " refused it.", why.criuLines());
                // First: an earlier restore, whose answer was lost, may still be under way there.
                MovingStage.on(to, stage.id()).leave(List.of());
                StageRegistry.get().update(stage.id(), StageChanges.restoringOn(null));
                another = RolledBack.refused(live, stage);
                if (isOwn(stage, to)) {
                    return answer;
                }
                throw new NotMovedException(why.reason(), why.sentence(), null);
            }
            done = true;
            return answer;
        } catch (PostponedException x) {
            throw x;
        } catch (NotMovedException x) {
            if (isOwn(stage, to)) {
                // There is no other agent yet: it is tried again after a pause.
                throw new IOException(x.getMessage(), x);
            }
            notMoved(stage, to, another, x.isRefusal());
            throw x;
        } catch (IOException | RuntimeException x) {
            StageRecord now = StageRegistry.get().find(stage.id());
            if (now != null && OutlivesAgent.isAwaited(now)) {
                // It may run there: the caller waits for the answer.
                throw x;
            }
            if (x instanceof ImageGoneException || MovingStage.isOfImage(x)) {
                // Else an agent or the archive was away, which says nothing of the checkpoint.
                another = RolledBack.refused(live, stage);
            }
            if (isOwn(stage, to)) {
                throw x;
            }
            boolean full = x instanceof Delivery.NoRoomException;
            notMoved(stage, to, another, full);
            if (full) {
                Misfit room = new Misfit(MoveObstacle.DISK_FULL, x.getMessage());
                throw new NotMovedException(room.obstacle().name(), room.sentence(), x);
            }
            LOGGER.log(Level.WARNING, x, () -> "cannot move " + stage + " to " + to.getNodeName());
            throw new NotMovedException("", failure(to, x), x);
        } finally {
            if (!done) {
                giveBack(live, stage, computer);
            }
        }
    }

    private void noteAsked(StageRecord stage, Executor executor) {
        String agent = executor.getOwner().getName();
        StageRegistry.get().update(stage.id(), StageChanges.restoringOn(agent, hostToken(executor)));
    }

    private static void requireNotBack(StageRecord stage) throws PostponedException, InterruptedException {
        if (KeptProcesses.areBack(stage)) {
            throw new PostponedException(
                    "the agent '" + stage.node() + "' is back, and still has this stage's processes");
        }
    }

    /** It may run there still, if that host was given up without an answer and is not cleaned yet. */
    private static void endWhereLeft(StageRecord stage, Node to) throws IOException, InterruptedException {
        List<String> left = stage.leftHosts();
        String token = left.isEmpty() ? "" : AgentTraits.asked(to).token();
        if (left.contains(token)) {
            MovingStage.on(to, stage.id()).leave(List.of());
            // What is restored there from now on is the stage.
            StageRegistry.get().update(stage.id(), LuggageChanges.cleanedOn(token));
        }
    }

    @Override
    public String hostToken(Executor executor) {
        HostTraits host = AgentTraits.of(executor.getOwner());
        return host == null ? "" : host.token();
    }

    /** A sentence. */
    private static String failure(Node to, Exception x) {
        if (Nodes.named(to.getNodeName()) == null) {
            return "The agent '" + to.getNodeName() + "' was removed from Jenkins meanwhile.";
        }
        String why = String.valueOf(x.getMessage());
        return "An agent or the archive failed: " + why + (why.endsWith(".") ? "" : ".");
    }

    /** As long as the stage may run on the new agent, or is not cleaned there, nobody else may have its workspace. */
    private void giveBack(LiveStage live, StageRecord stage, Computer computer) {
        LeftAgent.schedule(stage.id(), computer.getName(), 0);
        StageRecord now = StageRegistry.get().find(stage.id());
        boolean needed =
                now != null && (now.restoringOn() != null || LeftAgents.of(now).containsKey(computer.getName()));
        boolean own = computer.getName().equals(stage.node());
        if (lease != null && own && isInUse(computer) && live.lease() == null) {
            live.lease(lease, computer);
        } else if (lease != null && own) {
            // It was added again meanwhile, and has a list of leases of its own.
            lease.release();
        } else if (lease != null && needed) {
            KeptWorkspaces.keep(stage, computer, lease);
        } else if (lease != null) {
            lease.release();
        }
    }

    private static boolean isInUse(Computer computer) {
        return Jenkins.get().getComputer(computer.getName()) == computer;
    }

    /** A stage that has lost its processes there, and is resumed from a checkpoint. */
    private static boolean isOwn(StageRecord stage, Node to) {
        return to.getNodeName().equals(stage.node()) && stage.rolledBack();
    }

    /**
     * @param another whether it has another image, which that agent may restore
     * @param refused whether the agent stood against it
     */
    private static void notMoved(StageRecord stage, Node to, boolean another, boolean refused)
            throws InterruptedException {
        if (!another) {
            FailedMoves.add(stage, to.getNodeName(), refused);
        }
        StageRecord now = StageRegistry.get().find(stage.id());
        if (now != null && to.getNodeName().equals(now.moveTo())) {
            // Somebody may want it elsewhere meanwhile.
            StageRegistry.get().update(stage.id(), StageChanges.moveTo(null));
        }
        if (to.getNodeName().equals(stage.node())) {
            StageRegistry.get()
                    .update(stage.id(), StageChanges.postponed(System.currentTimeMillis() + OWN_PAUSE_MILLIS));
        }
    }

    static NotMovedException refused(Misfit why) {
        return new NotMovedException(why.obstacle().name(), why.sentence(), null);
    }

    private void lease(LiveStage live, Computer computer, Node to, StageRecord stage)
            throws IOException, InterruptedException {
        FilePath workspace = to.createPath(stage.workspace());
        if (workspace == null) {
            throw new IOException("the agent " + to.getDisplayName() + " is offline");
        }
        WorkspaceList.Lease own = to.getNodeName().equals(stage.node()) ? live.leaseOn(computer) : null;
        if (own == null) {
            lease = KeptWorkspaces.take(stage, computer, workspace);
        } else {
            // The same agent on another host, or after its host's restart: it has had that workspace all along.
            live.lease(null, null);
            // By its path: the connection is another one.
            lease = WorkspaceList.Lease.createLinkedDummyLease(workspace, own);
        }
        if (!ExactLease.isOf(workspace, lease)) {
            lease.release();
            lease = null;
            // Of one that may run there nothing is given up for that.
            throw !OutlivesAgent.isAwaited(stage)
                    ? refused(new Misfit(MoveObstacle.WORKSPACE_TAKEN, stage.workspace()))
                    : new PostponedException(MoveObstacle.WORKSPACE_TAKEN.sentence());
        }
    }

    @Override
    public void ran(LiveStage live, StageRecord before, Executor executor) throws InterruptedException {
        Computer computer = executor.getOwner();
        Computer left = Jenkins.get().getComputer(before.node());
        WorkspaceList.Lease old = left == null ? null : live.leaseOn(left);
        if (old == null) {
            live.releaseLease();
        }
        live.lease(lease, computer);
        if (!foundRunning || before.restoringOn() != null) {
            // Also what an earlier attempt has restored, whose answer was lost.
            RolledBack.runs(live, before);
        }
        StepsOnAgent.follow(live);
        if (computer.getName().equals(before.node()) && before.rolledBack()) {
            return;
        }
        try {
            FlowNode block = live.context().get(FlowNode.class);
            if (block != null) {
                block.addOrReplaceAction(new WorkspaceActionImpl(lease.path, block));
            }
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot note where " + before + " runs now");
        }
        Node from = Nodes.named(before.node());
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beganNanos);
        if (!foundRunning) {
            MoveCosts.took(before.archiveBytes() + workspaceBytes, millis);
        }
        StageLog.line(
                live.context(),
                "Moved from " + (from == null ? before.node() : from.getDisplayName()) + " to "
                        + computer.getDisplayName() + " in "
                        + StageLog.time(millis) + ": image "
                        + StageLog.size(before.archiveBytes()) + ", workspace " + StageLog.size(workspaceBytes) + ".");
        LeftAgent.clean(before, old);
    }
}
