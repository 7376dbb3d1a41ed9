package io.jenkins.plugins.preemptible.engine.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.image.HostFingerprint;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostProbeTest {

    @TempDir
    Path folder;

    @Test
    void thisJvmsFilesHaveTheirBuildIds() {
        HostFingerprint here =
                HostProbe.fingerprint("4.2.1", List.of(ProcessHandle.current().pid()));
        assertFalse(here.cpuFeatures().isEmpty());
        assertEquals(Proc.kernelRelease(), here.kernel());
        Map<String, String> ids = here.buildIds();
        assumeTrue(!ids.isEmpty(), "this system's libraries were built without build ids");
        ids.forEach((file, id) -> assertTrue(id.matches("[0-9a-f]{8,}"), file + " " + id));
        assertEquals(ids, HostProbe.fingerprint("4.2.1", ids.keySet()).buildIds());
        assertEquals(List.of(), HostFingerprint.objections(here, HostProbe.fingerprint("4.2.1", ids.keySet())));
    }

    @Test
    void itIsTheIdThatTheLinkerWrote() {
        Optional<Path> readelf = HostTool.find("readelf");
        assumeTrue(readelf.isPresent(), "there is no readelf to compare with");
        Path program = Path.of("/bin/sh");
        String text = HostTool.run(10, List.of(readelf.get().toString(), "-n", program.toString()))
                .text();
        assumeTrue(text.contains("Build ID: "), "this system's shell has no build id");
        String expected = text.substring(text.indexOf("Build ID: ") + 10).split("\\s")[0];
        assertEquals(Optional.of(expected), HostProbe.buildId(program));
    }

    @Test
    void whatIsNoWholeElfFileHasNone() throws Exception {
        assertEquals(Optional.empty(), HostProbe.buildId(folder));
        assertEquals(Optional.empty(), HostProbe.buildId(folder.resolve("gone")));
        assertEquals(Optional.empty(), HostProbe.buildId(Files.writeString(folder.resolve("text"), "text".repeat(99))));
        byte[] shell = Files.readAllBytes(Path.of("/bin/sh"));
        for (int length : new int[] {0, 4, 63, 64, 100, 400, 700}) {
            Path cut = Files.write(folder.resolve("cut" + length), java.util.Arrays.copyOf(shell, length));
            assertTrue(HostProbe.buildId(cut).map(String::length).orElse(0) <= 128);
        }
        byte[] lies = java.util.Arrays.copyOf(shell, 4096);
        java.util.Arrays.fill(lies, 40, 4096, (byte) 0xff);
        assertEquals(Optional.empty(), HostProbe.buildId(Files.write(folder.resolve("lies"), lies)));
    }

    /** A library whose name is no UTF-8 does not hide the others, nor itself. */
    @Test
    void aNameThatIsNoTextHidesNothing() throws Exception {
        assumeTrue(HostTool.find("python3").isPresent() && HostProcess.isRoot(), "root and python3 are needed");
        Optional<String> id = HostProbe.buildId(Path.of("/bin/sh"));
        assumeTrue(id.isPresent(), "this system's shell has no build id");
        String python = """
                import mmap, os, shutil, sys, time
                name = os.fsencode(sys.argv[1]) + b'/bad\\xff\\xc3\\xa4'
                shutil.copyfile('/bin/sh', name)
                kept = mmap.mmap(os.open(name, os.O_RDONLY), 0, mmap.MAP_PRIVATE, mmap.PROT_READ)
                print('ready', flush=True)
                time.sleep(60)
                """;
        Process mapping = new ProcessBuilder("python3", "-c", python, folder.toString()).start();
        try {
            assertEquals("ready", mapping.inputReader().readLine());
            Map<String, String> ids =
                    HostProbe.fingerprint("", List.of(mapping.pid())).buildIds();
            assertEquals(id.get(), ids.get(folder.toRealPath() + "/bad\\377ä"), ids.toString());
            assertTrue(ids.keySet().stream().anyMatch(f -> f.contains("libc")), ids.toString());
            // No agent has a file of that name: the image is not taken for one that needs nothing.
            assertEquals(
                    ids.size() - 1,
                    HostProbe.fingerprint("", ids.keySet()).buildIds().size());
        } finally {
            mapping.destroyForcibly().waitFor();
        }
    }

    @Test
    void anEmptyIdIsNoObjectionOnItsOwnHost() {
        assertEquals(
                List.of(),
                HostFingerprint.objections(host(Map.of("/bin/unread", "")), host(Map.of("/bin/unread", "ab"))),
                "it says nothing of the same host");
    }

    @Test
    void theUsersOfProcessesHaveTheirNames() throws Exception {
        assumeTrue(
                HostTool.find("python3").isPresent() && HostTool.find("getent").isPresent() && HostProcess.isRoot(),
                "root, getent and python3 are needed");
        String nobody = HostTool.run(10, List.of("id", "-un", "65534")).firstLine();
        String python = "import os, time; os.setresuid(65534, 54321, 0); print('ready', flush=True); time.sleep(60)";
        Process other = new ProcessBuilder("python3", "-c", python).start();
        try {
            assertEquals("ready", other.inputReader().readLine());
            long own = ProcessHandle.current().pid();
            assertEquals(
                    Map.of("65534", nobody, "54321", ""),
                    HostProbe.fingerprint("", List.of(own, other.pid())).users());
            assertEquals(Map.of(), HostProbe.fingerprint("", List.of(own)).users());
            assertEquals(Map.of("65534", nobody), HostProbe.users(List.of("65534", "no id", "")));
        } finally {
            other.destroyForcibly().waitFor();
        }
    }

    private static HostFingerprint host(Map<String, String> ids) {
        return new HostFingerprint("", List.of(), "", "", "", "", ids);
    }
}
