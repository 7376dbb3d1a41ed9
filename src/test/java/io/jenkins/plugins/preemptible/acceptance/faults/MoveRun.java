package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * One round: a stage counts on one of three agents, is suspended and perhaps moved, and something goes wrong.
 *
 * <ol>
 *   <li>It counts into a file of its workspace and on the console, from memory alone.
 *   <li>The fault comes a while after the moment that was drawn; a moment that does not come is passed over, and the fault comes all
 *       the same.
 *   <li>Agents that would take the stage before its moment, or in place of the one that was drawn, are marked offline until the
 *       fault has begun.
 *   <li>Then the stage has to count on somewhere, or its build to end; it is told to end, and {@link MoveVerdict} judges.
 *   <li>In the end all is mended, and nothing of the stage may be left on any host.
 * </ol>
 */
final class MoveRun {

    private static final Duration BACK = Duration.ofMinutes(4);
    private static final Duration MOMENT = Duration.ofSeconds(90);
    /** How far its output has to come again after the fault. */
    private static final int LINES = 2;

    private static final long LOOK_MILLIS = 400;

    private final MoveRig rig;
    private final MoveRound round;
    private int number;
    private String id;
    private String own;
    private String target;
    private BuildLog log;
    private final StringBuilder phases = new StringBuilder();
    private final long beganNanos = System.nanoTime();
    private String stateAtFault = "";
    private boolean met;
    private boolean sealed;
    private RecordedStage last;

    MoveRun(MoveRig rig, MoveRound round) {
        this.rig = rig;
        this.round = round;
    }

    /** The stage's state when the fault came; empty before. */
    String stateAtFault() {
        return stateAtFault;
    }

    /** Whether the moment came. */
    boolean met() {
        return met;
    }

    /** What became of the stage. @throws AssertionError when it does not go on, or leaves something behind */
    MoveVerdict run() throws Throwable {
        begin();
        phase("begun");
        met = approach();
        phase("moment");
        Thread.sleep(round.delayMillis());
        RecordedStage before = record().orElse(last);
        stateAtFault = shown(before);
        if (round.moment() == MoveMoment.MOVED && before.moves() > 0) {
            target = other(before.node(), own);
            own = before.node();
        }
        FaultOnHosts fault = new FaultOnHosts(rig, round, build(), own, target);
        MoveVerdict verdict;
        try {
            fault.begin();
            phase("struck");
            Thread.sleep(300);
            // What the controller has learned meanwhile counts: a stage that ran again just before had no image any
            // more.
            sealed = before.outlivesAgent()
                    && record().map(RecordedStage::outlivesAgent).orElse(true);
            goOn(fault);
            phase("on");
            String result = end();
            phase("ended");
            verdict = MoveVerdict.of(
                    result,
                    log.text(),
                    counted(),
                    round.fault().endsProcesses() && !sealed,
                    round.fault() == MoveFault.CONTROLLER_KILLED,
                    round.fault() == MoveFault.TARGET_DISK_FULL);
        } finally {
            fault.repair();
        }
        rig.controller.call(MoveJobs::reset);
        rig.awaitIdle();
        phase("idle");
        new Leftovers(rig.controller, round.job(), number, id, Path.of(last.workspace()), rig.folders()).awaitNone();
        phase("clean");
        return verdict;
    }

    /** When each part of the round was over, in seconds. */
    String phases() {
        return phases.toString();
    }

    private void phase(String what) {
        phases.append(what)
                .append(' ')
                .append(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - beganNanos))
                .append(", ");
    }

    int lines() throws IOException {
        return log == null ? 0 : log.counts().size();
    }

    int moves() {
        return last == null ? 0 : last.moves();
    }

    private String build() {
        return round.job() + " " + number;
    }

    private Optional<RecordedStage> record() {
        Optional<RecordedStage> now = rig.controller.stage(id);
        now.ifPresent(stage -> last = stage);
        return now;
    }

    private static String other(String... not) {
        List<String> others = new ArrayList<>(MoveRig.AGENTS);
        others.removeAll(List.of(not));
        return others.get(0);
    }

    private void begin() throws IOException {
        number = rig.controller.schedule(round.job(), "");
        log = BuildLog.of(rig.controller.jenkinsHome(), round.job(), number);
        await("the stage runs")
                .atMost(BACK)
                .until(() -> rig.controller.stage(round.job(), number).isPresent());
        id = rig.controller.stage(round.job(), number).orElseThrow().id();
        own = record().orElseThrow().node();
        String first = other(own);
        target = round.targetFirst() ? first : other(own, first);
        String third = other(own, target);
        boolean waits = round.moment() == MoveMoment.SEALED && !round.manual();
        if (waits || round.moment().needsMove()) {
            mark(third, true);
        }
        if (waits) {
            mark(target, true);
        }
        await("the stage counts").atMost(BACK).until(() -> log.counts().size() >= 3);
    }

    private void mark(String agent, boolean offline) {
        rig.controller.call(MoveJobs::mark, agent, offline);
    }

    /** @return whether the moment came */
    private boolean approach() throws InterruptedException, IOException {
        MoveMoment moment = round.moment();
        if (moment.needsCheckpoint() && moment.needsSuspension() && !awaitMoment(MoveMoment.CHECKPOINTED)) {
            return false;
        }
        if (moment.needsSuspension()) {
            suspend();
        }
        if (moment.needsMove() && round.manual()) {
            awaitMoment(MoveMoment.SEALED);
            String words = "preemptible-move " + build() + " --to " + target;
            await("the move is taken")
                    .atMost(BACK)
                    .until(() -> rig.controller.ask(MoveJobs::command, words).startsWith("0 "));
        }
        boolean reached = awaitMoment(moment);
        if (moment == MoveMoment.MOVED && reached) {
            int before = lines();
            await("the moved stage counts on").atMost(BACK).until(() -> lines() > before);
        }
        return reached;
    }

    /** Returns at once: what is waited for passes soon. */
    private void suspend() {
        String job = round.manual()
                ? null
                : rig.controller.ask(MoveJobs::makePreemptor, String.valueOf(round.number()), own);
        Thread asking = new Thread(
                () -> {
                    if (job == null) {
                        rig.controller.ask(MoveJobs::command, "preemptible-suspend " + build());
                    } else {
                        rig.controller.schedule(job, "");
                    }
                },
                "suspension");
        asking.setDaemon(true);
        asking.start();
    }

    private boolean awaitMoment(MoveMoment moment) throws InterruptedException {
        long until = System.nanoTime() + MOMENT.toNanos();
        while (System.nanoTime() < until) {
            Optional<RecordedStage> stage = record();
            if (stage.filter(moment::isReached).isPresent()) {
                return true;
            }
            if (stage.isEmpty() || moment.isOver(stage.get())) {
                return false;
            }
            Thread.sleep(moment.passesSoon() ? 5 : 50);
        }
        return false;
    }

    /** Waits until the stage counts again somewhere, or its build has ended. */
    private void goOn(FaultOnHosts fault) throws Throwable {
        for (String agent : MoveRig.AGENTS) {
            mark(agent, false);
        }
        long began = System.nanoTime();
        boolean released = false;
        int before = -1;
        while (isBuilding()) {
            Optional<RecordedStage> stage = record();
            boolean runs = stage.filter(MoveMoment.RUNNING::isReached).isPresent();
            fault.look(runs && !last.node().equals(fault.struck()));
            if (System.nanoTime() - began > BACK.toNanos()) {
                throw new AssertionError(
                        "the stage does not go on: " + stage + ", " + rig.controller.ask(MoveJobs::seen));
            }
            if (!released && TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began) >= round.releaseMillis()) {
                rig.controller.call(MoveJobs::stop);
                released = stage.filter(RecordedStage::byHand).isEmpty()
                        || rig.controller
                                .ask(MoveJobs::command, "preemptible-resume " + build())
                                .startsWith("0 ");
            }
            if (released && fault.over() && before < 0) {
                before = lines();
            }
            if (before >= 0 && runs && lines() >= before + LINES) {
                return;
            }
            Thread.sleep(LOOK_MILLIS);
        }
    }

    private boolean isBuilding() {
        return rig.controller.ask(FaultJobs::result, round.job(), number).equals("running");
    }

    /** Tells the stage to end, wherever it runs now. @return the build's result */
    private String end() throws IOException, InterruptedException {
        long began = System.nanoTime();
        while (isBuilding()) {
            if (record().filter(MoveMoment.RUNNING::isReached).isPresent()) {
                Path workspace = rig.seen(last.node(), last.workspace());
                if (Files.isDirectory(workspace) && Files.notExists(workspace.resolve("enough"))) {
                    Files.createFile(workspace.resolve("enough"));
                }
            }
            if (System.nanoTime() - began > BACK.toNanos()) {
                throw new AssertionError("the build does not end: " + rig.controller.ask(MoveJobs::seen));
            }
            Thread.sleep(LOOK_MILLIS);
        }
        return rig.controller.ask(FaultJobs::result, round.job(), number);
    }

    /** The numbers in the workspace where the stage was last. */
    private List<Integer> counted() throws IOException {
        Path counted = rig.seen(last.node(), last.workspace()).resolve("counted");
        return Files.exists(counted)
                ? Files.readAllLines(counted).stream().map(Integer::valueOf).toList()
                : List.of();
    }

    private static String shown(RecordedStage stage) {
        if (stage.state().equals("RUNNING")) {
            return "RUNNING" + (stage.moves() > 0 ? " after a move" : stage.suspensions() > 0 ? " again" : "")
                    + (stage.checkpointed() ? ", with a checkpoint" : "");
        }
        return stage.shownState() + (stage.checkpointed() ? ", with a checkpoint" : "");
    }
}
