/**
 * Installs the privileged part: builds it, puts it where only root may write, tries it, removes it.
 *
 * <p>Only {@code preempt install-helper} uses it, as root; {@code InstalledLevel} tells the facade what is there. One
 * installation at a time. The C sources are in the folder {@code helper} of its resources. Tests: {@code
 * InstallCheckpointsTest} and {@code WaysByInstallationTest} of {@code privileged}.
 */
package io.jenkins.plugins.preemptible.engine.privileged.install;
