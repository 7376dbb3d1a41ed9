package io.jenkins.plugins.preemptible.config;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.Util;
import hudson.model.Describable;
import hudson.model.Descriptor;
import hudson.util.FormValidation;
import io.jenkins.plugins.preemptible.engine.simulation.Comparison;
import io.jenkins.plugins.preemptible.engine.simulation.Foresight;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import jenkins.model.Jenkins;
import net.sf.json.JSONException;
import net.sf.json.JSONObject;
import org.kohsuke.stapler.QueryParameter;
import org.kohsuke.stapler.StaplerRequest2;
import org.kohsuke.stapler.verb.POST;

/**
 * "Simulate these settings": what the values on the page would have made of this controller's own builds.
 *
 * <ol>
 *   <li>Takes the values as they are on the page, unsaved; a script puts the page's section, as it would be saved, into
 *       one field, since the button alone can send no lists.
 *   <li>Replays the {@value #MOST_BUILDS} newest builds that have ended in those days, as many as can be read in
 *       {@value #MOST_SECONDS} s, on the agents of now.
 *   <li>Shows one table; nothing is changed or kept. One trial at a time.
 * </ol>
 */
public final class Trial implements Describable<Trial> {

    static final int DEFAULT_DAYS = 7;

    private static final int MOST_BUILDS = 5_000;
    private static final int MOST_SECONDS = 10;

    private Trial() {}

    /** The page's part. */
    @Extension
    public static final class DescriptorImpl extends Descriptor<Trial> {

        private final Semaphore running = new Semaphore(1);

        @NonNull
        @Override
        public String getDisplayName() {
            return Messages.Trial_DisplayName();
        }

        public int getDefaultDays() {
            return DEFAULT_DAYS;
        }

        /** The name of {@link PreemptibleConfiguration}'s section in what the page's form sends. */
        public String getSection() {
            return PreemptibleConfiguration.get().getJsonSafeClassName();
        }

        @POST
        public FormValidation doCheckDays(@QueryParameter String value) {
            return Range.TRIAL_DAYS.check(value);
        }

        /**
         * Answers with the table, or with what is wrong with the values.
         *
         * @param settings the section as the page's form sends it
         */
        @POST
        public FormValidation doTry(
                StaplerRequest2 req, @QueryParameter String days, @QueryParameter String settings) {
            Jenkins.get().checkPermission(Jenkins.ADMINISTER);
            FormValidation wrong = Range.TRIAL_DAYS.check(Util.fixNull(days));
            if (wrong.kind != FormValidation.Kind.OK) {
                return wrong;
            }
            PreemptibleConfiguration asked;
            try {
                asked = PreemptibleConfiguration.get().with(req, JSONObject.fromObject(settings));
            } catch (JSONException e) {
                return FormValidation.error(Messages.Trial_NotSent());
            } catch (FormException e) {
                return FormValidation.error(e.getMessage());
            }
            if (!running.tryAcquire()) {
                return FormValidation.warning(Messages.Trial_Busy());
            }
            try {
                return tried(asked, Integer.parseInt(days.trim()));
            } finally {
                running.release();
            }
        }

        private static FormValidation tried(PreemptibleConfiguration asked, int days) {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(MOST_SECONDS);
            FinishedBuilds read = FinishedBuilds.read(
                    System.currentTimeMillis() - TimeUnit.DAYS.toMillis(days),
                    MOST_BUILDS,
                    new Owners(asked.ownerBy()),
                    () -> System.nanoTime() > end);
            AgentsNow now = AgentsNow.of(read.jobs());
            int leftOut = read.jobs().size() - now.jobs().size();
            if (now.jobs().isEmpty()) {
                return FormValidation.warning(Messages.Trial_Nothing(days, leftOut));
            }
            Comparison comparison = Foresight.compare(now.jobs(), now.agents(), asked.limits());
            return FormValidation.okWithMarkup("<p>"
                    + Util.xmlEscape(Messages.Trial_Read(
                            read.builds(), comparison.jobs(), comparison.executors(), leftOut))
                    + (comparison.leftOut() > 0
                            ? " " + Util.xmlEscape(Messages.Trial_Older(comparison.leftOut()))
                            : "")
                    + (read.cut() ? " " + Util.xmlEscape(Messages.Trial_Cut(MOST_BUILDS, MOST_SECONDS)) : "")
                    + "</p>"
                    + ComparisonTable.of(comparison)
                    + "<p>"
                    + Util.xmlEscape(Messages.Trial_Limits())
                    + "</p>");
        }
    }
}
