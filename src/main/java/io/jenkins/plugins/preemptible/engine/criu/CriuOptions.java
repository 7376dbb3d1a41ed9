package io.jenkins.plugins.preemptible.engine.criu;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import java.util.ArrayList;
import java.util.List;

/**
 * The options that one stage's dump needs, and its restore as well.
 *
 * <ol>
 *   <li>The preflight chooses them from what it sees in the tree, never the user.
 *   <li>They are kept in the stage's record, which is sealed with the image: a restore needs the same ones.
 *   <li>What every stage needs ({@code --file-locks} and such) is not here but in {@link Criu}.
 * </ol>
 *
 * Source: criu(8), version 4.2.1.
 *
 * @param tcpEstablished carry connections over, both ends of which are in the tree ({@code --tcp-established})
 * @param tcpClose cut connections to the outside ({@code --tcp-close})
 * @param linkRemap give deleted files that still have another name a name again ({@code --link-remap})
 * @param ghostLimitBytes largest deleted file that is put into the image ({@code --ghost-limit}), at least 0
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record CriuOptions(boolean tcpEstablished, boolean tcpClose, boolean linkRemap, long ghostLimitBytes) {

    /** For a tree without anything special. */
    public static final CriuOptions PLAIN = new CriuOptions(false, false, false, 1L << 30);

    List<String> forDump() {
        List<String> options = new ArrayList<>(List.of("--ghost-limit", Long.toString(ghostLimitBytes)));
        if (linkRemap) {
            options.add("--link-remap");
        }
        options.addAll(connections());
        return options;
    }

    List<String> forRestore() {
        return connections();
    }

    private List<String> connections() {
        List<String> options = new ArrayList<>();
        if (tcpEstablished) {
            // Nobody outside can send to such a connection, and a rule in the host's firewall would outlive a killed criu.
            options.addAll(List.of("--tcp-established", "--network-lock", "skip"));
        }
        if (tcpClose) {
            options.add("--tcp-close");
        }
        return options;
    }
}
