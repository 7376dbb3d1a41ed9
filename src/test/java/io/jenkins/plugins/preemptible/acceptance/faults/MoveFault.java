package io.jenkins.plugins.preemptible.acceptance.faults;

import static io.jenkins.plugins.preemptible.acceptance.faults.MoveMoment.FROZEN;
import static io.jenkins.plugins.preemptible.acceptance.faults.MoveMoment.FROZEN_CHECKPOINTED;
import static io.jenkins.plugins.preemptible.acceptance.faults.MoveMoment.MOVED;
import static io.jenkins.plugins.preemptible.acceptance.faults.MoveMoment.RESUMING;
import static io.jenkins.plugins.preemptible.acceptance.faults.MoveMoment.RUNNING;
import static io.jenkins.plugins.preemptible.acceptance.faults.MoveMoment.SEALED;
import static io.jenkins.plugins.preemptible.acceptance.faults.MoveMoment.SUSPENDING;

import java.util.List;

/** What goes wrong, or is asked for, in a round with moves. */
enum MoveFault {
    AGENT_DELETED("the agent is removed from Jenkins; in half of the rounds it is added again"),
    AGENT_KILLED("the agent's process is killed (SIGKILL) and started again"),
    AGENT_GONE("the agent's process is killed and stays away, for 20 s or until the stage runs elsewhere"),
    LINK_CUT("nothing passes between agent and controller, for seconds"),
    LINK_CUT_LONG("nothing passes between agent and controller, until the agent counts as lost"),
    HOST_REBOOTED("all processes of the agent's host are killed, frozen ones too; its boot id changes"),
    AGENT_STOPPED("the agent's process stands still (SIGSTOP, later SIGCONT)"),
    TARGET_KILLED("the new agent's process is killed while it restores the stage", RESUMING),
    TARGET_DISK_FULL("the new agent's disk is full while it restores the stage", RESUMING),
    TARGET_CUT("nothing passes between new agent and controller while it restores the stage", RESUMING),
    CONTROLLER_KILLED("the controller is killed (SIGKILL) and started again"),
    CONTROLLER_RESTARTED("the controller is restarted"),
    EVACUATED("the agent is evacuated", RUNNING, SUSPENDING, FROZEN, FROZEN_CHECKPOINTED, SEALED, RESUMING, MOVED),
    MOVED_MANUALLY("someone asks for a move to another agent", SEALED, SEALED, FROZEN, RESUMING, MOVED),
    DRAINED("the agent is drained, and the drain undone");

    private final String words;
    private final List<MoveMoment> moments;

    /** @param moments at which it comes; none = at each. One that is named twice is drawn twice as often */
    MoveFault(String words, MoveMoment... moments) {
        this.words = words;
        this.moments = moments.length == 0 ? List.of(MoveMoment.values()) : List.of(moments);
    }

    /** For docs/moving-reliability.md, without a full stop. */
    String words() {
        return words;
    }

    List<MoveMoment> moments() {
        return moments;
    }

    /** Whether it concerns the agent that restores the stage. */
    boolean ofTarget() {
        return this == TARGET_KILLED || this == TARGET_DISK_FULL || this == TARGET_CUT;
    }

    /** Whether processes of the stage may end by it, or be out of Jenkins' reach for good. */
    boolean endsProcesses() {
        return this == AGENT_DELETED || this == HOST_REBOOTED;
    }

    boolean ofController() {
        return this == CONTROLLER_KILLED || this == CONTROLLER_RESTARTED;
    }
}
