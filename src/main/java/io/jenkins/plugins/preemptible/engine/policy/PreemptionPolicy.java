package io.jenkins.plugins.preemptible.engine.policy;

import io.jenkins.plugins.preemptible.engine.policy.Snapshot.Agent;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.AgentState;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.SuspendedStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.WaitingItem;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Decides who is suspended, who goes on, and why.
 *
 * <ol>
 *   <li>Waiting items and suspended stages claim executors together, in the order of {@link Claim#BEST_FIRST}.
 *   <li>Idle executors go to the first of them that fit, none of which could be served by another idle one in its
 *       stead.
 *   <li>Whoever got none may have one running stage give way, see {@link Victims}; a suspended stage that has waited so
 *       long that nobody's claim on its agent is better has the next executor kept for it.
 *   <li>A stage that could move to another agent stays where its own one is expected to be free before it had moved.
 *   <li>A stage that cannot be dumped has the next executor kept for it from the beginning, and the best of all claims shortly
 *       before it has been frozen as long as it may.
 * </ol>
 *
 * A suspended stage has the same claim as an item: else of two stages of equal priority the second would never give
 * the executor back at the end of its slice. {@link Action.Freeing#forItem} then names that stage.
 *
 * <p>Pure: no clock, no input or output, no state; the same snapshot gives the same list. Safe for any thread. Sources:
 * preemptive priority scheduling with round robin among equals; for the idle executors the greedy algorithm on a
 * transversal matroid (Edmonds, Fulkerson 1965), which never serves a worse claim in place of a better one; for the
 * choice between waiting, suspending and running again by cost, Li et al., Middleware 2015.
 */
public final class PreemptionPolicy {

    private PreemptionPolicy() {}

    /**
     * Decides.
     *
     * @return one action for every stage of a drained agent that can be suspended, then one for every waiting item and
     *     every suspended stage, in the order of their claims, last for those that were suspended by hand
     */
    public static List<Action> decide(Snapshot snapshot) {
        return new Decision(snapshot).actions();
    }

    private static final class Decision {
        private final Snapshot snapshot;
        private final Fit.Table fits;
        private final IdleExecutors idle;
        private final Victims victims;
        private final Map<Claim, Integer> promised = new HashMap<>();
        /** Where stages could be moved to, by their ids; only those that could be anywhere. */
        private final Map<String, Fit> elsewhere = new HashMap<>();
        /** How long that would take, by their ids. */
        private final Map<String, Long> moveMillis = new HashMap<>();
        /** Idle executors that nobody else wants, for stages that have none on their own agents. */
        private final Map<Claim, Integer> movedTo = new HashMap<>();
        /** Stages that could move, and whose own agents are expected to have an executor before they had moved. */
        private final Set<Claim> staying = new HashSet<>();
        /** Why stages can go nowhere, by their ids; only where that is known. */
        private final Map<String, Reason> nowhere = new HashMap<>();
        /** Agents whose next executor is not to be kept: a better claim wants it, or has one there already. */
        private final boolean[] wanted;

        Decision(Snapshot snapshot) {
            this.snapshot = snapshot;
            this.fits = new Fit.Table(snapshot.agents());
            this.idle = new IdleExecutors(fits.agents);
            this.victims = new Victims(snapshot, fits);
            this.wanted = new boolean[fits.agents.size()];
        }

        List<Action> actions() {
            List<Action> actions = new ArrayList<>(drained());
            victims.alsoSuspended(actions.size());
            List<Claim> claims = claims();
            promiseIdle(claims);
            for (Claim claim : claims) {
                Action action = claim.isStage() ? forStage(claim) : forItem(claim);
                isWanted(claim, action);
                actions.add(action);
            }
            snapshot.suspended().stream()
                    .filter(this::isHeld)
                    .map(SuspendedStage::id)
                    .sorted()
                    .forEach(id -> actions.add(new Action.Wait(id, Reason.SUSPENDED_BY_HAND)));
            return List.copyOf(actions);
        }

        private List<Action> drained() {
            if (!snapshot.limits().enabled()) {
                return List.of();
            }
            Set<String> drained = snapshot.agents().stream()
                    .filter(agent -> agent.state() == AgentState.DRAINED && !agent.shortOfMemory(snapshot.limits()))
                    .map(Agent::name)
                    .collect(Collectors.toSet());
            return snapshot.running().stream()
                    .filter(stage -> drained.contains(stage.agent()))
                    .filter(stage -> stage.whyNotPreemptible() == null && !stage.neverPreempt())
                    .filter(stage -> snapshot.nowMillis() >= stage.retryAfterMillis())
                    .sorted(Comparator.comparing(RunningStage::id))
                    .<Action>map(stage -> new Action.Suspend(stage.id(), null, stage.agent(), Reason.AGENT_IS_DRAINED))
                    .toList();
        }

        private List<Claim> claims() {
            List<Claim> claims = new ArrayList<>();
            for (WaitingItem item : snapshot.waiting()) {
                claims.add(Claim.of(item, snapshot, fits));
            }
            for (SuspendedStage stage : snapshot.suspended()) {
                if (!isHeld(stage)) {
                    claims.add(Claim.of(stage, snapshot, fits));
                    if (stage.nowhere() != null) {
                        nowhere.put(stage.id(), stage.nowhere());
                    }
                    if (!stage.elsewhere().isEmpty()) {
                        elsewhere.put(stage.id(), fits.of(stage.elsewhere()));
                        moveMillis.put(stage.id(), stage.moveMillis());
                    }
                }
            }
            claims.sort(Claim.BEST_FIRST);
            return claims;
        }

        // A user who wants it suspended cannot keep it frozen for longer either.
        private boolean isHeld(SuspendedStage stage) {
            return stage.byHand() && !stage.urgent(snapshot.limits(), snapshot.nowMillis());
        }

        private void promiseIdle(List<Claim> claims) {
            claims.stream().filter(Claim::isReserved).forEach(claim -> idle.takeOne(claim.reserved()));
            List<Claim> served = claims.stream()
                    .filter(claim -> !claim.isReserved() && idle.claim(claim.fit()))
                    .toList();
            List<Claim> moved = elsewhere.isEmpty() ? List.of() : moved(claims, new HashSet<>(served));
            Map<Fit, ArrayDeque<Integer>> agents = idle.promised();
            served.forEach(claim -> promised.put(claim, agents.get(claim.fit()).poll()));
            moved.forEach(claim ->
                    movedTo.put(claim, agents.get(elsewhere.get(claim.id())).poll()));
        }

        private List<Claim> moved(List<Claim> claims, Set<Claim> served) {
            OwnAgents own = new OwnAgents(snapshot, fits);
            List<Claim> moved = new ArrayList<>();
            List<Claim> stages = new ArrayList<>();
            for (Claim claim : claims) {
                if (claim.isReserved() || served.contains(claim)) {
                    continue;
                }
                if (claim.isStage() && !claim.requested()) {
                    stages.add(claim);
                } else {
                    // It is in Jenkins' queue.
                    own.waits(claim.fit());
                }
            }
            for (Claim claim : stages) {
                boolean could = elsewhere.containsKey(claim.id());
                if (could && own.areFreeWithin(claim.fit(), moveMillis.get(claim.id()))) {
                    staying.add(claim);
                } else if (could && idle.claim(elsewhere.get(claim.id()))) {
                    moved.add(claim);
                    continue;
                }
                own.waits(claim.fit());
            }
            return moved;
        }

        private Action forItem(Claim item) {
            if (item.isReserved()) {
                return new Action.Wait(item.id(), Reason.EXECUTOR_RESERVED);
            }
            Integer agent = promised.get(item);
            if (agent != null) {
                return new Action.Wait(
                        item.id(), fits.isThere(agent) ? Reason.EXECUTOR_FREE_ALREADY : Reason.AGENT_ON_ITS_WAY);
            }
            return freeFor(item);
        }

        private Action forStage(Claim stage) {
            Integer agent = promised.get(stage);
            if (stage.isReserved() && idle.giveReserved(stage.reserved())) {
                agent = stage.reserved();
            }
            if (stage.requested() && (agent != null || stage.isReserved())) {
                return new Action.Wait(stage.id(), Reason.RESTORE_REQUESTED_ALREADY);
            }
            if (agent != null) {
                return fits.isThere(agent)
                        ? new Action.Resume(stage.id(), fits.agents.get(agent).name(), Reason.EXECUTOR_IDLE)
                        : new Action.Wait(stage.id(), Reason.AGENT_ON_ITS_WAY);
            }
            if (stage.isReserved()) {
                return new Action.Wait(stage.id(), Reason.EXECUTOR_RESERVED);
            }
            Integer other = movedTo.get(stage);
            if (other != null && fits.isThere(other)) {
                return new Action.Resume(stage.id(), fits.agents.get(other).name(), Reason.IDLE_ELSEWHERE);
            }
            boolean keeps = (stage.aged() || stage.frozenOnly()) && !stage.requested();
            int first = keeps ? unwanted(stage.fit()) : -1;
            Action action = freeFor(stage);
            if (!(action instanceof Action.Wait wait) || stage.fit().agents.length == 0) {
                return action;
            }
            if (first >= 0) {
                return new Action.Reserve(
                        stage.id(),
                        fits.agents.get(first).name(),
                        stage.urgent()
                                ? Reason.FROZEN_TIME_ENDS
                                : stage.frozenOnly() ? Reason.FROZEN_GOES_NEXT : Reason.WAITED_LONG);
            }
            return new Action.Wait(stage.id(), whyNotResumed(stage, wait.reason()));
        }

        // Whoever is served wants no other agent beside, but that executor there is not to be kept for another one.
        private void isWanted(Claim claim, Action action) {
            if (action instanceof Action.Reserve reserve) {
                wanted[fits.number(reserve.agent())] = true;
            } else if (claim.isReserved()) {
                wanted[claim.reserved()] = true;
            } else if (movedTo.containsKey(claim)) {
                wanted[movedTo.get(claim)] = true;
            } else if (promised.containsKey(claim)) {
                wanted[promised.get(claim)] = true;
            } else if (action instanceof Action.Wait && !claim.fit().wanted) {
                claim.fit().wanted = true;
                for (int agent : claim.fit().agents) {
                    wanted[agent] = true;
                }
            }
        }

        // By no claim before this one, which are all better.
        private int unwanted(Fit fit) {
            for (int agent : fit.agents) {
                if (!wanted[agent] && fits.isThere(agent)) {
                    return agent;
                }
            }
            return -1;
        }

        private Reason whyNotResumed(Claim stage, Reason obstacle) {
            if (stage.requested()) {
                return Reason.RESTORE_REQUESTED_ALREADY;
            }
            if (staying.contains(stage)) {
                return Reason.OWN_AGENT_FREE_SOON;
            }
            if (obstacle == Reason.OWNER_HAD_MORE || obstacle == Reason.ENDS_SOON || obstacle == Reason.QUIETING_DOWN) {
                return obstacle;
            }
            boolean someIdle = false;
            for (int agent : stage.fit().agents) {
                someIdle |= fits.agents.get(agent).idleExecutors() > 0;
            }
            return someIdle ? Reason.BETTER_ITEM_WAITS : Reason.NO_IDLE_EXECUTOR;
        }

        private Reason whyNowhere(Claim claim) {
            Fit other = claim.requested() ? null : elsewhere.get(claim.id());
            if (other != null && other.agents.length > 0) {
                // It was idle, and went to another claim.
                return Reason.BETTER_ITEM_WAITS;
            }
            return nowhere.getOrDefault(claim.id(), Reason.AGENT_NOT_ACCEPTING);
        }

        private Action freeFor(Claim claim) {
            if (claim.fit().agents.length == 0) {
                return new Action.Wait(claim.id(), whyNowhere(claim));
            }
            if (!snapshot.limits().enabled()) {
                return new Action.Wait(claim.id(), Reason.SWITCHED_OFF);
            }
            return victims.takeFor(claim);
        }
    }
}
