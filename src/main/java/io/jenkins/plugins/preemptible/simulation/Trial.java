package io.jenkins.plugins.preemptible.simulation;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.Util;
import hudson.model.Describable;
import hudson.model.Descriptor;
import hudson.util.FormValidation;
import io.jenkins.plugins.preemptible.config.Messages;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.config.Range;
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
 *   <li>Starts a {@link SettingsSimulation} with them, if none runs, and links to its page.
 *   <li>Changes no setting.
 * </ol>
 */
public final class Trial implements Describable<Trial> {

    static final int DEFAULT_DAYS = 7;

    private Trial() {}

    /** The page's part. */
    @Extension
    public static final class DescriptorImpl extends Descriptor<Trial> {

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
         * Answers with a link to the simulation's page, or with what is wrong with the values.
         *
         * @param settings the section as the page's form sends it
         */
        @POST
        public FormValidation doTry(StaplerRequest2 req, @QueryParameter String days, @QueryParameter String settings) {
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
            Simulations simulations = Simulations.get();
            return simulations
                    .start(Range.TRIAL_DAYS.parsed(days), asked)
                    .map(started -> FormValidation.okWithMarkup(linked(req, started, Messages.Trial_Started())))
                    .or(() -> simulations
                            .running()
                            .map(other -> FormValidation.warningWithMarkup(linked(req, other, Messages.Trial_Busy()))))
                    .orElseGet(() -> FormValidation.warning(Messages.Trial_Busy()));
        }

        /** In a tab of its own: the values of this page are not saved yet. */
        private static String linked(StaplerRequest2 req, SettingsSimulation simulation, String text) {
            return Util.xmlEscape(text) + " <a target=\"_blank\" href=\"" + req.getContextPath() + "/"
                    + simulation.getUrl() + "\">" + Util.xmlEscape(Messages.Trial_Show()) + "</a>";
        }
    }
}
