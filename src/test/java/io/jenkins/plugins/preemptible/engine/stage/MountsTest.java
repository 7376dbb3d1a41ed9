package io.jenkins.plugins.preemptible.engine.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class MountsTest {

    @Test
    void rootAndTheOwnProcAndTmpAreNoMountsOfTheHost() {
        assertEquals(
                List.of("/dev", "/mnt/two words"),
                Mounts.ofHost(List.of(
                        "114 110 254:0 / / rw - ext4 /dev/vda rw",
                        "144 114 0:6 / /dev rw - devtmpfs devtmpfs rw",
                        "145 114 0:6 / /dev rw - tmpfs tmpfs rw",
                        "150 114 0:7 / /mnt/two\\040words rw - tmpfs none rw",
                        "151 114 0:8 / /tmp rw - tmpfs preemptible rw,size=1024k",
                        "154 114 0:45 / /proc rw - proc proc rw")));
    }
}
