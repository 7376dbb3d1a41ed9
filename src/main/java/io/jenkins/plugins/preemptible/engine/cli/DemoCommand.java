package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.demo.Demo;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;

/**
 * Shows a preemption on this host.
 *
 * <ol>
 *   <li>A long stage of low priority runs on the one executor of a queue inside this process.
 *   <li>A short one of high priority arrives; the long one is suspended and resumed afterwards.
 *   <li>What was lost is measured at the end.
 * </ol>
 */
@Command(
        name = "demo",
        description =
                "Shows on this host how a long stage gives way to an urgent one and is then resumed; takes seconds. "
                        + "Ends with a line 'demo: ok …' and status 0, or says why not.")
final class DemoCommand implements Callable<Integer> {

    private final Context context;

    DemoCommand(Context context) {
        this.context = context;
    }

    @Override
    public Integer call() throws Exception {
        return Demo.run(context.out()) ? ExitStatus.OK : ExitStatus.FAILED;
    }
}
