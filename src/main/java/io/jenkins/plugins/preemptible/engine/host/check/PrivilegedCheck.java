package io.jenkins.plugins.preemptible.engine.host.check;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedPart;
import io.jenkins.plugins.preemptible.engine.privileged.Verb;
import io.jenkins.plugins.preemptible.engine.privileged.install.InstalledLevel;
import io.jenkins.plugins.preemptible.engine.privileged.install.PrivilegedInstall;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Tries, through the privileged part, what suspending needs on this host; for a user without root's rights. */
public final class PrivilegedCheck {

    private PrivilegedCheck() {}

    /**
     * Tries what suspending needs, through the privileged part.
     *
     * @param checkpoints whether it makes images
     * @throws EngineException as of {@link InstalledLevel#of}
     */
    public static HostReport report(PrivilegedPart part, boolean checkpoints) {
        List<HostReport.Item> items = new ArrayList<>();
        String user = "user " + System.getProperty("user.name");
        InstalledLevel level = InstalledLevel.of(part);
        items.add(new HostReport.Item("rights", true, user + ", through " + part.program(), ""));
        try {
            String group = part.call(Verb.CHECK, null).text("group");
            items.add(new HostReport.Item("namespaces", true, "IPC, PID, mount", ""));
            items.add(new HostReport.Item("freezer", true, "cgroup v2, in " + group + outside(group), ""));
            items.add(new HostReport.Item("suspends", true, suspends(level, checkpoints), ""));
            items.add(new HostReport.Item(
                    "sudo",
                    true,
                    "does not work inside of a stage: no process in it gets more rights than the user",
                    ""));
        } catch (EngineException e) {
            String name = e.reason() == FailureReason.NO_FREEZER ? "freezer" : "namespaces";
            items.add(new HostReport.Item(name, false, e.detail(), e.reason().remedy()));
        }
        return new HostReport(items);
    }

    private static String suspends(InstalledLevel level, boolean checkpoints) {
        if (checkpoints) {
            return "by checkpoints, which CRIU makes in a user namespace of root's (level checkpoints)";
        }
        return "in memory only: a restart of this host loses suspended stages ("
                + (level.criu().isPresent()
                        ? "level checkpoints, and PREEMPTIBLE_CHECKPOINTS=off)"
                        : "level memory; install-helper with --checkpoints would make checkpoints)");
    }

    private static String remedy() {
        return "as an administrator: preempt install-helper --user " + System.getProperty("user.name");
    }

    /** Adds to the report of a user without a privileged part what is left of an installation. */
    public static HostReport withRemains(HostReport report) {
        return InstalledLevel.remains(PrivilegedInstall.usual())
                .map(words -> report.with(new HostReport.Item("rights", false, words, remedy())))
                .orElse(report);
    }

    // Where the agent's own group is delegated to its user, a stage's group lies above it.
    private static String outside(String group) {
        Optional<String> own = Proc.self("cgroup").stream()
                .filter(l -> l.startsWith("0::"))
                .map(l -> l.substring("0::".length()))
                .findFirst();
        return own.filter(o -> !o.equals("/") && !group.endsWith(o)).isEmpty()
                ? ""
                : ": outside of the agent's own group " + own.get()
                        + ", which belongs to the user, so limits that are set there do not hold for stages";
    }
}
