package io.jenkins.plugins.preemptible.manual;

import hudson.Extension;
import hudson.cli.CLICommand;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;
import org.kohsuke.args4j.Option;

/**
 * {@code preemptible-switch-off [--undo]}: suspends no more stages, and resumes all suspended ones.
 *
 * <ol>
 *   <li>For an upgrade, or before the plugin is disabled.
 *   <li>{@code --undo} switches it on again.
 *   <li>Prints how many stages are suspended still; does not wait for them.
 * </ol>
 */
@Extension
@Restricted(NoExternalUse.class) // a command
public final class SwitchOffCommand extends CLICommand {

    @Option(name = "--undo", usage = "Suspend stages again")
    private boolean undo;

    @Override
    public String getName() {
        return "preemptible-switch-off";
    }

    @Override
    public String getShortDescription() {
        return Messages.SwitchOffCommand_Description();
    }

    @Override
    protected int run() {
        return BuildCommand.tell(undo ? SwitchVerbs.on() : SwitchVerbs.off(), this);
    }
}
