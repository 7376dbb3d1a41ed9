package io.jenkins.plugins.preemptible.engine.compat;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.compat.CompatibilityRow.Result;
import java.io.IOException;
import org.opentest4j.TestAbortedException;

/**
 * Something that is tried as a stage; what became of it is one row of docs/compatibility.md.
 *
 * <ol>
 *   <li>{@link #run} runs the body of one test. When it returns, the answer is yes, unless it said {@link #refused} or {@link #lost}.
 *   <li>When an assumption fails, the answer is "not tried", else no, each with the first line of the reason; the test
 *       is then skipped or fails as it would without.
 *   <li>The body tells what it did meanwhile by {@link #suspended}, {@link #resumed} and {@link #remark}.
 * </ol>
 *
 * For one thread.
 */
public final class ProgramTrial {

    /** What is tried. */
    @FunctionalInterface
    public interface Body {
        void run(ProgramTrial trial) throws Exception;
    }

    private final Part part;
    private final String subject;
    private final String work;
    private String version = "";
    private String remark = "";
    private Result result = Result.YES;
    private int suspended;
    private int resumed;
    private long dumpMillis = -1;
    private long imageBytes = -1;

    private ProgramTrial(Part part, String subject, String work) {
        this.part = part;
        this.subject = subject;
        this.work = work;
    }

    /**
     * Runs a body and notes its row.
     *
     * @param subject the program or the resource, such as {@code OpenJDK, ZGC}
     * @param work what it does while it is suspended, in a few words
     */
    public static void run(Part part, String subject, String work, Body body) throws Exception {
        ProgramTrial trial = new ProgramTrial(part, subject, work);
        try {
            body.run(trial);
            trial.note(trial.result, trial.remark);
        } catch (TestAbortedException e) {
            trial.note(Result.NOT_TRIED, reason(e));
            throw e;
        } catch (Exception | Error e) {
            trial.note(Result.NO, reason(e));
            throw e;
        }
    }

    private static String reason(Throwable e) {
        String text = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
        String first = text.lines().findFirst().orElse("").replace("Assumption failed: ", "");
        if (e instanceof EngineException refused && !refused.criuLines().isEmpty()) {
            first += ": " + refused.criuLines().get(0);
        }
        return first.length() > 300 ? first.substring(0, 300) + "…" : first;
    }

    private void note(Result result, String why) throws IOException {
        CompatibilityTable.add(new CompatibilityRow(
                part, subject, version, work, suspended, resumed, result, dumpMillis, imageBytes, why));
    }

    /** The program's version in short, such as {@code 4.04c}. */
    public void version(String text) {
        version = text;
    }

    /** What a reader has to know although it works. */
    public void remark(String text) {
        remark = text;
    }

    /** Its suspension was refused, as it has to be, and it ran on. */
    public void refused(String why) {
        result = Result.REFUSED;
        remark = why;
    }

    /** It is known not to come back as it was. */
    public void lost(String what) {
        result = Result.NO;
        remark = what;
    }

    /** It was suspended, with this dump. */
    public void suspended(Checkpoint dump) {
        suspended++;
        dumpMillis = Math.max(dumpMillis, dump.dumpMillis());
        imageBytes = Math.max(imageBytes, dump.imageBytes());
    }

    /** It went on. */
    public void resumed() {
        resumed++;
    }
}
