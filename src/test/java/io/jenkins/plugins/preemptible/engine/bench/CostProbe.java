package io.jenkins.plugins.preemptible.engine.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.SuspendReport;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * One suspension in a JVM of its own, which looks at what it used.
 *
 * <p>The kernel adds what waited-for children used: {@code cutime} of proc(5)'s stat, and its io file.
 */
final class CostProbe {

    private CostProbe() {}

    public static void main(String[] args) throws IOException {
        Engine engine = Engine.open(Path.of(args[0]));
        ImageKey key = ImageKey.parse(Files.readString(Path.of(args[3])));
        long before = peakKilobytes();
        long cpu = cpuMillis();
        long written = writtenBytes();
        SuspendReport report = engine.suspend(StageId.parse(args[1]), Path.of(args[2]), key);
        Map<String, Long> cost = Map.of(
                "image_bytes",
                report.checkpoint().imageBytes(),
                "before_kb",
                before,
                "peak_kb",
                peakKilobytes(),
                "cpu_ms",
                cpuMillis() - cpu,
                "written_bytes",
                writtenBytes() - written);
        new ObjectMapper().writeValue(Path.of(args[4]).toFile(), cost);
    }

    private static long peakKilobytes() throws IOException {
        return number(Path.of("/proc/self/status"), "VmHWM:");
    }

    private static long writtenBytes() throws IOException {
        return number(Path.of("/proc/self/io"), "write_bytes:");
    }

    private static long number(Path file, String name) throws IOException {
        List<String> lines = Files.readAllLines(file);
        String line = lines.stream().filter(l -> l.startsWith(name)).findFirst().orElseThrow();
        return Long.parseLong(line.substring(name.length()).replace("kB", "").trim());
    }

    // Fields 14 to 17, counted after the name, in ticks of 10 ms.
    private static long cpuMillis() throws IOException {
        String stat = Files.readString(Path.of("/proc/self/stat"));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        long ticks = 0;
        for (int i = 11; i <= 14; i++) {
            ticks += Long.parseLong(fields[i]);
        }
        return ticks * 10;
    }
}
