package io.jenkins.plugins.preemptible.manual;

import hudson.cli.CLICommand;
import hudson.model.Job;
import hudson.model.Run;
import jakarta.servlet.http.HttpServletResponse;
import org.kohsuke.args4j.Argument;

/**
 * A command about one build.
 *
 * <ol>
 *   <li>Finds the job and the build; a job that the user may not see does not exist for them.
 *   <li>{@link #act} does it, and checks the permission.
 *   <li>Prints the sentence; exits with 3 for what does not exist, 4 for what is not in a state for it, 6 for what is
 *       not allowed, as Jenkins' own commands do.
 * </ol>
 */
abstract class BuildCommand extends CLICommand {

    @Argument(index = 0, metaVar = "JOB", usage = "Full name of the job", required = true)
    Job<?, ?> job;

    @Argument(index = 1, metaVar = "BUILD", usage = "Number of the build", required = true)
    int number;

    abstract Answer act(Run<?, ?> run);

    @Override
    protected int run() {
        Run<?, ?> run = job.getBuildByNumber(number);
        if (run == null) {
            throw new IllegalArgumentException(Messages.BuildCommand_NoSuchBuild(number, job.getFullDisplayName()));
        }
        return tell(act(run), this);
    }

    static int tell(Answer answer, CLICommand command) {
        if (answer.ok()) {
            command.stdout.println(answer.message());
            return 0;
        }
        if (answer.status() == HttpServletResponse.SC_CONFLICT) {
            throw new IllegalStateException(answer.message());
        }
        throw new IllegalArgumentException(answer.message());
    }
}
