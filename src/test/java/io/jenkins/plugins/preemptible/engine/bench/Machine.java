package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;

/** What was measured on; no names of hosts or users. */
public record Machine(
        String date, String processor, int processors, long memoryMegabytes, String kernel, String criu, String java) {

    public static Machine here() throws IOException {
        return new Machine(
                LocalDate.now().toString(),
                Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
                        .filter(l -> l.startsWith("model name"))
                        .map(l -> l.substring(l.indexOf(':') + 1).trim())
                        .findFirst()
                        .orElse(System.getProperty("os.arch")),
                Runtime.getRuntime().availableProcessors(),
                Files.readAllLines(Path.of("/proc/meminfo")).stream()
                        .filter(l -> l.startsWith("MemTotal:"))
                        .map(l -> Long.parseLong(l.replaceAll("\\D", "")) / 1024)
                        .findFirst()
                        .orElse(0L),
                Proc.kernelRelease(),
                new CriuSearch().usable().map(c -> c.version()).orElse("none"),
                System.getProperty("java.vm.version"));
    }

    public String sentence() {
        return processors + " × " + processor + ", " + memoryMegabytes + " MB, Linux " + kernel + ", CRIU " + criu
                + ", JVM " + java + ", " + date;
    }
}
