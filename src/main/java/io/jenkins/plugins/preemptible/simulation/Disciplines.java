package io.jenkins.plugins.preemptible.simulation;

import io.jenkins.plugins.preemptible.config.Messages;
import io.jenkins.plugins.preemptible.engine.simulation.Discipline;

/** What pages call the ways of assigning executors. The engine's own titles are for the command line. */
public final class Disciplines {

    private Disciplines() {}

    public static String title(Discipline discipline) {
        return switch (discipline) {
            case FIRST_COME -> Messages.Disciplines_FirstCome();
            case PRIORITY_ONLY -> Messages.Disciplines_PriorityOnly();
            case KILL_AND_REQUEUE -> Messages.Disciplines_KillAndRequeue();
            case SUSPEND -> Messages.Disciplines_Suspend();
        };
    }
}
