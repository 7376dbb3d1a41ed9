package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.cli.text.Printable;
import java.io.PrintWriter;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/**
 * Prints the engine's log, during one call of the command line, in the command line's own form.
 *
 * <ol>
 *   <li>A warning becomes one line on standard error, like every other message for people.
 *   <li>What is less than a warning is left out: the command's answer tells it. PREEMPTIBLE_DEBUG shows it too.
 *   <li>At its close the loggers are as they were; an agent's log, which no command line writes, never sees a change.
 * </ol>
 */
final class CommandLog implements AutoCloseable {

    // The log manager holds loggers weakly, and a collected one would forget its handler.
    private final Logger engine = Logger.getLogger("io.jenkins.plugins.preemptible.engine");
    private final Handler handler;
    private final boolean before;

    private CommandLog(Handler handler) {
        this.handler = handler;
        this.before = engine.getUseParentHandlers();
        engine.addHandler(handler);
        engine.setUseParentHandlers(false);
    }

    static CommandLog to(PrintWriter err, boolean debug) {
        Handler handler = new Lines(err);
        handler.setLevel(debug ? Level.ALL : Level.WARNING);
        return new CommandLog(handler);
    }

    @Override
    public void close() {
        engine.removeHandler(handler);
        engine.setUseParentHandlers(before);
    }

    private static final class Lines extends Handler {
        /** Puts the parameters into the message. */
        private static final Formatter WORDS = new SimpleFormatter();

        private final PrintWriter err;

        Lines(PrintWriter err) {
            this.err = err;
        }

        @Override
        public void publish(LogRecord entry) {
            if (isLoggable(entry)) {
                Throwable thrown = entry.getThrown();
                String cause = thrown == null || thrown.getMessage() == null ? "" : ": " + thrown.getMessage();
                err.println("preempt: " + Printable.of(Preempt.sentence(WORDS.formatMessage(entry) + cause)));
            }
        }

        @Override
        public void flush() {
            err.flush();
        }

        @Override
        public void close() {}
    }
}
