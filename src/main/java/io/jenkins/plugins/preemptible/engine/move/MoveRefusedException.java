package io.jenkins.plugins.preemptible.engine.move;

import java.io.IOException;

/** A move that is refused; where it is thrown, everything is as it was. */
public final class MoveRefusedException extends IOException {

    private static final long serialVersionUID = 1L;

    private final Misfit misfit;

    public MoveRefusedException(Misfit misfit, Throwable cause) {
        super(misfit.sentence(), cause);
        this.misfit = misfit;
    }

    public Misfit misfit() {
        return misfit;
    }
}
