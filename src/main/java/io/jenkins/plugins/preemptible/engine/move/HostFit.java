package io.jenkins.plugins.preemptible.engine.move;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Whether a suspended stage of one agent can resume on another. Pure.
 *
 * <ol>
 *   <li>Two agents of one folder are one agent, whatever their names are: that is looked at first. Of an agent that is unknown by
 *       now see {@link HostTraits#ofNoAgent}.
 *   <li>Then what decides whether CRIU can restore at all, then what the stage needs.
 *   <li>What is unknown about the stage is not held against an agent; what is unknown about a host is.
 * </ol>
 *
 * Measured: CRIU restores on another host when paths, libraries, programs and processor features agree. Kernel and CRIU
 * have to be the same release as well, since nobody has tried any other pair here.
 */
public final class HostFit {

    private static final int MOST_NAMED = 8;

    private HostFit() {}

    /**
     * Compares.
     *
     * @param own of the agent that the stage was suspended on
     * @param other of the agent that it might resume on
     * @return empty when it fits; the worst obstacle first
     */
    public static List<Misfit> misfits(HostTraits own, HostTraits other, StageNeeds needs) {
        List<Misfit> found = new ArrayList<>();
        if (own.token().isEmpty() || own.token().equals(other.token())) {
            found.add(Misfit.of(MoveObstacle.SAME_FOLDER));
        }
        if (own.folder().isEmpty() || !own.folder().equals(other.folder())) {
            found.add(new Misfit(MoveObstacle.OTHER_FOLDER, own.folder() + " and " + other.folder()));
        }
        List<String> mounts = new ArrayList<>(other.mounts());
        mounts.removeAll(new HashSet<>(own.mounts()));
        if (!mounts.isEmpty()) {
            found.add(new Misfit(MoveObstacle.OTHER_MOUNTS, named(mounts)));
        }
        if (!own.root() || !other.root()) {
            found.add(Misfit.of(MoveObstacle.NOT_ROOT));
        }
        if (own.criu().isEmpty() || other.criu().isEmpty()) {
            found.add(Misfit.of(MoveObstacle.NO_CRIU));
        }
        differ(found, MoveObstacle.OTHER_ARCHITECTURE, own.arch(), other.arch());
        List<String> missing = new ArrayList<>(new TreeSet<>(own.cpuFeatures()));
        missing.removeAll(new HashSet<>(other.cpuFeatures()));
        if (!missing.isEmpty()) {
            found.add(new Misfit(MoveObstacle.OTHER_PROCESSOR, named(missing)));
        }
        differ(found, MoveObstacle.OTHER_KERNEL, own.kernel(), other.kernel());
        if (!own.criu().isEmpty() && !other.criu().isEmpty()) {
            differ(found, MoveObstacle.OTHER_CRIU, own.criu(), other.criu());
        }
        List<String> files = needs.buildIds().entrySet().stream()
                .filter(e -> !e.getValue().equals(other.buildIds().get(e.getKey())))
                .map(e -> e.getKey() + (e.getValue().isEmpty() ? " (could not be read)" : ""))
                .sorted()
                .toList();
        if (!files.isEmpty()) {
            found.add(new Misfit(MoveObstacle.OTHER_FILES, named(files)));
        }
        List<String> users = new TreeMap<>(needs.users())
                .entrySet().stream()
                        .filter(e -> other.users().containsKey(e.getKey()))
                        .filter(e -> !e.getValue().equals(other.users().get(e.getKey())))
                        .map(e -> e.getKey() + " is " + user(e.getValue()) + " and "
                                + user(other.users().get(e.getKey())))
                        .toList();
        if (!users.isEmpty()) {
            found.add(new Misfit(MoveObstacle.OTHER_USERS, named(users)));
        }
        room(found, MoveObstacle.MEMORY_SHORT, needs.memoryBytes(), other.freeMemoryBytes());
        room(found, MoveObstacle.DISK_FULL, needs.diskBytes(), other.freeDiskBytes());
        return found;
    }

    private static void differ(List<Misfit> found, MoveObstacle obstacle, String own, String other) {
        if (own.isEmpty() || !own.equals(other)) {
            found.add(new Misfit(obstacle, said(own) + " and " + said(other)));
        }
    }

    private static String said(String trait) {
        return trait.isEmpty() ? "unknown" : trait;
    }

    private static String user(String name) {
        return name.isEmpty() ? "nobody's" : name;
    }

    private static void room(List<Misfit> found, MoveObstacle obstacle, long needed, long free) {
        if (needed > free) {
            found.add(new Misfit(obstacle, "needs " + (needed >> 20) + " MiB, " + (free >> 20) + " MiB are free"));
        }
    }

    private static String named(List<String> names) {
        return String.join(", ", names.subList(0, Math.min(MOST_NAMED, names.size())))
                + (names.size() > MOST_NAMED ? " and " + (names.size() - MOST_NAMED) + " more" : "");
    }
}
