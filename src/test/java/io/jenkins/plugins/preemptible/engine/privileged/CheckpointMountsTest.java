package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The host's mounts, and a stage with checkpoints. */
@Tag("host")
class CheckpointMountsTest {

    private static PrivilegedHost host;

    @BeforeAll
    static void install() throws Exception {
        Optional<Criu> criu = new CriuSearch().usable();
        assumeTrue(criu.isPresent(), "no CRIU works on this host");
        host = PrivilegedHost.open(criu.get().program());
    }

    @AfterAll
    static void remove() throws Exception {
        if (host != null) {
            host.close();
        }
    }

    private static String mountsOfAStage(String before) throws Exception {
        Result started = host.within(
                "exec unshare -m --propagation private sh -c '" + before + "; exec \"$@\"' sh \"$@\"",
                host.one,
                "printf '3\\0/bin/sh\\0-c\\0exec sleep 1000 <&- >&- 2>&-\\0' | sudo -n \"$1\" start mounted",
                host.place.program().toString());
        assertTrue(started.out().startsWith("ok\nstate running"), started.all());
        String init = started.out()
                .lines()
                .filter(l -> l.startsWith("init "))
                .findFirst()
                .orElseThrow()
                .substring(5);
        String mounts = Files.readString(Path.of("/proc", init, "mountinfo"));
        assertEquals(0, host.sudo(host.one, new byte[0], "kill", "mounted").code());
        assertEquals(0, host.sudo(host.one, new byte[0], "forget", "mounted").code());
        return mounts;
    }

    @Test
    @Tag("tools")
    void aFuseOfAUsersIsNotInTheStage() throws Exception {
        assumeTrue(Files.isWritable(Path.of("/dev/fuse")), "the kernel has no FUSE");
        Path folder = Files.createDirectory(host.base.resolve("fused"));
        for (String others : new String[] {"", ",allow_other"}) {
            String mounts = mountsOfAStage("exec 9<>/dev/fuse; mount -i -t fuse -o fd=9,rootmode=40000,user_id="
                    + host.one.uid() + ",group_id=1" + others + " none " + folder);
            assertFalse(mounts.contains(" - fuse"), mounts);
        }
    }

    /** CRIU's options cannot name it: with it in the stage, no stage of this host could be dumped. */
    @Test
    void aMountThatNoOptionOfCriusCanNameIsNotInTheStage() throws Exception {
        for (String name : new String[] {"a]b", "a:b"}) {
            Path folder = Files.createDirectory(host.base.resolve(name));
            String mounts = mountsOfAStage("mount -t tmpfs none " + folder);
            assertFalse(mounts.contains(folder.toString()), mounts);
        }
    }

    @Test
    @Tag("tools")
    void manyMountsDoNotKeepAStageFromStarting() throws Exception {
        Path folder = Files.createDirectory(host.base.resolve("many"));
        // Each of them doubles what there is.
        String mounts = mountsOfAStage("mount -t tmpfs none " + folder + "; for i in 1 2 3 4 5 6 7 8 9 10 11; do mkdir "
                + folder + "/$i; mount -n --rbind " + folder + " " + folder + "/$i; done");
        assertTrue(mounts.lines().count() > 1100, mounts.lines().count() + " mounts");
    }

    private static final String LOOP = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.05; done";

    private static Result live(String before, String propagation, String folder, int cycles, String text) {
        return host.within(
                "exec unshare -m --propagation " + propagation + " sh -c '" + before + "\nexec \"$@\"' sh \"$@\"",
                host.one,
                "exec "
                        + String.join(
                                " ",
                                host.javaCommand(
                                        LifeWithCheckpoints.class,
                                        host.one.home().resolve(folder).toString(),
                                        Integer.toString(cycles)))
                        + " /bin/sh -c '" + text + "'");
    }

    /** Cycles of a stage, from the local image and from the archive in turn, among mounts that root's commands make. */
    private static void liveAmong(String before, String propagation, String folder, int cycles) {
        Result seen = live(before, propagation, folder, cycles, LOOP);
        assertEquals(0, seen.code(), seen.all());
        assertEquals(
                cycles,
                seen.out().lines().filter(l -> l.startsWith("cycle=SUSPENDED")).count(),
                seen.all());
    }

    /** CRIU could not reach the mount point to mount it again. */
    @Test
    void mountsThatTheUserCannotReachDoNotHinder() {
        String closed = host.base.resolve("closed").toString();
        liveAmong(
                "mkdir -p " + closed + "/in/m " + closed + "/n; chmod 700 " + closed + "; mount -t tmpfs none " + closed
                        + "/in/m; mkdir " + closed + "/in/m/below; mount -t tmpfs none " + closed
                        + "/in/m/below; mount -t tmpfs -o ro none " + closed + "/n; mount -t tmpfs none " + closed
                        + "/n",
                "private",
                "closed",
                2);
    }

    /** As those of debugfs and tracefs; and what else mount(8) can do to one. */
    @Test
    @Tag("tools")
    void mountsThatTheUserCannotReadDoNotHinder() {
        String at = host.base.resolve("odd").toString();
        liveAmong(
                "mkdir -p " + at + "/closed " + at + "/ro " + at + "/twice " + at + "/flags; touch " + at + "/file "
                        + at
                        + "/secret; echo s > " + at + "/s; chmod 600 " + at + "/s; mount -t tmpfs -o mode=700 none "
                        + at
                        + "/closed; mkdir " + at + "/closed/m; mount -t tmpfs none " + at
                        + "/closed/m; mount -t tmpfs -o ro none " + at
                        + "/ro; mount -t tmpfs -o nosuid,nodev,noexec,noatime none "
                        + at + "/flags; mount -t tmpfs none " + at + "/twice; mount -t tmpfs none " + at
                        + "/twice; mount --bind /etc/passwd " + at + "/file; mount --bind " + at + "/s " + at
                        + "/secret",
                "private",
                "odd",
                2);
    }

    /** The host's mounts reach others by propagation, as on hosts with systemd; the shell that makes them becomes the user. */
    @Test
    @Tag("tools")
    void mountsThatComeAndGoDoNotHinder() throws Exception {
        Path late = Files.createDirectory(host.base.resolve("late"));
        liveAmong(
                "(cd " + late
                        + "; n=0; while kill -0 $$; do n=$((n+1)); mkdir -p o/m c/m; chmod 755 c; mount -t tmpfs none o/m;"
                        + " mount -t tmpfs none c/m; chmod 700 c; sleep 0.2; umount o/m c/m; rm -r o c; sleep 0.1; done)"
                        + " >/dev/null 2>&1 &",
                "shared",
                "late",
                6);
    }

    /** Else the image would be one that nobody can resume. */
    @Test
    void aMountThatTheUserReachesNoMoreIsFoundBeforeTheStageIsStopped() throws Exception {
        Path shut = Files.createDirectories(host.base.resolve("shut/m")).getParent();
        Files.setPosixFilePermissions(shut, PosixFilePermissions.fromString("rwxr-xr-x"));
        Result seen = live(
                "mount -t tmpfs none " + shut + "/m; (while kill -0 $$ && [ ! -e " + host.one.home()
                        + "/shut/work/begun ]; do sleep 0.1; done; chmod 700 " + shut + ") >/dev/null 2>&1 &",
                "private",
                "shut",
                1,
                "echo > begun; while [ -x " + shut + " ]; do sleep 0.1; done; " + LOOP);
        assertTrue(
                seen.out()
                        .contains(
                                "preflight=[Obstacle[reason=MOUNT_UNREACHABLE, pid=0, command=, what=" + shut + "/m]]"),
                seen.all());
        assertTrue(seen.err().contains("SuspendFailedException"), seen.all());
    }
}
