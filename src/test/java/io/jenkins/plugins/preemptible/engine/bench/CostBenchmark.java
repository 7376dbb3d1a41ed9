package io.jenkins.plugins.preemptible.engine.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What a suspension costs the agent: memory of its JVM, processor time, bytes written. */
final class CostBenchmark implements Benchmark {

    private static final long MEGABYTES = 1400;

    @Override
    public String name() {
        return "cost";
    }

    @Override
    public boolean hasGoals() {
        return false;
    }

    @Override
    public Result run(BenchRig rig) throws Exception {
        List<Double> peak = new ArrayList<>();
        List<Double> idle = new ArrayList<>();
        List<Double> cpu = new ArrayList<>();
        List<Double> written = new ArrayList<>();
        for (int i = 0; i < rig.runsFor(MEGABYTES); i++) {
            StageId id = rig.holding(1, MEGABYTES);
            try {
                JsonNode cost = suspendElsewhere(rig, id);
                double imageGigabytes = cost.get("image_bytes").asDouble() / 1e9;
                peak.add(cost.get("peak_kb").asDouble() / 1e3);
                idle.add(cost.get("before_kb").asDouble() / 1e3);
                cpu.add(cost.get("cpu_ms").asDouble() / 1e3 / imageGigabytes);
                written.add(cost.get("written_bytes").asDouble()
                        / cost.get("image_bytes").asDouble());
            } finally {
                rig.end(id);
            }
        }
        return new Result(
                name(),
                "What does suspending " + MEGABYTES + " MB cost in a JVM of its own (criu and packing included)?",
                List.of(
                        new Row(
                                "peak memory of the JVM, against before",
                                new Samples("MB", peak),
                                new Samples("MB", idle),
                                null),
                        new Row("processor time", new Samples("s/GB", cpu), null, null),
                        new Row("disk bytes written per image byte", new Samples("bytes", written), null, null)),
                List.of(),
                List.of("The JVM has its default heap limit; written are criu's image, the archive and small files."));
    }

    private static JsonNode suspendElsewhere(BenchRig rig, StageId id) throws Exception {
        Path key = rig.folder.resolve("key");
        Files.writeString(key, rig.key.export());
        Path answer = rig.folder.resolve("cost.json");
        Process probe = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        CostProbe.class.getName(),
                        rig.folder.resolve("home").toString(),
                        id.value(),
                        rig.archive("cost").toString(),
                        key.toString(),
                        answer.toString())
                .inheritIO()
                .start();
        if (probe.waitFor() != 0) {
            throw new IOException("the measured JVM failed");
        }
        return new ObjectMapper().readTree(Files.readAllBytes(answer));
    }
}
