package io.jenkins.plugins.preemptible.overview;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Util;
import hudson.model.Computer;
import io.jenkins.plugins.preemptible.manual.AgentVerbs;
import io.jenkins.plugins.preemptible.manual.Answer;
import io.jenkins.plugins.preemptible.overview.parts.Listing;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import jenkins.model.Jenkins;

/** Asks whether an agent is meant to be drained, or not to be drained any more. */
public final class AgentConfirmation extends Confirmation {

    /** What can be wanted. */
    enum Verb {
        DRAIN,
        UNDRAIN;

        String id() {
            return name().toLowerCase(Locale.ROOT);
        }

        String text() {
            return this == DRAIN ? Messages.Confirmation_Drain() : Messages.Confirmation_Undrain();
        }
    }

    private final Verb verb;
    private final Computer computer;

    private AgentConfirmation(Verb verb, Computer computer) {
        this.verb = verb;
        this.computer = computer;
    }

    /** Empty when there is no such verb or no such agent. */
    static Optional<AgentConfirmation> of(@CheckForNull String verb, String agent) {
        Computer computer = Jenkins.get().getComputer(agent);
        return computer == null
                ? Optional.empty()
                : Arrays.stream(Verb.values())
                        .filter(known -> known.id().equals(verb))
                        .findFirst()
                        .map(known -> new AgentConfirmation(known, computer));
    }

    /** The link to the page that asks. */
    static Listing.Step step(Verb verb, String agent) {
        return new Listing.Step(verb.text(), ADDRESS + "?verb=" + verb.id() + "&agent=" + Util.rawEncode(agent));
    }

    @Override
    public String getText() {
        return verb.text();
    }

    @Override
    public String getQuestion() {
        String shown = computer.getDisplayName();
        return verb == Verb.DRAIN
                ? Messages.Confirmation_DrainQuestion(shown)
                : Messages.Confirmation_UndrainQuestion(shown);
    }

    @Override
    public String getVerb() {
        return verb.id();
    }

    @CheckForNull
    @Override
    public String getStage() {
        return null;
    }

    @Override
    public String getAgent() {
        return computer.getName();
    }

    @Override
    public String getPage() {
        return Lists.AGENTS.page();
    }

    @Override
    Answer carryOut() {
        return verb == Verb.DRAIN ? AgentVerbs.drain(computer) : AgentVerbs.undrain(computer);
    }
}
