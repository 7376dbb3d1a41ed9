package io.jenkins.plugins.preemptible.engine.cli.text;

/**
 * Input that cannot be used, told in one sentence that names the thing and the remedy.
 *
 * <ol>
 *   <li>Thrown before anything was changed.
 *   <li>Its message goes to standard error as it is.
 *   <li>The exit status is that of wrong usage.
 * </ol>
 */
public final class RefusedException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public RefusedException(String message) {
        super(message);
    }
}
