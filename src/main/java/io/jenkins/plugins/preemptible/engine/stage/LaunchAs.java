package io.jenkins.plugins.preemptible.engine.stage;

import io.jenkins.plugins.preemptible.engine.EngineException;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.RootsOwn;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * How root starts a process in a stage that belongs to another user.
 *
 * <ol>
 *   <li>Namespaces and control group are root's work. Everything that the user's paths, environment or command decide
 *       happens behind {@link #becoming}, with the user's rights.
 *   <li>The environment comes to that point under names that mean nothing to anybody, so that no program of root's sees
 *       an LD_PRELOAD.
 *   <li>Mounts at places that the user may change are taken out of the stage: at a restore such a place could have become
 *       a link to {@code /etc}, and setuid programs would believe what is mounted there.
 * </ol>
 *
 * @param folder of the user's own, for what the init tells and the command writes; never opened by root
 * @param umask that the processes begin with, as octal digits
 */
public record LaunchAs(StageUser user, Path folder, String umask) {

    private static final String ENTRY = "PREEMPTIBLE_ENTRY_";
    private static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
    private static final Pattern UMASK = Pattern.compile("0?[0-7]{3}");

    /** What stands for bytes that are no UTF-8. */
    private static final char NO_CHARACTER = '\uFFFD';

    /** What shells keep for themselves: to set these stops some of them. */
    private static final Set<String> SHELLS =
            Set.of("PPID", "UID", "EUID", "SHELLOPTS", "BASHOPTS", "BASH_VERSINFO", "OPTIND", "LINENO");

    /**
     * @throws IllegalArgumentException when the folder is relative or the umask is none
     */
    public LaunchAs {
        if (folder == null || !folder.isAbsolute()) {
            throw new IllegalArgumentException("the stage's folder '" + folder + "' is not absolute");
        }
        if (umask == null || !UMASK.matcher(umask).matches()) {
            throw new IllegalArgumentException("'" + umask + "' is no umask of three octal digits");
        }
    }

    /** The words in front of a command that is to run as the user, in the environment of {@link #give}. */
    public List<String> becoming(String setpriv) {
        List<String> words = new ArrayList<>(user.drop(setpriv));
        words.addAll(List.of(
                "/bin/sh", "-c", Script.text(LaunchAs.class, "import.sh"), "preemptible-import", umask));
        return words;
    }

    /** Replaces an environment by a harmless one that carries the wanted one. */
    public void give(Map<String, String> environment, Map<String, String> wanted) {
        environment.clear();
        environment.put("PATH", PATH);
        int at = 0;
        for (Map.Entry<String, String> entry : new HashMap<>(wanted == null ? Map.of() : wanted).entrySet()) {
            String name = entry.getKey();
            if (NAME.matcher(name).matches() && !SHELLS.contains(name) && !name.startsWith(ENTRY)) {
                at++;
                environment.put(ENTRY + at, name + "=" + entry.getValue());
            }
        }
    }

    /**
     * The words in front of a command in a new mount namespace, from which they take what must not be in the stage.
     *
     * @param stays a file, written here; users decide how many other mounts there are, and what bytes name them
     */
    List<String> hiding(Path stays) throws IOException {
        List<String> points = Proc.self("mountinfo").stream()
                .filter(l -> stays(Mounts.pointOf(l)))
                .map(Mounts::rawPointOf)
                .distinct()
                .toList();
        Files.write(stays, points);
        return List.of(
                "/bin/sh", "-c", Script.text(LaunchAs.class, "hide.sh"), "preemptible-hide", stays.toString());
    }

    // A path that is no UTF-8 cannot be told to criu.
    private static boolean stays(String point) {
        return point.indexOf(NO_CHARACTER) < 0 && RootsOwn.above(Path.of(point));
    }

    /**
     * @throws EngineException {@link FailureReason#LAUNCH_FAILED} when a mount is left that had to be taken out
     */
    void refuseForeignMounts(HostProcess init) {
        List<String> left =
                Mounts.ofHost(Proc.mountInfo(init.pid())).stream().filter(p -> !stays(p)).toList();
        if (!left.isEmpty()) {
            throw new EngineException(
                    FailureReason.LAUNCH_FAILED, "the mount at " + left.get(0) + " cannot be kept out of the stage");
        }
    }

    /** Whether the init runs as the user, or has come and gone without a complaint. */
    boolean isUp(HostProcess init, Path words) {
        if (init != null && init.alive()) {
            return Proc.arguments(init.pid()).contains("preemptible-init")
                    && user.excess(List.of(Proc.stat(init.pid()).orElseThrow())).isEmpty();
        }
        try {
            return init == null && Files.size(words) == 0;
        } catch (IOException e) {
            return false;
        }
    }
}
