package io.jenkins.plugins.preemptible.engine.stage;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import java.util.ArrayList;
import java.util.List;

/**
 * The options that one stage's dump needs, and its restore as well.
 *
 * <ol>
 *   <li>The preflight chooses them from what it sees in the tree. The user chooses whether connections to the outside
 *       may be cut, and nothing else.
 *   <li>They are kept in the stage's record, which is sealed with the image: a restore needs the same ones.
 *   <li>What every stage needs ({@code --file-locks} and such) is not here but in {@code Criu}.
 * </ol>
 *
 * Source: criu(8), version 4.2.1.
 *
 * @param tcpEstablished carry connections over, both ends of which are in the tree ({@code --tcp-established});
 *     with an end outside, the peer would answer the restored one with a reset, or resend
 *     into the void while it is suspended
 * @param tcpClose cut connections to the outside ({@code --tcp-close}); cuts those within the tree as well
 * @param linkRemap a deleted file with another name is open, for which criu has {@code --link-remap}. It is not given:
 *     a dump that leaves the tree running removes the links that its image needs, so the image would be lost; without
 *     it criu refuses such a tree, and nothing is
 * @param ghostLimitBytes largest deleted file that is put into the image ({@code --ghost-limit}), at least 0; its
 *     content costs as much room and time as memory of that size
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record CriuOptions(boolean tcpEstablished, boolean tcpClose, boolean linkRemap, long ghostLimitBytes) {

    /** For a tree without anything special. */
    public static final CriuOptions PLAIN = new CriuOptions(false, false, false, 1L << 30);

    /**
     * The options of a dump.
     *
     * @param skipsLock whether this CRIU can leave the network alone; of an older one the caller dumps no connections
     */
    public List<String> forDump(boolean skipsLock) {
        List<String> options = new ArrayList<>(List.of("--ghost-limit", Long.toString(ghostLimitBytes)));
        // What its lock of the network would do is done by ConnectionLock.
        if (skipsLock) {
            options.addAll(List.of("--network-lock", "skip"));
        }
        if (tcpEstablished) {
            options.add("--tcp-established");
        }
        if (tcpClose) {
            options.add("--tcp-close");
        }
        return options;
    }

    /** The options of a restore, and of its trial. */
    public List<String> forRestore() {
        // A dump takes a closed connection without any option, a restore does not.
        return List.of(tcpClose ? "--tcp-close" : "--tcp-established");
    }

    /** The same, as the privileged part takes them. */
    public List<String> forHelper() {
        List<String> options = new ArrayList<>(List.of("ghost-limit=" + ghostLimitBytes));
        if (tcpEstablished) {
            options.add("tcp-established");
        }
        if (tcpClose) {
            options.add("tcp-close");
        }
        return options;
    }
}
