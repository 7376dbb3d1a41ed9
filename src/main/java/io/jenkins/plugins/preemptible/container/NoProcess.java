package io.jenkins.plugins.preemptible.container;

import hudson.Proc;
import java.io.InputStream;
import java.io.OutputStream;

/** What a program would have been that is not launched: it has ended well, without a word. */
final class NoProcess extends Proc {

    @Override
    public boolean isAlive() {
        return false;
    }

    @Override
    public void kill() {
        // There is none.
    }

    @Override
    public int join() {
        return 0;
    }

    @Override
    public InputStream getStdout() {
        return InputStream.nullInputStream();
    }

    @Override
    public InputStream getStderr() {
        return InputStream.nullInputStream();
    }

    @Override
    public OutputStream getStdin() {
        return OutputStream.nullOutputStream();
    }
}
