package io.jenkins.plugins.preemptible.config;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import io.jenkins.plugins.casc.BaseConfigurator;
import io.jenkins.plugins.casc.ConfigurationContext;
import io.jenkins.plugins.casc.ConfiguratorException;
import io.jenkins.plugins.casc.model.CNode;
import io.jenkins.plugins.casc.model.Mapping;
import java.util.List;

/**
 * Takes the settings from Configuration as Code.
 *
 * <ol>
 *   <li>The section of a file says all: a setting that it leaves out goes back to its default.
 *   <li>All of it is taken over, or none where a value is refused; what is said then ends with the setting's own sentence.
 *   <li>Undisturbed hours and defaults of stages that are there and empty are none.
 *   <li>A file without the section changes nothing.
 * </ol>
 *
 * Present only where the Configuration as Code plugin is.
 */
@Extension(optional = true)
public final class AsCode extends BaseConfigurator<PreemptibleConfiguration> {

    private static final List<String> NONE_WHEN_EMPTY = List.of("undisturbedHours", "stageDefaults");

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
        for (String part : NONE_WHEN_EMPTY) {
            if (isEmpty(section.get(part))) {
                section.remove(part);
            }
        }
        try {
            super.configure(section, configuration, dryRun, context);
        } catch (ConfiguratorException refused) {
            Throwable innermost = refused;
            while (innermost.getCause() != null) {
                innermost = innermost.getCause();
            }
            if (innermost == refused) {
                throw refused;
            }
            // The page and the commands of that plugin show the outermost message and nothing of its causes.
            throw new ConfiguratorException(this, refused.getErrorMessage() + ": " + innermost.getMessage(), innermost);
        }
    }

    private static boolean isEmpty(@CheckForNull CNode node) throws ConfiguratorException {
        return node != null
                && (node.getType() == CNode.Type.MAPPING
                        ? node.asMapping().isEmpty()
                        : node.getType() == CNode.Type.SCALAR
                                && node.asScalar().getValue().isBlank());
    }
}
