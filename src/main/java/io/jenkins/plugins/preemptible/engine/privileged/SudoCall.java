package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;

/** One process of sudo's that runs the privileged part: starting it, talking to it, and giving it up. */
record SudoCall(Path program, Path sudo) {

    private static final int NOT_UNDERSTOOD = 2;
    private static final int LONGEST_ANSWER = 64 * 1024;
    private static final Duration CANCEL_POLL = Duration.ofMillis(10);

    static final String ANOTHER_VERSION =
            "if it is of another version, an administrator can run 'preempt install-helper' again, from this version";

    Process start(Verb verb, StageId id, Path errors) throws IOException {
        List<String> command = new ArrayList<>(List.of(sudo.toString(), "-n", "--", program.toString(), verb.word()));
        if (id != null) {
            command.add(id.value());
        }
        return new ProcessBuilder(command)
                .directory(new File("/"))
                .redirectError(errors.toFile())
                .start();
    }

    // Pipes cannot be read with a time limit, nor closed meanwhile, and a sudo that runs as root cannot be ended from
    // here: then the thread stays.
    static void onItsOwn(Verb verb, Runnable talk) {
        Thread talking = new Thread(talk, "preemptible " + verb.word());
        talking.setDaemon(true);
        talking.start();
    }

    static String talk(Process process, byte[] request, BooleanSupplier cancelled)
            throws IOException, InterruptedException {
        try {
            try (OutputStream to = process.getOutputStream()) {
                to.write(request);
                to.flush();
                while (cancelled != null && !cancelled.getAsBoolean() && process.isAlive()) {
                    process.waitFor(CANCEL_POLL.toMillis(), TimeUnit.MILLISECONDS);
                }
            } catch (IOException e) {
                // It refused before it read everything: its answer says why.
            }
            byte[] answer = process.getInputStream().readNBytes(LONGEST_ANSWER);
            process.waitFor();
            return new String(answer, StandardCharsets.UTF_8);
        } finally {
            process.destroy();
        }
    }

    static <T> T within(Duration limit, FutureTask<T> talk) throws IOException {
        boolean interrupted = false;
        long end = System.nanoTime() + limit.toNanos();
        try {
            while (true) {
                try {
                    return talk.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } catch (TimeoutException e) {
            throw new IOException("no answer within " + limit.toSeconds() + " s", e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof EngineException refused) {
                throw refused;
            }
            throw e.getCause() instanceof IOException failed ? failed : new IOException(e.getCause());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    static String saying(int code, Path words) throws IOException {
        String said = new String(Files.readAllBytes(words), StandardCharsets.UTF_8)
                .lines()
                .filter(l -> !l.isBlank())
                .findFirst()
                .orElse("the privileged part gave no answer");
        return code == NOT_UNDERSTOOD ? said + "; " + ANOTHER_VERSION : said;
    }

    static void deleteQuietly(Path file) {
        try {
            if (file != null) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            // A few words in the folder for temporary files.
        }
    }
}
