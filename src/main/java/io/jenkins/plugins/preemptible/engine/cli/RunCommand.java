package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.api.Connections;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.cli.text.RefusedException;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Starts a stage and prints its id.
 *
 * <ol>
 *   <li>Folder and command are checked first, so that a typing error starts nothing.
 *   <li>The stage gets this call's environment; its output goes to a file in its folder.
 *   <li>The call returns at once; {@code wait} waits for the stage.
 * </ol>
 */
@Command(
        name = "run",
        description = "Starts a stage, prints its id, and returns. Its output goes to a file (see list).")
final class RunCommand implements Callable<Integer> {

    private final Context context;

    @Option(names = "--name", paramLabel = "N", description = "A name for people; the id begins with it.")
    private String name;

    @Option(names = "--dir", paramLabel = "WORKDIR", description = "Where it runs; by default the current folder.")
    private Path dir;

    @Option(
            names = "--preserve",
            paramLabel = "PATH",
            description =
                    "A file or folder of the stage's that is packed into its image, as it is while the stage is frozen,"
                            + " and put back at a resume. May be repeated.")
    private List<Path> preserved = List.of();

    @Option(
            names = "--close-connections",
            description = "A suspension cuts its TCP connections to the outside; without this, they stop it.")
    private boolean closeConnections;

    @Parameters(arity = "1..*", paramLabel = "CMD", description = "The command and its arguments, best after --.")
    private List<String> command;

    RunCommand(Context context) {
        this.context = context;
    }

    @Override
    public Integer call() {
        Path workDir = context.resolve(dir == null ? Path.of("") : dir);
        if (!Files.isDirectory(workDir)) {
            throw new RefusedException("The folder " + workDir + " does not exist; give an existing one by --dir");
        }
        requireCommand(workDir);
        requireWhole();
        String shown = name == null ? new File(command.get(0)).getName() : name;
        List<Path> paths = preserved.stream().map(context::resolve).toList();
        paths.stream().filter(path -> !Files.exists(path)).findFirst().ifPresent(path -> {
            throw new RefusedException(
                    "There is no " + path + ", so no stage was started; give an existing path by --preserve");
        });
        paths.stream().filter(Files::isSymbolicLink).findFirst().ifPresent(path -> {
            throw new RefusedException("The path " + path
                    + " is a link, so no stage was started; give the path that it leads to by --preserve");
        });
        StageSpec spec = new StageSpec(
                StageId.create(shown),
                shown,
                workDir,
                command,
                null,
                closeConnections ? Connections.CLOSE : Connections.REFUSE,
                paths);
        context.out().println(context.engine().start(spec).id());
        return ExitStatus.OK;
    }

    private void requireCommand(Path workDir) {
        String first = command.get(0);
        boolean found = first.contains("/")
                ? isExecutable(workDir.resolve(first))
                : Pattern.compile(":")
                        .splitAsStream(context.environment().getOrDefault("PATH", "/usr/bin:/bin"))
                        .anyMatch(folder -> isExecutable(workDir.resolve(folder).resolve(first)));
        if (first.isEmpty() || !found) {
            throw new RefusedException("The command '" + first
                    + "' is not found or not executable, so no stage was started; check its name and its rights");
        }
    }

    /** Java gives a program the arguments as text: other bytes are lost. */
    private void requireWhole() {
        for (String each : command) {
            if (each.indexOf('\ufffd') >= 0) {
                throw new RefusedException("The argument '" + each + "' has bytes that are no "
                        + System.getProperty("sun.jnu.encoding")
                        + " text, which the program would not get, so no stage was started; put the command into a"
                        + " script, or set LC_ALL=C.UTF-8 if the argument is UTF-8");
            }
        }
    }

    private static boolean isExecutable(Path file) {
        return Files.isRegularFile(file) && Files.isExecutable(file);
    }
}
