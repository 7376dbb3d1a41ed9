package io.jenkins.plugins.preemptible.engine.privileged;

import java.time.Duration;
import java.util.Locale;
import java.util.Optional;

/**
 * What the privileged part can be asked for; there is nothing else.
 *
 * <ol>
 *   <li>A verb is the first argument, as {@link #word} has it; the id of a stage is the second and last one.
 *   <li>What is larger than an id comes on standard input, bounded, and is data.
 *   <li>Every answer but that of {@link #ENTER} is one line of JSON; an image follows that of {@link #DUMP}.
 * </ol>
 */
enum Verb {
    /** Tries what suspending needs on this host, as root sees it. */
    CHECK(false),
    /** All stages of the caller. */
    LIST(false),
    START(true),
    ENTER(true),
    STATUS(true),
    PREFLIGHT(true),
    FREEZE(true),
    DUMP(true),
    COMMIT(true),
    THAW(true),
    RESUME(true),
    RESUME_HERE(true),
    KILL(true),
    FORGET(true);

    private final boolean ofOneStage;

    Verb(boolean ofOneStage) {
        this.ofOneStage = ofOneStage;
    }

    /** How long an answer may take before whoever called gives up: far longer than the engine below ever takes. */
    Duration limit() {
        return switch (this) {
            case DUMP, RESUME, RESUME_HERE -> Duration.ofHours(6);
            default -> Duration.ofMinutes(5);
        };
    }

    /** How many arguments there are, the verb included. */
    int arguments() {
        return ofOneStage ? 2 : 1;
    }

    String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    static Optional<Verb> of(String word) {
        for (Verb verb : values()) {
            if (verb.word().equals(word)) {
                return Optional.of(verb);
            }
        }
        return Optional.empty();
    }
}
