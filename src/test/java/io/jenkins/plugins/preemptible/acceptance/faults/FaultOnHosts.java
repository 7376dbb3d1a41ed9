package io.jenkins.plugins.preemptible.acceptance.faults;

import io.jenkins.plugins.preemptible.engine.host.LibC;
import java.util.concurrent.TimeUnit;

/** One round's fault: {@link #begin}, then {@link #look} now and then until it is {@link #over}, in the end {@link #repair}. */
final class FaultOnHosts {

    /** After that an agent that stays away is back all the same: a stage with nothing sealed waits for it. */
    private static final long GONE_MILLIS = 20_000;

    private final MoveRig rig;
    private final MoveRound round;
    private final String build;
    private final String own;
    private final String target;
    private final String struck;
    private long beganNanos;
    private boolean over;

    /**
     * @param build job and number, as commands take them
     * @param own the agent that has the stage
     * @param target the one that it is to go to
     */
    FaultOnHosts(MoveRig rig, MoveRound round, String build, String own, String target) {
        this.rig = rig;
        this.round = round;
        this.build = build;
        this.own = own;
        this.target = target;
        struck = round.fault().ofTarget() || round.onTarget() && round.moment() == MoveMoment.RESUMING ? target : own;
    }

    /** Which agent it concerns. */
    String struck() {
        return struck;
    }

    boolean over() {
        return over;
    }

    void begin() throws Throwable {
        beganNanos = System.nanoTime();
        AgentProcess agent = rig.agent(struck);
        switch (round.fault()) {
            case AGENT_DELETED -> {
                rig.controller.call(MoveJobs::removeAgent, struck);
                over = !round.comesBack();
            }
            case AGENT_KILLED, AGENT_GONE, TARGET_KILLED -> agent.kill();
            case LINK_CUT, LINK_CUT_LONG, TARGET_CUT -> agent.link.cut();
            case HOST_REBOOTED -> {
                agent.kill();
                rig.host(struck).reboot();
            }
            case AGENT_STOPPED -> agent.signal(LibC.SIGSTOP);
            case TARGET_DISK_FULL -> agent.disk.fill();
            case CONTROLLER_KILLED -> {
                rig.controller.kill();
                rig.controller.start();
                over = true;
            }
            case CONTROLLER_RESTARTED -> {
                rig.controller.restart();
                over = true;
            }
            case EVACUATED -> {
                command("preemptible-evacuate " + struck);
                over = true;
            }
            case MOVED_MANUALLY -> {
                command("preemptible-move " + build + " --to " + target);
                over = true;
            }
            case DRAINED -> command("preemptible-drain " + struck);
        }
    }

    private void command(String words) {
        System.out.println(round.number() + ": " + words + ": " + rig.controller.ask(MoveJobs::command, words));
    }

    /**
     * Ends it when it has lasted long enough.
     *
     * @param elsewhere whether the stage runs on another agent than the one concerned, or its build has ended
     */
    void look(boolean elsewhere) throws Throwable {
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beganNanos);
        boolean due = round.fault() == MoveFault.AGENT_GONE
                ? elsewhere || millis >= GONE_MILLIS
                : millis >= round.lastsMillis();
        if (!over && due) {
            end();
            over = true;
        }
    }

    private void end() throws Throwable {
        AgentProcess agent = rig.agent(struck);
        switch (round.fault()) {
            case AGENT_DELETED -> addAgain();
            case AGENT_KILLED, AGENT_GONE, HOST_REBOOTED, TARGET_KILLED -> agent.start();
            case LINK_CUT, LINK_CUT_LONG, TARGET_CUT -> agent.link.mend();
            case AGENT_STOPPED -> agent.signal(LibC.SIGCONT);
            case TARGET_DISK_FULL -> agent.disk.empty();
            case DRAINED -> command("preemptible-drain " + struck + " --undo");
            default -> {}
        }
    }

    /** The process of a removed agent has been told that it is unknown, or is about to. */
    private void addAgain() throws Throwable {
        AgentProcess agent = rig.agent(struck);
        agent.kill();
        rig.controller.call(MoveJobs::addAgent, struck, rig.root());
        agent.start();
    }

    /** Whatever is left of it. */
    void repair() throws Throwable {
        if (!over) {
            end();
        } else if (round.fault() == MoveFault.AGENT_DELETED && !round.comesBack()) {
            addAgain();
        }
        over = true;
        if (!rig.agent(struck).isAlive()) {
            rig.agent(struck).start();
        }
    }
}
