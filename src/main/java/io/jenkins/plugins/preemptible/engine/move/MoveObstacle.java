package io.jenkins.plugins.preemptible.engine.move;

/**
 * Why a suspended stage is not resumed on another agent, each with one sentence for people.
 *
 * <ol>
 *   <li>The first group is about the two agents, the second about the stage, the third about the moment.
 *   <li>An obstacle refuses a move before anything is changed; the stage stays suspended and keeps its own agent.
 * </ol>
 */
public enum MoveObstacle {
    /** Both agents use one folder, by whatever path: the stage would be restored over itself. */
    SAME_FOLDER("Both agents use the same root folder."),
    /** Running processes know their workspace by its path. */
    OTHER_FOLDER("The agents have different root folders."),
    /** A file system is mounted there on or above the root folder, which the stage's mounts would not have. */
    OTHER_MOUNTS("The other agent's root folder lies on a mount that the stage does not know."),
    /** Only root may put files with their owners and restore without the privileged part. */
    NOT_ROOT("An agent's process does not run as root."),
    /** No CRIU works there. */
    NO_CRIU("An agent makes no images."),
    OTHER_ARCHITECTURE("The agents' machines have different architectures."),
    /** Programs choose their code at their start by the features that the processor has. */
    OTHER_PROCESSOR("The other agent's processor lacks features that the stage's programs may use."),
    OTHER_KERNEL("The agents' kernels are different releases."),
    OTHER_CRIU("The agents have different versions of CRIU."),
    /** By build id; CRIU itself compares the sizes of all others. */
    OTHER_FILES("The other agent has other builds of programs or libraries that the stage uses."),
    /** Files, directories of users and rules of the host go by ids in one place, and by names in another. */
    OTHER_USERS("The other agent has other users for the ids under which the stage's processes run."),
    /** Its class has a retention strategy that cannot be replaced, for instance. */
    NOT_KEPT("The other agent might be taken away while it holds a suspended stage."),
    MEMORY_SHORT("The other agent has too little free memory."),
    DISK_FULL("The other agent's disk has too little room."),

    /** Its executor belongs to the {@code node} block around it. */
    NESTED_FORM("The stage runs on the executor of a node block, which stays where it is."),
    /** Also while its image is still being made. */
    NOT_SEALED("The stage has no sealed image yet."),
    /** Its steps hold the workspace by a path of their own. */
    INSIDE_WS("A ws block inside of the stage is open."),
    /** Its container, and what is in it, stays on its agent. */
    IN_CONTAINER("A container block inside of the stage is open."),
    /** Such steps are told of their end by an agent, which does not know the other one. */
    WATCHED_STEPS("Pipeline's steps are watched by their agent (USE_WATCHING)."),
    /** Such a {@code FilePath} would still be one of the old agent. */
    CAPTURED_FILE_PATH("The Pipeline keeps a folder of the agent, in a variable or for a block of a plugin."),
    /** Where it was asked to resume, it may run. */
    ANSWER_AWAITED("An agent was asked to resume the stage and has not answered."),
    /** Devices, other file systems. */
    UNPACKABLE("The workspace holds something that cannot be moved."),
    CHANGED_MEANWHILE("The workspace changed while it was packed."),
    /** Than what may be stored with an image. */
    WORKSPACE_TOO_LARGE("The workspace is larger than what is stored with an image."),

    SWITCHED_OFF("Moving stages to other agents is switched off."),
    OWN_AGENT("The stage is on this very agent."),
    UNKNOWN_AGENT("There is no such agent."),
    OTHER_LABEL("The agent does not have the stage's label."),
    /** A permission of the build's user, or a property of the agent. */
    NOT_ALLOWED("Jenkins does not let this build run on that agent."),
    AGENT_AWAY("An agent is offline, takes no builds, or has not described its host yet."),
    WORKSPACE_TAKEN("The workspace of that path is in use on the other agent."),
    /** Asked for manually; the decision waits for one. */
    NO_EXECUTOR("The agent has no idle executor."),
    /** Not tried again there for a while. */
    REFUSED_THERE("A move to this agent failed.");

    private final String sentence;

    MoveObstacle(String sentence) {
        this.sentence = sentence;
    }

    /** Whether it is about the two hosts, and no other moment helps. */
    public boolean ofHosts() {
        return ordinal() <= NOT_KEPT.ordinal();
    }

    /** One sentence for people, with its full stop. */
    public String sentence() {
        return sentence;
    }
}
