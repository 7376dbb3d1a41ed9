package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/**
 * A command and its environment, as the privileged part takes them: words that end with a NUL byte. The first word is
 * the number of the command's words; those follow, then the environment as {@code NAME=VALUE}. The privileged part
 * counts the words and does not interpret them: the kernel gives them to a program that runs as the user.
 */
public final class HelperRequest {

    /** Bytes. The kernel takes about 2 MiB for the arguments and the environment of a process together. */
    static final int LARGEST = 4 * 1024 * 1024;

    private HelperRequest() {}

    /**
     * @param command an argument vector; its first word is an absolute path
     * @throws EngineException {@link FailureReason#BAD_SPEC} for a NUL in a word, or more than {@link #LARGEST} bytes
     */
    public static byte[] of(List<String> command, Map<String, String> environment) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        write(bytes, Integer.toString(command.size()));
        command.forEach(word -> write(bytes, word));
        environment.forEach((name, value) -> write(bytes, name + "=" + value));
        if (bytes.size() > LARGEST) {
            throw new EngineException(
                    FailureReason.BAD_SPEC, "its command and environment have more than " + LARGEST + " bytes");
        }
        return bytes.toByteArray();
    }

    /** A dump's or a restore's: the number of words, then the words. */
    static byte[] of(List<String> words) {
        return of(words, Map.of());
    }

    private static void write(ByteArrayOutputStream bytes, String word) {
        if (word.indexOf('\0') >= 0) {
            throw new EngineException(FailureReason.BAD_SPEC, "a word of its command or environment has a NUL in it");
        }
        bytes.writeBytes(word.getBytes(StandardCharsets.UTF_8));
        bytes.write(0);
    }
}
