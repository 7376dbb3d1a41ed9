package io.jenkins.plugins.preemptible.manual;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.model.Run;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;
import org.kohsuke.args4j.Argument;

/**
 * {@code preemptible-suspend JOB BUILD [STAGE]}: suspends stages until someone resumes them.
 *
 * <ol>
 *   <li>Without STAGE all of the build's stages are meant; with it those of that name or id.
 *   <li>Does not wait for the suspension, of which the build log tells.
 *   <li>Prints what became of each.
 * </ol>
 */
@Extension
@Restricted(NoExternalUse.class) // a command
public final class SuspendCommand extends BuildCommand {

    @CheckForNull
    @Argument(index = 2, metaVar = "STAGE", usage = "Name or id of the stage; all of the build when left out")
    private String stage;

    @Override
    public String getName() {
        return "preemptible-suspend";
    }

    @Override
    public String getShortDescription() {
        return Messages.SuspendCommand_Description();
    }

    @Override
    Answer act(Run<?, ?> run) {
        return StageVerbs.suspend(run, stage);
    }
}
