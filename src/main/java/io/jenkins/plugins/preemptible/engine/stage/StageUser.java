package io.jenkins.plugins.preemptible.engine.stage;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The user whose stages an engine that runs as root looks after, and whose rights all of their processes have.
 *
 * <ol>
 *   <li>{@link #drop} is util-linux's setpriv with the user's ids and no capability: what stands behind it in an argument
 *       vector runs as that user for good.
 *   <li>{@link #dropKeeping} leaves a few capabilities, but none that opens files: criu runs so, and a path that the user
 *       swapped for a link leads it no further than the user himself.
 *   <li>{@link #excess} tells of a process that has more than the user.
 * </ol>
 *
 * @param uid of the user, never 0
 * @param gid of the user's own group
 * @param groups all groups of the user, as the user database has them
 * @param view a folder of root's that everybody may enter, with the empty folders {@code root} and {@code seen}: there
 *     criu's private mount namespace shows it the folders that the user has no way to
 */
public record StageUser(long uid, long gid, List<Long> groups, Path view) {

    /**
     * A group that nobody is in. The file that freezes a stage belongs to it while criu dumps, since criu has to write
     * there and has the user's ids. Above the ranges of systemd's and the usual subordinate ids.
     */
    public static final long FREEZING_GROUP = 2147483645L;

    /**
     * @throws IllegalArgumentException for root, and for ids that the kernel does not know
     */
    public StageUser {
        if (uid <= 0 || uid >= 0xFFFFFFFEL || gid < 0 || gid >= 0xFFFFFFFEL) {
            throw new IllegalArgumentException("a user with ids of his own is expected, not " + uid + ":" + gid);
        }
        groups = List.copyOf(groups);
    }

    /** The words in front of a command that runs as the user. */
    public List<String> drop(String setpriv) {
        return words(setpriv, groups, "-all", "-all");
    }

    /** As {@link #drop}, with these capabilities (names of capabilities(7) in small letters) and more groups. */
    public List<String> dropKeeping(String setpriv, List<String> capabilities, List<Long> moreGroups) {
        List<Long> all = new ArrayList<>(groups);
        all.addAll(moreGroups);
        String kept = capabilities.stream().map(c -> "+" + c).collect(Collectors.joining(","));
        return words(setpriv, all, "-all," + kept, "-all," + kept);
    }

    private List<String> words(String setpriv, List<Long> all, String inheritable, String ambient) {
        List<String> words = new ArrayList<>(List.of(
                setpriv, "--reuid", Long.toString(uid), "--regid", Long.toString(gid)));
        if (all.isEmpty()) {
            words.add("--clear-groups");
        } else {
            words.add("--groups");
            words.add(all.stream().map(Object::toString).collect(Collectors.joining(",")));
        }
        words.addAll(List.of("--inh-caps", inheritable, "--ambient-caps", ambient, "--"));
        return words;
    }

    /** The first of these processes that has an id, a group or a capability which the user has not, with what it is. */
    public java.util.Optional<String> excess(List<Proc.Stat> processes) {
        return processes.stream()
                .filter(s -> !s.zombie())
                .map(s -> excess(s.pid()).map(what -> "process " + s.comm() + " with " + what))
                .flatMap(java.util.Optional::stream)
                .findFirst();
    }

    private java.util.Optional<String> excess(long pid) {
        List<String> ids = Proc.statusWords(pid, "Uid");
        if (ids.isEmpty() && HostProcess.of(pid).isEmpty()) {
            return java.util.Optional.empty();
        }
        if (!ids.equals(List.of(text(uid), text(uid), text(uid), text(uid)))) {
            return java.util.Optional.of("the user ids " + String.join(" ", ids));
        }
        List<String> own = new ArrayList<>(groups.stream().map(StageUser::text).toList());
        own.add(text(gid));
        List<String> theirs = new ArrayList<>(Proc.statusWords(pid, "Gid"));
        theirs.addAll(Proc.statusWords(pid, "Groups"));
        if (!own.containsAll(theirs)) {
            return java.util.Optional.of("the groups " + String.join(" ", theirs));
        }
        for (String set : List.of("CapInh", "CapPrm", "CapEff", "CapAmb")) {
            List<String> mask = Proc.statusWords(pid, set);
            if (mask.size() != 1 || !mask.get(0).matches("0+")) {
                return java.util.Optional.of("capabilities (" + set + " " + String.join(" ", mask) + ")");
            }
        }
        return java.util.Optional.empty();
    }

    private static String text(long id) {
        return Long.toString(id);
    }
}
