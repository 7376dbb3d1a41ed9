package io.jenkins.plugins.preemptible.engine.privileged;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A command that shall run inside a stage, as the script {@code enter-by-sudo.sh} tells it.
 *
 * <ol>
 *   <li>Words that end with a NUL byte, since a shell can write them so without quoting: umask, working folder, number
 *       of arguments, arguments, then the environment as proc(5) shows it.
 *   <li>Bytes, not characters: what is no UTF-8 is refused rather than changed.
 *   <li>Nothing of it is used before the rights of the user are all that is left.
 * </ol>
 */
record EnterRequest(String umask, String workDir, List<String> command, Map<String, String> environment) {

    /**
     * @throws IllegalArgumentException when it is not of this form
     */
    static EnterRequest read(InputStream in) throws IOException {
        List<String> words = words(Wire.bounded(in));
        if (words.size() < 4) {
            throw new IllegalArgumentException("the command is missing");
        }
        int count = words.get(2).matches("[0-9]{1,7}") ? Integer.parseInt(words.get(2)) : 0;
        if (count < 1 || words.size() < 3 + count || !words.get(1).startsWith("/")) {
            throw new IllegalArgumentException("the request is not of the form that is expected");
        }
        Map<String, String> environment = new HashMap<>();
        for (String entry : words.subList(3 + count, words.size())) {
            int equals = entry.indexOf('=');
            if (equals > 0) {
                environment.put(entry.substring(0, equals), entry.substring(equals + 1));
            }
        }
        return new EnterRequest(words.get(0), words.get(1), List.copyOf(words.subList(3, 3 + count)), environment);
    }

    private static List<String> words(byte[] bytes) {
        List<String> words = new ArrayList<>();
        int from = 0;
        for (int at = 0; at < bytes.length; at++) {
            if (bytes[at] == 0) {
                words.add(text(bytes, from, at - from));
                from = at + 1;
            }
        }
        if (from != bytes.length) {
            throw new IllegalArgumentException("the request is cut off");
        }
        return words;
    }

    private static String text(byte[] bytes, int from, int length) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(java.nio.ByteBuffer.wrap(bytes, from, length))
                    .toString();
        } catch (java.nio.charset.CharacterCodingException e) {
            throw new IllegalArgumentException("the request is not in UTF-8");
        }
    }
}
