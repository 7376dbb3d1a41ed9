package io.jenkins.plugins.preemptible.engine.contained;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Instant;
import org.junit.jupiter.api.Test;

/** What is read out of the events that Docker's daemon remembers. */
class ContainerEventsTest {

    private static final Instant SINCE = Instant.ofEpochSecond(1_795_848_742L, 500);
    private static final String BEFORE = "1795848742000000499 exec_start\n";
    private static final String AFTER = "1795848742000000500 ";

    @Test
    void whatWasStartedSinceThen() throws IOException {
        assertFalse(ContainerEvents.startedSince("", SINCE));
        assertFalse(ContainerEvents.startedSince(BEFORE, SINCE));
        assertTrue(ContainerEvents.startedSince(BEFORE + AFTER + "exec_creat\n", SINCE));
        // It was started before, and not held still: nothing that is held could have ended.
        assertTrue(ContainerEvents.startedSince(BEFORE + AFTER + "exec_die\n", SINCE));
        assertFalse(ContainerEvents.startedSince(AFTER + "\n" + AFTER + "pause\n", SINCE));
    }

    /** Those of other containers have pushed out what there was. */
    @Test
    void aDaemonThatDoesNotRememberAllSinceThen() throws IOException {
        String many = (AFTER + "\n").repeat(256);
        assertFalse(ContainerEvents.startedSince(BEFORE + many, SINCE));
        assertThrows(IOException.class, () -> ContainerEvents.startedSince(many, SINCE));
        assertTrue(ContainerEvents.startedSince(many + AFTER + "exec_start\n", SINCE));
    }
}
