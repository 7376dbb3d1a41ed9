package io.jenkins.plugins.preemptible.overview;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.Util;
import hudson.model.ComputerSet;
import hudson.model.View;
import hudson.widgets.Widget;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.manual.AgentVerbs;
import io.jenkins.plugins.preemptible.view.ShownName;
import java.util.Collection;
import java.util.List;
import jenkins.widgets.WidgetFactory;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;

/**
 * Suspended stages beside the queue and the executors, on views and on the page of all agents: they are in neither.
 *
 * <ol>
 *   <li>Shown while the looking user may see at least one.
 *   <li>Has the first {@value #MOST}; the page of all has the others.
 * </ol>
 */
@Restricted(NoExternalUse.class) // for its page only
public final class SuspendedWidget extends Widget {

    private static final int MOST = 10;

    private final String ownerUrl;
    private final List<StageRecord> stages;

    SuspendedWidget(String ownerUrl, List<StageRecord> stages) {
        this.ownerUrl = ownerUrl;
        this.stages = stages;
    }

    /** @param href below Jenkins' own address; null when the job is gone */
    public record Line(String text, String href, String tooltip) {}

    @Override
    public String getOwnerUrl() {
        return ownerUrl;
    }

    public int getTotal() {
        return stages.size();
    }

    public List<Line> getLines() {
        long now = System.currentTimeMillis();
        return stages.stream()
                .limit(MOST)
                .map(stage -> new Line(
                        Messages.SuspendedWidget_Line(stage.name(), stage.build()),
                        ShownName.address(stage.job(), stage.runId()),
                        tooltip(stage, now)))
                .toList();
    }

    private static String tooltip(StageRecord stage, long nowMillis) {
        String span = Util.getTimeSpanString(Math.max(0, nowMillis - stage.suspendedSinceMillis()));
        String agent = AgentVerbs.shown(stage.node());
        String since = stage.shownPreemptor() == null
                ? Messages.SuspendedWidget_Since(span, agent)
                : Messages.SuspendedWidget_SinceFor(span, agent, stage.shownPreemptor());
        return since + " " + StageRows.next(stage.id());
    }

    private static List<SuspendedWidget> of(String ownerUrl) {
        List<StageRecord> stages = StageRows.stages(true);
        return stages.isEmpty() ? List.of() : List.of(new SuspendedWidget(ownerUrl, stages));
    }

    /** Below the queue and the executors of a view. */
    @Extension(ordinal = 50)
    public static final class OnViews extends WidgetFactory<View, SuspendedWidget> {
        @Override
        public Class<View> type() {
            return View.class;
        }

        @Override
        public Class<SuspendedWidget> widgetType() {
            return SuspendedWidget.class;
        }

        @NonNull
        @Override
        public Collection<SuspendedWidget> createFor(@NonNull View target) {
            return of(target.getUrl());
        }
    }

    /** The same on the page of all agents. */
    @Extension(ordinal = 50)
    public static final class OnAgents extends WidgetFactory<ComputerSet, SuspendedWidget> {
        @Override
        public Class<ComputerSet> type() {
            return ComputerSet.class;
        }

        @Override
        public Class<SuspendedWidget> widgetType() {
            return SuspendedWidget.class;
        }

        @NonNull
        @Override
        public Collection<SuspendedWidget> createFor(@NonNull ComputerSet target) {
            return of("computer/");
        }
    }
}
