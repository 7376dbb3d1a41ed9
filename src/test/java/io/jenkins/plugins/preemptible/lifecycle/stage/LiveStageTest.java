package io.jenkins.plugins.preemptible.lifecycle.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import hudson.FilePath;
import hudson.slaves.WorkspaceList;
import java.io.File;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class LiveStageTest {

    private final LiveStage live = StagesInMemory.live("leased-0123abcd", StageClock.SYSTEM);
    private int released;

    private final WorkspaceList.Lease lease = new WorkspaceList.Lease(new FilePath(new File("/w"))) {
        @Override
        public void release() {
            released++;
        }
    };

    @AfterEach
    void forget() {
        live.forget();
    }

    /** A restore that comes to its end after its build has: nobody else would release it. */
    @Test
    void aLeaseThatComesAfterTheEndIsReleasedAtOnce() {
        live.markEnding();
        live.releaseLease();
        live.lease(lease, null);
        assertEquals(1, released);
        assertNull(live.lease());
    }

    @Test
    void aLeaseIsReleasedOnce() {
        live.lease(lease, null);
        live.markEnding();
        live.releaseLease();
        live.releaseLease();
        assertEquals(1, released);
        assertNull(live.lease());
    }
}
