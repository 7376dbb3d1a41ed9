package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.Checkpoint;
import io.jenkins.plugins.preemptible.engine.DumpGuard;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.EngineException;
import io.jenkins.plugins.preemptible.engine.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageSpec;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus.State;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** What a user without root's rights does with an engine, in a process of his own; one line for each thing seen. */
public final class LifeOfAUser {

    /** Always too little memory: the dump does not run at idle priority, which takes long on a busy machine. */
    private static final FreezeRequest SOON = new FreezeRequest(DumpGuard.NONE, Long.MAX_VALUE);

    private LifeOfAUser() {}

    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]);
        Path work = Files.createDirectories(home.resolve("work"));
        Engine engine = Engine.open(home.resolve("state"));
        say("check", engine.check().ok() + " " + engine.check().missing());
        ImageKey key = ImageKey.generate();
        StageId id = StageId.create("life");
        Path archive = home.resolve("life.image");
        String work5 = "exec 5>>kept; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); echo $i; "
                + "[ -e stop ] && exit 7; sleep 0.05; done";
        say("started", engine.start(new StageSpec(
                        id, "life", work, List.of("/bin/sh", "-c", "echo $GREETING; " + work5),
                        Map.of("PATH", "/usr/bin:/bin", "GREETING", "it's a \"$(day)\"\nindeed")))
                .state());
        Path output = engine.status(id).output();
        until(() -> lines(output) > 4);
        say("rights", rights(engine, id));
        List<String> entered = new ArrayList<>(engine.enterCommand(id).words());
        entered.addAll(List.of("/bin/sh", "-c",
                "id -u; id -G; pwd; echo \"$1 $MARK\"; grep -h CapEff /proc/self/status; ls -l /proc/$$/fd | wc -l;"
                        + " sleep 1000 </dev/null >/dev/null 2>&1 & exit 3", "sh", "a  b\nc"));
        ProcessBuilder builder = new ProcessBuilder(entered)
                .directory(work.toFile())
                .redirectOutput(new File(home.toFile(), "entered"))
                .redirectErrorStream(true);
        builder.environment().put("MARK", "x;'\"$(id)");
        say("entered", builder.start().waitFor() + " "
                + Files.readString(home.resolve("entered")).replace("\n", "|"));
        say("preflight", engine.preflight(id).ok());
        // From the frozen tree.
        engine.freeze(id, SOON);
        say("frozen", engine.status(id).state());
        say("here", engine.resumeHere(id).orElseThrow().tier());
        // A guard that objects.
        try {
            engine.freeze(id, new FreezeRequest(i -> Optional.of("not now"), 0));
        } catch (EngineException e) {
            say("objection", e.reason() + " " + engine.status(id).state());
        }
        // From the local image, then from the archive alone.
        suspend(engine, id, archive, key);
        say("suspended", engine.status(id).state() + " " + engine.status(id).archive().equals(archive));
        long before = lines(output);
        say("local", engine.resumeHere(id).orElseThrow().tier());
        until(() -> lines(output) > before + 3);
        suspend(engine, id, archive, key);
        Path elsewhere = Files.copy(archive, home.resolve("copy.image"));
        long then = lines(output);
        say("archive", engine.resume(elsewhere, key).tier());
        until(() -> lines(output) > then + 3);
        say("rights", rights(engine, id));
        Files.createFile(work.resolve("stop"));
        int code = 0;
        engine.kill(id);
        code = engine.await(id);
        say("killed", engine.status(id).state() + " " + code);
        engine.forget(id);
        say("forgotten", engine.list().isEmpty());
        StageId quick = StageId.create("quick");
        engine.start(new StageSpec(quick, null, work, List.of("/bin/sh", "-c", "exit 9"), null));
        say("quick", engine.await(quick) + " " + engine.status(quick).state());
        engine.forget(quick);
    }

    private static void suspend(Engine engine, StageId id, Path archive, ImageKey key) {
        engine.freeze(id, SOON);
        Checkpoint checkpoint = engine.dump(id, archive, key, IfDumpFails.THAW);
        engine.commit(id);
        if (checkpoint.processes() < 2 || engine.status(id).state() != State.SUSPENDED) {
            throw new AssertionError(checkpoint);
        }
    }

    private static String rights(Engine engine, StageId id) throws Exception {
        long init = engine.status(id).initPid();
        StringBuilder all = new StringBuilder();
        for (String line : Files.readAllLines(Path.of("/proc", Long.toString(init), "status"))) {
            if (line.matches("(Uid|Gid|Groups|Cap(Inh|Prm|Eff|Amb)):.*")) {
                all.append(line.trim().replaceAll("\\s+", " ")).append('|');
            }
        }
        return all.toString();
    }

    private static void say(String what, Object value) {
        System.out.println(what + "=" + value);
    }

    private static long lines(Path file) {
        try (var lines = Files.lines(file)) {
            return lines.count();
        } catch (Exception e) {
            return 0;
        }
    }

    private static void until(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + 30_000_000_000L;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - end > 0) {
                throw new AssertionError("nothing came");
            }
            Thread.sleep(10);
        }
    }
}
