package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.api.Connections;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Member;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Room;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Tie;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Finds in a snapshot what stops a dump.
 *
 * <ol>
 *   <li>Here: what concerns whole processes, and the room for the image.
 *   <li>{@link FileObstacles} and {@link SocketObstacles} find obstacles in what the processes hold.
 *   <li>Each obstacle of each process is named once; lasting ones come first, then in the order of the tree.
 * </ol>
 *
 * Pure. What CRIU 4.2.1 can dump and restore is no obstacle: docs/preflight.md tells what was tried.
 */
final class Obstacles {

    private static final long MEGABYTE = 1 << 20;
    // personality(2)
    private static final long ADDR_NO_RANDOMIZE = 0x0040000;

    private Obstacles() {}

    static List<Obstacle> of(TreeSnapshot tree, Connections connections) {
        List<Obstacle> obstacles = new ArrayList<>();
        if (tree.processes().isEmpty()) {
            return obstacles;
        }
        strangers(tree, obstacles);
        Map<String, String> own = tree.processes().get(0).namespaces();
        for (Member member : tree.processes()) {
            process(member, own, obstacles);
        }
        FileObstacles.find(tree, obstacles);
        SocketObstacles.find(tree, connections, obstacles);
        room(tree.room(), obstacles);
        Set<Obstacle> once = new HashSet<>();
        return obstacles.stream()
                .filter(once::add)
                .sorted(Comparator.comparing(l -> l.reason().passing()))
                .toList();
    }

    private static void strangers(TreeSnapshot tree, List<Obstacle> obstacles) {
        for (TreeSnapshot.Stranger stranger : tree.strangers()) {
            boolean entering = stranger.tie() == Tie.IN_GROUP;
            obstacles.add(new Obstacle(
                    entering ? FailureReason.ENTERING : FailureReason.ESCAPED,
                    stranger.pid(),
                    stranger.command(),
                    entering
                            ? "its parent is outside of the stage"
                            : "in the stage's PID namespace, not in its control group"));
        }
    }

    private static void process(Member member, Map<String, String> own, List<Obstacle> obstacles) {
        if (member.tracer() != 0) {
            obstacles.add(obstacle(FailureReason.TRACED, member, "traced by process " + member.tracer()));
        }
        if (member.deadLeader()) {
            obstacles.add(obstacle(FailureReason.DEAD_LEADER, member, "its main thread has ended"));
        }
        traits(member, obstacles);
        if (!member.inGroup()) {
            obstacles.add(obstacle(FailureReason.ESCAPED, member, "it is not in the stage's control group"));
        }
        for (String name : TreeSnapshot.NAMESPACES) {
            String ours = own.getOrDefault(name, "");
            String its = member.namespaces().getOrDefault(name, ours);
            // A mount namespace of its own is dumped and restored with the rest.
            if (!its.equals(ours) && !name.equals("mnt")) {
                obstacles.add(obstacle(
                        name.equals("net") ? FailureReason.NETWORK_NAMESPACE : FailureReason.NESTED_CONTAINER,
                        member,
                        (name.equals("time_for_children") ? "time" : name) + " namespace " + its));
            }
        }
    }

    private static void traits(Member member, List<Obstacle> obstacles) {
        TreeSnapshot.Traits traits = member.traits();
        if (!traits.foreignIds().isEmpty()) {
            obstacles.add(obstacle(FailureReason.OTHER_USER, member, traits.foreignIds()));
        }
        // It counts at exec only, and debuggers and sanitizers set it often.
        if ((traits.personality() & ~ADDR_NO_RANDOMIZE) != 0) {
            obstacles.add(obstacle(
                    FailureReason.PERSONALITY, member, "personality 0x" + Long.toHexString(traits.personality())));
        }
        if (traits.pendingTrap()) {
            obstacles.add(obstacle(FailureReason.PENDING_TRAP, member, "SIGTRAP pending"));
        }
        if (traits.folderWith() != 0) {
            obstacles.add(obstacle(FailureReason.SHARED_FOLDER, member, "shared with process " + traits.folderWith()));
        }
    }

    private static void room(Room room, List<Obstacle> obstacles) {
        if (room.free() < room.needed()) {
            obstacles.add(new Obstacle(FailureReason.NO_SPACE, 0, "", megabytes(room, room.free())));
        } else if (room.freeMemory() < room.needed()) {
            obstacles.add(new Obstacle(FailureReason.NO_MEMORY, 0, "", megabytes(room, room.freeMemory())));
        }
    }

    private static String megabytes(Room room, long free) {
        return room.folder() + ": the image may take " + (room.needed() + MEGABYTE - 1) / MEGABYTE + " MB, free are "
                + free / MEGABYTE + " MB";
    }

    static Obstacle obstacle(FailureReason reason, Member member, String what) {
        return new Obstacle(reason, member.pid(), member.command(), what);
    }
}
