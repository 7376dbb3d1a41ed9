package io.jenkins.plugins.preemptible.acceptance.faults;

/** What goes wrong in a round. */
enum Fault {
    CONTROLLER_KILLED("the controller is killed (SIGKILL) and started again"),
    AGENT_KILLED("the agent process is killed (SIGKILL) and started again"),
    BOTH_KILLED("controller and agent process are killed (SIGKILL) and started again"),
    NETWORK_CUT("nothing passes between agent and controller, and the connection stays open"),
    CONNECTION_CLOSED("the connection between agent and controller is closed and refused"),
    AGENT_DISK_FULL("the agent's disk is full"),
    CONTROLLER_DISK_FULL("the controller's disk is full"),
    CLOCK_AHEAD("the controller's clock is set ahead by an hour, and back"),
    CLOCK_BACK("the controller's clock is set back by an hour, and ahead"),
    CRIU_KILLED("the next criu that dumps or restores the stage is killed (SIGKILL)");

    private final String words;

    Fault(String words) {
        this.words = words;
    }

    /** For docs/reliability.md, without a full stop. */
    String words() {
        return words;
    }

    boolean killsController() {
        return this == CONTROLLER_KILLED || this == BOTH_KILLED;
    }

    boolean changesClock() {
        return this == CLOCK_AHEAD || this == CLOCK_BACK;
    }
}
