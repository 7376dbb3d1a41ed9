package io.jenkins.plugins.preemptible.engine.freeze;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The ways to freeze a stage, best first, and the choice among them on this host.
 *
 * <ol>
 *   <li>{@code /proc/self/mountinfo} says where the hierarchies are, {@code /proc/self/cgroup} where this JVM is in
 *       them.
 *   <li>A stage's group is made inside this JVM's own, so that limits set on an agent hold for its stages. It is made
 *       for one start or resume alone, with a random name: no other process can know it before, nor share it.
 *   <li>The first kind whose group can be made is taken; signals always can.
 * </ol>
 */
public enum FreezerKind {
    /** The unified hierarchy. */
    CGROUP_V2,
    /** The freezer controller of version 1. */
    CGROUP_V1,
    /** Stop signals. */
    SIGNALS,
    /** The privileged part, which has a control group of version 2; only where it is asked for. */
    HELPER;

    static final String HELPER_LOCATION = "helper";

    private static final String PREFIX = "preemptible-";
    /** Not those of the privileged part, which have a user's number in front, and are its own to remove. */
    private static final Pattern OWN_NAME = Pattern.compile(PREFIX + "(?!\\d+-)([a-z0-9-]+)-[0-9a-f]{16}");

    private static final Pattern OWN = Pattern.compile("/" + PREFIX + "[a-z0-9-]+-[0-9a-f]{16}(/|$)");
    private static final SecureRandom RANDOM = new SecureRandom();

    /**
     * Makes the best freezer that this host allows.
     *
     * @param only the kind to use, or null for any
     * @throws IOException when this host does not have {@code only}
     */
    public static Freezer create(StageId id, FreezerKind only) throws IOException {
        if (only == HELPER) {
            return new HelperFreezer(id);
        }
        IOException why = null;
        for (FreezerKind kind : values()) {
            if (kind == HELPER || (only != null && only != kind)) {
                continue;
            }
            try {
                String name = "%s%s-%016x".formatted(PREFIX, id, RANDOM.nextLong());
                Freezer freezer = kind.of(name, Proc.self("mountinfo"), Proc.self("cgroup"))
                        .orElseThrow(() -> new IOException("this host has no " + kind));
                freezer.create();
                return freezer;
            } catch (IOException e) {
                why = e;
            }
        }
        throw why;
    }

    /**
     * Makes a group for a stage inside of the group of another process, which is in one of its own.
     *
     * @param only the kind to use, or null for any that is a group
     * @throws IOException when that process has none, or no group can be made there
     */
    public static Freezer createBelow(StageId id, FreezerKind only, long pid) throws IOException {
        String name = "%s%s-%016x".formatted(PREFIX, id, RANDOM.nextLong());
        List<String> groups =
                groupsOf(pid).stream().filter(line -> !line.endsWith(":/")).toList();
        IOException why = new IOException("the container has no control group of its own with a freezer");
        for (FreezerKind kind : List.of(CGROUP_V2, CGROUP_V1)) {
            Optional<Freezer> freezer = kind.of(name, Proc.self("mountinfo"), groups);
            if (freezer.isPresent() && (only == null || only == kind)) {
                try {
                    freezer.get().create();
                    return freezer.get();
                } catch (IOException e) {
                    why = e;
                }
            }
        }
        throw why;
    }

    /**
     * The groups that were made for a stage inside of those of another process.
     *
     * @throws IOException when they cannot be listed
     */
    public static List<Freezer> below(StageId id, long pid) throws IOException {
        return named(id, null, groupsOf(pid));
    }

    /** The lines of a process's {@code cgroup} file, without a group that was made for a stage. */
    static List<String> groupsOf(long pid) {
        return Proc.task(pid, pid, "cgroup").stream()
                .map(line -> line.replaceFirst("/" + OWN_NAME.pattern() + "$", ""))
                .toList();
    }

    /**
     * The groups of a stage of this id that were made inside this JVM's own, for a stage whose record cannot be read.
     *
     * @param only the kind to look for, or null for any
     */
    public static List<Freezer> left(StageId id, FreezerKind only) throws IOException {
        if (only == HELPER) {
            return List.of(new HelperFreezer(id));
        }
        return named(id, only, Proc.self("cgroup"));
    }

    private static List<Freezer> named(StageId id, FreezerKind only, List<String> cgroup) throws IOException {
        Pattern name = Pattern.compile(Pattern.quote(PREFIX + id) + "-[0-9a-f]{16}");
        List<Freezer> left = new ArrayList<>();
        for (FreezerKind kind : List.of(CGROUP_V2, CGROUP_V1)) {
            Optional<Path> own =
                    ownFolder(kind == CGROUP_V2, Proc.self("mountinfo"), cgroup).filter(Files::isDirectory);
            if (own.isEmpty() || (only != null && only != kind)) {
                continue;
            }
            try (var groups = Files.list(own.get())) {
                groups.filter(g -> name.matcher(g.getFileName().toString()).matches())
                        .forEach(g -> left.add(new CgroupFreezer(kind == CGROUP_V2, g)));
            }
        }
        return List.copyOf(left);
    }

    /**
     * The groups of all stages that this host shows, wherever they were made, by the ids of their stages.
     *
     * @throws IOException when the groups cannot be listed
     */
    public static Map<Freezer, StageId> all() throws IOException {
        Map<Freezer, StageId> all = new LinkedHashMap<>();
        for (FreezerKind kind : List.of(CGROUP_V2, CGROUP_V1)) {
            // The path of the group that is mounted, not that of this process.
            Optional<Path> mount = ownFolder(
                    kind == CGROUP_V2, Proc.self("mountinfo"), List.of(kind == CGROUP_V2 ? "0::/" : "1:freezer:/"));
            if (mount.isPresent()) {
                Files.walkFileTree(mount.get(), new SimpleFileVisitor<>() {
                    @Override
                    public FileVisitResult preVisitDirectory(Path group, BasicFileAttributes attributes) {
                        Matcher name = OWN_NAME.matcher(group.getFileName().toString());
                        if (name.matches()) {
                            all.put(new CgroupFreezer(kind == CGROUP_V2, group), StageId.parse(name.group(1)));
                        }
                        return name.matches() ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
                    }

                    @Override
                    public FileVisitResult visitFileFailed(Path file, IOException e) {
                        // Removed meanwhile.
                        return FileVisitResult.CONTINUE;
                    }
                });
            }
        }
        return all;
    }

    /** Whether this is the path of a stage's own group, or of one below it. */
    public static boolean isOwn(String path) {
        return OWN.matcher(path).find();
    }

    /** The freezer that a {@link Freezer#location} names. */
    public static Freezer at(String location) {
        int colon = location.indexOf(':');
        String path = location.substring(colon + 1);
        return switch (location.substring(0, colon)) {
            case "v2" -> new CgroupFreezer(true, Path.of(path));
            case "v1" -> new CgroupFreezer(false, Path.of(path));
            case "signals" -> new SignalFreezer();
            case HELPER_LOCATION -> new HelperFreezer(StageId.parse(path));
            default -> throw new IllegalArgumentException("'" + location + "' names no freezer");
        };
    }

    /** The control group of version 2 in this folder. */
    public static Freezer inGroup(Path folder) {
        return new CgroupFreezer(true, folder);
    }

    Optional<Freezer> of(String name, List<String> mountInfo, List<String> cgroup) {
        if (this == SIGNALS) {
            return Optional.of(new SignalFreezer());
        }
        boolean unified = this == CGROUP_V2;
        return ownFolder(unified, mountInfo, cgroup).map(own -> new CgroupFreezer(unified, own.resolve(name)));
    }

    private static Optional<Path> ownFolder(boolean unified, List<String> mountInfo, List<String> cgroup) {
        return folder(unified ? "" : "freezer", mountInfo, cgroup);
    }

    /**
     * Where a group is.
     *
     * @param controllers of its hierarchy as {@code /proc/PID/cgroup} has them, or one of them; empty for version 2
     * @param mountInfo of this process
     * @param cgroup of the process whose group is meant
     */
    static Optional<Path> folder(String controllers, List<String> mountInfo, List<String> cgroup) {
        boolean unified = controllers.isEmpty();
        List<String> wanted = List.of(controllers.split(","));
        Optional<String> own = cgroup.stream()
                .filter(l -> unified ? l.startsWith("0::") : controllers(l).containsAll(wanted))
                .map(l -> l.substring(l.indexOf(':', l.indexOf(':') + 1) + 1))
                .findFirst();
        for (String line : mountInfo) {
            int dash = line.indexOf(" - ");
            if (dash < 0 || own.isEmpty()) {
                continue;
            }
            String[] left = line.substring(0, dash).split(" ");
            String[] right = line.substring(dash + 3).split(" ");
            boolean fits = unified
                    ? right[0].equals("cgroup2")
                    : right[0].equals("cgroup") && List.of(right[2].split(",")).containsAll(wanted);
            if (fits) {
                return Optional.of(Path.of(left[4]).resolve(below(left[3], own.get())));
            }
        }
        return Optional.empty();
    }

    private static List<String> controllers(String line) {
        String[] parts = line.split(":", 3);
        return parts.length < 3 ? List.of() : new ArrayList<>(List.of(parts[1].split(",")));
    }

    // In a container the mount's root is often the container's own group, so the path is relative to it.
    private static String below(String mountRoot, String own) {
        String path = !mountRoot.equals("/") && own.startsWith(mountRoot) ? own.substring(mountRoot.length()) : own;
        path = path.replaceAll("^/+", "");
        return path.startsWith("..") ? "" : path;
    }
}
