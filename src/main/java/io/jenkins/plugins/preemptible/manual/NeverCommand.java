package io.jenkins.plugins.preemptible.manual;

import hudson.Extension;
import hudson.model.Run;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;
import org.kohsuke.args4j.Option;

/**
 * {@code preemptible-never JOB BUILD [--undo]}: exempts a build from being suspended for others.
 *
 * <ol>
 *   <li>Holds for its stages that run and for those that are still to come.
 *   <li>{@code --undo} takes that back.
 *   <li>Prints one sentence.
 * </ol>
 */
@Extension
@Restricted(NoExternalUse.class) // a command
public final class NeverCommand extends BuildCommand {

    @Option(name = "--undo", usage = "Let the build be preempted again")
    private boolean undo;

    @Override
    public String getName() {
        return "preemptible-never";
    }

    @Override
    public String getShortDescription() {
        return Messages.NeverCommand_Description();
    }

    @Override
    Answer act(Run<?, ?> run) {
        return undo ? StageVerbs.preemptAgain(run) : StageVerbs.never(run);
    }
}
