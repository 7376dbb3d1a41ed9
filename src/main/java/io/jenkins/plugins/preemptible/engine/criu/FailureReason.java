package io.jenkins.plugins.preemptible.engine.criu;

/**
 * Why a stage cannot be started, suspended or resumed.
 *
 * <ol>
 *   <li>The constant is for programs: it goes into JSON and build logs as it is.
 *   <li>{@link #sentence} is for people, without the final stop, so that a detail can follow it.
 *   <li>{@link #remedy} says what the reader can do about it.
 * </ol>
 */
public enum FailureReason {
    UNKNOWN_STAGE("There is no stage of this id on this host", "List the stages of this host, and use the same home folder"),
    STAGE_ENDED("The stage has ended already", "Nothing is left to suspend or to enter; start it anew if it has to run again"),
    STAGE_RUNS("The stage is running already", "Suspend or kill it first"),
    STAGE_SUSPENDED("The stage is suspended", "Resume it first"),
    STAGE_BUSY("The stage is being suspended or resumed by somebody else", "Try again when that has ended"),
    KILLED("The stage was killed", "Start it anew if it has to run again"),
    NO_CHECKPOINT("No dump of the stage waits to be committed or thawed", "Dump it first"),
    BAD_FOLDER("The folder for the image does not exist or cannot be written to", "Name an existing folder that this user may write to"),
    BAD_SPEC("The stage cannot be started as described", "Correct the named thing"),
    ENTERING("A process with a parent outside of the stage is in it or just entering it", "Try again when what was started in the stage has left its launcher"),
    KERNEL_WAIT("A process of the stage waits inside the kernel, for a disk, a network file system or a child that is just being started",
            "Try again later"),
    OBJECTION("The stage must not be suspended now", "It runs on; try again later"),
    TRACED("A process of the stage is being traced (strace, gdb or another debugger), and the kernel allows one tracer only",
            "Run the stage without the tracer"),
    CONNECTED_TCP("A process of the stage holds a TCP connection to the outside",
            "Let the stage close its connections, or let it run to its end"),
    OUTSIDE_FILE("A process of the stage holds a pipe, socket or file of a process outside of the stage",
            "Start the other process inside the stage, or redirect to a file"),
    FILE_LOCKS("A process of the stage holds a file lock that cannot be carried over", "Let the stage release the lock first"),
    DELETED_FILE_TOO_LARGE("A process of the stage keeps a deleted file open that is too large for the image",
            "Keep such files named, or smaller"),
    IO_URING("A process of the stage uses io_uring, which CRIU cannot dump", "Switch io_uring off in that tool"),
    UNSUPPORTED("A process of the stage uses something that CRIU cannot carry over", "The lines of CRIU say what it is; let the stage run to its end, or avoid it"),
    PATH_MISSING("A file or folder that the stage had open is missing or has changed", "Restore the workspace to what it was, then resume again"),
    PID_TAKEN("A process id of the stage is taken on this host", "Resume again"),
    NO_SPACE("There is no space left where the image has to go", "Free some space or choose another folder; the stage's memory has to fit"),
    NO_RIGHTS("The rights of this user do not suffice", "Run as root, or have the administrator set up the privileged part"),
    CRIU_MISSING("CRIU was not found on this host", "Run .ci/setup in a checkout of this project, or install criu 4.2 or newer"),
    CRIU_UNUSABLE("The installed CRIU does not work with this kernel", "Run .ci/setup in a checkout of this project, which builds a newer one"),
    NO_FREEZER("Neither a cgroup freezer nor signals could freeze the stage", "Mount a cgroup hierarchy with a freezer that this user may write to"),
    LAUNCH_FAILED("The stage's namespaces could not be set up", "Run the check command, which names what is missing"),
    IMAGE_MISSING("The image file does not exist", "Name the file that the suspension wrote"),
    IMAGE_OUTDATED("The image is older than the last suspension of the stage", "Resume the image of the last suspension"),
    ELSEWHERE("The stage has a command of its own whose output and exit code belong to another home folder", "Resume it with the home folder that it was started with"),
    IMAGE_UNUSABLE("The image cannot be used", "Use the image as it was written, with the key it was sealed with"),
    CRIU_FAILED("CRIU failed", "The lines of CRIU say why; a report with them is welcome"),
    CRIU_KILLED("Somebody killed CRIU while it worked", "Try again; when the kernel did it, give the host more memory"),
    GOES_ON("The stage was asked to go on while it was being suspended", "Suspend it again if it has to stop");

    private final String sentence;
    private final String remedy;

    FailureReason(String sentence, String remedy) {
        this.sentence = sentence;
        this.remedy = remedy;
    }

    public String sentence() {
        return sentence;
    }

    public String remedy() {
        return remedy;
    }
}
