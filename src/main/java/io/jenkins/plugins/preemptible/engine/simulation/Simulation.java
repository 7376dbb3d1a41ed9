package io.jenkins.plugins.preemptible.engine.simulation;

import io.jenkins.plugins.preemptible.engine.policy.Action;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.policy.PreemptionPolicy;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot;
import io.jenkins.plugins.preemptible.engine.simulation.workload.SimAgent;
import io.jenkins.plugins.preemptible.engine.simulation.workload.SimJob;
import io.jenkins.plugins.preemptible.engine.simulation.workload.Workload;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Runs a workload in virtual time, with the policy of the plugin deciding.
 *
 * <ol>
 *   <li>Time jumps from event to event; after all events of one moment, the policy is asked, if its answer can matter.
 *   <li>A suspended stage's executor is free at the freeze; its dump runs beside the job that got it. Thawing costs
 *       nothing as long as it has no image; after that it holds its executor for the restore.
 *   <li>All of it is a function of workload, limits, rates and discipline: no chance, no clock of the machine.
 * </ol>
 *
 * One run on one thread. Longer than other files: the transitions of a job are read together. Source: discrete event
 * simulation, Law and Kelton, Simulation Modeling and Analysis, chapter 1.
 */
final class Simulation {

    private final Workload workload;
    private final Rates rates;
    private final Discipline discipline;
    private final Limits limits;
    private final Estimates estimates = new Estimates();
    private final PolicyView view;
    private final List<Host> hosts;
    private final Map<String, Host> hostsByName = new HashMap<>();
    private final List<JobProgress> progresses = new ArrayList<>();
    private final Map<String, JobProgress> progressById = new HashMap<>();
    private final WaitingJobs waiting = new WaitingJobs();
    private final Set<JobProgress> suspended =
            new TreeSet<>(Comparator.comparing((JobProgress progress) -> progress.id));
    private final Agenda agenda = new Agenda();
    private final ExecutorUse use;
    private long now;
    private long nextEvaluation = Long.MAX_VALUE;
    /** Something happened since the last decision that may lead to another. */
    private boolean changed;

    private Simulation(Workload workload, Limits ours, Rates rates, Discipline discipline) {
        this.workload = workload;
        this.rates = rates;
        this.discipline = discipline;
        this.limits = discipline.limits(ours);
        this.view = new PolicyView(limits, rates, discipline, estimates);
        this.hosts = workload.agents().stream().map(Host::new).toList();
        hosts.forEach(host -> hostsByName.put(host.agent.name(), host));
        Map<String, Set<String>> fitting = new HashMap<>();
        for (SimJob job : workload.jobs()) {
            JobProgress progress = new JobProgress(
                    progresses.size(), job, discipline, fitting.computeIfAbsent(job.label(), this::fitting));
            progresses.add(progress);
            progressById.put(progress.id, progress);
            agenda.plan(job.arrivalMillis(), Agenda.What.ARRIVES, progress);
        }
        this.use = new ExecutorUse(workload);
    }

    private Set<String> fitting(String label) {
        // Two labels of the same agents have equal sets, and are alike to the policy.
        return workload.agents().stream()
                .filter(agent -> agent.takes(label))
                .map(SimAgent::name)
                .collect(Collectors.toUnmodifiableSet());
    }

    /**
     * Runs all jobs to their ends.
     *
     * @param ours the limits; a discipline takes of them what it knows
     */
    static Outcome run(Workload workload, Limits ours, Rates rates, Discipline discipline) {
        return new Simulation(workload, ours, rates, discipline).run();
    }

    private Outcome run() {
        while (!agenda.isEmpty()) {
            advanceTo(agenda.nextMillis());
            while (!agenda.isEmpty() && agenda.nextMillis() == now) {
                agenda.take().ifPresent(this::happen);
            }
            if (canMatter()) {
                decide();
            }
        }
        progresses.stream()
                .filter(progress -> progress.state != JobProgress.State.ENDED)
                .findFirst()
                .ifPresent(progress -> {
                    throw new IllegalStateException(progress.id + " never ended: it is " + progress.state);
                });
        return new Outcome(discipline, workload, progresses, use.utilisation());
    }

    private void advanceTo(long millis) {
        if (progresses.isEmpty() || millis == now) {
            return;
        }
        use.advance(now, millis);
        if (discipline.shares()) {
            Set<String> wanting = new TreeSet<>(waiting.owners());
            suspended.forEach(progress -> wanting.add(progress.owner));
            use.share(millis - now, wanting);
        }
        now = millis;
    }

    private void happen(Agenda.Event event) {
        JobProgress progress = event.progress();
        switch (event.what()) {
            case ARRIVES -> waits(progress, now);
            case ENDS -> ends(progress);
            case YIELDED -> yielded(progress);
            case DUMPED -> dumped(progress);
            case RESTORED -> runs(progress);
            case EVALUATE -> {
                nextEvaluation = Long.MAX_VALUE;
                changed = true;
            }
        }
    }

    private void waits(JobProgress progress, long since) {
        progress.state = JobProgress.State.WAITING;
        progress.sinceMillis = since;
        waiting.add(progress);
        changed = true;
    }

    private void runs(JobProgress progress) {
        progress.runs(now);
        isCandidate(progress);
        agenda.plan(now + progress.remainingMillis(), Agenda.What.ENDS, progress);
    }

    // Under an exempt time it becomes one later, and the clock says so.
    private void isCandidate(JobProgress progress) {
        changed |= progress.job.preemptible() && limits.exemptMillis() == 0;
    }

    private void ends(JobProgress progress) {
        progress.stopsRunning(now);
        progress.state = JobProgress.State.ENDED;
        progress.endMillis = now;
        progress.host.forget(progress.job.memoryBytes());
        estimates.ended(progress.job);
        JobProgress heir = progress.heir;
        progress.heir = null;
        release(progress, heir);
    }

    private void yielded(JobProgress progress) {
        progress.stopsRunning(now);
        JobProgress heir = progress.heir;
        progress.heir = null;
        if (progress.losesItsWork) {
            progress.losesAllWork();
            progress.reruns++;
            // Counted, so that the most suspensions of a stage bound its kills too.
            progress.suspensions++;
            progress.host.forget(progress.job.memoryBytes());
            release(progress, heir);
            // It keeps its place in the queue, which most schedulers that requeue would not do.
            waits(progress, progress.job.arrivalMillis());
            return;
        }
        progress.suspensions++;
        progress.frozen = true;
        if (progress.yieldsFrozen) {
            // No dump follows: all its memory stays.
            progress.thawByMillis = now + limits.freezeOnly().longestMillis();
            progress.host.suspended++;
            progress.host.frozenOnlyBytes += progress.job.memoryBytes();
            isSuspended(progress, heir);
            return;
        }
        long free = progress.host.freeBytes();
        boolean room = free < 0 || free >= limits.memoryFloorBytes();
        progress.host.suspended++;
        progress.dumpFromMillis = room ? now + progress.sealAfterMillis : now;
        agenda.plan(progress.dumpFromMillis + progress.cost(rates).dumpMillis(), Agenda.What.DUMPED, progress);
        if (room) {
            isSuspended(progress, heir);
        } else {
            progress.state = JobProgress.State.DUMPED_FIRST;
            progress.heir = heir;
        }
    }

    private void isSuspended(JobProgress progress, JobProgress heir) {
        progress.state = JobProgress.State.SUSPENDED;
        progress.sinceMillis = now;
        suspended.add(progress);
        release(progress, heir);
    }

    private void dumped(JobProgress progress) {
        progress.frozen = false;
        progress.dumpMillis += progress.cost(rates).dumpMillis();
        progress.host.forget(progress.job.memoryBytes());
        if (progress.state == JobProgress.State.DUMPED_FIRST) {
            JobProgress heir = progress.heir;
            progress.heir = null;
            isSuspended(progress, heir);
        }
    }

    private void release(JobProgress progress, JobProgress heir) {
        progress.releases(now);
        use.released(progress.owner);
        if (heir != null && heir.reserved == progress.host) {
            heir.reserved = null;
            if (heir.waits()) {
                start(heir, progress.host);
            } else if (heir.isSuspended()) {
                resume(heir, heir.host);
            }
        }
    }

    private void start(JobProgress progress, Host host) {
        waiting.remove(progress);
        takesExecutor(progress, host);
        progress.starts(now);
        isCandidate(progress);
        agenda.plan(now + progress.remainingMillis(), Agenda.What.ENDS, progress);
    }

    private void resume(JobProgress progress, Host host) {
        suspended.remove(progress);
        progress.reserved = null;
        progress.host.suspended--;
        boolean moves = host != progress.host;
        takesExecutor(progress, host);
        progress.lastFrozenMillis = 0;
        if (progress.thawByMillis > 0) {
            progress.frozen = false;
            progress.thawByMillis = 0;
            progress.lastFrozenMillis = now - progress.sinceMillis;
            progress.host.frozenOnlyBytes -= progress.job.memoryBytes();
            runs(progress);
            return;
        }
        if (progress.frozen) {
            progress.frozen = false;
            progress.dumpMillis += Math.max(0, now - progress.dumpFromMillis);
            runs(progress);
            return;
        }
        progress.state = JobProgress.State.RESTORING;
        progress.plan++;
        long millis = moves
                ? rates.moves().expectedMillis(progress.job.memoryBytes())
                : progress.cost(rates).restoreMillis();
        progress.restoreMillis += millis;
        progress.host.remember(progress.job.memoryBytes());
        agenda.plan(now + millis, Agenda.What.RESTORED, progress);
    }

    private void takesExecutor(JobProgress progress, Host host) {
        progress.holds(host, now);
        use.taken(progress.owner);
    }

    private boolean canMatter() {
        boolean wanted = !waiting.isEmpty() || !suspended.isEmpty();
        return wanted && (use.idle() > 0 || (limits.enabled() && changed));
    }

    private void decide() {
        changed = false;
        Map<String, Long> used = discipline.shares() ? use.usedMillis() : Map.of();
        List<JobProgress> shown = waiting.shown(this::couldBeServed, used);
        Snapshot snapshot = view.at(now, hosts, suspended, shown, used);
        List<Action> actions = PreemptionPolicy.decide(snapshot);
        Map<JobProgress, Host> reserved = new LinkedHashMap<>();
        actions.forEach(action -> carryOut(action, reserved));
        reserved.forEach((progress, host) -> progress.reserved = host);
        // Last: a stage is resumed where the policy says, a job may have the choice.
        for (Action action : actions) {
            if (action.reason() == Reason.EXECUTOR_FREE_ALREADY) {
                dispatch(progressById.get(action.claimant()));
            }
        }
        evaluateAgain();
    }

    /** How many claims of that priority could get an executor at best. */
    private int couldBeServed(int priority) {
        int most = use.idle();
        for (Host host : hosts) {
            for (JobProgress progress : host.holders) {
                // Equals too: they may have slices. Where stages move, all that end count: how many wait for them
                // matters.
                if (rates.moves() != null
                        || limits.enabled() && progress.isRunningStage() && progress.priority >= priority) {
                    most++;
                }
            }
        }
        return most;
    }

    private void carryOut(Action action, Map<JobProgress, Host> reserved) {
        if (action instanceof Action.Resume resume) {
            resume(progressById.get(resume.stageId()), hostsByName.get(resume.agent()));
        } else if (action instanceof Action.Reserve reserve && reserve.reason() != Reason.FROZEN_GOES_NEXT) {
            // The exception goes first in any case when an executor falls free, and may have one freed for it before.
            reserved.put(progressById.get(reserve.stageId()), hostsByName.get(reserve.agent()));
        } else if (action instanceof Action.Freeing freeing) {
            free(freeing);
        }
    }

    private void free(Action.Freeing action) {
        JobProgress victim = progressById.get(action.stageId());
        JobProgress heir = progressById.get(action.forItem());
        heir.reserved = victim.host;
        if (heir.waits()) {
            waiting.becomesHeir(heir);
        }
        victim.state = JobProgress.State.YIELDING;
        victim.heir = heir;
        victim.yieldsFrozen = action.frozenOnly();
        victim.losesItsWork = discipline.kills() || action instanceof Action.Rerun;
        victim.sealAfterMillis = action.sealAfterMillis();
        agenda.plan(now + rates.takeoverMillis(), Agenda.What.YIELDED, victim);
    }

    /** As Jenkins does: one after the other, wherever there is room; here first where the fewest others fit. */
    private void dispatch(JobProgress progress) {
        Predicate<Host> fits = host -> host.idle() > 0 && progress.fitting.contains(host.agent.name());
        hosts.stream()
                .filter(fits)
                .min(Comparator.comparingInt((Host host) -> host.agent.labels().size())
                        .thenComparing(Host::idle, Comparator.reverseOrder())
                        .thenComparing(host -> host.agent.name()))
                .ifPresent(host -> start(progress, host));
    }

    private void evaluateAgain() {
        if (waiting.isEmpty() && suspended.isEmpty()) {
            return;
        }
        int best = suspended.stream().mapToInt(progress -> progress.priority).reduce(waiting.best(), Math::min);
        long next = view.next(now, best, hosts, suspended);
        if (next < nextEvaluation && next > now) {
            nextEvaluation = next;
            agenda.plan(next, Agenda.What.EVALUATE, null);
        }
    }
}
