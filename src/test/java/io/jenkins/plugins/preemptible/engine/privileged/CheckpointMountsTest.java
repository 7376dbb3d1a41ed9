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
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Mounts that users may make, and a stage with checkpoints. */
@Tag("tools")
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
        String init = started.out().lines().filter(l -> l.startsWith("init ")).findFirst().orElseThrow().substring(5);
        String mounts = Files.readString(Path.of("/proc", init, "mountinfo"));
        assertEquals(0, host.sudo(host.one, new byte[0], "kill", "mounted").code());
        assertEquals(0, host.sudo(host.one, new byte[0], "forget", "mounted").code());
        return mounts;
    }

    @Test
    void aFuseOfAUsersIsNotInTheStage() throws Exception {
        assumeTrue(Files.isWritable(Path.of("/dev/fuse")), "the kernel has no FUSE");
        Path folder = Files.createDirectory(host.base.resolve("fused"));
        for (String others : new String[] {"", ",allow_other"}) {
            String mounts = mountsOfAStage("exec 9<>/dev/fuse; mount -i -t fuse -o fd=9,rootmode=40000,user_id=" + host.one.uid()
                    + ",group_id=1" + others + " none " + folder);
            assertFalse(mounts.contains(" - fuse"), mounts);
        }
    }

    @Test
    void manyMountsDoNotKeepAStageFromStarting() throws Exception {
        Path folder = Files.createDirectory(host.base.resolve("many"));
        // Each of them doubles what there is.
        String mounts = mountsOfAStage("mount -t tmpfs none " + folder + "; for i in 1 2 3 4 5 6 7 8 9 10 11; do mkdir " + folder
                + "/$i; mount -n --rbind " + folder + " " + folder + "/$i; done");
        assertTrue(mounts.lines().count() > 1100, mounts.lines().count() + " mounts");
    }
}
