package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.stage.StageUser;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Who called sudo.
 *
 * <ol>
 *   <li>sudo sets SUDO_UID itself, whatever the caller had there; the installed program lets nothing else of the
 *       environment through.
 *   <li>The groups are those of the user database, as at a log-in: what the caller says of them does not count.
 *   <li>Root and users that the database does not know are refused.
 * </ol>
 *
 * Source: sudo(8), "Environment".
 */
final class SudoCaller {

    private static final Pattern ID = Pattern.compile("[1-9][0-9]{0,9}");

    private SudoCaller() {}

    /**
     * @throws IllegalArgumentException when this was not started through sudo by a user other than root; for people
     */
    static StageUser of(Map<String, String> environment, Path view) {
        String uid = environment.getOrDefault("SUDO_UID", "");
        if (!ID.matcher(uid).matches()) {
            throw new IllegalArgumentException("this is to be called through sudo by a user other than root");
        }
        // The plus keeps a user's name that is a number from being taken for the id.
        List<Long> group = ids("-g", uid);
        List<Long> groups = ids("-G", uid);
        if (group.size() != 1) {
            throw new IllegalArgumentException("the user database has no user of the id " + uid);
        }
        return new StageUser(Long.parseLong(uid), group.get(0), groups, view);
    }

    private static List<Long> ids(String option, String uid) {
        String id = HostTool.find("id").map(Path::toString).orElse("id");
        HostTool.Answer answer = HostTool.run(20, List.of(id, option, "+" + uid));
        if (!answer.ok()) {
            return List.of();
        }
        return Stream.of(answer.firstLine().split(" "))
                .filter(w -> w.matches("[0-9]{1,10}"))
                .map(Long::valueOf)
                .toList();
    }
}
