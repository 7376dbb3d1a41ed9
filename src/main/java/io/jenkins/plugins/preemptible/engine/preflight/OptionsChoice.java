package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.api.Connections;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Kind;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Member;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.OpenFile;
import io.jenkins.plugins.preemptible.engine.stage.CriuOptions;

/**
 * Chooses the options that a tree's dump and restore need.
 *
 * <ol>
 *   <li>TCP: carried over when connections lie within the tree, cut when there are others and that is allowed.
 *   <li>Deleted files: the limit fits the largest one that is seen; a link is made where another name is left.
 *   <li>No other option is given: each makes CRIU do more than it has to.
 * </ol>
 *
 * Pure. Source: criu(8), version 4.2.1.
 */
final class OptionsChoice {

    /** Whether CRIU is told to connect datagram sockets to daemons outside again ({@code --ext-unix-sk}). */
    static boolean externalDatagrams() {
        return false;
    }

    private static final long ROUND = 1 << 20;

    private OptionsChoice() {}

    static CriuOptions of(TreeSnapshot tree, Connections connections) {
        SocketObstacles.Ends ends = SocketObstacles.Ends.of(tree);
        long largest = 0;
        boolean linked = false;
        for (Member member : tree.processes()) {
            linked |= member.mappings().stream().anyMatch(m -> m.links() > 0);
            for (OpenFile file : member.files()) {
                if (file.kind() == Kind.REGULAR && file.deleted()) {
                    largest = Math.max(largest, file.bytes());
                    linked |= FileObstacles.stillLinked(file);
                }
            }
        }
        boolean close = ends.outside() && connections == Connections.CLOSE;
        // Twice what is seen: the file may grow until the tree is frozen.
        long limit = Math.max(CriuOptions.PLAIN.ghostLimitBytes(), (2 * largest / ROUND + 1) * ROUND);
        return new CriuOptions(ends.inside() && !close, close, linked, limit);
    }
}
