package io.jenkins.plugins.preemptible.engine.move;

import io.jenkins.plugins.preemptible.engine.text.PlainText;
import java.io.Serializable;
import java.util.Objects;

/**
 * One obstacle to a move, with what was found.
 *
 * @param detail without a final stop; empty when the obstacle's sentence says it all
 */
public record Misfit(MoveObstacle obstacle, String detail) implements Serializable {

    public Misfit {
        Objects.requireNonNull(obstacle, "obstacle");
        detail = detail == null ? "" : PlainText.of(detail);
    }

    public static Misfit of(MoveObstacle obstacle) {
        return new Misfit(obstacle, "");
    }

    /** The obstacle's sentence, and what was found in parentheses. */
    public String sentence() {
        String plain = obstacle.sentence();
        return detail.isEmpty() ? plain : plain.substring(0, plain.length() - 1) + " (" + detail + ").";
    }
}
