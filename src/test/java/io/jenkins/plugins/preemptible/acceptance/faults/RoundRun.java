package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * One round: a stage on each agent counts, something more urgent wants its executor, and something goes wrong.
 *
 * <ol>
 *   <li>The stages count into a file of their workspace and on the console, from memory alone.
 *   <li>The fault comes a while after the moment that was drawn; a moment that does not come is passed over, and the fault comes all
 *       the same.
 *   <li>Afterwards both stages have to count on, end with SUCCESS, have counted 1..N, and leave nothing on the host.
 * </ol>
 */
final class RoundRun {

    private static final Duration BACK = Duration.ofMinutes(12);
    private static final Duration MOMENT = Duration.ofMinutes(2);

    private final FaultRig rig;
    private final FaultRound round;
    private final List<CountingStage> victims = new ArrayList<>();
    private final Map<CountingStage, Integer> preemptors = new HashMap<>();
    private String state = "";

    RoundRun(FaultRig rig, FaultRound round) {
        this.rig = rig;
        this.round = round;
    }

    /** What was seen. {@code repeatedLines} of the build's log: what Jenkins copied twice after a kill. */
    record Seen(boolean met, int lines, int repeatedLines, int missingLines) {}

    /** The state of the watched stage when the fault came; empty before. */
    String stateAtFault() {
        return state;
    }

    Seen run() throws Exception {
        rig.controller.call(FaultJobs::memoryFloor, round.imageFirst() ? 1_048_576 : 0);
        begin();
        CountingStage watched = victims.get(round.agent());
        if (round.moment() != Moment.RUNNING) {
            preempt();
        }
        if (round.moment() == Moment.ENDED) {
            goOnAndEnd();
        }
        boolean met = awaitMoment(watched);
        Thread.sleep(round.delayMillis());
        state = shownState(watched);
        CriuKiller killer = new CriuKiller(watched.agent().folder(), () -> shownState(watched));
        fault(killer);
        if (round.moment() == Moment.RUNNING) {
            rig.awaitOnline();
            preempt();
        }
        rig.awaitOnline();
        if (round.moment() != Moment.ENDED) {
            goOnAndEnd();
        }
        int lines = 0;
        int repeated = 0;
        int missing = 0;
        for (CountingStage victim : victims) {
            awaitSuccess(victim);
            List<Integer> counted = victim.counted();
            requireIncreasing(victim, counted);
            List<Integer> console = victim.console();
            lines += console.size();
            repeated += console.size() - (int) console.stream().distinct().count();
            if (!console.isEmpty()) {
                missing += counted.get(counted.size() - 1)
                        - (int) console.stream().distinct().count();
            }
        }
        killer.stop();
        await("preemptors end")
                .atMost(BACK)
                .pollInterval(Duration.ofMillis(500))
                .until(() -> rig.controller.ask(FaultJobs::quiet));
        for (CountingStage victim : victims) {
            victim.awaitNothingLeft();
        }
        boolean struck =
                round.fault() != Fault.CRIU_KILLED || killer.stateAtKill().isPresent();
        state = killer.stateAtKill().orElse(state);
        return new Seen(met && struck, lines, repeated, missing);
    }

    private void begin() throws IOException {
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < FaultRig.AGENTS.size(); i++) {
            // Of an earlier round.
            Files.deleteIfExists(workspace(i).resolve("counted"));
            Files.deleteIfExists(workspace(i).resolve("enough"));
            numbers.add(rig.controller.schedule(job(i), ""));
        }
        for (int i = 0; i < FaultRig.AGENTS.size(); i++) {
            String job = job(i);
            int number = numbers.get(i);
            AgentProcess agent = rig.agents.get(i);
            await(job + " runs")
                    .atMost(BACK)
                    .until(() -> rig.controller.stage(job, number).isPresent());
            String id = rig.controller.stage(job, number).orElseThrow().id();
            CountingStage victim = new CountingStage(rig, job, number, agent, workspace(i), id);
            victims.add(victim);
            await(job + " counts").atMost(BACK).until(() -> victim.counted().size() >= 3);
        }
    }

    private String job(int which) {
        // Pipeline itself fails an sh step whose output it cannot write.
        return FaultJobs.victim(
                round.form(which), round.fault() == Fault.CONTROLLER_DISK_FULL, FaultRig.AGENTS.get(which));
    }

    private Path workspace(int which) {
        return rig.agents.get(which).folder().resolve("workspace").resolve(job(which));
    }

    private String shownState(CountingStage victim) {
        String shown = rig.controller
                .stage(victim.stageId())
                .map(RecordedStage::shownState)
                .orElse("none: it has ended");
        return shown.equals("SUSPENDING") && round.imageFirst() ? shown + ", image first" : shown;
    }

    private void goOnAndEnd() throws IOException {
        for (CountingStage victim : victims) {
            goesOn(victim);
        }
        for (CountingStage victim : victims) {
            Files.createFile(victim.workspace().resolve("enough"));
        }
    }

    private void preempt() {
        victims.forEach(this::preempt);
    }

    private void preempt(CountingStage victim) {
        rig.controller.call(FaultJobs::makePreemptor, preemptor(victim), victim.agent().name);
        preemptors.put(victim, rig.controller.schedule(preemptor(victim), Integer.toString(round.preemptorSeconds())));
    }

    private String preemptor(CountingStage victim) {
        boolean needsImage = round.moment() == Moment.SEALED || round.fault() == Fault.CRIU_KILLED;
        String name = needsImage
                ? FaultJobs.unknownPreemptor(round.number(), victim.agent().name)
                : FaultJobs.preemptor(victim.agent().name);
        return round.fault() == Fault.AGENT_DISK_FULL ? FaultJobs.quiet(name) : name;
    }

    private boolean awaitMoment(CountingStage victim) throws InterruptedException {
        long until = System.nanoTime() + MOMENT.toNanos();
        while (System.nanoTime() < until) {
            Optional<RecordedStage> stage = rig.controller.stage(victim.stageId());
            if (stage.filter(s -> s.at(round.moment())).isPresent()) {
                return true;
            }
            boolean isOver = round.moment() == Moment.ENDED
                    ? stage.isEmpty()
                    : stage.filter(s -> s.at(Moment.RESUMED)).isPresent();
            if (isOver) {
                return false;
            }
            Thread.sleep(1);
        }
        return false;
    }

    private void fault(CriuKiller killer) throws Exception {
        AgentProcess agent = rig.agents.get(round.agent());
        switch (round.fault()) {
            case CONTROLLER_KILLED -> {
                rig.controller.kill();
                rig.controller.start();
            }
            case AGENT_KILLED -> {
                agent.kill();
                lasts();
                agent.start();
            }
            case BOTH_KILLED -> {
                agent.kill();
                rig.controller.kill();
                rig.controller.start();
                agent.start();
            }
            case NETWORK_CUT -> {
                agent.link.cut();
                lasts();
                agent.link.mend();
            }
            case CONNECTION_CLOSED -> {
                agent.link.refuse();
                lasts();
                agent.link.mend();
            }
            case AGENT_DISK_FULL -> {
                agent.disk.fill();
                lasts();
                agent.disk.empty();
            }
            case CONTROLLER_DISK_FULL -> {
                rig.controller.home.fill();
                lasts();
                rig.controller.home.empty();
            }
            case CLOCK_AHEAD -> clock(3600);
            case CLOCK_BACK -> clock(-3600);
            case CRIU_KILLED -> killer.start();
        }
    }

    private void clock(int seconds) throws Exception {
        rig.controller.setClock(seconds);
        lasts();
        rig.controller.setClock(0);
    }

    private void lasts() throws InterruptedException {
        Thread.sleep(round.lastsMillis());
    }

    /** With an executor of its own again, and counting. */
    private void goesOn(CountingStage victim) throws IOException {
        await(victim.job() + " #" + victim.number() + " is resumed")
                .atMost(BACK)
                .pollInterval(Duration.ofMillis(400))
                .until(() -> {
                    Optional<RecordedStage> stage = rig.controller.stage(victim.stageId());
                    if (stage.isEmpty()) {
                        String result = rig.controller.ask(FaultJobs::result, victim.job(), victim.number());
                        assertEquals("running", result, victim.job() + " #" + victim.number() + " ended by itself");
                    }
                    return stage.filter(s -> s.at(Moment.RUNNING)).isPresent() && preempted(victim);
                });
        int before = victim.counted().size();
        await(victim.job() + " #" + victim.number() + " counts on")
                .atMost(BACK)
                .until(() -> victim.counted().size() > before);
    }

    /** The preemptor has had its turn. */
    private boolean preempted(CountingStage victim) {
        if (!rig.controller
                .ask(FaultJobs::result, preemptor(victim), preemptors.get(victim))
                .equals("running")) {
            return true;
        }
        if (round.fault().killsController()
                && rig.controller.ask(FaultJobs::endForgotten, preemptor(victim), preemptors.get(victim))) {
            preempt(victim);
        }
        return false;
    }

    private void awaitSuccess(CountingStage victim) {
        await(victim.job() + " #" + victim.number() + " ends")
                .atMost(BACK)
                .pollInterval(Duration.ofMillis(500))
                .until(() -> !rig.controller
                        .ask(FaultJobs::result, victim.job(), victim.number())
                        .equals("running"));
        assertEquals(
                "SUCCESS",
                rig.controller.ask(FaultJobs::result, victim.job(), victim.number()),
                victim.job() + " #" + victim.number());
    }

    private void requireIncreasing(CountingStage victim, List<Integer> counted) {
        if (round.fault() == Fault.AGENT_DISK_FULL) {
            for (int i = 1; i < counted.size(); i++) {
                assertTrue(
                        counted.get(i) > counted.get(i - 1),
                        victim + " counted anew: " + counted.subList(i - 1, i + 1));
            }
        } else {
            assertEquals(IntStream.rangeClosed(1, counted.size()).boxed().toList(), counted, victim::toString);
        }
    }
}
