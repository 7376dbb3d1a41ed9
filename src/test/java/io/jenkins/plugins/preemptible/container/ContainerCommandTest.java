package io.jenkins.plugins.preemptible.container;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Command lines as the Docker Pipeline plugin writes them, and others. */
class ContainerCommandTest {

    private static final String ID = "0123456789ab".repeat(5) + "0123";

    private static ContainerCommand of(String... words) {
        return ContainerCommand.of(List.of(words));
    }

    @Test
    void theContainerOfAStep() {
        ContainerRef expected = new ContainerRef("docker", ID);
        assertEquals(expected, of("docker", "exec", ID, "env", "A=b", "sh").execIn());
        assertEquals(
                expected,
                of("/opt/tools/bin/docker", "exec", "--workdir", "/w", "--env", "A=exec", "--env", "B", ID, "env")
                        .execIn());
        assertEquals(
                new ContainerRef("podman", ID), of("podman", "exec", ID, "sh").execIn());
    }

    /** An option that is not known could hide which word is the id. */
    @Test
    void whatIsNotToldFromTheLine() {
        assertNull(of("docker", "exec", "-u", ID, "other", "sh").execIn());
        assertNull(of("docker", "exec", "name", "sh").execIn());
        assertNull(of("docker", "exec", "--env").execIn());
        assertNull(of("docker", "exec", "--env", ID).execIn());
        assertNull(of("docker", "run", ID).execIn());
        assertNull(of("docker").execIn());
        assertNull(of("docker", "exec", "../" + ID).execIn());
    }

    @Test
    void otherPrograms() {
        assertNull(ContainerCommand.of(List.of()));
        assertNull(of("sh", "-c", "docker exec " + ID));
        assertNull(of("kubectl", "exec", ID));
    }

    @Test
    void theBeginningOfAKill() {
        assertTrue(
                of("docker", "exec", ID, "ps", "-A", "-o", "pid,command", "e").listsProcesses());
        assertFalse(of("docker", "exec", ID, "kill", "12").listsProcesses());
        assertFalse(of("docker", "ps").listsProcesses());
    }

    @Test
    void theEndOfAContainer() {
        ContainerRef container = new ContainerRef("docker", ID);
        assertTrue(of("docker", "stop", "--time=1", ID).ends(container));
        assertTrue(of("docker", "rm", "-f", "--volumes", ID).ends(container));
        assertFalse(of("docker", "rm", "-f", ID.replace('0', '1')).ends(container));
        assertFalse(of("podman", "rm", "-f", ID).ends(container));
        assertFalse(of("docker", "top", ID).ends(container));
    }

    @Test
    void whatItGivesToTheProgram() {
        ContainerCommand command = ContainerCommand.of(List.of(
                "/usr/bin/docker",
                "exec",
                "--workdir",
                "/a b",
                "--env",
                "A=b c",
                "--env",
                "B=--env",
                ID,
                "sh",
                "--env",
                "x"));
        assertEquals("/a b", command.folder());
        assertEquals(List.of("A=b c", "B=--env"), command.variables());
        assertEquals("sh", command.words().get(command.optionsLength()));
        assertTrue(command.startsIn(new ContainerRef("docker", ID)));
        assertFalse(command.startsIn(new ContainerRef("podman", ID)));
        assertFalse(command.startsIn(new ContainerRef("docker", "f".repeat(64))));
        assertEquals(
                "", ContainerCommand.of(List.of("docker", "exec", ID, "ls")).folder());
    }
}
