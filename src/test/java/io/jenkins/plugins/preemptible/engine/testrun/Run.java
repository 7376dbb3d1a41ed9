package io.jenkins.plugins.preemptible.engine.testrun;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;

/**
 * One run of tests, from the set-up to the summary.
 *
 * <ol>
 *   <li>Installs what is missing, and removes the reports of earlier runs.
 *   <li>Runs the engine half, then the plugin half, whatever became of the first.
 *   <li>Prints each test that was skipped, failed or was tried again; what was left out, and which command runs it; what
 *       became of each half; and last the three numbers.
 * </ol>
 */
final class Run {

    /** Runs one half, or says why not. */
    interface Half {
        HalfResult run(Halves halves) throws IOException, InterruptedException;
    }

    static final Half NOT_ASKED_FOR = halves -> HalfResult.NOT_ASKED_FOR;

    private final Checkout checkout;
    private final PrintWriter out;
    private final PrintWriter err;

    Run(Checkout checkout, PrintWriter out, PrintWriter err) {
        this.checkout = checkout;
        this.out = out;
        this.err = err;
    }

    Checkout checkout() {
        return checkout;
    }

    PrintWriter out() {
        return out;
    }

    PrintWriter err() {
        return err;
    }

    void setUp(String extent) throws IOException, InterruptedException {
        checkout.setUp(extent, err);
    }

    /** Returns the exit status: 0 where something passed and nothing failed, else 1. */
    int halves(Half engine, Half plugin) throws IOException, InterruptedException {
        return halves(engine, plugin, List.of());
    }

    /** @param leftOut lines that say what does not run, and which command runs it */
    int halves(Half engine, Half plugin, List<String> leftOut) throws IOException, InterruptedException {
        checkout.deleteReports();
        Halves halves = new Halves(checkout, err);
        HalfResult engineHalf = engine.run(halves);
        HalfResult pluginHalf = plugin.run(halves);
        return sumUp(
                SurefireReports.read(checkout.engineReports(), checkout.pluginReports()),
                leftOut,
                engineHalf,
                pluginHalf);
    }

    int sumUp(SurefireReports reports, List<String> leftOut, HalfResult engine, HalfResult plugin) {
        boolean broken = engine.broken() || plugin.broken();
        int failed = reports.failed() + (broken ? 1 : 0);
        out.println();
        reports.lines().forEach(out::println);
        leftOut.forEach(out::println);
        out.println("engine half: " + engine.words());
        out.println("plugin half: " + plugin.words());
        out.println(reports.passed() + " passed, " + failed + " failed, " + reports.skipped() + " skipped");
        return failed == 0 && reports.passed() > 0 ? 0 : 1;
    }
}
