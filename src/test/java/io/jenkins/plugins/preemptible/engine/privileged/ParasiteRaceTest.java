package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import java.io.File;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * CRIU's parasite runs from a memfd in the process that is dumped, and CRIU believes what it says of that process's rights. A
 * user who reaches that file chooses the rights that come back.
 */
@Tag("host")
@Tag("soak")
class ParasiteRaceTest {

    private static final int SECONDS = Integer.getInteger("preemptible.race.seconds", 600);

    @Test
    @Timeout(value = 30, unit = TimeUnit.MINUTES)
    void nobodyReachesTheParasite() throws Exception {
        Optional<Criu> criu = new CriuSearch().usable();
        assumeTrue(criu.isPresent(), "no CRIU works on this host");
        try (PrivilegedHost host = PrivilegedHost.open(criu.get().program())) {
            for (String name : List.of("rights", "race")) {
                Path source = host.base.resolve(name + ".c");
                try (InputStream in = ParasiteRaceTest.class.getResourceAsStream(name + ".c")) {
                    Files.copy(in, source);
                }
                PrivilegedHost.root(
                        "cc", "-w", "-O1", "-o", host.base.resolve(name).toString(), source.toString(), "-pthread");
            }
            List<String> command = List.of(
                    HostTool.find("setpriv").orElseThrow().toString(),
                    "--reuid",
                    host.one.name(),
                    "--regid",
                    host.one.name(),
                    "--init-groups",
                    "--",
                    "/usr/bin/env",
                    "-i",
                    "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                    "HOME=" + host.one.home(),
                    "PREEMPTIBLE_PRIVILEGED=" + host.place.program(),
                    System.getProperty("java.home") + "/bin/java",
                    "-XX:TieredStopAtLevel=1",
                    "-cp",
                    host.source.stream().map(Object::toString).collect(Collectors.joining(File.pathSeparator)),
                    LifeOfARace.class.getName(),
                    host.base.resolve("rights").toString(),
                    host.base.resolve("race").toString(),
                    Integer.toString(SECONDS));
            // Longer than PrivilegedHost.call waits.
            Process process = new ProcessBuilder(command)
                    .directory(host.one.home().toFile())
                    .redirectErrorStream(true)
                    .start();
            String said = new String(process.getInputStream().readAllBytes());
            Result seen = new Result(process.waitFor(), said, "");
            System.err.println(seen.out());
            assertEquals(0, seen.code(), seen.all());
            assertTrue(
                    seen.out().matches("(?s).*control opened=[1-9].*"), "the attacker reaches nobody: " + seen.out());
            String figures = seen.out()
                    .lines()
                    .filter(l -> l.startsWith("race "))
                    .findFirst()
                    .orElse("");
            assertTrue(figures.matches(".* restored=[1-9]\\d* .* more=0 noted=0 tries=[1-9]\\d+ .*"), figures);
            assertTrue(figures.endsWith(" wins=0"), figures);
        }
    }
}
