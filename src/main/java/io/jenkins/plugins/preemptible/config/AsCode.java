package io.jenkins.plugins.preemptible.config;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import io.jenkins.plugins.casc.BaseConfigurator;
import io.jenkins.plugins.casc.ConfigurationContext;
import io.jenkins.plugins.casc.ConfiguratorException;
import io.jenkins.plugins.casc.model.Mapping;

/**
 * Takes the settings from Configuration as Code.
 *
 * <ol>
 *   <li>The section of a file says all: a setting that it leaves out goes back to its default.
 *   <li>All of it is taken over, or none where a value is refused.
 *   <li>A file without the section changes nothing.
 * </ol>
 *
 * Present only where the Configuration as Code plugin is.
 */
@Extension(optional = true)
public final class AsCode extends BaseConfigurator<PreemptibleConfiguration> {

    @NonNull
    @Override
    public Class<PreemptibleConfiguration> getTarget() {
        return PreemptibleConfiguration.class;
    }

    @Override
    protected PreemptibleConfiguration instance(Mapping mapping, ConfigurationContext context) {
        return PreemptibleConfiguration.get();
    }

    @Override
    protected void configure(
            Mapping section, PreemptibleConfiguration configuration, boolean dryRun, ConfigurationContext context)
            throws ConfiguratorException {
        if (!dryRun) {
            configuration.reset();
        }
        super.configure(section, configuration, dryRun, context);
    }
}
