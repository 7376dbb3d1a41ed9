package io.jenkins.plugins.preemptible.engine.host.check;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport.Item;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Tries on this host what suspending a stage needs.
 *
 * <ol>
 *   <li>Programs are run, a control group is made and removed, namespaces are entered: nothing is inferred.
 *   <li>Each thing is independent, so that all that is missing shows at once.
 *   <li>It leaves nothing behind and takes well under a second.
 * </ol>
 */
public final class HostCheck {

    private static final String SET_UP = ".ci/setup";
    private static final String AS_ROOT = "as an administrator: preempt install-helper --user "
            + System.getProperty("user.name") + "; or run it, or the agent's process, as root";

    private final CriuSearch criu;

    private final boolean checkpoints;

    /**
     * @param checkpoints whether images are to be made, so that CRIU is needed
     */
    public HostCheck(CriuSearch criu, boolean checkpoints) {
        this.criu = criu;
        this.checkpoints = checkpoints;
    }

    /** All items, in the order in which they should be mended. */
    public HostReport report() {
        List<Item> items = new ArrayList<>();
        items.add(linux());
        if (items.get(0).ok()) {
            items.add(rights());
            if (checkpoints) {
                items.add(kernel());
            }
            items.add(utilLinux());
            items.add(namespaces());
            items.add(freezer());
            items.add(
                    checkpoints ? criu() : item("checkpoints", true, "none: suspended stages stay in memory only", ""));
        }
        return new HostReport(items);
    }

    private static Item item(String name, boolean ok, String detail, String remedy) {
        return new Item(name, ok, detail, ok ? "" : remedy);
    }

    private static Item linux() {
        String os = System.getProperty("os.name");
        return item(
                "linux",
                os.equals("Linux") && Files.isDirectory(Path.of("/proc/self")),
                os,
                "use a Linux host: CRIU is there only");
    }

    private static Item rights() {
        boolean root = isRoot();
        // CRIU's unprivileged mode is no third way: it makes no namespaces, and dumps from no user namespace.
        String user = "user " + System.getProperty("user.name")
                + ", and no privileged part is installed; CRIU's unprivileged mode cannot dump a stage's namespaces";
        return item("rights", root, root ? "root" : user, AS_ROOT);
    }

    private static boolean isRoot() {
        return HostProcess.isRoot();
    }

    private static Item kernel() {
        boolean dumps = Files.exists(Path.of("/proc/sys/kernel/ns_last_pid"));
        return item(
                "kernel",
                dumps,
                Proc.kernelRelease() + (dumps ? "" : " without CONFIG_CHECKPOINT_RESTORE"),
                "install a distribution kernel, such as apt-get install linux-image-amd64");
    }

    private static Item utilLinux() {
        List<String> missing = List.of("setsid", "unshare", "nsenter", "mount", "umount").stream()
                .filter(t -> HostTool.find(t).isEmpty())
                .toList();
        return item(
                "util-linux",
                missing.isEmpty(),
                missing.isEmpty() ? "all found" : "missing: " + missing,
                "apt-get install util-linux mount");
    }

    private static Item namespaces() {
        var unshare = HostTool.find("unshare");
        if (unshare.isEmpty()) {
            return item("namespaces", false, "unshare is missing", "apt-get install util-linux");
        }
        HostTool.Answer answer = HostTool.run(
                10,
                List.of(
                        unshare.get().toString(),
                        "--ipc",
                        "--pid",
                        "--mount",
                        "--fork",
                        "--propagation",
                        "private",
                        "--",
                        "/bin/sh",
                        "-c",
                        "PATH=\"$PATH:/usr/sbin:/sbin\" mount -t proc proc /proc"));
        return item(
                "namespaces",
                answer.ok(),
                answer.ok() ? "IPC, PID, mount" : answer.firstLine(),
                isRoot()
                        ? "give this container CAP_SYS_ADMIN, as by docker run --privileged, or by privileged: true in the"
                                + " securityContext of a pod's container"
                        : AS_ROOT);
    }

    private Item freezer() {
        StageId probe = StageId.create("check");
        try {
            Freezer freezer = FreezerKind.create(probe, null);
            freezer.remove();
            return item("freezer", true, words(freezer.kind()), "");
        } catch (IOException e) {
            return item("freezer", false, String.valueOf(e.getMessage()), "mount -t cgroup2 none /sys/fs/cgroup");
        }
    }

    private static String words(FreezerKind kind) {
        return switch (kind) {
            case CGROUP_V2, HELPER -> "cgroup v2";
            case CGROUP_V1 -> "cgroup v1";
            case SIGNALS -> "stop signals only";
        };
    }

    private static String words(Criu criu) {
        return criu.version() + " at " + criu.program()
                + (criu.carriesConnections()
                        ? ""
                        : "; too old for stages with TCP connections between their own processes, which take 3.19");
    }

    private Item criu() {
        var usable = criu.usable();
        if (usable.isPresent()) {
            return item("criu", true, words(usable.get()), "");
        }
        List<Path> installed = criu.installed();
        if (installed.isEmpty()) {
            return item("criu", false, "not found", isRoot() ? SET_UP : "sudo " + SET_UP);
        }
        if (!isRoot()) {
            return item("criu", false, installed.get(0) + ", which only root can try and use", AS_ROOT);
        }
        // One that is too old for this host fails anyway: what another one says of a mount is what somebody can mend.
        return installed.stream()
                .map(Criu::new)
                .map(HostCheck::misreadMounts)
                .flatMap(Optional::stream)
                .findFirst()
                .orElseGet(() -> failed(new Criu(installed.get(0))));
    }

    private static Optional<Item> misreadMounts(Criu criu) {
        List<String> misread = Criu.misreadMounts(criu.check());
        return misread.isEmpty()
                ? Optional.empty()
                : Optional.of(item(
                        "criu",
                        false,
                        criu.version() + " at " + criu.program()
                                + ": it cannot read this host's mounts, because of a control character in the path or the source folder of "
                                + String.join(", ", misread),
                        "unmount it; findmnt --raw shows its exact path"));
    }

    private static Item failed(Criu criu) {
        String words = criu.check()
                .text()
                .lines()
                .filter(l -> l.contains("Error"))
                .findFirst()
                .orElse("criu check fails");
        return item("criu", false, criu.version() + " at " + criu.program() + ": " + words.trim(), SET_UP);
    }
}
