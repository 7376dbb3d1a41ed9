package io.jenkins.plugins.preemptible.agent;

import hudson.FilePath;
import hudson.remoting.VirtualChannel;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jenkins.MasterToSlaveFileCallable;
import org.apache.commons.codec.digest.DigestUtils;

/**
 * The control folders of the {@code sh} steps that are in flight inside a stage.
 *
 * <ol>
 *   <li>Durable Task keeps script, log and result of each step in a folder of its own; the launched command names it.
 *   <li>While a stage is suspended nobody writes the log, so {@link #keepAlive} touches it: two heartbeat checks of an
 *       untouched log, five minutes apart, would end the step with -1.
 *   <li>An abort while suspended finds no process to kill, so {@link #endAborted} writes the result that a killed
 *       process would have left; the step then ends at its next look.
 * </ol>
 *
 * File names are those of FileMonitoringTask in the Durable Task plugin.
 */
public final class DurableTasks {

    private static final Pattern CONTROL_FOLDER = Pattern.compile("(/[^']*?/durable-[0-9a-f]{4,16})(?=[/'\" ]|$)");
    private static final String RESULT = "jenkins-result.txt";
    private static final String COOKIE = "JENKINS_SERVER_COOKIE";
    private static final String WORKSPACE_TMP = System.getProperty("hudson.slaves.WorkspaceList", "@") + "tmp";
    /** The file in a control folder that Pipeline reads a step's output from. */
    public static final String LOG = "jenkins-log.txt";

    /** 128 + SIGTERM, what the shell would report. */
    private static final int TERMINATED = 143;

    private DurableTasks() {}

    /** Finds the control folder that a launched command names, if it is a durable task's. */
    public static Optional<String> controlFolder(List<String> command) {
        for (String argument : command) {
            Matcher matcher = CONTROL_FOLDER.matcher(argument);
            if (matcher.find()) {
                return Optional.of(matcher.group(1));
            }
        }
        return Optional.empty();
    }

    static Optional<String> finishedOne(List<String> controlFolders) {
        return controlFolders.stream()
                .filter(folder -> Files.exists(Path.of(folder, RESULT)))
                .findFirst();
    }

    /** The newest of these whose script does not run yet, as far as its folder shows. */
    static Optional<String> startingOne(List<String> controlFolders) {
        long recently = System.currentTimeMillis() - TimeUnit.MINUTES.toMillis(2);
        return controlFolders.stream()
                .filter(folder -> Path.of(folder).toFile().lastModified() > recently)
                .filter(folder -> !Files.exists(Path.of(folder, LOG)) && !Files.exists(Path.of(folder, RESULT)))
                .reduce((older, newer) -> newer);
    }

    /** By which an ordinary kill knows the processes of this task, and of all others in its workspace. */
    public static Map<String, String> marks(String controlFolder) {
        return Map.of(COOKIE, cookie(controlFolder));
    }

    static List<Path> logs(List<String> controlFolders) {
        return controlFolders.stream().map(folder -> Path.of(folder, LOG)).toList();
    }

    /**
     * Which of these an ordinary kill would end: Durable Task marks the processes of all steps of one workspace alike,
     * by a digest of its path. All of them when none fits.
     */
    public static List<String> meant(List<String> controlFolders, Map<String, String> modelEnvVars) {
        List<String> meant = controlFolders.stream()
                .filter(folder -> cookie(folder).equals(modelEnvVars.get(COOKIE)))
                .toList();
        return meant.isEmpty() ? controlFolders : meant;
    }

    private static String cookie(String controlFolder) {
        String temporary = controlFolder.substring(0, controlFolder.lastIndexOf('/'));
        String workspace = temporary.endsWith(WORKSPACE_TMP)
                ? temporary.substring(0, temporary.length() - WORKSPACE_TMP.length())
                : temporary;
        return "durable-" + DigestUtils.sha256Hex(workspace);
    }

    /** Touches the logs of the steps that have no result yet. */
    public static void keepAlive(FilePath root, List<String> controlFolders) throws IOException, InterruptedException {
        Limited.act(root, Void.class, new KeepAlive(controlFolders));
    }

    /** Writes the result of a terminated process for every step that has none. */
    public static void endAborted(FilePath root, List<String> controlFolders) throws IOException, InterruptedException {
        Limited.act(root, Void.class, new EndAborted(controlFolders));
    }

    private static final class KeepAlive extends MasterToSlaveFileCallable<Void> {
        private static final long serialVersionUID = 1L;
        private final List<String> controlFolders;

        KeepAlive(List<String> controlFolders) {
            this.controlFolders = List.copyOf(controlFolders);
        }

        @Override
        public Void invoke(File root, VirtualChannel channel) throws IOException {
            FileTime now = FileTime.fromMillis(System.currentTimeMillis());
            for (String folder : controlFolders) {
                Path log = Path.of(folder, LOG);
                if (Files.exists(log) && !Files.exists(Path.of(folder, RESULT))) {
                    Files.setLastModifiedTime(log, now);
                }
            }
            return null;
        }
    }

    private static final class EndAborted extends MasterToSlaveFileCallable<Void> {
        private static final long serialVersionUID = 1L;
        private final List<String> controlFolders;

        EndAborted(List<String> controlFolders) {
            this.controlFolders = List.copyOf(controlFolders);
        }

        @Override
        public Void invoke(File root, VirtualChannel channel) throws IOException {
            for (String folder : controlFolders) {
                Path result = Path.of(folder, RESULT);
                if (Files.isDirectory(Path.of(folder)) && !Files.exists(result)) {
                    Path written = Path.of(folder, RESULT + ".tmp");
                    Files.write(written, (TERMINATED + "\n").getBytes(StandardCharsets.US_ASCII));
                    Files.move(written, result, StandardCopyOption.ATOMIC_MOVE);
                }
            }
            return null;
        }
    }
}
