package io.jenkins.plugins.preemptible.manual;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.model.Run;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;
import org.kohsuke.args4j.Argument;
import org.kohsuke.args4j.Option;

/**
 * {@code preemptible-resume JOB BUILD [STAGE] [--again]}: resumes stages that were suspended manually.
 *
 * <ol>
 *   <li>Without STAGE all of the build's stages are meant; with it those of that name or id.
 *   <li>With {@code --again}, those are meant whose resume failed as often as it is tried: it is tried again.
 *   <li>Does not wait for an executor.
 *   <li>Prints what became of each.
 * </ol>
 */
@Extension
@Restricted(NoExternalUse.class) // a command
public final class ResumeCommand extends BuildCommand {

    @CheckForNull
    @Argument(index = 2, metaVar = "STAGE", usage = "Name or id of the stage; all of the build when left out")
    private String stage;

    @Option(name = "--again", usage = "Try again to resume stages whose resume failed three times")
    private boolean again;

    @Override
    public String getName() {
        return "preemptible-resume";
    }

    @Override
    public String getShortDescription() {
        return Messages.ResumeCommand_Description();
    }

    @Override
    Answer act(Run<?, ?> run) {
        return again ? StageVerbs.again(run, stage) : StageVerbs.resume(run, stage);
    }
}
