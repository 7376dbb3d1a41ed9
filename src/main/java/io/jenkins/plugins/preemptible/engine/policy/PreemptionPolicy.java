package io.jenkins.plugins.preemptible.engine.policy;

import io.jenkins.plugins.preemptible.engine.policy.Snapshot.Agent;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.SuspendedStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.WaitingItem;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;

/**
 * Decides who is suspended, who goes on, and why.
 *
 * <ol>
 *   <li>Waiting items and suspended stages claim executors together: best priority first, then who waits longest.
 *   <li>Idle executors go to the first of them that fit, none of which could be served by another idle one in its
 *       stead.
 *   <li>Whoever got none may have one running stage suspended: one of worse priority, or of equal priority whose time
 *       slice is used up; the worst priority first, then the one that started last.
 * </ol>
 *
 * A suspended stage has the same claim as an item: else of two stages of equal priority the second would never give
 * the executor back at the end of its slice. {@link Action.Suspend#forItem} then names that stage.
 *
 * <p>Pure: no clock, no input or output, no state; the same snapshot gives the same list. Safe for any thread. Sources:
 * preemptive priority scheduling with round robin among equals; for the idle executors the greedy algorithm on a
 * transversal matroid (Edmonds, Fulkerson 1965), which never serves a worse claim in place of a better one.
 */
public final class PreemptionPolicy {

    private PreemptionPolicy() {}

    /**
     * Decides.
     *
     * @return one action for every waiting item and every suspended stage, in the order of their claims
     */
    public static List<Action> decide(Snapshot snapshot) {
        return new Decision(snapshot).actions();
    }

    private static final class Decision {
        private final Snapshot snapshot;
        private final Set<String> accepting = new HashSet<>();
        private final IdleExecutors idle;
        private final Victims victims;

        Decision(Snapshot snapshot) {
            this.snapshot = snapshot;
            TreeMap<String, Integer> free = new TreeMap<>();
            for (Agent agent : snapshot.agents()) {
                if (agent.accepting()) {
                    accepting.add(agent.name());
                    free.put(agent.name(), agent.idleExecutors());
                }
            }
            this.idle = new IdleExecutors(free);
            this.victims = new Victims(snapshot, accepting);
        }

        List<Action> actions() {
            List<Claim> claims = claims();
            claims.stream().filter(this::isReserved).forEach(claim -> idle.takeOne(claim.reservedAgent()));
            claims.stream().filter(claim -> !isReserved(claim)).forEach(idle::claim);
            List<Action> actions = new ArrayList<>();
            for (Claim claim : claims) {
                actions.add(claim.isStage() ? forStage(claim) : forItem(claim));
            }
            return List.copyOf(actions);
        }

        private List<Claim> claims() {
            List<Claim> claims = new ArrayList<>();
            for (WaitingItem item : snapshot.waiting()) {
                claims.add(Claim.of(item, accepting));
            }
            for (SuspendedStage stage : snapshot.suspended()) {
                claims.add(Claim.of(stage, accepting));
            }
            claims.sort(Claim.BEST_FIRST);
            return claims;
        }

        // A reservation on an agent that went away is void: else its item would wait for ever.
        private boolean isReserved(Claim claim) {
            return claim.reservedAgent() != null && claim.agents().contains(claim.reservedAgent());
        }

        private Action forItem(Claim item) {
            if (isReserved(item)) {
                return new Action.Keep(item.id(), Reason.EXECUTOR_RESERVED);
            }
            if (idle.agentOf(item) != null) {
                return new Action.Keep(item.id(), Reason.EXECUTOR_FREE_ALREADY);
            }
            return suspendFor(item);
        }

        private Action forStage(Claim stage) {
            String agent = isReserved(stage) ? idle.reservedIdle(stage.reservedAgent()) : idle.agentOf(stage);
            if (stage.requested() && (agent != null || isReserved(stage))) {
                return new Action.Keep(stage.id(), Reason.RESTORE_REQUESTED_ALREADY);
            }
            if (agent != null) {
                return new Action.Resume(stage.id(), agent, Reason.EXECUTOR_IDLE);
            }
            if (isReserved(stage)) {
                return new Action.Keep(stage.id(), Reason.EXECUTOR_RESERVED);
            }
            Action action = suspendFor(stage);
            if (action instanceof Action.Keep keep && keep.reason() != Reason.AGENT_NOT_ACCEPTING) {
                return new Action.Keep(stage.id(), whyNotResumed(stage));
            }
            return action;
        }

        private Reason whyNotResumed(Claim stage) {
            if (stage.requested()) {
                return Reason.RESTORE_REQUESTED_ALREADY;
            }
            boolean someIdle = snapshot.agents().stream()
                    .anyMatch(agent -> agent.idleExecutors() > 0 && stage.agents().contains(agent.name()));
            return someIdle ? Reason.BETTER_ITEM_WAITS : Reason.NO_IDLE_EXECUTOR;
        }

        private Action suspendFor(Claim claim) {
            if (claim.agents().isEmpty()) {
                return new Action.Keep(claim.id(), Reason.AGENT_NOT_ACCEPTING);
            }
            if (!snapshot.limits().enabled()) {
                return new Action.Keep(claim.id(), Reason.SWITCHED_OFF);
            }
            return victims.takeFor(claim);
        }
    }
}
