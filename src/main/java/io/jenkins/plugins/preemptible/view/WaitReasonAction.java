package io.jenkins.plugins.preemptible.view;

import hudson.model.InvisibleAction;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import java.util.Objects;
import org.kohsuke.stapler.export.Exported;
import org.kohsuke.stapler.export.ExportedBean;

/**
 * Tells of an item of the queue why nothing preemptible has made room for it yet.
 *
 * <ol>
 *   <li>Replaced when the reason changes; a freestyle job's build gets the last one by itself.
 *   <li>The constant is for programs, the sentence for people.
 *   <li>It names nobody: everybody who sees the item may see it.
 * </ol>
 */
@ExportedBean(defaultVisibility = 2)
public final class WaitReasonAction extends InvisibleAction {

    private final Reason reason;
    private final long sinceMillis;

    /** @param sinceMillis when this became the reason, in milliseconds since 1970 */
    public WaitReasonAction(Reason reason, long sinceMillis) {
        this.reason = Objects.requireNonNull(reason);
        this.sinceMillis = sinceMillis;
    }

    @Exported
    public Reason getReason() {
        return reason;
    }

    @Exported
    public String getSentence() {
        return ShownSentence.of(reason);
    }

    @Exported
    public long getSinceMillis() {
        return sinceMillis;
    }
}
