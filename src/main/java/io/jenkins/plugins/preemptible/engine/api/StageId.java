package io.jenkins.plugins.preemptible.engine.api;

import java.security.SecureRandom;
import java.util.regex.Pattern;

/**
 * The name under which a stage is known on its host, from its start to its end and across every suspension.
 *
 * <ol>
 *   <li>It is made once, at the start, from a name for people and a random part.
 *   <li>It names the stage's folder and its cgroup, so its alphabet is theirs: lower case letters, digits, hyphens.
 *   <li>Every id from outside passes {@link #parse}.
 * </ol>
 *
 * Immutable, safe for any thread.
 */
public record StageId(String value) {

    private static final Pattern ALPHABET = Pattern.compile("[a-z0-9][a-z0-9-]{0,62}");
    private static final String CONTAINED = "-in";
    private static final SecureRandom RANDOM = new SecureRandom();

    public StageId {
        if (value == null || !ALPHABET.matcher(value).matches()) {
            throw new IllegalArgumentException(
                    "'" + value + "' is no stage id: 1 to 63 lower case letters, digits and hyphens are expected");
        }
    }

    /**
     * Reads an id that came from outside.
     *
     * @throws IllegalArgumentException when it is not of the alphabet; the message is for people
     */
    public static StageId parse(String text) {
        return new StageId(text);
    }

    /** Makes a new id from a name for people, of which at most 40 fitting characters are kept. */
    public static StageId create(String name) {
        String kept =
                name == null ? "" : name.toLowerCase(java.util.Locale.ROOT).replaceAll("[^a-z0-9]+", "-");
        kept = kept.replaceAll("^-+", "");
        kept = kept.substring(0, Math.min(40, kept.length())).replaceAll("-+$", "");
        return new StageId((kept.isEmpty() ? "stage" : kept) + "-" + String.format("%08x", RANDOM.nextInt()));
    }

    /**
     * The id of that part of this stage which lives in a container, while steps of it run in one.
     *
     * @throws IllegalArgumentException when this id is too long for that
     */
    public StageId contained() {
        return new StageId(value + CONTAINED);
    }

    @Override
    public String toString() {
        return value;
    }
}
