package io.jenkins.plugins.preemptible.manual;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.model.Run;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;
import org.kohsuke.args4j.Argument;

/**
 * {@code preemptible-give-up JOB BUILD [STAGE]}: fails stages whose resume failed as often as it is tried.
 *
 * <ol>
 *   <li>Without STAGE all such stages of the build are meant; with it those of that name or id.
 *   <li>Their images stay among the build's artifacts.
 *   <li>Prints what became of each.
 * </ol>
 */
@Extension
@Restricted(NoExternalUse.class) // a command
public final class GiveUpCommand extends BuildCommand {

    @CheckForNull
    @Argument(index = 2, metaVar = "STAGE", usage = "Name or id of the stage; all of the build when left out")
    private String stage;

    @Override
    public String getName() {
        return "preemptible-give-up";
    }

    @Override
    public String getShortDescription() {
        return Messages.GiveUpCommand_Description();
    }

    @Override
    Answer act(Run<?, ?> run) {
        return StageVerbs.giveUp(run, stage);
    }
}
