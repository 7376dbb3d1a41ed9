package io.jenkins.plugins.preemptible.history;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.ExtensionList;
import hudson.model.Executor;
import hudson.model.ExecutorListener;
import hudson.model.Item;
import hudson.model.Node;
import hudson.model.OneOffExecutor;
import hudson.model.Queue;
import io.jenkins.plugins.preemptible.event.StageEnded;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageRef;
import io.jenkins.plugins.preemptible.event.StageResumed;
import io.jenkins.plugins.preemptible.event.StageSuspended;
import io.jenkins.plugins.preemptible.history.Timeline.Kind;
import io.jenkins.plugins.preemptible.view.ShownName;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import jenkins.model.NodeListener;

/**
 * Who held the executors of each agent in the last hour, and which stages were suspended there.
 *
 * <ol>
 *   <li>Core tells when a task gets an executor and leaves it, a {@link StageListener} of the suspensions between.
 *   <li>A stage that moves ends on the agent that it leaves, and begins on the other one.
 *   <li>At most {@value #MOST} of each are kept for an agent, in memory: a restart of the controller forgets them.
 *   <li>{@link #of} draws them as far as the looking user may see the jobs.
 * </ol>
 *
 * Safe for any thread: each agent's history is guarded by its own lock, held for memory only.
 */
@Extension
public final class AgentTimelines implements PastStageListener, ExecutorListener {

    static final int MOST = 200;
    static final long LONGEST_MILLIS = TimeUnit.HOURS.toMillis(1);

    /** @param endMillis 0 while it holds the executor */
    private record Span(
            int executor, String name, @CheckForNull String job, long beginMillis, long endMillis) {}

    /** What is kept of one agent. */
    private static final class History {
        final Deque<Span> spans = new ArrayDeque<>();
        final Deque<Held> stages = new ArrayDeque<>();
    }

    /** A stage that was suspended, whose name its job's readers may see. */
    private record Held(PastStage stage, String job) {}

    private final Map<String, History> byNode = new ConcurrentHashMap<>();

    public static AgentTimelines get() {
        return ExtensionList.lookupSingleton(AgentTimelines.class);
    }

    private History history(String node) {
        return byNode.computeIfAbsent(node, name -> new History());
    }

    @Override
    public void taskStarted(Executor executor, Queue.Task task) {
        Node node = executor.getOwner().getNode();
        if (node == null || executor instanceof OneOffExecutor) {
            // A Pipeline's own thread has one of these, which nobody waits for.
            return;
        }
        Queue.Task owner = task.getOwnerTask();
        Span span = new Span(
                executor.getNumber(),
                task.getFullDisplayName(),
                owner instanceof Item item ? item.getFullName() : null,
                System.currentTimeMillis(),
                0);
        History history = history(node.getNodeName());
        synchronized (history) {
            end(history, executor.getNumber());
            history.spans.addLast(span);
            while (history.spans.size() > MOST) {
                history.spans.removeFirst();
            }
        }
    }

    @Override
    public void taskCompleted(Executor executor, Queue.Task task, long durationMillis) {
        Node node = executor.getOwner().getNode();
        if (node != null && !(executor instanceof OneOffExecutor)) {
            History history = history(node.getNodeName());
            synchronized (history) {
                end(history, executor.getNumber());
            }
        }
    }

    @Override
    public void taskCompletedWithProblems(Executor executor, Queue.Task task, long durationMillis, Throwable problems) {
        taskCompleted(executor, task, durationMillis);
    }

    private static void end(History history, int executor) {
        List<Span> spans = new ArrayList<>(history.spans);
        history.spans.clear();
        long now = System.currentTimeMillis();
        for (Span span : spans) {
            history.spans.addLast(
                    span.executor == executor && span.endMillis == 0
                            ? new Span(executor, span.name, span.job, span.beginMillis, now)
                            : span);
        }
    }

    @Override
    public void onSuspended(StageSuspended event) {
        History history = history(event.stage().node());
        synchronized (history) {
            PastSuspension suspension = new PastSuspension(event);
            if (!update(event.stage(), stage -> stage.with(suspension))) {
                add(history, event.stage(), PastStage.begun(event).with(suspension));
            }
        }
    }

    private static void add(History history, StageRef stage, PastStage past) {
        history.stages.addLast(new Held(past, stage.job()));
        while (history.stages.size() > MOST) {
            history.stages.removeFirst();
        }
    }

    @Override
    public void onResumed(StageResumed event) {
        boolean moved = false;
        for (Map.Entry<String, History> each : byNode.entrySet()) {
            if (!each.getKey().equals(event.stage().node())) {
                StageEnded there = new StageEnded(event.stage(), event.atMillis(), true);
                moved |= update(each.getValue(), event.stage(), stage -> stage.with(there));
            }
        }
        if (moved) {
            History history = history(event.stage().node());
            synchronized (history) {
                add(history, event.stage(), PastStage.arrived(event));
            }
        } else {
            PastStageListener.super.onResumed(event);
        }
    }

    @Override
    public boolean update(StageRef stage, UnaryOperator<PastStage> change) {
        return update(history(stage.node()), stage, change);
    }

    private static boolean update(History history, StageRef stage, UnaryOperator<PastStage> change) {
        synchronized (history) {
            List<Held> all = new ArrayList<>(history.stages);
            boolean known = false;
            history.stages.clear();
            for (Held held : all) {
                // One that has left may be back.
                boolean meant = held.stage.getId().equals(stage.id()) && held.stage.getEndedMillis() == 0;
                known |= meant;
                history.stages.addLast(meant ? new Held(change.apply(held.stage), held.job) : held);
            }
            return known;
        }
    }

    /**
     * The last hour of an agent: a row for each executor, and one for each stage that was suspended in that time.
     *
     * @param node its name, empty for the built-in node
     */
    public Timeline of(String node) {
        List<Span> spans;
        List<Held> stages;
        History history = history(node);
        synchronized (history) {
            spans = List.copyOf(history.spans);
            stages = List.copyOf(history.stages);
        }
        long now = System.currentTimeMillis();
        long earliest = LongStream.concat(
                        spans.stream().mapToLong(Span::beginMillis),
                        stages.stream().mapToLong(held -> held.stage.getStartedMillis()))
                .min()
                .orElse(now);
        Timeline timeline = new Timeline(Math.min(now, Math.max(now - LONGEST_MILLIS, earliest)), now);
        spans.stream().map(Span::executor).distinct().sorted().forEach(executor -> {
            timeline.row(Messages.AgentTimelines_Executor(executor + 1));
            for (Span span : spans) {
                if (span.executor == executor) {
                    timeline.bar(
                            Kind.OTHER,
                            span.beginMillis,
                            span.endMillis == 0 ? now : span.endMillis,
                            ShownName.of(span.name, span.job));
                }
            }
        });
        List<Held> lately = stages.stream()
                .filter(held -> held.stage.getEndedMillis() == 0 || held.stage.getEndedMillis() >= now - LONGEST_MILLIS)
                .toList();
        for (Held held : timeline.newest(lately)) {
            String name = ShownName.of(held.stage.getName(), held.job);
            timeline.row(name);
            SuspensionBars.add(timeline, held.stage, name, now);
        }
        return timeline;
    }

    /** Agents' names are no longer known for ever: clouds make new ones all the time. */
    @Extension
    public static final class Nodes extends NodeListener {
        @Override
        protected void onDeleted(@NonNull Node node) {
            get().byNode.remove(node.getNodeName());
        }
    }
}
