package io.jenkins.plugins.preemptible.engine.privileged;

import static io.jenkins.plugins.preemptible.engine.privileged.LifeSteps.lines;
import static io.jenkins.plugins.preemptible.engine.privileged.LifeSteps.rights;
import static io.jenkins.plugins.preemptible.engine.privileged.LifeSteps.say;
import static io.jenkins.plugins.preemptible.engine.privileged.LifeSteps.until;
import static io.jenkins.plugins.preemptible.engine.privileged.LifeSteps.withoutHostName;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * What a user without root's rights does with an engine that makes checkpoints; one line for each thing seen.
 *
 * <p>Arguments: a folder, the number of cycles, the command of the stage.
 */
public final class LifeWithCheckpoints {

    private LifeWithCheckpoints() {}

    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]);
        int cycles = Integer.parseInt(args[1]);
        Path work = Files.createDirectories(home.resolve("work"));
        Engine engine = Engine.open(home.resolve("state"));
        say("check", engine.check().ok() + " " + engine.check().missing() + " " + engine.checkpoints());
        StageId id = StageId.create("life");
        List<String> command = List.of(args).subList(2, args.length);
        say(
                "started",
                engine.start(new StageSpec(id, "life", work, command, Map.of("PATH", "/usr/bin:/bin")))
                        .state());
        Path output = engine.status(id).output();
        until(() -> lines(output) > 4);
        String before = rights(engine, id);
        say("rights", before);
        say("entered", enter(engine, id, home, work, "echo here > /tmp/mark; echo there > /dev/shm/mark; id -u"));
        say("preflight", engine.preflight(id).obstacles());
        ImageKey key = ImageKey.generate();
        Path archive = home.resolve("image");
        for (int cycle = 1; cycle <= cycles; cycle++) {
            engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
            long still = lines(output);
            Thread asking = new Thread(() -> ask(id));
            asking.start();
            Checkpoint made = engine.dump(id, archive, key, IfDumpFails.THAW);
            asking.interrupt();
            asking.join();
            if (lines(output) != still) {
                say("moved", lines(output) - still);
            }
            engine.commit(id);
            String state = engine.status(id).state() + " " + engine.status(id).tier() + " " + (lines(output) == still);
            // Every other time as on a host that has nothing but the archive.
            if (cycle % 2 == 0) {
                StageFolder.delete(
                        home.resolve("state/stages").resolve(id.value()).resolve("images"));
            }
            ResumeReport resumed = cycle % 2 == 0
                    ? engine.resume(archive, key)
                    : engine.resumeHere(id).orElseThrow();
            until(() -> lines(output) > still + 3);
            say(
                    "cycle",
                    state + " " + resumed.tier() + " " + engine.status(id).state() + " "
                            + rights(engine, id).equals(before) + " "
                            + enter(engine, id, home, work, "cat /tmp/mark /dev/shm/mark; ls -l /proc/1/fd | wc -l"));
            System.err.println("dump " + made.dumpMillis() + " ms, restore " + resumed.restoreMillis() + " ms");
        }
        engine.freeze(id, new FreezeRequest(DumpGuard.NONE, 0));
        engine.dump(id, archive, key, IfDumpFails.THAW);
        engine.thaw(id);
        long thawed = lines(output);
        until(() -> lines(output) > thawed + 3);
        say("thawed", engine.status(id).state() + " " + Files.exists(archive));
        engine.kill(id);
        say("killed", engine.status(id).state());
        engine.forget(id);
        say("forgotten", engine.list().isEmpty());
        StageId quick = StageId.create("quick");
        engine.start(new StageSpec(quick, null, work, List.of("/bin/sh", "-c", "exit 9"), null));
        say("quick", engine.await(quick) + " " + engine.status(quick).state());
        engine.forget(quick);
    }

    /** A stage is as it was while it is dumped. */
    private static void ask(StageId id) {
        PrivilegedPart part = PrivilegedPart.find().orElseThrow();
        String other = null;
        int times = 0;
        while (!Thread.currentThread().isInterrupted()) {
            try {
                HostState state = part.seen(id).orElseThrow().state();
                other = state == HostState.FROZEN ? other : state.name();
                times++;
            } catch (EngineException e) {
                if (Thread.currentThread().isInterrupted()) {
                    break;
                }
                other = String.valueOf(e.getMessage());
            }
        }
        if (other != null) {
            say("otherwise", other);
        }
        System.err.println("asked " + times + " times during a dump");
    }

    private static String enter(Engine engine, StageId id, Path home, Path work, String text) throws Exception {
        List<String> entered = new ArrayList<>(engine.enterCommand(id).words());
        entered.addAll(List.of("/bin/sh", "-c", text));
        int code = new ProcessBuilder(entered)
                .directory(work.toFile())
                .redirectOutput(new File(home.toFile(), "entered"))
                .redirectErrorStream(true)
                .start()
                .waitFor();
        return code + " "
                + withoutHostName(Files.readString(home.resolve("entered"))).replace("\n", "|");
    }
}
