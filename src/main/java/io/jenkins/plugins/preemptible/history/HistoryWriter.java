package io.jenkins.plugins.preemptible.history;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.model.Run;
import hudson.security.ACL;
import hudson.security.ACLContext;
import io.jenkins.plugins.preemptible.event.StageRef;
import io.jenkins.plugins.preemptible.event.StageSuspended;
import java.io.IOException;
import java.util.function.UnaryOperator;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Writes each suspension into its build's {@link SuspensionHistoryAction}, and saves the build.
 *
 * <p>A build that cannot be saved keeps its history in memory: the next event, or the build's end, saves it.
 */
@Extension
public final class HistoryWriter implements PastStageListener {

    private static final Logger LOGGER = Logger.getLogger(HistoryWriter.class.getName());

    @Override
    public void onSuspended(StageSuspended event) {
        Run<?, ?> run = run(event.stage());
        if (run == null) {
            return;
        }
        SuspensionHistoryAction history = SuspensionHistoryAction.of(run);
        if (history == null) {
            history = new SuspensionHistoryAction();
            run.addAction(history);
        }
        PastSuspension suspension = new PastSuspension(event);
        if (!history.update(event.stage().id(), stage -> stage.with(suspension))) {
            history.add(PastStage.begun(event).with(suspension));
        }
        save(run);
    }

    @Override
    public boolean update(StageRef stage, UnaryOperator<PastStage> change) {
        Run<?, ?> run = run(stage);
        SuspensionHistoryAction history = run == null ? null : SuspensionHistoryAction.of(run);
        if (history == null || !history.update(stage.id(), change)) {
            return false;
        }
        save(run);
        return true;
    }

    @CheckForNull
    private static Run<?, ?> run(StageRef stage) {
        try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
            return Run.fromExternalizableId(stage.runId());
        } catch (IllegalArgumentException x) {
            LOGGER.log(Level.FINE, x, () -> "no build of " + stage);
            return null;
        }
    }

    private static void save(Run<?, ?> run) {
        try {
            run.save();
        } catch (IOException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot save the suspensions of " + run);
        }
    }
}
