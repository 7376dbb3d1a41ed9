package io.jenkins.plugins.preemptible.engine.privileged;

import static io.jenkins.plugins.preemptible.engine.privileged.LifeSteps.lines;
import static io.jenkins.plugins.preemptible.engine.privileged.LifeSteps.rights;
import static io.jenkins.plugins.preemptible.engine.privileged.LifeSteps.say;
import static io.jenkins.plugins.preemptible.engine.privileged.LifeSteps.until;
import static io.jenkins.plugins.preemptible.engine.privileged.LifeSteps.withoutHostName;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What a user without root's rights does with an engine, in a process of his own; one line for each thing seen. */
public final class LifeOfAUser {

    private LifeOfAUser() {}

    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]);
        Path work = Files.createDirectories(home.resolve("work"));
        Engine engine = Engine.open(home.resolve("state"));
        say("check", engine.check().ok() + " " + engine.check().missing());
        StageId id = StageId.create("life");
        String work5 = "exec 5>>kept; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); echo $i; "
                + "[ -e stop ] && exit 7; sleep 0.05; done";
        say(
                "started",
                engine.start(new StageSpec(
                                id,
                                "life",
                                work,
                                List.of("/bin/sh", "-c", "echo $GREETING; " + work5),
                                Map.of("PATH", "/usr/bin:/bin", "GREETING", "it's a \"$(day)\"\nindeed")))
                        .state());
        Path output = engine.status(id).output();
        until(() -> lines(output) > 4);
        say("rights", rights(engine, id));
        List<String> entered = new ArrayList<>(engine.enterCommand(id).words());
        entered.addAll(List.of(
                "/bin/sh",
                "-c",
                "id -u; id -G; pwd; echo \"$1 $MARK\"; grep -h CapEff /proc/self/status; ls -l /proc/$$/fd | wc -l;"
                        + " sleep 1000 </dev/null >/dev/null 2>&1 & exit 3",
                "sh",
                "a  b\nc"));
        ProcessBuilder builder = new ProcessBuilder(entered)
                .directory(work.toFile())
                .redirectOutput(new File(home.toFile(), "entered"))
                .redirectErrorStream(true);
        builder.environment().put("MARK", "x;'\"$(id)");
        say(
                "entered",
                builder.start().waitFor() + " "
                        + withoutHostName(Files.readString(home.resolve("entered")))
                                .replace("\n", "|"));
        say("preflight", engine.preflight(id).ok());
        FreezeRequest now = new FreezeRequest(DumpGuard.NONE, 0);
        for (int time = 0; time < 3; time++) {
            Frozen frozen = engine.freeze(id, now);
            say(
                    "frozen",
                    engine.status(id).state() + " " + engine.status(id).tier() + " " + frozen.memoryOnly() + " "
                            + (frozen.processes() > 1) + " " + (frozen.residentBytes() > 0));
            long still = lines(output);
            Thread.sleep(300);
            say("still", lines(output) - still);
            say("entering", code(engine, id, work));
            say(
                    "here",
                    engine.resumeHere(id).orElseThrow().tier() + " "
                            + engine.status(id).suspensions());
            long before = lines(output);
            until(() -> lines(output) > before + 3);
        }
        refused("objection", () -> engine.freeze(id, new FreezeRequest(i -> Optional.of("not now"), 0)));
        refused("short", () -> engine.freeze(id, new FreezeRequest(DumpGuard.NONE, Long.MAX_VALUE)));
        engine.freeze(id, now);
        refused("dump", () -> engine.dump(id, home.resolve("image"), ImageKey.generate(), IfDumpFails.STAY_FROZEN));
        refused("commit", () -> engine.commit(id));
        say("waiting", engine.status(id).state());
        engine.thaw(id);
        refused("thaw", () -> engine.thaw(id));
        refused("resume", () -> engine.resumeHere(id));
        refused("again", () -> engine.start(new StageSpec(id, null, work, List.of("true"), null)));
        refused("forget", () -> engine.forget(id));
        refused(
                "program",
                () -> engine.start(new StageSpec(
                        StageId.create("nodir"), null, home.resolve("not/there"), List.of("true"), null)));
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

    private static void refused(String what, Runnable verb) {
        try {
            verb.run();
            say(what, "done");
        } catch (EngineException e) {
            say(what, e.reason());
        }
    }

    private static String code(Engine engine, StageId id, Path work) {
        try {
            return String.valueOf(engine.enterCommand(id).words());
        } catch (EngineException e) {
            return e.reason().name();
        }
    }
}
