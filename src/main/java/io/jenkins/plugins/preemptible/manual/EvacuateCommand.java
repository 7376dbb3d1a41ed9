package io.jenkins.plugins.preemptible.manual;

import hudson.Extension;
import hudson.model.Computer;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;

/**
 * {@code preemptible-evacuate AGENT}: has the stages of an agent that is about to go resumed on others.
 *
 * <ol>
 *   <li>Prints how many stages are sealed, under way, and cannot be; asked again, how far that has come.
 *   <li>{@code preemptible-drain AGENT --undo} undoes it.
 * </ol>
 */
@Extension
@Restricted(NoExternalUse.class) // a command
public final class EvacuateCommand extends AgentCommand {

    @Override
    public String getName() {
        return "preemptible-evacuate";
    }

    @Override
    public String getShortDescription() {
        return Messages.EvacuateCommand_Description();
    }

    @Override
    Answer act(Computer computer) {
        return EvacuateVerb.evacuate(computer);
    }
}
