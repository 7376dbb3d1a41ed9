package io.jenkins.plugins.preemptible.manual;

import hudson.Extension;
import hudson.cli.CLICommand;
import hudson.model.Computer;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import jenkins.model.Jenkins;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;
import org.kohsuke.args4j.Argument;

/**
 * {@code preemptible-evacuate AGENT}: has the stages of an agent that is about to go resumed on others.
 *
 * <ol>
 *   <li>AGENT is its name; {@code (built-in)} is the built-in node.
 *   <li>Prints how many stages are sealed, under way, and cannot be; asked again, how far that has come.
 *   <li>{@code preemptible-drain AGENT --undo} undoes it.
 * </ol>
 */
@Extension
@Restricted(NoExternalUse.class) // a command
public final class EvacuateCommand extends CLICommand {

    @Argument(index = 0, metaVar = "AGENT", usage = "Name of the agent", required = true)
    private String agent;

    @Override
    public String getName() {
        return "preemptible-evacuate";
    }

    @Override
    public String getShortDescription() {
        return Messages.EvacuateCommand_Description();
    }

    @Override
    protected int run() {
        PreemptiblePermissions.checkManage();
        Computer computer = Jenkins.get().getComputer(agent);
        if (computer == null) {
            throw new IllegalArgumentException(Messages.DrainCommand_NoSuchAgent(agent));
        }
        return BuildCommand.tell(EvacuateVerb.evacuate(computer), this);
    }
}
