package io.jenkins.plugins.preemptible.history;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.InvisibleAction;
import hudson.model.Run;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import org.kohsuke.stapler.export.Exported;
import org.kohsuke.stapler.export.ExportedBean;

/**
 * The suspensions of a build's stages, kept with the build.
 *
 * <ol>
 *   <li>Put on the build at its first suspension; builds that were never suspended have none.
 *   <li>Exported: the build's own REST data lists it under {@code actions}, Blue Ocean's under the run's.
 *   <li>At most {@value #MOST_STAGES} stages with {@value PastStage#MOST} suspensions each.
 * </ol>
 *
 * Safe for any thread: readers see what was complete at some moment, also the thread that saves the build.
 */
@ExportedBean(defaultVisibility = 2)
public final class SuspensionHistoryAction extends InvisibleAction {

    static final int MOST_STAGES = 50;

    private volatile PastStage[] stages = {};

    /** Of this build; null when none of its stages was ever suspended. */
    @CheckForNull
    public static SuspensionHistoryAction of(Run<?, ?> run) {
        return run.getAction(SuspensionHistoryAction.class);
    }

    synchronized void add(PastStage stage) {
        PastStage[] all = Arrays.copyOf(stages, stages.length + 1);
        all[stages.length] = stage;
        stages = all.length <= MOST_STAGES ? all : Arrays.copyOfRange(all, 1, all.length);
    }

    /** @return whether there is such a stage */
    synchronized boolean update(String stageId, UnaryOperator<PastStage> change) {
        PastStage[] all = stages.clone();
        for (int i = 0; i < all.length; i++) {
            if (all[i].getId().equals(stageId)) {
                all[i] = change.apply(all[i]);
                stages = all;
                return true;
            }
        }
        return false;
    }

    /** In the order of their first suspensions. */
    @Exported
    public List<PastStage> getStages() {
        return List.of(stages);
    }

    /** How many suspensions there were. */
    @Exported
    public int getCount() {
        return getStages().stream().mapToInt(PastStage::getCount).sum();
    }

    /** For how long stages of the build had no executor, in milliseconds; parallel ones are added up. */
    @Exported
    public long getWithoutExecutorMillis() {
        long now = System.currentTimeMillis();
        return getStages().stream()
                .mapToLong(stage -> stage.withoutExecutorMillis(now))
                .sum();
    }
}
