package io.jenkins.plugins.preemptible.engine.stage;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import io.jenkins.plugins.preemptible.engine.text.Script;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * How a command enters a running stage.
 *
 * <ol>
 *   <li>The host that runs the stage sends facts only: a process id, a control group, the paths of tools.
 *   <li>Each fact is checked against a strict pattern when the record is made, also when it arrives over a wire.
 *   <li>{@link #words} builds the argument vector from the scripts of its caller: no script of the host is run.
 * </ol>
 *
 * Immutable, safe for any thread.
 */
public sealed interface EnterCommand extends Serializable {

    /** The stage's id. */
    String stageId();

    /** The argument vector in front of a command that has to run inside the stage. */
    List<String> words();

    /** The same record as plain strings, for {@link #of}. */
    List<String> facts();

    /**
     * Through nsenter, by a user who may do that himself.
     *
     * @param initPid process id of the stage's init, as its host numbers it; at least 2
     * @param joinFile the control group's cgroup.procs, whose folder bears the stage's id; empty = there is no group
     */
    record Direct(String stageId, long initPid, String joinFile, String nsenter, String setsid)
            implements EnterCommand {

        private static final long serialVersionUID = 1L;
        private static final String KIND = "direct";

        public Direct {
            StageId.parse(stageId);
            Checks.pid(initPid);
            Checks.joinFile(joinFile, stageId);
            Checks.tool(nsenter, "nsenter");
            Checks.tool(setsid, "setsid");
        }

        @Override
        public List<String> words() {
            return List.of(
                    Checks.SHELL,
                    "-c",
                    Script.text(EnterCommand.class, "enter.sh"),
                    Checks.NAME,
                    nsenter,
                    setsid,
                    Long.toString(initPid),
                    joinFile,
                    Script.text(EnterCommand.class, "entered.sh"));
        }

        @Override
        public List<String> facts() {
            return List.of(KIND, stageId, Long.toString(initPid), joinFile, nsenter, setsid);
        }
    }

    /**
     * Through sudo, by the privileged part of the host.
     *
     * @param sudo absolute path of sudo
     * @param program absolute path of the privileged part
     */
    record BySudo(String stageId, String sudo, String program) implements EnterCommand {

        private static final long serialVersionUID = 1L;
        private static final String KIND = "sudo";

        public BySudo {
            StageId.parse(stageId);
            Checks.tool(sudo, "sudo");
            Checks.path(program);
        }

        @Override
        public List<String> words() {
            return List.of(
                    Checks.SHELL,
                    "-c",
                    Script.text(EnterCommand.class, "enter-by-sudo.sh"),
                    Checks.NAME,
                    sudo,
                    program,
                    stageId);
        }

        @Override
        public List<String> facts() {
            return List.of(KIND, stageId, sudo, program);
        }
    }

    /**
     * Into a stage that lives in a container, by root: with the rights that a process of the container has.
     *
     * @param container its program and its id in full
     * @param init the stage's first process: where it has ended nothing is entered, whichever process has its number then
     * @param joinFiles cgroup.procs files of the stage's own group, which bears its id, and of the container's others
     * @param rights absolute path of the file with the rights, in the stage's folder
     * @param perl absolute path of Perl
     * @param architecture as Java names it
     */
    record Contained(
            String stageId,
            ContainerRef container,
            HostProcess init,
            List<String> joinFiles,
            String rights,
            String perl,
            String architecture)
            implements EnterCommand {

        private static final long serialVersionUID = 1L;
        private static final String KIND = "contained";
        private static final int OTHERS = 10;
        private static final int MOST_GROUPS = 64;

        public Contained {
            StageId.parse(stageId);
            Objects.requireNonNull(container, "container");
            Checks.process(init);
            joinFiles = List.copyOf(joinFiles);
            if (joinFiles.isEmpty() || joinFiles.size() > MOST_GROUPS) {
                throw new IllegalArgumentException("no control group is told, or too many");
            }
            Checks.joinFile(joinFiles.get(0), stageId);
            joinFiles.forEach(file -> Checks.tool(file, "cgroup.procs"));
            Checks.file(rights);
            Checks.tool(perl, "perl");
            new ContainedProgram(perl, architecture);
        }

        @Override
        public List<String> words() {
            return words("", List.of());
        }

        /**
         * The argument vector, as {@link EnterCommand#words} has it.
         *
         * @param folder the working folder as the container has it; empty for the container's own
         * @param variables {@code NAME=value}, beside those of the container
         */
        public List<String> words(String folder, List<String> variables) {
            List<String> words = new ArrayList<>(List.of(rights));
            words.addAll(ContainedProgram.counted(joinFiles));
            words.add(folder);
            words.addAll(ContainedProgram.counted(variables));
            return new ContainedProgram(perl, architecture).call("enter", init, words);
        }

        @Override
        public List<String> facts() {
            List<String> facts = new ArrayList<>(List.of(
                    KIND,
                    stageId,
                    container.program(),
                    container.id(),
                    Long.toString(init.pid()),
                    Long.toString(init.startTicks()),
                    init.bootId(),
                    rights,
                    perl,
                    architecture));
            facts.addAll(joinFiles);
            return facts;
        }
    }

    /**
     * Reads {@link #facts} again, or the argument vector that earlier versions kept, of which only the facts are taken.
     *
     * @param id the stage that it has to be of
     * @return empty when it is neither, or of another stage
     */
    static Optional<EnterCommand> of(List<?> kept, StageId id) {
        if (kept == null || !kept.stream().allMatch(String.class::isInstance)) {
            return Optional.empty();
        }
        List<String> words = kept.stream().map(String.class::cast).toList();
        try {
            return read(words, id.value()).filter(read -> read.stageId().equals(id.value()));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    private static Optional<EnterCommand> read(List<String> words, String id) {
        String kind = words.isEmpty() ? "" : words.get(0);
        boolean vector =
                words.size() > 4 && kind.equals(Checks.SHELL) && words.get(3).equals(Checks.NAME);
        if (words.size() == 6 && kind.equals(Direct.KIND)) {
            return Optional.of(
                    new Direct(words.get(1), Long.parseLong(words.get(2)), words.get(3), words.get(4), words.get(5)));
        }
        if (words.size() > Contained.OTHERS && kind.equals(Contained.KIND)) {
            return Optional.of(new Contained(
                    words.get(1),
                    new ContainerRef(words.get(2), words.get(3)),
                    // Earlier versions kept the process id alone: a path stands here then, and the command is refused.
                    new HostProcess(Long.parseLong(words.get(4)), Long.parseLong(words.get(5)), words.get(6)),
                    words.subList(Contained.OTHERS, words.size()),
                    words.get(7),
                    words.get(8),
                    words.get(9)));
        }
        if (words.size() == 4 && kind.equals(BySudo.KIND)) {
            return Optional.of(new BySudo(words.get(1), words.get(2), words.get(3)));
        }
        if (vector && words.size() == 9) {
            return Optional.of(new Direct(id, Long.parseLong(words.get(6)), words.get(7), words.get(4), words.get(5)));
        }
        if (vector && words.size() == 7) {
            return Optional.of(new BySudo(words.get(6), words.get(4), words.get(5)));
        }
        return Optional.empty();
    }

    /** What each fact has to look like. */
    final class Checks {

        private static final String SHELL = "/bin/sh";
        private static final String NAME = "preemptible-enter";
        private static final int LONGEST = 4096;
        /** The kernel's own limit, PID_MAX_LIMIT. */
        private static final long LARGEST_PID = 4_194_304;

        private static final Pattern BOOT = Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
        /** systemd escapes characters in names of control groups with a backslash. */
        private static final Pattern PLAIN = Pattern.compile("/[A-Za-z0-9_.@:+,=%~/\\\\-]*[A-Za-z0-9_.@:+,=%~\\\\-]");

        private Checks() {}

        private static void pid(long init) {
            if (init < 2 || init > LARGEST_PID) {
                throw new IllegalArgumentException(init + " is no process id of an init");
            }
        }

        private static void process(HostProcess process) {
            if (process == null || process.bootId() == null) {
                throw new IllegalArgumentException("no process is told");
            }
            pid(process.pid());
            if (process.startTicks() < 1 || !BOOT.matcher(process.bootId()).matches()) {
                throw new IllegalArgumentException("it is not told when the process started, or in which boot");
            }
        }

        private static void path(String path) {
            boolean plain = path != null
                    && path.length() <= LONGEST
                    && PLAIN.matcher(path).matches();
            if (!plain || (path + "/").matches(".*/\\.{0,2}/.*")) {
                throw new IllegalArgumentException("not an absolute path of plain characters");
            }
        }

        // No shell reads it: blanks do no harm.
        private static void file(String path) {
            boolean plain = path != null && path.length() <= LONGEST && path.startsWith("/") && PlainText.is(path);
            if (!plain || path.matches(".*/\\.{0,2}/.*")) {
                throw new IllegalArgumentException("not an absolute path of printable characters");
            }
        }

        private static void tool(String path, String name) {
            path(path);
            if (!path.endsWith("/" + name)) {
                throw new IllegalArgumentException("not the path of " + name);
            }
        }

        private static void joinFile(String path, String stageId) {
            if (path == null) {
                throw new IllegalArgumentException("no control group is told");
            }
            if (path.isEmpty()) {
                return;
            }
            tool(path, "cgroup.procs");
            String group = path.substring(0, path.lastIndexOf('/'));
            if (!group.substring(group.lastIndexOf('/') + 1).contains(stageId)) {
                throw new IllegalArgumentException("not the control group of stage " + stageId);
            }
        }
    }
}
