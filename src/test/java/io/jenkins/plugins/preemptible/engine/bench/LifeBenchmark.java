package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A tool that is checkpointed every ten seconds of its life: figures 12 to 16 of the thesis that the project comes from. */
final class LifeBenchmark implements Benchmark {

    private static final long EVERY_MILLIS = 10_000;

    @Override
    public String name() {
        return "life";
    }

    @Override
    public boolean hasGoals() {
        return false;
    }

    @Override
    public Result run(BenchRig rig) throws Exception {
        List<Row> rows = new ArrayList<>();
        List<Plot> plots = new ArrayList<>();
        List<String> notes = new ArrayList<>();
        notes.add("The thesis (2018, CRIU 3.x): AFL 100-160 ms and 25-100 MB, Valgrind 750-1440 ms and 1150-1420 MB; "
                + "time linear in the image's size.");
        List<Curve> correlation = new ArrayList<>();
        for (Tool tool : tools(rig, notes)) {
            Life life = live(rig, tool);
            List<Double> dump = life.points.stream().map(p -> p.dumpMillis).toList();
            List<Double> size = life.points.stream().map(p -> p.megabytes).toList();
            List<Double> at = life.points.stream().map(p -> p.seconds).toList();
            rows.add(new Row(
                    tool.name + ", frozen",
                    new Samples(
                            "ms", life.points.stream().map(p -> p.frozenMillis).toList()),
                    null,
                    null));
            rows.add(new Row(tool.name + ", dump", new Samples("ms", dump), null, null));
            rows.add(new Row(
                    tool.name + ", resume",
                    new Samples(
                            "ms", life.points.stream().map(p -> p.resumeMillis).toList()),
                    null,
                    null));
            rows.add(new Row(tool.name + ", image", new Samples("MB", size), null, null));
            rows.add(new Row(
                    tool.name + ", archive",
                    new Samples(
                            "MB",
                            life.points.stream().map(p -> p.sealedMegabytes).toList()),
                    null,
                    null));
            plots.add(new Plot(
                    "life-" + tool.name + "-size",
                    tool.name + ": image size over its life",
                    "s",
                    "MB",
                    false,
                    true,
                    List.of(new Curve("image", at, size))));
            plots.add(new Plot(
                    "life-" + tool.name + "-time",
                    tool.name + ": dump time over its life",
                    "s",
                    "ms",
                    false,
                    true,
                    List.of(new Curve("dump", at, dump))));
            correlation.add(new Curve(tool.name, size, dump));
        }
        if (!correlation.isEmpty()) {
            plots.add(new Plot(
                    "life-correlation", "Dump time against image size", "MB", "ms", false, false, correlation));
        }
        return new Result(
                name(),
                "How do image size and dump time go over a tool's life, checkpointed every 10 s for "
                        + rig.life.toSeconds() + " s?",
                rows,
                plots,
                notes);
    }

    private record Tool(String name, List<String> command, Map<String, String> environment) {}

    private record Point(
            double seconds,
            double frozenMillis,
            double dumpMillis,
            double resumeMillis,
            double megabytes,
            double sealedMegabytes) {}

    private record Life(List<Point> points) {}

    private static List<Tool> tools(BenchRig rig, List<String> notes) throws Exception {
        List<Tool> tools = new ArrayList<>();
        String path = System.getenv("PATH");
        if (HostTool.find("afl-fuzz").isPresent() && HostTool.find("afl-cc").isPresent()) {
            Path in = Files.createDirectories(rig.work.resolve("in"));
            Files.writeString(in.resolve("seed"), "<b>hello</b>");
            Path target = compile(rig, "afl-cc", "fuzzed.c");
            tools.add(new Tool(
                    "AFL++",
                    List.of(
                            "afl-fuzz",
                            "-i",
                            in.toString(),
                            "-o",
                            rig.work.resolve("out").toString(),
                            "--",
                            target.toString(),
                            "@@"),
                    Map.of(
                            "PATH",
                            path,
                            "AFL_NO_UI",
                            "1",
                            "AFL_SKIP_CPUFREQ",
                            "1",
                            "AFL_NO_AFFINITY",
                            "1",
                            "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES",
                            "1")));
        } else {
            notes.add("AFL++ was not measured: afl-fuzz is not installed.");
        }
        if (HostTool.find("valgrind").isPresent()) {
            tools.add(new Tool(
                    "Valgrind",
                    List.of(
                            "valgrind",
                            "--tool=memcheck",
                            compile(rig, "gcc", "grow.c").toString()),
                    Map.of("PATH", path)));
        } else {
            notes.add("Valgrind was not measured: it is not installed.");
        }
        return tools;
    }

    private static Path compile(BenchRig rig, String compiler, String source) throws Exception {
        Path from = rig.folder.resolve(source);
        try (var in = LifeBenchmark.class.getResourceAsStream(source)) {
            Files.write(from, in.readAllBytes());
        }
        Path made = rig.folder.resolve(source.replace(".c", ""));
        RawCriu.run(List.of(compiler, "-O1", "-o", made.toString(), from.toString()));
        return made;
    }

    private static Life live(BenchRig rig, Tool tool) throws Exception {
        StageId id = rig.start(tool.command, tool.environment);
        List<Point> points = new ArrayList<>();
        long begun = System.nanoTime();
        try {
            Path archive = rig.archive("life");
            while (System.nanoTime() - begun < rig.life.toNanos()) {
                Thread.sleep(EVERY_MILLIS);
                double at = (System.nanoTime() - begun) / 1e9;
                Checkpoint done = rig.engine.suspend(id, archive, rig.key).checkpoint();
                double back = BenchRig.millis(() -> rig.engine.resume(archive, rig.key));
                points.add(new Point(
                        at,
                        done.frozenMillis(),
                        done.dumpMillis(),
                        back,
                        done.imageBytes() / 1e6,
                        done.archiveBytes() / 1e6));
            }
        } finally {
            rig.end(id);
        }
        if (points.isEmpty()) {
            throw new IOException(tool.name + " was never checkpointed; give it more time by --life");
        }
        return new Life(points);
    }
}
