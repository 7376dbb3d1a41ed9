package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.EngineException;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.RootsOwn;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageUser;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Optional;
import java.util.logging.LogManager;

/**
 * The privileged part: what an agent's user may have done by root, through sudo.
 *
 * <ol>
 *   <li>The installed program starts it with an empty environment but SUDO_UID, in the folder {@code /}, with a verb and
 *       the id of a stage.
 *   <li>Arguments and caller are looked at before anything is opened; the caller's stages lie in a folder of root's that
 *       is his by its name.
 *   <li>Exit status: 0 done, 1 refused (the answer says why), 2 not understood, 125 for a command that could not enter.
 * </ol>
 *
 * The system properties {@code preemptible.store} and {@code preemptible.criu} come from the installed program, which is
 * root's own.
 */
public final class PrivilegedMain {

    private static final int REFUSED = 1;
    private static final int NOT_UNDERSTOOD = 2;
    private static final int NOT_ENTERED = 125;

    private PrivilegedMain() {}

    public static void main(String[] args) {
        LogManager.getLogManager().reset();
        System.exit(run(args));
    }

    private static int run(String[] args) {
        Verb verb = args.length == 0 ? null : Verb.of(args[0]).orElse(null);
        if (verb == null || args.length != verb.arguments()) {
            return notUnderstood("a verb and the id of a stage are expected");
        }
        // Not System.out: it would change bytes of an image.
        try (OutputStream out = new FileOutputStream(FileDescriptor.out)) {
            StageId id = args.length == 2 ? StageId.parse(args[1]) : null;
            try {
                return verbs().run(verb, id, System.in, out);
            } catch (EngineException e) {
                return refused(verb, e, out);
            }
        } catch (IllegalArgumentException e) {
            return notUnderstood(e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return REFUSED;
        } catch (IOException | RuntimeException e) {
            return broken(verb, e);
        }
    }

    private static PrivilegedVerbs verbs() throws IOException {
        if (!HostProcess.isRoot()) {
            throw new IllegalArgumentException("this is to be called through sudo");
        }
        Path store = setting("preemptible.store");
        Path criu = setting("preemptible.criu");
        if (!RootsOwn.whole(store) || (Files.exists(criu) && !RootsOwn.whole(criu))) {
            throw new IllegalArgumentException("somebody else than root could change " + store + " or " + criu);
        }
        StageUser user = SudoCaller.of(Map.copyOf(System.getenv()), store.resolve("view"));
        Path home = store.resolve(Long.toString(user.uid()));
        Files.createDirectories(
                home, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        return new PrivilegedVerbs(user, Engine.forUser(home, criu, user), HostSeal.in(home));
    }

    private static Path setting(String name) {
        return Optional.ofNullable(System.getProperty(name))
                .map(Path::of)
                .filter(Path::isAbsolute)
                .orElseThrow(() -> new IllegalArgumentException("the installed program does not say " + name));
    }

    private static int notUnderstood(String words) {
        System.err.println("preemptible: " + words);
        return NOT_UNDERSTOOD;
    }

    private static int refused(Verb verb, EngineException e, OutputStream out) throws IOException {
        if (verb == Verb.ENTER) {
            System.err.println("preemptible: " + e.getMessage());
            return NOT_ENTERED;
        }
        out.write(Wire.refused(e));
        out.flush();
        return REFUSED;
    }

    // What exactly broke may name files of root's: the caller learns the kind only, the administrator all.
    private static int broken(Verb verb, Exception e) {
        try {
            Path file = setting("preemptible.store").resolve("last-error.txt");
            Files.deleteIfExists(file);
            Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            try (PrintWriter whole = new PrintWriter(Files.newBufferedWriter(file))) {
                e.printStackTrace(whole);
            }
        } catch (IOException | IllegalArgumentException unwritten) {
            // The words below are what there is then.
        }
        System.err.println("preemptible: " + verb.word() + " failed: " + FailureReason.CRIU_FAILED.name() + " "
                + e.getClass().getSimpleName());
        return REFUSED;
    }
}
