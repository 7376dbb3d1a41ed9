package io.jenkins.plugins.preemptible.acceptance;

import java.io.ObjectOutputStream;
import java.io.Serializable;
import org.jenkinsci.plugins.scriptsecurity.sandbox.whitelists.Whitelisted;

/** An object in a Pipeline's program that cannot be written, and says so by an error. */
public final class Unwritable implements Serializable {

    private static final long serialVersionUID = 1L;

    private final boolean tooDeep;

    @Whitelisted
    public Unwritable(boolean tooDeep) {
        this.tooDeep = tooDeep;
    }

    private void writeObject(ObjectOutputStream out) {
        throw tooDeep ? new StackOverflowError() : new NoClassDefFoundError("a class of another plugin");
    }
}
