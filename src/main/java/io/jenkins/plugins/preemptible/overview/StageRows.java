package io.jenkins.plugins.preemptible.overview;

import hudson.Functions;
import hudson.Util;
import io.jenkins.plugins.preemptible.engine.policy.Action;
import io.jenkins.plugins.preemptible.hand.NeverPreemptAction;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import io.jenkins.plugins.preemptible.lifecycle.stage.CurrentObstacle;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.manual.AgentVerbs;
import io.jenkins.plugins.preemptible.overview.parts.Cell;
import io.jenkins.plugins.preemptible.overview.parts.Column;
import io.jenkins.plugins.preemptible.overview.parts.Listing;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import io.jenkins.plugins.preemptible.view.ClockTime;
import io.jenkins.plugins.preemptible.view.ReadableJobs;
import io.jenkins.plugins.preemptible.view.ShownName;
import io.jenkins.plugins.preemptible.view.ShownSentence;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;

/** The lists of stages that are suspended, and of those that run. */
final class StageRows {

    private StageRows() {}

    /** Those of jobs that the looking user may read, the one that began first at the beginning. */
    static List<StageRecord> stages(boolean suspended) {
        ReadableJobs jobs = ReadableJobs.get();
        return StageRegistry.get().all().stream()
                .filter(stage -> stage.suspended() == suspended && jobs.find(stage.job()) != null)
                .sorted(Comparator.comparingLong(StageRecord::startedMillis).thenComparing(StageRecord::id))
                .toList();
    }

    static List<Column<StageRecord>> suspendedColumns() {
        List<Column<StageRecord>> columns = common();
        columns.add(new Column<>(
                "since",
                Messages.StageRows_Since(),
                Comparator.comparingLong(StageRecord::suspendedSinceMillis),
                stage -> span(stage.suspendedSinceMillis())));
        columns.add(text("for", Messages.StageRows_For(), StageRows::forWhom));
        columns.add(new Column<>(
                "kept",
                Messages.StageRows_Kept(),
                Comparator.comparingLong(StageRows::bytes),
                stage -> Cell.of(kept(stage))));
        columns.add(text("next", Messages.StageRows_Next(), StageRows::whyItWaits));
        return columns;
    }

    static List<Column<StageRecord>> runningColumns() {
        List<Column<StageRecord>> columns = common();
        columns.add(new Column<>(
                "since",
                Messages.StageRows_RunsSince(),
                Comparator.comparingLong(StageRecord::runningSinceMillis),
                stage -> span(stage.runningSinceMillis())));
        columns.add(new Column<>(
                "suspensions",
                Messages.StageRows_Suspensions(),
                Comparator.comparingInt(StageRecord::suspensions),
                stage -> Cell.of(stage.suspensions())));
        columns.add(text("preemptible", Messages.StageRows_Preemptible(), StageRows::preemptible));
        return columns;
    }

    private static List<Column<StageRecord>> common() {
        List<Column<StageRecord>> columns = new ArrayList<>();
        columns.add(text("stage", Messages.StageRows_Stage(), StageRecord::name));
        columns.add(new Column<>(
                "build",
                Messages.StageRows_Build(),
                Comparator.comparing(StageRecord::build),
                stage -> Cell.link(stage.build(), ShownName.address(stage.job(), stage.runId()))));
        columns.add(new Column<>(
                "agent",
                Messages.StageRows_Agent(),
                Comparator.comparing(StageRecord::node),
                stage -> Cell.link(AgentVerbs.shown(stage.node()), AgentRows.address(stage.node()))));
        columns.add(new Column<>(
                "priority",
                Messages.StageRows_Priority(),
                Comparator.comparingInt(StageRecord::priority),
                stage -> Cell.of(stage.priority())));
        columns.add(text("owner", Messages.StageRows_Owner(), StageRecord::owner));
        return columns;
    }

    private static Column<StageRecord> text(String id, String title, Function<StageRecord, String> text) {
        return new Column<>(
                id,
                title,
                Comparator.comparing(text, Comparator.nullsFirst(Comparator.naturalOrder())),
                stage -> Cell.of(text.apply(stage)));
    }

    static Cell span(long sinceMillis) {
        return new Cell(
                Util.getTimeSpanString(Math.max(0, System.currentTimeMillis() - sinceMillis)),
                null,
                Util.XS_DATETIME_FORMATTER2.format(java.time.Instant.ofEpochMilli(sinceMillis)));
    }

    private static String forWhom(StageRecord stage) {
        if (stage.byHand()) {
            return stage.byHandUser() == null
                    ? Messages.StageRows_Manual()
                    : Messages.StageRows_ManualBy(stage.byHandUser());
        }
        String preemptor = stage.shownPreemptor();
        return preemptor == null ? ShownSentence.of(stage.reason()) : preemptor;
    }

    private static long bytes(StageRecord stage) {
        LiveStage live = LiveStage.find(stage.id());
        boolean inMemory = stage.frozen() || stage.memoryOnly();
        return inMemory && live != null ? live.memory().residentBytes() : stage.archiveBytes();
    }

    private static String kept(StageRecord stage) {
        long bytes = bytes(stage);
        String size = bytes <= 0 ? "" : Functions.humanReadableByteSize(bytes);
        if (stage.thawByMillis() > 0) {
            return Messages.StageRows_FrozenOnly(size, ClockTime.of(stage.thawByMillis()));
        }
        if (stage.rolledBack()) {
            return Messages.StageRows_Checkpoint(
                    size, Util.getTimeSpanString(Math.max(0, System.currentTimeMillis() - stage.checkpointMillis())));
        }
        if (stage.memoryOnly() || stage.unsealed()) {
            return Messages.StageRows_MemoryOnly(size);
        }
        return stage.frozen() ? Messages.StageRows_Memory(size) : Messages.StageRows_Image(size);
    }

    private static String whyItWaits(StageRecord stage) {
        String next = next(stage.id());
        return stage.moveTo() == null
                ? next
                : Messages.StageRows_MovesTo(AgentVerbs.shown(stage.moveTo()), next)
                        .trim();
    }

    /** What was decided last about a stage or an item; empty before. */
    static String next(String claimant) {
        Action action = LastDecision.get().of(claimant);
        return action == null ? "" : ShownSentence.of(action.reason());
    }

    private static String preemptible(StageRecord stage) {
        if (NeverPreemptAction.holds(stage.runId())) {
            return Messages.StageRows_Exempt();
        }
        if (stage.canOnlyBeFrozen()) {
            return Messages.StageRows_CanOnlyBeFrozen(stage.tie());
        }
        String whyNot = CurrentObstacle.whyNot(stage);
        return whyNot == null ? Messages.StageRows_Yes() : Messages.StageRows_No(ShownSentence.of(whyNot));
    }

    /** What the looking user may do to each stage. */
    static Function<StageRecord, List<Listing.Step>> steps() {
        boolean manages = PreemptiblePermissions.mayManage();
        return stage -> steps(stage, manages);
    }

    private static List<Listing.Step> steps(StageRecord stage, boolean manages) {
        List<Listing.Step> steps = new ArrayList<>();
        if (maySuspend(stage)) {
            if (stage.suspended() && (stage.byHand() || stage.moveTo() != null)) {
                steps.add(step(StageConfirmation.Verb.RESUME, stage));
            }
            if (stage.suspended() && !stage.byHand()) {
                steps.add(step(StageConfirmation.Verb.HOLD, stage));
            } else if (!stage.suspended() && stage.whyNotSuspendable() == null) {
                steps.add(step(StageConfirmation.Verb.SUSPEND, stage));
            }
        }
        if (manages && !NeverPreemptAction.holds(stage.runId())) {
            steps.add(step(StageConfirmation.Verb.NEVER, stage));
        }
        return steps;
    }

    /** Without loading the build: who started it themselves find the button on its page. */
    private static boolean maySuspend(StageRecord stage) {
        return ReadableJobs.get().permits(stage.job(), PreemptiblePermissions.SUSPEND);
    }

    private static Listing.Step step(StageConfirmation.Verb verb, StageRecord stage) {
        return new Listing.Step(
                verb.text(), Confirmation.ADDRESS + "?verb=" + verb.id() + "&stage=" + Util.rawEncode(stage.id()));
    }
}
