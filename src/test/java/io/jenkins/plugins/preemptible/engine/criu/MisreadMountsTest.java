package io.jenkins.plugins.preemptible.engine.criu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class MisreadMountsTest {

    @Test
    void areThoseWithARawControlCharacterInTheirPathOrInWhatTheyShow() {
        assertEquals(
                List.of("/mnt/a b\\c", "/mnt/plain"),
                MisreadMounts.in(List.of(
                        "63 43 0:39 / / rw,relatime - ext4 /dev/vda rw",
                        "64 43 0:40 / /mnt/a\rb\\134c rw,relatime - tmpfs none rw",
                        "65 43 0:41 /from\u000bhere /mnt/plain rw,relatime - ext4 /dev/vda rw",
                        "66 43 0:42 / /mnt/new\\012line\\011tab\\040blank rw,relatime - tmpfs none rw",
                        "67 43 0:43 / /mnt/source rw,relatime - tmpfs a\rb rw")));
    }
}
